// For all pages: parts marked data-live are reloaded every few seconds and changed where
// they differ, so that focus, scrolling and open details stay. Charts show the value under
// the pointer.

const every = 10e3;

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

async function refresh() {
  if (document.hidden || !document.querySelector("main [data-live]")) return;
  try {
    const got = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!got.ok) return;
    const young = new DOMParser().parseFromString(await got.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live][id]")) {
      const now = young.getElementById(part.id);
      if (now && !selectedIn(part)) match(part, now);
    }
    document.getElementById("foot").removeAttribute("data-lost");
  } catch {
    document.getElementById("foot").dataset.lost = "The server does not answer; the page shows its last data.";
  }
}

setInterval(refresh, every);
document.addEventListener("visibilitychange", refresh);

// A chart shows the value under the pointer.
document.addEventListener("pointermove", (e) => {
  const chart = e.target.closest?.("[data-chart] svg");
  for (const other of document.querySelectorAll("[data-chart] .cursor")) if (other.ownerSVGElement !== chart) clear(other.ownerSVGElement);
  if (chart) point(chart, e.clientX);
});

function clear(chart) {
  chart.querySelector(".cursor")?.remove();
  const out = chart.closest("figure").querySelector(".readout");
  if (out) out.textContent = "";
}

// point shows the value of a chart nearest to a point of the screen.
function point(chart, clientX) {
  const figure = chart.closest("figure"), points = figure.querySelector("[data-points]");
  if (!points || !points.rows.length) return;
  const [left, top, right, bottom] = chart.dataset.plot.split(" ").map(Number);
  const area = chart.getBoundingClientRect(), wide = chart.viewBox.baseVal.width;
  const from = Number(points.dataset.from), to = Number(points.dataset.to);
  const time = from + (to - from) * ((clientX - area.left) / area.width * wide - left) / (right - left);
  const half = Number(points.dataset.window) / 2;
  let best = points.rows[0], least = Infinity;
  for (const row of points.rows) {
    const d = Math.abs(Number(row.dataset.t) + half - time);
    if (d < least) [best, least] = [row, d];
  }
  const x = Math.max(left, Math.min(right, left + (right - left) * (Number(best.dataset.t) + half - from) / (to - from)));
  let cursor = chart.querySelector(".cursor");
  if (!cursor) {
    cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
    cursor.setAttribute("class", "cursor");
    chart.append(cursor);
  }
  cursor.setAttribute("d", `M${x.toFixed(1)} ${top}V${bottom}`);
  const [when, mean, low, high] = [...best.cells].map((c) => c.textContent);
  figure.querySelector(".readout").textContent = low === high ? `${when}: ${mean}` : `${when}: ${mean} (${low} to ${high})`;
}
