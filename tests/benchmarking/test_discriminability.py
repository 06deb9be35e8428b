"""At which false positive rates models differ; the statistics are in ``test_pairwise_tests``."""

import copy
import itertools
import math
import pickle
import sys
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats

from fastad import ResultTable
from fastad.benchmarking import discriminability
from fastad.benchmarking.pairwise_tests.pairs import LARGEST_CORRECTED, compare_pairs, pair_p_values
from fastad.errors import InvalidInputError
from tests.support import pairwise_tests as slow
from tests.support.comparison_oracles import numbers

nan = math.nan
CRITERIA: list[Any] = ["tukey-q", "tukey-mean", "tukey-median", "welch-mean", "welch-median"]
RATES = (0.3, 0.01, 0.05, 0.1)  # not in their order
Values = npt.NDArray[np.float64]


def runs(*, seed: int = 0, shape: tuple[int, ...] = (3, 4, 6), eighths: bool = False) -> Any:
    """Measures by data set, model and fold: auc, and auc@ and tpr@ by rate."""
    rng = np.random.default_rng(seed)
    quality = rng.uniform(0.3, 0.9, (shape[0], shape[1], 1))
    names = ["auc", *(f"{name}@{rate}" for name in ("tpr", "auc") for rate in RATES)]
    values = {}
    for name in names:
        values[name] = quality + rng.normal(0, rng.uniform(0.05, 0.6, (shape[0], 1, 1)), shape)
        if eighths:
            values[name] = np.round(8 * values[name]) / 8
    return values


def models_of(values: Values, dataset: int) -> list[list[float]]:
    folds: list[list[float]] = values[dataset].tolist()
    return folds


def of_difference(*differences: float, n_datasets: int = 1) -> ResultTable:
    """Two models whose tpr differs so much at rates 0.1, 0.2, …, with the same variance."""
    folds = np.array([0.4, 0.5, 0.6])
    return ResultTable.from_arrays(
        {
            f"tpr@{(i + 1) / 10:g}": np.array([[folds, folds + one]] * n_datasets)
            for i, one in enumerate(differences)
        }
    )


# Against SciPy and loops.


@pytest.mark.parametrize("measure", ["tpr", "auc"])
def test_each_data_set_and_rate_has_the_tests_of_its_values(measure: Any) -> None:
    values = runs(seed=2, eighths=True)
    table = ResultTable.from_arrays(values)
    result = discriminability(table, measure=measure, confidence_level=0.9, rng=0)
    assert result.fpr.tolist() == sorted(RATES)
    assert (result.measure, result.confidence_level) == (measure, 0.9)
    assert list(result.pairwise_tests) == ["0", "1", "2"]
    by_rate = np.stack([values[f"{measure}@{rate}"] for rate in sorted(RATES)], axis=-1)
    for tests, of_dataset in zip(result.pairwise_tests.values(), by_rate, strict=True):
        assert repr(tests) == repr(compare_pairs(of_dataset, alpha=0.1))
        for field in ("criteria", "critical_values", "n_significant", "n_infinite"):
            np.testing.assert_equal(
                getattr(tests, field), getattr(compare_pairs(of_dataset, alpha=0.1), field)
            )


def test_p_values_are_those_of_the_data_set_and_rate() -> None:
    values = runs()
    names = ["pageblocks", "abalone", "wine"]  # tables stand in the order of names
    result = discriminability(ResultTable.from_arrays(values, datasets=names), rng=0)
    for d, rate in itertools.product(range(3), RATES):
        expected = pair_p_values(values[f"tpr@{rate}"][d])
        assert np.array_equal(result.p_values(names[d], fpr=rate), expected)
    one = values["tpr@0.3"][2]
    changed: list[dict[str, Any]] = [
        {"test": "tukey"},
        {"correction": "shaffer"},
        {"correction": "holm"},
    ]
    for options in changed:
        got = result.p_values("wine", fpr=np.float32(0.3), **options)
        assert np.array_equal(got, pair_p_values(one, **options))


