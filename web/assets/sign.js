"use strict";
// Signs the forms of a page with the private key of the person before it. The key is read from its file for one
// signature, used by WebCrypto (Ed25519, RFC 8032), and forgotten: it is neither sent nor kept.
(() => {
  const ARMOUR = /^\s*-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----\s*$/;
  const ALGORITHM = { name: "Ed25519" };
  const LARGEST_KEY = 10_000; // bytes of a file

  class Wrong extends Error {} // what the person can mend; its text is shown

  /** Return a value made of objects and texts as canonical JSON (RFC 8785). */
  function canonical(value) {
    if (typeof value === "string") return JSON.stringify(value);
    const names = Object.keys(value).sort();
    return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(",")}}`;
  }

  const bytes = (text) => new TextEncoder().encode(text);
  const hex = (data) => [...new Uint8Array(data)].map((one) => one.toString(16).padStart(2, "0")).join("");
  const unbase64 = (text) => Uint8Array.from(atob(text), (sign) => sign.charCodeAt(0));
  const fromUrl = (text) => unbase64(text.replaceAll("-", "+").replaceAll("_", "/"));

  function toUrl(data) {
    const text = Array.from(data, (one) => String.fromCharCode(one)).join("");
    return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  }

  /** Return the key in a file, as one that no script can read again, and its public half. */
  async function readKey(file) {
    if (!file) throw new Wrong("Choose the file of your private key.");
    if (file.size > LARGEST_KEY) throw new Wrong("This file is too large to be a key.");
    const found = ARMOUR.exec(await file.text());
    if (!found) throw new Wrong("This file holds no private key in PEM form without a password.");
    if (!globalThis.crypto?.subtle) throw new Wrong("This browser signs only on pages under TLS or of this machine.");
    let data;
    try {
      data = unbase64(found[1].replace(/\s/g, ""));
      const readable = await crypto.subtle.importKey("pkcs8", data, ALGORITHM, true, ["sign"]);
      const { x } = await crypto.subtle.exportKey("jwk", readable);
      const key = await crypto.subtle.importKey("pkcs8", data, ALGORITHM, false, ["sign"]);
      return { key, publicKey: hex(fromUrl(x)) };
    } catch (error) {
      if (error.name === "NotSupportedError") throw new Wrong("This browser cannot sign with Ed25519.");
      throw new Wrong("This file holds no Ed25519 key.");
    } finally {
      data?.fill(0);
    }
  }

  /** Return a statement with its signature in one line: base64url of canonical JSON. */
  async function sign(statement, { key, publicKey }) {
    const signature = hex(await crypto.subtle.sign(ALGORITHM, key, bytes(canonical(statement))));
    return toUrl(bytes(canonical({ statement, public_key: publicKey, signature })));
  }

  /** Return what a form says: a login, or an act to a candidate or release as the page shows it. */
  function statementOf(form, act) {
    if (form.dataset.challenge) {
      const { store: store_id, challenge } = form.dataset;
      return { statement: "releasegate login 1", store_id, origin: location.origin, challenge };
    }
    const { store_id, object, bound } = JSON.parse(form.dataset.toSign);
    const reason = form.querySelector("textarea").value;
    if (reason.trim() === "") throw new Wrong("Say why.");
    const at = new Date().toISOString().replace("Z", "000+00:00");
    return { statement: "releasegate decision 1", act, store_id, object, bound, by: form.dataset.by, reason, at };
  }

  async function submit(form, button) {
    const [wrong, file] = [form.querySelector(".wrong"), form.querySelector("input[type=file]")];
    const buttons = [...form.querySelectorAll("button")];
    wrong.textContent = "";
    for (const one of buttons) one.disabled = true;
    try {
      const statement = statementOf(form, button.value);
      form.elements.signed.value = await sign(statement, await readKey(file.files[0]));
      if (form.elements.act) form.elements.act.value = button.value;
      file.value = "";
      form.submit();
    } catch (error) {
      wrong.textContent = error instanceof Wrong ? error.message : "The signature could not be made.";
      for (const one of buttons) one.disabled = false;
    }
  }

  for (const form of document.querySelectorAll("form.signed")) {
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      submit(form, event.submitter ?? form.querySelector("button"));
    });
  }
  // After coming back by the browser's history, nothing of what was signed is left in a form.
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("form.signed")) {
      form.elements.signed.value = "";
      for (const one of form.querySelectorAll("button")) one.disabled = false;
    }
  });
})();
