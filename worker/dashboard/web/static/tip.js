import { count, plural, span, value } from "./text.js";

// A Tip describes one mark, beside it.
export class Tip {
  #of = null; // the cluster or device that it describes

  constructor(element) { this.element = element; }

  // show shows a mark at its position, or none. The time is the server's.
  show(laid, view, unit, now) {
    this.element.hidden = !laid;
    const what = laid ? laid.m.cluster ?? laid.m.device : null;
    if (what && what !== this.#of) this.element.replaceChildren(...(laid.m.cluster ? ofCluster(what, unit) : ofDevice(what, unit, now)));
    this.#of = what;
    if (!laid) return;
    const { width, height } = this.element.getBoundingClientRect();
    const x = Math.max(6, Math.min(view.width - width - 6, laid.x - width / 2));
    const above = laid.y - laid.r - height - 10;
    this.element.style.transform = `translate(${Math.round(x)}px, ${Math.round(above > 6 ? above : laid.y + laid.r + 10)}px)`;
  }
}

function line(name, text) {
  const e = document.createElement(name);
  e.textContent = text;
  return e;
}

function ofCluster(c, unit) {
  const lines = [line("strong", plural(c.n, "device", "devices"))];
  if (Number.isFinite(c.mean)) {
    lines.push(line("span", `mean ${value(c.mean, unit)}`));
    if (c.numbers && c.numbers < c.n) lines.push(line("small", `of ${count(c.numbers)} that have a number`));
    lines.push(line("small", `${value(c.min, unit)} to ${value(c.max, unit)}`));
  }
  const troubles = [c.new && `${count(c.new)} new`, c.silent && `${count(c.silent)} silent`, c.held && `${count(c.held)} held`, c.incidents && `${count(c.incidents)} with open incidents`].filter(Boolean);
  if (troubles.length) lines.push(line("small", troubles.join(", ")));
  return lines;
}

function ofDevice(d, unit, now) {
  const age = d.time ? `${span((now - Date.parse(d.time)) / 1000)} ago` : "no reading yet";
  const lines = [line("strong", d.device), line("span", value(d.value, unit)), line("small", (d.state === "ok" ? "" : d.state + ", ") + age)];
  if (d.severity) lines.push(line("small", `open incident: ${d.severity}`));
  return lines;
}
