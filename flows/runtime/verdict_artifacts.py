"""What Prefect's pages show of a verdict: the words of the report, and a picture of risk against utility.

Both are made of names, counts and what the gates measured: no value of the data, no word that a person typed.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

from flows.runtime.artifacts import artifact_key, try_publish_artifact
from flows.runtime.settings import site_url
from release_store.records import CandidateState
from release_store.store import ReleaseStore
from reports.export import png
from reports.gate_wording import limit_of, measured_of
from reports.picture import Picture
from reports.releasing import report_path
from reports.report_model import candidate_facts, read_sheet_data
from reports.series import assessed_releases
from reports.series_pictures import AssessedRelease, risk_utility, short_name
from reports.summary_text import tiles, verdict
from reports.symbols import MOODS
from reports.text import sanitize_text as plain
from services.observability.logs import log_event
from services.observability.notice_channels import prefect_api

Document = Mapping[str, Any]
_COLOURS, _LAST = 64, 23
_MARKUP = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>()#|!~&"})


def show_verdict(store: ReleaseStore, candidate_id: str, release_id: str = "") -> None:
    """Show a candidate's verdict in Prefect, or that of the release that it became; nothing here can fail.

    The picture is drawn only where a server is named that stays: nobody sees that of a run by itself.
    """
    try:
        from prefect.artifacts import create_image_artifact, create_markdown_artifact

        facts = candidate_facts(store, candidate_id)
        series = str(facts["series"])
        name = release_id or candidate_id
        drawn = _picture(store, facts, release_id) if prefect_api() else None
        if drawn is not None:
            try_publish_artifact(
                create_image_artifact,
                key=artifact_key("risk-utility", series),
                image_url=image_url(drawn),
                description=f"{name}: {drawn.words}",
            )
        try_publish_artifact(
            create_markdown_artifact,
            key=artifact_key("verdict", series),
            markdown=markdown_of(store, facts, release_id, picture=drawn is not None),
            description=f"Verdict on {name}",
        )
    except Exception as error:
        log_event("verdict.not_shown", level="error", candidate=candidate_id, error=type(error).__name__)


def image_url(picture: Picture) -> str:
    """Return a picture as an address that holds it, of less than 60 kB."""
    drawn = png(picture, scale=1.5, width=560, colours=_COLOURS)
    return f"data:image/png;base64,{base64.b64encode(drawn).decode()}"


def _picture(store: ReleaseStore, facts: Document, release_id: str) -> Picture | None:
    """Return the series' last releases and this one beside them, risk against utility."""
    series = str(facts["series"])
    name = short_name(release_id or str(facts["candidate_id"]), series)
    this = AssessedRelease(name, facts["gates"], None, "this release" if release_id else "this candidate")
    others = [one for one in assessed_releases(store, series) if one.label != name]
    made = risk_utility([*others[-_LAST:], this])
    return made[0] if made else None


def markdown_of(store: ReleaseStore, facts: Document, release_id: str = "", *, picture: bool = False) -> str:
    """Return the verdict as a page of Markdown."""
    candidate, series = str(facts["candidate_id"]), str(facts["series"])
    silent = {**facts, "decisions": []}  # why somebody decided is theirs, and in the store
    word, mood, reasons = verdict(silent, release_id or None, "" if release_id else str(facts["state"]))
    of = read_sheet_data(store, candidate, rows=False)
    shown_tiles = tiles(facts, of.figures, of.n_earlier)
    kind, name = ("Release", release_id) if release_id else ("Candidate", candidate)
    lines = [
        f"# {MOODS[mood]} {_text(word)}",
        "",
        f"{kind} `{name}` of {_text(series)}, {_text(facts['period'])}.",
        "",
        *(f"- {_text(reason)}" for reason in reasons),
        "",
        *_table([name for name, _ in shown_tiles], [[value for _, value in shown_tiles]]),
        "",
        *_held_back(facts["gates"]),
        "## Next steps",
        "",
        "```sh",
        *_commands(str(facts["state"]), candidate, release_id),
        "```",
        "",
        "## More",
        "",
        *_places(store, series, candidate, release_id, picture=picture),
    ]
    return "\n".join(lines) + "\n"


def _held_back(gates: Sequence[Document]) -> list[str]:
    failing = [gate for gate in gates if gate["verdict"] != "pass"]
    if not failing:
        return []
    rows = [
        [
            str(gate["gate"]),
            str(gate["verdict"]).replace("_", " "),
            measured_of(gate),
            limit_of(gate),
        ]
        for gate in failing
    ]
    table = _table(["gate", "verdict", "measured", "must be"], rows)
    return ["## Gates that failed", "", *table, ""]


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *([_text(cell) for cell in row] for row in rows)]
    return [f"| {' | '.join(cells)} |" for cells in lines]


def _commands(state: str, candidate: str, release_id: str) -> list[str]:
    if release_id:
        return [f"releasegate show {release_id}", f"releasegate evidence {release_id}"]
    found = [f"releasegate show {candidate}"]
    if state == CandidateState.AWAITING_APPROVAL:
        found += [f"releasegate {act} {candidate} --by NAME --reason TEXT" for act in ("approve", "reject")]
    return found


def _places(store: ReleaseStore, series: str, candidate: str, release_id: str, *, picture: bool) -> list[str]:
    found = []
    if path := report_path(store, series, candidate, release_id):
        found.append(f"- the report: `{plain(path)}`")
    if site := site_url():
        name = release_id or candidate
        found.append(f"- on the site: [{name}]({site}/series/{series}/{name}.html), and")
        found[-1] += f" [the series]({site}/series/{series}/index.html)"
    if picture:
        found.append(f"- risk against utility: the artifact `{artifact_key('risk-utility', series)}`")
    gates, stages = artifact_key("gates", series), artifact_key("stages", series)
    found.append(f"- every gate: the artifact `{gates}`; every stage of the run: `{stages}`")
    if page := _run_page():
        found.append(f"- all of them: [this run]({page}), under Artifacts")
    return found


def _run_page() -> str:
    """Return the address of the run's page, where a server is named that stays."""
    from prefect import runtime

    return str(runtime.flow_run.ui_url or "") if prefect_api() and runtime.flow_run.id else ""


def _text(words: object) -> str:
    """Return words as Markdown shows them and does not obey them."""
    return plain(str(words)).translate(_MARKUP)
