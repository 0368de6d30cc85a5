// The page that verifies a bundle (templates/verify_body.html): its form, and what it shows of a report.
"use strict";
(() => {
const { made } = releasegate;
const { oneLine, HELD, FAILED, UNCHECKED } = verification;
const MARKS = { [HELD]: "\u2713", [FAILED]: "\u2717", [UNCHECKED]: "\u2013" };
const root = document.getElementById("verify");
const fields = [...root.querySelectorAll("[id]")].map((one) => [one.id.slice("verify-".length), one]);
const page = Object.fromEntries(fields);
let latest = 0;

const inWords = (finding) => `${finding.where}: ${finding.what}`;
const listed = (lines) => lines.map((line) => made("li", {}, line));

/** Return the verdict in a few words, and in one line why. */
function summed({ findings: [first, ...others], ownKeyOnly, summary, verified }) {
  if (verified) return [ownKeyOnly ? "Verified by the bundle\u2019s own key only" : "Verified", summary];
  const more = others.length ? ` (and ${others.length} more)` : "";
  return ["Not verified", first ? inWords(first) + more : "it was not checked to the end"];
}

function checkLine({ findings, state, title }) {
  const sign = made("span", { ariaHidden: "true" }, `${MARKS[state]} `);
  const below = findings.length ? [made("ul", {}, ...listed(findings.map(inWords)))] : [];
  return made("li", {}, sign, made("strong", {}, state), `: ${title}`, ...below);
}

/** Show a report in place of what the page said before. */
function show(report, name) {
  const [verdict, why] = summed(report);
  const heading = report.verified ? "What you must know" : "What the bundle says, unverified";
  const named = report.release ?? "unknown: the manifest could not be read";
  const release = `File: ${oneLine(name)}. Release that it names: ${named}.`;
  const notes = [...report.notes];
  const own = report.ownKeyOnly ? notes.pop() : "";
  const texts = { verdict, why, release, own, heading, status: `${verdict}. ${why}` };
  for (const [id, text] of Object.entries(texts)) page[id].textContent = text;
  const isOpen = ({ state }) => state === UNCHECKED;
  const { true: open = [], false: closed = [] } = Object.groupBy(report.checks, isOpen);
  const lists = { notes: listed(notes), checked: closed.map(checkLine), unchecked: open.map(checkLine) };
  for (const [id, items] of Object.entries(lists)) {
    page[id].replaceChildren(...items);
    page[id].parentElement.hidden = !items.length;
  }
  page.own.parentElement.hidden = !own;
  page.result.hidden = false;
}

/** Take back a verdict, or one that is on its way, and say why. */
function takeBack(why) {
  latest++;
  page.progress.hidden = page.result.hidden = true;
  page.status.textContent = why;
}

async function verify() {
  const [file] = page.file.files;
  takeBack(file ? `Checking ${oneLine(file.name)}.` : "Choose an evidence bundle first.");
  if (!file) return;
  const mine = latest;
  page.progress.removeAttribute("value");
  page.progress.hidden = false;
  const progress = (done, total) => {
    if (mine !== latest) throw new Error("another file was chosen");
    page.progress.value = Math.min(1, done / total);
  };
  const [key, checkpoint] = [page.key.value.trim() || null, page.checkpoint.files[0] ?? null];
  const report = await verifyBundle(file, key, { name: file.name, checkpoint, progress });
  if (mine !== latest) return;
  page.progress.hidden = true;
  show(report, file.name);
}

page.key.addEventListener("input", () => {
  const idle = page.result.hidden && page.progress.hidden;
  if (!idle) takeBack("The key changed, so the previous result no longer applies. Press Verify.");
});
page.file.addEventListener("change", verify);
for (const input of [page.key, page.checkpoint]) {
  input.addEventListener("change", () => page.file.files.length && verify());
}
page.form.addEventListener("submit", (event) => {
  event.preventDefault();
  verify();
});
// A file that is dropped beside the field must not take the place of the page.
for (const kind of ["dragover", "dragleave", "drop"]) {
  document.addEventListener(kind, (event) => {
    event.preventDefault();
    root.classList.toggle("verify-over", kind === "dragover");
    const files = kind === "drop" ? event.dataTransfer.files : [];
    if (files.length > 1) takeBack("Drop one file at a time.");
    else if (files.length) {
      page.file.files = files;
      verify();
    }
  });
}
})();
