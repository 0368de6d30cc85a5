/* The page that verifies a bundle (templates/verify_body.html): its form, and what is shown of a report of verify.js. */
"use strict";

(() => {
const { verifyBundle, oneLine, states: [HELD, FAILED, UNCHECKED] } = globalThis.verification;
const MARKS = { [HELD]: ["\u2713", "held"], [FAILED]: ["\u2717", "failed"], [UNCHECKED]: ["\u2013", "unchecked"] };

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
  if (report.verified) {
    const [told, named] = report.ownKeyOnly ? ["Verified by the bundle\u2019s own key only", "warned"] : ["Verified", "held"];
    return [told, report.summary, named];
  }
  const more = report.findings.length > 1 ? ` (and ${report.findings.length - 1} more)` : "";
  return ["Not verified", report.findings.length ? inWords(report.findings[0]) + more : "it was not checked to the end", "failed"];
}

/** Show a report in place of what the page said before. */
function show(page, report, name) {
  const [told, why, named] = verdict(report);
  const parts = [made("h2", `verify-verdict verify-${named}`, told), made("p", "verify-why", why)];
  parts[0].id = "verify-verdict";
  const release = report.release ?? "unknown: the manifest could not be read";
  parts.push(made("p", "verify-release", `File: ${oneLine(name)}. Release that it names: ${release}.`));
  const [loud, notes] = report.ownKeyOnly ? [report.notes.at(-1), report.notes.slice(0, -1)] : [null, report.notes];
  if (loud) parts.push(made("p", "verify-warning", made("strong", "", "Only the key in the bundle was used: "), loud));
  const heading = report.verified ? "What you must know" : "What the bundle says, unverified";
  if (notes.length) parts.push(made("h3", "", heading), listed("verify-notes", notes));
  for (const [title, states] of [["What was checked", [FAILED, HELD]], ["What was not checked", [UNCHECKED]]]) {
    const rows = report.checks.filter((check) => states.includes(check.state)).map((check) => {
      const [mark, kind] = MARKS[check.state];
      const sign = made("span", "verify-sign", `${mark} `);
      sign.setAttribute("aria-hidden", "true");
      const row = made("li", `verify-${kind}`, sign, made("strong", "", check.state), `: ${check.title}`);
      if (check.findings.length) row.append(listed("verify-findings", check.findings.map(inWords)));
      return row;
    });
    if (rows.length) parts.push(made("h3", "", title), made("ul", "verify-checks", ...rows));
  }
  page.result.replaceChildren(...parts);
  page.result.hidden = false;
  page.status.textContent = `${told}. ${why}`;
}

function wire(root) {
  const names = ["form", "file", "key", "checkpoint", "status", "progress", "result"];
  const page = Object.fromEntries(names.map((name) => [name, root.querySelector(`#verify-${name}`)]));
  let [file, latest] = [null, 0];

  /** Take back a verdict, or one that is on its way, and say why. */
  function takeBack(why) {
    latest++;
    page.progress.hidden = page.result.hidden = true;
    page.status.textContent = why;
  }

  async function verify() {
    takeBack(file ? `Checking ${oneLine(file.name)}.` : "Choose an evidence bundle first.");
    if (!file) return;
    const mine = latest;
    page.result.replaceChildren();
    page.progress.removeAttribute("value");
    page.progress.hidden = false;
    let report;
    try {
      const [kept] = page.checkpoint.files;
      report = await verifyBundle(file, page.key.value.trim() || null, {
        name: file.name,
        checkpoint: kept ? new Uint8Array(await kept.arrayBuffer()) : null,
        progress: (done, total) => {
          if (mine !== latest) throw new Error("another file was chosen");
          page.progress.value = Math.min(1, done / total);
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

  function take(files) {
    file = files.length === 1 ? files[0] : null;
    if (files.length > 1) takeBack("Drop one file at a time.");
    else verify();
  }

  page.key.addEventListener("input", () => {
    const idle = page.result.hidden && page.progress.hidden;
    if (!idle) takeBack("The key changed, so the previous result no longer applies. Press Verify.");
  });
  page.file.addEventListener("change", () => take(page.file.files));
  for (const input of [page.key, page.checkpoint]) input.addEventListener("change", () => file && verify());
  page.form.addEventListener("submit", (event) => {
    event.preventDefault();
    verify();
  });
  // A file that is dropped beside the field must not take the place of the page.
  for (const [kind, over] of [["dragover", true], ["dragleave", false], ["drop", false]]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      root.classList.toggle("verify-over", over);
      if (kind === "drop" && event.dataTransfer.files.length) {
        page.file.value = "";
        take(event.dataTransfer.files);
      }
    });
  }
}

if (typeof document !== "undefined") {
  const begin = () => document.getElementById("verify") && wire(document.getElementById("verify"));
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
}
})();
