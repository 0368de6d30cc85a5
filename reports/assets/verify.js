// Verifies the evidence of a release by the rules of release_store/protocol and release_store/evidence: it
// accepts and refuses what `verify_evidence.py` does, each in its own words. It sends and keeps nothing.
// Whatever goes wrong is a finding: nothing is verified by mistake.
"use strict";
(() => {
const OWN = ["evidence.json", "checkpoint.json", "newest-checkpoint.json", "public-key.pem", "policy.json"];
const [EVIDENCE, CHECKPOINT, NEWEST, PUBLIC_KEY, POLICY] = OWN;
const [README, SCRIPT] = ["README.txt", "verify_evidence.py"]; // no evidence, but as they were written
const [RELEASE, MANIFEST, PACKAGE, REPORT] = ["release/", "manifest.json", "datapackage.json", "report.html"];
const WITHOUT_ROWS = [MANIFEST, PACKAGE]; // files of a release that hold no cell of its rows
const SIGNED = ["at", "head", "public_key", "size", "store_id"];
const BINDING = ["candidate_digest", "policy_digest", "history_head"];
const DECISION = ["decision", "by", "reason", "at", ...BINDING];
const PROVEN_DECISION = [...DECISION, "proof"];
const STAGED = [...BINDING, "input_digest", "files", "summary"];
const DECIDED = ["decision.approve", "decision.reject", "decision.override"];
const [CORRECTED, KEPT] = ["clock.corrected", "the checkpoint that was given"];
const ACTS = new Map(Object.entries({ // by its event: what a person does, and roles of which one is needed
  "decision.approve": ["approve", "approver"], "decision.reject": ["reject", "approver"],
  "decision.override": ["override", "admin"], "decision.publish": ["publish", "approver"],
  "release.withdrawn": ["withdraw", "admin", "approver"], "release.restored": ["restore", "approver"],
  "clock.corrected": ["correct the clock", "admin"],
  "question.asked": ["ask", "approver"], "question.answered": ["answer", "operator"],
}));
const [OVERRIDABLE, OVERRIDES_NEEDED] = [["fail", "unknown"], 2];
const [CLOCK_TOLERANCE, DEEPEST] = [60, 100]; // seconds; arrays and objects within each other
const [LARGEST_DOCUMENT, LARGEST_FILE] = [2 ** 28, 2 ** 31]; // bytes; a browser digests a file at once
const SLICE = 2 ** 15; // bytes that are unpacked at once, under 2^16 as a block of Deflate is

class Broken extends Error {} // a fault after which the rest of a bundle cannot be checked; its text is shown
function fail(why) { throw new Broken(why); }

// JSON ------------------------------------------------------------------------------------------------------
const isObject = (found) => typeof found === "object" && found !== null && !Array.isArray(found);
const object = (found, name = "a value") => (isObject(found) ? found : fail(`${name} is not a JSON object`));
const optional = (found, name) => object(found ?? {}, name);
const list = (found) => (Array.isArray(found) ? found : fail("a value is not a list"));
const text = (found) => (typeof found === "string" ? found : fail("a value is not a text"));
const whole = (found) => (Number.isSafeInteger(found) && found >= 0 ? found : fail("a number is not whole"));
const item = (found, name) => (Object.hasOwn(object(found), name) ? found[name] : fail(`it has no ${name}`));
const pick = (found, names) => Object.fromEntries(names.map((name) => [name, item(found, name)]));

/** Return what reads an object that has just some fields, each with what reads it. */
const reader = (name, fields) => (found) => {
  const names = Object.keys(object(found, name)).sort();
  if (!same(names, Object.keys(fields).sort())) fail(`${name} has missing or unknown fields`);
  return Object.fromEntries(names.map((field) => [field, fields[field](found[field])]));
};

/** Return the JSON in some bytes. Refuses a name that stands twice, and numbers that no double holds. */
const readJson = (bytes) => parsed(decoded(bytes));
const decoded = (bytes) => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);

function parsed(written) {
  const value = JSON.parse(written);
  const names = [...written.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?/gs)].filter(([, colon]) => colon);
  return countNames(value) === names.length ? value : fail("a name appears twice");
}

/** Return how many names are in a JSON value. Refuses what is too deep, too large a number, and no text. */
function countNames(value, depth = 0) {
  if (typeof value === "string" && !value.isWellFormed()) fail("a text is no Unicode");
  if (typeof value === "number" && !Number.isFinite(value)) fail("a number is too large");
  if (typeof value !== "object" || value === null) return 0;
  if (depth === DEEPEST) fail("it is too deep");
  const inside = [...Object.keys(value), ...Object.values(value)];
  return inside.reduce((n, one) => n + countNames(one, depth + 1), isObject(value) ? inside.length / 2 : 0);
}

/** Return plain JSON as canonical text: RFC 8785. What is not there is null. */
function written(value) {
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  if (isObject(value)) {
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${written(name)}:${written(value[name])}`).join(",")}}`;
  }
  if (typeof value === "string" && !value.isWellFormed()) fail("a text is no Unicode");
  return JSON.stringify(value ?? null);
}

const canonical = (value) => new TextEncoder().encode(written(value));
const same = (one, other) => written(one) === written(other);
const digestOf = async (value) => hex(await sha256(canonical(value)));

/** Return a text that cannot pretend to be more lines: names in a bundle are anybody's. */
const oneLine = (line) => String(line).replace(/(?! )[\p{C}\p{Z}]/gu, "?");
const counted = (n, name) => `${n} ${name}${n === 1 ? "" : "s"}`;

