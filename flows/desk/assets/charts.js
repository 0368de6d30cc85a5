"use strict";
// Draws every figure whose data stand in the page, when it comes near the window, in the page's colours.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
  const waiting = new Map();

  async function draw(place) {
    const { spec, rows } = JSON.parse(document.getElementById(place.dataset.picture).textContent);
    const whole = { ...spec, data: { name: "rows", values: rows } };
    const made = await vegaEmbed(place, whole, {
      actions: false,
      config: THEMES[theme()],
      renderer: rows.length > 300 ? "canvas" : "svg",
      defaultStyle: false,
      tooltip: { theme: theme() },
      hover: false,
    });
    // The place itself says in words what is drawn; Vega's own marks have roles without a name.
    for (const drawn of place.querySelectorAll("svg, canvas")) drawn.setAttribute("aria-hidden", "true");
    waiting.set(place, made);
    place.dataset.drawn = theme();
  }

  function redraw() {
    for (const [place, made] of waiting) {
      made.finalize();
      draw(place);
    }
  }

  function begin() {
    const places = [...document.querySelectorAll("[data-picture]")];
    const near = new IntersectionObserver(
      (entries) => {
        for (const entry of entries.filter((one) => one.isIntersecting)) {
          near.unobserve(entry.target);
          draw(entry.target);
        }
      },
      { rootMargin: "500px" },
    );
    places.forEach((place) => near.observe(place));
    addEventListener("beforeprint", () => places.filter((one) => !one.dataset.drawn).forEach(draw));
    dark.addEventListener("change", redraw);
    document.addEventListener("theme", redraw);
  }

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();
})();
