// Dark or light: the system's choice until somebody switches. This is not a module,
// because it has to run before the page is painted.
"use strict";
(() => {
  const root = document.documentElement;
  root.dataset.scripted = ""; // what buttons open is closed on a phone
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const kept = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("theme", theme); } catch { /* a private window */ } };
  const show = (theme) => { if (theme === "dark" || theme === "light") root.dataset.theme = theme; };
  show(kept());
  addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    button.hidden = false;
    button.addEventListener("click", () => {
      const now = root.dataset.theme || (dark.matches ? "dark" : "light");
      const next = now === "dark" ? "light" : "dark";
      keep(next);
      show(next);
      dispatchEvent(new Event("theme"));
    });
    dark.addEventListener("change", () => dispatchEvent(new Event("theme")));
  });
})();