// Bytes, digests, keys and signatures -----------------------------------------------------------------------
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
const unhex = (found) => Uint8Array.from(found.match(/../g), (pair) => parseInt(pair, 16));
const latin = (bytes) => Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
const little = (found) => BigInt(`0x${found.match(/../g).reverse().join("")}`);
const isHash = (found) => typeof found === "string" && /^[0-9a-f]{64}$/.test(found);

const cryptography = () => globalThis.crypto?.subtle ?? unable();
/** Return the digest of arrays of bytes one after the other; one alone is not copied, it may be large. */
const sha256 = async (...parts) => {
  const whole = parts.length === 1 ? parts[0] : await new Blob(parts).arrayBuffer();
  return new Uint8Array(await cryptography().digest("SHA-256", whole));
};

function unable() {
  const how = "Open it in a current browser, from a file or over HTTPS, or run the script";
  const why = `cannot be checked here: this browser has no Ed25519 for this page. ${how}`;
  throw Object.assign(new Broken(why), { state: UNCHECKED });
}

const PRIME = (1n << 255n) - 19n; // of Ed25519: RFC 8032, section 5.1
const ORDER = (1n << 252n) + 27742317777372353535851937790883648493n;
const EIGHTH = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL_ORDER = [0n, 1n, PRIME - 1n, EIGHTH, PRIME - EIGHTH]; // y of the points whose order divides 8

/** Tell whether a text is an Ed25519 key in its one spelling; off the curve, no signature holds. */
function isPublicKey(found) {
  if (!isHash(found)) return false;
  const y = little(found) & ((1n << 255n) - 1n);
  return y < PRIME && !SMALL_ORDER.includes(y);
}

/** Tell whether a value was signed by a key (both hexadecimal); false for what is no key and no signature. */
async function signedBy(value, key, signature) {
  const subtle = cryptography();
  if (!isPublicKey(key) || typeof signature !== "string" || !/^[0-9a-f]{128}$/.test(signature)) return false;
  if (little(signature.slice(64)) >= ORDER) return false;
  const imported = await subtle.importKey("raw", unhex(key), "Ed25519", false, ["verify"])
    .catch((error) => (error.name === "DataError" ? null : unable()));
  const signed = imported && (await subtle.verify("Ed25519", imported, unhex(signature), canonical(value)));
  return signed === true;
}

const DER = "MCowBQYDK2VwAyEA"; // what stands before the 32 bytes of a key, in base 64: RFC 8410
const PEM = /^\s*-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]{1,9999})-----END PUBLIC KEY-----\s*$/;
const pem = (key) =>
  `-----BEGIN PUBLIC KEY-----\n${DER}${btoa(latin(unhex(key)))}\n-----END PUBLIC KEY-----\n`;

/** Return the key in what was given, 64 hexadecimal digits or PEM. */
function readKey(given) {
  let key = given;
  if (!isHash(given)) {
    const code = (PEM.exec(given) ?? fail("there is no public key in PEM"))[1].replace(/\s/g, "");
    key = hex(Uint8Array.from(atob(code), (letter) => letter.charCodeAt(0))).slice(24);
    if (!code.startsWith(DER) || !isHash(key)) fail("the public key is not an Ed25519 key");
  }
  return isPublicKey(key) ? key : fail("the public key is not a valid Ed25519 key");
}

// The zip: members one behind the other, then the directory in the same order, and nothing else -------------
const [LOCAL, CENTRAL, END, STORED, DEFLATED] = ["PK\x03\x04", "PK\x01\x02", "PK\x05\x06", 0, 8];
const GZIP = Uint8Array.of(31, 139, DEFLATED, 0, 0, 0, 0, 0, 0, 255); // its header: RFC 1952
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*(\/[A-Za-z0-9][A-Za-z0-9._-]*)?$/;
const numbers = (bytes, size, places) => // of 16 or 32 bits
  places.map((at) => new DataView(bytes.buffer, bytes.byteOffset)[`getUint${size}`](at, true));
const NO_BUNDLE = "is not a complete bundle written by releasegate; copy it again from its source";

/** Yield a member as a gzip file, in small pieces: one blocks the page while it is inflated, to a thousandfold. */
function* gzipPieces({ data, method, sums }) {
  yield GZIP;
  for (let at = 0; at < data.size; at += SLICE) {
    const slice = data.slice(at, at + SLICE);
    // What is stored as it is becomes a block of Deflate, with its length, and that inverted.
    const block = () => new Blob([Uint8Array.of(0), Uint16Array.of(slice.size, ~slice.size), slice]);
    yield method === STORED ? block() : slice;
  }
  if (method === STORED) yield Uint8Array.of(1, 0, 0, 255, 255); // the last one
  yield* sums;
}

/** Return a stream that asks for each piece as it is needed, so that the page stays alive. */
function streamOf(pieces) {
  const pull = async (stream) => {
    const { done, value } = pieces.next();
    if (done) return stream.close();
    stream.enqueue(new Uint8Array(await new Blob([value]).arrayBuffer()));
  };
  return new ReadableStream({ pull }, { highWaterMark: 0 });
}

