"use strict";
// Two releases side by side, by the rules of flows/difference_sides.py.
const releasegateDiff = (() => {
  const SECTIONS = [["facts", ""], ["policy", "policy"], ["method", "method"], ["gates", "gates"], ["classes", "classes"], ["utility", "utility"]];

  function equal(x, y) {
    if (x === y) return true;
    if (typeof x !== "object" || typeof y !== "object" || x === null || y === null) return false;
    if (Array.isArray(x) !== Array.isArray(y)) return false;
    const names = Object.keys(x);
    return names.length === Object.keys(y).length && names.every((name) => Object.hasOwn(y, name) && equal(x[name], y[name]));
  }

  function compared(one, other) {
    const [a, b] = [new Map(one), new Map(other)];
    return [...new Set([...a.keys(), ...b.keys()])].map((name) => {
      const row = { name };
      if (a.has(name)) row.a = a.get(name);
      if (b.has(name)) row.b = b.get(name);
      row.same = a.has(name) && b.has(name) && equal(row.a, row.b);
      return row;
    });
  }

  // A section that one of two policies does not have is left out where the other's fields tell it.
  function toldOnce(fields, other) {
    const sections = new Set();
    for (const [name] of other) {
      for (let end = name.indexOf("."); end >= 0; end = name.indexOf(".", end + 1)) sections.add(name.slice(0, end));
    }
    return fields.filter(([name, value]) => value !== null || !sections.has(name));
  }

  function rows(one, other, gates) {
    const found = {};
    for (const name of ["facts", "method", "gates", "classes", "utility"]) found[name] = compared(one.sections[name], other.sections[name]);
    found.policy = compared(toldOnce(one.policy, other.policy), toldOnce(other.policy, one.policy)).filter((row) => !row.same);
    const place = (row) => { const at = gates.indexOf(row.name); return at < 0 ? gates.length : at; };
    found.gates.sort((x, y) => place(x) - place(y));
    return found;
  }

  const loading = new Map();
  function load(series) {
    const name = `sides-${series}`;
    if (!loading.has(name)) {
      loading.set(name, new Promise((done, failed) => {
        const script = document.createElement("script");
        script.src = `data/${name}.js`;
        script.onload = () => done(globalThis.siteData[name]);
        script.onerror = () => failed(new Error(`data/${name}.js cannot be read`));
        document.head.append(script);
      }));
    }
    return loading.get(name);
  }

  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const seriesOf = new Map();

  async function side(identifier) {
    const data = await load(seriesOf.get(identifier));
    const sections = data.sides[identifier];
    const digest = new Map(sections.facts).get("policy_digest");
    return { sections, policy: data.policies[digest] };
  }

  // As policy/rounding.py does it: never to the better side of the limit.
  function measured(value, relation, threshold) {
    if (Number.isInteger(value)) return value.toLocaleString("en");
    const exact = Number(value.toPrecision(12));
    const up = relation === "<=" || relation === "<";
    let shown = Number(exact.toPrecision(4));
    if (up ? shown < exact : shown > exact) {
      const digit = 10 ** (Math.floor(Math.log10(Math.abs(exact))) - 3);
      shown = Number((shown + (up ? digit : -digit)).toPrecision(4));
    }
    return shown === threshold && value !== threshold ? String(value) : shown.toLocaleString("en", { maximumSignificantDigits: 4 });
  }

  const number = (value) => Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
  function text(section, name, value) {
    if (value === null) return "none";
    if (section === "gates") {
      const found = value.value === null ? "" : ` ${typeof value.value === "number" ? measured(value.value, value.relation, value.threshold) : value.value}`;
      const limit = value.threshold === null ? "" : ` (must be ${value.relation} ${typeof value.threshold === "number" ? value.threshold.toLocaleString("en", { maximumSignificantDigits: 12 }) : value.threshold})`;
      return `${value.verdict.replace("_", " ")}${found}${limit}`;
    }
    if (section === "facts" && name.endsWith("_at")) return value.slice(0, 16).replace("T", " ");
    if (typeof value === "number") return number(value);
    return typeof value === "string" ? value : JSON.stringify(value);
  }
  // Control characters and signs that turn the direction of writing are shown as their numbers.
  const shown = (said) => said.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);

  function cell(kind, said, apart) {
    const made = document.createElement(kind);
    const inner = apart ? document.createElement("bdi") : made;
    inner.textContent = said;
    if (apart) made.append(inner);
    return made;
  }

  function table(section, title, found, a, b, only) {
    const chosen = only ? found.filter((row) => !row.same) : found;
    const part = document.createDocumentFragment();
    if (title) part.append(cell("h2", title));
    if (!chosen.length) { part.append(cell("p", section === "policy" ? "The same." : "Nothing differs.")); return part; }
    const region = document.createElement("div");
    region.className = "scroll";
    region.tabIndex = 0;
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", title || "facts");
    const made = document.createElement("table");
    const head = made.createTHead().insertRow();
    for (const said of ["", "what", a, b]) { const one = cell("th", said); one.scope = "col"; head.append(one); }
    head.cells[0].textContent = "differs";
    const body = made.createTBody();
    for (const row of chosen) {
      const line = body.insertRow();
      line.append(cell("td", row.same ? "" : "≠ differs"));
      if (!row.same) line.className = "differs";
      const name = cell("th", section === "facts" ? row.name.replaceAll("_", " ") : shown(row.name), true);
      name.scope = "row";
      line.append(name);
      for (const which of ["a", "b"]) {
        const absent = section === "gates" ? "not asked" : "-";
        const one = cell("td", which in row ? shown(text(section, row.name, row[which])) : absent, true);
        one.className = "long";
        line.append(one);
      }
    }
    region.append(made);
    part.append(region);
    return part;
  }

  let asked = 0;
  async function show() {
    const [a, b] = ["a", "b"].map((id) => document.getElementById(id).value);
    const told = document.getElementById("told");
    const place = document.getElementById("rows");
    const own = ++asked;
    try {
      const found = rows(await side(a), await side(b), read("gates"));
      if (own !== asked) return;
      const only = document.getElementById("only").checked;
      place.replaceChildren(...SECTIONS.map(([name, title]) => table(name, title, found[name], a, b, only)));
      const n = Object.values(found).flat().filter((row) => !row.same).length;
      told.textContent = n ? `${n} rows differ, marked ≠` : "Nothing differs.";
      place.dataset.shown = `${a} ${b}`;
    } catch (error) {
      if (own !== asked) return;
      place.replaceChildren();
      told.textContent = `It cannot be shown: ${error.message}`;
    }
  }

  function chosen() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const id of ["a", "b"]) if (seriesOf.has(asked.get(id))) document.getElementById(id).value = asked.get(id);
    show();
  }

  function begin() {
    const [first, second] = ["a", "b"].map((id) => document.getElementById(id));
    if (!first) return;
    second.append(...[...first.children].map((one) => one.cloneNode(true)));
    for (const [series, names] of read("series")) for (const name of names) seriesOf.set(name, series);
    if (second.options.length > 1) first.selectedIndex = 1; // the newest beside the one before it
    for (const one of [first, second]) {
      one.addEventListener("change", () => {
        history.replaceState(null, "", `#a=${encodeURIComponent(first.value)}&b=${encodeURIComponent(second.value)}`);
        show();
      });
    }
    document.getElementById("only").addEventListener("change", show);
    addEventListener("hashchange", chosen);
    chosen();
  }
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();

  // The same as what `releasegate diff` finds: for the tests, and whoever looks for it in the console.
  return { measured, rows: async (a, b) => rows(await side(a), await side(b), read("gates")) };
})();
