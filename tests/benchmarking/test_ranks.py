"""Mean ranks and Friedman's test: Demšar's example, slow definitions, SciPy, tables by hand."""

import math
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad.benchmarking import average_ranks, friedman, multi_comparison_matrix, nemenyi
from fastad.benchmarking.ranks import rank_rows
from tests.support.demsar import DEMSAR, demsar, results_of

FEW_RESAMPLES = 50

tables = st.integers(2, 5).flatmap(
    lambda k: st.lists(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, -0.0, math.inf]), min_size=k, max_size=k),
        min_size=2,
        max_size=7,
    )
)


def slow_ranks(row: list[float]) -> list[Fraction]:
    """One plus those that are better, and half of the others that are equal."""
    return [
        1 + sum(Fraction(x > y) + Fraction(x == y, 2) for x in row) - Fraction(1, 2) for y in row
    ]


def slow_friedman(rows: list[list[float]]) -> tuple[Fraction, Fraction]:
    """Return Demšar's formula as it stands, and what it is to be divided by where ranks are tied.

    The correction is that of Conover: 1 - sum(t³ - t) / (n (k³ - k)) over runs of t equal values.
    """
    n, k = len(rows), len(rows[0])
    ranks = [slow_ranks(row) for row in rows]
    means = [sum(column) / Fraction(n) for column in zip(*ranks, strict=True)]
    plain = Fraction(12 * n, k * (k + 1)) * (
        sum(mean**2 for mean in means) - Fraction(k * (k + 1) ** 2, 4)
    )
    ties = sum(row.count(x) ** 3 - row.count(x) for row in rows for x in set(row))
    return plain, 1 - Fraction(ties, n * (k**3 - k))


# Ranks.


def test_ranks_of_demsar() -> None:
    result = average_ranks(demsar(), rng=0, n_resamples=FEW_RESAMPLES)
    columns = [result.detectors.index(name) for name in DEMSAR["detectors"]]
    by_name = dict(zip(demsar().problems, result.ranks["auc"][:, columns].tolist(), strict=True))
    assert by_name == DEMSAR["ranks"]
    assert [f"{mean:.3f}" for mean in result.mean[0, columns]] == DEMSAR["mean_ranks"]
    np.testing.assert_allclose(result.std[0], np.std(result.ranks["auc"], axis=0, ddof=1))
    assert result.n_datasets.tolist() == [14]


@given(tables)
def test_ranks_are_those_of_the_slow_definition_and_of_scipy(rows: list[list[float]]) -> None:
    result = rank_rows(np.array(rows))
    assert result.tolist() == [[float(rank) for rank in slow_ranks(row)] for row in rows]
    np.testing.assert_array_equal(result, stats.rankdata(-np.array(rows), axis=1))


def test_the_best_model_of_a_detector_counts_by_the_mean_of_its_folds() -> None:
    rows = [
        ("d1", "knn", "k=1", [0.9, 0.5], [0.1, 0.1]),
        ("d1", "knn", "k=5", [0.8, 0.8], [0.6, 0.4]),
        ("d1", "lof", "k=1", [0.75, 0.75], [0.375, 0.375]),
        ("d1", "svm", "", [0.9, 0.9], [0.25, 0.5]),
    ]
    table: dict[str, list[Any]] = {
        name: [] for name in ("dataset", "detector", "params", "fold", "auc", "vol@0.05")
    }
    for dataset, detector, params, auc, volume in rows:
        for fold in range(2):
            cells = (dataset, detector, params, fold, auc[fold], volume[fold])
            for name, cell in zip(table, cells, strict=True):
                table[name].append(cell)
    result = average_ranks(table, rng=0, n_resamples=FEW_RESAMPLES)
    assert result.detectors == ["knn", "lof", "svm"]
    assert result.ranks["auc"].tolist() == [[2, 3, 1]]
    # A volume is better when it is lower: the least of knn's two is 0.1; lof and svm are equal.
    assert result.ranks["vol@0.05"].tolist() == [[1, 2.5, 2.5]]
    higher = fastad.ResultTable.from_table(
        {**table, "new": table["auc"]}, measures=["new"], higher_is_better={"new": False}
    )
    assert average_ranks(higher, rng=0).ranks["new"].tolist() == [[1, 2, 3]]


