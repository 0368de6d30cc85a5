/* Verify the evidence bundle of one release in the browser, by the rules of release_store/protocol and of
 * release_store/evidence: it accepts and refuses what `verify_evidence.py` does, each in its own words. It sends
 * nothing anywhere and keeps nothing. Whatever goes wrong is a finding: nothing is verified by mistake.
 */
"use strict";
(() => {
const [README, SCRIPT, EVIDENCE, POLICY] = ["README.txt", "verify_evidence.py", "evidence.json", "policy.json"];
const [CHECKPOINT, NEWEST, PUBLIC_KEY] = ["checkpoint.json", "newest-checkpoint.json", "public-key.pem"];
const [RELEASE, MANIFEST, PACKAGE, REPORT] = ["release/", "manifest.json", "datapackage.json", "report.html"];
const OWN = [README, SCRIPT, EVIDENCE, CHECKPOINT, NEWEST, PUBLIC_KEY, POLICY];
const EVENT = ["number", "at", "actor", "action", "object", "reason", "payload", "previous"];
const SIGNED = ["store_id", "size", "head", "at", "public_key"];
const BINDING = ["candidate_digest", "policy_digest", "history_head"];
const DECISION = ["decision", "by", "reason", "at", ...BINDING];
const DECIDED = ["decision.approve", "decision.reject", "decision.override"];
const CORRECTED = "clock.corrected";
const SIGNED_ACTIONS = [...DECIDED, "decision.publish", "release.withdrawn", CORRECTED];
const STAGED = [...BINDING, "input_digest", "files", "summary"];
const ROLES = new Map(Object.entries({ // one of them is needed for the act
  approve: ["approver"], reject: ["approver"], publish: ["approver"], withdraw: ["admin", "approver"],
  override: ["admin"], "correct the clock": ["admin"],
}));
const ACTS = new Map([["release.withdrawn", "withdraw"], [CORRECTED, "correct the clock"]]);
const [OVERRIDABLE, OVERRIDES_NEEDED, OPTIONAL_GATES] = [["fail", "unknown"], 2, ["err", "umr", "sadr"]];
const [CLOCK_TOLERANCE, GIVEN_CHECKPOINT] = [60, "the checkpoint that was given"]; // seconds
const [LARGEST_DOCUMENT, LARGEST_FILE] = [2 ** 28, 2 ** 31]; // bytes; a browser digests a file at once
const DEEPEST = 100; // arrays and objects within each other

class Broken extends Error {} // a fault after which the rest of a bundle cannot be checked; its text is shown
class Unable extends Error {} // something that this browser cannot do; nothing is verified without it

function fail(why) { throw new Broken(why); }

// JSON: null, boolean, number, string, array, Map -----------------------------------------------------------------
const object = (found, name = "a value") => (found instanceof Map ? found : fail(`${name} is not a JSON object`));
const list = (found) => (Array.isArray(found) ? found : fail("a value is not a list"));
const text = (found) => (typeof found === "string" ? found : fail("a value is not a text"));
const whole = (found) => (Number.isSafeInteger(found) && found >= 0 ? found : fail("a number is not a whole number"));
const get = (found, name) => object(found).get(name) ?? null;
const optional = (found, name) => object(found ?? new Map(), name);
const item = (found, name) => (object(found).has(name) ? found.get(name) : fail(`a value has no ${name}`));
const map = (pairs) => new Map(Object.entries(pairs));
const only = (found, names, name) =>
  object(found, name).size === names.length && names.every((one) => found.has(one)) ? found : fail(`${name} has missing or unknown fields`);

/** Return the JSON in some bytes. Refuses a name that stands twice, and numbers beyond what a double holds. */
const readJson = (bytes) => parsed(decoded(bytes));
const decoded = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

function parsed(written) {
  const value = JSON.parse(written);
  const open = []; // the names of each array and object around a place
  for (const [token, string, name] of written.matchAll(/("(?:[^"\\]|\\.)*")(\s*:)?|[{}[\]]/gs)) {
    if (token === "{" || token === "[") open.push(new Set());
    else if (token === "}" || token === "]") open.pop();
    else if (name) {
      const own = JSON.parse(string);
      if (open.at(-1).has(own)) fail("a name appears twice");
      open.at(-1).add(own);
    }
    if (open.length > DEEPEST) fail("it is too deep");
  }
  return typed(value);
}

/** Return a value of JSON.parse with a Map for each object, whose names cannot be those of JavaScript. */
function typed(value) {
  if (typeof value === "number" && !Number.isFinite(value)) fail("a number is too large");
  if (value === null || typeof value !== "object") return value;
  return Array.isArray(value) ? value.map(typed) : new Map(Object.entries(value).map(([name, one]) => [name, typed(one)]));
}

// Plain JSON as canonical text: RFC 8785.
function written(value) {
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  if (value instanceof Map) {
    return `{${[...value.keys()].sort(byUnit).map((name) => `${written(name)}:${written(value.get(name))}`).join(",")}}`;
  }
  if (typeof value === "string" && !value.isWellFormed()) fail("a text is no Unicode");
  return JSON.stringify(value);
}

const byUnit = (one, other) => (one < other ? -1 : Number(one > other));
const canonical = (value) => new TextEncoder().encode(written(value));
const same = (one, other) => written(one) === written(other);
const digestOf = async (value) => hex(await sha256(canonical(value)));

/** Return a text that cannot pretend to be more lines: names in a bundle are anybody's. */
const oneLine = (line) => String(line).replace(/[^ ]/gu, (letter) => (/[\p{C}\p{Z}]/u.test(letter) ? "?" : letter));
const shown = (value) => (typeof value === "string" ? value : written(value));

// Bytes, digests, keys and signatures -----------------------------------------------------------------------------
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (found) => Uint8Array.from(found.match(/../g), (pair) => parseInt(pair, 16));
const little = (found) => BigInt(`0x${found.match(/../g).reverse().join("")}`);
const isHash = (found) => typeof found === "string" && /^[0-9a-f]{64}$/.test(found);

const cryptography = () => globalThis.crypto?.subtle ?? unable();
const sha256 = async (...parts) =>
  new Uint8Array(await cryptography().digest("SHA-256", await new Blob(parts).arrayBuffer()));

function unable() {
  const how = "Open it in a current browser, from a file or over HTTPS, or run the script";
  throw new Unable(`cannot be checked here: this browser has no Ed25519 for this page. ${how}`);
}

const PRIME = (1n << 255n) - 19n; // of Ed25519: RFC 8032, section 5.1
const D = 0x52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3n; // of the curve: -121665/121666
const ORDER = (1n << 252n) + 27742317777372353535851937790883648493n;
const EIGHTH = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL_ORDER = [0n, 1n, PRIME - 1n, EIGHTH, PRIME - EIGHTH]; // y of the points whose order divides 8

/** Tell whether a text is an Ed25519 key in its one spelling: on the curve, of large order, y below the prime. */
function isPublicKey(found) {
  if (!isHash(found)) return false;
  const y = little(found) & ((1n << 255n) - 1n);
  if (y >= PRIME || SMALL_ORDER.includes(y)) return false;
  // On the curve: x^2 = (y^2 - 1) / (d y^2 + 1) is a square.
  return power((y * y - 1n) * power(D * y * y + 1n, PRIME - 2n), (PRIME - 1n) / 2n) === 1n;
}

/** Return a number to a power, modulo the prime of Ed25519. */
function power(base, exponent) {
  let [found, square] = [1n, base % PRIME];
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) found = (found * square) % PRIME;
    square = (square * square) % PRIME;
  }
  return found;
}

