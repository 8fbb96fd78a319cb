import { instant } from "./time.js";

// charts has every chart show the values under the pointer, and a device's chart zoom into a time that is dragged over.
export function charts() {
  let drag = null; // the chart and the point where a drag began
  document.addEventListener("pointermove", (e) => {
    const chart = e.target.closest?.("[data-chart] svg");
    for (const other of document.querySelectorAll("[data-chart] .cursor")) if (other.ownerSVGElement !== chart) clear(other.ownerSVGElement);
    if (chart) point(chart, e.clientX);
    if (drag) select(drag, e.clientX);
  });
  document.addEventListener("pointerdown", (e) => {
    const chart = e.target.closest?.("[data-chart] svg");
    if (!chart || e.button !== 0 || e.pointerType === "touch" || !document.getElementById("range")) return; // a finger scrolls
    e.preventDefault();
    drag = { chart, from: e.clientX };
  });
  document.addEventListener("pointerup", (e) => {
    const began = drag;
    drag = null;
    began?.area?.remove();
    if (!began || Math.abs(e.clientX - began.from) < 6) return;
    const [from, to] = [began.from, e.clientX].map((x) => timeAt(began.chart, x)).sort((a, b) => a - b);
    zoom(from, Math.max(to, from + 1000));
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || !drag) return;
    drag.area?.remove();
    drag = null;
  });
}

// zoom opens the page for another time.
function zoom(from, to) {
  const address = new URL(location.href);
  address.searchParams.delete("span");
  const text = (t) => new Date(Math.round(t / 1000) * 1000).toISOString().replace(".000", "");
  address.searchParams.set("from", text(from));
  address.searchParams.set("to", text(to));
  location.assign(address);
}

// measures returns the plot of a chart in its own units, and the scale to the screen.
function measures(chart) {
  const [left, top, right, bottom] = chart.dataset.plot.split(" ").map(Number);
  const area = chart.getBoundingClientRect();
  return { left, top, right, bottom, area, by: chart.viewBox.baseVal.width / area.width, from: Number(chart.dataset.from), to: Number(chart.dataset.to) };
}

function timeAt(chart, clientX) {
  const m = measures(chart), x = Math.max(m.left, Math.min(m.right, (clientX - m.area.left) * m.by));
  return m.from + (m.to - m.from) * (x - m.left) / (m.right - m.left);
}

function select(drag, clientX) {
  const m = measures(drag.chart);
  const [a, b] = [drag.from, clientX].map((x) => Math.max(m.left, Math.min(m.right, (x - m.area.left) * m.by))).sort((p, q) => p - q);
  drag.area ??= drag.chart.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
  for (const [name, v] of Object.entries({ class: "selected", x: a, y: m.top, width: b - a, height: m.bottom - m.top })) drag.area.setAttribute(name, v);
}

function clear(chart) {
  chart.querySelector(".cursor")?.remove();
  const out = chart.closest("figure").querySelector(".readout");
  if (out) out.textContent = "";
}

// point shows the values of a chart nearest to a point of the screen.
function point(chart, clientX) {
  const figure = chart.closest("figure"), time = timeAt(chart, clientX), m = measures(chart);
  const found = [...figure.querySelectorAll("[data-points], [data-states]")].map((rows) => nearest(rows, time)).filter(Boolean);
  if (!found.length) return clear(chart);
  const x = Math.max(m.left, Math.min(m.right, m.left + (m.right - m.left) * (found[0].at - m.from) / (m.to - m.from)));
  let cursor = chart.querySelector(".cursor");
  if (!cursor) {
    cursor = document.createElementNS("http://www.w3.org/2000/svg", "path");
    cursor.setAttribute("class", "cursor");
    chart.append(cursor);
  }
  cursor.setAttribute("d", `M${x.toFixed(1)} ${m.top}V${m.bottom}`);
  figure.querySelector(".readout").textContent = `${found[0].when}: ${found.map((f) => f.text).join("; ")}`;
}

// nearest returns the value of a table at a time.
function nearest(rows, time) {
  if (rows.dataset.states !== undefined) {
    const row = [...rows.rows].find((r) => Number(r.dataset.t) <= time && time < Number(r.dataset.until));
    return row && { at: time, when: instant(new Date(time)), text: row.cells[2].textContent };
  }
  const half = Number(rows.dataset.window) / 2;
  let best = null, least = Infinity;
  for (const row of rows.rows) {
    const d = Math.abs(Number(row.dataset.t) + half - time);
    if (d < least) [best, least] = [row, d];
  }
  if (!best) return null;
  const [when, mean, low, high] = [...best.cells].map((c) => c.textContent), unit = rows.dataset.unit && "\u202f" + rows.dataset.unit;
  const range = low === high ? "" : ` (${low} to ${high})`;
  return { at: Number(best.dataset.t) + half, when, text: `${rows.dataset.points} ${mean}${unit}${range}` };
}
