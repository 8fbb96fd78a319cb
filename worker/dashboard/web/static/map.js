import { drawGround, scaleBar } from "./ground.js";
import { Filter } from "./filter.js";
import { gestures } from "./gestures.js";
import { List } from "./list.js";
import { Live } from "./live.js";
import { Marks } from "./marks.js";
import * as earth from "./earth.js";
import { Tiles } from "./tiles.js";
import { View } from "./view.js";
import { count, span, value } from "./text.js";
import { Tip } from "./tip.js";

// The first page: the map, the list beside it, and what keeps them up to date.

const by = (id) => document.getElementById(id);
const box = by("map"), ground = by("ground"), canvas = by("marks"), tip = new Tip(by("tip")), filter = new Filter(by("filter"));
const still = matchMedia("(prefers-reduced-motion: reduce)");
const view = new View(), marks = new Marks(still);
let map = null;      // what the server said last
let land = null;     // the outlines, once they are loaded
let places = null;   // the names of countries and cities, once they are loaded
let chosen = null;   // the key of the mark that the tip describes
let skew = 0;        // of this clock against the server's
let sensorChosen = new URLSearchParams(location.search).get("sensor") > ""; // by a person; else the server does
let aimed = false;   // the keyboard has chosen the mark in the middle
const nowhere = document.body.classList.contains("nowhere"); // no device has a position

box.hidden = false;
if (box.dataset.tiles) earth.mercator(); // the projection of tiles

// colour returns a colour of the styles for a canvas.
let colours = new Map();
const probe = document.createElement("span");
probe.hidden = true;
box.append(probe);
function colour(name) {
  if (!colours.has(name)) {
    probe.style.color = `var(${name})`;
    colours.set(name, getComputedStyle(probe).color);
  }
  return colours.get(name);
}

// Painting: once a frame at most, and the ground only when the view has moved, in
// less detail until it rests.
const fine = 0.8, coarse = 2.5;
const tiles = box.dataset.tiles && new Tiles(box.dataset.tiles, () => paint(fine));
let frame = 0, groundMoved = 0, rested = 0;
function paint(detail = 0) {
  groundMoved = Math.max(groundMoved, detail);
  frame ||= requestAnimationFrame((now) => {
    frame = 0;
    if (groundMoved) {
      drawGround(ground.getContext("2d"), view, land, tiles ? null : places, colour, groundMoved);
      tiles?.draw(ground.getContext("2d"), view);
      clearTimeout(rested);
      if (groundMoved > fine) rested = setTimeout(() => paint(fine), 140);
    }
    groundMoved = 0;
    marks.draw(canvas.getContext("2d"), view, colour, now, chosen);
    if (aimed) aim();
    tip.show(chosen && marks.laid.find((l) => l.key === chosen), view, map?.unit, Date.now() + skew);
    if (marks.moves(now)) paint();
  });
}

function resize() {
  const { width, height } = box.getBoundingClientRect();
  const dots = Math.min(3, devicePixelRatio || 1);
  for (const c of [ground, canvas]) {
    [c.width, c.height] = [Math.round(width * dots), Math.round(height * dots)];
    c.getContext("2d").setTransform(dots, 0, 0, dots, 0, 0);
  }
  view.resize(width, height);
  moved();
}

// query returns the parameters of requests.
function query() {
  const q = filter.applied();
  if (!nowhere) {
    q.set("bbox", view.box().map((d) => d.toFixed(5)).join(","));
    q.set("zoom", view.zoom.toFixed(2));
  }
  if (sensorChosen) q.set("sensor", filter.fields.sensor.value);
  return q;
}

// listed returns the parameters of the list.
function listed() {
  const q = new URLSearchParams(asked);
  q.set("sort", filter.fields.sort.value);
  if (map?.sensor) q.set("sensor", map.sensor);
  return q;
}

// moved is called while the view moves. It sends a request when the view rests for a moment.
let asked = "";
function moved() {
  paint(coarse);
  const q = query().toString();
  if (q === asked) return;
  asked = q;
  live.look(q);
  clearTimeout(moved.timer);
  moved.timer = setTimeout(() => {
    address();
    const bar = scaleBar(view);
    by("bar").setAttribute("width", bar.pixels.toFixed(1));
    by("bar-text").textContent = bar.text;
  }, 200);
}

// address writes the filter and the view into the page's address.
function address() {
  const q = filter.asked();
  const { sensor, sort } = filter.fields;
  if (sensorChosen) q.set("sensor", sensor.value);
  if (sort.value !== "state") q.set("sort", sort.value);
  history.replaceState(null, "", `?${q}` + (nowhere ? "" : `#${view.zoom.toFixed(2)}/${view.lat.toFixed(5)}/${view.lon.toFixed(5)}`));
  for (const link of document.querySelectorAll("[data-keeps]")) { // keeps the filter, and what the attribute adds
    const keeps = filter.asked();
    for (const [name, value] of new URLSearchParams(link.dataset.keeps)) value ? keeps.set(name, value) : keeps.delete(name);
    link.setAttribute("href", `${link.pathname}?${keeps}`);
  }
  const set = filter.asked().size;
  filter.form.querySelector(".opens").textContent = set ? `Filters (${set})` : "Filters";
}

