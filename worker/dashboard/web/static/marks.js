import { near } from "./view.js";
import * as earth from "./earth.js";
import { short } from "./text.js";
import { circle, drawCluster, drawDevice } from "./symbols.js";

// Marks are the clusters and devices on the map.
export class Marks {
  all = new Map(); // marks by key
  scale = null;    // values of the first and the last colour
  words = [];      // the values of a sensor that has states, in the order of their colours

  constructor(still) { this.still = still; }

  // show shows a new map. Devices that were in a cluster move out of it.
  show(map, now) {
    const old = this.all;
    this.all = new Map();
    this.scale = map.scale ?? null;
    const groups = [...old.values()].filter((m) => m.cluster);
    for (const c of map.clusters) this.set("c" + c.id, { cluster: c, lat: c.lat, lon: c.lon }, old, groups, now);
    for (const d of map.devices) this.set("d" + d.device, { device: d, lat: d.lat, lon: d.lon }, old, groups, now);
    this.spread();
  }

  set(key, mark, old, groups, now) {
    const before = old.get(key);
    if (before) mark.from = null;
    else if (!this.still.matches) {
      const parent = groups.find(({ cluster: { bbox: [w, s, e, n] } }) => mark.lon >= w && mark.lon <= e && mark.lat >= s && mark.lat <= n);
      [mark.from, mark.born] = [parent ? [parent.lon, parent.lat] : null, now];
    }
    this.all.set(key, mark);
  }

  // change applies a change, and returns the keys of the marks with new values.
  change({ clusters = [], devices = [], gone = [] }, now) {
    const changed = [];
    const take = (key, mark) => {
      const before = this.all.get(key);
      const value = (m) => m.cluster ? m.cluster.mean : m.device.value;
      if (before && value(before) !== value(mark)) [mark.flashed] = [now, changed.push(key)];
      if (before) mark.spread = before.spread; else mark.born = now;
      this.all.set(key, mark);
    };
    for (const id of gone) {
      this.all.delete("c" + id);
      this.all.delete("d" + id);
    }
    for (const c of clusters) take("c" + c.id, { cluster: c, lat: c.lat, lon: c.lon });
    for (const d of devices) take("d" + d.device, { device: d, lat: d.lat, lon: d.lon });
    this.spread();
    return changed;
  }

  // spread puts devices with the same position around it, so that each can be seen close up.
  spread() {
    const taken = new Map();
    this.words = [...new Set([...this.words, ...this.values()])].slice(0, 64);
    for (const m of this.all.values()) {
      if (!m.device) continue;
      const place = m.lat.toFixed(5) + "," + m.lon.toFixed(5);
      const n = taken.get(place) ?? 0;
      taken.set(place, n + 1);
      m.spread = n && [8.5 * Math.sqrt(n) * Math.cos(n * 2.4), 8.5 * Math.sqrt(n) * Math.sin(n * 2.4)];
    }
  }

  values() {
    const seen = new Set();
    for (const m of this.all.values()) if (typeof m.device?.value === "string") seen.add(m.device.value);
    return [...seen].sort();
  }

  // colour returns the name of the colour of a value.
  colour(value) {
    if (typeof value === "number" && this.scale) {
      const [low, high] = this.scale;
      return "--c" + Math.trunc(Math.max(0, Math.min(9, 10 * (value - low) / Math.max(1e-12, high - low))));
    }
    if (typeof value === "string") {
      const i = this.words.indexOf(value);
      if (i >= 0 && i < 8) return "--k" + i;
    }
    return "--c-none";
  }

  // lay computes the positions of marks on the screen.
  lay(view, now) {
    const f = view.frame();
    const small = Math.max(0.75, Math.min(1, view.width / 700));
    const laid = [];
    for (const [key, m] of this.all) {
      let [x, y] = at(f, m.lon, m.lat);
      const age = m.born ? Math.min(1, (now - m.born) / 260) : 1;
      if (m.from && age < 1) {
        const [px, py] = at(f, ...m.from), t = 1 - (1 - age) ** 3;
        [x, y] = [px + (x - px) * t, py + (y - py) * t];
      }
      if (m.spread && view.zoom > 13) [x, y] = [x + m.spread[0], y + m.spread[1]];
      const r = m.cluster ? small * radius(m.cluster.n) : 5.5;
      if (x > -40 && y > -40 && x < view.width + 40 && y < view.height + 40) laid.push({ key, m, x, y, r, age });
    }
    this.laid = apart(laid, small).sort((a, b) => rank(a.m) - rank(b.m) || b.r - a.r); // what needs attention is on top
    return this.laid;
  }

  // under returns the mark at a point: the nearest one that it touches.
  under(x, y, reach = 4) {
    let best = null, least = Infinity;
    for (const l of this.laid ?? []) {
      const d = Math.hypot(l.x - x, l.y - y) - l.r;
      if (d < reach && (d < least || best.m.cluster && l.m.device)) [best, least] = [l, d];
    }
    return best;
  }