/** Tell whether a value was signed by a key (both hexadecimal); false for what is no key and no signature. */
async function signedBy(value, key, signature) {
  const subtle = cryptography();
  if (!isPublicKey(key) || typeof signature !== "string" || !/^[0-9a-f]{128}$/.test(signature)) return false;
  if (little(signature.slice(64)) >= ORDER) return false;
  const algorithm = { name: "Ed25519" };
  const imported = await subtle.importKey("raw", unhex(key), algorithm, false, ["verify"])
    .catch((error) => (error.name === "DataError" ? null : unable()));
  if (imported === null) return false;
  return (await subtle.verify(algorithm, imported, unhex(signature), canonical(value))) === true;
}

const DER = "302a300506032b6570032100"; // what stands before the 32 bytes of a key: RFC 8410
const trustworthy = (key) => (isPublicKey(key) ? key : fail("the public key is not a valid Ed25519 key"));
const pem = (key) => `-----BEGIN PUBLIC KEY-----\n${btoa(String.fromCharCode(...unhex(DER + key)))}\n-----END PUBLIC KEY-----\n`;

/** Return the key in what was given, 64 hexadecimal digits or PEM. */
function readKey(given) {
  if (isHash(given)) return trustworthy(given);
  const found = /^\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]{1,9999})-----END PUBLIC KEY-----\s*$/.exec(given);
  if (!found) fail("there is no public key in PEM");
  const der = hex(Uint8Array.from(atob(found[1].replace(/\s/g, "")), (letter) => letter.charCodeAt(0)));
  if (!der.startsWith(DER) || der.length !== DER.length + 64) fail("the public key is not an Ed25519 key");
  return trustworthy(der.slice(DER.length));
}

// The zip: members one behind the other, then the directory in the same order, and nothing else --------------------
const [LOCAL, CENTRAL, END, STORED, DEFLATED] = [0x04034b50, 0x02014b50, 0x06054b50, 0, 8];
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)?$/;
const NO_BUNDLE = "is not a complete bundle written by releasegate; copy it again from its source";
const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
  for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});
async function crc32(bytes) {
  let found = -1;
  for (let at = 0; at < bytes.length; at++) {
    found = CRC[(found ^ bytes[at]) & 255] ^ (found >>> 8);
    if ((at & 0x3fffff) === 0) await new Promise((done) => setTimeout(done)); // so that the page can be used meanwhile
  }
  return ~found >>> 0;
}
const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const latin = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");

/** The members of a bundle. */
class Archive {
  constructor(given, progress) {
    this.blob = given instanceof Blob ? given : new Blob([given]);
    this.progress = progress;
    this.done = 0;
    this.members = new Map(); // name to where its data begin, their length, the length unpacked, the method
  }

  async slice(from, length) { return new Uint8Array(await this.blob.slice(from, from + length).arrayBuffer()); }

