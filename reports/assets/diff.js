"use strict";
// Two releases side by side, by the rules of reports/difference_sides.py. A value is its name, text and JSON.
const releasegateDiff = (() => {
  const { $, address, bdi, load, made, read, shown } = releasegate;
  const SECTIONS = ["facts", "policy", "method", "gates", "classes", "utility"];
  if (!$("a")) return null; // there is nothing to compare
  const seriesOf = new Map(read("series").flatMap(([series, names]) => names.map((name) => [name, series])));
  const releases = new Map(read("releases")); // by their candidates
  const unknown = new Map(); // what the address asks for, by its field, and is not among them
  let asked = 0;

  function compare(one = [], other = []) {
    const [a, b] = [one, other].map((values) => new Map(values.map((value) => [value[0], value])));
    return [...new Set([...a.keys(), ...b.keys()])].map((name) => {
      const [x, y] = [a.get(name), b.get(name)];
      return { name, a: x, b: y, same: Boolean(x && y) && x[1] === y[1] && x[2] === y[2] };
    });
  }

  // Without a section that is empty here where the other policy's fields show what is in it.
  function withoutSections(fields, other) {
    const shows = (section) => other.some(([name]) => name.startsWith(`${section}.`));
    return fields.filter(([name, , json]) => json !== "null" || !shows(name));
  }

  function rows(one, other) {
    const found = Object.fromEntries(SECTIONS.map((name) => [name, compare(one[name], other[name])]));
    const policies = [withoutSections(one.policy, other.policy), withoutSections(other.policy, one.policy)];
    found.policy = compare(...policies).filter((row) => !row.same);
    const order = read("gates");
    const place = ({ name }) => (order.includes(name) ? order.indexOf(name) : order.length);
    found.gates.sort((x, y) => place(x) - place(y));
    return found;
  }

  async function side(identifier) {
    const { policies, sides } = await load(`sides-${seriesOf.get(identifier)}`);
    const facts = new Map(sides[identifier].facts);
    return { ...sides[identifier], policy: policies[facts.get("policy_digest")] };
  }

  const lacking = (name) => `${shown(name)} is not in this site.`;
  const compared = async (a, b) => rows(await side(a), await side(b));

  function table(section, found, names) {
    const title = section === "facts" ? [] : [made("h2", {}, section)];
    const chosen = $("only").checked ? found.filter((row) => !row.same) : found;
    const nothing = section === "policy" ? "The same." : "Nothing differs.";
    if (!chosen.length) return [...title, made("p", {}, nothing)];
    const absent = [null, section === "gates" ? "not run" : "-"];
    const line = ({ name, a = absent, b = absent, same }) => made("tr", { className: same ? "" : "differs" },
      made("td", {}, same ? "" : "≠ differs"),
      made("th", { scope: "row" }, bdi(section === "facts" ? name.replaceAll("_", " ") : name)),
      ...[a, b].map(([, text]) => made("td", { className: "long" }, bdi(text))));
    const heads = ["differs", "what", ...names].map((text) => made("th", { scope: "col" }, text));
    const parts = [made("thead", {}, made("tr", {}, ...heads)), made("tbody", {}, ...chosen.map(line))];
    const region = { className: "scroll", tabIndex: 0, role: "region", ariaLabel: section };
    return [...title, made("div", region, made("table", {}, ...parts))];
  }

  function tell(text, ...parts) {
    $("told").textContent = text;
    $("rows").replaceChildren(...parts);
  }

  async function show() {
    const own = ++asked;
    const names = [$("a").value, $("b").value];
    delete $("rows").dataset.shown;
    if (unknown.size) return tell([...unknown.values()].map(lacking).join(" "));
    try {
      const found = await compared(...names);
      if (own !== asked) return;
      const n = Object.values(found).flat().filter((row) => !row.same).length;
      const told = n ? `${n} row${n === 1 ? " differs" : "s differ"}, marked ≠` : "Nothing differs.";
      tell(told, ...SECTIONS.flatMap((name) => table(name, found[name], names)));
      $("rows").dataset.shown = names.join(" ");
    } catch (error) {
      if (own === asked) tell(`The comparison cannot be shown: ${error.message}`);
    }
  }

  // A candidate that became a release is known by the name of the release.
  function choose() {
    unknown.clear();
    for (const [id, name] of [...address()].filter(([one]) => one === "a" || one === "b")) {
      const known = releases.get(name) ?? name;
      $(id).value = seriesOf.has(known) ? known : ""; // the field of an unknown one is empty
      if (!seriesOf.has(known)) unknown.set(id, name);
    }
    show();
  }

  const [first, second] = [$("a"), $("b")];
  second.append(...[...first.children].map((one) => one.cloneNode(true)));
  if (second.options.length > 1) first.selectedIndex = 1; // the newest beside the one before it
  const named = ({ id, value }) => `${id}=${encodeURIComponent(unknown.get(id) ?? value)}`;
  for (const one of [first, second]) {
    one.addEventListener("change", () => {
      unknown.delete(one.id);
      history.replaceState(null, "", `#${named(first)}&${named(second)}`);
      show();
    });
  }
  $("only").addEventListener("change", show);
  addEventListener("hashchange", choose);
  addEventListener("pageshow", choose); // by then the browser has filled in the fields of an earlier visit
  // What `releasegate diff` finds too: for the tests, and whoever looks for it in the console.
  return { rows: compared };
})();
