"""Gates on measured risks and losses: ERR, UMR, SADR, NCP and suppression."""

from __future__ import annotations

from collections.abc import Callable

from policy.model import Limit
from release_store.records import GateResult, Verdict
from tasks.risk.evidence import Evidence
from tasks.risk.linkage import Spread, disclosure, expected_risk, unique_match_rate
from tasks.utility.ncp import ncp, scale_of

ALL_KNOWN = "knows all quasi-identifiers of people drawn from the source"
NONE = "nobody: a limit on what the analysts lose"


def err_gate(evidence: Evidence) -> GateResult:
    """Expected risk ERR, mean over draws, at the worst ext_frac."""
    return _linkage(evidence, "err", _given(evidence.policy.gates.err), expected_risk)


def umr_gate(evidence: Evidence) -> GateResult:
    """Unique match rate UMR, mean over draws, at the worst ext_frac."""
    return _linkage(evidence, "umr", _given(evidence.policy.gates.umr), unique_match_rate)


def _linkage(evidence: Evidence, gate: str, limit: Limit, measure: Callable[..., Spread]) -> GateResult:
    found = {f: measure(evidence.links, evidence.tables(f)) for f in evidence.policy.linkage.ext_frac}
    worst = max(spread.mean for spread in found.values())
    listed = ", ".join(f"{f:g}: {s.mean:.4f} ± {s.std:.4f}" for f, s in found.items())
    return _limited(
        gate, worst, limit, ALL_KNOWN, f"by share of the source that the attacker holds: {listed}"
    )


def sadr_gate(evidence: Evidence) -> GateResult:
    """SADR with all quasi-identifiers known: the surest guess (doi:10.3390/app152111849, eq. 11)."""
    limit = _given(evidence.policy.gates.sadr)
    tables = evidence.tables(max(evidence.policy.linkage.ext_frac))
    found = {name: disclosure(evidence.links, tables, name) for name in evidence.classes.counts}
    worst = max(greatest for greatest, _ in found.values())
    listed = ", ".join(f"{name}: greatest {top:.4f}, mean {mean:.4f}" for name, (top, mean) in found.items())
    return _limited("sadr", worst, limit, ALL_KNOWN, listed)


def ncp_gate(evidence: Evidence) -> GateResult:
    """Normalized certainty penalty of the published rows."""
    limit = evidence.policy.gates.ncp
    value = ncp(evidence.classes, scale_of(evidence.source, evidence.policy))
    return _limited(
        "ncp", value if evidence.n_published else 1.0, limit, NONE, "mean over records and quasi-identifiers"
    )


def suppression_gate(evidence: Evidence) -> GateResult:
    """Share of the source's records that are not published."""
    left_out = evidence.n_source - evidence.n_published
    share = left_out / evidence.n_source
    return _limited(
        "suppression",
        share,
        evidence.policy.gates.suppression,
        NONE,
        f"{left_out} of {evidence.n_source} records left out",
    )


def _given(limit: Limit | None) -> Limit:
    """Return the limit of a gate that the policy asks for; only those are asked."""
    if limit is None:
        raise ValueError("the policy does not ask for this gate")
    return limit


def _limited(gate: str, value: float, limit: Limit, attacker: str, detail: str) -> GateResult:
    verdict = Verdict.PASS if 0 <= value <= limit.max + 1e-12 else Verdict.FAIL
    return GateResult(gate, verdict, value, limit.max, "<=", attacker, 0.0, detail)