  async open() {
    const tail = view(await this.slice(Math.max(0, this.blob.size - 22), 22));
    if (tail.byteLength < 22 || tail.getUint32(0, true) !== END) fail(NO_BUNDLE);
    const [length, start] = [tail.getUint32(12, true), tail.getUint32(16, true)];
    if (start + length + 22 !== this.blob.size || tail.getUint16(20, true) !== 0) fail(NO_BUNDLE);
    const directory = await this.slice(start, length);
    let [at, next] = [0, 0];
    while (at < length) {
      if (at + 46 > length) fail(NO_BUNDLE);
      const entry = view(directory.subarray(at));
      const named = entry.getUint16(28, true);
      const [flags, method] = [entry.getUint16(8, true), entry.getUint16(10, true)];
      const [checksum, packed, size, attributes] = [16, 20, 24, 38].map((place) => entry.getUint32(place, true));
      const name = latin(directory.subarray(at + 46, at + 46 + named));
      const header = await this.slice(next, 30 + named);
      const right =
        entry.getUint32(0, true) === CENTRAL && flags === 0 && [30, 32, 34].every((place) => entry.getUint16(place, true) === 0) &&
        entry.getUint32(42, true) === next && header.length === 30 + named && view(header).getUint32(0, true) === LOCAL &&
        latin(header.subarray(4)) === latin(directory.subarray(at + 6, at + 32)) + name &&
        (method === DEFLATED || (method === STORED && packed === size)) &&
        [0, 8].includes(attributes >>> 28) && !(attributes & 0x10); // a plain file, to Unix and to DOS
      if (!right) fail(NO_BUNDLE);
      if (!NAME.test(name) || this.members.has(name)) fail(`${name} is not a name that a bundle may hold, or stands twice`);
      this.members.set(name, { at: next + 30 + named, packed, size, method, checksum });
      next += 30 + named + packed;
      at += 46 + named;
    }
    if (at !== length || next !== start || tail.getUint16(10, true) !== this.members.size) fail(NO_BUNDLE);
  }

  /** Return the bytes of a member, unpacked to the length that was told and no further. */
  async bytes(name, most = LARGEST_DOCUMENT) {
    const { at, packed, size, method, checksum } = this.members.get(name) ?? fail(`${name} is missing`);
    if (size > most) fail(`${name} is too large`);
    const part = this.blob.slice(at, at + packed);
    let found = part;
    if (method === DEFLATED) {
      const pieces = [];
      let length = 0;
      // Like zlib it refuses a stream that is cut, and one with something behind it.
      for await (const piece of part.stream().pipeThrough(new DecompressionStream("deflate-raw"))) {
        length += piece.length;
        if (length > size) fail(`${name} is longer than the directory says`);
        pieces.push(piece);
      }
      found = new Blob(pieces);
    }
    this.done += packed;
    this.progress(this.done, this.blob.size);
    if (found.size !== size) fail(`${name} is shorter than the directory says`);
    const data = new Uint8Array(await found.arrayBuffer());
    return (await crc32(data)) === checksum ? data : fail(`${name} does not match its checksum in the zip`);
  }

  async document(name) { return object(readJson(await this.bytes(name)), name); }
}

// Reading a bundle ------------------------------------------------------------------------------------------------
/** What stands in a bundle, read but not yet believed. */
class Bundle {
  constructor(read) {
    Object.assign(this, read);
    this.release = text(item(this.manifest, "release_id"));
    this.candidate = text(item(this.manifest, "candidate_id"));
  }

  of(...actions) { return this.events.filter((one) => actions.includes(one.get("action"))); }

  /** Return the one event of that action and object. */
  event(action, subject) {
    const found = this.of(action).filter((one) => one.get("object") === subject);
    return found.length === 1 ? found[0] : fail(`${found.length} events log ${action} of ${subject}; there should be one`);
  }

  payload(action, subject) { return this.event(action, subject).get("payload"); }
  published() { return this.event("release.published", this.release); }

  /** Return the event by which the release's publication began. */
  started() {
    const published = this.published().get("number");
    const found = this.of("publication.started").filter((one) => one.get("number") < published);
    return found.at(-1) ?? fail("no event says publication.started");
  }

  /** Return the accepted decisions on the candidate; `of(...DECIDED)` are those on earlier ones with its files too. */
  decisions() { return this.of(...DECIDED).filter((one) => one.get("object") === this.candidate); }
  gates() { return list(item(this.payload("candidate.assessed", this.candidate), "gates")); }

  /** Tell whether administrators let out what gates held back: enough of them, and no gate that broke. */
  overridden() {
    const verdicts = this.gates().map((one) => text(item(one, "verdict")));
    const overrides = this.decisions().filter((one) => one.get("action") === "decision.override").length;
    const held = verdicts.some((one) => OVERRIDABLE.includes(one));
    return held && verdicts.every((one) => ["pass", ...OVERRIDABLE].includes(one)) && overrides >= OVERRIDES_NEEDED;
  }

  /** Return what the last event before that number says of the people in force, null if none does. */
  peopleBefore(before) {
    return this.of("people.changed").filter((one) => one.get("number") < before).at(-1)?.get("payload") ?? null;
  }

  /** Return the candidates whose files this one has, and which became stale or expired: newest first. */
  predecessors() {
    const found = [];
    for (let candidate = this.candidate; ; found.push(candidate)) {
      const before = optional(get(item(this.payload("candidate.staged", candidate), "summary"), "judged_again"));
      if (!before.size) return found;
      candidate = text(item(before, "of"));
      if (found.includes(candidate)) fail("a candidate is its own predecessor");
    }
  }
}