const list = new List(by("rows"), by("none"), by("more"));

const live = new Live({
  map(m) {
    const before = map?.sensor;
    map = m;
    if (before !== m.sensor) marks.words = [];
    if (m.sensor && ![...filter.fields.sensor.options].some((o) => o.value === m.sensor)) sensors(m.sensor);
    if (!sensorChosen) filter.fields.sensor.value = m.sensor;
    skew = Date.parse(m.at) - Date.now() || 0;
    marks.show(m, performance.now());
    chosen = marks.all.has(chosen) ? chosen : null;
    legend();
    list.look(listed());
    paint();
  },
  change(c) {
    if (c.at) skew = Date.parse(c.at) - Date.now() || 0;
    marks.change(c, performance.now());
    if (c.clusters || c.devices || c.gone) list.change(c);
    [map.inView, map.total] = [c.inView ?? map.inView, c.total ?? map.total];
    if (c.scale) map.scale = marks.scale = c.scale;
    legend();
    paint();
  },
  state(state, why = "") {
    const mark = by("live");
    mark.hidden = state === "waiting" && !map;
    mark.dataset.state = state;
    mark.textContent = state === "lost" ? "not live" : "live";
    by("why").textContent = why;
    by("why").hidden = !why;
  },
});

// legend shows the meaning of the colours and the number of devices.
function legend() {
  by("inview").textContent = count(map.inView);
  by("total").textContent = count(map.total);
  const empty = map.total === 0 && filter.asked().size === 0;
  by("nobody").hidden = !empty;
  for (const part of [by("asks"), by("whole"), document.querySelector(".sum")]) part.hidden = empty;
  by("none").classList.toggle("unseen", empty); // once is enough
  by("shown").textContent = map.sensor + (map.unit ? ` in ${map.unit}` : "");
  by("scale").hidden = !map.scale;
  if (map.scale) [by("low").textContent, by("high").textContent] = map.scale.map((v) => value(v, map.unit));
  const states = by("states"), words = map.scale ? [] : marks.words;
  states.hidden = !words.length;
  states.replaceChildren(...words.slice(0, 8).map((word, i) => {
    const item = document.createElement("span"), dot = document.createElement("i");
    dot.className = "k" + i;
    item.append(dot, word);
    return item;
  }), ...words.length > 8 ? ["and others"] : []);
}

// sensors reloads the sensors to choose from: the page may be older than the first reading, or of another tenant.
async function sensors(chosen) {
  const tenant = filter.fields.tenant?.value;
  const got = await fetch("/v1/sensors" + (tenant ? "?tenant=" + encodeURIComponent(tenant) : "")).catch(() => null);
  if (!got?.ok) return; // the next map tries again
  const all = (await got.json()).sensors ?? [];
  if (chosen && !all.some((s) => s.name === chosen)) all.push({ name: chosen }); // it is newer than that answer
  filter.fields.sensor.replaceChildren(...all.map((s) => new Option(s.unit ? `${s.name} (${s.unit})` : s.name, s.name, false, s.name === chosen)));
}

// figures reloads the numbers above the map. It says which filters are invalid, and leaves these out.
async function figures() {
  if (document.hidden) return;
  const q = filter.applied(), by = { readingsPerMinute: (v) => value(v), lagSeconds: (v) => v === undefined ? "–" : span(v) };
  q.delete("state");
  const got = await fetch("/v1/overview?" + q).catch(() => null);
  if (got?.status === 400 && filter.wrong(await got.json())) return figures();
  if (!got?.ok) return;
  const all = await got.json();
  for (const figure of document.querySelectorAll("[data-figure]")) {
    const name = figure.dataset.figure;
    figure.textContent = (by[name] ?? count)(all[name]);
    figure.closest("div").hidden = all[name] === undefined;
    if (name === "held") figure.closest("div").classList.toggle("warn", all.held > 0);
  }
  if (nowhere && all.placed) location.reload(); // now there is something for a map
}
setInterval(figures, 10e3);

// fit moves the map to where the filtered devices are.
async function fit() {
  const got = nowhere ? null : await fetch("/v1/map?" + filter.applied()).catch(() => null);
  if (!got?.ok) return;
  const { clusters, devices } = await got.json();
  const all = [...clusters.map((c) => c.bbox), ...devices.map((d) => [d.lon, d.lat, d.lon, d.lat])];
  if (!all.length) return;
  const [west, south, east, north] = all.reduce((a, b) => [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])]);
  const size = Math.max(east - west, north - south), margin = size < 0.02 ? 3 : 0.05 * size; // of one place: its country
  fly(east - west > 90 ? view.world() : view.around([west - margin, south - margin, east + margin, north + margin]));
}

