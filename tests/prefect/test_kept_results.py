"""What a stage made is gone when nobody needs it: Prefect keeps none of it until the flow ends."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from services.runtime import Stage

pytestmark = pytest.mark.usefixtures("prefect_server")


def test_what_a_stage_made_is_freed_in_the_flow_that_made_it() -> None:
    from prefect import flow

    from flows.runtime.prefect_runtime import PrefectRuntime

    @flow
    def one() -> bool:
        made = PrefectRuntime().stage(Stage("rows", "make rows"), lambda _: np.zeros(1_000))
        gone = weakref.ref(made)
        assert gone() is not None
        del made
        gc.collect()
        return gone() is None

    assert one()
