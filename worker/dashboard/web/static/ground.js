import * as earth from "./earth.js";

// drawGround draws sea, land, borders and a graticule. Points closer to each other than
// detail, in pixels, are left out: fewer while the map moves.
export function drawGround(c, view, outlines, places, colour, detail = 0.8) {
  const f = { ...view.frame(), detail };
  c.clearRect(0, 0, view.width, view.height);
  c.save();
  edge(c, view, f);
  c.fillStyle = colour("--sea");
  c.fill();
  c.clip();
  if (outlines) {
    const [west, south, east, north] = view.span(), shown = { west, south, east, north };
    c.beginPath();
    for (const line of outlines.land) ring(c, view, f, line, shown);
    c.fillStyle = colour("--land");
    c.fill("evenodd");
    c.lineJoin = "round";
    c.globalAlpha = Math.max(0.3, Math.min(1, (15 - view.zoom) / 4)); // they are coarse
    c.strokeStyle = colour("--coast");
    c.lineWidth = 1;
    c.stroke();
    c.beginPath();
    for (const line of outlines.borders) ring(c, view, f, line, shown, true);
    c.strokeStyle = colour("--border");
    c.stroke();
    c.globalAlpha = 1;
  }
  graticule(c, view, f, colour);
  if (places) names(c, view, f, places, colour);
  c.restore();
}

// names writes the names of countries and cities, the greatest first, where there is room.
function names(c, view, f, places, colour) {
  const taken = [], [west, south, east, north] = view.span();
  c.textAlign = "center";
  c.lineJoin = "round";
  c.lineWidth = 3;
  c.strokeStyle = colour("--land");
  c.fillStyle = colour("--muted");
  for (const [kind, font, shown] of [["countries", "600 11px system-ui, sans-serif", view.zoom < 8], ["cities", "11px system-ui, sans-serif", view.zoom > 3]]) {
    c.font = font;
    for (const [name, lon, lat] of shown ? places[kind].slice(0, 20 * 2 ** view.zoom) : []) {
      if (lat < south || lat > north) continue;
      for (const by of [-360, 0, 360]) {
        if (lon + by < west || lon + by > east) continue;
        const x = f.x + (lon + by - f.straight) * earth.east(lat) * f.scale, y = f.y - earth.north(lat) * f.scale;
        const half = c.measureText(name).width / 2 + 6, box = [x - half, y - 16, x + half, y + 12];
        if (taken.some((t) => t[0] < box[2] && box[0] < t[2] && t[1] < box[3] && box[1] < t[3])) continue;
        taken.push(box);
        const above = kind === "cities" ? 6 : -4;
        if (above > 0) c.fillRect(x - 1.5, y - 1.5, 3, 3);
        c.strokeText(name, x, y - above);
        c.fillText(name, x, y - above);
      }
    }
  }
}

// edge is the outline of the whole world.
function edge(c, view, f) {
  c.beginPath();
  for (const [sign, from] of [[1, -90], [-1, 90]]) {
    for (let i = 0; i <= 60; i++) {
      const lat = from + sign * i * 3;
      c.lineTo(within(f.x + sign * 180 * earth.east(lat) * f.scale), within(f.y - earth.north(lat) * f.scale));
    }
  }
  c.closePath();
}

// within limits a coordinate to what a canvas can compute exactly.
const within = (x) => Math.max(-1e6, Math.min(1e6, x));

// ring adds a line to the path, and its copies to the east and west where they are on
// the screen, without points too close to each other to be seen.
function ring(c, view, f, line, shown, open) {
  const [west, south, east, north] = line.box;
  if (north < shown.south || south > shown.north) return;
  if (Math.max((east - west) * line.east[0], line.high) * f.scale < f.detail) return;
  for (const by of [-360, 0, 360]) {
    if (east + by < shown.west || west + by > shown.east) continue;
    let lastX = Infinity, lastY = Infinity;
    for (let i = 0; i < line.n; i++) {
      const x = f.x + (line.lon[i] + by - f.straight) * line.east[i] * f.scale;
      const y = f.y - line.north[i] * f.scale;
      if (i === 0) c.moveTo(within(x), within(y));
      else if (i === line.n - 1 || Math.abs(x - lastX) + Math.abs(y - lastY) > f.detail) c.lineTo(within(x), within(y));
      else continue;
      [lastX, lastY] = [x, y];
    }
    if (!open) c.closePath();
  }
}

// graticule draws meridians and parallels at a distance that suits the zoom. Close up,
// they are the only orientation.
function graticule(c, view, f, colour) {
  const step = roundStep(150 * 360 / (256 * 2 ** view.zoom));
  const [west, south, east, north] = view.span();
  c.beginPath();
  const parts = view.zoom > 6 ? 2 : 45;
  for (let i = Math.ceil(west / step); i * step <= east; i++) {
    for (let j = 0; j <= parts; j++) {
      const lat = south + (north - south) * j / parts;
      const x = f.x + (i * step - f.straight) * earth.east(lat) * f.scale, y = f.y - earth.north(lat) * f.scale;
      if (j === 0) c.moveTo(within(x), within(y)); else c.lineTo(within(x), within(y));
    }
  }
  for (let i = Math.ceil(south / step); i * step <= north; i++) {
    const y = f.y - earth.north(i * step) * f.scale;
    c.moveTo(0, within(y));
    c.lineTo(view.width, within(y));
  }
  c.strokeStyle = colour("--graticule");
  c.lineWidth = 1;
  c.stroke();
}

function roundStep(x) {
  for (const step of [30, 15, 10, 5, 2, 1]) if (x > step * 0.6) return step;
  const power = 10 ** Math.floor(Math.log10(x));
  return [1, 2, 5, 10].find((by) => by * power >= x) * power;
}

// scaleBar returns a round length and its width on the screen, in the middle of the view.
export function scaleBar(view) {
  const metres = 40030e3 * Math.cos(view.lat * Math.PI / 180) / 360 / (earth.east(view.lat) * view.scale); // in a pixel
  const most = 110 * metres;
  const power = 10 ** Math.floor(Math.log10(most));
  const length = [5, 2, 1].find((by) => by * power <= most) * power;
  return { pixels: length / metres, text: length >= 1000 ? `${length / 1000} km` : `${length} m` };
}
