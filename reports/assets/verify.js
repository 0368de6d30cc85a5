/* Verify the evidence bundle of one release in the browser: release_store/evidence/verify_evidence.py, function by function.
 *
 * verifyBundle(bundle, key, options) takes a Blob or the bytes of a bundle, and the public key that is trusted (64
 * hexadecimal digits or PEM; null trusts the bundle's own), and tells what was found, with the script's verdict and
 * in its words. It sends nothing anywhere and keeps nothing. Whatever goes wrong is a finding: nothing is verified
 * by mistake. The last part wires it to the page, where there is one.
 */
"use strict";

(() => {
const FORMAT = 1;
const STATEMENT = "releasegate decision 1";
const [README, SCRIPT, EVIDENCE] = ["README.txt", "verify_evidence.py", "evidence.json"];
const [CHECKPOINT, NEWEST] = ["checkpoint.json", "newest-checkpoint.json"];
const [PUBLIC_KEY, POLICY] = ["public-key.pem", "policy.json"];
const REPORT = "report.html"; // made when a release is published: no file that gates judge
const [RELEASE, MANIFEST, PACKAGE] = ["release/", "manifest.json", "datapackage.json"];
const MARK = "releasegate:override"; // in the data package of a release that gates held back
const OWN = [README, SCRIPT, EVIDENCE, CHECKPOINT, NEWEST, PUBLIC_KEY, POLICY];
const EVENT = ["number", "at", "actor", "action", "object", "reason", "payload", "previous"];
const SIGNED = ["store_id", "size", "head", "at", "public_key"];
const BINDING = ["candidate_digest", "policy_digest", "history_head"];
const DECISION = ["decision", "by", "reason", "at", ...BINDING];
const DECIDED = ["decision.approve", "decision.reject", "decision.override"];
const CORRECTED = "clock.corrected";
const SAID = ["decision.publish", "release.withdrawn", CORRECTED];
const STAGED = [...BINDING, "input_digest", "files", "summary"];
const ROLES = new Map([ // one of them is needed for the act
  ["approve", ["approver"]],
  ["reject", ["approver"]],
  ["publish", ["approver"]],
  ["withdraw", ["admin", "approver"]],
  ["override", ["admin"]],
  ["correct the clock", ["admin"]],
]);
const ACTS = new Map([["release.withdrawn", "withdraw"], [CORRECTED, "correct the clock"]]);
const OVERRIDES_NEEDED = 2;
const OVERRIDABLE = ["fail", "unknown"];
const PROVEN = "proven";
const IN_ORDER = "in order";
const CLOCK_TOLERANCE = 60; // seconds
const OPTIONAL_GATES = ["err", "umr", "sadr"];
const GIVEN_CHECKPOINT = "the checkpoint that was given";
const LARGEST_DOCUMENT = 2 ** 28;
const LARGEST_STEP = 2 ** 30; // what Python's zipfile unpacks of a document at once
const CHUNK = 2 ** 20; // what the script reads of a file at once
const STORED_CHUNK = 2 ** 18;
const PACKED_CHUNK = 2 ** 14; // unpacks to 16 MiB at the most
const DEEPEST = 400; // arrays and objects within each other: a little less than Python's canonical() can do
const AT_A_TIME = 30; // milliseconds of work between two breaths of the page

/** Something without which the rest cannot be judged; its text is told. */
class Broken extends Error {}

/** What Python would have raised, by its name. */
class Fault extends Error {
  constructor(kind) {
    super(kind);
    this.kind = kind;
  }
}

/** Something that this browser cannot do; nothing is verified without it. */
class Unable extends Error {}

/** A number that was written with a fraction or an exponent, or that is too large to be whole. */
class Float {
  constructor(value) {
    this.value = value;
  }
}

// The values of JSON: null, boolean, whole number, Float, string, array, Map --------------------------------------

const isObject = (value) => value instanceof Map;
const isNumber = (value) => typeof value === "number" || value instanceof Float || typeof value === "boolean";

function fail(kind) {
  throw new Fault(kind);
}

function number(value) {
  if (!isNumber(value)) fail("TypeError");
  return value instanceof Float ? value.value : Number(value);
}

/** Return what an object holds under a name; there must be something. */
function item(found, name) {
  if (!isObject(found)) fail("TypeError");
  return found.has(name) ? found.get(name) : fail("KeyError");
}

/** Return what an object holds under a name, or `otherwise`. */
function get(found, name, otherwise = null) {
  if (!isObject(found)) fail("AttributeError");
  return found.has(name) ? found.get(name) : otherwise;
}

/** Return what Python goes through in a value. */
function each(found) {
  if (Array.isArray(found)) return found;
  if (isObject(found)) return [...found.keys()];
  return typeof found === "string" ? Array.from(found) : fail("TypeError");
}

function truthy(value) {
  if (value === null) return false;
  if (isNumber(value)) return number(value) !== 0;
  if (isObject(value)) return value.size > 0;
  return value.length > 0;
}

/** Return the first of two values, or the second where the first says nothing. */
const or = (value, otherwise) => (truthy(value) ? value : otherwise);

/** Tell whether two values are equal to Python, where 1, 1.0 and true are. */
function equal(one, other) {
  if (isNumber(one) && isNumber(other)) return number(one) === number(other);
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((value, at) => equal(value, other[at]));
  }
  if (isObject(one) && isObject(other)) {
    return one.size === other.size && [...one].every(([name, value]) => other.has(name) && equal(value, other.get(name)));
  }
  return one === other;
}

/** Return a value as one that a Set or Map can hold. */
function hashable(value) {
  if (Array.isArray(value) || isObject(value)) fail("TypeError");
  return isNumber(value) ? number(value) : value;
}

const text = (value) => (typeof value === "string" ? value : fail("TypeError"));

/** Return a value as Python's str() has it. */
const shown = (value) => (typeof value === "string" ? value : represented(value));

/** Return a value as Python's repr() has it. */
function represented(value) {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value === "number") return String(value);
  if (value instanceof Float) return pythonFloat(value.value).replace("Infinity", "inf");
  if (Array.isArray(value)) return `[${value.map(represented).join(", ")}]`;
  if (isObject(value)) return `{${[...value].map((pair) => pair.map(represented).join(": ")).join(", ")}}`;
  const quote = value.includes("'") && !value.includes('"') ? '"' : "'";
  const short = { "\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\", [quote]: `\\${quote}` };
  const written = Array.from(value, (letter) => short[letter] ?? (printable(letter) ? letter : escaped(letter)));
  return quote + written.join("") + quote;
}

function escaped(letter) {
  const code = letter.codePointAt(0);
  const [sign, digits] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
  return `\\${sign}${code.toString(16).padStart(digits, "0")}`;
}

const printable = (letter) => letter === " " || !/[\p{C}\p{Z}]/u.test(letter);

/** Return a text that cannot pretend to be more lines: names in a bundle are anybody's. */
const oneLine = (line) => Array.from(line, (letter) => (printable(letter) ? letter : "?")).join("");

/** Compare two texts by their code points, as Python does. */
function byCodePoint(one, other) {
  const [left, right] = [Array.from(one), Array.from(other)];
  for (let at = 0; at < Math.min(left.length, right.length); at++) {
    const apart = left[at].codePointAt(0) - right[at].codePointAt(0);
    if (apart) return apart;
  }
  return left.length - right.length;
}

// Bytes -----------------------------------------------------------------------------------------------------------

const encoder = new TextEncoder();

/** Return a text as UTF-8, which has no lone surrogates. */
function utf8(written) {
  if (/\p{Surrogate}/u.test(written)) fail("UnicodeEncodeError");
  return encoder.encode(written);
}

function decoded(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return fail("UnicodeDecodeError");
  }
}

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** Tell whether a text is an Ed25519 key in its one spelling: on the curve, of large order, y below the prime. */
function isPublicKey(written) {
  if (!isHash(written)) return false;
  const y = little(written) & ((1n << 255n) - 1n);
  if (y >= PRIME || SMALL_ORDER.includes(y)) return false;
  // On the curve: x^2 = (y^2 - 1) / (d y^2 + 1) is a square.
  const squared = (y * y - 1n) * power(D * y * y + 1n, PRIME - 2n);
  return power(squared, (PRIME - 1n) / 2n) === 1n;
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

/** Tell whether a value is 32 bytes in their one spelling: 64 hexadecimal digits, in small letters. */
const isHash = (written) => typeof written === "string" && /^[0-9a-f]{64}$/.test(written);

/** Tell whether a text is an Ed25519 signature in its one spelling: S below the order of the group. */
function isSignature(written) {
  return typeof written === "string" && /^[0-9a-f]{128}$/.test(written) && little(written.slice(64)) < ORDER_OF_POINTS;
}

const little = (written) => BigInt(`0x${written.match(/../g).reverse().join("")}`);
const PRIME = (1n << 255n) - 19n; // of Ed25519: RFC 8032, section 5.1
const D = 0x52036cee2b6ffe738cc740797779e89800700a4d4141d8ab75eb4dca135978a3n; // of the curve: -121665/121666
const ORDER_OF_POINTS = (1n << 252n) + 27742317777372353535851937790883648493n;
const EIGHTH = 0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n;
const SMALL_ORDER = [0n, 1n, PRIME - 1n, EIGHTH, PRIME - EIGHTH]; // y of the points whose order divides 8

/** Return the bytes of hexadecimal text. */
const unhex = (found) => Uint8Array.from(found.match(/../g), (pair) => parseInt(pair, 16));

const sameBytes = (one, other) => one.length === other.length && one.every((byte, at) => byte === other[at]);

function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte;
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1;
  return rest;
});

function crc32(bytes, before) {
  let rest = ~before;
  for (let at = 0; at < bytes.length; at++) rest = CRC[(rest ^ bytes[at]) & 255] ^ (rest >>> 8);
  return ~rest >>> 0;
}

// SHA-256: FIPS 180-4. WebCrypto's takes no stream, and files are large -----------------------------------------------

const PRIMES = (() => {
  const found = [];
  for (let one = 2; found.length < 64; one++) if (found.every((prime) => one % prime)) found.push(one);
  return found;
})();
const fraction = (root) => Math.floor((root - Math.floor(root)) * 2 ** 32) | 0;
const K = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const BEGINNING = Int32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));

class Sha256 {
  constructor() {
    this.state = BEGINNING.slice();
    this.words = new Int32Array(64);
    this.rest = new Uint8Array(64);
    this.held = 0;
    this.length = 0;
  }

