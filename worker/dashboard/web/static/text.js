// Formats of numbers and times, the same as in text.go.

const thin = "\u202f";

export function number(v) {
  if (!Number.isFinite(v)) return "–";
  const size = Math.abs(v);
  if (size >= 1e9 || size > 0 && size < 1e-4) return v.toExponential(3).replace("-", "−");
  if (size >= 10000) return count(v);
  const digits = size < 1 ? 3 : size < 10 ? 2 : 1;
  return v.toFixed(digits).replace(/\.?0+$/, "").replace("-", "−");
}

export function count(n) {
  const text = Math.round(Math.abs(n)).toString().replace(/\B(?=(\d{3})+$)/g, thin);
  return n <= -0.5 ? "−" + text : text;
}

export function value(v, unit) {
  if (v === null || v === undefined) return "–";
  if (typeof v !== "number") return String(v);
  return unit ? number(v) + thin + unit : number(v);
}

export function plural(n, one, many) {
  return n === 1 ? "1\u00a0" + one : count(n) + "\u00a0" + many;
}

// span formats a duration in seconds.
export function span(s) {
  s = Math.abs(s);
  if (s < 120) return Math.round(s) + thin + "s";
  if (s < 7200) return Math.round(s / 60) + thin + "min";
  if (s < 48 * 3600) return Math.round(s / 3600) + thin + "h";
  return Math.round(s / 86400) + thin + "days";
}

// short returns the end of a long name, which differs from that of its neighbours.
export function short(s) {
  const all = [...s];
  return all.length <= 28 ? s : all.slice(0, 8).join("") + "…" + all.slice(-18).join("");
}
