"use strict";
// The audit log: its pieces are loaded as they are needed, the newest first.
(() => {
  const FIELDS = ["number", "at", "actor", "action", "object", "reason", "previous", "hash"];
  const SIGNED = ["action", "actor", "at", "number", "object", "payload", "previous", "reason"]; // in the order of their JSON
  const shape = JSON.parse(document.getElementById("shape").textContent);
  const { address, bdi, load, made, shown } = releasegateData;
  const $ = (id) => document.getElementById(id);
  const number = (n) => n.toLocaleString("en");
  const pieces = new Map(); // of events as they are shown, oldest first
  let pages = {};
  let matches = []; // [piece, place] of what was found so far, newest first
  let done = true; // all pieces were searched
  let page = 0;
  let asked = 0;

  async function piece(n) {
    if (!pieces.has(n)) {
      let before = "";
      const events = (await load(`log-${n}`)).map((row) => {
        const event = Object.fromEntries(FIELDS.map((name, i) => [name, row[i]]));
        if (event.previous === 0) event.previous = before;
        before = event.hash;
        return event;
      });
      pieces.set(n, events);
    }
    return pieces.get(n);
  }

  function seriesOf(event) {
    if (Object.hasOwn(pages, event.object)) return pages[event.object].split("/")[1];
    return /^(input|series)\./.test(event.action) ? event.object.split("/")[0] : "";
  }

  /** Return the places of a piece's events, newest first. */
  function places(n) {
    const size = n === shape.pieces - 1 ? shape.events - n * shape.piece : shape.piece;
    return Array.from({ length: size }, (_, i) => [n, size - 1 - i]);
  }

  const newestFirst = () => Array.from({ length: shape.pieces }, (_, i) => shape.pieces - 1 - i);

  async function search(n, words, action, series, deep) {
    const events = await piece(n);
    const texts = deep && words.length ? await load(`payloads-${n}`) : null;
    return places(n).filter(([, i]) => {
      const event = events[i];
      if ((action && event.action !== action) || (series && seriesOf(event) !== series)) return false;
      const { at, actor, object, reason, hash } = event;
      const text = [event.number, at, actor, event.action, object, reason, hash, texts?.[i]].join(" ").toLowerCase();
      return words.every((word) => (/^#\d+$/.test(word) ? word === `#${event.number}` : text.includes(word)));
    });
  }

  // Searches until a page is full, and then, to count, to the end.
  async function look() {
    const own = ++asked;
    const words = $("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [action, series, deep] = [$("action").value, $("of-series").value, $("payloads").checked];
    [matches, page, done] = [[], 0, false];
    try {
      if (!words.length && !action && !series) matches = newestFirst().flatMap(places);
      else {
        for (const n of newestFirst()) {
          const before = matches.length;
          const found = await search(n, words, action, series, deep);
          if (own !== asked) return;
          matches.push(...found);
          if (before < shape.page) await show();
          tell(`${number(matches.length)} found, still looking`);
        }
      }
      done = true;
      await show();
    } catch (error) {
      if (own === asked) tell(`The log cannot be shown: ${error.message}`);
    }
  }

  function tell(text) { $("found").textContent = text; }

  function cell(text, kind = "", link = "") {
    return made("td", kind, link ? Object.assign(made("a", "", bdi(text)), { href: link }) : bdi(text));
  }

  const item = (name, text) => [made("dt", "", name), made("dd", "mono", shown(text))];

  function contents(event) {
    const summary = made("summary", "", made("span", "mono", event.hash.slice(0, 12)), made("span", "hidden", ` of event ${event.number}`));
    const list = made("dl", "", ...item("hash", event.hash), ...item("hash before it", event.previous));
    return made("td", "long", made("details", "", summary, list));
  }

  async function payload(wanted) {
    for (const n of newestFirst()) {
      const i = (await piece(n)).findIndex((event) => event.number === wanted);
      if (i >= 0) return (await load(`payloads-${n}`))[i];
    }
    return "";
  }

  async function show() {
    const own = asked;
    const chosen = matches.slice(page * shape.page, (page + 1) * shape.page);
    const events = await Promise.all(chosen.map(async ([n, i]) => (await piece(n))[i]));
    if (own !== asked) return;
    $("log").tBodies[0].replaceChildren(...events.map((event) => {
      const line = made("tr", "",
        cell(event.number, "n"), cell(event.at.slice(0, 16).replace("T", " ")), cell(event.actor), cell(event.action),
        cell(event.object, "", Object.hasOwn(pages, event.object) ? pages[event.object] : ""), cell(event.reason, "long"),
        contents(event));
      line.dataset.number = event.number;
      return line;
    }));
    const count = number(matches.length);
    if (done) tell(matches.length === shape.events ? (matches.length === 1 ? "1 event." : `All ${count} events.`) : `${count} of ${number(shape.events)} events.`);
    turned();
    $("log").dataset.shown = String(own);
  }

  function turned() {
    const last = Math.max(0, Math.ceil(matches.length / shape.page) - 1);
    $("where").textContent = `page ${page + 1} of ${last + 1}`;
    $("newer").disabled = page === 0;
    $("older").disabled = page >= last;
  }

  async function hashOf(event, payload) {
    const json = SIGNED.map((name) => `"${name}":${name === "payload" ? payload : JSON.stringify(event[name])}`).join(",");
    const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`{${json}}`)));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  async function check() {
    const say = (text) => { $("checked").textContent = text; };
    if (!globalThis.crypto?.subtle) return say("This browser cannot compute hashes here; open the page from a file or over HTTPS.");
    $("check").disabled = true;
    const wrong = [];
    let [last, head, n] = [0, "0".repeat(64), 0];
    try {
      for (let at = 0; at < shape.pieces; at++) {
        const [events, texts] = [await piece(at), await load(`payloads-${at}`)];
        const hashes = await Promise.all(events.map((event, i) => hashOf(event, texts[i])));
        events.forEach((event, i) => {
          if (event.number !== last + 1 || event.previous !== head || hashes[i] !== event.hash) wrong.push(event.number);
          [last, head, n] = [event.number, event.hash, n + 1];
        });
        say(`${number(n)} of ${number(shape.events)} events checked`);
      }
      say(wrong.length || n !== shape.events
        ? `✗ The chain does not hold: event ${wrong.slice(0, 5).join(", ")}${wrong.length > 5 ? ` and ${wrong.length - 5} more` : ""}.`
        : `✓ The chain holds: ${number(n)} hash${n === 1 ? "" : "es"} recomputed; the last is ${head}. To rule out truncation or a full rewrite, compare with a checkpoint you kept elsewhere.`);
    } catch (error) {
      say(`The chain cannot be checked: ${error.message}`);
    }
    $("check").disabled = false;
  }

  function named() {
    if (address().get("event")) $("words").value = `#${address().get("event")}`;
    if (address().get("words")) $("words").value = address().get("words");
  }

  async function begin() {
    $("log").addEventListener("toggle", ({ target }) => {
      if (!target.open || target.dataset.filled) return;
      target.dataset.filled = "yes";
      const content = payload(Number(target.closest("tr").dataset.number)).catch((error) => error.message);
      content.then((text) => target.querySelector("dl").append(...item("content", text)));
    }, true);
    named();
    // By then the browser has filled in the fields of an earlier visit.
    const filled = new Promise((ready) => addEventListener("pageshow", ready, { once: true }));
    pages = await load("pages");
    await filled;
    let waiting = 0;
    $("words").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(look, 150); });
    for (const id of ["action", "of-series", "payloads"]) $(id).addEventListener("change", look);
    const turn = (by) => { page += by; show().then(() => $("log").scrollIntoView()); };
    $("newer").addEventListener("click", () => turn(-1));
    $("older").addEventListener("click", () => turn(1));
    $("check").addEventListener("click", check);
    for (const id of ["log-find", "log-pages"]) $(id).hidden = false;
    $("log-check").hidden = !shape.whole;
    addEventListener("hashchange", () => { named(); look(); });
    matches = newestFirst().flatMap(places);
    if (["words", "action", "of-series"].some((id) => $(id).value)) await look();
    else if (shape.events > shape.page) turned();
    else $("log-pages").hidden = true;
    $("log").dataset.ready = "yes";
  }
  releasegateData.begin(begin);
})();