  update(bytes) {
    this.length += bytes.length;
    let at = 0;
    if (this.held) {
      at = Math.min(64 - this.held, bytes.length);
      this.rest.set(bytes.subarray(0, at), this.held);
      this.held += at;
      if (this.held < 64) return this;
      this.block(this.rest, 0);
      this.held = 0;
    }
    for (; at + 64 <= bytes.length; at += 64) this.block(bytes, at);
    this.rest.set(bytes.subarray(at));
    this.held = bytes.length - at;
    return this;
  }

  block(bytes, from) {
    const { state, words } = this;
    for (let at = 0; at < 16; at++, from += 4) {
      words[at] = (bytes[from] << 24) | (bytes[from + 1] << 16) | (bytes[from + 2] << 8) | bytes[from + 3];
    }
    for (let at = 16; at < 64; at++) {
      const x = words[at - 15];
      const y = words[at - 2];
      const s0 = ((x >>> 7) | (x << 25)) ^ ((x >>> 18) | (x << 14)) ^ (x >>> 3);
      const s1 = ((y >>> 17) | (y << 15)) ^ ((y >>> 19) | (y << 13)) ^ (y >>> 10);
      words[at] = (words[at - 16] + s0 + words[at - 7] + s1) | 0;
    }
    let a = state[0], b = state[1], c = state[2], d = state[3];
    let e = state[4], f = state[5], g = state[6], h = state[7];
    for (let at = 0; at < 64; at++) {
      const s1 = ((e >>> 6) | (e << 26)) ^ ((e >>> 11) | (e << 21)) ^ ((e >>> 25) | (e << 7));
      const one = (h + s1 + ((e & f) ^ (~e & g)) + K[at] + words[at]) | 0;
      const s0 = ((a >>> 2) | (a << 30)) ^ ((a >>> 13) | (a << 19)) ^ ((a >>> 22) | (a << 10));
      const two = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      h = g;
      g = f;
      f = e;
      e = (d + one) | 0;
      d = c;
      c = b;
      b = a;
      a = (one + two) | 0;
    }
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
    state[4] += e;
    state[5] += f;
    state[6] += g;
    state[7] += h;
  }

  digest() {
    const bits = this.length * 8;
    const padding = new Uint8Array(((this.held < 56 ? 56 : 120) - this.held) + 8);
    padding[0] = 128;
    const end = new DataView(padding.buffer, padding.length - 8);
    end.setUint32(0, Math.floor(bits / 2 ** 32));
    end.setUint32(4, bits >>> 0);
    this.update(padding);
    const found = new DataView(new ArrayBuffer(32));
    this.state.forEach((word, at) => found.setInt32(4 * at, word));
    return new Uint8Array(found.buffer);
  }
}

const sha256 = (...parts) => parts.reduce((digest, part) => digest.update(part), new Sha256()).digest();

// Deflate: RFC 1951, refusing what zlib refuses -------------------------------------------------------------------
// DecompressionStream is not used: browsers differ in what they hand out before a fault, and all of them refuse a
// stream that is cut after its last byte of data, which zipfile takes.

const HISTORY = 2 ** 15;
const ROOM = 2 ** 16;
const LONGEST = 258;
const QUICK = 10; // bits of a code that are looked up at once
const NONE = 0xffff;
const STARVED = Symbol("the input ends here");
const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const LENGTH_BITS = [...Array(8).fill(0), ...[1, 2, 3, 4, 5].flatMap((bits) => Array(4).fill(bits)), 0];
const LENGTH_BASE = LENGTH_BITS.map((_, at) => LENGTH_BITS.slice(0, at).reduce((sum, bits) => sum + 2 ** bits, 3));
LENGTH_BASE[28] = LONGEST;
const DISTANCE_BITS = Array.from({ length: 30 }, (_, at) => Math.max(0, (at >> 1) - 1));
const DISTANCE_BASE = DISTANCE_BITS.map((_, at) => DISTANCE_BITS.slice(0, at).reduce((sum, bits) => sum + 2 ** bits, 1));

/** A Huffman code by the lengths of its words. */
class Code {
  constructor(lengths, mayBeIncomplete) {
    const count = new Uint16Array(16);
    for (const length of lengths) count[length]++;
    let most = 15;
    while (most > 0 && !count[most]) most--;
    let left = 1;
    for (let length = 1; length <= 15; length++) {
      left = left * 2 - count[length];
      if (left < 0) fail("error");
    }
    if (left > 0 && most > 0 && !(mayBeIncomplete && most === 1)) fail("error");
    const start = new Uint16Array(17);
    const word = new Uint16Array(17);
    for (let length = 1; length <= 15; length++) {
      start[length + 1] = start[length] + count[length];
      word[length + 1] = (word[length] + count[length]) << 1;
    }
    this.count = count;
    this.symbols = new Uint16Array(lengths.length);
    // Of a code that is complete every word leads to a symbol; of others, what leads nowhere is one bit long.
    this.quick = new Uint16Array(1 << QUICK).fill(left > 0 ? NONE : 0);
    lengths.forEach((length, symbol) => {
      if (!length) return;
      this.symbols[start[length]++] = symbol;
      const own = word[length]++;
      if (length > QUICK) return;
      let turned = 0;
      for (let bit = 0; bit < length; bit++) turned |= ((own >> bit) & 1) << (length - 1 - bit);
      for (let at = turned; at < 1 << QUICK; at += 1 << length) this.quick[at] = (symbol << 4) | length;
    });
  }
}

const FIXED = Array.from({ length: 288 }, (_, at) => (at < 144 ? 8 : at < 256 ? 9 : at < 280 ? 7 : 8));
const FIXED_CODES = [new Code(FIXED, false), new Code(Array(32).fill(5), false)];

/** Unpacks what is pushed, and gives it away in pieces that are valid until the next. */
class Inflater {
  constructor(give, most) {
    this.give = give;
    this.most = most; // bytes after which it stops
    this.out = new Uint8Array(HISTORY + ROOM + LONGEST);
    this.from = this.to = this.given = 0;
    this.input = new Uint8Array(0);
    this.at = this.bits = this.held = 0;
    this.step = this.head;
    this.last = this.ended = false;
  }

  /** Take more of the packed bytes; `final` says that there are no more. */
  push(bytes, final) {
    this.input = joined(this.input.subarray(this.at), bytes);
    this.at = 0;
    try {
      while (!this.ended && this.step(final));
    } catch (error) {
      if (error !== STARVED) throw error;
    }
    this.flush();
    this.ended ||= final;
  }

  take(count) {
    while (this.held < count) {
      if (this.at >= this.input.length) throw STARVED;
      this.bits |= this.input[this.at++] << this.held;
      this.held += 8;
    }
    const found = this.bits & ((1 << count) - 1);
    this.bits >>>= count;
    this.held -= count;
    return found;
  }

  symbol(code) {
    while (this.held <= 16 && this.at < this.input.length) {
      this.bits |= this.input[this.at++] << this.held;
      this.held += 8;
    }
    const quick = code.quick[this.bits & ((1 << QUICK) - 1)];
    if (quick === NONE) {
      if (!this.held) throw STARVED;
      fail("error");
    }
    let length = quick & 15;
    let found = quick >> 4;
    if (!length) {
      let [word, first, index] = [0, 0, 0];
      for (length = 1; length <= 15; length++) {
        word |= (this.bits >>> (length - 1)) & 1;
        const count = code.count[length];
        if (word - first < count) break;
        index += count;
        first = (first + count) << 1;
        word <<= 1;
      }
      found = code.symbols[index + word - first];
    }
    if (length > this.held) throw STARVED;
    this.bits >>>= length;
    this.held -= length;
    return found;
  }

  flush() {
    const known = this.given;
    if (this.to > this.from) this.give(this.out.subarray(this.from, this.to));
    this.given = known + this.to - this.from;
    if (this.given >= this.most) this.ended = true;
    if (this.to > HISTORY) {
      this.out.copyWithin(0, this.to - HISTORY, this.to);
      this.to = HISTORY;
    }
    this.from = this.to;
  }

  // Each step does a part, and tells whether there is enough input for another.

  head(final) {
    if (!final && this.input.length - this.at < 1024) return false;
    if (this.last) {
      this.ended = true;
      return false;
    }
    this.last = this.take(1) === 1;
    const type = this.take(2);
    if (type === 0) this.openStored();
    else if (type === 1) this.open(...FIXED_CODES);
    else if (type === 2) this.openDynamic();
    else fail("error");
    return true;
  }

  openStored() {
    this.take(this.held & 7);
    const [length, check] = [this.take(16), this.take(16)];
    if (length !== (check ^ 0xffff)) fail("error");
    this.left = length;
    this.step = this.stored;
  }

  open(literals, distances) {
    this.literals = literals;
    this.distances = distances;
    this.step = this.codes;
  }

  openDynamic() {
    const [literals, distances, counted] = [this.take(5) + 257, this.take(5) + 1, this.take(4) + 4];
    if (literals > 286 || distances > 30) fail("error");
    const short = Array(19).fill(0);
    for (let at = 0; at < counted; at++) short[ORDER[at]] = this.take(3);
    const code = new Code(short, false);
    const lengths = [];
    while (lengths.length < literals + distances) {
      const symbol = this.symbol(code);
      if (symbol < 16) {
        lengths.push(symbol);
        continue;
      }
      if (symbol === 16 && !lengths.length) fail("error");
      const again = symbol === 16 ? lengths.at(-1) : 0;
      const times = symbol === 16 ? 3 + this.take(2) : symbol === 17 ? 3 + this.take(3) : 11 + this.take(7);
      if (lengths.length + times > literals + distances) fail("error");
      for (let time = 0; time < times; time++) lengths.push(again);
    }
    if (!lengths[256]) fail("error");
    this.open(new Code(lengths.slice(0, literals), true), new Code(lengths.slice(literals), true));
  }

  stored(final) {
    while (this.left > 0) {
      if (this.held) { // whole bytes that were read ahead
        this.out[this.to++] = this.take(8);
        this.left--;
      } else {
        const count = Math.min(this.left, this.input.length - this.at, HISTORY + ROOM - this.to);
        if (count <= 0 && this.at >= this.input.length) return final ? this.starve() : false;
        this.out.set(this.input.subarray(this.at, this.at + count), this.to);
        this.at += count;
        this.to += count;
        this.left -= count;
      }
      if (this.to >= HISTORY + ROOM) this.flush();
      if (this.ended) return false;
    }
    this.step = this.head;
    return true;
  }

  starve() {
    throw STARVED;
  }