/** Return the members of a bundle, by name: data as packed, its method, CRC-32 and length as written. */
async function readDirectory(blob) {
  const slice = async (from, length) => new Uint8Array(await blob.slice(from, from + length).arrayBuffer());
  const tail = await slice(Math.max(0, blob.size - 22), 22);
  if (tail.length < 22 || !latin(tail).startsWith(END)) fail(NO_BUNDLE);
  const [[count, comment], [length, start]] = [numbers(tail, 16, [10, 20]), numbers(tail, 32, [12, 16])];
  const directory = await slice(start, length);
  if (start + length + 22 !== blob.size || comment !== 0) fail(NO_BUNDLE);
  const members = new Map();
  let [at, next] = [0, 0];
  while (at < length) {
    const part = (from, to) => directory.subarray(at + from, at + to);
    const [flags, method, named, ...others] = numbers(part(0, 46), 16, [8, 10, 28, 30, 32, 34]);
    const [packed, size, attributes, place] = numbers(part(0, 46), 32, [20, 24, 38, 42]);
    const name = latin(part(46, 46 + named));
    const plain = [0, 8].includes(attributes >>> 28) && !(attributes & 0x10); // a file, to Unix and to DOS
    const packing = method === DEFLATED || (method === STORED && packed === size);
    const right = latin(part(0, 4)) === CENTRAL && flags === 0 && !others.some(Boolean) && place === next;
    const repeated = latin(await slice(next, 30 + named)) === LOCAL + latin(part(6, 32)) + name;
    if (!right || !repeated || !plain || !packing) fail(NO_BUNDLE);
    const fresh = NAME.test(name) && !members.has(name);
    if (!fresh) fail(`${name} is not a name that a bundle may hold, or stands twice`);
    next += 30 + named + packed;
    const sums = [part(16, 20), part(24, 28)];
    members.set(name, { data: blob.slice(next - packed, next), size, method, sums });
    at += 46 + named;
  }
  return at === length && next === start && count === members.size ? members : fail(NO_BUNDLE);
}

/** Return the bytes of a member. gzip refuses one that is cut or goes on, and another length or CRC-32. */
async function unpacked(name, member) {
  const [zipped, size] = [streamOf(gzipPieces(member)), member.size];
  const bytes = new Uint8Array(size);
  let length = 0;
  try {
    for await (const piece of zipped.pipeThrough(new DecompressionStream("gzip"))) {
      if (length + piece.length > size) fail(`${name} is longer than the directory says`);
      bytes.set(piece, length);
      length += piece.length;
    }
  } catch (error) {
    throw error instanceof TypeError ? new Broken(`${name} does not match its checksum in the zip`) : error;
  }
  return bytes;
}

// Reading a bundle ------------------------------------------------------------------------------------------
/** What is in a bundle, not yet believed; `key` is the trusted one, `kept` a checkpoint from elsewhere. */
class Bundle {
  constructor(read) { Object.assign(this, read); }

  of(...actions) { return this.events.filter((one) => actions.includes(one.action)); }
  restorations() { return this.of("release.restored").filter((one) => one.object === this.release); }
  assessed() { return this.event("candidate.assessed", this.candidate).payload; }
  /** Return the accepted decisions on the candidate; `of(...DECIDED)` are those on earlier ones too. */
  decisions(...actions) { return this.of(...actions).filter((one) => one.object === this.candidate); }
  /** Return the last event of that action before a number, undefined if there is none. */
  last(action, before) { return this.of(action).findLast((one) => one.number < before); }
  /** Return each gate that was run, with its verdict. */
  results() { return list(this.assessed().gates).map((one) => [text(one.gate), text(one.verdict)]); }

  /** Return the one event of that action and object. */
  event(action, subject) {
    const found = this.of(action).filter((one) => one.object === subject);
    if (found.length !== 1) fail(`${found.length} events log ${action} of ${subject}; there should be one`);
    return found[0];
  }

  /** Return the events by which the release's publication began, and by which it appeared. */
  publication() {
    const published = this.event("release.published", this.release);
    const started = this.last("publication.started", published.number);
    return [started ?? fail("no event says publication.started"), published];
  }

  /** Tell whether administrators let out what gates held back: enough of them, and no gate that broke. */
  overridden() {
    const others = this.results().filter(([, verdict]) => verdict !== "pass");
    const fine = others.length > 0 && others.every(([, verdict]) => OVERRIDABLE.includes(verdict));
    return fine && this.decisions("decision.override").length >= OVERRIDES_NEEDED;
  }

  /** Return the candidate, and those with its files which became stale or expired: newest first. */
  candidates(candidate = this.candidate, later = []) {
    if (later.includes(candidate)) fail("a candidate is its own predecessor");
    const { judged_again } = object(this.event("candidate.staged", candidate).payload.summary);
    const [before, found] = [optional(judged_again, "judged_again"), [...later, candidate]];
    return Object.keys(before).length ? this.candidates(text(before.of), found) : found;
  }

  /** Return how the release stands by the last event that a checkpoint signs, if one says it. */
  state() {
    const signed = this.events.filter(({ number }) => number <= whole(this.newest.size));
    const said = signed.map(({ payload }) => payload).filter(({ release }) => release === this.release);
    return said.findLast((one) => "release_state" in one)?.release_state;
  }
}

const readHash = (found) => (isHash(found) ? unhex(found) : fail("a proof holds what is not a hash"));
const readPath = (found) => list(found).map(readHash);
const readEvent = reader("an event", {
  number: whole, at: text, actor: text, action: text, object: text, reason: text, previous: text, hash: text,
  payload: object,
});
const readInclusion = (found) => (found === null ? null : readPath(found));
const readProof = reader("an event and its proof", { event: readEvent, path: readInclusion });
const readGrowth = reader("a proof of consistency", { size: whole, path: readPath });
const readEvidence = reader(EVIDENCE, {
  format: (found) => (found === 1 ? found : fail(`it has format ${found}; this page reads 1`)),
  events: (found) => list(found).map(readProof),
  consistency: (found) => list(found).map(readGrowth),
});

