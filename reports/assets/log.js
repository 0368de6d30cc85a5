"use strict";
// The audit log: its pieces are loaded as they are needed, the newest first.
(() => {
  const FIELDS = ["number", "at", "actor", "action", "object", "reason", "previous", "hash"];
  const shape = JSON.parse(document.getElementById("shape").textContent);
  const { load, shown } = releasegateData;
  const $ = (id) => document.getElementById(id);
  const pieces = new Map(); // of events as they are shown, oldest first
  let pages = {};
  let matches = []; // [piece, place] of what is asked for, newest first, as far as was looked
  let done = true; // all pieces were looked at
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

  const seriesOf = (event) => {
    if (Object.hasOwn(pages, event.object)) return pages[event.object].split("/")[1];
    return /^(input|series)\./.test(event.action) ? event.object.split("/")[0] : "";
  };

  async function looked(n, words, action, series, deep) {
    const events = await piece(n);
    const texts = deep && words.length ? await load(`payloads-${n}`) : null;
    const found = [];
    for (let i = events.length - 1; i >= 0; i--) {
      const event = events[i];
      if (action && event.action !== action) continue;
      if (series && seriesOf(event) !== series) continue;
      if (words.length) {
        let text = `${event.number} ${event.at} ${event.actor} ${event.action} ${event.object} ${event.reason} ${event.hash}`;
        if (texts) text += ` ${texts[i]}`;
        text = text.toLowerCase();
        if (!words.every((word) => /^#\d+$/.test(word) ? word === `#${event.number}` : text.includes(word))) continue;
      }
      found.push([n, i]);
    }
    return found;
  }

  // Looks on until a page is full, or, to count, to the end.
  async function look() {
    const own = ++asked;
    const words = $("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    const [action, series, deep] = [$("action").value, $("of-series").value, $("payloads").checked];
    const all = !words.length && !action && !series;
    matches = [];
    page = 0;
    done = false;
    try {
      for (let n = shape.pieces - 1; n >= 0; n--) {
        if (all) {
          const size = n === shape.pieces - 1 ? shape.events - n * shape.piece : shape.piece;
          for (let i = size - 1; i >= 0; i--) matches.push([n, i]);
          continue;
        }
        const before = matches.length;
        const found = await looked(n, words, action, series, deep);
        if (own !== asked) return;
        matches.push(...found);
        if (before < shape.page) await show();
        tell(`${matches.length.toLocaleString("en")} found, still looking`);
      }
      done = true;
      await show();
    } catch (error) {
      if (own === asked) tell(`It cannot be shown: ${error.message}`);
    }
  }

  function tell(text) { $("found").textContent = text; }

  function put(line, said, kind = "", link = "") {
    const cell = line.insertCell();
    cell.className = kind;
    const place = link ? document.createElement("a") : cell;
    if (link) { place.href = link; cell.append(place); }
    const apart = document.createElement("bdi");
    apart.textContent = shown(String(said));
    place.append(apart);
    return cell;
  }

  function contents(line, event) {
    const cell = line.insertCell();
    cell.className = "long";
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    const short = document.createElement("span");
    short.className = "mono";
    short.textContent = event.hash.slice(0, 12);
    const hidden = document.createElement("span");
    hidden.className = "hidden";
    hidden.textContent = ` of event ${event.number}`;
    summary.append(short, hidden);
    const list = document.createElement("dl");
    item(list, "hash", event.hash);
    item(list, "hash before it", event.previous);
    details.append(summary, list);
    cell.append(details);
  }

  function item(list, name, text) {
    const term = document.createElement("dt");
    const said = document.createElement("dd");
    term.textContent = name;
    said.className = "mono";
    said.textContent = shown(text);
    list.append(term, said);
  }

  async function payload(number, list) {
    for (let n = shape.pieces - 1; n >= 0; n--) {
      const events = await piece(n);
      if (events[0].number > number) continue;
      const i = events.findIndex((event) => event.number === number);
      return item(list, "content", (await load(`payloads-${n}`))[i]);
    }
  }

  async function show() {
    const own = asked;
    const chosen = matches.slice(page * shape.page, (page + 1) * shape.page);
    const events = await Promise.all(chosen.map(async ([n, i]) => (await piece(n))[i]));
    if (own !== asked) return;
    const body = document.createElement("tbody");
    for (const event of events) {
      const line = body.insertRow();
      line.dataset.number = event.number;
      put(line, event.number, "n");
      put(line, event.at.slice(0, 16).replace("T", " "));
      put(line, event.actor);
      put(line, event.action);
      put(line, event.object, "", Object.hasOwn(pages, event.object) ? pages[event.object] : "");
      put(line, event.reason, "long");
      contents(line, event);
    }
    $("log").tBodies[0].replaceWith(body);
    const count = matches.length.toLocaleString("en");
    if (done) tell(matches.length === shape.events ? `All ${count} events.` : `${count} of ${shape.events.toLocaleString("en")} events.`);
    const last = Math.max(0, Math.ceil(matches.length / shape.page) - 1);
    $("where").textContent = `page ${page + 1} of ${last + 1}`;
    $("newer").disabled = page === 0;
    $("older").disabled = page >= last;
    $("log").dataset.shown = String(own);
  }

  const text = JSON.stringify;
  async function check() {
    const say = (said) => { $("checked").textContent = said; };
    if (!globalThis.crypto?.subtle) return say("This browser computes no hashes on such a page.");
    $("check").disabled = true;
    const wrong = [];
    let [number, head, n] = [0, "0".repeat(64), 0];
    try {
      for (let at = 0; at < shape.pieces; at++) {
        const events = await piece(at);
        const texts = await load(`payloads-${at}`);
        const hashes = await Promise.all(events.map(async (event, i) => {
          const whole = `{"action":${text(event.action)},"actor":${text(event.actor)},"at":${text(event.at)},"number":${event.number},"object":${text(event.object)},"payload":${texts[i]},"previous":${text(event.previous)},"reason":${text(event.reason)}}`;
          const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(whole)));
          return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
        }));
        events.forEach((event, i) => {
          if (event.number !== number + 1 || event.previous !== head || hashes[i] !== event.hash) wrong.push(event.number);
          [number, head] = [event.number, event.hash];
          n += 1;
        });
        say(`${n.toLocaleString("en")} of ${shape.events.toLocaleString("en")} events checked`);
      }
      say(wrong.length || n !== shape.events
        ? `✗ The chain does not hold: event ${wrong.slice(0, 5).join(", ")}${wrong.length > 5 ? ` and ${wrong.length - 5} more` : ""}.`
        : `✓ The chain holds: ${n.toLocaleString("en")} hashes computed again, the last is ${head}. That nobody cut the end off or wrote all of it anew, only a checkpoint that you kept elsewhere shows.`);
    } catch (error) {
      say(`It cannot be checked: ${error.message}`);
    }
    $("check").disabled = false;
  }

  async function begin() {
    $("log").addEventListener("toggle", (event) => {
      const details = event.target;
      if (!details.open || details.dataset.filled) return;
      details.dataset.filled = "yes";
      const list = details.querySelector("dl");
      payload(Number(details.closest("tr").dataset.number), list).catch((error) => item(list, "content", error.message));
    }, true);
    const named = () => {
      const wanted = new URLSearchParams(location.hash.slice(1));
      if (wanted.get("event")) $("words").value = `#${wanted.get("event")}`;
      if (wanted.get("words")) $("words").value = wanted.get("words");
    };
    named();
    // By then the browser has put back what stood in the fields when somebody left the page.
    const filled = new Promise((done) => addEventListener("pageshow", done, { once: true }));
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
    if (["words", "action", "of-series"].some((id) => $(id).value)) await look();
    else if (shape.events > shape.page) {
      for (let n = shape.pieces - 1; n >= 0; n--) {
        const size = n === shape.pieces - 1 ? shape.events - n * shape.piece : shape.piece;
        for (let i = size - 1; i >= 0; i--) matches.push([n, i]);
      }
      $("where").textContent = `page 1 of ${Math.ceil(matches.length / shape.page)}`;
      $("newer").disabled = true;
    } else $("log-pages").hidden = true;
    $("log").dataset.ready = "yes";
  }
  if (document.readyState === "loading") addEventListener("DOMContentLoaded", begin);
  else begin();
})();