  /** Unpack while there is room and input, up to the first word that is long, the last of a block, or none. */
  quickly() {
    const { out, input } = this;
    const [literals, distances] = [this.literals.quick, this.distances.quick];
    const [full, mask] = [HISTORY + ROOM, (1 << QUICK) - 1];
    const known = this.given - this.from;
    let { at, bits, held, to } = this;
    while (at + 8 <= input.length && to < full) {
      for (; held <= 16; held += 8) bits |= input[at++] << held;
      const quick = literals[bits & mask];
      if (quick === NONE || !(quick & 15) || quick >> 4 === 256 || quick >> 4 > 285) break;
      if (quick >> 4 < 256) {
        bits >>>= quick & 15;
        held -= quick & 15;
        out[to++] = quick >> 4;
        continue;
      }
      const more = LENGTH_BITS[(quick >> 4) - 257];
      let rest = bits >>> (quick & 15);
      let left = held - (quick & 15); // 7 or more
      const length = LENGTH_BASE[(quick >> 4) - 257] + (rest & ((1 << more) - 1));
      rest >>>= more;
      left -= more;
      let next = at;
      for (; left <= 16; left += 8) rest |= input[next++] << left;
      const far = distances[rest & mask];
      if (far === NONE || !(far & 15) || far >> 4 > 29) break;
      rest >>>= far & 15;
      left -= far & 15;
      for (; left <= 16; left += 8) rest |= input[next++] << left;
      const wide = DISTANCE_BITS[far >> 4];
      const distance = DISTANCE_BASE[far >> 4] + (rest & ((1 << wide) - 1));
      if (distance > known + to) break;
      bits = rest >>> wide;
      held = left - wide;
      at = next;
      for (const end = to + length; to < end; to++) out[to] = out[to - distance];
    }
    [this.at, this.bits, this.held, this.to] = [at, bits, held, to];
  }

  codes(final) {
    const { out, literals, distances } = this;
    for (;;) {
      if (this.to < HISTORY + ROOM) this.quickly();
      if (!final && this.input.length - this.at < 8) return false;
      if (this.to >= HISTORY + ROOM) {
        this.flush();
        if (this.ended) return false;
      }
      const symbol = this.symbol(literals);
      if (symbol < 256) {
        out[this.to++] = symbol;
        continue;
      }
      if (symbol === 256) {
        this.step = this.head;
        return true;
      }
      if (symbol > 285) fail("error");
      const length = LENGTH_BASE[symbol - 257] + this.take(LENGTH_BITS[symbol - 257]);
      const far = this.symbol(distances);
      if (far > 29) fail("error");
      const distance = DISTANCE_BASE[far] + this.take(DISTANCE_BITS[far]);
      if (distance > this.given + this.to - this.from) fail("error");
      let to = this.to;
      for (const end = to + length; to < end; to++) out[to] = out[to - distance];
      this.to = to;
    }
  }
}

// ZIP, as Python's zipfile reads it -------------------------------------------------------------------------------

const CP437 =
  "ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐" +
  "└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0";
const [CENTRAL, LOCAL, END, END_64, LOCATOR_64] = [0x02014b50, 0x04034b50, 0x06054b50, 0x06064b50, 0x07064b50];
const [STORED, DEFLATED] = [0, 8];
const IN_UTF8 = 1 << 11;
const DESCRIPTOR = 24; // bytes at most behind a member
const ENDING = 1 << 17; // bytes that are looked at behind the directory

const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const u64 = (found, at) => Number(found.getBigUint64(at, true));

function memberName(bytes, flags) {
  if (flags & IN_UTF8) return decoded(bytes);
  return Array.from(bytes, (byte) => (byte < 128 ? String.fromCharCode(byte) : CP437[byte - 128])).join("");
}

/** The bytes of a bundle, read piece by piece, and the work on them, which lets the page breathe. */
class Source {
  constructor(given, progress) {
    this.blob = given instanceof Blob ? given : new Blob([given]);
    this.size = this.blob.size;
    this.progress = progress;
    this.done = this.total = 0;
    this.since = Date.now();
  }

  async read(from, length) {
    if (from < 0) fail("OSError");
    return new Uint8Array(await this.blob.slice(from, Math.max(from, from + length)).arrayBuffer());
  }

  async breathe() {
    if (Date.now() - this.since < AT_A_TIME) return;
    this.progress(this.done, this.total);
    await new Promise((resolve) => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => {
        channel.port1.close();
        resolve();
      };
      channel.port2.postMessage(null);
    });
    this.since = Date.now();
  }
}

/** Return where the central directory stands: its end in the file, size and offset as told. */
async function endOfZip(source) {
  const least = 22;
  if (source.size < least) fail("BadZipFile");
  const last = await source.read(source.size - least, least);
  let [at, found] = [source.size - least, view(last)];
  if (found.getUint32(0, true) !== END || found.getUint16(20, true) !== 0) {
    const start = Math.max(source.size - 65536 - least, 0);
    const tail = await source.read(start, source.size - start);
    at = tail.length - 4;
    while (at >= 0 && view(tail).getUint32(at, true) !== END) at--;
    if (at < 0 || at + least > tail.length) fail("BadZipFile");
    found = view(tail.subarray(at));
    at += start;
  }
  const told = { at, size: found.getUint32(12, true), offset: found.getUint32(16, true), before: 0 };
  if (at < 20) return told;
  const locator = view(await source.read(at - 20, 20));
  if (locator.getUint32(0, true) !== LOCATOR_64) return told;
  if (locator.getUint32(4, true) !== 0 || locator.getUint32(16, true) > 1) fail("BadZipFile");
  if (at < 76) fail("BadZipFile");
  const large = view(await source.read(at - 76, 56));
  if (large.getUint32(0, true) !== END_64) return told;
  return { at, size: u64(large, 40), offset: u64(large, 48), before: 76 };
}

/** Return the members of a zip in the order of its directory, and where that begins. */
async function readDirectory(source) {
  const end = await endOfZip(source);
  const moved = end.at - end.size - end.offset - end.before;
  const start = end.offset + moved;
  if (start < 0) fail("BadZipFile");
  const directory = await source.read(start, end.size);
  const entries = [];
  let at = 0;
  while (at < end.size) {
    if (at + 46 > directory.length) fail("BadZipFile");
    const found = view(directory.subarray(at, at + 46));
    if (found.getUint32(0, true) !== CENTRAL) fail("BadZipFile");
    const flags = found.getUint16(8, true);
    const [named, extra, comment] = [28, 30, 32].map((place) => found.getUint16(place, true));
    const original = memberName(directory.subarray(at + 46, at + 46 + named), flags);
    if (found.getUint8(6) > 63) fail("NotImplementedError");
    const entry = {
      original,
      name: original.split("\0")[0],
      flags,
      method: found.getUint16(10, true),
      crc: found.getUint32(16, true),
      packed: found.getUint32(20, true),
      size: found.getUint32(24, true),
      offset: found.getUint32(42, true),
    };
    readExtra(entry, directory.subarray(at + 46 + named, at + 46 + named + extra));
    entry.offset += moved;
    entries.push(entry);
    at += 46 + named + extra + comment;
    await source.breathe();
  }
  return { entries, start, behind: start + at };
}

function readExtra(entry, extra) {
  while (extra.length >= 4) {
    const [kind, length] = [view(extra).getUint16(0, true), view(extra).getUint16(2, true)];
    if (length + 4 > extra.length) fail("BadZipFile");
    if (kind === 1) {
      let at = 4;
      const next = () => {
        at += 8;
        return at > length + 4 ? fail("BadZipFile") : u64(view(extra), at - 8);
      };
      if (entry.size === 0xffffffff) entry.size = next();
      if (entry.packed === 0xffffffff) entry.packed = next();
      if (entry.offset === 0xffffffff) entry.offset = next();
    }
    extra = extra.subarray(length + 4);
  }
}

/** Return where the data of a member begin, by the header that stands before them. */
async function dataOf(source, entry) {
  const header = view(await source.read(entry.offset, 30));
  if (header.byteLength < 30) return Infinity;
  return entry.offset + 30 + header.getUint16(26, true) + header.getUint16(28, true);
}

/** Return the names of members whose data run into another member or the directory. */
async function overlapping(source, entries, start) {
  const found = [];
  let end = start;
  for (const entry of [...entries].sort((one, other) => other.offset - one.offset)) {
    const data = await dataOf(source, entry);
    if (data + entry.packed > end) found.push(entry.name);
    end = entry.offset;
    await source.breathe();
  }
  return found.sort(byCodePoint);
}

/** Tell whether bytes stand before, between or behind the members. */
async function hasForeign(source, { entries, start, behind }) {
  let [at, apart] = [0, false];
  for (const entry of [...entries].sort((one, other) => one.offset - other.offset)) {
    if (entry.offset > at) apart = true;
    at = (await dataOf(source, entry)) + entry.packed + (entry.flags & 8 ? DESCRIPTOR : 0);
    await source.breathe();
  }
  // Behind the directory stands its end, with a comment, and in a ZIP64 file 76 bytes before it; nothing else.
  let tail = await source.read(behind, ENDING);
  if (tail.length >= 4 && view(tail).getUint32(0, true) === END_64) tail = tail.subarray(76);
  const comment = tail.length >= 22 ? view(tail).getUint16(20, true) : 0;
  return apart || start > at || tail.length !== 22 + comment;
}

/** Unpack a member and give its bytes away in pieces; stop after `most`, at which Python would. */
async function unpack(source, entry, most, give) {
  const header = view(await source.read(entry.offset, 30));
  if (header.byteLength < 30 || header.getUint32(0, true) !== LOCAL) fail("BadZipFile");
  const named = await source.read(entry.offset + 30, header.getUint16(26, true));
  if (entry.flags & 0b1100000) fail("NotImplementedError");
  if (memberName(named, header.getUint16(6, true)) !== entry.original) fail("BadZipFile");
  if (entry.flags & 1) fail("RuntimeError");
  if (entry.method !== STORED && entry.method !== DEFLATED) fail("NotImplementedError");
  let [at, packed, left, crc] = [await dataOf(source, entry), entry.packed, entry.size, 0];
  const accept = (piece) => {
    const kept = piece.subarray(0, Math.min(left, piece.length));
    left -= kept.length;
    crc = crc32(kept, crc);
    give(kept);
  };
  const inflater = entry.method === DEFLATED ? new Inflater(accept, most) : null;
  do {
    const wanted = Math.min(packed, inflater ? PACKED_CHUNK : STORED_CHUNK);
    const bytes = await source.read(at, wanted);
    if (wanted && !bytes.length) {
      if (left > 0) fail("EOFError");
      break;
    }
    at += bytes.length;
    packed -= bytes.length;
    source.done += bytes.length;
    if (inflater) inflater.push(bytes, packed <= 0);
    else accept(bytes);
    await source.breathe();
  } while (packed > 0 && (inflater ? !inflater.ended : left > 0));
  if (crc !== entry.crc) fail("BadZipFile");
}

