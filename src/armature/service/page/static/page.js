// Dates in the reader's zone, and the newest page while somebody looks at it. All else is HTML.
"use strict";
const every = 2000;
let paused = false, busy = false, wait = every;

function localDates(root) {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of root.querySelectorAll("time[datetime]")) {
    time.textContent = format.format(new Date(time.dateTime));
    time.title = time.dateTime;
  }
}

function replace(live, fresh) {
  const open = [...live.querySelectorAll("details[open]")].map((details) => details.id);
  const scrolled = [...live.querySelectorAll(".scroll")].map((box) => [box.scrollLeft, box.scrollTop]);
  const focused = live.contains(document.activeElement) ? path(live, document.activeElement) : null;
  localDates(fresh);
  for (const id of open) fresh.querySelector(`#${id}`)?.setAttribute("open", "");
  live.replaceChildren(...fresh.childNodes);
  live.querySelectorAll(".scroll").forEach((box, i) => {
    if (scrolled[i]) [box.scrollLeft, box.scrollTop] = scrolled[i];
  });
  if (focused) follow(live, focused)?.focus({ preventScroll: true });
}

function path(root, node) {
  const steps = [];
  for (; node !== root; node = node.parentNode) steps.unshift([...node.parentNode.children].indexOf(node));
  return steps;
}

function follow(root, steps) {
  return steps.reduce((node, step) => node?.children[step], root);
}

async function refresh() {
  const live = document.querySelectorAll("[data-live]");
  if (!live.length || paused || busy || document.hidden || String(getSelection())) return;
  busy = true;
  try {
    const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const status = (root) => root.querySelector(".title .status")?.textContent;
    if (status(page) !== status(document)) return location.reload();
    for (const part of live) replace(part, page.getElementById(part.id));
    document.body.classList.remove("away");
    wait = every;
  } catch {
    document.body.classList.add("away");
    wait = Math.min(2 * wait, 30000);
  } finally {
    busy = false;
  }
}

function addSwitch() {
  const nav = document.querySelector(".top nav");
  if (!nav || !document.querySelector("[data-live]")) return;
  const button = document.createElement("button");
  button.className = "button quiet live";
  button.type = "button";
  button.textContent = "Live";
  const show = () => button.setAttribute("aria-pressed", String(!paused));
  button.addEventListener("click", () => { paused = !paused; show(); refresh(); });
  show();
  nav.prepend(button);
}

localDates(document);
addSwitch();
(function again() { setTimeout(async () => { await refresh(); again(); }, wait); })();
document.addEventListener("visibilitychange", refresh);
