"""Gates on measured linkage and losses: ERR, UMR, NCP and suppression."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from policy.gates import Gates, Limit
from policy.recoding import Form, contains_its_people
from release_store.records import GateResult, Verdict
from tasks.history.questions import followed_attributes
from tasks.risk.attacks.external import External
from tasks.risk.attacks.linkage import Spread, expected_risk, unique_match_rate
from tasks.risk.evidence import Evidence
from tasks.utility.loss import loss

ALL_KNOWN = "knows all quasi-identifiers of people drawn from the source"
NO_CONTROL = "needs the people of linkage.control, which are missing"
EMPTY = "the release has no rows to attack"
NEAREST = "link: the nearest published cells or rows, ties counted, since values were replaced or noised; "
NONE = "nobody: a limit on the loss to analysts"
WAITING = (
    "with `method.history: sticky` people without a counterpart wait, and groups that earlier releases "
    "expose are left out whole"
)
COMPARED = (
    "the values of {names} may change, and `gates.transient: compare` leaves people out so that two releases "
    "do not give one away; `gates.transient: ignore` leaves out nobody for that, and costs protection: what "
    "releases together tell of {names} is not seen"
)
MANY = Gates.model_fields["suppression"].default.max  # what no policy has to allow explicitly


def err_gate(evidence: Evidence) -> GateResult:
    """Expected risk ERR, mean over draws, at the worst table."""
    return _linkage(evidence, "err", _given(evidence.policy.gates.err), expected_risk)


def umr_gate(evidence: Evidence) -> GateResult:
    """Unique match rate UMR, mean over draws, at the worst table."""
    return _linkage(evidence, "umr", _given(evidence.policy.gates.umr), unique_match_rate)


def _linkage(evidence: Evidence, gate: str, limit: Limit, measure: Callable[..., Spread]) -> GateResult:
    if evidence.policy.linkage.control is not None and evidence.control is None:
        return GateResult(gate, Verdict.NOT_RUN, None, limit.max, "<=", ALL_KNOWN, 0.0, NO_CONTROL)
    if not evidence.classes.n_classes:
        return GateResult(gate, Verdict.UNKNOWN, None, limit.max, "<=", ALL_KNOWN, 0.0, EMPTY)
    worst, told = 0.0, []
    for external in evidence.external:
        found = {f: measure(external.links, tables) for f, tables in external.draws.items()}
        worst = max(worst, *(spread.mean for spread in found.values()))
        listed = ", ".join(f"{f:g}: {s.mean:.4f} ± {s.std:.4f}" for f, s in found.items())
        told.append(f"tables {external.kind} {listed}" + _right(external, gate))
    how = "" if contains_its_people(evidence.policy.method.recoding) else NEAREST
    detail = how + "by fraction of the population known to the attacker: " + "; ".join(told)
    return _limited(gate, worst, limit, ALL_KNOWN, detail)


def _right(external: External, gate: str) -> str:
    if gate != "umr" or external.right is None:
        return ""
    return f" (of those who match one class {external.right:.1%} may be in it)"


def ncp_gate(evidence: Evidence) -> GateResult:
    """Normalized certainty penalty of the published rows; of values that were replaced or noised, how far
    their distribution moved.
    """
    policy = evidence.policy
    value = 1.0
    if evidence.n_published:
        value = loss(evidence.losses, policy)
    detail = "mean over records and quasi-identifiers"
    untrue = [name for name in policy.roles.quasi_identifiers if policy.form(name) is not Form.CONTAINS]
    if untrue:
        detail += f"; of {', '.join(untrue)} the earth mover's distance between source and release"
    return _limited("ncp", value, policy.gates.ncp, NONE, detail)


def suppression_gate(evidence: Evidence) -> GateResult:
    """Share of the source's records that are not published."""
    left_out = evidence.n_source - evidence.n_published
    share = left_out / evidence.n_source
    policy, detail = evidence.policy, f"{left_out} of {evidence.n_source} records left out"
    found = _limited("suppression", share, policy.gates.suppression, NONE, detail)
    if evidence.earlier and policy.method.history != "blind":
        if found.verdict is Verdict.FAIL and policy.method.history == "sticky":
            detail += f"; {WAITING}"
        _, may_change = followed_attributes(policy)
        if may_change and (found.verdict is Verdict.FAIL or share > MANY):
            detail += f"; {COMPARED.format(names=', '.join(may_change))}"
    return replace(found, detail=detail)


def _given(limit: Limit | None) -> Limit:
    """Return the limit of a gate that the policy asks for; only those are asked."""
    if limit is None:
        raise ValueError("the policy does not use this gate")
    return limit


def _limited(gate: str, value: float, limit: Limit, attacker: str, detail: str) -> GateResult:
    verdict = Verdict.PASS if 0 <= value <= limit.max + 1e-12 else Verdict.FAIL
    return GateResult(gate, verdict, value, limit.max, "<=", attacker, 0.0, detail)