@pytest.mark.slow
def test_selected_rates_against_loops() -> None:
    values, levels, alpha = runs(seed=5), sorted(RATES), 1e-3
    result = discriminability(ResultTable.from_arrays(values), confidence_level=1 - alpha, rng=0)
    models = [[models_of(values[f"tpr@{rate}"], d) for rate in levels] for d in range(3)]
    kinds = set()
    for name in CRITERIA:
        curves = np.array([[slow.criteria(one)[name] for one in row] for row in models])
        critical = np.full((3, 4), scipy.stats.studentized_range.isf(alpha, 4, 20))
        if name.startswith("welch"):
            critical = np.array(
                [[slow.welch_critical(one, alpha) for one in row] for row in models]
            )
        chosen = [result.selected[str(d)][name] for d in range(3)]
        curves = np.vstack([curves, curves.mean(axis=0)])
        critical = np.vstack([critical, critical.mean(axis=0)])
        for got, curve, bound in zip(
            [*chosen, result.averaged[name]], curves, critical, strict=True
        ):
            above = [rate for rate, x, y in zip(levels, curve, bound, strict=True) if x > y]
            kinds |= {("highest", got.optimal), ("lowest", *above[:1])}
            assert got.optimal == levels[int(np.argmax(curve))]
            if above:
                assert got.lowest == above[0]
            else:
                assert math.isnan(got.lowest)
        mine = result.curve(name)
        assert mine[0] == pytest.approx(curves[-1], rel=1e-9)
        assert mine[1] == pytest.approx(critical[-1], rel=1e-9)
        assert result.optimal[name].value == pytest.approx(np.mean([one.optimal for one in chosen]))
        lowest = [one.lowest for one in chosen if not math.isnan(one.lowest)]
        assert int(result.lowest[name].n) == len(lowest)
        expected = np.mean(lowest) if lowest else nan
        assert result.lowest[name].value == pytest.approx(expected, nan_ok=True)
    assert len(kinds) > 4
    assert ("lowest",) in kinds  # where none exceeds


# By hand.


def test_of_equal_rates_the_lowest() -> None:
    # t = difference sqrt(3/2) / 0.1, against 2.776 with 4 degrees of freedom.
    result = discriminability(of_difference(0.0, 0.25, 0.5, 0.1, 0.5), rng=0)
    t = np.array([0, 0.25, 0.5, 0.1, 0.5]) * math.sqrt(1.5) / 0.1
    curve, critical = result.curve("welch-mean")
    assert curve == pytest.approx(t)
    assert critical == pytest.approx([2.7764451] * 5)
    for name in CRITERIA:
        assert (result.averaged[name].optimal, result.averaged[name].lowest) == (0.3, 0.2)
    # Neither an equal value nor a lower one exceeds.
    low = discriminability(of_difference(0.1, 0.2), rng=0)
    assert math.isnan(low.averaged["welch-mean"].lowest)
    assert low.averaged["welch-mean"].optimal == 0.2
    assert str(low).splitlines()[4].split()[-3:] == ["0", "of", "1"]


def test_columns_that_are_no_rates_do_not_count() -> None:
    values = runs() | {"tpr@1e-05": runs()["auc"], "auc@tpr0.8": runs()["auc"]}
    values |= {"fpr@tpr0.8": runs()["auc"], "precision@p0.2": runs()["auc"], "auc@1": runs()["auc"]}
    table = ResultTable.from_arrays(values)
    assert discriminability(table, rng=0).fpr.tolist() == [1e-05, *sorted(RATES)]
    assert discriminability(table, measure="auc", rng=0).fpr.tolist() == [*sorted(RATES), 1]


def test_one_rate_and_two_models() -> None:
    result = discriminability(of_difference(0.5), rng=0)
    assert result.pairwise_tests["0"].n_pairs == 1
    assert {name: result.selected["0"][name].optimal for name in CRITERIA} == dict.fromkeys(
        CRITERIA, 0.1
    )
    assert math.isnan(float(result.optimal["tukey-q"].low))  # one data set has no interval
    assert repr(result) == "<Discriminability of tpr at 1 rates on 1 data set>"