  // moves reports whether an animation is running.
  moves(now) {
    for (const m of this.all.values()) if (now - (m.born ?? -1e9) < 300 || now - (m.flashed ?? -1e9) < 900) return true;
    return false;
  }

  draw(c, view, colour, now, chosen) {
    c.clearRect(0, 0, view.width, view.height);
    c.textAlign = "center";
    c.textBaseline = "middle";
    for (const l of this.lay(view, now)) {
      c.globalAlpha = l.age;
      if (l.m.cluster) drawCluster(c, l, colour, this.colour(l.m.cluster.mean));
      else drawDevice(c, l, colour, this.colour(l.m.device.value));
      c.globalAlpha = 1;
      const flash = l.m.flashed ? (now - l.m.flashed) / 900 : 1;
      if (flash < 1 && !this.still.matches) {
        c.globalAlpha = 1 - flash;
        circle(c, l.x, l.y, l.r + 2 + 8 * flash);
        c.lineWidth = 2;
        c.strokeStyle = colour("--accent");
        c.stroke();
        c.globalAlpha = 1;
      }
      if (l.key === chosen) {
        circle(c, l.x, l.y, l.r + 4);
        c.lineWidth = 2.5;
        c.strokeStyle = colour("--ink");
        c.stroke();
      }
    }
    label(c, this.laid, colour);
  }
}

// few is how many devices have their names on the map.
const few = 50;

// label writes the names of devices where nothing else is.
function label(c, laid, colour) {
  const devices = laid.filter((l) => l.m.device);
  if (devices.length >= few) return;
  const taken = laid.map((l) => [l.x - l.r, l.y - l.r, l.x + l.r, l.y + l.r]);
  c.font = "12px system-ui, sans-serif";
  c.textAlign = "left";
  c.lineWidth = 3;
  c.lineJoin = "round";
  [c.strokeStyle, c.fillStyle] = [colour("--land"), colour("--ink")];
  for (const l of devices) {
    const text = short(l.m.device.device), wide = c.measureText(text).width;
    for (const [x, y] of [[l.x + l.r + 4, l.y], [l.x - l.r - 4 - wide, l.y], [l.x - wide / 2, l.y - l.r - 9], [l.x - wide / 2, l.y + l.r + 9]]) {
      const own = [x - 1, y - 7, x + wide + 1, y + 7];
      if (taken.some((t) => own[0] < t[2] && own[2] > t[0] && own[1] < t[3] && own[3] > t[1])) continue;
      taken.push(own);
      c.strokeText(text, x, y);
      c.fillText(text, x, y);
      break;
    }
  }
}

const radius = (n) => 9 + 4.2 * Math.log10(n);

// apart joins clusters that would cover each other, the smaller one into the larger one.
function apart(laid, small) {
  const clusters = laid.filter((l) => l.m.cluster).sort((a, b) => b.m.cluster.n - a.m.cluster.n), kept = [];
  for (const l of clusters) {
    const over = kept.find((k) => Math.hypot(k.x - l.x, k.y - l.y) < k.r + l.r + 2);
    if (!over) {
      kept.push(l);
      continue;
    }
    over.m = { ...over.m, cluster: joined(over.m.cluster, l.m.cluster) };
    over.r = small * radius(over.m.cluster.n);
  }
  return [...laid.filter((l) => !l.m.cluster), ...kept.length < clusters.length ? apart(kept, small) : kept];
}

function joined(a, b) {
  const sum = (name) => (a[name] ?? 0) + (b[name] ?? 0);
  const numbers = sum("numbers"), all = { ...a, n: a.n + b.n, numbers, new: sum("new"), silent: sum("silent"), held: sum("held"), incidents: sum("incidents") };
  all.severity = ["critical", "warning", "info"].find((s) => s === a.severity || s === b.severity);
  if (numbers) all.mean = ((a.mean ?? 0) * (a.numbers ?? 0) + (b.mean ?? 0) * (b.numbers ?? 0)) / numbers;
  for (const [name, pick] of [["min", Math.min], ["max", Math.max]]) all[name] = pick(a[name] ?? b[name], b[name] ?? a[name]);
  const [v, w] = [a.bbox, b.bbox];
  all.bbox = [Math.min(v[0], w[0]), Math.min(v[1], w[1]), Math.max(v[2], w[2]), Math.max(v[3], w[3])];
  return all;
}

function at(f, lon, lat) {
  return [f.x + near(lon - f.straight) * earth.east(lat) * f.scale, f.y - earth.north(lat) * f.scale];
}

// rank orders marks: those with a higher rank are drawn above.
const rank = (m) => m.cluster ? 0 : m.device.severity ? 5 : { revoked: 2, silent: 3, held: 4 }[m.device.state] ?? 1;