async function readBundle(blob, trusted, kept, say, progress) {
  const members = await readDirectory(blob);
  let read = 0;
  const bytes = async (name, most = LARGEST_DOCUMENT) => {
    const member = members.get(name) ?? fail(`${name} is missing`);
    const found = member.size > most ? fail(`${name} is too large`) : await unpacked(name, member);
    read += member.data.size;
    progress(read, blob.size);
    return found;
  };
  const document = async (name) => object(readJson(await bytes(name)), name);
  const script = members.has(SCRIPT) ? hex(await sha256(await bytes(SCRIPT, LARGEST_FILE))) : null;
  if (script && ![WRITTEN.script, ...WRITTEN.earlier].includes(script)) say(SCRIPT, NOT_OUR_SCRIPT);
  const readme = members.has(README) ? await readmeDigest(await bytes(README)) : null;
  if (readme !== null && !WRITTEN.readmes.includes(readme)) say(README, NOT_OUR_TEXT);
  const manifest = await document(RELEASE + MANIFEST);
  const named = [...Object.keys(object(manifest.files)), MANIFEST];
  // Rows may be left out of the bundle of a release that was withdrawn, which the log must say.
  const isLeftOut = (name) => !WITHOUT_ROWS.includes(name) && !members.has(RELEASE + name);
  const [leftOut, published] = [true, false].map((out) => named.filter((name) => isLeftOut(name) === out));
  const wanted = new Set([...OWN, README, SCRIPT, ...published.map((name) => RELEASE + name)]);
  for (const name of wanted.difference(members)) say(name, "is missing");
  for (const name of members.keys()) if (!wanted.has(name)) say(name, "does not belong in the bundle");
  if (!wanted.isSubsetOf(members)) return null;
  const written = latin(await bytes(PUBLIC_KEY));
  const ownKey = readKey(written);
  if (written !== pem(ownKey)) fail("public-key.pem is not one key in its standard form");
  const { events: proven, consistency: proofs } = readEvidence(await document(EVIDENCE));
  const events = proven.map(({ event }) => event);
  if (!events.length) fail("it holds no events");
  const ordered = events.every((one, at) => at === 0 || events[at - 1].number < one.number);
  if (!ordered) fail("the events are out of order, or one appears twice");
  const consistency = new Map(proofs.map(({ size, path }) => [size, path]));
  if (consistency.size < proofs.length) fail("a proof of consistency appears twice");
  const files = new Map();
  for (const name of published) files.set(name, hex(await sha256(await bytes(RELEASE + name, LARGEST_FILE))));
  const [policy, checkpoint] = [await document(POLICY), await document(CHECKPOINT)];
  const newest = await document(NEWEST); // the store's last; the other was made with the release
  const dataPackage = files.has(PACKAGE) ? await bytes(RELEASE + PACKAGE) : new Uint8Array(0);
  const [release, candidate] = [text(manifest.release_id), text(manifest.candidate_id)];
  const evidence = { checkpoint, consistency, dataPackage, events, files, manifest, newest, policy, proven };
  const more = { leftOut, script };
  return new Bundle({ ...evidence, ...more, candidate, key: trusted ?? ownKey, kept, ownKey, release });
}

const UNKNOWN = "that releasegate wrote, as far as this version knows";
const TRUE_SCRIPT = "take that of `releasegate evidence --script`";
const NOT_OUR_SCRIPT = `is no script ${UNKNOWN}: do not run it; ${TRUE_SCRIPT}`;
const NOT_OUR_TEXT = `is no text ${UNKNOWN}: do not do what it says`;

/** Return the digest of a README without the release that it names; empty where it does not begin so. */
async function readmeDigest(found) {
  const written = latin(found);
  const heading = /^(Evidence of the release [A-Za-z0-9][A-Za-z0-9._-]*)\n(=+)\n/;
  const [title, line, rule] = heading.exec(written) ?? [""];
  return title && line.length === rule.length ? hex(await sha256(found.subarray(title.length))) : "";
}

// Checks, described in CHECKS: each yields its rules as where, what is said, and whether it is broken -------
function* checkKeys({ events: [{ action, number, payload }], key, ownKey, newest }) {
  yield [PUBLIC_KEY, "is not the key that was given", ownKey !== key];
  if (number === 1 && action === "store.created") {
    yield ["event 1", "the store's first key is not the trusted key", payload.public_key !== key];
    yield ["event 1", "the store's first id is not the signed id", !same(payload.store_id, newest.store_id)];
  } else yield ["event 1", "is missing, so the store's first key is unknown"];
}

async function* checkCheckpoints(bundle) {
  const { checkpoint, newest, key, release } = bundle;
  for (const [name, one] of [[CHECKPOINT, checkpoint], [NEWEST, newest]]) {
    yield [name, "is not signed by the trusted key", !(await signatureHolds(one, key))];
  }
  const { of = release } = checkpoint;
  yield [CHECKPOINT, "is not the release's checkpoint", of !== release];
  yield [NEWEST, "is of a different store than the release's checkpoint", !ofOneStore(checkpoint, newest)];
  if (!("root" in newest)) yield [NEWEST, "has no Merkle root, so it proves nothing"];
  else if (!(await continues(bundle, checkpoint))) yield [NEWEST, "does not continue the release's log"];
}

async function* checkKept(bundle) {
  const { kept, key, newest } = bundle;
  if (!(await signatureHolds(kept, key))) yield [KEPT, "is not signed by the trusted key"];
  else if (!ofOneStore(kept, newest)) yield [KEPT, "belongs to a different store"];
  else if (whole(kept.size) > whole(newest.size)) yield [KEPT, "is newer than the bundle; ask for another"];
  else if (!(await continues(bundle, kept))) yield [KEPT, "is not of the log in the bundle"];
}

const ofOneStore = (one, other) => same(item(one, "store_id"), item(other, "store_id"));

/** Tell whether a checkpoint was signed by a key and holds nothing unsigned. */
async function signatureHolds({ signature, ...signed }, key) {
  const names = Object.keys(signed).filter((name) => name !== "root" && name !== "of");
  return same(names.sort(), SIGNED) && signed.public_key === key && signedBy(signed, key, signature);
}