async function readBundle(archive, trusted, kept, say) {
  await archive.open();
  const manifest = await archive.document(RELEASE + MANIFEST);
  const wanted = [...OWN, ...[...object(item(manifest, "files")).keys(), MANIFEST].map((name) => RELEASE + name)];
  const present = [...archive.members.keys()];
  const missing = wanted.filter((name) => !present.includes(name));
  for (const name of missing) say(name, "is missing");
  for (const name of present.filter((one) => !wanted.includes(one))) say(name, "does not belong in the bundle");
  if (missing.length) return null;
  const written = latin(await archive.bytes(PUBLIC_KEY));
  const ownKey = readKey(written);
  if (written !== pem(ownKey)) fail("public-key.pem is not one key in its standard form");
  for (const name of [README, SCRIPT]) await archive.bytes(name, LARGEST_FILE); // no evidence, but whole
  const evidence = await archive.document(EVIDENCE);
  if (item(evidence, "format") !== 1) fail(`has format ${shown(item(evidence, "format"))}; this page reads 1`);
  only(evidence, ["format", "events", "consistency"], EVIDENCE);
  const proven = list(item(evidence, "events")).map((one) =>
    [readEvent(only(one, ["event", "path"], "an event and its proof").get("event")), readPath(one.get("path"))]);
  const consistency = list(item(evidence, "consistency")).map((one) => only(one, ["size", "path"], "a proof of consistency"));
  if (new Set(consistency.map((one) => one.get("size"))).size < consistency.length) fail("a proof of consistency appears twice");
  const events = proven.map(([event]) => event);
  if (!events.length) fail("it holds no events");
  if (!events.every((one, at) => at === 0 || events[at - 1].get("number") < one.get("number"))) {
    fail("the events are out of order, or one appears twice");
  }
  const files = new Map();
  for (const name of present.filter((one) => wanted.includes(one) && one.startsWith(RELEASE))) {
    files.set(name.slice(RELEASE.length), hex(await sha256(await archive.bytes(name, LARGEST_FILE))));
  }
  return new Bundle({
    key: trusted ?? ownKey, // the one that is trusted, hexadecimal
    ownKey,
    files, // name to SHA-256
    package: present.includes(RELEASE + PACKAGE) ? await archive.bytes(RELEASE + PACKAGE) : new Uint8Array(0),
    manifest,
    policy: await archive.document(POLICY),
    checkpoint: await archive.document(CHECKPOINT), // made with the release
    newest: await archive.document(NEWEST), // the newest that the store had
    kept, // one that the reader kept from elsewhere
    events,
    paths: new Map(proven.map(([event, path]) => [event.get("number"), path])),
    consistency: new Map(consistency.map((one) => [whole(one.get("size")), list(one.get("path")).map(readHash)])),
  });
}

function readEvent(found) {
  const event = only(found, [...EVENT, "hash"], "an event");
  for (const [name, value] of event) if (!["number", "payload"].includes(name)) text(value);
  whole(event.get("number"));
  object(event.get("payload"), "the payload of an event");
  return event;
}

const readHash = (found) => (isHash(found) ? unhex(found) : fail("a proof holds something that is not a hash"));
const readPath = (found) => (found === null ? null : list(found).map(readHash));

// Checks: each says what it finds ---------------------------------------------------------------------------------
function checkKeys(bundle, say) {
  const [first] = bundle.events;
  if (bundle.ownKey !== bundle.key) say(PUBLIC_KEY, "is not the key that was given");
  if (first.get("number") !== 1 || first.get("action") !== "store.created") {
    say("event 1", "is missing, so the store's first key is unknown");
  } else {
    if (get(first.get("payload"), "public_key") !== bundle.key) say("event 1", "the store's first key is not the trusted key");
    if (!same(get(first.get("payload"), "store_id"), get(bundle.newest, "store_id"))) say("event 1", "the store's first id is not the signed id");
  }
}

/** Both are signed by the trusted key, and the newest goes on where the release's stands. */
async function checkCheckpoints(bundle, say) {
  const { checkpoint, newest } = bundle;
  for (const [name, one] of [[CHECKPOINT, checkpoint], [NEWEST, newest]]) {
    if (!(await signatureHolds(one, bundle.key))) say(name, "is not signed by the trusted key");
  }
  if (checkpoint.has("of") && checkpoint.get("of") !== bundle.release) say(CHECKPOINT, "is not the release's checkpoint");
  if (!same(item(checkpoint, "store_id"), item(newest, "store_id"))) say(NEWEST, "belongs to a different store than the release's checkpoint");
  if (!newest.has("root")) say(NEWEST, "has no Merkle root, so it proves nothing");
  else if (!(await continues(bundle, checkpoint))) say(NEWEST, "does not continue the log of the release's checkpoint");
}

/** The checkpoint that the reader kept is of the same log. */
async function checkKept(bundle, say) {
  const { kept, newest } = bundle;
  if (!(await signatureHolds(kept, bundle.key))) say(GIVEN_CHECKPOINT, "is not signed by the trusted key");
  else if (!same(item(kept, "store_id"), item(newest, "store_id"))) say(GIVEN_CHECKPOINT, "belongs to a different store");
  else if (whole(item(kept, "size")) > whole(item(newest, "size"))) say(GIVEN_CHECKPOINT, "is newer than the bundle; ask for a new bundle");
  else if (!(await continues(bundle, kept))) say(GIVEN_CHECKPOINT, "is not of the log in the bundle");
}

/** Tell whether a checkpoint was signed by a key and holds nothing unsigned. */
async function signatureHolds(checkpoint, key) {
  const signed = new Map([...checkpoint].filter(([name]) => name !== "signature"));
  const names = [...signed.keys()].filter((name) => name !== "root" && name !== "of");
  const right = names.length === SIGNED.length && SIGNED.every((name) => signed.has(name)) && signed.get("public_key") === key;
  return right && signedBy(signed, key, checkpoint.get("signature"));
}

/** Tell whether the log of the newest checkpoint begins with that of an earlier one. */
async function continues(bundle, earlier) {
  const { newest } = bundle;
  const [size, last] = [earlier, newest].map((one) => whole(item(one, "size")));
  const logged = bundle.events.find((one) => one.get("number") === size);
  if (logged && logged.get("hash") !== item(earlier, "head")) return false;
  // The earlier form of checkpoints: its last event is itself proven to be in the newest tree.
  if (!earlier.has("root")) return Boolean(logged) && size <= last;
  if (size === last) return same(earlier.get("root"), item(newest, "root")) && same(item(earlier, "head"), item(newest, "head"));
  const path = bundle.consistency.get(size);
  return path !== undefined && consistencyHolds(size, readHash(earlier.get("root")), last, readHash(item(newest, "root")), path);
}

