"""One life cycle, as it is lived: set up, released, blocked, refused, waited, killed, approved, reviewed.

It is told once; the tests look at what it left. Whatever must never leave the tables is planted in them.
"""

from __future__ import annotations

import re
import time
import urllib.error
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import yaml

from examples.register.generate import generate, write
from policy.period import period_at
from release_store.records import CandidateRecord, CandidateState
from tests.e2e.browser import browser, lacking
from tests.e2e.site import Site
from tests.spec import docs_pages
from tests.support.prefect_site import one_artifact

Document = dict[str, Any]

PAGE = docs_pages.ROOT / "docs" / "operations.md"
POLICIES = "examples/policies"
SERIES = "regional-health-register"
MISSED = "missed"
ROWS = 1500
EVERY_MINUTE = "* * * * *"
# What identifies a person, and what is refused: nowhere. The remark of a few: in published cells alone.
SECRET = {
    "key": (b"cnrykey",),
    "name": (b"cnryname",),
    "number": (b"cnrynumber",),
    "street": (b"cnrystreet",),
    "not allowed": (b"cnrybad",),
}
PUBLIC = {"remark": (b"cnryremark",)}
REASON = "looked at the gates"
APPROVERS = ("Ada Archer", "Bob Baker")
PAGES_CANDIDATE = "register-2026Q2-c1"
PAGES_PERIOD = "2026Q1"
METHODS = ("mondrian", "mdav")
FIGURES = "figures"
CONTENT = "nothing is wrong"
REMARKS = ("quiet", "tired", "well", "in pain")


def page_commands(title: str = "From nothing to a running schedule") -> list[str]:
    """Return the commands under a heading of the page."""
    shown = re.findall(r"```sh\n(.*?)```", docs_pages.section(PAGE, title), re.DOTALL)
    return "".join(shown).replace("\\\n", " ").splitlines()