/** Tell whether the log of the newest checkpoint begins with that of an earlier one. */
async function continues({ events, newest, consistency }, earlier) {
  const [size, last] = [earlier, newest].map((one) => whole(one.size));
  const logged = events.find((one) => one.number === size);
  if (logged && logged.hash !== item(earlier, "head")) return false;
  // The earlier form of checkpoints: its last event is itself proven to be in the newest tree.
  if (!("root" in earlier)) return Boolean(logged) && size <= last;
  if (size === last) return same(pick(earlier, ["root", "head"]), pick(newest, ["root", "head"]));
  const [path, roots] = [consistency.get(size), [earlier, newest].map((one) => readHash(one.root))];
  return path !== undefined && consistencyHolds(size, last, path, ...roots);
}

/** Tell whether one of the checkpoints is what it should be: else what it says proves nothing. */
async function isSound({ newest, key, release }, one) {
  const { of = release } = one;
  return (one === newest || of === release) && signatureHolds(one, key);
}

async function* checkEvents(bundle) {
  const { checkpoint, newest, proven } = bundle;
  const sound = await isSound(bundle, checkpoint) && await isSound(bundle, newest);
  for (const { event: { hash, ...event }, path } of proven) {
    const [number, where] = [event.number, `event ${event.number}`];
    // By the release's checkpoint, else by the newest.
    const signed = [checkpoint, newest].find((one) => "root" in one && number <= whole(one.size));
    if (hash !== (await digestOf(event))) yield [where, "does not match its hash: it was changed"];
    else if (!sound) continue; // told of the checkpoint, once: no proof can be judged
    else if (!signed) yield [where, "is newer than every checkpoint, yet has a proof", path];
    else yield [where, "is not proven to be in the log", !(await isLogged(hash, number, path, signed))];
  }
}

function* checkTimes({ events }) {
  const demanded = events[0].payload.times === "in order"; // the first stores could step back
  for (const [i, event] of events.slice(1).entries()) {
    const [before, steps] = [events[i].at, event.number - events[i].number];
    let wrong = demanded && outOfOrder(before, event.at, steps);
    if (event.action === CORRECTED) wrong = wrongCorrection(event, steps === 1 ? before : null);
    yield [`event ${event.number}`, wrong, wrong];
  }
}

/** Return what is wrong with the time of an event that follows another by `steps`, null if nothing is. */
function outOfOrder(before, after, steps) {
  const back = secondsBack(before, after);
  if (Number.isNaN(back)) return "its time, or that of the event before it, cannot be read";
  const why = `is ${Math.round(back)} s earlier than a previous event; no correction of the clock is logged`;
  return back > CLOCK_TOLERANCE * steps ? why : null;
}

/** Return what is wrong with an event by which the clock was corrected, null if nothing is. */
function wrongCorrection({ at, payload, previous }, before) {
  const { last_event_at: last, log_head: head } = object(payload.bound);
  const here = payload.at === at && head === previous && (before === null || before === last);
  if (!here) return "corrects the clock of a different log";
  return secondsBack(last, at) > CLOCK_TOLERANCE ? null : "corrects a clock that was not ahead";
}

/** Return the seconds from the second of two times back to the first; NaN unless both are UTC to the µs. */
function secondsBack(...times) {
  const [before, after] = times.map((at) => {
    const found = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d{6})\+00:00$/.exec(text(at)) ?? [];
    const start = Date.parse(`${found[1]}Z`);
    const real = Number.isFinite(start) && new Date(start).toISOString().startsWith(found[1]);
    return real ? start / 1000 + Number(found[2]) : NaN;
  });
  return before - after;
}

async function* checkFiles(bundle) {
  const [started, published] = bundle.publication();
  const logged = new Map(Object.entries(object(published.payload.files, "the list of files")));
  const stands = bundle.state() !== "withdrawn";
  yield* bundle.leftOut.map((name) => [RELEASE + name, "is missing, and the release is not withdrawn", stands]);
  const differing = [...new Set(logged.keys()).union(bundle.files)]
    .filter((name) => !bundle.leftOut.includes(name) && !same(bundle.files.get(name), logged.get(name)));
  yield* differing.map((name) => [RELEASE + name, "differs from the published file"]);
  const late = published.number > whole(bundle.checkpoint.size) && await isSound(bundle, bundle.checkpoint);
  yield [CHECKPOINT, "was signed before the release was published", late];
  for (const name of ["release", "files", "classes", "candidate"]) {
    const differs = !same(item(started.payload, name), item(published.payload, name));
    yield [`event ${published.number}`, `its ${name} differs from that at the start of publication`, differs];
  }
}

async function* checkManifest(bundle) {
  const { manifest, candidate } = bundle;
  const where = RELEASE + MANIFEST;
  const [started, published] = bundle.publication();
  yield [where, "names another candidate than the published one", published.payload.candidate !== candidate];
  const [staged, assessed] = ["staged", "assessed"].map((act) => bundle.event(`candidate.${act}`, candidate));
  const decided = bundle.decisions(...DECIDED);
  const order = [staged, assessed, ...decided, started, published].map((one) => one.number);
  const mixed = order.some((number, at) => at > 0 && number < order[at - 1]);
  yield [EVIDENCE, "the release was not staged, assessed, decided on and published in this order", mixed];
  // The files as the gates judged them: no report, and no mark in the data package.
  const override = optional(manifest.override, "the override in the manifest");
  const { [REPORT]: _, ...files } = { ...manifest.files, ...optional(override.judged, "what was judged") };
  const logged = {
    ...pick(staged.payload, STAGED),
    made_by: staged.actor,
    gates: list(assessed.payload.gates),
    decisions: decided.map(({ payload }) => pick(payload, "proof" in payload ? PROVEN_DECISION : DECISION)),
    log: { store_id: item(bundle.newest, "store_id"), size: started.number - 1, head: started.previous },
  };
  for (const [name, value] of Object.entries(logged)) {
    const judged = item({ ...manifest, files }, name);
    yield [where, `its ${name} differs from the logged one`, !same(judged, value)];
  }
  const marked = !("judged" in override) || (await isMarked(bundle.dataPackage, override));
  yield [RELEASE + PACKAGE, "is not the assessed file with the mark of the override", !marked];
  const digest = await digestOf(files);
  yield [where, "its candidate_digest does not match its files", digest !== manifest.candidate_digest];
}

