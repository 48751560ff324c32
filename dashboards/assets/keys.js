// Reading by keys. They work with single letters, so they can be switched off (WCAG 2.1.4), and never where somebody types.

import { copy } from "./page.js";
import { remembered } from "./store.js";

// What is listed by `?` and in docs/pages.md.
const KEYS = [
  ["j, k", "next, previous row"],
  ["Enter, o", "open the row"],
  ["u", "up: to what this belongs to"],
  ["n, p", "next, previous difference"],
  ["], [", "next, previous example or page"],
  ["/", "filter"],
  ["y", "copy the address of this page"],
  ["?", "this list"],
];

const shown = (element) => element.checkVisibility?.() ?? element.offsetParent !== null;

// Where a row leads: its first link, or else what it unfolds.
function target(row) {
  const all = [...row.querySelectorAll("a[href], summary")].filter((one) => one.closest("tr") === row && shown(one));
  return all.find((one) => one.matches("a")) ?? all[0];
}

// Rows of tables that lead somewhere, as far as they are seen.
function rows() {
  return [...document.querySelectorAll("main tbody > tr")].filter((row) => shown(row) && target(row));
}

// What the server calls a difference, and in what it has laid out by line, the first line of each run that differs.
function differences() {
  const all = [...document.querySelectorAll("main [data-difference], main .sides .legacy, main .sides .candidate, main .split tr:has(mark)")];
  const lines = new Set(all.filter((one) => !one.hasAttribute("data-difference")));
  return all.filter((one) => shown(one) && (lines.has(one)
    ? !one.closest("[data-difference]") && !lines.has(one.previousElementSibling)
    : true));
}

// Of elements in the order of the page, the one behind or before the one that was reached last.
function step(all, way) {
  const here = all.findIndex((one) => one.hasAttribute("data-here"));
  if (here >= 0) return all[Math.min(Math.max(here + way, 0), all.length - 1)];
  const active = document.activeElement;
  const at = active === document.body ? -1 : all.findIndex((one) => one.contains(active));
  if (at >= 0) return all[Math.min(Math.max(at + way, 0), all.length - 1)];
  return way > 0 ? all[0] : all.at(-1);
}

// Focuses what is in the element that comes next, or the element itself.
function go(all, way, inside = () => null) {
  const to = step(all, way);
  if (!to) return;
  for (const one of document.querySelectorAll("[data-here]")) one.removeAttribute("data-here");
  to.setAttribute("data-here", "");
  const focused = inside(to) ?? to;
  if (focused === to) to.setAttribute("tabindex", "-1");
  focused.focus({ preventScroll: true });
  to.scrollIntoView({ block: "nearest" });
}

function open() {
  const row = document.querySelector("main tr[data-here]") ?? document.activeElement?.closest?.("main tr");
  if (row) target(row)?.click();
}

function lead(selector) {
  document.querySelector(selector)?.click();
}

function filter() {
  const field = document.querySelector("main input[type=search]");
  if (field) field.select();
  else {
    const groups = document.querySelector('header nav a[href^="/groups"]');
    if (groups) location.assign(`${groups.getAttribute("href")}#filter`);
  }
}

export function listen(place) {
  const on = remembered("keys", localStorage, true);
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Keys";
  place.append(button);
  const help = dialog(on);
  document.body.append(help);
  button.addEventListener("click", () => help.showModal());

  const actions = {
    j: () => go(rows(), 1, target),
    k: () => go(rows(), -1, target),
    o: open,
    u: () => lead(document.querySelector("main a[rel~=up]") ? "main a[rel~=up]" : "header a.home"),
    n: () => go(differences(), 1),
    p: () => go(differences(), -1),
    "]": () => lead("main a[rel~=next]"),
    "[": () => lead("main a[rel~=prev]"),
    "/": filter,
    y: () => copy(location.href.split("#")[0], button),
    "?": () => help.showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (!on.is || event.ctrlKey || event.altKey || event.metaKey || event.isComposing || help.open) return;
    if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
    const action = Object.hasOwn(actions, event.key) && actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  if (location.hash === "#filter") filter();
}

// Enter is a link's own key: it needs no action, and is listed all the same.
function dialog(on) {
  const help = document.createElement("dialog");
  help.className = "keys";
  help.setAttribute("aria-labelledby", "keys-title");
  const title = document.createElement("h2");
  title.id = "keys-title";
  title.textContent = "Keys";
  const list = document.createElement("dl");
  for (const [keys, meaning] of KEYS) {
    const name = document.createElement("dt");
    for (const [index, key] of keys.split(", ").entries()) {
      const one = document.createElement("kbd");
      one.textContent = key;
      name.append(...(index ? [" ", one] : [one]));
    }
    const about = document.createElement("dd");
    about.textContent = meaning;
    list.append(name, about);
  }
  const label = document.createElement("label");
  const box = document.createElement("input");
  box.type = "checkbox";
  box.checked = on.is;
  box.addEventListener("change", () => on.set(box.checked));
  label.append(box, " Keys are on");
  const form = document.createElement("form");
  form.method = "dialog";
  const close = document.createElement("button");
  close.textContent = "Close";
  form.append(close);
  help.append(title, list, label, form);
  return help;
}