/** Every event is what its hash says, and stands at its number in the log that was signed. */
async function checkEvents(bundle, say) {
  for (const event of bundle.events) {
    const [at, path] = [event.get("number"), bundle.paths.get(event.get("number"))];
    if (event.get("hash") !== (await digestOf(new Map(EVENT.map((name) => [name, event.get(name)]))))) {
      say(`event ${at}`, "does not match its hash: it was changed");
      continue;
    }
    // By the release's checkpoint, else by the newest.
    const signed = [bundle.checkpoint, bundle.newest].find((one) => one.has("root") && at <= whole(item(one, "size")));
    if (!signed) {
      if (path !== null) say(`event ${at}`, "is newer than every checkpoint, yet has a proof");
      continue;
    }
    const leaf = await sha256(Uint8Array.of(0), unhex(event.get("hash")));
    if (path === null || !(await inclusionHolds(leaf, at - 1, signed.get("size"), path, readHash(signed.get("root"))))) {
      say(`event ${at}`, "is not proven to be in the signed log");
    }
  }
}

/** No event is earlier than one before it, unless the clock was corrected between them. */
function checkTimes(bundle, say) {
  const demanded = get(bundle.events[0].get("payload"), "times") === "in order"; // the first stores could step back
  bundle.events.slice(1).forEach((other, before) => {
    const one = bundle.events[before];
    const steps = other.get("number") - one.get("number");
    let wrong = null;
    if (other.get("action") === CORRECTED) wrong = wrongCorrection(other, steps === 1 ? one.get("at") : null);
    else if (demanded) wrong = outOfOrder(one.get("at"), other.get("at"), steps);
    if (wrong) say(`event ${other.get("number")}`, wrong);
  });
}

/** Return what is wrong with the time of an event that follows another by `steps`, null if nothing is. */
function outOfOrder(before, after, steps) {
  let back;
  try {
    back = secondsBack(before, after);
  } catch {
    return "its time, or that of the event before it, cannot be read";
  }
  return back > CLOCK_TOLERANCE * steps ? `is ${Math.round(back)} s earlier than a previous event, and no correction of the clock is logged` : null;
}

/** Return what is wrong with an event by which the clock was corrected, null if nothing is. */
function wrongCorrection(event, before) {
  const said = event.get("payload");
  const bound = item(said, "bound");
  const last = item(bound, "last_event_at");
  const here = item(said, "at") === event.get("at") && item(bound, "log_head") === event.get("previous");
  if (!here || (before !== null && before !== last)) return "corrects the clock of a different log";
  return secondsBack(last, event.get("at")) <= CLOCK_TOLERANCE ? "corrects a clock that was not ahead" : null;
}

/** Return how many seconds the second of two times, in UTC with microseconds, is before the first. */
function secondsBack(before, after) {
  const [one, other] = [before, after].map((at) => {
    const found = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{6})\+00:00$/.exec(text(at));
    const start = found ? Date.parse(`${found[1]}Z`) : NaN;
    const real = Number.isFinite(start) && new Date(start).toISOString().startsWith(found[1]);
    return real && !found[1].startsWith("0000") ? start / 1000 + Number(found[2]) / 1e6 : fail("a time cannot be read");
  });
  return one - other;
}

/** The files are those that the log says were published. */
function checkFiles(bundle, say) {
  const [started, published] = [bundle.started(), bundle.published()];
  const logged = object(item(published.get("payload"), "files"), "the list of files");
  for (const name of new Set([...logged.keys(), ...bundle.files.keys()])) {
    if (!same(bundle.files.get(name) ?? null, logged.get(name) ?? null)) say(RELEASE + name, "differs from the published file");
  }
  if (published.get("number") > whole(item(bundle.checkpoint, "size"))) say(CHECKPOINT, "was signed before the release was published");
  for (const name of ["release", "files", "classes", "candidate"]) {
    if (!same(item(started.get("payload"), name), item(published.get("payload"), name))) {
      say(`event ${published.get("number")}`, `its ${name} differs from that at the start of the publication`);
    }
  }
}

/** What the manifest says is what the log says. */
async function checkManifest(bundle, say) {
  const { manifest, candidate } = bundle;
  const where = RELEASE + MANIFEST;
  const [started, published] = [bundle.started(), bundle.published()];
  if (item(published.get("payload"), "candidate") !== candidate) say(where, "names a different candidate than the published one");
  const [staged, assessed] = [bundle.event("candidate.staged", candidate), bundle.event("candidate.assessed", candidate)];
  const order = [staged, assessed, ...bundle.decisions(), started, published].map((one) => one.get("number"));
  if (order.some((one, at) => at > 0 && order[at - 1] > one)) {
    say(EVIDENCE, "the release was not staged, assessed, decided on and published in this order");
  }
  const decisions = bundle.decisions().map((one) => one.get("payload")).map((said) =>
    new Map((said.has("proof") ? [...DECISION, "proof"] : DECISION).map((name) => [name, item(said, name)])));
  const log = map({ store_id: item(bundle.newest, "store_id"), size: started.get("number") - 1, head: started.get("previous") });
  const logged = new Map(STAGED.map((name) => [name, item(staged.get("payload"), name)]));
  for (const [name, value] of [["made_by", staged.get("actor")], ["gates", bundle.gates()], ["decisions", decisions], ["log", log]]) {
    logged.set(name, value);
  }
  // The files as the gates judged them: no report, and no mark in the data package.
  const override = optional(manifest.get("override"), "the override in the manifest");
  const files = new Map([...item(manifest, "files"), ...optional(override.get("judged"), "what was judged")]);
  files.delete(REPORT);
  const judged = new Map([...manifest, ["files", files]]);
  for (const [name, value] of logged) {
    if (!same(item(judged, name), value)) say(where, `its ${name} differs from the logged one`);
  }
  if (override.has("judged") && !(await isMarked(bundle.package, override))) {
    say(RELEASE + PACKAGE, "is not the assessed file with the mark of the override");
  }
  if ((await digestOf(files)) !== item(manifest, "candidate_digest")) say(where, "its candidate_digest does not match its files");
}