/** Tell whether a data package is the one that was judged, with the mark of the override before all else. */
async function isMarked(bytes, override) {
  const people = list(override.by).map(({ by, at }) => ({ by: text(by), at: text(at) }));
  const written = decoded(bytes);
  const found = /^\{\n  "releasegate:override": (\{.*?\n  \})(,\n|\n\}\n$)/s.exec(written);
  if (!found || !same(parsed(found[1]), { gates: item(override, "gates"), by: people })) return false;
  const judged = found[2] === ",\n" ? `{\n${written.slice(found[0].length)}` : "{}\n";
  return same(override.judged, { [PACKAGE]: hex(await sha256(new TextEncoder().encode(judged))) });
}

async function* checkPolicy({ manifest, policy }) {
  yield [POLICY, "is not the policy of the release", (await digestOf(policy)) !== manifest.policy_digest];
}

function demandedGates(policy) { // as release_store/protocol/demanded_gates.py, which also makes GATES_BY_FIELD
  const gates = optional(policy.gates, "gates of the policy");
  const models = optional(gates.models, "gates.models of the policy");
  const own = optional(models.attributes, "gates.models.attributes of the policy");
  const ofAny = [models, ...Object.values(own).map((one) => optional(one, "the models of an attribute"))];
  const asks = (found, name) => Object.hasOwn(found, name) && found[name] !== null;
  const added = optional(models.added, "gates.models.added of the policy");
  const ofModels = GATES_BY_FIELD.models.filter((name) => ofAny.some((found) => asks(found, name)));
  return [...GATES_BY_FIELD.limited.filter((name) => asks(gates, name)), ...ofModels, ...Object.keys(added)];
}

function* checkGates(bundle) {
  const [results, overridden] = [bundle.results(), bundle.overridden()];
  const lacks = (name) => !results.some(([gate]) => gate === name);
  yield ["gates", "no gate was run", !results.length];
  const heldBack = results.filter(([, verdict]) => verdict !== "pass");
  yield* heldBack.map(([gate, verdict]) => ["gates", `${gate} says ${verdict}`, !overridden]);
  const { gates } = optional(bundle.manifest.override, "the override in the manifest");
  const named = same(gates, overridden ? Object.fromEntries(heldBack) : null);
  yield [RELEASE + MANIFEST, "does not say which gates were overridden", !named];
  const asked = list(bundle.assessed().asked ?? []).map(text); // the first stores did not log it
  yield* asked.map((name) => ["gates", `${name} has no result, though it had to be passed`, lacks(name)]);
  yield* demandedGates(bundle.policy).map((name) => ["gates", `the policy requires ${name}, and it was not run`, lacks(name)]);
}

function* checkDecisions(bundle) {
  const { candidate, manifest, policy } = bundle;
  const [decided, approvals] = [DECIDED, ["decision.approve"]].map((actions) => bundle.decisions(...actions));
  const { approvers = 0 } = optional(policy.approval, "approval of the policy");
  const { needed: more = 0 } = optional(object(manifest.summary).approval, "approval of the candidate");
  const needed = Math.max(whole(approvers), whole(more));
  const few = `the release has ${approvals.length} of ${counted(needed, "required approval")}`;
  yield ["decisions", few, approvals.length < needed && !bundle.overridden()];
  const twice = decided.some((one, at) => decided.slice(at + 1).some((other) => onePerson(one, other)));
  yield ["decisions", "one person decided twice", twice];
  const candidates = bundle.candidates();
  const others = bundle.of(...DECIDED).filter((one) => !candidates.includes(one.object));
  yield* others.map(({ number }) => [`event ${number}`, "is a decision about another candidate"]);
  const { actor: by, payload: { maker: proof } } = bundle.event("candidate.staged", candidate);
  for (const one of decided) {
    const [where, { action, actor, payload }] = [`event ${one.number}`, one];
    const accepts = action !== "decision.reject" && action === `decision.${text(payload.decision)}`;
    yield [where, "is a rejection of the published candidate", !accepts];
    yield [where, "names somebody other than its actor", payload.by !== actor];
    const bound = same(pick(payload, BINDING), pick(manifest, BINDING));
    yield [where, "is a decision about other files, another policy or another history", !bound];
  }
  for (const one of [...decided, ...bundle.restorations()]) {
    const own = onePerson(one, { actor: by, payload: { proof } });
    yield [`event ${one.number}`, "is a decision by the person who made the release", own];
  }
}

async function* checkProofs(bundle) {
  for (const event of bundle.of(...ACTS.keys())) {
    const people = bundle.last("people.changed", event.number)?.payload;
    const wrong = await wrongProof(event, people, bundle);
    yield [`event ${event.number}`, `the decision ${wrong}`, wrong];
  }
}

