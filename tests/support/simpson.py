"""The source of a package that offers a privacy model, and some that are none."""

from __future__ import annotations

# Simpson's index of a class is the sum of p^2 over its values: how likely two of its people have one value.
MODULE = '''
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
from pydantic import Field

from policy.section import Section
from tasks.privacy.added import PrivacyModel
from tasks.risk.gates.models.checks import at_most


class SimpsonParameters(Section):
    """The greatest index of a class."""

    max: Annotated[float, Field(gt=0, lt=1)]
    weight: Annotated[float, Field(gt=0)] = 1.0


def index(counts):
    shares = counts / np.maximum(counts.sum(axis=-1, keepdims=True), 1)
    return (shares**2).sum(axis=-1)


@dataclass(frozen=True)
class Simpson:
    most: float
    numbers: object = None
    compares = False

    def shortfall(self, counts, size):
        return np.maximum(index(counts) - self.most - 1e-12, 0.0) * size

    def among(self, _counts):
        return self


def gate(chosen, classes, policy):
    found = {name: index(classes.counts[name]) for name in policy.roles.sensitive}
    return at_most("simpson", found, chosen.max, "greatest Simpson index of a class", tolerance=1e-9)


SIMPSON = PrivacyModel(
    name="simpson",
    question="How likely do two people of a class have one sensitive value, at most?",
    source="an example",
    parameters=SimpsonParameters,
    gate=gate,
    condition=lambda chosen, attribute: Simpson(chosen.max, attribute.numbers),
)
NO_NUMBER = replace(SIMPSON, condition=lambda *_: Simpson(np.nan))
ALONE = replace(SIMPSON, condition=None)
TAKEN = replace(SIMPSON, name="t_closeness")
A_GATE = replace(SIMPSON, name="k")
NO_RESULT = replace(SIMPSON, gate=lambda *_: "pass")
OTHER_RESULT = replace(SIMPSON, gate=lambda *given: replace(gate(*given), gate="k"))
NO_SECTION = replace(SIMPSON, parameters=dict)
NO_MODEL = 3


def blind(*given):
    from release_store.records import Verdict

    return replace(gate(*given), verdict=Verdict.PASS)


BLIND = replace(SIMPSON, gate=blind)
'''