function choosing(key) {
  if (key === chosen) return;
  chosen = key;
  paint();
}

// aim chooses the mark nearest to the middle, for people without a mouse.
function aim() {
  const near = marks.under(view.width / 2, view.height / 2, 60);
  chosen = near?.key ?? null;
}

const { fly, smoothly } = gestures(canvas, view, {
  moved, still,
  picked([x, y], e) {
    const hit = e.type === "keydown" ? chosen && marks.laid.find((l) => l.key === chosen) : marks.under(x, y, e.pointerType === "touch" ? 14 : 5);
    if (!hit) return choosing(null);
    if (e.pointerType === "touch" && hit.key !== chosen && hit.m.device) return choosing(hit.key); // the first tap shows the tip, the second opens the page
    if (hit.m.device) {
      const address = "/devices/" + encodeURIComponent(hit.m.device.device) + (map.sensor ? "?sensor=" + encodeURIComponent(map.sensor) : "");
      if (e.ctrlKey || e.metaKey) open(address); else location.assign(address);
      return;
    }
    const to = view.around(hit.m.cluster.bbox);
    if (to.zoom < view.zoom + 0.7) Object.assign(to, { zoom: view.zoom + 1.5, lon: hit.m.lon, lat: hit.m.lat }), to.settle();
    choosing(null);
    fly(to);
  },
});

canvas.addEventListener("pointermove", (e) => {
  if (e.pointerType === "touch" || e.buttons) return;
  aimed = false;
  const hit = marks.under(e.offsetX, e.offsetY);
  canvas.classList.toggle("over", Boolean(hit));
  choosing(hit?.key ?? null);
});
canvas.addEventListener("pointerleave", () => { if (!aimed) choosing(null); });
canvas.addEventListener("pointerdown", () => { aimed = false; box.classList.remove("aimed"); });
canvas.addEventListener("keydown", () => { aimed = true; box.classList.add("aimed"); paint(); });
canvas.addEventListener("focus", () => { if (canvas.matches(":focus-visible")) { aimed = true; box.classList.add("aimed"); paint(); } });
canvas.addEventListener("blur", () => { aimed = false; box.classList.remove("aimed"); choosing(null); });
by("in").addEventListener("click", () => smoothly(1, view.width / 2, view.height / 2));
by("out").addEventListener("click", () => smoothly(-1, view.width / 2, view.height / 2));
by("all").addEventListener("click", () => fly(view.world()));

// A row of the list shows its device on the map.
for (const name of ["pointerover", "focusin"]) {
  by("rows").addEventListener(name, (e) => {
    const key = e.target.closest("tr")?.dataset.key;
    if (key && marks.all.has("d" + key)) choosing("d" + key);
  });
}
by("rows").addEventListener("pointerleave", () => choosing(null));

// The filter selects what the map, the list, the figures and the page's address have.
filter.form.querySelector("[type=submit]").hidden = true;
filter.form.addEventListener("submit", (e) => { e.preventDefault(); refilter(); });
filter.form.addEventListener("input", (e) => {
  sensorChosen ||= e.target.name === "sensor";
  clearTimeout(refilter.timer);
  refilter.timer = setTimeout(() => refilter(e.target.name), 250);
});
async function refilter(name = "text") {
  if (name === "sort") return address(), list.look(listed());
  if (name === "tenant") {
    sensorChosen = false;
    await sensors(map?.sensor);
  }
  marks.words = [];
  filter.changed();
  address();
  dispatchEvent(new Event("filtered"));
  await figures();
  moved();
  if (name !== "sensor") fit();
}

addEventListener("theme", () => { colours = new Map(); paint(fine); });
addEventListener("hashchange", () => { if (aimAddress()) moved(); });

// aimAddress reads the view from the address: #zoom/lat/lon.
function aimAddress() {
  const [zoom, lat, lon] = location.hash.slice(1).split("/").map(Number);
  if (![zoom, lat, lon].every(Number.isFinite) || location.hash.split("/").length !== 3) return false;
  Object.assign(view, { zoom, lat, lon });
  view.settle();
  return true;
}

function begin() {
  const { width, height } = box.getBoundingClientRect();
  view.resize(width, height);
  if (aimAddress()) return;
  const all = box.dataset.fit?.split(",").map(Number);
  Object.assign(view, all?.length === 4 ? view.around(all) : view.world());
  view.settle();
}

begin();
if (nowhere) moved();
new ResizeObserver(resize).observe(box);
try {
  const [outlines, named] = await Promise.all([box.dataset.outlines, box.dataset.places].map((address) => fetch(address)));
  if (!outlines.ok || !named.ok) throw new Error(outlines.statusText || named.statusText);
  [land, places] = [earth.outlines(await outlines.arrayBuffer()), await named.json()];
  paint(fine);
} catch {
  by("why").textContent = "The base map could not be loaded; the positions of devices are correct.";
  by("why").hidden = false;
}
