"""Values put in place of others: by hand, linked with the nearest, and never taken for true."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from policy.errors import PolicyError
from release_store.records import Verdict
from tasks.aggregation.centres import medoids
from tasks.geometry.cells import format_cells
from tasks.geometry.space import boxes_of, space_of
from tasks.methods.registry import bound_method
from tasks.recoding.cells import read_set
from tasks.recoding.draws import seed_of
from tasks.recoding.replacement import centroids, medians
from tasks.risk.attacks.linkage import link
from tasks.risk.gates.linkage_and_loss import NEAREST
from tasks.risk.registry import GATES, assess
from tasks.types import Representation
from tasks.utility.moved import categories_moved, numbers_moved
from tests.support.small import MIXED, TWO_SENSITIVE, mixed_rows, prepared, published, small_policy

CENTROID = {"name": "mondrian", "recoding": "centroid"}
ROWS = [(20, "a", "flu"), (21, "a", "hiv"), (26, "b", "flu"), (50, "b", "flu"), (60, "b", "cold")]
LABELS = np.array([0, 0, 0, 1, 1])


def centroid_policy(**sections: Any) -> Any:
    return small_policy(method=CENTROID, **sections)


def test_centroids_are_means_and_most_frequent_categories() -> None:
    policy = centroid_policy()
    made = centroids(prepared(policy, ROWS), LABELS, policy)
    assert made.frame.to_numpy().tolist() == [
        [22, "a", "flu"],  # 22.33 is a whole number of years
        [22, "a", "flu"],
        [22, "a", "hiv"],
        [55, "b", "cold"],
        [55, "b", "flu"],
    ]
    assert list(made.frame.columns) == ["age", "city", "illness"]
    assert [ROWS[i][2] for i in made.records] == made.frame["illness"].tolist()


def test_a_number_that_nobody_has_is_the_middle_of_the_bounds() -> None:
    policy = centroid_policy()
    table = prepared(policy, [(None, "a", "flu"), (None, "a", "hiv"), (7, "b", "flu"), (None, "b", "flu")])
    made = centroids(table, np.array([0, 0, 1, 1]), policy)
    assert made.frame["age"].tolist() == [7, 7, 60, 60]


@pytest.mark.parametrize("perturbation", [0.5, 2.0])
def test_the_noise_on_a_mean_is_as_wide_as_the_group(perturbation: float) -> None:
    # Groups of 40 and 60 (mean absolute deviation 10), of 48 and 52 (2), of 50 and a missing one (0).
    roles = {"x": {"type": "numeric", "bounds": [-1000, 1000]}}
    policy = small_policy(roles, method=CENTROID)
    n = 6_000
    table = prepared(policy, [(x, "flu") for x in (40, 60, 48, 52, 50, None) for _ in range(n)])
    labels = np.tile(np.arange(n), 6) + n * np.repeat([0, 0, 1, 1, 2, 2], n)
    made = centroids(table, labels, policy, perturbation=perturbation, seed=7)
    x = made.frame.set_axis(made.records)["x"].sort_index().to_numpy().reshape(6, n)
    for first, second, deviation in ((0, 1, 10), (2, 3, 2)):
        assert np.array_equal(x[first], x[second])
        assert kstest(x[first], "laplace", args=(50, perturbation * deviation)).pvalue > 0.01
    assert (x[4:] == 50).all()
    assert made.notes == {"perturbation": perturbation}
    again = centroids(table, labels, policy, perturbation=perturbation, seed=7)
    assert made.frame.equals(again.frame)


def test_a_noised_mean_stays_within_the_bounds_and_a_whole_number() -> None:
    policy = centroid_policy()
    rows = [(age, "a", "flu") for age in (0, 120)] * 50
    made = centroids(prepared(policy, rows), np.arange(100) // 2, policy, perturbation=50, seed=1)
    assert made.frame["age"].dtype == np.int64
    assert made.frame["age"].between(0, 120).all()
    assert made.frame["age"].nunique() > 2
    plain = centroids(prepared(policy, rows), np.arange(100) // 2, policy, perturbation=0, seed=1)
    assert plain.frame["age"].unique().tolist() == [60]


def test_a_policy_perturbs_the_means_of_apmca() -> None:
    chosen = {"name": "apmca", "recoding": "centroid", "parameters": {"perturbation": 1.0}}
    policy = small_policy(method=chosen)
    table = prepared(policy, ROWS)
    recode = bound_method(policy).recode
    nowhere = Representation(np.zeros((len(ROWS), 1)))
    made = recode(table, nowhere, LABELS, policy, 5)
    plain = centroids(table, LABELS, policy)
    assert made.frame["age"].tolist() != plain.frame["age"].tolist()
    # The store's key decides the draws too.
    other = recode(replace(table, draw_key=b"another"), nowhere, LABELS, policy, 5)
    assert other.frame["age"].tolist() != made.frame["age"].tolist()
    chosen["parameters"] = {"perturbation": -1}
    with pytest.raises(PolicyError, match=r"perturbation.*greater than or equal to 0"):
        bound_method(small_policy(method=chosen))


def test_the_median_is_the_record_with_the_least_summed_distance() -> None:
    points = np.array([[0.0], [1.0], [5.0], [7.0], [7.0], [9.0]])
    assert medoids(points, np.array([0, 0, 0, 1, 1, 1])).tolist() == [1, 3]
    assert medoids(points, np.array([0, -1, 0, -1, 1, 1])).tolist() == [0, 4]
    policy = small_policy(method={"name": "mondrian", "recoding": "median"})
    table = prepared(policy, ROWS)
    made = medians(table, Representation(table.numeric), LABELS, policy)
    assert made.frame[["age", "city"]].drop_duplicates().to_numpy().tolist() == [[21, "a"], [50, "b"]]
    assert made.notes == {"squared_error_to_medians": 1 + 25 + 100}


def test_who_is_nearest_is_linked_and_ties_are_counted(tmp_path: Path) -> None:
    policy = centroid_policy(gates={"err": {"max": 1}, "umr": {"max": 1}}, linkage={"errors": 0})
    rows = [(10, "a", "flu"), (30, "a", "flu"), (40, "b", "hiv"), (50, "b", "flu"), (30, "b", "flu")]
    made = published(policy, prepared(policy, rows), [0, 0, 1, 1, 1], tmp_path / "c")
    # Classes (20, a) of 2 rows and (40, b) of 3; ages span 40.
    links = link(made.table, made.classes)
    assert links.candidates.tolist() == [1, 1, 1, 1, 1]
    assert links.smallest.tolist() == [2, 2, 3, 3, 3]
    assert links.only.tolist() == [0, 0, 1, 1, 1]
    between = prepared(policy, [(30, None, "flu"), (29, None, "flu")])
    found = link(between, made.classes)
    assert found.candidates.tolist() == [2, 1]
    assert found.smallest.tolist() == [2, 2]
    (err,) = [r for r in assess(made.evidence()).results if r.gate == "err"]
    assert err.detail.startswith(NEAREST)


def looped_links(numbers: Any, codes: Any, cells: Any, size: Any) -> list[tuple[int, int]]:
    """(candidates, rows of the smallest) of each person, from the definition."""
    found = []
    for person in range(len(numbers)):
        far = []
        for c in range(len(size)):
            total, outside = 0.0, False
            for column, unit in enumerate(cells.scale):
                x, low, high = numbers[person, column], cells.low[c, column], cells.high[c, column]
                if np.isnan(x):
                    continue
                if np.isnan(unit):
                    outside |= not low <= x <= high
                else:
                    total += ((x - low) / unit) ** 2
            for column, replaced in enumerate(cells.replaced):
                code = codes[person, column]
                holds = code < 0 or not cells.member[column].shape[1] or cells.member[column][c, code]
                if replaced:
                    total += not holds
                else:
                    outside |= not holds
            far.append(np.inf if outside else total)
        near = [c for c in range(len(size)) if far[c] < np.inf and far[c] <= min(far) + 1e-9]
        found.append((len(near), min((int(size[c]) for c in near), default=0)))
    return found


@pytest.mark.integration
@pytest.mark.parametrize("recoding", ["centroid", "median", "sets"])
def test_the_links_are_those_of_a_loop(recoding: str) -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE, method={"name": "mondrian", "recoding": recoding})

    @given(mixed_rows(2, 16), mixed_rows(1, 8), st.data())
    def alike(rows: list[Any], others: list[Any], data: st.DataObject) -> None:
        labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))))
        labels = np.unique(labels, return_inverse=True)[1]
        with tempfile.TemporaryDirectory() as name:
            made = published(policy, prepared(policy, rows), labels.tolist(), Path(name) / "c")
        for people in (made.table, prepared(policy, others)):
            space = space_of([made.classes], people)
            from tasks.geometry.space import placed

            numbers, codes = placed(people, space)
            cells = format_cells(made.classes, space, numbers)
            links = link(people, made.classes)
            assert list(zip(links.candidates.tolist(), links.smallest.tolist(), strict=True)) == looped_links(
                numbers, codes, cells, made.classes.size
            )

    alike()


def test_a_value_in_place_of_others_excludes_nobody(tmp_path: Path) -> None:
    policy = centroid_policy()
    made = published(policy, prepared(policy, ROWS), LABELS.tolist(), tmp_path / "c")
    assert made.classes.replaced == {"age", "city"}
    boxes = boxes_of(made.classes, space_of([made.classes], made.table))
    assert np.isinf(boxes.low).all()
    assert boxes.member[0].all()
    verdicts = {r.gate: r.verdict for r in assess(made.evidence()).results}
    assert verdicts["truth"] is verdicts["k"] is Verdict.PASS


def test_replaced_releases_are_compared_as_if_anybody_could_be_anywhere(tmp_path: Path) -> None:
    policy = centroid_policy(privacy={"l": 2})
    first = published(policy, prepared(policy, ROWS), LABELS.tolist(), tmp_path / "first")
    again = published(policy, prepared(policy, ROWS), LABELS.tolist(), tmp_path / "again")
    verdicts = {r.gate: r for r in assess(again.evidence(first), {"pairwise": GATES["pairwise"]}).results}
    # {flu, hiv} beside {cold, flu} leaves flu: with intervals nobody could be in both.
    assert verdicts["pairwise"].verdict is Verdict.FAIL


def test_a_method_that_replaces_values_must_be_allowed_to(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from tasks.methods import registry

    known = dict(registry.methods())
    known["mondrian"] = replace(known["mondrian"], recoding="median")
    monkeypatch.setattr(registry, "methods", lambda: known)
    with pytest.raises(PolicyError, match="publishes cells that may be untrue of people") as caught:
        bound_method(small_policy())
    assert "recoding: median" in str(caught.value)
    assert bound_method(small_policy(method={"name": "mondrian", "recoding": "sets"})).parts[3] == "sets"
    assert bound_method(small_policy(method={"name": "mondrian", "recoding": "median"})).parts[3] == "median"


@pytest.mark.integration
def test_with_noise_the_nearest_row_of_a_class_that_fits_is_linked() -> None:
    """Every row is a unit of its own: who fits its class in the categories, and is nearest in the numbers."""
    chosen = {"name": "curriculum", "recoding": "adaptive"}
    policy = small_policy(MIXED, TWO_SENSITIVE, method=chosen)

    @given(mixed_rows(4, 14))
    def alike(rows: list[Any]) -> None:
        table = prepared(policy, rows)
        labels = np.arange(len(rows)) % 2
        with tempfile.TemporaryDirectory() as name:
            made = published(policy, table, labels.tolist(), Path(name) / "c")
            links = made.evidence().links
        frame, classes = made.rows.frame, made.classes
        assert classes.size.sum() == len(rows)
        spans = [float(np.nanmax(v) - np.nanmin(v)) or 1.0 for v in table.numeric.T]
        for person in range(len(rows)):
            far: dict[tuple[Any, ...], float] = {}
            count: dict[tuple[Any, ...], int] = {}
            for row in frame[["age", "income", "city", "job"]].itertuples(index=False):
                cells = [read_set(text) for text in (row.city, row.job)]
                own = [
                    table.domains[q][code]
                    for q, code in zip(("city", "job"), table.codes[person], strict=True)
                ]
                if any(
                    cell is not None and value not in cell for cell, value in zip(cells, own, strict=True)
                ):
                    continue
                gaps = [
                    0.0 if np.isnan(x) else ((x - published_number) / span) ** 2
                    for x, published_number, span in zip(
                        table.numeric[person], (row.age, row.income), spans, strict=True
                    )
                ]
                far[tuple(row)] = sum(gaps)
                count[tuple(row)] = count.get(tuple(row), 0) + 1
            near = [key for key, value in far.items() if value <= min(far.values()) + 1e-9]
            assert links.candidates[person] == len(near)
            assert links.smallest[person] == min((count[key] for key in near), default=0)

    alike()


def test_what_a_recoding_draws_depends_on_the_whole_input_and_the_seed() -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE)
    rows = [(1, 0.5, "a", "b", "flu", 3.0), (2, 0.5, "a", "b", "flu", 3.0)]
    table = prepared(policy, rows)
    assert seed_of(table, 1) == seed_of(prepared(policy, rows), 1) != seed_of(table, 2)
    for column, value in enumerate((9, 0.25, "c", "c", "hiv", 4.0)):
        other = [rows[0], (*rows[1][:column], value, *rows[1][column + 1 :])]
        assert seed_of(prepared(policy, other), 1) != seed_of(table, 1), column


@pytest.mark.enemy("reader", "learns a value")
def test_who_knows_all_but_one_value_cannot_draw_again_without_the_key() -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE)
    rows = [(1, 0.5, "a", "b", "flu", 3.0), (2, 0.5, "a", "b", "flu", 3.0)]
    table = prepared(policy, rows)
    keyed = replace(table, draw_key=b"k" * 32)
    assert seed_of(keyed, 1) == seed_of(replace(table, draw_key=b"k" * 32), 1)
    assert len({seed_of(table, 1), seed_of(keyed, 1), seed_of(replace(table, draw_key=b"o" * 32), 1)}) == 3
    assert "kkk" not in repr(keyed)


def test_how_far_numbers_moved_is_the_area_between_their_distributions() -> None:
    source = np.array([0.0, 10.0, np.nan])
    rows = np.array([1, 1])
    assert numbers_moved(source, np.array([0.0, 10.0]), rows) == 0
    assert numbers_moved(source, np.array([5.0, 5.0]), rows) == 0.5
    assert numbers_moved(source, np.array([0.0]), np.array([2])) == 0.5
    assert numbers_moved(source, np.array([30.0]), np.array([2])) == 1
    assert numbers_moved(np.array([3.0, 3.0]), np.array([3.0, 4.0]), rows) == 0.5
    assert numbers_moved(source, np.array([]), np.array([], dtype=int)) == 1


@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=12),
    st.lists(st.integers(-5, 25), min_size=2, max_size=12),
)
def test_numbers_moved_is_scipys_distance(source: list[int], found: list[int]) -> None:
    from scipy.stats import wasserstein_distance

    values = np.array(source, dtype=float)
    if np.ptp(values) == 0:
        return
    expected = min(wasserstein_distance(source, found) / np.ptp(values), 1)
    assert numbers_moved(values, np.array(found, dtype=float), np.ones(len(found))) == pytest.approx(expected)


def test_how_far_categories_moved_is_the_total_variation() -> None:
    assert categories_moved(np.array([2.0, 2.0]), np.array([4.0, 0.0])) == 0.5
    assert categories_moved(np.array([1.0, 0.0]), np.array([0.0, 3.0])) == 1
    assert categories_moved(np.array([1.0, 1.0]), np.array([2.0, 2.0])) == 0


def test_the_loss_of_replaced_values_is_how_far_they_moved(tmp_path: Path) -> None:
    policy = centroid_policy()
    made = published(policy, prepared(policy, ROWS), LABELS.tolist(), tmp_path / "c")
    (ncp,) = [r for r in assess(made.evidence()).results if r.gate == "ncp"]
    from scipy.stats import wasserstein_distance

    ages = wasserstein_distance([20, 21, 26, 50, 60], [22, 22, 22, 55, 55]) / 40
    assert ncp.value == pytest.approx((ages + 0.2) / 2)
    assert "earth mover's distance" in ncp.detail


def test_policy_columns_carry_their_own_name_where_they_are_replaced() -> None:
    policy = small_policy(MIXED, TWO_SENSITIVE, method=CENTROID)
    assert list(policy.published_columns()) == ["age", "income", "city", "job", "illness", "wage"]
    noised = small_policy(MIXED, TWO_SENSITIVE, method={"name": "mondrian", "recoding": "adaptive"})
    assert [str(noised.form(name)) for name in MIXED] == ["noised", "noised", "contains", "contains"]


def test_where_every_quasi_identifier_is_noised_all_rows_are_one_class(tmp_path: Path) -> None:
    chosen = {"name": "curriculum", "recoding": "adaptive"}
    policy = small_policy({"age": {"type": "integer", "bounds": [0, 99]}}, method=chosen)
    rows = [(age, "ab"[age % 2]) for age in range(12)]
    made = published(policy, prepared(policy, rows), [0] * 6 + [1] * 6, tmp_path / "c")
    assert made.classes.size.tolist() == [12]
    found = {r.gate: r for r in assess(made.evidence()).results}
    assert found["k"].verdict is Verdict.PASS
    assert "without age, which has noise in each row" in found["k"].detail


def test_noise_on_the_same_people_again_is_not_judged(tmp_path: Path) -> None:
    chosen = {"name": "curriculum", "recoding": "adaptive"}
    policy = small_policy(method=chosen)
    rows = [(20, "a", "flu"), (21, "a", "hiv"), (50, "b", "flu"), (60, "b", "hiv")]
    first = published(policy, prepared(policy, rows), [0, 0, 1, 1], tmp_path / "first")
    again = published(policy, prepared(policy, rows), [0, 0, 1, 1], tmp_path / "again")
    verdicts = {r.gate: r.verdict for r in assess(again.evidence(first)).results}
    assert verdicts["pairwise"] is verdicts["whole_history"] is Verdict.UNKNOWN


@pytest.mark.parametrize("epsilon", [0, -1, 1.01, 1e12])
def test_noise_of_no_epsilon_and_noise_that_hides_nothing_are_refused(epsilon: float) -> None:
    method = {"name": "curriculum", "recoding": "adaptive", "parameters": {"epsilon_kept": epsilon}}
    with pytest.raises(PolicyError, match=r"epsilon_kept: should be (greater|less) than"):
        bound_method(small_policy(method=method))


def test_an_epsilon_for_an_unknown_quasi_identifier_is_refused() -> None:
    method = {"name": "vq", "recoding": "quantized", "parameters": {"epsilons": {"agee": 0.1}}}
    with pytest.raises(PolicyError, match=r"'agee', which is not a quasi-identifier \(did you mean 'age'"):
        bound_method(small_policy(method=method))