function* checkQuestions(bundle) {
  const waiting = new Map(); // by candidate, the hashes of the questions without an answer
  for (const { number, action, object: subject, payload, hash } of bundle.events) {
    const where = `event ${number}`;
    if (!waiting.has(subject)) waiting.set(subject, new Set());
    const asked = waiting.get(subject);
    if (action === "question.asked") asked.add(hash);
    if (action === "question.answered") {
      const question = isObject(payload.bound) ? payload.bound.question : "";
      yield [where, "answers no open question", !asked.delete(question)];
    }
    const early = action === "decision.approve" && asked.size > 0;
    yield [where, `approves ${subject} while a question has no answer`, early];
  }
}

/** Return what is wrong with the proof of what a person decided, null if nothing is. */
async function wrongProof({ action, actor, object: subject, payload, reason }, people, bundle) {
  const { proof = null } = payload;
  const demanded = people || bundle.events[0].payload.decisions === "proven";
  if (proof === null) return demanded ? "has no proof of identity" : null;
  // With how many must agree to everything, where that was said.
  const { digest, members, approvers_at_least } = people ?? {};
  const told = approvers_at_least === undefined ? members : { members, approvers_at_least };
  if (item(proof, "people") !== digest || (await digestOf(told)) !== digest) {
    return "refers to a different list of people than the log held then";
  }
  const [[act, ...allowed], isDecision] = [ACTS.get(action), action.startsWith("decision.")];
  if (isDecision && text(payload.decision) !== act) return "names a different action than its event";
  const [person, ...more] = list(members).filter((one) => comparable(text(one.name)) === comparable(actor));
  if (!person || more.length) return `is by ${actor}, who was not in the log then`;
  const roles = list(person.roles).map(text);
  if (!allowed.some((role) => roles.includes(role))) return `is by ${actor}, whose roles did not allow it`;
  const bound = isDecision ? pick(payload, BINDING) : item(payload, "bound");
  const [store_id, at] = [text(bundle.newest.store_id), item(payload, "at")];
  const statement = "releasegate decision 1";
  const said = { statement, act, store_id, object: subject, bound, by: actor, reason, at };
  const { method, token, public_key: own, signature } = proof;
  let proven = method === "token" && text(token) !== "" && token === person.token;
  if (method === "signature" && own === person.public_key) proven = await signedBy(said, own, signature);
  return proven ? null : `is not proven to be by ${actor}`;
}

/** Tell whether two events are of one person, by the name, or by the key or token under any name. */
function onePerson(one, other) {
  const [mine, theirs] = [one, other].map(({ payload }) => optional(payload.proof, "a proof"));
  const marked = (name) => typeof mine[name] === "string" && mine[name] !== "" && mine[name] === theirs[name];
  return comparable(one.actor) === comparable(other.actor) || marked("public_key") || marked("token");
}

// Letters and marks that nobody sees: fillers, joiners and selectors of variants.
const UNSEEN = /[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/u;
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
  const seen = Array.from(lowered.normalize("NFKC")).filter((sign) => !UNSEEN.test(sign));
  const kept = seen.filter((sign) => /[\p{L}\p{N}\p{M}]/u.test(sign));
  if (kept.some((sign) => /[\p{L}\p{N}]/u.test(sign))) return kept.join("");
  return seen.filter((sign) => !/[\p{C}\p{Z}]/u.test(sign)).join("");
}

// Merkle trees: RFC 9162, section 2.1 -----------------------------------------------------------------------
const nodeHash = (left, right) => sha256(Uint8Array.of(1), left, right);

/** Return the roots of the first `count` leaves and of all by a path from a known one; else null. */
async function roots(count, size, path, ends, known) {
  if (ends(count, size)) return path.length ? null : [known, known];
  const [half, beside] = [2 ** ((size - 1).toString(2).length - 1), path.at(-1)]; // leaves on the left, 2^n
  const right = count > half;
  const inner = right ? [count - half, size - half] : [count, half];
  const found = beside && (await roots(...inner, path.slice(0, -1), ends, known));
  if (!found) return null;
  if (right) return Promise.all(found.map((root) => nodeHash(beside, root)));
  return [found[0], await nodeHash(found[1], beside)];
}

/** Tell whether `path` shows that a hash is leaf `number` (from 1) of the tree that a checkpoint signs. */
async function isLogged(hash, number, path, { size, root }) {
  if (path === null || number === 0) return false;
  const leaf = await sha256(Uint8Array.of(0), unhex(hash));
  const found = await roots(number, size, path, (_, rest) => rest === 1, leaf);
  return found !== null && hex(found[1]) === hex(readHash(root));
}

/** Tell whether `path` shows that the tree of `last` leaves begins with that of `size`, by both roots. */
async function consistencyHolds(size, last, path, ...wanted) {
  if (size <= 0 || size >= last) return false;
  const [start, ...others] = /^10*$/.test(size.toString(2)) ? [wanted[0], ...path] : path;
  const found = start && (await roots(size, last, others, (count, rest) => count === rest, start));
  return Boolean(found) && same(found.map(hex), wanted.map(hex));
}

