import { View } from "./view.js";

// gestures moves a view by mouse, touch and keyboard. It calls moved after each change,
// and picked with the point of a click.
export function gestures(element, view, { moved, picked, still }) {
  const fingers = new Map(); // positions by pointer
  let held = null;           // the places under one or two fingers
  let went = 0;              // distance in pixels, to tell a click from a drag
  let speed = [0, 0];        // of a single finger; a pinch does not glide
  let at = 0, pinched = false;
  let flight = 0;

  const stop = () => { cancelAnimationFrame(flight); flight = 0; };

  // fly moves to another view within a third of a second, or at once.
  const fly = (to) => {
    stop();
    const from = Object.assign(new View(), view);
    const begin = performance.now(), time = still.matches ? 0 : 340;
    const step = (now) => {
      const t = time ? Math.min(1, (now - begin) / time) : 1;
      const v = t < 1 ? from.between(to, 1 - (1 - t) ** 3) : to;
      [view.lon, view.lat, view.zoom] = [v.lon, v.lat, v.zoom];
      view.settle();
      moved();
      flight = t < 1 ? requestAnimationFrame(step) : 0;
    };
    step(begin);
  };

  // closer zooms about a point of the screen.
  const closer = (by, x = view.width / 2, y = view.height / 2) => {
    const place = view.place(x, y);
    view.zoom = Math.max(view.farthest, Math.min(View.closest, view.zoom + by));
    view.put(place, x, y);
    moved();
  };

  // smoothly zooms over several frames; turns of a wheel add up.
  let left = 0, about = [0, 0];
  const smoothly = (by, x, y) => {
    if (still.matches) return closer(by, x, y);
    stop();
    left += by;
    about = [x, y];
    const step = () => {
      const part = Math.abs(left) < 0.005 ? left : left * 0.28;
      left -= part;
      closer(part, ...about);
      flight = left ? requestAnimationFrame(step) : 0;
    };
    flight = requestAnimationFrame(step);
  };

  const point = (e) => {
    const r = element.getBoundingClientRect();
    return [e.clientX - r.left, e.clientY - r.top];
  };
  const middle = () => {
    const all = [...fingers.values()];
    return [all.reduce((s, p) => s + p[0], 0) / all.length, all.reduce((s, p) => s + p[1], 0) / all.length];
  };
  const apart = () => {
    const [a, b] = [...fingers.values()];
    return b ? Math.hypot(a[0] - b[0], a[1] - b[1]) : 0;
  };
  const grab = () => {
    if (fingers.size > 1) pinched = true;
    held = fingers.size ? { place: view.place(...middle()), apart: apart(), zoom: view.zoom } : null;
  };

  element.addEventListener("pointerdown", (e) => {
    if (e.button !== 0) return;
    stop();
    left = 0;
    element.setPointerCapture(e.pointerId);
    if (fingers.size === 0) [went, speed, pinched] = [0, [0, 0], false];
    fingers.set(e.pointerId, point(e));
    grab();
  });
  element.addEventListener("pointermove", (e) => {
    const before = fingers.get(e.pointerId);
    if (!before) return;
    const [x, y] = point(e);
    went += Math.hypot(x - before[0], y - before[1]);
    const time = Math.max(1, e.timeStamp - at);
    speed = [0.6 * (x - before[0]) / time + 0.4 * speed[0], 0.6 * (y - before[1]) / time + 0.4 * speed[1]];
    at = e.timeStamp;
    fingers.set(e.pointerId, [x, y]);
    if (went < 4) return;
    element.classList.add("moving");
    if (held.apart) view.zoom = Math.max(view.farthest, Math.min(View.closest, held.zoom + Math.log2(Math.max(1, apart()) / held.apart)));
    view.put(held.place, ...middle());
    moved();
  });
  const lift = (e) => {
    if (!fingers.delete(e.pointerId)) return;
    grab();
    if (fingers.size) return;
    element.classList.remove("moving");
    if (e.type === "pointerup" && went < 4) return picked(point(e), e);
    if (went >= 4 && e.timeStamp - at < 60 && !pinched && !still.matches) glide();
  };
  element.addEventListener("pointerup", lift);
  element.addEventListener("pointercancel", lift);

  // glide slows the map down after it was thrown.
  const glide = () => {
    let last = performance.now();
    const step = (now) => {
      const time = Math.min(40, now - last);
      last = now;
      speed = speed.map((s) => s * 0.994 ** time);
      view.put(view.place(view.width / 2, view.height / 2), view.width / 2 + speed[0] * time, view.height / 2 + speed[1] * time);
      moved();
      flight = Math.hypot(...speed) > 0.02 ? requestAnimationFrame(step) : 0;
    };
    flight = requestAnimationFrame(step);
  };

  element.addEventListener("wheel", (e) => {
    e.preventDefault();
    const lines = e.deltaMode === 1 ? 16 : e.deltaMode === 2 ? 400 : 1;
    smoothly(Math.max(-1.5, Math.min(1.5, -e.deltaY * lines * (e.ctrlKey ? 0.01 : 0.0035))), ...point(e));
  }, { passive: false });
  element.addEventListener("dblclick", (e) => smoothly(1, ...point(e)));

  element.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const by = e.shiftKey ? 240 : 80;
    const pan = { ArrowLeft: [-by, 0], ArrowRight: [by, 0], ArrowUp: [0, -by], ArrowDown: [0, by] }[e.key];
    if (pan) fly(moveBy(view, ...pan));
    else if (e.key === "+" || e.key === "=") smoothly(0.8, view.width / 2, view.height / 2);
    else if (e.key === "-" || e.key === "_") smoothly(-0.8, view.width / 2, view.height / 2);
    else if (e.key === "0" || e.key === "Home") fly(view.world());
    else if (e.key === "Enter" || e.key === " ") picked([view.width / 2, view.height / 2], e);
    else return;
    e.preventDefault();
  });

  return { fly, smoothly };
}

function moveBy(view, x, y) {
  const to = Object.assign(new View(), view);
  to.put(to.place(to.width / 2, to.height / 2), to.width / 2 - x, to.height / 2 - y);
  return to;
}