def test_one_data_set_has_ranks_without_spread() -> None:
    result = average_ranks(results_of([[0.5, 0.9]]), rng=0)
    assert result.mean.tolist() == [[2, 1]]
    for spread in (result.std, result.low, result.high):
        assert np.isnan(spread).all()
    assert "auc      2.00  1.00¹" in str(result)


def test_what_has_no_value_is_left_out_and_named() -> None:
    nan = math.nan
    rows = [[0.1, 0.2], [nan, 0.2], [0.3, nan], [nan, nan], [0.5, nan]]
    result = average_ranks(
        results_of(rows, datasets=["v", "w", "x", "y", "z"]), rng=0, n_resamples=FEW_RESAMPLES
    )
    assert result.n_datasets.tolist() == [1]
    assert result.mean.tolist() == [[2, 1]]
    assert np.isnan(result.ranks["auc"]).tolist() == [[False] * 2, *[[True] * 2] * 4]
    assert result.notes == [
        "auc: 4 of 5 data sets are left out, where a detector has no value "
        "(w for a; x for b; y for a; …)"
    ]
    nothing = average_ranks(results_of(np.full((2, 3), nan)), rng=0)
    assert np.isnan(nothing.mean).all()
    assert nothing.n_datasets.tolist() == [0]
    assert str(nothing).splitlines()[1].split() == ["auc", "-", "-", "-"]


@pytest.mark.evidence
def test_the_interval_of_a_mean_rank_covers_the_true_value() -> None:
    """Detectors a and b of equal merit, c worse: the true mean ranks by symmetry and by c."""
    rng = np.random.default_rng(11)
    n_tried, n_covered = 300, np.zeros(3, int)
    shift = np.array([0.0, 0.0, 1.0])
    # c is better than a where two normal numbers differ by more than 1.
    better = float(stats.norm.sf(1 / math.sqrt(2)))
    true_ranks = [1.5 + better, 1.5 + better, 3 - 2 * better]
    for _ in range(n_tried):
        values = rng.normal(size=(15, 3)) - shift
        result = average_ranks(results_of(values), rng=rng, n_resamples=200)
        n_covered += (result.low[0] <= true_ranks) & (true_ranks <= result.high[0])
    assert (n_covered / n_tried > 0.93).all()
    assert (n_covered / n_tried < 0.995).all()


@pytest.mark.parametrize(("n_wins", "n_losses"), [(3, 0), (9, 1), (5, 5), (0, 20)])
def test_of_two_detectors_the_interval_is_that_of_clopper_and_pearson(
    n_wins: int, n_losses: int
) -> None:
    values = [[1, 0]] * n_wins + [[0, 1]] * n_losses
    result = average_ranks(results_of(values), rng=0, n_resamples=100_000)
    exact = stats.binomtest(n_losses, n_wins + n_losses).proportion_ci(0.95)
    assert result.low[0, 0] == pytest.approx(1 + exact.low, abs=0.005)
    assert result.high[0, 0] == pytest.approx(1 + exact.high, abs=0.005)


def test_an_interval_of_equal_ranks_has_a_length() -> None:
    # A data set that was not drawn may have the worst rank; P(0 of 4) is 2.5 % at this proportion.
    result = average_ranks(results_of([[5, 4, 3, 2, 1]] * 4), rng=0, n_resamples=100_000)
    unseen = 1 - 0.025**0.25
    assert result.low[0, 0] == 1
    assert result.high[0, 0] == pytest.approx(1 + 4 * unseen, abs=0.02)
    assert result.low[0, 2] == pytest.approx(3 - 2 * unseen, abs=0.02)
    assert result.high[0, 2] == pytest.approx(3 + 2 * unseen, abs=0.02)
    assert result.high[0, 4] == 5