/** The members of a bundle by their names. */
class Archive {
  constructor(source, entries) {
    this.source = source;
    this.entries = new Map(entries.map((entry) => [entry.name, entry]));
  }

  entry(name) {
    return this.entries.get(name) ?? fail("KeyError");
  }

  async bytes(name) {
    const entry = this.entry(name);
    if (entry.size > LARGEST_DOCUMENT) throw new Broken(`${name} is too large`);
    const pieces = [];
    await unpack(this.source, entry, LARGEST_STEP, (piece) => pieces.push(piece.slice()));
    return joined(...pieces);
  }

  async document(name) {
    return readJson(await this.bytes(name), () => this.source.breathe());
  }

  async digest(name) {
    const entry = this.entry(name);
    const digest = new Sha256();
    const most = Math.max(1, Math.ceil(entry.size / CHUNK)) * CHUNK;
    await unpack(this.source, entry, most, (piece) => digest.update(piece));
    return hex(digest.digest());
  }
}

// JSON: strict, with Python's rules -------------------------------------------------------------------------------

const BLANK = /[ \t\n\r]*/y;
const NUMBER = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
// eslint-disable-next-line no-control-regex
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };

/** Return the JSON in some bytes; a name that stands twice, NaN and Infinity are refused. */
async function readJson(bytes, breathe = () => {}) {
  const reader = new JsonReader(decoded(bytes));
  while (!reader.work(20000)) await breathe();
  return reader.value;
}

/** Reads JSON in steps, so that a large document does not hold up the page. */
class JsonReader {
  constructor(written) {
    this.written = written;
    this.at = 0;
    this.open = []; // the arrays and objects around this place
    this.value = null;
    this.skip();
  }

  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.written);
    if (found) this.at = pattern.lastIndex;
    return found;
  }

  skip() {
    this.match(BLANK);
  }

  /** Go over one sign, if it is that one, and the blanks after it. */
  passes(sign) {
    if (this.written[this.at] !== sign) return false;
    this.at++;
    this.skip();
    return true;
  }

  expect(sign) {
    if (!this.passes(sign)) fail("JSONDecodeError");
  }

  /** Read some values, and tell whether all was read. */
  work(values) {
    for (; values > 0; values--) {
      let value = this.begin();
      while (value !== undefined) {
        this.skip();
        const around = this.open.at(-1);
        if (!around) {
          if (this.at < this.written.length) fail("JSONDecodeError");
          this.value = value;
          return true;
        }
        value = this.add(around, value);
      }
    }
    return false;
  }

  /** Begin a value, and return it if it is whole. */
  begin() {
    const sign = this.written[this.at];
    if (sign === "{" || sign === "[") {
      if (this.open.length >= DEEPEST) fail("RecursionError");
      this.passes(sign);
      const made = sign === "{" ? new Map() : [];
      if (this.written[this.at] === (sign === "{" ? "}" : "]")) {
        this.at++;
        return made;
      }
      this.open.push({ made, name: sign === "{" ? this.name() : null });
      return undefined;
    }
    if (sign === '"') return this.string();
    for (const [word, value] of [["null", null], ["true", true], ["false", false]]) {
      if (this.written.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    if (["NaN", "Infinity", "-Infinity"].some((word) => this.written.startsWith(word, this.at))) fail("ValueError");
    return this.number();
  }

  /** Put a value into what is around it, and return that if it is whole. */
  add(around, value) {
    const { made } = around;
    if (isObject(made)) made.set(around.name, value);
    else made.push(value);
    if (this.passes(",")) {
      if (isObject(made)) {
        around.name = this.name();
        if (made.has(around.name)) fail("ValueError");
      }
      return undefined;
    }
    if (this.written[this.at] !== (isObject(made) ? "}" : "]")) fail("JSONDecodeError");
    this.at++;
    this.open.pop();
    return made;
  }

  name() {
    if (this.written[this.at] !== '"') fail("JSONDecodeError");
    const found = this.string();
    this.skip();
    this.expect(":");
    return found;
  }

  string() {
    const parts = [];
    this.at++;
    for (;;) {
      parts.push(this.match(PLAIN)[0]);
      const sign = this.written[this.at++];
      if (sign === '"') return parts.join("");
      if (sign !== "\\") fail("JSONDecodeError");
      const kind = this.written[this.at++];
      if (kind === "u") {
        const digits = this.written.slice(this.at, this.at + 4);
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) fail("JSONDecodeError");
        parts.push(String.fromCharCode(parseInt(digits, 16)));
        this.at += 4;
      } else {
        if (!Object.hasOwn(ESCAPES, kind ?? "")) fail("JSONDecodeError");
        parts.push(ESCAPES[kind]);
      }
    }
  }

  number() {
    const found = this.match(NUMBER);
    if (!found) fail("JSONDecodeError");
    const [whole, digits, decimals, exponent] = found;
    if (decimals !== undefined || exponent !== undefined) return new Float(Number(whole));
    if (digits.replace("-", "").length > 4300) fail("ValueError"); // Python reads no longer ones
    const value = Number(digits);
    return Math.abs(value) < 2 ** 53 ? value + 0 : new Float(value);
  }
}

// Canonical JSON: RFC 8785 ----------------------------------------------------------------------------------------

/** Return plain JSON as canonical text. */
function written(value) {
  if (value instanceof Float) return Number.isFinite(value.value) ? String(value.value) : fail("ValueError");
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  if (isObject(value)) {
    return `{${[...value.keys()].sort(byUnit).map((name) => `${quoted(name)}:${written(value.get(name))}`).join(",")}}`;
  }
  return typeof value === "string" ? quoted(value) : JSON.stringify(value);
}

const byUnit = (one, other) => (one < other ? -1 : Number(one > other));

/** Return a text as JSON has it. JSON.stringify would escape what UTF-8 cannot hold, so it is refused before. */
function quoted(value) {
  if (typeof value !== "string") fail("AttributeError");
  if (/\p{Surrogate}/u.test(value)) fail("UnicodeEncodeError");
  return JSON.stringify(value);
}

const canonical = (value) => utf8(written(value));
const same = (one, other) => written(one) === written(other);
const digestOf = (value) => hex(sha256(canonical(value)));
const object = (pairs) => new Map(Object.entries(pairs));

// Reading a bundle ------------------------------------------------------------------------------------------------

/** What stands in a bundle, read but not yet believed. */
class Bundle {
  constructor(read) {
    Object.assign(this, read);
  }

  /** Return the one event of that action and object. */
  event(action, subject) {
    const found = this.events.filter((one) => one.get("action") === action && one.get("object") === subject);
    if (found.length !== 1) throw new Broken(`${found.length} events say ${action} of ${subject}, and one should`);
    return found[0];
  }

  /** Return the event by which the release appeared. */
  published() {
    return this.event("release.published", shown(item(this.manifest, "release_id")));
  }

  /** Return the event by which its publication began. */
  started() {
    const published = this.published().get("number");
    const found = this.events.filter((one) => one.get("action") === "publication.started" && one.get("number") < published);
    return found.at(-1) ?? fail("IndexError");
  }

  /** Return the accepted decisions on the candidate, and on those whose files were judged before it. */
  words() {
    return this.events.filter((one) => DECIDED.includes(one.get("action")));
  }

  /** Return the accepted decisions on the candidate. */
  decisions() {
    return this.words().filter((one) => one.get("object") === item(this.manifest, "candidate_id"));
  }

  /** Return every event that keeps a person's word and its proof. */
  said() {
    return this.events.filter((one) => [...DECIDED, ...SAID].includes(one.get("action")));
  }

  staged(candidate) {
    return this.event("candidate.staged", candidate);
  }

  assessed() {
    return this.event("candidate.assessed", shown(item(this.manifest, "candidate_id")));
  }

  /** Tell whether administrators let out what gates held back: enough words, and no gate that broke. */
  overridden() {
    const told = new Set(each(item(this.assessed().get("payload"), "gates")).map((one) => hashable(item(one, "verdict"))));
    const words = this.decisions().filter((one) => one.get("action") === "decision.override").length;
    const fine = OVERRIDABLE.some((one) => told.has(one)) && [...told].every((one) => ["pass", ...OVERRIDABLE].includes(one));
    return fine && words >= OVERRIDES_NEEDED;
  }

  /** Return what the last event before that number says of the people in force, null if none does. */
  peopleBefore(before) {
    const found = this.events.filter((one) => one.get("action") === "people.changed" && one.get("number") < before);
    return found.at(-1)?.get("payload") ?? null;
  }

  /** Return the candidates whose files this one has, and which became stale or expired: newest first. */
  judgedBefore() {
    const found = [];
    let candidate = shown(item(this.manifest, "candidate_id"));
    for (;;) {
      const before = get(item(this.staged(candidate).get("payload"), "summary"), "judged_again");
      if (!truthy(before)) return found;
      candidate = shown(item(before, "of"));
      if (found.includes(candidate)) throw new Broken("a candidate is told to be judged again for itself");
      found.push(candidate);
    }
  }
}

