// For all pages: parts marked data-live are reloaded every few seconds and changed where
// they differ, so that focus, scrolling and open details stay.

import { charts } from "./chart.js";
import { localize } from "./time.js";

localize(document);
label(document);
const to = document.querySelector("form.signin [name=to]");
if (to) to.value += location.hash; // the server does not see where the map was
charts();

const every = 10e3;

// label names the cells of tables after their columns: on a phone, each row is a card.
function label(page) {
  for (const table of page.querySelectorAll("table.rows")) {
    const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    for (const row of table.tBodies[0].rows) {
      for (const cell of row.cells) if (cell.colSpan === 1) cell.dataset.label = names[cell.cellIndex] ?? "";
    }
  }
}

// match updates an element to its newer version. Children correspond by their order; a
// child with another data-key is replaced.
function match(old, young) {
  if (old.isEqualNode(young)) return;
  for (const { name } of [...old.attributes]) if (!young.hasAttribute(name) && name !== "open" && !(name === "class" && old.matches(".news"))) old.removeAttribute(name);
  for (const { name, value } of young.attributes) if (name !== "open" && old.getAttribute(name) !== value) old.setAttribute(name, value);
  const text = old.textContent;
  const from = [...old.childNodes], to = [...young.childNodes];
  to.forEach((child, i) => {
    const was = from[i];
    if (!was) old.append(child);
    else if (was.nodeType !== child.nodeType || was.nodeName !== child.nodeName || was.dataset?.key !== child.dataset?.key) was.replaceWith(child);
    else if (was.nodeType === Node.ELEMENT_NODE) match(was, child);
    else if (was.data !== child.data) was.data = child.data;
  });
  for (const gone of from.slice(to.length)) gone.remove();
  if (old.hasAttribute("data-value") && old.textContent !== text) {
    old.classList.remove("news");
    void old.offsetWidth; // restarts the animation
    old.classList.add("news");
  }
}

// selectedIn reports whether text of a part is selected. Such a part stays as it is.
function selectedIn(part) {
  const selection = getSelection();
  return !selection.isCollapsed && part.contains(selection.anchorNode);
}

// lost says that the page shows its last data.
function lost(why) {
  document.getElementById("foot").dataset.lost = `${why}; the page shows its last data.`;
}

async function refresh() {
  if (document.hidden || !document.querySelector("main [data-live]")) return;
  try {
    const got = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (got.status === 401) location.reload(); // the session has ended: the form to sign in leads back here
    if (!got.ok) return lost("The data cannot be read again");
    const young = new DOMParser().parseFromString(await got.text(), "text/html");
    localize(young);
    label(young);
    for (const part of document.querySelectorAll("[data-live][id]")) {
      const now = young.getElementById(part.id);
      if (now && !selectedIn(part)) match(part, now);
    }
    document.getElementById("foot").removeAttribute("data-lost");
  } catch {
    lost("The server does not answer");
  }
}

setInterval(refresh, every);
document.addEventListener("visibilitychange", refresh);
addEventListener("filtered", refresh); // the address has another filter

// On a phone, menus and filters open and close.
document.addEventListener("click", (e) => {
  const button = e.target.closest(".opens");
  if (!button) return;
  const open = document.getElementById(button.getAttribute("aria-controls")).classList.toggle("open");
  button.setAttribute("aria-expanded", open);
});

// A command can be copied, where the page may write to the clipboard: over HTTPS, and on the machine itself.
for (const code of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  [button.type, button.textContent] = ["button", "Copy"];
  button.setAttribute("aria-label", `Copy: ${code.textContent}`);
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  });
  code.after(button);
}

// The key / goes to the filter.
document.addEventListener("keydown", (e) => {
  const field = document.querySelector('[aria-keyshortcuts="/"]');
  if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || !field || e.target.closest("input, select, textarea")) return;
  e.preventDefault();
  field.focus();
  field.select();
});
