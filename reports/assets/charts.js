"use strict";
// Draws every figure whose data stand in the page, when it comes near the window, in the page's colours.
(() => {
  const places = [...document.querySelectorAll("[data-picture]")];
  const pictures = new Map();
  let paper = false;
  const theme = () => (paper ? "light" : releasegate.theme());
  const redraw = (some) => some.filter((one) => one.dataset.drawn !== theme()).forEach(draw);
  const redrawSeen = () => redraw([...pictures.keys()]);

  async function draw(place) {
    const colours = theme();
    const { spec, rows } = releasegate.read(place.dataset.picture);
    const options = { ...OPTIONS[colours], renderer: rows.length > 300 ? "canvas" : "svg" };
    const picture = await vegaEmbed(place, { ...spec, data: { name: "rows", values: rows } }, options);
    // The place itself says in words what is drawn; Vega's own marks have roles without a name.
    for (const drawn of place.querySelectorAll("svg, canvas")) drawn.ariaHidden = "true";
    pictures.get(place)?.finalize();
    pictures.set(place, picture);
    place.dataset.drawn = colours;
    if (colours !== theme()) draw(place); // it changed meanwhile
  }

  const near = new IntersectionObserver((entries) => {
    for (const { target } of entries.filter((one) => one.isIntersecting)) {
      near.unobserve(target);
      draw(target);
    }
  }, { rootMargin: "500px" });
  places.forEach((place) => near.observe(place));
  let folded = []; // what holds pictures and was closed: a picture is as wide as its place, which a closed one lacks
  for (const kind of ["beforeprint", "afterprint"]) {
    addEventListener(kind, () => {
      paper = kind === "beforeprint";
      if (paper) folded = [...document.querySelectorAll("details:not([open]):has([data-picture])")];
      for (const one of folded) one.open = paper;
      redraw(paper ? places : [...pictures.keys()]);
    });
  }
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawSeen);
  document.addEventListener("theme", redrawSeen);
})();