def test_no_variance() -> None:
    same = np.full((1, 3, 4), 0.5)
    other = same + np.arange(3)[:, None] / 10
    result = discriminability(ResultTable.from_arrays({"tpr@0.1": same, "tpr@0.2": other}), rng=0)
    one = result.pairwise_tests["0"]
    for name in CRITERIA:
        assert one.criteria[name][0] == 0
        assert math.isnan(one.criteria[name][1])
        assert result.selected["0"][name].optimal == 0.1
        assert math.isnan(result.selected["0"][name].lowest)
    assert [counts.tolist() for counts in one.n_infinite.values()] == [[0, 3], [0, 3]]
    assert "left out: 6 infinite statistics, of different means without variance" in str(result)
    assert (result.p_values("0", fpr=0.1) == 1).all()
    never_0 = np.maximum(np.eye(3), sys.float_info.min)
    assert result.p_values("0", fpr=0.2).tolist() == never_0.tolist()
    only = discriminability(ResultTable.from_arrays({"tpr@0.2": other}), rng=0)
    assert math.isnan(only.averaged["tukey-mean"].optimal)
    assert "-" in str(only).splitlines()[1]


def test_models_that_lack_a_value_are_left_out_and_named() -> None:
    values = runs(seed=4)
    values["tpr@0.05"][0, 2, 3] = nan
    values["tpr@0.1"][1, :3, 0] = [nan, math.inf, nan]
    values["auc"][2] = nan  # not read
    names = ["iforest", "knn", "lof", "ocsvm"]
    result = discriminability(
        ResultTable.from_arrays(values, detectors=names, datasets=["a", "b", "c"]), rng=0
    )
    assert result.models == {"a": ["iforest", "knn", "ocsvm"], "c": names}
    assert result.left_out == [
        "a: 1 of 4 models lack a value on some fold (lof)",
        "b: 3 of 4 models lack a value on some fold (iforest and 2 more), and fewer than two are "
        "left",
    ]
    assert list(result.pairwise_tests) == list(result.selected) == ["a", "c"]
    whole = discriminability(
        ResultTable.from_arrays({k: v[:1][:, [0, 1, 3]] for k, v in values.items()}), rng=0
    )
    for name in CRITERIA:
        expected = whole.pairwise_tests["0"].criteria[name]
        assert np.array_equal(result.pairwise_tests["a"].criteria[name], expected)
    assert result.p_values("a", fpr=0.05).shape == (3, 3)
    assert str(result).splitlines()[-2:] == result.left_out
    assert int(result.optimal["tukey-q"].n) == 2
    with pytest.raises(InvalidInputError, match="dataset must be one of a, c; found 'b'"):
        result.p_values("b", fpr=0.05)


def test_the_number_of_data_sets_with_models_left_out() -> None:
    values = runs(seed=4, shape=(3, 2, 4))
    values["tpr@0.1"][:2, 0, 0] = nan  # two data sets, with one note each
    result = discriminability(ResultTable.from_arrays(values), rng=0)
    assert "more data set" not in str(result)
    values = runs(seed=4, shape=(5, 3, 4))
    values["tpr@0.1"][:4, 0, 0] = nan
    result = discriminability(ResultTable.from_arrays(values), rng=0)
    assert "and 1 more data set with models left out" in str(result)


def test_a_data_set_of_one_fold_is_named() -> None:
    values = np.random.default_rng(0).uniform(size=(3, 2, 4))
    values[1, :, 1:] = nan
    values[2] = nan
    result = discriminability(ResultTable.from_arrays({"tpr@0.1": values}), rng=0)
    assert result.left_out == [
        "1: 1 fold with values, fewer than two",
        "2: 0 folds with values, fewer than two",
    ]


def test_missing_rows_are_missing_values() -> None:
    detectors = np.repeat(["knn", "lof", "svm"], 3)[:-1]
    rows = {"dataset": ["a"] * 8, "detector": detectors, "fold": ([1, 2, 3] * 3)[:-1]}
    result = discriminability(rows | {"tpr@0.1": np.arange(8) / 8}, rng=0)
    assert result.models == {"a": ["knn", "lof"]}
    assert "(svm)" in result.left_out[0]


