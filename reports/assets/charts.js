"use strict";
// Draws every figure whose data stand in the page, when it comes near the window, in the page's colours.
(() => {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let paper = false;
  const chosen = () => document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
  const theme = () => paper ? "light" : chosen();
  const pictures = new Map();

  async function draw(place) {
    const colours = theme();
    const { spec, rows } = JSON.parse(document.getElementById(place.dataset.picture).textContent);
    const whole = { ...spec, data: { name: "rows", values: rows } };
    const made = await vegaEmbed(place, whole, {
      actions: false,
      config: THEMES[colours],
      renderer: rows.length > 300 ? "canvas" : "svg",
      defaultStyle: false,
      tooltip: { theme: colours },
      hover: false,
    });
    // The place itself says in words what is drawn; Vega's own marks have roles without a name.
    for (const drawn of place.querySelectorAll("svg, canvas")) drawn.setAttribute("aria-hidden", "true");
    pictures.get(place)?.finalize();
    pictures.set(place, made);
    place.dataset.drawn = colours;
    if (colours !== theme()) draw(place); // it changed meanwhile
  }

  const redraw = () => [...pictures.keys()].filter((one) => one.dataset.drawn !== theme()).forEach(draw);

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
    addEventListener("beforeprint", () => {
      paper = true;
      places.filter((one) => one.dataset.drawn !== "light").forEach(draw);
    });
    addEventListener("afterprint", () => {
      paper = false;
      redraw();
    });
    dark.addEventListener("change", redraw);
    document.addEventListener("theme", redraw);
  }

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();
})();