/** Tell whether a data package is the one that was judged, with the mark of the override before all else. */
async function isMarked(bytes, override) {
  const people = list(item(override, "by")).map((one) => map({ by: text(item(one, "by")), at: text(item(one, "at")) }));
  const written = decoded(bytes);
  const found = /^\{\n  "releasegate:override": (\{.*?\n  \})(,\n|\n\}\n$)/s.exec(written);
  if (!found || !same(parsed(found[1]), map({ gates: item(override, "gates"), by: people }))) return false;
  const judged = found[2] === ",\n" ? `{\n${written.slice(found[0].length)}` : "{}\n";
  return same(override.get("judged"), map({ [PACKAGE]: hex(await sha256(judged)) }));
}

async function checkPolicy(bundle, say) {
  if ((await digestOf(bundle.policy)) !== item(bundle.manifest, "policy_digest")) say(POLICY, "is not the policy of the release");
}

/** Every gate passed, and those that the policy names were asked. */
function checkGates(bundle, say) {
  const results = bundle.gates();
  if (!results.length) say("gates", "no gate was run");
  const verdicts = results.map((one) => [text(item(one, "gate")), text(item(one, "verdict"))]);
  const heldBack = new Map(verdicts.filter(([, verdict]) => verdict !== "pass"));
  const known = new Set(verdicts.map(([gate]) => gate));
  const overridden = bundle.overridden();
  for (const [gate, verdict] of heldBack) if (!overridden) say("gates", `${gate} says ${verdict}`);
  const told = get(optional(bundle.manifest.get("override"), "the override in the manifest"), "gates");
  if (!same(told, overridden ? heldBack : null)) say(RELEASE + MANIFEST, "does not say which gates were overridden");
  const asked = get(bundle.payload("candidate.assessed", bundle.candidate), "asked") ?? []; // the first stores did not log it
  for (const name of list(asked)) if (!known.has(text(name))) say("gates", `${name} has no result, though the release had to pass it`);
  const demanded = optional(bundle.policy.get("gates"), "gates of the policy");
  for (const name of OPTIONAL_GATES) {
    if (get(demanded, name) !== null && !known.has(name)) say("gates", `the policy requires ${name}, and it was not run`);
  }
}

/** Enough people other than the maker agreed, to what was then published. */
function checkDecisions(bundle, say) {
  const { manifest } = bundle;
  const [decisions, staged] = [bundle.decisions(), bundle.event("candidate.staged", bundle.candidate)];
  const approval = optional(bundle.policy.get("approval"), "approval of the policy");
  const kept = optional(get(item(manifest, "summary"), "approval"), "approval of the candidate");
  const [asked, more] = [[approval, "approvers"], [kept, "needed"]].map(([said, name]) => (said.has(name) ? whole(said.get(name)) : 0));
  const needed = Math.max(asked, more);
  const approvals = decisions.filter((one) => one.get("action") === "decision.approve").length;
  if (approvals < needed && !bundle.overridden()) say("decisions", `the release has ${approvals} of ${needed} required approval${needed === 1 ? "" : "s"}`);
  if (decisions.some((one, at) => decisions.slice(at + 1).some((other) => onePerson(one, other)))) say("decisions", "one person decided twice");
  const candidates = [bundle.candidate, ...bundle.predecessors()];
  for (const one of bundle.of(...DECIDED)) {
    if (!candidates.includes(one.get("object"))) say(`event ${one.get("number")}`, "is a decision about another candidate");
  }
  for (const one of decisions) {
    const [where, said, action] = [`event ${one.get("number")}`, one.get("payload"), one.get("action")];
    if (action === "decision.reject" || action !== `decision.${text(item(said, "decision"))}`) say(where, "is a rejection of the published candidate");
    if (item(said, "by") !== one.get("actor")) say(where, "names somebody other than its actor");
    if (comparable(one.get("actor")) === comparable(staged.get("actor")) || isBy(get(said, "proof"), get(staged.get("payload"), "maker"))) {
      say(where, "is a decision by the person who made the release");
    }
    if (BINDING.some((name) => !same(item(said, name), item(manifest, name)))) {
      say(where, "is a decision about other files, another policy or another history");
    }
  }
}

/** Every decision on the release is proven to be of a person who might take it. */
async function checkProofs(bundle, say) {
  const demanded = get(bundle.events[0].get("payload"), "decisions") === "proven";
  for (const one of bundle.of(...SIGNED_ACTIONS)) {
    const wrong = await wrongProof(one, text(item(bundle.newest, "store_id")), bundle.peopleBefore(one.get("number")), demanded);
    if (wrong) say(`event ${one.get("number")}`, `the decision ${wrong}`);
  }
}

