"use strict";
// The audit log: its pieces are loaded as they are needed, the newest first. An event is its number, time,
// actor, action, object, reason, the hash before it (0: that of the one before it in the piece) and its hash.
(async () => {
  const { $, address, bdi, load, made, read, shown, words } = releasegate;
  const shape = read("shape");
  const newestFirst = Array.from({ length: shape.pieces }, (_, i) => shape.pieces - 1 - i);
  const grouped = (n) => n.toLocaleString("en");
  const tell = (text, id = "found") => { $(id).textContent = text; };
  const pieces = []; // of events, oldest first
  let pages = {};
  let matches = newestFirst.flatMap(places); // [piece, place] of what was found so far, newest first
  let rows = matches.slice(0, shape.page); // those of them that are shown
  let page = 0;
  let asked = 0;

  function piece(n) {
    const linked = (event, i, events) => event.with(6, event[6] || (events[i - 1]?.[7] ?? ""));
    pieces[n] ??= load(`log-${n}`).then((events) => events.map(linked));
    return pieces[n];
  }

  /** Return the places of a piece's events, newest first. */
  function places(n) {
    const size = Math.min(shape.piece, shape.events - n * shape.piece);
    return Array.from({ length: size }, (_, i) => [n, size - 1 - i]);
  }

  const pageOf = (object) => (Object.hasOwn(pages, object) ? pages[object] : "");
  const seriesOf = (action, object) =>
    pageOf(object).split("/")[1] ?? (/^(input|series)\./.test(action) ? object.split("/")[0] : "");

  async function search(n, wanted, ofAction, ofSeries, deep) {
    if (!wanted.length && !ofAction && !ofSeries) return places(n);
    const [events, texts] = [await piece(n), deep && wanted.length ? await load(`payloads-${n}`) : []];
    return places(n).filter(([, i]) => {
      const [number, at, actor, action, object, reason, , hash] = events[i];
      if (ofAction && action !== ofAction) return false;
      if (ofSeries && seriesOf(action, object) !== ofSeries) return false;
      const text = [number, at, actor, action, object, reason, hash, texts[i]].join(" ").toLowerCase();
      return wanted.every((word) => (/^#\d+$/.test(word) ? word === `#${number}` : text.includes(word)));
    });
  }

  // Searches until a page is full, and then, to count, to the end.
  async function look() {
    const own = ++asked;
    const fields = [words($("words").value), $("action").value, $("of-series").value, $("payloads").checked];
    [matches, page] = [[], 0];
    try {
      for (const n of newestFirst) {
        const before = matches.length;
        const found = await search(n, ...fields);
        if (own !== asked) return;
        matches.push(...found);
        if (before < shape.page) await show();
        tell(`${grouped(matches.length)} found, still looking`);
      }
      await show();
      const [count, all] = [matches.length, shape.events].map(grouped);
      const every = shape.events === 1 ? "1 event." : `All ${all} events.`;
      if (own === asked) tell(count === all ? every : `${count} of ${all} events.`);
    } catch (error) {
      if (own === asked) tell(`The log cannot be shown: ${error.message}`);
    }
  }

  const item = (name, text) => [made("dt", {}, name), made("dd", { className: "mono" }, shown(text))];

  function line([number, at, actor, action, object, reason, previous, hash]) {
    const link = pageOf(object) ? made("a", { href: pageOf(object) }, bdi(object)) : bdi(object);
    const summary = made("summary", {},
      made("span", { className: "mono" }, hash.slice(0, 12)),
      made("span", { className: "hidden" }, ` of event ${number}`));
    const details = made("details", {}, summary,
      made("dl", {}, ...item("hash", hash), ...item("hash before it", previous)));
    const texts = [number, at.slice(0, 16).replace("T", " "), actor, action].map(bdi);
    const [cells, kinds] = [[...texts, link, bdi(reason), details], ["n", "", "", "", "", "long", "long"]];
    return made("tr", {}, ...cells.map((one, i) => made("td", { className: kinds[i] }, one)));
  }

  async function show() {
    const own = asked;
    const chosen = matches.slice(page * shape.page, (page + 1) * shape.page);
    const events = await Promise.all(chosen.map(async ([n, i]) => (await piece(n))[i]));
    if (own !== asked) return;
    rows = chosen;
    $("log").tBodies[0].replaceChildren(...events.map(line));
    turned();
  }

  function turned() {
    const last = Math.max(0, Math.ceil(matches.length / shape.page) - 1);
    tell(`page ${page + 1} of ${last + 1}`, "where");
    $("newer").disabled = page === 0;
    $("older").disabled = page >= last;
  }

  async function hashOf([number, at, actor, action, object, reason, previous], payload) {
    const parts = [{ action, actor, at, number, object }, { previous, reason }];
    const [before, after] = parts.map((one) => JSON.stringify(one).slice(1, -1));
    const json = new TextEncoder().encode(`{${before},"payload":${payload},${after}}`);
    const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", json));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** Return what the whole chain says: every number, link and hash. */
  async function checkedChain() {
    const wrong = [];
    let [last, head, n] = [0, "0".repeat(64), 0];
    for (const at of newestFirst.toReversed()) {
      const [events, texts] = [await piece(at), await load(`payloads-${at}`)];
      const hashes = await Promise.all(events.map((event, i) => hashOf(event, texts[i])));
      for (const [i, [number, , , , , , previous, hash]] of events.entries()) {
        if (number !== last + 1 || previous !== head || hashes[i] !== hash) wrong.push(number);
        [last, head, n] = [number, hash, n + 1];
      }
      tell(`${grouped(n)} of ${grouped(shape.events)} events checked`, "checked");
    }
    const more = wrong.length > 5 ? ` and ${wrong.length - 5} more` : "";
    const broken = `✗ The chain does not hold: event ${wrong.slice(0, 5).join(", ")}${more}.`;
    const hashes = `${grouped(n)} hash${n === 1 ? "" : "es"} recomputed; the last is ${head}.`;
    const advice = "To rule out truncation or a full rewrite, compare with a checkpoint you kept elsewhere.";
    return wrong.length || n !== shape.events ? broken : `✓ The chain holds: ${hashes} ${advice}`;
  }

  async function check() {
    const lacking = "This browser cannot compute hashes here; open the page from a file or over HTTPS.";
    if (!globalThis.crypto?.subtle) return tell(lacking, "checked");
    $("check").disabled = true;
    tell(await checkedChain().catch((error) => `The chain cannot be checked: ${error.message}`), "checked");
    $("check").disabled = false;
  }

  async function fill({ target }) {
    if (!target.open || target.dataset.filled) return;
    target.dataset.filled = "yes";
    const [n, i] = rows[target.closest("tr").sectionRowIndex];
    const text = await load(`payloads-${n}`).then((texts) => texts[i], (error) => error.message);
    target.querySelector("dl").append(...item("content", text));
  }

  function takeAddress() {
    const [event, sought] = ["event", "words"].map((name) => address().get(name));
    if (event || sought) $("words").value = sought || `#${event}`;
  }

  function turn(by) {
    page += by;
    show().then(() => $("log").scrollIntoView());
  }

  $("log").addEventListener("toggle", fill, true);
  takeAddress();
  // By then the browser has filled in the fields of an earlier visit.
  const filled = new Promise((ready) => addEventListener("pageshow", ready, { once: true }));
  [pages] = await Promise.all([load("pages"), filled]);
  let waiting = 0;
  $("words").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(look, 150);
  });
  for (const id of ["action", "of-series", "payloads"]) $(id).addEventListener("change", look);
  $("newer").addEventListener("click", () => turn(-1));
  $("older").addEventListener("click", () => turn(1));
  $("check").addEventListener("click", check);
  addEventListener("hashchange", () => {
    takeAddress();
    look();
  });
  $("log-find").hidden = false;
  $("log-check").hidden = !shape.whole;
  $("log-pages").hidden = shape.events <= shape.page;
  turned();
  if (["words", "action", "of-series"].some((id) => $(id).value)) await look();
  $("log").dataset.ready = "yes";
})();
