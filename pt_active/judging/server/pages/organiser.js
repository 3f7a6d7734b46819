"use strict";

// The organiser's page follows the judges: its content is renewed in place, but not under a reader's keys or in a folded part.
(() => {
  const main = document.querySelector("main");

  setInterval(() => {
    if (document.hidden || main.contains(document.activeElement) || main.querySelector("details[open]")) return;
    const asked = new XMLHttpRequest();  // It parses a page without a string of HTML, which the policy forbids
    asked.responseType = "document";
    asked.onload = () => {
      const renewed = asked.status === 200 && asked.response?.querySelector("main");
      if (!renewed) return;
      main.replaceChildren(...renewed.childNodes);
      document.title = asked.response.title;
    };
    asked.open("GET", location.href);
    asked.send();
  }, 20_000);
})();