/** Return what is wrong with the proof of what a person decided, null if nothing is. */
async function wrongProof(event, store, people, demanded) {
  const proof = get(event.get("payload"), "proof");
  if (proof === null) return demanded || people !== null ? "has no proof of identity" : null;
  const others = "refers to a different list of people than the log held then";
  if (people === null || item(proof, "people") !== text(item(people, "digest"))) return others;
  // With how many must agree to everything, where that was said.
  const told = people.has("approvers_at_least") ? new Map(["members", "approvers_at_least"].map((name) => [name, item(people, name)])) : item(people, "members");
  if ((await digestOf(told)) !== people.get("digest")) return others;
  const [said, who] = [event.get("payload"), event.get("actor")];
  const act = ACTS.get(event.get("action")) ?? text(item(said, "decision"));
  if ((event.get("action") !== `decision.${act}` && !ACTS.has(event.get("action"))) || !ROLES.has(act)) return "names a different action than its event";
  const known = list(item(people, "members")).filter((one) => comparable(text(item(one, "name"))) === comparable(who));
  if (known.length !== 1) return `is by ${who}, who was not in the log then`;
  const roles = list(item(known[0], "roles")).map(text);
  if (!ROLES.get(act).some((role) => roles.includes(role))) return `is by ${who}, whose roles did not allow it`;
  const method = item(proof, "method");
  let proven = method === "token" && text(item(proof, "token")) !== "" && proof.get("token") === item(known[0], "token");
  if (method === "signature" && text(item(proof, "public_key")) === item(known[0], "public_key")) {
    const statement = map({
      statement: "releasegate decision 1",
      act,
      store_id: store,
      object: event.get("object"),
      bound: ACTS.has(event.get("action")) ? item(said, "bound") : new Map(BINDING.map((name) => [name, item(said, name)])),
      by: who,
      reason: event.get("reason"),
      at: item(said, "at"),
    });
    proven = await signedBy(statement, proof.get("public_key"), item(proof, "signature"));
  }
  return proven ? null : `is not proven to be by ${who}`;
}

/** Tell whether two events are of one person, by the name or by what proves it. */
function onePerson(one, other) {
  if (comparable(one.get("actor")) === comparable(other.get("actor"))) return true;
  return isBy(get(one.get("payload"), "proof"), get(other.get("payload"), "proof"));
}

/** Tell whether a proof is that of a person, by the key or token that mark them under any name. */
function isBy(proof, marks) {
  const [mine, theirs] = [optional(proof, "a proof"), optional(marks, "a proof")];
  return ["public_key", "token"].some((name) => mine.get(name) && typeof mine.get(name) === "string" && mine.get(name) === theirs.get(name));
}

// Letters and marks that nobody sees: fillers, joiners and selectors of variants.
const INVISIBLE = /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/u;
const CHEROKEE = /[\u13a0-\u13fd\uab70-\uabbf]/;

/** Return a letter as Python's casefold() has it: Unicode's full case folding. */
function folded(letter) {
  if (letter === "\u0131") return letter;
  if (CHEROKEE.test(letter)) return letter.toUpperCase();
  const upper = Array.from(letter.toLowerCase(), (one) => one.toUpperCase()).join("");
  return Array.from(upper, (one) => one.toLowerCase()).join("");
}

/** Return a person's name without its case, spaces, signs and forms of the same letters. */
function comparable(name) {
  const lowered = Array.from(name.normalize("NFKC"), folded).join("").replaceAll("i\u0307", "i");
  const seen = Array.from(lowered.normalize("NFKC")).filter((sign) => !INVISIBLE.test(sign));
  const kept = seen.filter((sign) => /[\p{L}\p{N}\p{M}]/u.test(sign));
  if (kept.some((sign) => /[\p{L}\p{N}]/u.test(sign))) return kept.join("");
  return seen.filter((sign) => !/[\p{C}\p{Z}]/u.test(sign)).join("");
}

// Merkle trees: RFC 9162, section 2.1 -----------------------------------------------------------------------------
const nodeHash = (left, right) => sha256(Uint8Array.of(1), left, right);
const half = (place) => Math.floor(place / 2);

/** Climb from two places to the root: `fold` takes each hash, and whether it stands on the left. */
async function climb(place, end, path, fold) {
  let [here, last] = [place, end];
  for (const other of path) {
    if (last === 0) return false;
    const left = here % 2 === 1 || here === last;
    await fold(other, left);
    while (left && here % 2 === 0 && here !== 0) [here, last] = [half(here), half(last)];
    [here, last] = [half(here), half(last)];
  }
  return last === 0;
}

/** Tell whether `path` shows that `leaf` is leaf `index` (from 0) under `root` of `size` leaves. */
async function inclusionHolds(leaf, index, size, path, root) {
  let found = leaf;
  const whole = index < size && (await climb(index, size - 1, path, async (other, left) => {
    found = await (left ? nodeHash(other, found) : nodeHash(found, other));
  }));
  return whole && hex(found) === hex(root);
}

/** Tell whether `path` shows that the tree of `second` leaves begins with that of `first`. */
async function consistencyHolds(first, firstRoot, second, secondRoot, path) {
  if (first <= 0 || first > second) return false;
  if (first === second) return !path.length && hex(firstRoot) === hex(secondRoot);
  const [start, ...others] = Number.isInteger(Math.log2(first)) ? [firstRoot, ...path] : path;
  if (!start) return false;
  let [here, last, earlier, later] = [first - 1, second - 1, start, start];
  while (here % 2 === 1) [here, last] = [half(here), half(last)];
  const whole = await climb(here, last, others, async (other, left) => {
    if (left) earlier = await nodeHash(other, earlier);
    later = await (left ? nodeHash(other, later) : nodeHash(later, other));
  });
  return whole && hex(earlier) === hex(firstRoot) && hex(later) === hex(secondRoot);
}

