"""The risk gate: every gate that the policy asks for, on what would be public.

A new gate is one line here, and one in `release_store/protocol/demanded_gates.py` where a field of the policy
asks for it. Those of other packages' privacy models are asked after ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter

from policy.errors import PolicyError, TransientFailure
from policy.model import ReleasePolicy
from policy.rounding import bound_text, measured_text
from release_store.protocol.demanded_gates import LIMITED_GATES, MODEL_GATES, demanded_gates
from release_store.records import GateResult, Verdict
from tasks.history.following import follows_people, may_follow_nobody
from tasks.privacy.added import bound_models
from tasks.risk.evidence import CannotTell, Evidence, NotAtHand
from tasks.risk.gates import (
    attacks,
    forced,
    history,
    integrity,
    inversion,
    known,
    leaks,
    levels,
    linkage_and_loss,
    membership,
    persons,
    population,
    presence,
    totals,
    worlds,
)
from tasks.risk.gates.models import (
    added,
    alpha_k,
    classes,
    closeness,
    diversity,
    likeness,
    partial_knowledge,
)
from tasks.types import Progress, no_progress

GateFunction = Callable[[Evidence], GateResult]
NO_SOURCE = "needs the source, which is missing"


def _always(_policy: ReleasePolicy) -> bool:
    return True


def _has_numbers(policy: ReleasePolicy) -> bool:
    numeric = [name for name, one in policy.roles.sensitive.items() if one.type == "numeric"]
    return any(policy.privacy.of(name).spread > 0 for name in numeric)


def _by_field(name: str) -> Callable[[ReleasePolicy], bool]:
    return lambda policy: name in demanded_gates({"gates": policy.gates.model_dump(mode="json")})


@dataclass(frozen=True)
class Gate:
    """How a gate is asked, whether it looks at the source, and whether a policy asks for it."""

    ask: GateFunction
    needs_source: bool = False
    asked_by: Callable[[ReleasePolicy], bool] = _always


_GATES = {
    "files": Gate(integrity.files_gate),
    "truth": Gate(integrity.truth_gate, needs_source=True),
    "leak": Gate(leaks.leak_gate, needs_source=True),
    "unique": Gate(leaks.unique_gate),
    "k": Gate(classes.k_gate),
    "p_max": Gate(classes.p_max_gate),
    "h_min": Gate(classes.h_min_gate),
    "e": Gate(classes.e_gate),
    "spread": Gate(classes.spread_gate, asked_by=_has_numbers),
    "distinct_l": Gate(diversity.distinct_l_gate),
    "entropy_l": Gate(diversity.entropy_l_gate),
    "recursive_cl": Gate(diversity.recursive_cl_gate),
    "t_closeness": Gate(closeness.t_closeness_gate),
    "alpha_k": Gate(alpha_k.alpha_k_gate),
    "beta_likeness": Gate(likeness.beta_likeness_gate),
    "delta_disclosure": Gate(likeness.delta_disclosure_gate),
    "km": Gate(partial_knowledge.km_gate),
    "lkc": Gate(partial_knowledge.lkc_gate),
    "levels": Gate(levels.levels_gate, asked_by=lambda policy: bool(policy.method.levels)),
    "err": Gate(linkage_and_loss.err_gate, needs_source=True),
    "umr": Gate(linkage_and_loss.umr_gate, needs_source=True),
    "forced": Gate(forced.forced_gate, needs_source=True),
    "membership": Gate(
        membership.membership_gate,
        needs_source=True,
    ),
    "sadr": Gate(attacks.sadr_gate, needs_source=True),
    "sadr_excess": Gate(attacks.sadr_excess_gate, needs_source=True),
    "pr_dr": Gate(attacks.pr_dr_gate, needs_source=True),
    "pr_dr_excess": Gate(attacks.pr_dr_excess_gate, needs_source=True),
    "inversion": Gate(inversion.inversion_gate, needs_source=True),
    "k_map": Gate(population.k_map_gate),
    "population_uniqueness": Gate(
        population.population_uniqueness_gate,
        needs_source=True,
    ),
    "delta_presence": Gate(
        presence.delta_presence_gate,
        needs_source=True,
    ),
    "pairwise": Gate(history.pairwise_gate),
    "whole_history": Gate(history.whole_history_gate, needs_source=True),
    "difference": Gate(history.difference_gate, asked_by=history.of_cumulative),
    "size": Gate(history.size_gate, asked_by=history.of_cumulative),
    "person": Gate(persons.person_gate, asked_by=follows_people),
    "person_difference": Gate(persons.person_difference_gate, asked_by=follows_people),
    "worlds": Gate(worlds.worlds_gate),
    "known": Gate(known.known_gate),
    "totals": Gate(totals.totals_gate, asked_by=may_follow_nobody),
    "suppression": Gate(linkage_and_loss.suppression_gate),
    "ncp": Gate(linkage_and_loss.ncp_gate, needs_source=True),
}
GATES: dict[str, Gate] = {
    name: replace(gate, asked_by=_by_field(name)) if name in (*LIMITED_GATES, *MODEL_GATES) else gate
    for name, gate in _GATES.items()
}


@dataclass(frozen=True)
class GateReport:
    """What every demanded gate said."""

    results: tuple[GateResult, ...]

    @property
    def passed(self) -> bool:
        """Whether every gate passed; false where no gate was run."""
        return bool(self.results) and all(result.verdict is Verdict.PASS for result in self.results)

    @property
    def failing(self) -> tuple[GateResult, ...]:
        """The results that hold the candidate back."""
        return tuple(result for result in self.results if result.verdict is not Verdict.PASS)


def assess(
    evidence: Evidence, gates: Mapping[str, Gate] | None = None, progress: Progress = no_progress
) -> GateReport:
    """Ask every gate that the policy asks for.

    One that breaks says `error`, with the kind of failure and nothing of the data. One that needs the
    source where there is none says `not_run`, which is no pass.
    """
    asked = gates_to_ask(evidence.policy, gates)
    results: list[GateResult] = []
    for number, (name, gate) in enumerate(asked.items()):
        progress(number / len(asked), f"gate {name}")
        if gate.needs_source and evidence.table is None:
            results.append(unmeasured(name, Verdict.NOT_RUN, NO_SOURCE))
        else:
            results.append(_asked(name, gate.ask, evidence))
    return GateReport(tuple(results))


def gates_to_ask(policy: ReleasePolicy, gates: Mapping[str, Gate] | None = None) -> dict[str, Gate]:
    """Return the gates that a policy asks for, in their order; raises PolicyError as `added_gates`."""
    known = {**GATES, **added_gates(policy)} if gates is None else gates
    return {name: gate for name, gate in known.items() if gate.asked_by(policy)}


def added_gates(policy: ReleasePolicy, where: str = "policy") -> dict[str, Gate]:
    """Return the gates of the privacy models that other packages add to a policy.

    Raises PolicyError, which names `where`, where one has the name of a gate: neither would take the other's
    place.
    """
    names = policy.gates.models.added
    for name in names:
        if name in GATES:
            raise PolicyError(
                f"'{name}' is the name of a gate",
                where=f"{where}: gates.models.added.{name}",
                hint="The package has to give its privacy model another name.",
            )
    return {name: Gate(partial(added.added_gate, name)) for name in names}


def check_models(policy: ReleasePolicy, where: str) -> None:
    """Raise PolicyError, which names `where`, for an added model that cannot be asked for."""
    added_gates(policy, where)
    bound_models(policy.gates.models, where)


def unmeasured(gate: str, verdict: Verdict, detail: str, seconds: float = 0.0) -> GateResult:
    """Return the result of a gate that measured nothing, and why."""
    return GateResult(gate, verdict, None, None, "<=", "", seconds, detail)


def _asked(name: str, ask: GateFunction, evidence: Evidence) -> GateResult:
    start = perf_counter()
    try:
        result = ask(evidence)
    except NotAtHand as reason:
        return unmeasured(name, Verdict.NOT_RUN, str(reason), perf_counter() - start)
    except CannotTell as reason:
        return unmeasured(name, Verdict.UNKNOWN, str(reason), perf_counter() - start)
    except TransientFailure:  # of the machine: it ends the run, and says how to mend it
        raise
    except Exception as error:  # whatever breaks a gate must block, not pass
        broken = f"the gate failed ({type(error).__name__})"
        return unmeasured(name, Verdict.ERROR, broken, perf_counter() - start)
    return replace(result, seconds=perf_counter() - start)


def summary_line(results: Sequence[GateResult]) -> str:
    """Say in one line which gates hold a candidate back, with value and limit."""
    return "; ".join(in_short(result) for result in results if result.verdict is not Verdict.PASS)


def in_short(result: GateResult) -> str:
    """Say what a gate found in a few words, with value and limit."""
    said = f"{result.gate} {str(result.verdict).replace('_', ' ')}"
    if result.value is None or result.threshold is None:
        return said
    found = measured_text(result.value, result.relation, result.threshold)
    return f"{said} ({found}, must be {bound_text(result.relation, result.threshold)})"
