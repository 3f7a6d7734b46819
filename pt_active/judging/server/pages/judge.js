"use strict";
// One document at a time. An answer is first kept in this browser, then sent, and counts as kept when the server has it.
(() => {
  const $ = (id) => document.getElementById(id);
  const key = `pt-active ${document.body.dataset.key} `;
  const grades = Number(document.body.dataset.grades);
  const TAKEN_BACK = "taken back", LOW = 5, AT_ONCE = 50, SLOWEST = 15000, POLL = 15000;

  const queue = [];       // documents to judge, in their order
  const history = [];     // own answers, the oldest first: {task, said}
  const unsent = new Map();
  const refused = new Map();
  let looking = -1;       // the place in the history that is shown; -1 for the first document of the queue
  let sending = false, loading = false, wait = 1000, connected = true, ended = "", state = null, poll = 0;

  const idOf = (task) => `${task.qid}\t${task.docno}`;
  const random = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (b) => b.toString(16).padStart(2, "0")).join("");

  // --- what is not sent yet ------------------------------------------------------------------------------------------

  const now = () => performance.timeOrigin + performance.now();  // milliseconds, which no setting of the clock turns back
  let stored = true;
  const remember = (record) => {
    unsent.set(record.key, record);
    try { localStorage.setItem(key + record.key, JSON.stringify(record)); } catch { stored = false; }
  };
  const forget = (id) => {
    unsent.delete(id);
    try { localStorage.removeItem(key + id); } catch { stored = false; }
  };
  const recall = () => {
    try {
      const found = Object.keys(localStorage).filter((name) => name.startsWith(key));
      const records = found.map((name) => JSON.parse(localStorage.getItem(name)));
      records.sort((a, b) => a.at - b.at).forEach((record) => unsent.set(record.key, record));
    } catch { stored = false; }
  };

  const send = async () => {
    if (sending || !unsent.size || ended) { status(); return; }
    sending = true;
    const records = [...unsent.values()].slice(0, AT_ONCE);
    status();
    let again = 0;
    try {
      const answer = await fetch("records", {
        method: "POST", headers: { "Content-Type": "application/json" },
        body: JSON.stringify(records.map(({ at, ...record }) => ({ ...record, age: Math.max(0, now() - at) / 1000 }))),
        signal: AbortSignal.timeout(20000),
      });
      const content = await answer.json();
      if (answer.status === 403) { ended = content.error; }
      if (!answer.ok) throw new Error(content.error);
      content.kept.forEach(forget);
      Object.entries(content.refused).forEach(([id, why]) => { refused.set(id, why); forget(id); });
      state = content.progress;
      connected = true;
      wait = 1000;
    } catch {
      connected = false;
      again = wait;
      wait = Math.min(2 * wait, SLOWEST);
    }
    sending = false;
    status();
    if (again) setTimeout(send, again); else if (unsent.size) send();
  };

  const load = async () => {
    if (loading || ended) return;
    loading = true;
    try {
      const answer = await fetch("work", { signal: AbortSignal.timeout(20000) });
      const content = await answer.json();
      if (answer.status === 403) ended = content.error;
      if (!answer.ok) throw new Error(content.error);
      connected = true;
      take(content);
    } catch {
      connected = false;
      setTimeout(load, wait);
    }
    loading = false;
    status();
  };

  const take = (content) => {
    const answered = new Set([...history.map((each) => idOf(each.task)), ...[...unsent.values()].map(idOf)]);
    const wanted = new Set(content.documents.map(idOf));
    const shown = queue[0];
    if (!history.length) content.recent.forEach(({ said, ...task }) => history.push({ task, said }));
    // What went to somebody else in the meantime leaves the queue, unless it is being read.
    for (let at = queue.length - 1; at > 0; at--) if (!wanted.has(idOf(queue[at]))) queue.splice(at, 1);
    const here = new Set(queue.map(idOf));
    content.documents.filter((task) => !here.has(idOf(task)) && !answered.has(idOf(task))).forEach((task) => queue.push(task));
    state = content.progress;
    if (!shown && looking < 0) show();
    clearTimeout(poll);
    if (!queue.length) poll = setTimeout(load, POLL);
  };

  // --- what is shown -------------------------------------------------------------------------------------------------

  const stem = (word) => (word.length > 3 ? word.toLowerCase().replace(/(es|s)$/, "") : word.toLowerCase());
  const COMMON = new Set("and are but can does for from has have her his how its not she that the their they this was were what when where which who why will with you your".split(" ").map(stem));
  const WORD = /[\p{L}\p{N}]+/gu;

  const marked = (text, query) => {
    const words = new Set((query.match(WORD) || []).filter((word) => word.length > 2 || /\d/.test(word)).map(stem).filter((word) => !COMMON.has(word)));
    const parts = [];
    let from = 0;
    for (const found of text.matchAll(WORD)) {
      if (!words.has(stem(found[0]))) continue;
      const mark = document.createElement("mark");
      mark.textContent = found[0];
      parts.push(text.slice(from, found.index), mark);
      from = found.index + found[0].length;
    }
    return [...parts, text.slice(from)];
  };

  const current = () => (looking >= 0 ? history[looking].task : queue[0]);

  const show = () => {
    const task = current(), said = looking >= 0 ? history[looking].said : null;
    $("task").hidden = !task;
    $("idle").hidden = Boolean(task);
    $("forward").hidden = looking < 0;
    if (!task) { idle(); return; }
    $("query").textContent = task.query || task.topic;
    $("description").textContent = task.description || "";
    $("narrative").textContent = task.narrative || "";
    $("name").textContent = task.name;
    // The name of an answer is a hash, which says nothing beside its text.
    $("name").hidden = $("name").className === "hash" && Boolean(task.text);
    // Where there is a reference answer, its words are marked, and not those of the question.
    const wanted = (task.query || "").split("\n\nReference answer: ").at(-1);
    if (task.text) $("text").replaceChildren(...marked(task.text, wanted));
    else $("text").textContent = "There is no text to show.";
    $("note").value = said && said.note !== TAKEN_BACK ? said.note : "";
    $("earlier").hidden = !said;
    $("earlier").textContent = said ? `You have been here before: ${inWords(said)}. A new answer replaces it.` : "";
    document.querySelectorAll(".grade").forEach((button) => {
      button.setAttribute("aria-pressed", String(Boolean(said) && Number(button.dataset.grade) === said.label));
    });
    $("undo").disabled = $("back").disabled = !history.length;
    scrollTo(0, 0);
    $("document").focus({ preventScroll: true });
  };

  const inWords = (said) => {
    if (said.status === "judged") return `you gave it ${said.label}`;
    if (said.note === TAKEN_BACK) return "you took back your answer";
    return said.status === "skipped" ? "you skipped it" : "you said that it cannot be judged";
  };

  const idle = () => {
    let said = "There is nothing for you to judge right now. This page checks again by itself.";
    if (state && state.settled >= state.all) said = "Everything is judged. Thank you!";
    $("idle").textContent = ended || said;
    $("idle").focus();
  };

  const many = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

  const status = () => {
    const waiting = unsent.size, kept = $("kept");
    let said = "All labels are saved";
    if (ended) said = ended;
    else if (refused.size) said = `${many(refused.size, "answer")} could not be saved: ${[...refused.values()].at(-1)}`;
    else if (!connected) said = waiting ? `No connection: ${many(waiting, "label")} kept in this browser; they will be sent again` : "No connection; trying again";
    else if (waiting) said = `Sending ${many(waiting, "label")}`;
    if (!stored && waiting) said += "; do not close this page";
    if (kept.textContent !== said) kept.textContent = said;
    kept.classList.toggle("trouble", Boolean(ended) || !connected || refused.size > 0);
    kept.dataset.waiting = String(waiting);
    if (!state) return;
    const pace = state.seconds ? `, ${Math.round(state.seconds)} s each` : "";
    const mine = Math.max(state.mine, 0) + waiting;
    $("done").textContent = `${mine} done by you${pace}; all judges together: ${state.settled} of ${state.all}`;
    $("progress").max = state.all || 1;
    $("progress").value = state.settled;
  };

  // --- what a judge does ---------------------------------------------------------------------------------------------

  const say = (task, said) => {
    const { qid, docno } = task;
    remember({ key: random(), qid, docno, ...said, at: now() });
    refused.clear();
    send();
  };

  const answer = (kind, label = null) => {
    const task = current();
    if (!task || ended) return;
    const said = { status: kind, label, note: $("note").value };
    say(task, said);
    if (looking >= 0) {
      history[looking].said = said;
      looking = -1;
    } else {
      history.push({ task, said });
      queue.shift();
    }
    show();
    if (queue.length < LOW) load();
  };

  const undo = () => {
    let at = history.length - 1;
    while (at >= 0 && history[at].said.note === TAKEN_BACK) at--;
    if (at < 0 || ended) return;
    const [{ task }] = history.splice(at, 1);
    const said = { status: "skipped", label: null, note: TAKEN_BACK };
    say(task, said);
    history.push({ task, said });
    looking = history.length - 1;
    show();
  };

  const back = () => {
    const at = looking < 0 ? history.length - 1 : looking - 1;
    if (at < 0) return;
    looking = at;
    show();
  };

  const forward = () => {
    if (looking < 0) return;
    looking = looking + 1 < history.length ? looking + 1 : -1;
    show();
  };

  document.querySelectorAll(".grade").forEach((button) => button.addEventListener("click", () => answer("judged", Number(button.dataset.grade))));
  $("skip").addEventListener("click", () => answer("skipped"));
  $("unjudgeable").addEventListener("click", () => answer("unjudgeable"));
  $("undo").addEventListener("click", undo);
  $("back").addEventListener("click", back);
  $("forward").addEventListener("click", forward);

  const keys = {
    s: () => answer("skipped"), x: () => answer("unjudgeable"), u: undo, b: back, f: forward, n: () => $("note").focus(),
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.repeat || event.isComposing) return;
    if (event.target === $("note")) {
      if (event.key === "Escape") $("document").focus();
      return;
    }
    if (/^\d$/.test(event.key) && Number(event.key) < grades) answer("judged", Number(event.key));
    else if (keys[event.key.toLowerCase()]) keys[event.key.toLowerCase()]();
    else return;
    event.preventDefault();
  });

  const theme = (wanted) => { if (wanted) document.documentElement.dataset.theme = wanted; };
  $("theme").addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark"
      || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    theme(dark ? "light" : "dark");
    try { localStorage.setItem("pt-active theme", dark ? "light" : "dark"); } catch { /* only the colours are lost */ }
  });
  try { theme(localStorage.getItem("pt-active theme")); } catch { /* the system's colours stay */ }

  addEventListener("online", () => { wait = 1000; send(); load(); });
  addEventListener("beforeunload", (event) => { if (unsent.size) event.preventDefault(); });

  if (matchMedia("(max-width: 50rem)").matches) $("guideline").open = false;
  recall();
  load();
  send();
})();