@pytest.mark.evidence
@pytest.mark.parametrize("n_datasets", [5, 10, 20])
def test_the_interval_covers_the_rank_of_a_detector_that_fails_at_times(n_datasets: int) -> None:
    rng, n_covered, n_tried = np.random.default_rng(n_datasets), 0, 250
    for _ in range(n_tried):
        values = rng.normal(size=(n_datasets, 6))
        values[:, 0] = np.where(rng.random(n_datasets) < 0.9, math.inf, -math.inf)
        result = average_ranks(results_of(values), rng=rng, n_resamples=200)
        n_covered += result.low[0, 0] <= 1.5 <= result.high[0, 0]
    assert n_covered / n_tried > 0.92


def test_classes_of_a_data_set_are_drawn_together() -> None:
    values = [0.9, 0.1, 0.8, 0.2, 0.1, 0.9]
    table = {
        "dataset": ["x", "x", "x", "x", "y", "y"],
        "anomaly_class": [1, 1, 2, 2, 1, 1],
        "detector": ["a", "b"] * 3,
        "auc": values,
    }
    result = average_ranks(table, rng=0, n_resamples=500)
    assert result.mean.tolist() == [[4 / 3, 5 / 3]]
    # Two data sets: one of them, or one that was not drawn, may have almost all of the weight.
    assert (result.low[0, 0], result.high[0, 0]) == pytest.approx((1, 2), abs=0.03)
    notes = friedman(table).notes
    assert notes == [
        "auc: W has no interval below 3 data sets; found 2 data sets",
        "p-values take the 3 problems for independent, which come from 2 data sets; intervals do "
        "not",
    ]


def test_notes_of_shared_data_sets_count_the_problems_that_are_tested() -> None:
    table = {
        "dataset": ["x", "x", "x", "x", "y", "y"],
        "anomaly_class": [1, 1, 2, 2, 1, 1],
        "detector": ["a", "b"] * 3,
        "auc": [0.9, 0.1, 0.8, 0.2, 0.1, math.nan],
        "ap": [0.9, math.nan, 0.8, 0.2, 0.1, 0.9],
    }
    note = "p-values take the 2 problems for independent, which come from 1 data set"
    assert friedman(table, measures=["auc"]).notes[-1] == f"{note}; intervals do not"
    assert friedman(table).notes[-1] == f"auc: {note}; intervals do not"
    for result in (
        nemenyi(table, measure="auc", n_resamples=9),
        multi_comparison_matrix(table, measure="auc"),
    ):
        assert any(each.startswith(note) for each in result.notes)
    assert not any(
        "independent" in each for each in nemenyi(table, measure="ap", n_resamples=9).notes
    )


def test_ranks_as_tables() -> None:
    rng = np.random.default_rng(1)
    values = {"auc": rng.random((31, 4)), "vol@0.05": rng.random((31, 4))}
    results = fastad.ResultTable.from_arrays(values, detectors=["svm", "lof", "knn", "i_f"])
    result = average_ranks(results, rng=0, n_resamples=FEW_RESAMPLES)
    head, auc, volume = str(result).splitlines()
    assert head.split() == ["measure", "i_f", "knn", "lof", "svm"]
    for row, line in enumerate((auc, volume)):
        order = np.argsort(result.mean[row], kind="stable")
        for place, detector in enumerate(order[:3]):
            cell = f"{result.mean[row, detector]:.2f} ± {result.std[row, detector]:.2f}"
            assert cell + "¹²³"[place] in line
        assert sum(line.count(mark) for mark in "¹²³") == 3
    best = f"**{result.mean[0].min():.2f} ± "
    assert best in result.to_markdown().splitlines()[2]
    latex = result.to_latex()
    assert r"measure & i\_f & knn & lof & svm \\" in latex
    assert latex.count(r"\cellcolor[gray]{0.70}") == 2
    assert r"$\pm$" in latex
    frame = result.to_frame("pandas")
    assert list(frame) == ["measure", "detector", "mean_rank", "std", "low", "high", "n_datasets"]
    assert frame["measure"].tolist() == ["auc"] * 4 + ["vol@0.05"] * 4
    assert frame["mean_rank"].tolist() == result.mean.ravel().tolist()
    assert (frame["n_datasets"] == 31).all()
    # Of three, only the best is marked.
    three = str(average_ranks(results_of([[3, 2, 1], [2, 3, 1], [3, 2, 1]]), rng=0))
    assert [three.count(mark) for mark in "¹²³"] == [1, 0, 0]