async function readBundle(source, trusted, kept, say) {
  const directory = await readDirectory(source).catch((error) => {
    if (error instanceof Fault && error.kind === "BadZipFile") {
      throw new Broken("is no bundle, or not all of one: copy it again from where it was made");
    }
    throw error;
  });
  const { entries, start } = directory;
  const names = entries.map((entry) => entry.name);
  let strange = strangeNames(names, say);
  for (const name of await overlapping(source, entries, start)) {
    say(represented(name), "runs into another member of the zip");
    strange = true;
  }
  if (!strange && (await hasForeign(source, directory))) {
    say("bundle", "holds bytes that are in none of its members");
    strange = true;
  }
  if (strange) return null;
  const archive = new Archive(source, entries);
  source.total = entries.reduce((sum, entry) => sum + entry.packed, 0);
  const manifest = asObject(await archive.document(RELEASE + MANIFEST), RELEASE + MANIFEST);
  const wanted = new Set([...OWN, ...[...each(item(manifest, "files")), MANIFEST].map((name) => RELEASE + text(name))]);
  const present = new Set(names);
  const missing = [...wanted].filter((name) => !present.has(name)).sort(byCodePoint);
  for (const name of missing) say(name, "is missing");
  for (const name of names.filter((one) => !wanted.has(one)).sort(byCodePoint)) say(name, "does not belong to the bundle");
  if (missing.length) return null;
  const ownKey = readOwnKey(keyText(await archive.bytes(PUBLIC_KEY)));
  const evidence = asObject(await archive.document(EVIDENCE), EVIDENCE);
  const format = item(evidence, "format");
  if (!equal(format, FORMAT)) throw new Broken(`is of format ${represented(format)}, and this script reads ${FORMAT}`);
  const proven = each(item(evidence, "events")).map((one) => [readEvent(item(one, "event")), item(one, "path")]);
  const numbers = proven.map(([event]) => event.get("number"));
  if (!numbers.every((one, at) => at === 0 || numbers[at - 1] < one)) {
    throw new Broken("the events are not in the order of their numbers, each once");
  }
  const files = new Map();
  for (const name of names.filter((one) => wanted.has(one) && one.startsWith(RELEASE)).sort(byCodePoint)) {
    files.set(name.slice(RELEASE.length), await archive.digest(name));
  }
  const document = async (name) => asObject(await archive.document(name), name);
  return new Bundle({
    key: trusted ?? ownKey, // the one that is trusted, hexadecimal
    ownKey,
    files, // name to SHA-256
    package: present.has(RELEASE + PACKAGE) ? await archive.bytes(RELEASE + PACKAGE) : new Uint8Array(0),
    manifest,
    policy: await document(POLICY),
    checkpoint: await document(CHECKPOINT), // made with the release
    newest: await document(NEWEST), // the newest that the store had
    kept, // one that the reader kept from elsewhere
    events: proven.map(([event]) => event),
    paths: new Map(proven.map(([event, path]) => [event.get("number"), path === null ? null : readPath(path)])),
    consistency: new Map(
      each(item(evidence, "consistency")).map((one) => [whole(item(one, "size")), readPath(item(one, "path"))]),
    ),
    source,
  });
}

function strangeNames(names, say) {
  const times = new Map();
  for (const name of names) times.set(name, (times.get(name) ?? 0) + 1);
  let strange = false;
  const told = (name, what) => {
    say(represented(name), what);
    strange = true;
  };
  for (const name of [...times.keys()].sort(byCodePoint)) {
    if (times.get(name) > 1) told(name, `stands in the zip ${times.get(name)} times`);
    if (name.includes("\\") || name.split("/").some((part) => ["", ".", ".."].includes(part))) {
      told(name, "is no name that a bundle may hold");
    }
  }
  return strange;
}

function asObject(found, name) {
  if (!isObject(found)) throw new Broken(`${name} is no JSON object`);
  return found;
}

function readEvent(found) {
  const event = asObject(found, "an event");
  const texts = ["at", "actor", "action", "object", "reason", "previous", "hash"];
  const fields = [...EVENT, "hash"];
  const right = event.size === fields.length && fields.every((name) => event.has(name));
  if (!right || !texts.every((name) => typeof event.get(name) === "string")) {
    throw new Broken("an event has other fields than events have");
  }
  whole(event.get("number"));
  asObject(event.get("payload"), "the payload of an event");
  return event;
}

function readPath(found) {
  if (!Array.isArray(found) || !found.every(isHash)) throw new Broken("a proof holds something that is no hash");
  return found.map(unhex);
}

function readRoot(checkpoint) {
  if (!isHash(item(checkpoint, "root"))) throw new Broken("the root of a checkpoint is no hash");
  return unhex(checkpoint.get("root"));
}

function whole(found) {
  if (typeof found !== "number" || found < 0) throw new Broken("a number of events is no whole number");
  return found;
}

/** Return the key in what was given, 64 hexadecimal digits or PEM; null if nothing was. */
function givenKey(given) {
  if (given === null) return null;
  return isHash(given) ? asPublicKey(given) : pemKey(given);
}

function asPublicKey(key) {
  if (!isPublicKey(key)) throw new Broken("the public key is no key of Ed25519 that can be trusted");
  return key;
}

/** Return the key of the bundle, which is written in one way: text beside it would be anybody's. */
function readOwnKey(given) {
  const key = pemKey(given);
  const written = btoa(String.fromCharCode(...unhex(ED25519 + key)));
  if (given !== `-----BEGIN PUBLIC KEY-----\n${written}\n-----END PUBLIC KEY-----\n`) {
    throw new Broken("public-key.pem holds more than a key, or is written in another way than keys are");
  }
  return key;
}

const ED25519 = "302a300506032b6570032100"; // what stands before the 32 bytes of a key: RFC 8410

/** Return the text of a file with a key; of one that is too large for that, none. */
const keyText = (bytes) => (bytes.length > 65536 ? "" : Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));

function pemKey(given) {
  const found = /-----BEGIN PUBLIC KEY-----([A-Za-z0-9+/=\s]*)-----END PUBLIC KEY-----/.exec(given);
  const none = () => new Broken("there is no public key in PEM");
  if (!found) throw none();
  let der;
  try {
    der = hex(Uint8Array.from(atob(found[1].replace(/\s/g, "")), (letter) => letter.charCodeAt(0)));
  } catch {
    throw none();
  }
  if (der.startsWith(ED25519)) {
    if (der.length !== ED25519.length + 64) throw none();
    return asPublicKey(der.slice(ED25519.length));
  }
  throw der.startsWith("30") ? new Broken("the public key is not of Ed25519") : none();
}

// Checks: each says what it finds ---------------------------------------------------------------------------------

function checkKeys(bundle, say) {
  if (bundle.ownKey !== bundle.key) say(PUBLIC_KEY, "is not the key that was given");
  const first = bundle.events[0] ?? fail("IndexError");
  if (first.get("number") !== 1 || first.get("action") !== "store.created") {
    say("event 1", "is missing: nothing says which key the store began with");
    return;
  }
  if (get(first.get("payload"), "public_key") !== bundle.key) {
    say("event 1", "the store began with another key than the one that is trusted");
  }
  if (!equal(get(first.get("payload"), "store_id"), get(bundle.newest, "store_id"))) {
    say("event 1", "the store began with another id than the one that was signed");
  }
}

/** Both are signed by the trusted key, and the newest goes on where the release's stands. */
async function checkCheckpoints(bundle, say) {
  for (const [name, one] of [[CHECKPOINT, bundle.checkpoint], [NEWEST, bundle.newest]]) {
    if (!(await signatureHolds(one, bundle.key))) say(name, "is not signed by the key that is trusted");
  }
  const release = get(bundle.manifest, "release_id");
  if (!equal(get(bundle.checkpoint, "of", release), release)) say(CHECKPOINT, "is not the one of the release");
  if (!equal(item(bundle.checkpoint, "store_id"), item(bundle.newest, "store_id"))) {
    say(NEWEST, "is of another store than the release's checkpoint");
  }
  if (!bundle.newest.has("root")) say(NEWEST, "has no root of the log's tree, so nothing can be proven by it");
  else if (!continues(bundle, bundle.checkpoint)) say(NEWEST, "does not continue the log of the release's checkpoint");
}

/** The checkpoint that the reader kept is of the same log. */
async function checkKept(bundle, say) {
  const { kept, newest } = bundle;
  if (kept === null) return;
  if (!(await signatureHolds(kept, bundle.key))) say(GIVEN_CHECKPOINT, "is not signed by the key that is trusted");
  else if (!equal(item(kept, "store_id"), item(newest, "store_id"))) say(GIVEN_CHECKPOINT, "is of another store");
  else if (number(item(kept, "size")) > number(item(newest, "size"))) {
    say(GIVEN_CHECKPOINT, "is newer than the bundle: ask for a bundle made now");
  } else if (!continues(bundle, kept)) say(GIVEN_CHECKPOINT, "is not of the log that the bundle proves");
}

/** Tell whether the log of the newest checkpoint begins with that of an earlier one. */
function continues(bundle, earlier) {
  const { newest } = bundle;
  const size = whole(item(earlier, "size"));
  const head = item(earlier, "head");
  const logged = bundle.events.find((one) => one.get("number") === size);
  if (logged && logged.get("hash") !== head) return false;
  // The earlier form of checkpoints: its last event is itself proven to be in the newest tree.
  if (!earlier.has("root")) return Boolean(logged) && size <= number(item(newest, "size"));
  const last = item(newest, "size");
  if (equal(size, last)) return equal(earlier.get("root"), item(newest, "root")) && equal(head, item(newest, "head"));
  const roots = [earlier, newest].map(readRoot);
  const path = bundle.consistency.get(size);
  return path !== undefined && consistencyHolds(size, roots[0], last, roots[1], path);
}

/** Every event is what its hash says, and stands at its number in the log that was signed. */
async function checkEvents(bundle, say) {
  for (const event of bundle.events) {
    await bundle.source.breathe();
    const at = event.get("number");
    const path = bundle.paths.get(at);
    const where = `event ${at}`;
    if (event.get("hash") !== digestOf(new Map(EVENT.map((name) => [name, event.get(name)])))) {
      say(where, "does not match its own hash: it was changed");
      continue;
    }
    const signed = provenBy(at, bundle.checkpoint, bundle.newest);
    if (signed === null) {
      if (path !== null) say(where, "is newer than every checkpoint, and there is a proof of it");
      continue;
    }
    const leaf = leafHash(unhex(event.get("hash")));
    const root = readRoot(signed);
    if (path === null || !inclusionHolds(leaf, at - 1, item(signed, "size"), path, root)) {
      say(where, "is not proven to be in the log that was signed");
    }
  }
}

/** Return the checkpoint whose root proves an event: the release's, else the newest, else null. */
function provenBy(at, checkpoint, newest) {
  return [checkpoint, newest].find((one) => one.has("root") && at <= number(item(one, "size"))) ?? null;
}

