// The base map: the Equal Earth projection (Šavrič, Patterson, Jenny 2018) and the
// outlines. Package internal/earth has the same in Go, and names their source.

const [a1, a2, a3, a4] = [1.340264, -0.081106, 0.000893, 0.003796];
const m = Math.sqrt(3) / 2;
const radian = Math.PI / 180;

export let width = 2 * Math.PI / (m * a1);
export let height = 2 * 1.3173627591574133;

// mercator switches to the projection of tiles, before anything else is called.
let flat = false;
export function mercator() {
  flat = true;
  width = height = 2 * Math.PI;
}

// The projection is pseudo-cylindrical: north depends on the latitude only, and east is
// the longitude times a factor that depends on the latitude only.

export function north(lat) {
  if (flat) return Math.max(-Math.PI, Math.min(Math.PI, Math.asinh(Math.tan(lat * radian))));
  const t = Math.asin(m * Math.sin(lat * radian)), t2 = t * t, t6 = t2 * t2 * t2;
  return t * (a1 + a2 * t2 + t6 * (a3 + a4 * t2));
}

export function east(lat) {
  if (flat) return radian;
  const t = Math.asin(m * Math.sin(lat * radian)), t2 = t * t, t6 = t2 * t2 * t2;
  return radian * Math.cos(t) / (m * (a1 + 3 * a2 * t2 + t6 * (7 * a3 + 9 * a4 * t2)));
}

// latitude returns the latitude whose north is y.
export function latitude(y) {
  y = Math.max(-height / 2, Math.min(height / 2, y));
  if (flat) return Math.atan(Math.sinh(y)) / radian;
  let t = y;
  for (let i = 0; i < 12; i++) { // Newton's method, which converges in about 5 steps
    const t2 = t * t, t6 = t2 * t2 * t2;
    const d = (t * (a1 + a2 * t2 + t6 * (a3 + a4 * t2)) - y) / (a1 + 3 * a2 * t2 + t6 * (7 * a3 + 9 * a4 * t2));
    t -= d;
    if (Math.abs(d) < 1e-14) break;
  }
  return Math.asin(Math.max(-1, Math.min(1, Math.sin(t) / m))) / radian;
}

const grain = 100; // steps of the outlines in a degree

// outlines decodes world.bin: rings of land, and borders. It projects latitudes in advance.
export function outlines(buffer) {
  const bytes = new Uint8Array(buffer);
  let at = 0;
  const count = () => {
    for (let n = 0, by = 1; ; by *= 128) {
      const b = bytes[at++];
      if (b === undefined) throw new Error("outlines: cut short");
      n += (b & 127) * by;
      if (b < 128) return n;
    }
  };
  const step = () => {
    const n = count();
    return n % 2 ? -(n + 1) / 2 : n / 2;
  };
  let lon = 0, lat = 0;
  const lines = () => Array.from({ length: count() }, () => {
    const n = count();
    const line = { n, lon: new Float64Array(n), east: new Float64Array(n), north: new Float64Array(n), box: [180, 90, -180, -90] };
    let x = lon, y = lat;
    for (let i = 0; i < n; i++) {
      x += step();
      y += step();
      if (i === 0) [lon, lat] = [x, y];
      const [lo, la] = [x / grain, y / grain];
      line.lon[i] = lo;
      line.east[i] = east(la);
      line.north[i] = north(la);
      const b = line.box;
      line.box = [Math.min(b[0], lo), Math.min(b[1], la), Math.max(b[2], lo), Math.max(b[3], la)];
    }
    line.high = north(line.box[3]) - north(line.box[1]);
    return line;
  });
  return { land: lines(), borders: lines() };
}