def test_a_detector_named_like_the_first_column_is_a_column_of_its_own() -> None:
    values = {"auc": [[0.9, 0.8], [0.9, 0.8]]}
    results = fastad.ResultTable.from_arrays(values, detectors=["measure", "lof"])
    text = average_ranks(results, rng=0).to_markdown(columns=["measure"])
    assert text.splitlines()[::2] == ["| measure | measure |", "| auc | **1.00 ± 0.00** |"]


# Friedman.


def test_ties_are_corrected_or_not() -> None:
    with pytest.raises(TypeError, match="correct_ties must be True or False; found int"):
        friedman(results_of([[0.1, 0.2]]), correct_ties=1)  # type: ignore[arg-type]


def test_friedman_of_demsar() -> None:
    test = friedman(demsar(), correct_ties=False)["auc"]
    assert f"{test.statistic:.2f}" == DEMSAR["chi_square"]
    assert f"{test.f_statistic:.2f}" == DEMSAR["f_statistic"]
    assert list(test.f_df) == DEMSAR["f_degrees"]
    assert test.f_p_value == pytest.approx(stats.f.sf(test.f_statistic, *test.f_df))
    assert test.p_value == pytest.approx(stats.chi2.sf(test.statistic, 3))
    assert test.kendall_w == pytest.approx(test.statistic / (14 * 3))
    corrected = friedman(demsar())["auc"]
    assert corrected.statistic > test.statistic


@given(tables)
def test_friedman_is_the_slow_definition(rows: list[list[float]]) -> None:
    plain, correction = slow_friedman(rows)
    n, k = len(rows), len(rows[0])
    for corrected in (False, True):
        test = friedman(results_of(rows), correct_ties=corrected)["auc"]
        if correction == 0:
            assert math.isnan(test.statistic)
            assert test.reason == "all detectors are tied on all data sets"
            continue
        statistic = plain / correction if corrected else plain
        assert test.statistic == pytest.approx(float(statistic), rel=1e-14)
        if statistic == n * (k - 1):
            exact = test.exact_p_value
            assert (test.f_statistic, test.f_p_value, test.kendall_w) == (math.inf, exact, 1)
        else:
            f_statistic = (n - 1) * statistic / (n * (k - 1) - statistic)
            assert test.f_statistic == pytest.approx(float(f_statistic), rel=1e-14)
        if n < 3:
            assert math.isnan(test.low)
            assert math.isnan(test.high)
            assert test.reason == "W has no interval below 3 data sets; found 2 data sets"
        else:
            assert 0 <= test.low <= test.kendall_w <= test.high <= 1
            assert test.reason is None


