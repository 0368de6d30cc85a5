"use strict";
// Two releases side by side, by the rules of reports/difference_sides.py. A value is [name, text, JSON or nothing].
const releasegateDiff = (() => {
  const { address, bdi, load, made, shown } = releasegateData;
  const SECTIONS = ["facts", "policy", "method", "gates", "classes", "utility"];
  const field = (id) => document.getElementById(id);
  const read = (id) => JSON.parse(field(id).textContent);
  const seriesOf = new Map();

  function compare(one, other) {
    const [a, b] = [one, other].map((values) => new Map(values.map((value) => [value[0], value])));
    return [...new Set([...a.keys(), ...b.keys()])].map((name) => {
      const [x, y] = [a.get(name), b.get(name)];
      return { name, a: x, b: y, same: Boolean(x && y) && x[1] === y[1] && x[2] === y[2] };
    });
  }

  // Without a section that is empty here where the other policy's fields show what is in it.
  function withoutSections(fields, other) {
    const sections = new Set(other.flatMap(([name]) => [...name.matchAll(/\./g)].map((dot) => name.slice(0, dot.index))));
    return fields.filter(([name, , json]) => json !== "null" || !sections.has(name));
  }

  function rows(one, other) {
    const found = Object.fromEntries(SECTIONS.map((name) => [name, compare(one[name] ?? [], other[name] ?? [])]));
    found.policy = compare(withoutSections(one.policy, other.policy), withoutSections(other.policy, one.policy)).filter((row) => !row.same);
    const order = read("gates");
    const place = (row) => (order.includes(row.name) ? order.indexOf(row.name) : order.length);
    found.gates.sort((x, y) => place(x) - place(y));
    return found;
  }

  async function side(identifier) {
    const { policies, sides } = await load(`sides-${seriesOf.get(identifier)}`);
    const facts = new Map(sides[identifier].facts);
    return { ...sides[identifier], policy: policies[facts.get("policy_digest")] };
  }

  function table(section, found, a, b) {
    const title = section === "facts" ? [] : [made("h2", "", section)];
    const chosen = field("only").checked ? found.filter((row) => !row.same) : found;
    if (!chosen.length) return [...title, made("p", "", section === "policy" ? "The same." : "Nothing differs.")];
    const head = (scope, inside) => Object.assign(made("th", "", inside), { scope });
    const absent = section === "gates" ? "not run" : "-";
    const lines = chosen.map((row) => made("tr", row.same ? "" : "differs",
      made("td", "", row.same ? "" : "≠ differs"),
      head("row", bdi(section === "facts" ? row.name.replaceAll("_", " ") : row.name)),
      ...[row.a, row.b].map((value) => made("td", "long", bdi(value ? value[1] : absent)))));
    const heads = made("tr", "", ...["differs", "what", a, b].map((text) => head("col", text)));
    const region = made("div", "scroll", made("table", "", made("thead", "", heads), made("tbody", "", ...lines)));
    return [...title, Object.assign(region, { tabIndex: 0, role: "region", ariaLabel: section })];
  }

  const unknown = new Map(); // what the address asks for, by its field, and is not among them
  let asked = 0;

  function tell(text, ...parts) {
    field("told").textContent = text;
    field("rows").replaceChildren(...parts);
  }

  async function show() {
    const own = ++asked;
    const [a, b] = [field("a").value, field("b").value];
    delete field("rows").dataset.shown;
    if (unknown.size) return tell([...unknown.values()].map((name) => `${shown(name)} is not in this site.`).join(" "));
    try {
      const found = rows(await side(a), await side(b));
      if (own !== asked) return;
      const n = Object.values(found).flat().filter((row) => !row.same).length;
      tell(n ? `${n} row${n === 1 ? " differs" : "s differ"}, marked ≠` : "Nothing differs.", ...SECTIONS.flatMap((name) => table(name, found[name], a, b)));
      field("rows").dataset.shown = `${a} ${b}`;
    } catch (error) {
      if (own === asked) tell(`The comparison cannot be shown: ${error.message}`);
    }
  }

  // A candidate that became a release is known by the name of the release: both have one page.
  async function known(name) {
    if (seriesOf.has(name)) return name;
    const pages = await load("pages");
    return [...seriesOf.keys()].find((one) => pages[one] && pages[one] === pages[name]) ?? "";
  }

  async function choose() {
    const own = ++asked;
    const wanted = [...address()].filter(([id]) => id === "a" || id === "b");
    try {
      const names = await Promise.all(wanted.map(([, name]) => known(name)));
      if (own !== asked) return;
      unknown.clear();
      wanted.forEach(([id, name], i) => {
        field(id).value = names[i]; // the field of an unknown one is empty
        if (!names[i]) unknown.set(id, name);
      });
      show();
    } catch (error) {
      if (own === asked) tell(`The comparison cannot be shown: ${error.message}`);
    }
  }

  releasegateData.begin(() => {
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
    addEventListener("hashchange", choose);
    addEventListener("pageshow", choose); // by then the browser has filled in the fields of an earlier visit
  });

  // What `releasegate diff` finds too: for the tests, and whoever looks for it in the console.
  return { rows: async (a, b) => rows(await side(a), await side(b)) };
})();
