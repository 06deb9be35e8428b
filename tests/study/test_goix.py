"""goix's benchmark: what its cells measure."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from fastad.errors import InvalidInputError
from fastad.study.files import make_table
from fastad.study.papers.goix import goix_benchmark, goix_cell, undefined_rows
from fastad.study.papers.goix_data import SETTINGS, Setting, split_goix
from fastad.study.papers.goix_plan import GoixBatch
from fastad.study.papers.goix_results import GoixBenchmark, GoixRow
from fastad.study.problems import Problem
from fastad.study.results import count_reasons, reasons_of
from tests.support.goix import FAST, FEW, PLAIN, Matrix, data, flat, numbered, same_criteria


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("max_direct", [3, 2])
def test_the_box_is_that_of_the_evaluated_rows(setting: Setting, max_direct: int) -> None:
    X, y = data(800, 40, 3)
    # A few values only, which a box takes to be discrete by default.
    X[:, 0] = np.arange(840) % 12
    protocol = dataclasses.replace(FEW, max_direct=max_direct, n_features=3)
    (row,) = goix_cell(
        X, y, dataset="a", setting=setting, detectors={"flat": flat}, protocol=protocol, rng=3
    )
    seeds = np.random.SeedSequence([3, script_key("a"), SETTINGS.index(setting)]).spawn(3)
    split = split_goix(X, y, setting, protocol=protocol, rng=np.random.default_rng(seeds[0]))
    volume = float(np.prod(np.ptp(split.evaluated, axis=0)))
    # One level set, the whole box: MV is 0.099 of it, EM(t) = 1 - t * volume down to 0.9.
    assert row.mv.value == pytest.approx(0.099 * volume)
    assert row.em.value == pytest.approx(0.095 / volume)
    assert row.n_subspaces == (0 if max_direct == 3 else 6)
    assert (row.n_evaluated, row.n_test) == (split.evaluated.shape[0], split.X_test.shape[0])
    assert row.n_anomalies == split.y_test.sum()
    assert row.n_train == split.X_train.shape[0]
    assert row.roc == 0.5


def script_key(name: str) -> int:
    from zlib import crc32

    return crc32(name.encode())


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 9])
def test_no_label_of_the_unsupervised_setting_is_used(d: int) -> None:
    X, y = data(380, 40, d)
    other = np.random.default_rng(1).permutation(y)

    def cell(labels: Any) -> tuple[GoixRow, ...]:
        return goix_cell(
            *(X, labels), dataset="a", setting="unsupervised", detectors=FAST, protocol=FEW, rng=0
        )

    for one, two in zip(cell(y), cell(other), strict=True):
        assert same_criteria(one, two)
        assert one.em_better_than == two.em_better_than
        assert one.roc != two.roc
        assert not math.isnan(one.em.value)


@pytest.mark.slow
@pytest.mark.parametrize("d", [3, 9])
def test_anomalies_do_not_touch_the_criteria_of_the_novelty_setting(d: int) -> None:
    X, y = data(300, 60, d)
    moved = np.where(y[:, None] == 1, X + 3, X)

    def cell(samples: Matrix) -> tuple[GoixRow, ...]:
        return goix_cell(
            *(samples, y), dataset="a", setting="novelty", detectors=FAST, protocol=FEW, rng=0
        )

    before, after = cell(X), cell(moved)
    assert all(map(same_criteria, before, after))
    assert [one.roc for one in before] != [one.roc for one in after]


@pytest.mark.slow
def test_a_benchmark_is_made_of_cells_and_a_seed() -> None:
    datasets = {"low": data(200, 20, 3), "high": data(200, 20, 9)}
    told: list[tuple[int, int]] = []
    result = goix_benchmark(
        datasets,
        detectors=FAST,
        protocol=FEW,
        rng=5,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert [(row.dataset, row.setting, row.detector) for row in result.rows] == [
        (name, setting, detector) for name in datasets for setting in SETTINGS for detector in FAST
    ]
    draws: list[tuple[int, int | None]] = []
    alone = goix_cell(
        *datasets["high"],
        dataset="high",
        setting="novelty",
        detectors=FAST,
        protocol=FEW,
        rng=5,
        progress=lambda done, total: draws.append((done, total)),
    )
    assert draws == [(done + 1, 6) for done in range(6)]
    assert [str(row.to_dict()) for row in alone] == [str(row.to_dict()) for row in result.rows[4:6]]
    other = goix_benchmark(
        {"high": datasets["high"]}, settings=["novelty"], detectors=FAST, protocol=FEW, rng=6
    )
    assert not same_criteria(other.rows[0], alone[0])


@pytest.mark.slow
@pytest.mark.parametrize("d", [2, 9])
def test_the_better_detector_is_named(d: int) -> None:
    def norm(_: Matrix) -> Callable[[Matrix], Matrix]:
        return lambda rows: np.sqrt((rows**2).sum(axis=1))

    detectors = {"flat": flat, "norm": norm}
    X, y = data(800, 40, d)
    for setting in SETTINGS:
        worse, better = goix_cell(
            X, y, dataset="a", setting=setting, detectors=detectors, protocol=FEW, rng=0
        )
        assert worse.em_better_than == worse.mv_better_than == ()
        assert better.em_better_than == better.mv_better_than == ("flat",)


def test_a_generator_moves_on() -> None:
    rng = np.random.default_rng(0)
    one, two = (
        goix_benchmark({"a": data(100, 9, 2)}, detectors=FAST, protocol=FEW, rng=rng)
        for _ in range(2)
    )
    assert not same_criteria(one.rows[0], two.rows[0])


def test_undefined_criteria_are_recorded() -> None:
    X, y = data(200, 20, 2)
    known = set(X[:, 0])

    def seen(_: Matrix) -> Callable[[Matrix], Matrix]:
        # Draws from a box hit none of the values of the data.
        return lambda rows: np.array([0.0 if x in known else 1.0 for x in rows[:, 0]])

    result = goix_benchmark(
        {"a": (X, y)}, detectors={"seen": seen, "flat": flat}, protocol=PLAIN, rng=0
    )
    for row in result.rows[::2]:
        assert math.isnan(row.em.value)
        assert "uniform" in row.em.reason
        assert row.mv.value == 0
        assert not row.em_better_than
    assert result.agreement("em").roc is None
    # Both areas are 0.5 for both detectors, which MV orders: half of the pairs agree.
    mv = result.agreement("mv").roc
    assert mv is not None
    assert (mv.n_agreeing, mv.n_pairs) == (1.0, 2)
    assert result.agreement("mv").both is None
    assert "undefined" in str(result)


@pytest.mark.parametrize("max_direct", [8, 1])
def test_a_box_without_volume_is_recorded(max_direct: int) -> None:
    X, y = numbered(100, 30)
    X = np.column_stack([X[:, 0], np.where(y, X[:, 0], 3.0)])
    protocol = dataclasses.replace(FEW, max_direct=max_direct, n_features=2)
    rows = goix_cell(X, y, dataset="a", setting="novelty", detectors=FAST, protocol=protocol, rng=0)
    for row in rows:
        assert math.isnan(row.em.value)
        assert math.isnan(row.mv.log_value)
        assert row.em.reason == row.mv.reason
        assert "1 features vary, 2 must" in row.em.reason
        assert row.roc > 0.5


def test_one_class_is_recorded() -> None:
    X, _ = data(200, 0, 2)
    rows = goix_cell(
        X,
        np.zeros(200, int),
        dataset="a",
        setting="unsupervised",
        detectors=FAST,
        protocol=FEW,
        rng=0,
    )
    for row in rows:
        assert math.isnan(row.roc)
        assert math.isnan(row.pr)
        assert row.reason
        assert row.em.value > 0
    assert GoixBenchmark(rows).agreement("em").roc is None
    assert GoixBenchmark(rows).agreement("em").labels is None


@pytest.mark.parametrize(("fails", "n_failed"), [(True, 3), (False, 0)])
def test_a_data_set_that_fails_counts_and_one_without_areas_does_not(
    monkeypatch: pytest.MonkeyPatch, fails: bool, n_failed: int
) -> None:
    def cell(*_: Any, **options: Any) -> tuple[GoixRow, ...]:
        if fails:
            raise MemoryError("no room")
        return undefined_rows(options["dataset"], "novelty", FEW, "one class")

    monkeypatch.setattr("fastad.study.papers.goix_plan.goix_cell", cell)
    monkeypatch.setattr(Problem, "load", lambda self: (None, None))
    problem = Problem("toy", "a", None, 20, 2, 3, "a.npz", "")
    result = GoixBatch(problem, "novelty", FEW, 0).run()
    failed, not_applicable = count_reasons(reasons_of([make_table(result.rows)]))
    assert result.n_failed == sum(failed.values()) == n_failed
    assert sum(not_applicable.values()) == 3 - n_failed


@pytest.mark.evidence
def test_the_paper_s_detectors_on_bundled_data() -> None:
    X, malignant = load_breast_cancer(return_X_y=True)
    wine, kind = load_wine(return_X_y=True)
    datasets = {"cancer": (X[::2], malignant[::2] == 0), "wine": (wine, kind == 0)}
    result = goix_benchmark(datasets, protocol=FEW, rng=0)
    assert [row.detector for row in result.rows] == ["iForest", "OCSVM", "LOF"] * 4
    for row in result.rows:
        assert row.n_features == datasets[row.dataset][0].shape[1]
        assert row.roc > 0.5
        assert row.em.value > 0
        assert row.mv.value > 0
        assert row.em.n_test == row.n_evaluated
    overall = result.agreement("mv")
    assert overall.roc is not None
    assert overall.roc.n_pairs == 12


@pytest.mark.parametrize(
    ("datasets", "options", "error", "message"),
    [
        ({}, {}, TypeError, "datasets must name at least one data set; found dict without any"),
        ([], {}, TypeError, "found list"),
        ({"a": data(50, 5, 2)}, {"settings": ["all"]}, InvalidInputError, "settings must be one"),
        ({"a": data(50, 5, 2)}, {"detectors": {}}, TypeError, "detectors must name at least one"),
        (
            {"a": data(50, 5, 2)},
            {"detectors": {"a; b": flat}},
            InvalidInputError,
            "names without '; '",
        ),
        (
            {"a": data(50, 5, 2)},
            {"detectors": {1: flat, "1": flat}},
            InvalidInputError,
            "detectors must have names that differ as strings",
        ),
        ({"a": data(50, 5, 2)}, {"detectors": {"a": 3}}, TypeError, "method fit"),
        ({"a": data(50, 5, 2)}, {"rng": -1}, InvalidInputError, "rng"),
    ],
)
def test_wrong_arguments(
    datasets: Any, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        goix_benchmark(datasets, **options)
