"use strict";
// What every page can do: choose light or dark, and sort, search and break the lines of its tables.
(() => {
  const root = document.documentElement;
  const kept = () => { try { return localStorage.getItem("theme"); } catch { return null; } };
  const keep = (theme) => { try { localStorage.setItem("theme", theme); } catch { /* a page opened from a file */ } };

  function themes() {
    const button = document.getElementById("theme");
    if (!button) return;
    const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
    const tell = () => { button.textContent = dark() ? "Light" : "Dark"; };
    if (kept()) root.dataset.theme = kept();
    button.hidden = false;
    tell();
    button.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      keep(root.dataset.theme);
      tell();
      document.dispatchEvent(new Event("theme"));
    });
  }

  const value = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.value ?? cell.textContent.trim();
  };
  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return a.localeCompare(b, undefined, { numeric: true });
  };

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const body = table.tBodies[0];
        const rows = [...body.rows].sort((a, b) => compare(value(a, column), value(b, column)));
        body.append(...(up ? rows : rows.reverse()));
      });
    });
  }

  function searchable(field) {
    const table = document.getElementById(field.dataset.searches);
    const told = document.getElementById(field.getAttribute("aria-describedby"));
    let texts = null; // read when they are first asked for: there may be thousands
    function search() {
      texts ??= new Map([...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]));
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let n = 0;
      for (const [row, text] of texts) {
        row.hidden = !words.every((word) => text.includes(word));
        n += row.hidden ? 0 : 1;
      }
      told.textContent = words.length ? `${n} of ${texts.size} rows` : `${texts.size} row${texts.size === 1 ? "" : "s"}`;
    }
    field.addEventListener("input", search);
    // By then the browser has put back what stood in the field when somebody left the page.
    addEventListener("pageshow", () => { if (field.value) search(); });
  }

  // A set is written without blanks: after each of its values it may go on in the next line.
  function breakable(cell) {
    const values = cell.textContent.split(/(?<=\|)/);
    cell.replaceChildren(...values.flatMap((value) => [value, document.createElement("wbr")]));
  }

  function begin() {
    themes();
    document.querySelectorAll("td.cell bdi").forEach(breakable);
    document.querySelectorAll("table.sortable").forEach(sortable);
    document.querySelectorAll("input[data-searches]").forEach(searchable);
  }
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();
})();