def test_means_over_data_sets_draw_their_classes_together() -> None:
    # No class of Z, the first, can be compared; all of a choose 0.1, those of c 0.2.
    rows: list[dict[str, Any]] = []
    for dataset, gains, n_classes in (
        ("a", (0.5, 0.2), 8),
        ("Z", (0, 0), 10),
        ("c", (0.2, 0.5), 2),
    ):
        for c, model, fold in itertools.product(range(n_classes), range(2), range(3)):
            row = {"dataset": dataset, "anomaly_class": c, "detector": f"k{model}", "fold": fold}
            noise = nan if dataset == "Z" else fold / 10
            rates = zip((0.1, 0.2), gains, strict=True)
            rows.append(row | {f"tpr@{p}": noise + model * gain for p, gain in rates})
    result = discriminability({key: [row[key] for row in rows] for key in rows[0]}, rng=0)
    assert len(result.pairwise_tests) == 10
    assert result.selected["c 1"]["tukey-mean"].optimal == 0.2
    means = result.optimal["tukey-mean"]
    assert float(means.value) == pytest.approx(0.12)
    assert (float(means.low), float(means.high)) == pytest.approx((0.1, 0.2))
    assert int(means.n) == 10


def test_the_averaged_critical_value_is_that_of_the_curves() -> None:
    # Of the first data set two models of three are left, which have another critical value.
    values = np.random.default_rng(0).uniform(size=(2, 3, 4))
    values[0, 0, 0] = nan
    result = discriminability(ResultTable.from_arrays({"tpr@0.1": values}), rng=0)
    own = [scipy.stats.studentized_range.isf(0.05, n, 3 * n) for n in (2, 3)]
    assert result.curve("tukey-q")[1] == pytest.approx([np.mean(own)])


def test_an_undefined_criterion_has_no_part_in_the_critical_value() -> None:
    values = np.random.default_rng(0).uniform(size=(2, 3, 4))
    values[0] = [[nan] * 4, [0.5] * 4, [0.6] * 4]  # two models without variance
    result = discriminability(ResultTable.from_arrays({"tpr@0.1": values}), rng=0)
    curve, critical = result.curve("tukey-mean")
    assert curve[0] == result.pairwise_tests["1"].criteria["tukey-mean"][0]
    assert critical == pytest.approx([scipy.stats.studentized_range.isf(0.05, 3, 9)])


# Bits, frames, copies.


def test_the_frame_has_all_columns() -> None:
    values = runs()
    result = discriminability(ResultTable.from_arrays(values), rng=0)
    frame = result.to_columns()
    corrections = ["none", "bonferroni", "holm", "shaffer", "benjamini-hochberg"]
    assert list(frame) == [
        "dataset", "fpr", *CRITERIA, "critical_tukey", "critical_welch", "n_pairs",
        "significant_tukey", *(f"significant_{name}" for name in corrections),
        "infinite_tukey", "infinite_welch", "welch_f", "welch_p_value",
    ]  # fmt: skip
    assert frame["dataset"] == [name for name in "012" for _ in RATES]
    assert frame["fpr"] == sorted(RATES) * 3
    assert frame["n_pairs"] == [6] * 12
    for i, name in enumerate("012"):
        own, one = slice(4 * i, 4 * i + 4), result.pairwise_tests[name]
        assert frame["welch-median"][own] == one.criteria["welch-median"].tolist()
        assert frame["critical_welch"][own] == one.critical_values["welch"].tolist()
        f, _, _ = slow.several(models_of(values["tpr@0.01"], i))
        assert frame["welch_f"][4 * i] == pytest.approx(f)
        assert frame["welch_p_value"][own] == one.p_value.tolist()
    assert result.to_frame().shape == (12, len(frame))
    head = result.to_markdown().splitlines()[0]
    assert head.count("of the mean curve") == head.count("95 % interval") == 2
    assert r"\toprule" in result.to_latex()


@pytest.mark.slow
def test_what_is_not_counted_is_none() -> None:
    n = LARGEST_CORRECTED + 1
    values = np.random.default_rng(0).uniform(size=(1, n, 2))
    frame = discriminability(ResultTable.from_arrays({"tpr@0.1": values}), rng=0).to_columns()
    for name in ("holm", "shaffer", "benjamini-hochberg"):
        assert frame[f"significant_{name}"] == [None]
    assert frame["significant_none"] != [None] != frame["significant_tukey"]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_results_can_be_copied(again: Any) -> None:
    result = discriminability(of_difference(0.1), rng=0)
    assert numbers(again(result)) == numbers(result)
