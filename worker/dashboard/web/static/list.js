import { count, short, value } from "./text.js";

const svg = "http://www.w3.org/2000/svg";
const states = new Set(["ok", "new", "silent", "held", "revoked"]);
const severities = new Set(["critical", "warning", "info"]);

// A List lists the devices in view, a page at a time.
export class List {
  #query = new URLSearchParams();
  #unit = "";
  #rows = new Map(); // by device
  #asked = 0;        // number of the last request; answers to older ones are dropped
  #timer = 0;

  constructor(body, status, more) {
    [this.body, this.status, this.more] = [body, status, more];
    more.addEventListener("click", () => this.#ask(this.more.dataset.after));
  }

  // look lists other devices: those of a query.
  look(query) {
    this.#query = new URLSearchParams(query);
    this.#soon(300);
  }

  // change shows new values, or requests the list again where it cannot know them.
  change({ devices = [], clusters = [] }) {
    for (const d of devices) {
      const row = this.#rows.get(d.device);
      if (row) fill(row, d, this.#unit, true);
    }
    if (clusters.length && !this.#timer && !this.more.dataset.opened) this.#soon(8000);
  }

  #soon(time) {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), time);
  }

  async #ask(after = "") {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const asked = ++this.#asked;
    const query = new URLSearchParams(this.#query);
    query.set("limit", "50");
    if (after) query.set("after", after);
    let answer;
    try {
      const got = await fetch("/v1/devices?" + query);
      if (got.status === 401) location.reload(); // the session has ended: the form to sign in leads back here
      answer = await got.json();
      if (!got.ok) throw new Error(answer.detail || answer.title || got.statusText);
    } catch (err) {
      if (asked === this.#asked) this.#say(err instanceof TypeError ? "The list could not be loaded: the server does not answer." : err.message);
      return;
    }
    if (asked === this.#asked) this.#show(answer, after);
  }

  #show(answer, after) {
    this.#unit = answer.unit;
    if (after) this.more.dataset.opened = "yes"; else delete this.more.dataset.opened;
    const kept = after ? [...this.body.children] : [];
    const rows = (answer.devices ?? []).map((d) => {
      const row = this.#rows.get(d.device) ?? newRow(d);
      fill(row, d, this.#unit, this.#rows.has(d.device));
      return row;
    });
    this.#rows = new Map([...kept, ...rows].map((row) => [row.dataset.key, row]));
    swap(this.body, [...kept, ...rows]);
    this.more.hidden = !answer.next;
    this.more.dataset.after = answer.next ?? "";
    this.#say(rows.length || after ? "" : "No device in view matches: move the map, or change the filter.");
    this.body.parentElement.hidden = !this.body.children.length;
    document.getElementById("found").textContent = `(${count(answer.total)})`;
  }

  #say(text) {
    this.status.textContent = text;
    this.status.hidden = !text;
  }
}

// swap sorts rows. It does not touch rows that are in order, so that they keep the focus.
function swap(body, rows) {
  rows.forEach((row, i) => { if (body.children[i] !== row) body.insertBefore(row, body.children[i] ?? null); });
  while (body.children.length > rows.length) body.lastElementChild.remove();
}

function newRow(d) {
  const row = document.createElement("tr");
  row.dataset.key = d.device;
  const name = document.createElement("td"), number = document.createElement("td"), link = document.createElement("a");
  link.href = "/devices/" + encodeURIComponent(d.device);
  link.title = d.device;
  link.textContent = short(d.device);
  name.append(glyph("ok"), link);
  number.className = "n";
  row.append(name, number);
  return row;
}

// fill writes what may change in a row; with flashing, a new value flashes.
function fill(row, d, unit, flashing) {
  const state = states.has(d.state) ? d.state : "ok";
  const mark = row.querySelector(".glyph");
  if (mark.dataset.state !== state) mark.replaceWith(glyph(state));
  const severe = row.querySelector(".glyph + .glyph"), severity = severities.has(d.severity) ? d.severity : "";
  if ((severe?.dataset.state ?? "") !== severity) {
    severe?.remove();
    if (severity) row.querySelector(".glyph").after(glyph(severity, "i-"));
  }
  const text = value(d.value, unit), cell = row.lastElementChild;
  if (cell.textContent === text) return;
  const news = flashing && cell.textContent !== "";
  cell.textContent = text;
  if (news) flash(cell);
}

// glyph is the shape of a state or, with the prefix i-, of an open incident's severity.
export function glyph(state, prefix = "m-") {
  const g = document.createElementNS(svg, "svg"), use = document.createElementNS(svg, "use");
  g.setAttribute("class", "glyph " + state);
  g.setAttribute("viewBox", "-6 -6 12 12");
  g.setAttribute("role", "img");
  g.setAttribute("aria-label", prefix === "m-" ? state : `${state} incident`);
  g.dataset.state = state;
  for (const [name, v] of Object.entries({ href: "#" + prefix + state, x: -6, y: -6, width: 12, height: 12 })) use.setAttribute(name, v);
  g.append(use);
  return g;
}

// flash highlights an element for a moment.
export function flash(element) {
  element.classList.remove("news");
  void element.offsetWidth; // restarts the animation
  element.classList.add("news");
}
