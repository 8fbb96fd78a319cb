import { count } from "./text.js";

// The marks of the map, as in its legend. Colours are named as in the styles.

export function circle(c, x, y, r) {
  c.beginPath();
  c.arc(x, y, r, 0, 2 * Math.PI);
}

// drawCluster draws the number of devices in the colour of their mean. The length of the
// arc around it is the share of silent devices, a square means that some are held, and a
// shape as in the legend that some have open incidents.
export function drawCluster(c, { m: { cluster }, x, y, r }, colour, name) {
  circle(c, x, y, r);
  c.fillStyle = colour(name);
  c.fill();
  c.lineWidth = 1.5;
  c.strokeStyle = colour("--mark-edge");
  c.stroke();
  if (cluster.silent) {
    c.beginPath();
    c.arc(x, y, r + 3.5, -Math.PI / 2 - 2 * Math.PI * Math.max(0.05, cluster.silent / cluster.n), -Math.PI / 2);
    c.lineWidth = 3;
    c.strokeStyle = colour("--silent-mark");
    c.stroke();
  }
  c.fillStyle = ink(colour(name));
  c.font = `600 ${r > 17 ? 12 : r > 12 ? 11 : 10}px system-ui, sans-serif`;
  c.fillText(few(cluster.n), x, y + 0.5);
  if (cluster.held) held(c, x + r * 0.75, y - r * 0.75, 4.5, colour);
  if (cluster.severity) incident(c, x - r * 0.75, y - r * 0.75, cluster.severity, colour);
}

// drawDevice draws a device in the shape of its state, and beside it that of its open incident.
export function drawDevice(c, laid, colour, name) {
  drawState(c, laid, colour, name);
  const { m: { device }, x, y, r } = laid;
  if (device.severity) incident(c, x + r, y - r - 1, device.severity, colour);
}

// incident draws the shape of a severity.
function incident(c, x, y, severity, colour) {
  const r = 5.5, mark = colour({ critical: "--revoked-mark", warning: "--held-mark" }[severity] ?? "--silent-mark");
  const shape = () => {
    if (severity !== "critical" && severity !== "warning") return circle(c, x, y, r - 0.5);
    c.beginPath();
    for (const [dx, dy] of [[0, -r], [r + 0.5, r - 0.5], [-r - 0.5, r - 0.5]]) c.lineTo(x + dx, y + dy);
    c.closePath();
  };
  c.lineJoin = "round";
  shape();
  c.lineWidth = 4;
  c.strokeStyle = c.fillStyle = colour("--card");
  c.stroke();
  if (severity === "critical") c.fillStyle = mark;
  c.fill();
  shape();
  c.lineWidth = 1.5;
  c.strokeStyle = mark;
  c.stroke();
  c.strokeStyle = severity === "critical" ? colour("--card") : mark;
  c.beginPath();
  const [long, dot] = severity === "critical" || severity === "warning" ? [[-2, 1], [2.4, 3]] : [[-0.5, 2.6], [-2.6, -2]];
  for (const [from, to] of [long, dot]) {
    c.moveTo(x, y + from);
    c.lineTo(x, y + to);
  }
  c.stroke();
}

function drawState(c, { m: { device }, x, y, r }, colour, name) {
  c.lineWidth = 1.5;
  c.strokeStyle = colour("--mark-edge");
  switch (device.state) {
    case "new":
      circle(c, x, y, r - 1);
      c.fillStyle = colour("--card");
      c.fill();
      c.strokeStyle = colour("--silent-mark");
      return c.stroke();
    case "silent":
      c.beginPath();
      for (const [dx, dy] of [[0, -r - 1], [r + 1, 0], [0, r + 1], [-r - 1, 0]]) c.lineTo(x + dx, y + dy);
      c.closePath();
      c.fillStyle = colour("--card");
      c.fill();
      c.lineWidth = 2;
      c.strokeStyle = colour("--silent-mark");
      return c.stroke();
    case "held":
      return held(c, x, y, r, colour);
    case "revoked":
      for (const [width, of] of [[5, "--card"], [2.5, "--revoked-mark"]]) {
        c.beginPath();
        c.moveTo(x - r + 1, y - r + 1);
        c.lineTo(x + r - 1, y + r - 1);
        c.moveTo(x + r - 1, y - r + 1);
        c.lineTo(x - r + 1, y + r - 1);
        [c.lineWidth, c.strokeStyle] = [width, colour(of)];
        c.stroke();
      }
      return;
  }
  circle(c, x, y, r);
  c.fillStyle = colour(name);
  c.fill();
  c.stroke();
}

function held(c, x, y, r, colour) {
  c.fillStyle = colour("--held-mark");
  c.fillRect(x - r, y - r, 2 * r, 2 * r);
  c.lineWidth = 1.5;
  c.strokeStyle = colour("--card");
  c.strokeRect(x - r, y - r, 2 * r, 2 * r);
  c.beginPath();
  for (const dx of [-r / 3, r / 3]) {
    c.moveTo(x + dx, y - r / 2);
    c.lineTo(x + dx, y + r / 2);
  }
  c.stroke();
}

// few shortens a number so that it fits into a mark.
function few(n) {
  return n < 1000 ? String(n) : n < 9950 ? (n / 1000).toFixed(1).replace(".0", "") + "k" : n < 1e6 ? Math.round(n / 1000) + "k" : count(n / 1e6) + "M";
}

// ink returns a colour for text that is readable on a colour, given as rgb(…).
const inks = new Map();
function ink(colour) {
  if (!inks.has(colour)) {
    const [r, g, b] = colour.match(/[\d.]+/g).map((v) => (v / 255) ** 2.2);
    inks.set(colour, 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.18 ? "#0b1115" : "#ffffff");
  }
  return inks.get(colour);
}
