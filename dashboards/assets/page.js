// The content of a page: fetched again, put in place of what is there, and dressed with what needs a script.

const policy = globalThis.trustedTypes?.createPolicy("parity", { createHTML: (text) => text })
  ?? { createHTML: (text) => text };

// The main part of a page of ours, in a document of its own. Nothing of it is executed: a parser of documents does not.
async function fetched(address, signal) {
  const answer = await fetch(address, { headers: { accept: "text/html" }, credentials: "same-origin", cache: "no-store", signal });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  const page = new DOMParser().parseFromString(policy.createHTML(text), "text/html");
  const main = page.querySelector("main");
  if (!main) throw new Error("the server answers something else");
  return { main, title: page.title };
}

// Puts what the server shows now in place of what it showed. Elements that are still there stay the same ones, and with them
// what somebody has focused, opened or scrolled.
export async function refresh(main, signal, mayChange) {
  const { main: now, title } = await fetched(location.href, signal);
  if (!mayChange()) return false;
  dress(now);
  const focused = document.activeElement;
  morph(main, now);
  document.title = title;
  // An element that was moved has lost its focus.
  if (focused && focused !== document.activeElement && main.contains(focused)) focused.focus({ preventScroll: true });
  return true;
}

// Attributes that belong to who looks at the page, and not to the server.
const OURS = new Set(["open", "tabindex", "data-here"]);

// By what an element is known again: rows by where they lead, folded parts by their title without its numbers.
function kind(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return node.nodeName;
  if (node.id) return `#${node.id}`;
  if (node.nodeName === "TR") return `TR ${node.querySelector("a[href]")?.getAttribute("href") ?? ""}`;
  if (node.nodeName === "DETAILS") return `DETAILS ${node.querySelector("summary")?.textContent.replace(/\d+/g, "")}`;
  return node.nodeName;
}

function morph(from, to) {
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.data !== to.data) from.data = to.data;
    return;
  }
  for (const { name, value } of to.attributes) {
    if (!OURS.has(name) && from.getAttribute(name) !== value) from.setAttribute(name, value);
  }
  for (const { name } of [...from.attributes]) {
    if (!OURS.has(name) && !to.hasAttribute(name)) from.removeAttribute(name);
  }
  const known = new Map();
  for (const child of from.childNodes) {
    const of = kind(child);
    if (!known.has(of)) known.set(of, []);
    known.get(of).push(child);
  }
  for (const children of known.values()) children.reverse();
  let place = from.firstChild;
  for (const child of [...to.childNodes]) {
    const old = known.get(kind(child))?.pop();
    // Equal kinds may be elements of different names only by their id.
    const fits = old && old.nodeName === child.nodeName;
    const now = fits ? old : document.importNode(child, true);
    if (fits) morph(old, child);
    else old?.remove();
    if (now === place) place = place.nextSibling;
    else from.insertBefore(now, place);
  }
  while (place) {
    const next = place.nextSibling;
    place.remove();
    place = next;
  }
}

// Copy buttons, and times as the clock of the reader shows them. The same for a page that came with the document and for one
// that was fetched.
export function dress(main) {
  for (const text of main.querySelectorAll("[data-copy]")) {
    const button = main.ownerDocument.createElement("button");
    button.type = "button";
    button.className = "copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy ${text.textContent.trim().slice(0, 60)}`);
    button.dataset.copies = text.dataset.copy || "";
    text.after(button);
  }
  for (const place of main.querySelectorAll(".time, time, dd, .evidence, .since")) {
    const found = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?/.exec(place.textContent);
    const time = found && new Date(`${found[0].replace(" ", "T")}Z`);
    if (time && !place.title && !Number.isNaN(time.getTime())) place.title = `${time.toLocaleString()} here`;
  }
}

document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[data-copies]");
  if (!button) return;
  const of = button.previousElementSibling;
  // A link is copied as an address that somebody else can open.
  copy(button.dataset.copies || of.href || of.textContent, button);
});

// Copies a text, and says so where it was asked for.
export async function copy(text, button) {
  const said = (await copied(text)) ? "Copied" : "Select it to copy";
  const before = button.dataset.name ?? button.textContent;
  button.dataset.name = before;
  button.textContent = said;
  setTimeout(() => { button.textContent = before; }, 2000);
}

async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // A page that came without TLS from another machine has no clipboard.
    const field = document.createElement("textarea");
    field.value = text;
    document.body.append(field);
    const focused = document.activeElement;
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    focused?.focus({ preventScroll: true });
    return done;
  }
}
