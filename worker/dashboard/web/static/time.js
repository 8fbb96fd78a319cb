// Times are UTC, as the server writes them, until somebody switches to local time.

const key = "zone";
const local = (() => { try { return localStorage.getItem(key) === "local"; } catch { return false; } })();
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const two = (n) => String(n).padStart(2, "0");

// shifted returns a date whose UTC fields are those of the chosen zone.
const shifted = (t) => local ? new Date(t.getTime() - t.getTimezoneOffset() * 60e3) : t;

// instant formats a time as the server does.
export function instant(t) {
  const s = shifted(t);
  const year = s.getUTCFullYear() === shifted(new Date()).getUTCFullYear() ? "" : ` ${s.getUTCFullYear()}`;
  return `${s.getUTCDate()} ${months[s.getUTCMonth()]}${year} ${two(s.getUTCHours())}:${two(s.getUTCMinutes())}:${two(s.getUTCSeconds())}`;
}

// localize rewrites the times of a page, or of a newer version of it, where local time is chosen.
export function localize(page) {
  const button = page.getElementById("zone");
  if (button) button.textContent = local ? "Times are local" : "Times are UTC";
  if (!local) return;
  for (const e of page.querySelectorAll("time[datetime]")) {
    const text = instant(new Date(e.getAttribute("datetime")));
    if (e.title) e.title = text; else e.textContent = text;
  }
  for (const e of page.querySelectorAll("[data-zone]")) e.textContent = "local time";
  for (const e of page.querySelectorAll("input[type=datetime-local]:not([data-utc])")) {
    if (e.defaultValue) e.defaultValue = shifted(new Date(e.defaultValue + "Z")).toISOString().slice(0, 19);
  }
  for (const chart of page.querySelectorAll("svg.chart[data-from]")) axis(chart);
}

// axis writes the times of a chart's axis anew: round ones in local time.
function axis(chart) {
  const times = chart.querySelector(".times"), [left, , right, base] = chart.dataset.plot.split(" ").map(Number);
  const [from, to] = [chart.dataset.from, chart.dataset.to].map((t) => shifted(new Date(Number(t))).getTime());
  const most = Math.max(2, Math.floor((right - left) / 74)), minute = 60e3, hour = 60 * minute, day = 24 * hour;
  const step = [1e3, 5e3, 15e3, minute, 2 * minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day].find((s) => (to - from) / s < most);
  if (!step) return; // months differ by hours only
  const svg = (name, attributes, text = "") => {
    const e = chart.ownerDocument.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
    e.textContent = text;
    return e;
  };
  const marks = [];
  for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
    const at = new Date(t), midnight = t % day === 0, x = (left + (right - left) * (t - from) / (to - from)).toFixed(1);
    const text = midnight ? `${at.getUTCDate()} ${months[at.getUTCMonth()]}` : `${two(at.getUTCHours())}:${two(at.getUTCMinutes())}`;
    const place = (midnight ? "day" : "") + (x > right - 16 ? " last" : "");
    marks.push(svg("path", { d: `M${x} ${base}V${base + 4}` }), svg("text", { class: place, x, y: base + 16 }, text));
  }
  times.replaceChildren(...marks);
}

// The form of a device's chart sends UTC, and a span that ends now unless a time was chosen.
document.addEventListener("formdata", (e) => {
  const form = e.target, [from, to] = [form.elements.from, form.elements.to];
  if (form.id !== "range" || !from || !to) return;
  if (form.dataset.span && from.value === from.defaultValue && to.value === to.defaultValue) {
    e.formData.delete("from");
    e.formData.delete("to");
    e.formData.set("span", form.dataset.span);
    return;
  }
  for (const field of [from, to]) if (local && field.value) e.formData.set(field.name, new Date(field.value).toISOString());
});
document.addEventListener("input", (e) => {
  const form = e.target.form;
  if (form?.id !== "range" || !form.elements.from) return;
  const wrong = form.elements.from.value && form.elements.to.value && form.elements.from.value >= form.elements.to.value;
  form.elements.to.setCustomValidity(wrong ? "This time must be after the other one." : "");
});

const button = document.getElementById("zone");
if (button) {
  button.hidden = false;
  button.addEventListener("click", () => {
    try { localStorage.setItem(key, local ? "utc" : "local"); } catch { return; } // a private window
    location.reload();
  });
}