/** Say what a reader must know and is no fault of the bundle. */
function describe(bundle, _, report) {
  const [{ release, notes = report.notes }, newest] = [bundle, whole(item(bundle.newest, "size"))];
  for (const event of bundle.events) {
    const named = `event ${event.get("number")}`;
    if (event.get("number") > newest) notes.push(`${named} (${event.get("action")}) is newer than every checkpoint: not proven`);
    if (event.get("action") === CORRECTED) {
      const times = [item(item(event.get("payload"), "bound"), "last_event_at"), event.get("at")];
      const [before, now] = times.map((one) => text(one).slice(0, 16).replace("T", " "));
      notes.push(`${named}: ${event.get("actor")} corrected the clock from ${before} to ${now} UTC; the times just before are wrong`);
    }
  }
  const proven = bundle.events.filter((one) => one.get("number") <= newest).map((one) => one.get("payload"));
  const states = proven.filter((said) => said.get("release") === release && said.has("release_state"));
  const state = text(item(states.at(-1) ?? fail("no event says how the release stands"), "release_state"));
  if (state !== "published") notes.push(`${release} was published, and is ${state} now`);
  for (const event of bundle.of(...SIGNED_ACTIONS)) {
    const method = get(optional(get(event.get("payload"), "proof"), "a proof"), "method");
    const named = `event ${event.get("number")}, the decision of ${event.get("actor")},`;
    if (method === null) notes.push(`${named} has no proof: it is from before people had keys`);
    if (method === "token") notes.push(`${named} is proven by a token only`);
  }
  if (bundle.overridden()) {
    const people = bundle.decisions().filter((one) => one.get("action") === "decision.override").map((one) => one.get("actor"));
    const gates = [...object(item(get(bundle.manifest, "override"), "gates")).keys()].sort(byUnit);
    notes.push(`${people.join(" and ")} published ${release} by override of the gates: ${gates.join(", ")}`);
  }
  report.summary = `${release}: ${bundle.files.size} file${bundle.files.size === 1 ? "" : "s"} and ${bundle.events.length} of ${newest} events in the log verified; no tampering found`;
  notes.push("a bundle cannot show what was left out of it: see the publisher's catalog for the state of the release now");
}

// The whole -------------------------------------------------------------------------------------------------------
const CHECKS = [
  [PUBLIC_KEY, checkKeys, "The key in the bundle is the trusted key and the first key of the store."],
  [CHECKPOINT, checkCheckpoints, "The trusted key signed both checkpoints, and the newest continues the log of the release's."],
  [GIVEN_CHECKPOINT, checkKept, "The checkpoint that you kept is of the same log."],
  [EVIDENCE, checkEvents, "Every event matches its hash and is proven to be in the signed log."],
  [EVIDENCE, checkTimes, "No event is earlier than the one before it, unless a correction of the clock is logged."],
  [RELEASE, checkFiles, "The files are the published files."],
  [RELEASE + MANIFEST, checkManifest, "The manifest agrees with the log."],
  [POLICY, checkPolicy, "The policy is the policy of the release."],
  ["gates", checkGates, "Every gate of the policy was run and passed, or two administrators overrode it."],
  ["decisions", checkDecisions, "Enough people other than the maker approved these files, or overrode the gates."],
  ["proofs", checkProofs, "Every decision is proven to be by a person whose role allowed it."],
  [EVIDENCE, describe, "The log gives the state of the release when the bundle was made."],
];
const READING = "The file is a complete bundle: it has every member once, nothing else, and all evidence can be read.";
const [HELD, FAILED, UNCHECKED] = ["held", "failed", "not checked"];

/**
 * Return what is wrong with a bundle: `verified`, `findings` ({where, what}), `notes`, `summary`, `release`, and
 * `checks` ({title, state, findings}). `options`: `name` of the file, `checkpoint` (bytes of one that was kept),
 * `progress` (a function of the bytes done and of all).
 */
async function verifyBundle(given, key = null, options = {}) {
  const report = { verified: false, findings: [], notes: [], summary: "", release: null, ownKeyOnly: false, checks: [] };
  const { name = "the file", checkpoint = null, progress = () => {} } = options;
  const guarded = async (where, title, work) => {
    const check = { title, state: HELD, findings: [] };
    report.checks.push(check);
    const say = (place, what) => {
      check.state = FAILED;
      for (const found of [check.findings, report.findings]) found.push({ where: oneLine(place), what: oneLine(what) });
    };
    try {
      return (await work(say)) ?? null;
    } catch (error) {
      const told = error instanceof Broken || error instanceof Unable;
      say(where, told ? error.message : `cannot be read (${error?.name})`);
      if (error instanceof Unable) check.state = UNCHECKED;
      return null;
    }
  };
  const skipped = (title) => report.checks.push({ title, state: UNCHECKED, findings: [] });
  let [trusted, kept, bundle] = [null, null, null];
  if (key !== null) trusted = await guarded("the key that was given", "The key that was given can be read.", () => readKey(key));
  if (checkpoint !== null) {
    kept = await guarded(GIVEN_CHECKPOINT, "The checkpoint that was given can be read.", () => object(readJson(checkpoint), "the checkpoint"));
  }
  if (report.findings.length) skipped(READING);
  else bundle = await guarded(name, READING, (say) => readBundle(new Archive(given, progress), trusted, kept, say));
  for (const [where, check, title] of CHECKS) {
    if (bundle === null || (check === checkKept && kept === null)) skipped(title);
    else await guarded(where, title, (say) => check(bundle, say, report));
  }
  report.verified = bundle !== null && !report.findings.length && report.summary !== "";
  report.release = bundle && oneLine(bundle.release);
  if (bundle !== null && trusted === null) {
    report.ownKeyOnly = true;
    const trusting = "no public key was given, so the bundle's own key was trusted; whoever made the bundle may have made that key too";
    report.notes.push(`${trusting}. Compare it with a copy that you kept: ${bundle.key}`);
  }
  return { ...report, notes: report.notes.map(oneLine), summary: report.verified ? oneLine(report.summary) : "" };
}

verifyBundle.parts = { canonical, comparable, hex, outOfOrder, readJson }; // for tests
Object.assign(globalThis, { verifyBundle, verification: { verifyBundle, oneLine, states: [HELD, FAILED, UNCHECKED] } });
})();
