"use strict";

// The organiser settles documents with keys: digits grade the one that is marked, S goes to the next.
(() => {
  const disputes = [...document.querySelectorAll(".dispute")];
  let at = 0, sent = false;

  const mark = () => {
    disputes.forEach((each, number) => each.classList.toggle("now", number === at));
    if (at > 0) disputes[at].scrollIntoView();
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.isComposing || sent || !disputes.length) return;
    if (event.key.toLowerCase() === "s") {
      at = (at + 1) % disputes.length;
      mark();
    } else {
      const button = [...disputes[at].querySelectorAll(".grade")].find((each) => each.value === event.key);
      if (!button) return;
      sent = true;
      button.click();
    }
    event.preventDefault();
  });

  if (disputes.length) mark();
})();