def past_quarters(n: int, now: datetime | None = None) -> list[tuple[str, datetime]]:
    """Return the last `n` complete quarters, and for each a moment for which its run was scheduled."""
    day = now or datetime.now(UTC)
    found = []
    for _ in range(n):
        start = day.replace(
            month=3 * ((day.month - 1) // 3) + 1, day=1, hour=6, minute=0, second=0, microsecond=0
        )
        found.append((period_at("quarterly", start.date()), start))
        day = start - timedelta(days=1)
    return found[::-1]


def planted(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of the register with a canary wherever a person could be recognised."""
    number = table["person_key"].rank(method="dense").astype(int).astype(str)
    drawn = np.random.default_rng(len(table)).permutation(len(table))
    remark = np.random.default_rng(1).choice(REMARKS, len(table)).astype(object)
    remark[drawn[:5]] = [f"cnryremark{i}" for i in range(5)]
    return table.assign(
        person_key="cnrykey" + table["person_key"].astype(str),
        name="cnryname" + number,
        insurance_number="cnrynumber" + number,
        street="cnrystreet" + number,
        remark=remark,
    )


@dataclass
class Facts:
    """What the story saw on its way, that the tests ask about."""

    commands: list[str]
    quarters: list[str]
    deployments: dict[str, Document] = field(default_factory=dict)
    scheduled: dict[str, list[Document]] = field(default_factory=dict)
    runs: dict[str, Document] = field(default_factory=dict)
    missed: list[tuple[str, Document]] = field(default_factory=list)
    queued: set[str] = field(default_factory=set)  # ids of runs that waited for another
    candidate: str = ""
    listens: set[str] = field(default_factory=set)  # the addresses
    killed: dict[str, int] = field(default_factory=dict)  # how many processes of each
    after_the_kill: str = ""
    by_form: str = ""  # the id of the run that a form made
    bad_decision: int = 0  # the server's answers, as HTTP numbers
    no_password: int = 0
    artifacts: list[Document] = field(default_factory=list)
    gates: list[Document] = field(default_factory=list)  # of the first run
    verdict: list[Document] = field(default_factory=list)  # of the first run, and what a browser shows of it
    verdict_page: str = ""
    picture_size: tuple[int, int] = (0, 0)
    task_runs: list[Document] = field(default_factory=list)
    verified: str = ""
    doctor: str = ""  # what it found after the page's commands
    seconds: dict[str, float] = field(default_factory=dict)


class Story:
    """The steps, each of which leaves the site ready for the next."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.quarters = past_quarters(3)
        self.first = ""  # the run of the first decision: from Prefect's form, where there is a browser
        self.facts = Facts(page_commands(), [name for name, _ in self.quarters])

    def tell(self) -> Facts:
        """Live it all, and return what was seen; the server and the worker are killed in the end."""
        for step in (
            self.set_up,
            self.wait_for_approval,
            self.die,
            self.return_and_catch_up,
            self.decide,
            self.review,
            self.look_back,
        ):
            begun = time.monotonic()
            step()
            self.facts.seconds[step.__name__] = time.monotonic() - begun
        self.site.close()
        return self.facts

    def set_up(self) -> None:
        """Carry out the page's commands; tables, method and the schedule's minute are the tests' own."""
        self._policies()
        self._schedule()
        for line in self.facts.commands:
            if "prefect server" in line:
                self._start_server()
            elif "prefect worker" in line:
                self._start_worker()
            else:
                self.site.shell(line)
            if "examples.register.generate" in line:
                self._tables()
            elif line == "releasegate init":
                for one in self._deciding("releasegate people add"):
                    self.site.shell(one)
        self.facts.deployments = self.site.deployments()
        self.facts.no_password = _refusal(lambda: self.site.ask("/deployments/filter", {}, password=False))

    def wait_for_approval(self) -> None:
        """Until the schedule's candidate waits for people; one run is blocked, and one has a bad table."""
        site, last = self.site, self.facts.quarters[-1]
        strict = {"policy": f"{POLICIES}/strict.yaml", "period": last, "store": "store"}
        started = {
            "first": next(iter(site.runs("manual-release")))["id"],
            "blocked": site.start("manual-release", strict),
            "refused": site.start("manual-release", {**strict, "input_path": "demo/data/bad.csv"}),
            "evaluated": site.start("evaluate-methods", self._evaluation(last)),
        }
        for name, run_id in started.items():
            self.facts.runs[name] = site.until(f"the end of the {name} run", partial(site.ended, run_id))
        self.facts.candidate = site.until("a candidate that waits", self._waiting)
        self.facts.scheduled = {name: site.runs(name, "SCHEDULED") for name in self.facts.deployments}
        site.pause("scheduled-release")  # it has fired; what comes too late has its own turn
        # Between two ticks: what a run that is killed leaves is another test.
        site.until("a moment without a run", lambda: not any(site.ask(*_UNDER_WAY)))
        self.facts.doctor = site.until("a doctor without complaint", self._content_doctor)

    def _content_doctor(self) -> str:
        """Return what doctor found, or nothing while it finds anything wrong; a worker answers in time."""
        found = self.site.shell(f"releasegate doctor && echo {CONTENT} || true")
        return found if CONTENT in found else ""

    def die(self) -> None:
        """Server, worker and all that they have started are killed."""
        self.facts.listens = self.site.listens("server")
        self.facts.killed = {name: self.site.kill(name) for name in ("worker", "server")}
        self.facts.after_the_kill = str(self._record().state)

    def return_and_catch_up(self) -> None:
        """The server comes back, and somebody decides; three ticks are late, one twice; then the worker."""
        self._start_server()
        decided = self._decided_in_a_shell if lacking() else self._decided_in_a_form
        self.first = decided(APPROVERS[0])
        parameters = {"policy": f"{POLICIES}/missed.yaml", "store": "store"}
        for period, moment in (*self.quarters, self.quarters[0]):
            run_id = self.site.start("scheduled-release", parameters, moment.isoformat())
            self.facts.missed.append((period, {"id": run_id}))
        self._start_worker()

    def decide(self) -> None:
        """The first word counts once, and a second person has the last one; that from a shell."""
        site = self.site
        body = {"parameters": {**self.signed(APPROVERS[0]), "decision": "perhaps"}}
        known = self.facts.deployments["decide-release"]["id"]
        self.facts.bad_decision = _refusal(lambda: site.ask(f"/deployments/{known}/create_flow_run", body))
        self.facts.runs["one"] = site.until("the first decision", partial(site.ended, self.first))
        again = self._decided_in_a_shell(APPROVERS[0])
        self.facts.runs["again"] = site.until("the second decision of one", partial(site.ended, again))
        second = self._decided_in_a_shell(APPROVERS[1])
        self.facts.runs["two"] = site.until("the last decision", partial(site.ended, second))

    def review(self) -> None:
        """When all is caught up: verify, and the review that runs every week."""
        site = self.site
        self.facts.missed = [
            (period, site.until(f"the late run of {period}", partial(site.ended, run["id"])))
            for period, run in self.facts.missed
        ]
        withdrawn = site.start("withdraw-release", self._withdrawal())
        self.facts.runs["withdrawn"] = site.until("the withdrawal", partial(site.ended, withdrawn))
        run_id = self._by_shell("audit-review/audit-review")
        self.facts.runs["review"] = site.until("the review", partial(site.ended, run_id))
        self.facts.verified = site.shell("releasegate verify")

    def look_back(self) -> None:
        """Take down what the server knows, before it is killed."""
        site = self.site
        self.facts.artifacts = site.ask("/artifacts/filter", {})
        self.facts.gates = self.artifacts(f"gates-{SERIES}", self.facts.runs["first"]["id"])
        first = self.facts.runs["first"]["id"]
        self.facts.verdict = self.artifacts(f"verdict-{SERIES}", first)
        if not lacking():
            drawn = one_artifact(self.artifacts(f"risk-utility-{SERIES}", first))
            with browser(site.address, site.environment["PREFECT_API_AUTH_STRING"], site.folder) as page:
                self.facts.verdict_page = page.artifact_text(self.facts.verdict[0]["id"], "Next steps")
                self.facts.picture_size = page.artifact_picture(drawn["id"])
        self.facts.task_runs = site.ask("/task_runs/filter", {})
        for _, run in self.facts.missed:
            states = site.ask(f"/flow_run_states/?flow_run_id={run['id']}")
            if any(state["name"] == "AwaitingConcurrencySlot" for state in states):
                self.facts.queued.add(run["id"])

    def artifacts(self, key: str, run_id: str) -> list[Document]:
        """Return what a run left under a key, as the server's pages show it."""
        chosen = {"key": {"any_": [key]}, "flow_run_id": {"any_": [run_id]}}
        found: list[Document] = self.site.ask("/artifacts/filter", {"artifacts": chosen})
        return found

    # What the steps are made of ------------------------------------------------------------------

    def _start_server(self) -> None:
        self.site.keep(self._command("prefect server"), "server")
        self.site.until("the server's start", self.site.healthy)

    def _start_worker(self) -> None:
        self.site.keep(self._command("prefect worker"), "worker")

    def _command(self, words: str) -> str:
        (found,) = (line for line in self.facts.commands if words in line)
        return found

    def _policies(self) -> None:
        """Make the register's policy a quick one, and others of it that ask, refuse and come late."""
        folder = self.site.project / POLICIES
        base = yaml.safe_load((folder / "register.yaml").read_text())
        base["method"] = {"name": "mondrian", "history": "sticky"}
        base["gates"]["umr"]["max"] = 1.0  # in a table as small as this, everybody matches one class
        # The cut follows the key of people, which differs from store to store: in one of them NCP was 0.353.
        base["gates"]["ncp"]["max"] = 0.6
        base["roles"]["sensitive"]["remark"] = {"stability": "transient"}
        policies = {
            "register": base,
            "asking": {**base, "approval": {"approvers": 2}},
            "strict": {**base, "series": "strict", "gates": {**base["gates"], "ncp": {"max": 0.0}}},
            "missed": {**base, "series": MISSED},
        }
        for name, document in policies.items():
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(document, sort_keys=False))

    def _schedule(self) -> None:
        """Let the shipped schedule fire every minute, and its releases wait for two people."""
        path = self.site.project / "prefect.yaml"
        document = yaml.safe_load(path.read_text())
        (scheduled,) = (one for one in document["deployments"] if one["name"] == "scheduled-release")
        (schedule,) = scheduled["schedules"]
        schedule["cron"] = EVERY_MINUTE
        schedule["parameters"]["policy"] = f"{POLICIES}/asking.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))

    def _tables(self) -> None:
        """Write small tables with canaries over the page's: the first quarter's, and the last three's."""
        folder = self.site.project / "demo" / "data"
        quarters = tuple(dict.fromkeys((PAGES_PERIOD, *self.facts.quarters)))
        tables = {name: planted(table) for name, table in generate(quarters=quarters, n=ROWS).items()}
        write(folder, tables)
        bad = tables[quarters[-1]]
        bad.assign(diagnosis=["cnrybad1", *bad["diagnosis"][1:]]).to_csv(folder / "bad.csv", index=False)

    def _record(self) -> CandidateRecord:
        return self.site.store.candidate(self.facts.candidate)

    def _waiting(self) -> str | None:
        waits = CandidateState.AWAITING_APPROVAL
        found = [one for one in self.site.store.candidates(SERIES) if one.state is waits]
        return found[0].candidate_id if found else None

    def signed(self, by: str) -> dict[str, str]:
        """Return what a person fills in, who has looked at it; the commands are the page's."""
        record = self._record()
        assert record.candidate_digest in self.site.shell(self._deciding("releasegate show")[0])
        (line,) = (one for one in self._deciding("releasegate sign") if by in one)
        told = self.site.shell(line.partition(" > ")[0])
        return {
            "candidate": record.candidate_id,
            "candidate_digest": record.candidate_digest,
            "decision": "approve",
            "by": by,
            "reason": REASON,
            "signature": told.strip(),
        }

    def _evaluation(self, period: str) -> dict[str, object]:
        policy = f"{POLICIES}/missed.yaml"
        return {
            "policy": policy,
            "methods": ",".join(METHODS),
            "period": period,
            "seeds": 1,
            "jobs": 1,
            "out": FIGURES,
        }

    def _withdrawal(self) -> dict[str, str]:
        """Return what an approver fills in who withdraws the release that was asked for on the page."""
        release, by = f"{SERIES}-{PAGES_PERIOD}-r1", APPROVERS[0]
        words = f'sign withdraw {release} --by "{by}" --reason "{REASON}" --key ada.pem'
        signature = self.site.shell(f"releasegate {words}").strip()
        return {"release": release, "by": by, "reason": REASON, "signature": signature}

    def _deciding(self, words: str) -> list[str]:
        """Return the page's commands for deciding that begin with `words`, about the candidate that waits."""
        lines = [line for line in page_commands("Deciding") if line.startswith(words)]
        assert lines, words
        if not self.facts.candidate:
            return lines
        digest = self._record().candidate_digest
        return [
            line.replace(PAGES_CANDIDATE, self.facts.candidate).replace("DIGEST", digest) for line in lines
        ]

    def _decided_in_a_shell(self, by: str) -> str:
        """Carry out the page's commands with which the second person signs and decides."""
        first, second = APPROVERS
        signing = next(line for line in self._deciding("releasegate sign") if " > " in line)
        told = ""
        for line in (signing, *self._deciding("prefect deployment run")):
            own = line if by == second else line.replace(second, first).replace("bob.", "ada.")
            told = self.site.shell(own)
        return _run_id(told)

    def _by_shell(self, deployment: str) -> str:
        return _run_id(self.site.shell(f"prefect deployment run {deployment}"))

    def _decided_in_a_form(self, by: str) -> str:
        """Fill the form in, in a browser, and return the id of the run that comes of it."""
        site, texts = self.site, self.signed(by)
        choices = {"decision": texts.pop("decision")}
        before = {run["id"] for run in site.runs("decide-release")}
        with browser(
            site.address, site.environment["PREFECT_API_AUTH_STRING"], self.site.folder / "logs"
        ) as page:
            page.open_form(self.facts.deployments["decide-release"]["id"])
            page.fill_in(texts, choices)
            page.submit()
        (self.facts.by_form,) = {run["id"] for run in site.runs("decide-release")} - before
        return self.facts.by_form


_UNDER_WAY = (
    "/flow_runs/filter",
    {"flow_runs": {"state": {"type": {"any_": ["PENDING", "RUNNING"]}}}},
)


def _refusal(act: Callable[[], object]) -> int:
    """Return the HTTP number with which the server refuses, 200 where it does not."""
    try:
        act()
    except urllib.error.HTTPError as error:
        return error.code
    return 200


def _run_id(told: str) -> str:
    """Return the id of the run that `prefect deployment run` tells."""
    found = re.search(r"UUID: ([0-9a-f-]{36})", told)
    assert found, told
    return found[1]
