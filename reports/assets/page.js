"use strict";
// What every page can do: choose light or dark, and sort and search its tables; and what other scripts share.
// Scripts stand at the end of a page, and find the whole of it.
const releasegate = (() => {
  const root = document.documentElement;
  const $ = (id) => document.getElementById(id);
  const preferred = () => (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const theme = () => root.dataset.theme || preferred();
  const read = (id) => JSON.parse($(id).textContent);

  /** Return a new element with some properties, and what is in it: texts, which stay texts, and elements. */
  function made(tag, properties, ...inside) {
    const element = Object.assign(document.createElement(tag), properties);
    element.append(...inside);
    return element;
  }

  // Control characters and signs that turn the direction of writing are shown as their numbers.
  const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;
  const numbered = (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const shown = (text) => String(text).replace(UNSEEN, numbered);
  const bdi = (text) => made("bdi", {}, shown(text));
  const address = () => new URLSearchParams(location.hash.slice(1));
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const loading = {};

  /** Return what data/NAME.js holds: a script, as a page that was opened from a file loads nothing else. */
  const load = (name) => (loading[name] ??= new Promise((loaded, failed) => {
    const script = made("script", { src: `data/${name}.js` });
    script.onload = () => loaded(globalThis.siteData[name]);
    script.onerror = () => failed(new Error(`data/${name}.js cannot be read`));
    document.head.append(script);
  }));

  function chooseTheme(button) {
    const tell = () => { button.textContent = theme() === "dark" ? "Light" : "Dark"; };
    try { root.dataset.theme = localStorage.theme ?? ""; } catch { /* a page opened from a file */ }
    button.hidden = false;
    tell();
    button.addEventListener("click", () => {
      root.dataset.theme = theme() === "dark" ? "light" : "dark";
      try { localStorage.theme = theme(); } catch { /* a page opened from a file */ }
      tell();
      document.dispatchEvent(new Event("theme"));
    });
  }

  const value = (row, column) => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
  const { compare: byText } = new Intl.Collator(undefined, { numeric: true });
  const compare = (a, b) => (a === "" || b === "" || Number.isNaN(a - b) ? byText(a, b) : a - b);

  function sortable(head) {
    const { tBodies: [body], tHead: { rows: [heads] } } = head.closest("table");
    const button = made("button", { type: "button" }, ...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.ariaSort !== "ascending";
      for (const other of heads.cells) other.ariaSort = null;
      head.ariaSort = up ? "ascending" : "descending";
      const order = (a, b) => compare(value(a, head.cellIndex), value(b, head.cellIndex));
      const rows = [...body.rows].sort(order);
      body.append(...(up ? rows : rows.reverse()));
    });
  }

  function searchable(field) {
    const [table, told] = [field.dataset.searches, field.getAttribute("aria-describedby")].map($);
    let texts = null; // read when they are first asked for: there may be thousands
    function search() {
      texts ??= new Map([...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]));
      const wanted = words(field.value);
      for (const [row, text] of texts) row.hidden = !wanted.every((word) => text.includes(word));
      const n = [...texts.keys()].filter((row) => !row.hidden).length;
      const all = `${texts.size} row${texts.size === 1 ? "" : "s"}`;
      told.textContent = wanted.length ? `${n} of ${texts.size} rows` : all;
    }
    field.addEventListener("input", search);
    // By then the browser has put back what stood in the field when somebody left the page.
    addEventListener("pageshow", () => field.value && search());
  }

  chooseTheme($("theme"));
  document.querySelectorAll("table.sortable thead th").forEach(sortable);
  document.querySelectorAll("input[data-searches]").forEach(searchable);
  return { $, address, bdi, load, made, read, shown, theme, words };
})();
