"use strict";
// Two releases side by side, by the rules of reports/difference_sides.py.
const releasegateDiff = (() => {
  const { load, shown } = releasegateData;
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

  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const seriesOf = new Map();

  async function side(identifier) {
    const data = await load(`sides-${seriesOf.get(identifier)}`);
    const sections = data.sides[identifier];
    const digest = new Map(sections.facts).get("policy_digest");
    return { sections, policy: data.policies[digest] };
  }

  // Numbers as policy/rounding.py tells them; what was measured never to the better side of its limit.
  const exactly = (value) => Number(value.toPrecision(12)) + 0; // no -0
  const plain = (value) => {
    if (Number.isInteger(value)) return value.toLocaleString("en");
    return Math.abs(value) < 1e-4 ? value.toExponential() : String(value);
  };
  const limited = (threshold) => plain(exactly(threshold));
  function rounded(exact, up) {
    const near = Number(exact.toPrecision(4));
    if (up ? near >= exact : near <= exact) return near;
    const digit = 10 ** (Math.floor(Math.log10(Math.abs(exact))) - 3);
    return Number((near + (up ? digit : -digit)).toPrecision(4));
  }
  function measured(value, relation, threshold) {
    const exact = exactly(value);
    const told = Number.isInteger(exact) ? exact : rounded(exact, relation === "<=" || relation === "<");
    const meets = typeof threshold === "number" && told === exactly(threshold) && value !== threshold;
    return plain(meets ? value : told);
  }

  const number = (value) => Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
  function text(section, name, value) {
    if (value === null) return "none";
    if (section === "gates") {
      const found = value.value === null ? "" : ` ${typeof value.value === "number" ? measured(value.value, value.relation, value.threshold) : value.value}`;
      const limit = value.threshold === null ? "" : ` (must be ${value.relation} ${typeof value.threshold === "number" ? limited(value.threshold) : value.threshold})`;
      return `${value.verdict.replace("_", " ")}${found}${limit}`;
    }
    if (section === "facts" && name.endsWith("_at")) return value.slice(0, 16).replace("T", " ");
    if (typeof value === "number") return number(value);
    return typeof value === "string" ? value : JSON.stringify(value);
  }

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

  const field = (id) => document.getElementById(id);
  const unknown = new Map(); // what the address asks for, by its field, and is not among them
  let asked = 0;

  function tell(said, ...parts) {
    field("told").textContent = said;
    field("rows").replaceChildren(...parts);
  }

  async function show() {
    const own = ++asked;
    const [a, b] = [field("a").value, field("b").value];
    delete field("rows").dataset.shown;
    if (unknown.size) return tell([...unknown.values()].map((name) => `${shown(name)} is not among them.`).join(" "));
    try {
      const found = rows(await side(a), await side(b), read("gates"));
      if (own !== asked) return;
      const only = field("only").checked;
      const n = Object.values(found).flat().filter((row) => !row.same).length;
      tell(n ? `${n} rows differ, marked ≠` : "Nothing differs.", ...SECTIONS.map(([name, title]) => table(name, title, found[name], a, b, only)));
      field("rows").dataset.shown = `${a} ${b}`;
    } catch (error) {
      if (own === asked) tell(`It cannot be shown: ${error.message}`);
    }
  }

  // A candidate that became a release is known by the name of the release: both have one page.
  async function known(name) {
    if (seriesOf.has(name)) return name;
    const pages = await load("pages");
    return [...seriesOf.keys()].find((one) => pages[one] && pages[one] === pages[name]) ?? "";
  }

  async function chosen() {
    const own = ++asked;
    const wanted = [...new URLSearchParams(location.hash.slice(1))].filter(([id]) => id === "a" || id === "b");
    try {
      const names = await Promise.all(wanted.map(([, name]) => known(name)));
      if (own !== asked) return;
      unknown.clear();
      wanted.forEach(([id, name], i) => {
        field(id).value = names[i]; // of what is not known the field is empty
        if (!names[i]) unknown.set(id, name);
      });
      show();
    } catch (error) {
      if (own === asked) tell(`It cannot be shown: ${error.message}`);
    }
  }

  function begin() {
    if (!field("a")) return;
    const [first, second] = [field("a"), field("b")];
    second.append(...[...first.children].map((one) => one.cloneNode(true)));
    for (const [series, names] of read("series")) for (const name of names) seriesOf.set(name, series);
    if (second.options.length > 1) first.selectedIndex = 1; // the newest beside the one before it
    const named = ({ id, value }) => `${id}=${encodeURIComponent(unknown.get(id) ?? value)}`;
    for (const one of [first, second]) {
      one.addEventListener("change", () => {
        unknown.delete(one.id);
        history.replaceState(null, "", `#${named(first)}&${named(second)}`);
        show();
      });
    }
    field("only").addEventListener("change", show);
    addEventListener("hashchange", chosen);
    // By then the browser has put back what stood in the fields when somebody left the page.
    addEventListener("pageshow", chosen);
  }
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();

  // The same as what `releasegate diff` finds: for the tests, and whoever looks for it in the console.
  return { limited, measured, rows: async (a, b) => rows(await side(a), await side(b), read("gates")) };
})();
