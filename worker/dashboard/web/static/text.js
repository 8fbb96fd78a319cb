// Formats of numbers and times, the same as in text.go: testdata/texts.json has examples of both.

const thin = "\u202f";

export function number(v) {
  if (!Number.isFinite(v)) return "–";
  const size = Math.abs(v);
  if (size >= 1e9 || size > 0 && size < 1e-4) {
    const [mantissa, power] = v.toExponential(3).split("e");
    return `${mantissa.replace(/\.?0+$/, "")}e${Number(power)}`.replaceAll("-", "−");
  }
  return size >= 10000 ? count(v) : rounded(v, size < 1 ? 1000 : size < 10 ? 100 : 10);
}

// rounded writes v in steps of a fraction.
function rounded(v, steps) {
  const text = String(Math.round(Math.abs(v) * steps) / steps);
  return v < 0 && text !== "0" ? "−" + text : text;
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
  if (s > 0 && s < 0.1) return rounded(s * 1000, s < 0.01 ? 10 : 1) + thin + "ms";
  if (s < 120) return rounded(s, s < 9.95 ? 10 : 1) + thin + "s";
  if (s < 7200) return rounded(s / 60, 1) + thin + "min";
  if (s < 48 * 3600) return rounded(s / 3600, 1) + thin + "h";
  return rounded(s / 86400, 1) + thin + "days";
}

// short returns the end of a long name, which differs from that of its neighbours.
export function short(s) {
  const all = [...s];
  return all.length <= 28 ? s : all.slice(0, 8).join("") + "…" + all.slice(-18).join("");
}