@pytest.mark.parametrize("decimals", [0, 1, 5])
def test_friedman_agrees_with_scipy(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    for n, k in ((2, 3), (14, 4), (30, 7)):
        values = np.round(rng.normal(size=(n, k)) + np.linspace(0, 1, k), decimals)
        expected = stats.friedmanchisquare(*values.T)
        test = friedman(results_of(values))["auc"]
        assert test.statistic == pytest.approx(expected.statistic, rel=1e-12)
        assert test.p_value == pytest.approx(expected.pvalue, rel=1e-12)


def test_data_sets_that_agree_or_not() -> None:
    agreed = friedman(results_of([[3, 2, 2]] * 5))
    test = agreed["auc"]
    assert (test.kendall_w, test.f_statistic, test.f_p_value) == (1, math.inf, 3.0**-4)
    # With half of the data sets of the opposite order, all five would agree in 1 of 16 samples.
    assert (test.low, test.high) == (0, 1)
    # The root s of the concordance is as Wilson bounds the mean of signs: 1 - s = z²/20 (1 + s).
    ratio = stats.norm.ppf(0.975) ** 2 / 20
    many = friedman(results_of([[3, 2, 2]] * 20))["auc"]
    assert many.low == pytest.approx(((1 - ratio) / (1 + ratio)) ** 2, rel=1e-6)
    assert "F(2, 8) = ∞" in str(agreed)
    # Not without the correction: ties bound the statistic.
    plain = friedman(results_of([[3, 2, 2]] * 5), correct_ties=False)["auc"]
    assert plain.kendall_w == 0.75
    even = friedman(results_of([[1, 2], [2, 1]]))["auc"]
    assert (even.statistic, even.p_value, even.f_statistic, even.kendall_w) == (0, 1, 0, 0)


@pytest.mark.parametrize(("n", "k"), [(2, 2), (6, 2), (2, 3), (4, 3), (3, 4)])
def test_the_exact_p_value_counts_all_orders(n: int, k: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(5):
        values = rng.integers(0, 4, (n, k)).astype(float)
        test = friedman(results_of(values))["auc"]
        if test.reason == "all detectors are tied on all data sets":
            continue
        # Twice the ranks, which are integers.
        doubled = [[int(2 * rank) for rank in slow_ranks(row)] for row in values.tolist()]
        orders = [list(permutations(row)) for row in doubled]

        def spread(ranks: Any, middle: int = (k + 1) * n) -> int:
            return sum((sum(column) - middle) ** 2 for column in zip(*ranks, strict=True))

        observed = spread(doubled)
        reached = [spread(ranks) >= observed for ranks in product(*orders)]
        assert test.exact_p_value == pytest.approx(sum(reached) / len(reached), rel=1e-12)


def test_two_detectors_in_one_order_have_the_exact_p_value() -> None:
    test = friedman(results_of([[2, 1]] * 3))["auc"]
    assert (test.f_statistic, test.f_p_value, test.exact_p_value) == (math.inf, 0.25, 0.25)
    # Too many orders are not counted, but those of which all agree.
    rng = np.random.default_rng(0)
    many = friedman(results_of(rng.normal(size=(30, 8))))["auc"]
    assert math.isnan(many.exact_p_value)
    alike = friedman(results_of([[3, 2, 1, 0, -1, -2, -3, -4]] * 3))["auc"]
    assert alike.f_p_value == pytest.approx(math.factorial(8) ** -2)


def test_means_over_fewer_folds_are_named() -> None:
    nan = math.nan
    auc = [[[0.9, 0.8], [0.7, nan]], [[0.9, 0.8], [0.7, 0.6]], [[nan, nan], [0.7, nan]]]
    results = fastad.ResultTable.from_arrays(
        {"auc": auc}, datasets=["x", "y", "z"], detectors=["a", "b"]
    )
    note = "auc: 1 of 4 values are of fewer than 2 folds (x, b: 1)"
    assert note in average_ranks(results, rng=0).notes
    assert note in friedman(results).notes
    assert note in fastad.benchmarking.nemenyi(results, rng=0).notes
    assert note in fastad.benchmarking.wilcoxon_holm(results, rng=0).notes


def test_friedman_where_it_is_undefined() -> None:
    nan = math.nan
    values: dict[str, Any] = {
        "auc": [[1, 2], [nan, 1]],
        "tpr@0.1": [[1, 1], [2, 2]],
        "ap": [[1, 2], [1, 2]],
    }
    results = fastad.ResultTable.from_arrays(values, detectors=["a", "b"])
    result = friedman(results)
    assert list(result) == ["auc", "tpr@0.1", "ap"]
    assert [result[label].n_datasets for label in result] == [1, 2, 2]
    for label in ("auc", "tpr@0.1"):
        test = result[label]
        tests = (test.statistic, test.p_value, test.f_statistic, test.f_p_value, test.exact_p_value)
        assert all(math.isnan(x) for x in (*tests, test.kendall_w, test.low, test.high))
    assert result["ap"].reason == "W has no interval below 3 data sets; found 2 data sets"
    assert result.notes == [
        "auc: Friedman's test needs at least two data sets with all detectors; found 1",
        "tpr@0.1: all detectors are tied on all data sets",
        "ap: W has no interval below 3 data sets; found 2 data sets",
        "auc: 1 of 2 data sets is left out, where a detector has no value (1 for a)",
    ]
    frame = result.to_frame("pandas")
    assert frame["df"].tolist() == [1, 1, 1]
    assert math.isnan(frame["statistic"][0])
    assert result.to_markdown().splitlines()[2] == "| auc | - | - | - | - | - | - | - |"
    assert "chi-square" in result.to_latex()