/** No event is earlier than one before it, unless the clock was corrected between them. */
function checkTimes(bundle, say) {
  const first = bundle.events[0] ?? fail("IndexError");
  const told = get(first.get("payload"), "times") === IN_ORDER; // the first stores could step back
  bundle.events.slice(1).forEach((other, before) => {
    const one = bundle.events[before];
    const steps = other.get("number") - one.get("number");
    let wrong = null;
    if (other.get("action") === CORRECTED) wrong = wrongCorrection(other, steps === 1 ? one.get("at") : null);
    else if (told) wrong = outOfOrder(one.get("at"), other.get("at"), steps);
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
  if (back <= CLOCK_TOLERANCE * steps) return null;
  return `is ${seconds(back)} s earlier than an event before it, and nobody corrected the clock`;
}

/** Return what is wrong with an event by which the clock was corrected, null if nothing is. */
function wrongCorrection(event, before) {
  const said = event.get("payload");
  const bound = item(said, "bound");
  const told = item(bound, "last_event_at");
  const here = equal(item(said, "at"), event.get("at")) && equal(item(bound, "log_head"), event.get("previous"));
  if (!here || !(before === null || equal(before, told))) {
    return "corrects the clock of another log than the one that it stands in";
  }
  return secondsBack(told, event.get("at")) <= CLOCK_TOLERANCE ? "corrects a clock that was not ahead" : null;
}

const TIME = new RegExp(
  "^(?:(\\d{4})-(\\d\\d)-(\\d\\d)|(\\d{4})(\\d\\d)(\\d\\d))" +
    "(?:.(\\d\\d)(?::?(\\d\\d)(?::?(\\d\\d)(?:[.,](\\d+))?)?)?" +
    "(Z|[+-]\\d\\d(?::?\\d\\d(?::?\\d\\d(?:[.,]\\d+)?)?)?)?)?$",
  "su",
);

/** Return microseconds since 1970, and whether the time says its zone. */
function moment(found) {
  const parts = TIME.exec(text(found));
  if (!parts) fail("ValueError");
  const [year, month, day] = (parts[1] ? parts.slice(1, 4) : parts.slice(4, 7)).map(Number);
  const [hour, minute, second] = parts.slice(7, 10).map((part) => Number(part ?? 0));
  const start = new Date(0);
  start.setUTCFullYear(year, month - 1, day);
  const real = year > 0 && start.getUTCMonth() === month - 1 && start.getUTCDate() === day;
  if (!real || hour > 23 || minute > 59 || second > 59) fail("ValueError");
  const fine = BigInt((parts[10] ?? "").slice(0, 6).padEnd(6, "0"));
  let zone = 0;
  if (parts[11] && parts[11] !== "Z") {
    const [hours, minutes, more] = [...parts[11].slice(1).replaceAll(":", "").matchAll(/\d\d/g)].map(Number);
    if (hours > 23 || minutes > 59 || more > 59) fail("ValueError");
    zone = (parts[11][0] === "-" ? -1 : 1) * (hours * 3600 + (minutes ?? 0) * 60 + (more ?? 0));
  }
  const whole = start.getTime() / 1000 + hour * 3600 + minute * 60 + second - zone;
  return { micros: BigInt(whole) * 1000000n + fine, zoned: Boolean(parts[11]) };
}

function secondsBack(before, after) {
  const [one, other] = [moment(before), moment(after)];
  if (one.zoned !== other.zoned) fail("TypeError");
  return Number(one.micros - other.micros) / 1e6;
}

/** Return seconds without decimals, half to even, by thousands. */
function seconds(value) {
  const down = Math.floor(value);
  const up = value - down > 0.5 || (value - down === 0.5 && down % 2 === 1);
  return String(down + Number(up)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** Return what a reader must know of an event by which the clock was corrected. */
function correctedInWords(event) {
  const times = [item(item(event.get("payload"), "bound"), "last_event_at"), event.get("at")];
  const [before, now] = times.map((one) => Array.from(shown(one)).slice(0, 16).join("").replaceAll("T", " "));
  return `${event.get("actor")} corrected the clock from ${before} to ${now} UTC; the times just before are wrong`;
}

/** The files are those that the log says were published. */
function checkFiles(bundle, say) {
  const published = bundle.published();
  const logged = asObject(item(published.get("payload"), "files"), "the list of files");
  for (const name of [...new Set([...logged.keys(), ...bundle.files.keys()])].sort(byCodePoint)) {
    if (!equal(bundle.files.get(name) ?? null, logged.get(name) ?? null)) {
      say(RELEASE + name, "is not the file that was published");
    }
  }
  if (published.get("number") > number(item(bundle.checkpoint, "size"))) {
    say(CHECKPOINT, "was signed before the release was published");
  }
  const started = bundle.started();
  for (const name of ["release", "files", "classes", "candidate"]) {
    if (!same(item(started.get("payload"), name), item(published.get("payload"), name))) {
      say(`event ${published.get("number")}`, `its ${name} is not that of the publication's start`);
    }
  }
}

/** What the manifest says is what the log says. */
function checkManifest(bundle, say) {
  const { manifest } = bundle;
  const where = RELEASE + MANIFEST;
  const candidate = shown(item(manifest, "candidate_id"));
  const [started, published] = [bundle.started(), bundle.published()];
  if (!equal(item(published.get("payload"), "candidate"), candidate)) {
    say(where, "names another candidate than the one that was published");
  }
  const staged = bundle.staged(candidate);
  const assessed = bundle.event("candidate.assessed", candidate);
  const order = [staged, assessed, ...bundle.decisions(), started, published].map((one) => one.get("number"));
  if (order.some((one, at) => at > 0 && order[at - 1] > one)) {
    say(EVIDENCE, "the release was not staged, judged, decided on and published in this order");
  }
  const logged = new Map(STAGED.map((name) => [name, item(staged.get("payload"), name)]));
  logged.set("made_by", staged.get("actor"));
  logged.set("gates", item(assessed.get("payload"), "gates"));
  logged.set("decisions", bundle.decisions().map((one) => {
    const said = one.get("payload");
    const names = said.has("proof") ? [...DECISION, "proof"] : DECISION;
    return new Map(names.map((name) => [name, item(said, name)]));
  }));
  logged.set("log", object({
    store_id: item(bundle.newest, "store_id"),
    size: started.get("number") - 1,
    head: started.get("previous"),
  }));
  const judged = new Map([...manifest, ["files", judgedFiles(manifest)]]);
  for (const [name, value] of logged) {
    if (!same(item(judged, name), value)) say(where, `its ${name} is not the one that was logged`);
  }
  const wrong = wrongMark(manifest, bundle.package);
  if (wrong) say(RELEASE + PACKAGE, wrong);
  if (!equal(digestOf(judged.get("files")), item(manifest, "candidate_digest"))) {
    say(where, "its candidate_digest is not that of its files");
  }
}

function checkPolicy(bundle, say) {
  if (!equal(digestOf(bundle.policy), item(bundle.manifest, "policy_digest"))) {
    say(POLICY, "is not the policy that the release was made by");
  }
}

/** Every gate passed, and those that the policy names were asked. */
function checkGates(bundle, say) {
  const assessed = bundle.assessed().get("payload");
  const results = item(assessed, "gates");
  if (!truthy(results)) say("gates", "none passed the release");
  const overridden = bundle.overridden();
  const heldBack = new Map();
  for (const one of each(results)) {
    if (item(one, "verdict") !== "pass") heldBack.set(hashable(item(one, "gate")), item(one, "verdict"));
  }
  for (const [gate, verdict] of heldBack) if (!overridden) say("gates", `${shown(gate)} says ${shown(verdict)}`);
  const told = get(asObject(or(get(bundle.manifest, "override"), new Map()), "the override in the manifest"), "gates");
  if (!same(told, overridden ? heldBack : null)) say(RELEASE + MANIFEST, "does not say which gates were overridden");
  const asked = new Set(each(results).map((one) => hashable(item(one, "gate"))));
  for (const name of each(get(assessed, "asked", []))) { // the first stores did not log it
    if (!asked.has(hashable(name))) say("gates", `${shown(name)} was to be asked, and there is no result of it`);
  }
  const demanded = asObject(or(get(bundle.policy, "gates"), new Map()), "gates of the policy");
  for (const name of OPTIONAL_GATES) {
    if (get(demanded, name) !== null && !asked.has(name)) say("gates", `the policy demands ${name}, and nobody asked it`);
  }
}

/** Enough people other than the maker agreed, to what was then published. */
function checkDecisions(bundle, say) {
  const { manifest } = bundle;
  const decisions = bundle.decisions();
  const approval = asObject(or(get(bundle.policy, "approval"), new Map()), "approval of the policy");
  const kept = asObject(or(get(item(manifest, "summary"), "approval"), new Map()), "approval of the candidate");
  const needed = Math.max(whole(get(approval, "approvers", 0)), whole(get(kept, "needed", 0)));
  const approvals = decisions.filter((one) => one.get("action") === "decision.approve").length;
  if (approvals < needed && !bundle.overridden()) {
    say("decisions", `${approvals} people approved it, and ${needed} were needed`);
  }
  if (decisions.some((one, at) => decisions.slice(at + 1).some((other) => onePerson(one, other)))) {
    say("decisions", "one person decided twice");
  }
  const staged = bundle.staged(shown(item(manifest, "candidate_id")));
  const maker = comparable(staged.get("actor"));
  const candidates = [item(manifest, "candidate_id"), ...bundle.judgedBefore()];
  hashable(candidates[0]);
  for (const one of bundle.words()) {
    if (!candidates.includes(one.get("object"))) say(`event ${one.get("number")}`, "is a decision about another candidate");
  }
  for (const one of decisions) {
    const [where, said] = [`event ${one.get("number")}`, one.get("payload")];
    if (one.get("action") === "decision.reject" || one.get("action") !== `decision.${shown(item(said, "decision"))}`) {
      say(where, "is a rejection of what was published");
    }
    if (item(said, "by") !== one.get("actor")) say(where, "is a decision by somebody else than it says");
    if (comparable(one.get("actor")) === maker || isBy(get(said, "proof"), get(staged.get("payload"), "maker"))) {
      say(where, "is a decision by the person who made the release");
    }
    if (BINDING.some((name) => !equal(item(said, name), item(manifest, name)))) {
      say(where, "is a decision about other files, another policy or another history");
    }
  }
}

/** Every word on the release is proven to be of a person who might say it. */
async function checkProofs(bundle, say) {
  const first = bundle.events[0] ?? fail("IndexError");
  const demanded = get(first.get("payload"), "decisions") === PROVEN;
  for (const one of bundle.said()) {
    await bundle.source.breathe();
    const people = bundle.peopleBefore(one.get("number"));
    const wrong = await wrongProof(one, shown(item(bundle.newest, "store_id")), people, demanded);
    if (wrong) say(`event ${one.get("number")}`, `the word ${wrong}`);
  }
}

/** Say what a reader must know and is no fault of the bundle. */
function tell(bundle, _, report) {
  const [release, newest] = [item(bundle.manifest, "release_id"), item(bundle.newest, "size")];
  const { notes } = report;
  for (const event of bundle.events) {
    if (event.get("number") > number(newest)) {
      notes.push(`event ${event.get("number")} (${event.get("action")}) is newer than every checkpoint: not proven`);
    }
  }
  const payloads = bundle.events.map((event) => event.get("payload"));
  const states = payloads.filter((said) => equal(get(said, "release"), release) && said.has("release_state"));
  if (!states.length) fail("IndexError");
  const state = states.at(-1).get("release_state");
  if (state !== "published") notes.push(`${shown(release)} was published, and is ${shown(state)} now`);
  for (const event of bundle.events) {
    if (event.get("action") === CORRECTED) notes.push(`event ${event.get("number")}: ${correctedInWords(event)}`);
  }
  for (const event of bundle.said()) {
    const method = hashable(get(or(get(event.get("payload"), "proof"), new Map()), "method"));
    const told = new Map([
      [null, "carries no proof: it is of the time before people had keys"],
      ["token", "rests on a token"],
    ]).get(method);
    if (told) notes.push(`event ${event.get("number")}, the word of ${event.get("actor")}, ${told}`);
  }
  if (bundle.overridden()) {
    const names = bundle.decisions().filter((one) => one.get("action") === "decision.override");
    const gates = each(item(item(bundle.manifest, "override"), "gates")).map(text).sort(byCodePoint).join(", ");
    const people = names.map((one) => one.get("actor")).join(" and ");
    notes.push(`${people} published ${shown(release)} by override of the gates: ${gates}`);
  }
  report.summary =
    `${shown(release)}: ${bundle.files.size} files, ${bundle.events.length} events of a log of ${shown(newest)}: ` +
    "nothing in it has been touched";
  notes.push("what was left out of it cannot be seen here: the publisher's catalog says how the release stands now");
}

// The mark of an override -----------------------------------------------------------------------------------------

/** Return what the data package says of an override in the manifest: gates, people and times. */
function markOf(override) {
  const people = each(item(override, "by")).map((one) => object({ by: item(one, "by"), at: item(one, "at") }));
  return object({ gates: item(override, "gates"), by: people });
}

/** Return a data package as releasegate writes it: json.dumps(package, indent=2, ensure_ascii=False) and a newline. */
const packageText = (found) => utf8(`${indented(found, "\n")}\n`);

function indented(value, line) {
  const inner = `${line}  `;
  if (value instanceof Float) return pythonFloat(value.value);
  if (Array.isArray(value) && value.length) {
    return `[${inner}${value.map((one) => indented(one, inner)).join(`,${inner}`)}${line}]`;
  }
  if (isObject(value) && value.size) {
    return `{${inner}${[...value].map(([name, one]) => `${quoted(name)}: ${indented(one, inner)}`).join(`,${inner}`)}${line}}`;
  }
  return written(value);
}

/** Return a float as Python's repr() has it: the digits of ECMAScript, another form. */
function pythonFloat(value) {
  if (!Number.isFinite(value)) return value < 0 ? "-Infinity" : "Infinity";
  const sign = Object.is(value, -0) || value < 0 ? "-" : "";
  const [mantissa, power] = Math.abs(value).toExponential().split("e");
  const [digits, exponent] = [mantissa.replace(".", ""), Number(power)];
  if (exponent < -4 || exponent >= 16) {
    return `${sign}${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const padded = digits.padEnd(exponent + 1, "0");
  return `${sign}${padded.slice(0, exponent + 1)}.${padded.slice(exponent + 1) || "0"}`;
}

/** Return the digests of the files as the gates judged them, before the data package was marked. */
function judgedFiles(manifest) {
  const override = asObject(or(get(manifest, "override"), new Map()), "the override in the manifest");
  const judged = asObject(or(get(override, "judged"), new Map()), "what was judged in the manifest");
  const files = item(manifest, "files");
  if (!isObject(files)) return fail("TypeError");
  return new Map([...files, ...judged].filter(([name]) => name !== REPORT));
}

/** Return what is wrong with the data package of a release by override; empty if nothing is. */
function wrongMark(manifest, bytes) {
  const override = or(get(manifest, "override"), new Map());
  if (!override.has("judged")) return "";
  const found = asObject(readJsonAtOnce(bytes), PACKAGE);
  const mark = found.get(MARK) ?? null;
  found.delete(MARK);
  if (!same(mark, markOf(override))) return "does not say what was overridden, by whom and when";
  const judged = object({ [PACKAGE]: hex(sha256(packageText(found))) });
  return same(override.get("judged"), judged) ? "" : "is not what was judged and the mark of the override";
}

function readJsonAtOnce(bytes) {
  const reader = new JsonReader(decoded(bytes));
  while (!reader.work(20000));
  return reader.value;
}

// Signatures and people -------------------------------------------------------------------------------------------

const NO_ED25519 =
  "cannot be checked here: this browser has no Ed25519 for this page. Open it in a current browser, from a file " +
  "or over HTTPS, or run the script";

/** Tell whether a message was signed by a key (both hexadecimal); false for what is no key and no signature. */
async function verifies(key, signature, message) {
  const subtle = globalThis.crypto?.subtle;
  if (!subtle) throw new Unable(NO_ED25519);
  if (!isPublicKey(key) || !isSignature(signature)) return false;
  const [raw, signed] = [unhex(key), unhex(signature)];
  let imported;
  try {
    imported = await subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
  } catch (error) {
    if (error.name === "DataError") return false;
    throw new Unable(NO_ED25519);
  }
  return (await subtle.verify({ name: "Ed25519" }, imported, signed, message)) === true;
}

/** Tell whether a checkpoint was signed by a key and holds nothing unsigned. */
async function signatureHolds(checkpoint, key) {
  const signed = new Map([...checkpoint].filter(([name]) => name !== "signature"));
  const names = [...signed.keys()].filter((name) => name !== "root" && name !== "of");
  if (names.length !== SIGNED.length || !SIGNED.every((name) => signed.has(name))) return false;
  if (signed.get("public_key") !== key) return false;
  return falseIfUnreadable(() => verifies(key, text(checkpoint.get("signature")), canonical(signed)));
}

/** Tell whether a statement was signed by a key. */
const signedBy = (document, key, signature) =>
  falseIfUnreadable(() => verifies(text(key), text(signature), canonical(document)));

async function falseIfUnreadable(work) {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Fault) return false;
    throw error;
  }
}

/** Return the statement that a person signed or said, by the event that kept it. */
function wordOf(event, store) {
  const said = event.get("payload");
  const act = ACTS.get(event.get("action"));
  return object({
    statement: STATEMENT,
    act: act ?? item(said, "decision"),
    store_id: store,
    object: event.get("object"),
    bound: act ? item(said, "bound") : new Map(BINDING.map((name) => [name, item(said, name)])),
    by: event.get("actor"),
    reason: event.get("reason"),
    at: item(said, "at"),
  });
}

/** Return what is wrong with the proof of a person's word, null if nothing is. */
async function wrongProof(event, store, people, demanded) {
  const proof = get(event.get("payload"), "proof");
  if (proof === null) return demanded || people !== null ? "carries no proof of whose word it is" : null;
  const others = "was taken by people other than those whom the log knew then";
  if (people === null || !equal(item(proof, "people"), item(people, "digest"))) return others;
  if (!equal(peopleDigest(people), item(people, "digest"))) return others;
  const [said, who] = [wordOf(event, store), event.get("actor")];
  const known = each(item(people, "members")).filter((one) => comparable(item(one, "name")) === comparable(who));
  const act = said.get("act");
  const action = event.get("action");
  if ((action !== `decision.${shown(act)}` && !ACTS.has(action)) || !ROLES.has(act)) {
    return "is an act of another name than it says";
  }
  if (known.length !== 1) return `is of ${who}, whom the log did not know then`;
  const roles = each(item(known[0], "roles")).map(hashable);
  if (!ROLES.get(act).some((role) => roles.includes(role))) return `is of ${who}, who had no role for it`;
  return (await isProven(said, proof, known[0])) ? null : `is not proven to be of ${who}`;
}

/** Return the digest of who was in force, and of how many must agree to everything, if that was said. */
function peopleDigest(people) {
  const told = new Map(["members", "approvers_at_least"].filter((name) => people.has(name)).map((name) => [name, people.get(name)]));
  return digestOf(told.size > 1 ? told : item(people, "members"));
}

async function isProven(said, proof, person) {
  if (item(proof, "method") === "token") {
    return truthy(item(proof, "token")) && equal(item(proof, "token"), item(person, "token"));
  }
  return (
    item(proof, "method") === "signature" &&
    equal(item(proof, "public_key"), item(person, "public_key")) &&
    signedBy(said, item(proof, "public_key"), item(proof, "signature"))
  );
}

/** Tell whether two events are of one person, by the name or by what proves it. */
function onePerson(one, other) {
  if (comparable(one.get("actor")) === comparable(other.get("actor"))) return true;
  return isBy(get(one.get("payload"), "proof"), get(other.get("payload"), "proof"));
}

/** Tell whether a proof is that of a person, by the key or token that mark them under any name. */
function isBy(proof, marks) {
  const [mine, theirs] = [or(proof, new Map()), or(marks, new Map())];
  return ["public_key", "token"].some((name) => truthy(get(mine, name)) && equal(get(mine, name), get(theirs, name)));
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
  const lowered = Array.from(text(name).normalize("NFKC"), folded).join("").replaceAll("i\u0307", "i");
  const seen = Array.from(lowered.normalize("NFKC")).filter((sign) => !INVISIBLE.test(sign));
  const kept = seen.filter((sign) => /[\p{L}\p{N}\p{M}]/u.test(sign));
  if (kept.some((sign) => /[\p{L}\p{N}]/u.test(sign))) return kept.join("");
  return seen.filter((sign) => !/[\p{C}\p{Z}]/u.test(sign)).join("");
}

// Merkle trees: RFC 9162, section 2.1 -----------------------------------------------------------------------------

const leafHash = (entry) => sha256(Uint8Array.of(0), entry);
const nodeHash = (left, right) => sha256(Uint8Array.of(1), left, right);

/** Halve two places in a tree; a size that was no whole number has none. */
function halved(here, last, size) {
  if (size instanceof Float) fail("TypeError");
  return [Math.floor(here / 2), Math.floor(last / 2)];
}

/** Tell whether `path` shows that `leaf` is leaf `index` (from 0) under `root` of `size` leaves. */
function inclusionHolds(leaf, index, size, path, root) {
  if (!(index >= 0 && index < number(size))) return false;
  let [here, last, found] = [index, number(size) - 1, leaf];
  for (const other of path) {
    if (last === 0) return false;
    if (here % 2 === 1 || here === last) {
      found = nodeHash(other, found);
      while (here % 2 === 0 && here !== 0) [here, last] = halved(here, last, size);
    } else found = nodeHash(found, other);
    [here, last] = halved(here, last, size);
  }
  return last === 0 && sameBytes(found, root);
}

/** Tell whether `path` shows that the tree of `second` leaves begins with that of `first`. */
function consistencyHolds(first, firstRoot, second, secondRoot, path) {
  if (!(first > 0 && first <= number(second))) return false;
  if (first === number(second)) return !path.length && sameBytes(firstRoot, secondRoot);
  let power = first;
  while (power % 2 === 0) power /= 2;
  const proof = power === 1 ? [firstRoot, ...path] : path;
  if (!proof.length) return false;
  let [here, last] = [first - 1, number(second) - 1];
  while (here % 2 === 1) [here, last] = halved(here, last, second);
  let [earlier, later] = [proof[0], proof[0]];
  for (const other of proof.slice(1)) {
    if (last === 0) return false;
    if (here % 2 === 1 || here === last) {
      [earlier, later] = [nodeHash(other, earlier), nodeHash(other, later)];
      while (here % 2 === 0 && here !== 0) [here, last] = halved(here, last, second);
    } else later = nodeHash(later, other);
    [here, last] = halved(here, last, second);
  }
  return last === 0 && sameBytes(earlier, firstRoot) && sameBytes(later, secondRoot);
}

// The whole -------------------------------------------------------------------------------------------------------

const CHECKS = [
  [PUBLIC_KEY, checkKeys, "The key in the bundle is the one that is trusted, and the store began with it."],
  [CHECKPOINT, checkCheckpoints, "Both checkpoints are signed by that key, and the newest log goes on from the release's."],
  [GIVEN_CHECKPOINT, checkKept, "The checkpoint that you kept is of the same log."],
  [EVIDENCE, checkEvents, "Every event is as it was logged, and is proven to be in the log that was signed."],
  [EVIDENCE, checkTimes, "No event is earlier than the one before it, unless somebody corrected the clock."],
  [RELEASE, checkFiles, "The files are those that were published."],
  [RELEASE + MANIFEST, checkManifest, "The manifest says what the log says."],
  [POLICY, checkPolicy, "The policy is the one that the release was made by."],
  ["gates", checkGates, "Every gate that the policy names was asked, and passed or was overridden by two administrators."],
  ["decisions", checkDecisions, "Enough people, none of them the maker, agreed to just these files, or overrode the gates."],
  ["proofs", checkProofs, "Every word is proven to be of a person who might say it."],
  [EVIDENCE, tell, "The log says how the release stood when the bundle was made."],
];
const READING = "The file is a whole bundle: every member is there once, none was added, and all evidence can be read.";
const [HELD, FAILED, UNCHECKED] = ["held", "did not hold", "not checked"];

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
      const finding = { where: oneLine(place), what: oneLine(what) };
      check.state = FAILED;
      check.findings.push(finding);
      report.findings.push(finding);
    };
    try {
      return (await work(say)) ?? null;
    } catch (error) {
      const kind = error instanceof Fault ? error.kind : error?.name;
      const told = error instanceof Broken || error instanceof Unable;
      say(where, told ? error.message : `cannot be read (${kind})`);
      if (error instanceof Unable) check.state = UNCHECKED;
      return null;
    }
  };
  let bundle = null;
  const source = new Source(given, progress);
  let [trusted, kept] = [null, null];
  if (key !== null) {
    trusted = await guarded("the key that was given", "The key that was given can be read.", () => givenKey(key));
  }
  if (checkpoint !== null) {
    kept = await guarded(GIVEN_CHECKPOINT, "The checkpoint that was given can be read.", async () =>
      asObject(await readJson(checkpoint), "the checkpoint"));
  }
  if (!report.findings.length) {
    bundle = await guarded(name, READING, (say) => readBundle(source, trusted, kept, say));
  } else report.checks.push({ title: READING, state: UNCHECKED, findings: [] });
  for (const [where, check, title] of CHECKS) {
    if (bundle === null || (check === checkKept && kept === null)) {
      report.checks.push({ title, state: UNCHECKED, findings: [] });
    } else await guarded(where, title, (say) => check(bundle, say, report));
  }
  report.verified = bundle !== null && !report.findings.length && report.summary !== "";
  if (bundle !== null) {
    const release = get(bundle.manifest, "release_id");
    report.release = release === null ? null : oneLine(shown(release));
    if (trusted === null) {
      report.ownKeyOnly = true;
      report.notes.push(
        "no public key was given, so the key in the bundle is trusted; whoever made the whole bundle may " +
          `have made it too. Compare it with one that you kept: ${bundle.key}`,
      );
    }
  }
  report.notes = report.notes.map(oneLine);
  report.summary = report.verified ? oneLine(report.summary) : "";
  return report;
}

// For tests, which hold every part to the script's.
verifyBundle.parts = { Inflater, Sha256, canonical, crc32, comparable, hex, packageText, readJson, represented, outOfOrder };
globalThis.verifyBundle = verifyBundle;

// The page: templates/verify_body.html ----------------------------------------------------------------------------

const SIGNS = { [HELD]: "\u2713", [FAILED]: "\u2717", [UNCHECKED]: "\u2013" };
const CLASSES = { [HELD]: "held", [FAILED]: "failed", [UNCHECKED]: "unchecked" };

/** Return a new element with a class, and what is in it: texts, which stay texts, and elements. */
function made(tag, named, ...inside) {
  const element = document.createElement(tag);
  if (named) element.className = named;
  element.append(...inside);
  return element;
}

const listed = (named, lines) => made("ul", named, ...lines.map((line) => made("li", "", line)));
const inWords = (finding) => `${finding.where}: ${finding.what}`;

/** Return the verdict in a few words, and in one line why. */
function verdict(report) {
  if (!report.verified) {
    const many = report.findings.length > 1 ? ` (and ${report.findings.length - 1} more)` : "";
    const why = report.findings.length ? inWords(report.findings[0]) + many : "it was not checked to the end";
    return ["Not verified", why, "failed"];
  }
  if (report.ownKeyOnly) return ["Verified by the bundle\u2019s own key only", report.summary, "warned"];
  return ["Verified", report.summary, "held"];
}

/** Show a report in place of what the page said before. */
function show(page, report, name) {
  const [told, why, named] = verdict(report);
  const parts = [made("h2", `verify-verdict verify-${named}`, told), made("p", "verify-why", why)];
  parts[0].id = "verify-verdict";
  const release = report.release ?? "unknown: the manifest could not be read";
  parts.push(made("p", "verify-release", `File: ${oneLine(name)}. Release that it names: ${release}.`));
  if (report.ownKeyOnly) {
    const [key] = report.notes.filter((note) => note.startsWith("no public key was given"));
    const loud = made("strong", "", "Only the key in the bundle was used: ");
    parts.push(made("p", "verify-warning", loud, key));
  }
  const notes = report.notes.filter((note) => !report.ownKeyOnly || !note.startsWith("no public key was given"));
  const heading = report.verified ? "What you must know" : "What the bundle says, unverified";
  if (notes.length) parts.push(made("h3", "", heading), listed("verify-notes", notes));
  const rows = (states) => report.checks.filter((check) => states.includes(check.state)).map((check) => {
    const sign = made("span", "verify-sign", `${SIGNS[check.state]} `);
    sign.setAttribute("aria-hidden", "true");
    const row = made("li", `verify-${CLASSES[check.state]}`, sign, made("strong", "", check.state), `: ${check.title}`);
    if (check.findings.length) row.append(listed("verify-findings", check.findings.map(inWords)));
    return row;
  });
  for (const [title, states] of [["What was checked", [FAILED, HELD]], ["What was not checked", [UNCHECKED]]]) {
    const found = rows(states);
    if (found.length) parts.push(made("h3", "", title), made("ul", "verify-checks", ...found));
  }
  page.result.replaceChildren(...parts);
  page.result.hidden = false;
  page.status.textContent = `${told}. ${why}`;
}

function wire(root) {
  const found = (name) => root.querySelector(`#verify-${name}`);
  const page = Object.fromEntries(
    ["form", "file", "key", "checkpoint", "status", "progress", "result"].map((name) => [name, found(name)]),
  );
  let file = null;
  let latest = 0;

  async function verify() {
    const mine = ++latest;
    page.result.hidden = true;
    page.result.replaceChildren();
    if (!file) {
      page.status.textContent = "Choose an evidence bundle first.";
      return;
    }
    page.status.textContent = `Checking ${oneLine(file.name)}.`;
    page.progress.removeAttribute("value");
    page.progress.hidden = false;
    let report;
    try {
      const given = page.key.value.trim();
      const [kept] = page.checkpoint.files;
      report = await verifyBundle(file, given === "" ? null : given, {
        name: file.name,
        checkpoint: kept ? new Uint8Array(await kept.arrayBuffer()) : null,
        progress: (done, total) => {
          if (mine !== latest) throw new Error("another file was chosen");
          if (total > 0) page.progress.value = Math.min(1, done / total);
        },
      });
    } catch (error) {
      const finding = { where: oneLine(file.name), what: `cannot be read (${error?.name})` };
      report = { verified: false, findings: [finding], notes: [], summary: "", release: null, checks: [] };
    }
    if (mine !== latest) return;
    page.progress.hidden = true;
    show(page, report, file.name);
  }

  function chosen(files) {
    file = files.length === 1 ? files[0] : null;
    if (files.length > 1) {
      latest++;
      page.progress.hidden = true;
      page.result.hidden = true;
      page.status.textContent = "Drop one file at a time.";
    } else verify();
  }

  /** Take back a verdict, or one that is on its way: it is of the key that was given before. */
  function another() {
    if (page.result.hidden && page.progress.hidden) return;
    latest++;
    page.progress.hidden = true;
    page.result.hidden = true;
    page.status.textContent = "The key was changed: what was found was of the one before. Press Verify.";
  }

  page.key.addEventListener("input", another);
  page.file.addEventListener("change", () => chosen(page.file.files));
  for (const input of [page.key, page.checkpoint]) input.addEventListener("change", () => file && verify());
  page.form.addEventListener("submit", (event) => {
    event.preventDefault();
    verify();
  });
  // A file that is dropped beside the field must not take the place of the page.
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    root.classList.add("verify-over");
  });
  document.addEventListener("dragleave", () => root.classList.remove("verify-over"));
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    root.classList.remove("verify-over");
    if (event.dataTransfer.files.length) {
      page.file.value = "";
      chosen(event.dataTransfer.files);
    }
  });
}

if (typeof document !== "undefined") {
  const begin = () => {
    const root = document.getElementById("verify");
    if (root) wire(root);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
}
})();