/** Say what a reader must know and is no fault of the bundle. */
function* describe(bundle, report) {
  const [{ events, files, release }, { notes }] = [bundle, report];
  const newest = whole(bundle.newest.size);
  for (const { number, action, actor, at, payload } of events) {
    if (number > newest) notes.push(`event ${number} (${action}) is newer than every checkpoint: not proven`);
    if (action === CORRECTED) {
      const times = [object(payload.bound).last_event_at, at];
      const [before, now] = times.map((one) => text(one).slice(0, 16).replace("T", " "));
      const corrected = `event ${number}: ${actor} corrected the clock from ${before} to ${now} UTC`;
      notes.push(`${corrected}; the times just before are wrong`);
    }
  }
  const state = bundle.state();
  yield [EVIDENCE, "no event says how the release stands", typeof state !== "string"];
  if (state !== "published") notes.push(`${release} was published, and is ${state} now`);
  for (const { number, actor } of bundle.restorations()) {
    notes.push(`event ${number}: ${actor} restored it after a withdrawal`);
  }
  if (bundle.leftOut.length) {
    const names = bundle.leftOut.toSorted().join(", ");
    notes.push(`not in the bundle, so not looked at: ${names}; their digests are in the log`);
  } else if (state === "withdrawn") {
    notes.push("the bundle holds rows of a withdrawn release: do not pass them on");
  }
  if (WRITTEN.earlier.includes(bundle.script)) {
    notes.push(`its script is of an earlier releasegate and may check less; ${TRUE_SCRIPT}`);
  }
  for (const { number, actor, payload } of bundle.of(...ACTS.keys())) {
    const { method = null } = optional(payload.proof, "a proof");
    const named = `event ${number}, the decision of ${actor},`;
    if (method === null) notes.push(`${named} has no proof: it is from before people had keys`);
    if (method === "token") notes.push(`${named} is proven by a token only`);
  }
  if (bundle.overridden()) {
    const people = bundle.decisions("decision.override").map((one) => one.actor).join(" and ");
    const gates = Object.keys(object(object(bundle.manifest.override).gates)).sort().join(", ");
    notes.push(`${people} published ${release} by override of the gates: ${gates}`);
  }
  const verified = `${counted(files.size, "file")} and ${events.length} of ${newest} events in the log`;
  report.summary = `${release}: ${verified} verified; no tampering found`;
  const where = "see the publisher's catalog for the state of the release now";
  notes.push(`a bundle cannot show what was left out of it: ${where}`);
}

// The whole -------------------------------------------------------------------------------------------------
const READING = "The file is a complete bundle: each member once and as written, all evidence can be read.";
const CHECKS = [
  [PUBLIC_KEY, checkKeys, "The key in the bundle is the trusted key and the first key of the store."],
  [CHECKPOINT, checkCheckpoints, "The trusted key signed both checkpoints; the newest continues the log."],
  [KEPT, checkKept, "The checkpoint that you kept is of the same log."],
  [EVIDENCE, checkEvents, "Every event matches its hash and is proven to be in the signed log."],
  [EVIDENCE, checkTimes, "No event is earlier than the one before it, unless the clock was corrected."],
  [RELEASE, checkFiles, "The files are the published files."],
  [RELEASE + MANIFEST, checkManifest, "The manifest agrees with the log."],
  [POLICY, checkPolicy, "The policy is the policy of the release."],
  ["gates", checkGates, "Every gate of the policy was run and passed, or two administrators overrode it."],
  ["decisions", checkDecisions, "Enough people other than the maker approved this, or overrode the gates."],
  ["proofs", checkProofs, "Every decision is proven to be by a person whose role allowed it."],
  ["questions", checkQuestions, "Nobody approved before every question had its answer."],
  [EVIDENCE, describe, "The log gives the state of the release when the bundle was made."],
];
const OWN_KEY = "no public key was given, so the bundle's own key was trusted; whoever made the bundle may " +
  "have made that key too";
const [HELD, FAILED, UNCHECKED] = ["held", "failed", "not checked"];

/** Return what is wrong with a bundle: `findings` ({where, what}), `checks` ({title, state, findings}), more.
 * `options`: the file's `name`, a `checkpoint` that was kept, `progress` (called with bytes read, and all).
 */
async function verifyBundle(given, key = null, options = {}) {
  const { name = "the file", checkpoint = null, progress = () => {} } = options;
  const [checks, report] = [[], { notes: [], summary: "" }];
  const run = async (where, title, work) => {
    const check = { title, state: work ? HELD : UNCHECKED, findings: [] };
    checks.push(check);
    const say = (place, what, state = FAILED) => {
      check.state = state;
      check.findings.push({ where: oneLine(place), what: oneLine(what) });
    };
    try {
      return work ? await work(say) : null;
    } catch (error) {
      if (error instanceof Broken) say(where, error.message, error.state);
      else say(where, `cannot be read (${error?.name})`);
      return null;
    }
  };
  const readGiven = (one, where, title, read) => (one === null ? null : run(where, title, () => read(one)));
  const trusted = await readGiven(key, "the key that was given", "The given key can be read.", readKey);
  const readKept = async (one) => object(readJson(await new Blob([one]).arrayBuffer()), "the checkpoint");
  const kept = await readGiven(checkpoint, KEPT, "The given checkpoint can be read.", readKept);
  const read = (say) => readBundle(new Blob([given]), trusted, kept, say, progress);
  const bundle = await run(name, READING, checks.every((one) => one.state === HELD) && read);
  for (const [where, check, described] of CHECKS) {
    await run(where, described, bundle && (check !== checkKept || kept) && (async (say) => {
      for await (const [place, what, broken = true] of check(bundle, report)) if (broken) say(place, what);
    }));
  }
  const findings = checks.flatMap((one) => one.findings);
  const verified = bundle !== null && !findings.length && report.summary !== "";
  const [summary, notes] = [verified ? oneLine(report.summary) : "", report.notes.map(oneLine)];
  const [release, ownKeyOnly] = [bundle && oneLine(bundle.release), bundle !== null && trusted === null];
  if (ownKeyOnly) notes.push(`${OWN_KEY}. Compare it with a copy that you kept: ${bundle.key}`);
  return { verified, findings, notes, summary, release, ownKeyOnly, checks };
}

verifyBundle.parts = { canonical, comparable, hex, outOfOrder, readJson }; // for tests
Object.assign(globalThis, { verifyBundle, verification: { oneLine, HELD, FAILED, UNCHECKED } });
})();
