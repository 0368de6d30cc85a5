"""The rules of the kinds of tests are kept: shown by tests that break them, in a pytest of their own."""

from __future__ import annotations

import pytest

from tests.kinds import Rules

pytest_plugins = ["pytester"]
BUSY = """
import pytest

def work():
    for _ in range(20_000_000):
        pass

def test_fast():
    pass

def test_long():
    work()

@pytest.mark.nightly
def test_at_night():
    work()
"""


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    # A worker imports torch as it starts, which cannot be done twice in one process.
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    pytester.makeini("[pytest]\nmarkers =\n    nightly: a\n    browser: b\n    faults: c\n")
    return pytester


def outcomes(inner: pytest.Pytester, slowness: float) -> list[int]:
    """How many tests pass, are skipped and fail under a limit of a hundredth of a second."""
    rules = Rules(0.01, lambda: slowness)
    return [*inner.inline_run("-p", "no:cacheprovider", plugins=[rules]).countoutcomes()]


def test_a_fast_test_over_the_limit_fails_and_one_of_another_kind_does_not(inner: pytest.Pytester) -> None:
    inner.makepyfile(BUSY)
    assert outcomes(inner, slowness=1.0) == [2, 0, 1]


def test_where_the_processor_is_slower_just_now_the_limit_is_longer(inner: pytest.Pytester) -> None:
    inner.makepyfile(BUSY)
    assert outcomes(inner, slowness=1e6) == [3, 0, 0]


def test_a_folder_gives_its_tests_their_kind_but_those_with_a_mark(inner: pytest.Pytester) -> None:
    folder = inner.mkdir("faults")
    (folder / "test_in_folder.py").write_text(
        "import pytest\n\ndef test_plain():\n    pass\n\n@pytest.mark.nightly\ndef test_long():\n    pass\n"
    )
    inner.makepyfile("def test_fast():\n    pass\n")
    for kind, n in (("faults", 1), ("nightly", 1), ("not (faults or nightly)", 1)):
        found = inner.inline_run("-p", "no:cacheprovider", "-m", kind, plugins=[Rules(None)])
        assert [*found.countoutcomes()] == [n, 0, 0]


def test_a_test_of_two_kinds_is_refused(inner: pytest.Pytester) -> None:
    inner.makepyfile(
        "import pytest\n\n@pytest.mark.nightly\n@pytest.mark.browser\ndef test_of_two():\n    pass\n"
    )
    found = inner.runpytest_inprocess("-p", "no:cacheprovider", plugins=[Rules(None)])
    assert found.ret == pytest.ExitCode.USAGE_ERROR
    found.stderr.fnmatch_lines(["*test_of_two is of 2 kinds: browser, nightly*"])


def test_some_of_what_parameters_make_are_left_to_the_night(inner: pytest.Pytester) -> None:
    inner.makeini("[pytest]\nmarkers =\n    nightly: a\n    by_day: b\n")
    inner.makepyfile(
        "import pytest\n\n@pytest.mark.by_day(3)\n@pytest.mark.parametrize('one', range(7))\n"
        "def test_each(one):\n    assert one in {0, 2, 4}\n"
    )
    found = inner.inline_run("-p", "no:cacheprovider", "-m", "not nightly", plugins=[Rules(None)])
    assert [*found.countoutcomes()] == [3, 0, 0]
    found = inner.inline_run("-p", "no:cacheprovider", "-m", "nightly", plugins=[Rules(None)])
    assert [*found.countoutcomes()] == [0, 0, 4]
