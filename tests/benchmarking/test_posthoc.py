"""Comparisons after Friedman's test: Demšar's example, SciPy, enumeration, tables by hand."""

import itertools
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad.benchmarking import friedman, multi_comparison_matrix, nemenyi, wilcoxon_holm
from fastad.benchmarking.rank_comparison import runs_without_difference
from fastad.benchmarking.rank_distributions import range_quantile, range_tail, signed_ranks
from tests.support.demsar import DEMSAR, demsar, results_of

Matrix = npt.NDArray[np.float64]


def upper(square: npt.NDArray[Any]) -> list[Any]:
    values: list[Any] = square[np.triu_indices(len(square), 1)].tolist()
    return values


def names_of(
    comparison: fastad.benchmarking.RankComparison, square: Matrix
) -> dict[tuple[str, str], float]:
    """Entries of a square by the names of a pair, in either order."""
    places = itertools.permutations(range(len(comparison.detectors)), 2)
    return {
        (comparison.detectors[i], comparison.detectors[j]): float(square[i, j]) for i, j in places
    }


# Nemenyi, Bonferroni and Dunn.


@pytest.mark.parametrize("method", ["nemenyi", "bonferroni-dunn"])
@pytest.mark.parametrize("alpha", ["0.05", "0.10"])
def test_critical_differences_of_demsar(method: str, alpha: str) -> None:
    control = None if method == "nemenyi" else "C4.5"
    result = nemenyi(
        demsar(), measure="auc", control=control, confidence_level=1 - float(alpha), rng=0
    )
    assert result.method == method
    printed = DEMSAR["critical_differences"][method][alpha]
    # He cuts off 1.168.
    margin = 0.0085 if printed == "1.16" else 0.005
    assert result.critical_difference == pytest.approx(float(printed), abs=margin)
    for k, value in enumerate(DEMSAR["critical_values"][method][alpha], start=2):
        # Of two the test is exact, and the critical value is reached with many data sets.
        n = 10_000 if k == 2 else 1
        results = results_of(np.ones((n, k)))
        one = nemenyi(
            results,
            measure="auc",
            control=None if control is None else "a",
            confidence_level=1 - float(alpha),
            n_resamples=1,
        )
        assert one.critical_difference is not None
        critical = one.critical_difference / math.sqrt(k * (k + 1) / 6 / n)
        if value != "2.724":  # a misprint
            assert critical == pytest.approx(float(value), abs=0.021 if k == 2 else 0.0011)


@pytest.mark.parametrize("control", [None, "a"])
@pytest.mark.parametrize("n", [1, 4, 5, 6, 11, 60])
def test_two_detectors_have_the_sign_test(n: int, control: str | None) -> None:
    for n_better, n_tied in itertools.product(range(n + 1), (0, 2)):
        values = np.array([[0.9, 0.8]] * n_better + [[0.8, 0.9]] * (n - n_better))
        values = np.concatenate([values, np.full((n_tied, 2), 0.5)])
        result = nemenyi(results_of(values), measure="auc", control=control, n_resamples=1)
        expected = stats.binomtest(n_better, n).pvalue
        p_value = float(np.nanmin(np.asarray(result.adjusted_p_values)))
        assert p_value == pytest.approx(expected, rel=1e-12)
        assert bool(result.significant_pairs) == (expected <= 0.05)
        if not n_tied:
            assert result.critical_difference is not None
            difference = abs(2 * n_better - n) / n
            assert (difference >= result.critical_difference) == (expected <= 0.05)


def test_significant_pairs_of_demsar() -> None:
    at_5 = nemenyi(demsar(), measure="auc", rng=0)
    assert at_5.detectors == ["C4.5+m+cf", "C4.5+m", "C4.5+cf", "C4.5"]
    assert [f"{mean:.3f}" for mean in at_5.mean_ranks] == ["1.964", "2.000", "2.893", "3.143"]
    assert at_5.significant_pairs == []
    assert at_5.groups == [tuple(at_5.detectors)]
    assert at_5.summary == (
        "no two detectors differ significantly (auc, 14 data sets, nemenyi, 95 %)"
    )
    at_10 = nemenyi(demsar(), measure="auc", confidence_level=0.9, rng=0)
    assert at_10.significant_pairs == [("C4.5+m+cf", "C4.5"), ("C4.5+m", "C4.5")]
    assert at_10.groups == [("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5")]
    assert at_10.summary == (
        "C4.5+m+cf is better than C4.5; C4.5+m is better than C4.5; no other differences are "
        "significant (auc, 14 data sets, nemenyi, 90 %)"
    )


def test_the_control_of_demsar() -> None:
    control = DEMSAR["control"]
    result = nemenyi(demsar(), measure="auc", control=control["name"], rng=0)
    by_name = names_of(result, result.p_values)
    for name, printed in control["p_values"].items():
        assert f"{by_name[control['name'], name]:.3f}" == printed
    assert result.significant_pairs == [(name, control["name"]) for name in control["apart"]]
    assert result.groups == []
    compared = ~np.isnan(result.p_values)
    place = result.detectors.index(control["name"])
    assert compared[place].tolist() == [i != place for i in range(4)]
    assert np.count_nonzero(compared) == 6
    np.testing.assert_array_equal(result.p_values, result.p_values.T)
    np.testing.assert_allclose(
        result.adjusted_p_values[place], np.minimum(3 * result.p_values[place], 1)
    )
    assert result.summary == (
        "C4.5 is worse than C4.5+m+cf; not significantly different from C4.5+m and C4.5+cf "
        "(auc, 14 data sets, bonferroni-dunn, 95 %)"
    )


@pytest.mark.parametrize("k", [2, 3, 7, 40, 500])
def test_the_distribution_of_the_range(k: int) -> None:
    q = np.linspace(0, 9, 50)
    expected = stats.studentized_range.sf(q, k, np.inf)
    np.testing.assert_allclose(range_tail(q, k), expected, atol=1e-12)
    for alpha in (0.5, 0.05, 1e-4):
        quantile = range_quantile(alpha, k)
        assert quantile == pytest.approx(stats.studentized_range.isf(alpha, k, np.inf), abs=1e-8)
        assert range_tail(np.array([quantile]), k)[0] <= alpha
        assert range_tail(np.array([np.nextafter(quantile, 0)]), k)[0] > alpha


def test_the_range_of_two_is_normal_far_out() -> None:
    q = np.array([0.0, 1e-9, 0.1, 1, 5, 20, 50])
    np.testing.assert_allclose(range_tail(q, 2), 2 * stats.norm.sf(q / math.sqrt(2)), rtol=1e-12)
    # The pairs of k numbers bound it, and far out they are all there is.
    np.testing.assert_allclose(range_tail(q[5:], 9), 36 * range_tail(q[5:], 2), rtol=1e-12)


def test_p_values_and_the_critical_difference_agree() -> None:
    rng = np.random.default_rng(0)
    for k, n in ((2, 9), (3, 20), (8, 30)):
        values = rng.normal(size=(n, k)) + np.linspace(0, 1.5, k)
        for control in (None, "b"):
            result = nemenyi(results_of(values), measure="auc", control=control, rng=0)
            ranks = stats.rankdata(-values, axis=1).mean(axis=0)
            means = [ranks["abcdefgh".index(name)] for name in result.detectors]
            np.testing.assert_allclose(result.mean_ranks, means)
            assert result.mean_ranks.tolist() == sorted(result.mean_ranks)
            apart = np.abs(np.subtract.outer(result.mean_ranks, result.mean_ranks))
            compared = ~np.isnan(result.p_values)
            assert (result.wins | result.wins.T)[compared].tolist() == (
                apart[compared] >= result.critical_difference
            ).tolist()
            assert result.significant_pairs
            assert not (result.wins & ~np.triu(np.ones((k, k), bool))).any()


# Wilcoxon.


def test_signed_ranks_of_demsar() -> None:
    """The p-value is twice the fraction of signs of his ranks that make so small a sum."""
    example = DEMSAR["signed_ranks"]
    ranks = np.array(example["ranks"])
    signs = np.array(list(itertools.product([0, 1], repeat=12)))
    changing = ranks[ranks > 1.5]
    fraction = np.mean(signs @ changing + 1.5 <= example["sums"][1])
    names = example["of"]
    columns = [DEMSAR["detectors"].index(name) for name in names]
    auc = [[row[column] for column in columns] for row in DEMSAR["auc"].values()]
    result = wilcoxon_holm(results_of(auc, detectors=names), measure="auc", rng=0)
    assert result.p_values[0, 1] == 2 * fraction
    assert result.significant_pairs == [tuple(names)]
    assert result.critical_difference is None


@given(st.lists(st.integers(-3, 4), min_size=1, max_size=9))
@settings(max_examples=30)
def test_exact_p_values_count_signs(differences: list[int]) -> None:
    result, advantage = signed_ranks(
        np.array([[d, 0.0] for d in differences]), np.array([0]), np.array([1])
    )
    ranks = stats.rankdata(np.abs(differences))
    statistic = float(np.sign(differences) @ ranks)
    sums = [
        float(np.array(signs) @ (ranks * (np.array(differences) != 0)))
        for signs in itertools.product([-1, 1], repeat=len(differences))
    ]
    assert result[0] == np.mean([abs(value) >= abs(statistic) for value in sums])
    assert np.sign(advantage[0]) == np.sign(statistic)


@pytest.mark.parametrize(("n", "bits"), [(6, 40), (8, 1), (13, 40), (50, 40), (51, 40), (80, 1)])
def test_wilcoxon_agrees_with_scipy(n: int, bits: int) -> None:
    rng = np.random.default_rng(n + bits)
    # Dyadic, so that equal differences are equal.
    values = np.round((rng.normal(size=(n, 3)) + np.linspace(0, 1, 3)) * 2**bits) / 2**bits
    result = wilcoxon_holm(results_of(values), measure="auc", rng=0)
    columns = dict(zip("abc", values.T, strict=True))
    for (a, b), p_value in names_of(result, result.p_values).items():
        # Pratt's variance is that without zeros; SciPy's for split ones is too large.
        expected = stats.wilcoxon(columns[a], columns[b], zero_method="pratt")
        assert p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_the_correction_is_over_the_pairs_compared() -> None:
    rng = np.random.default_rng(2)
    results = results_of(rng.normal(size=(12, 5)) + np.linspace(0, 2, 5))
    for control, n_pairs in ((None, 10), ("c", 4)):
        result = wilcoxon_holm(results, measure="auc", control=control, rng=0)
        compared = np.triu(~np.isnan(result.p_values), 1)
        p_values = result.p_values[compared]
        assert len(p_values) == n_pairs
        # The largest of what those of no larger p-value take.
        expected = [
            max(min(q * np.count_nonzero(p_values >= q), 1) for q in p_values if q <= p)
            for p in p_values
        ]
        np.testing.assert_allclose(result.adjusted_p_values[compared], expected, rtol=1e-14)
        assert (result.adjusted_p_values[compared] <= 0.05).tolist() == (
            (result.wins | result.wins.T)[compared].tolist()
        )
        assert {name for pair in result.significant_pairs for name in pair} <= set("abcde")


def test_the_larger_sum_wins_also_against_the_mean_rank() -> None:
    """a is a little better on most data sets, b much better on some."""
    values = np.column_stack([np.arange(100.0), np.arange(100.0)])
    values[:, 1] += np.where(np.arange(100) < 55, -0.5, 100)
    result = wilcoxon_holm(results_of(values), measure="auc", rng=0)
    assert result.detectors == ["a", "b"]
    assert result.significant_pairs == [("b", "a")]
    assert result.to_columns()["better"] == ["b"]


def test_infinite_values_and_no_differences() -> None:
    values = [[math.inf, math.inf], [math.inf, 0.0], [1.0, -math.inf], [2.0, 1.0], [5.0, 5.0]]
    result = wilcoxon_holm(results_of(values), measure="auc", rng=0)
    # Three of three with a difference are in favour of a.
    assert result.p_values[0, 1] == 0.25
    even = wilcoxon_holm(results_of(np.ones((60, 3))), measure="auc", rng=0)
    assert upper(even.p_values) == [1, 1, 1]
    assert even.groups == [("a", "b", "c")]
    few = wilcoxon_holm(results_of(np.ones((3, 2))), measure="auc", rng=0)
    assert few.p_values[0, 1] == 1


# What both return.


@given(st.integers(1, 8), st.data())
def test_groups_are_the_maximal_runs(n: int, data: st.DataObject) -> None:
    differ = np.zeros((n, n), bool)
    for i, j in itertools.combinations(range(n), 2):
        differ[i, j] = differ[j, i] = data.draw(st.booleans())
    runs = [
        (i, j)
        for i, j in itertools.combinations(range(n), 2)
        if not differ[i : j + 1, i : j + 1].any()
    ]
    maximal = [
        (i, j) for i, j in runs if not any((a, b) != (i, j) and a <= i and j <= b for a, b in runs)
    ]
    assert runs_without_difference(differ) == maximal


@pytest.mark.parametrize("function", [nemenyi, wilcoxon_holm])
def test_direction_and_ranks_are_those_of_the_measure(function: Any) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(
        itertools.product("vwxyz", "cabd"), columns=["dataset", "detector"]
    ).assign(auc=np.round(rng.random(20), 1))
    result = function(frame, measure="auc", rng=1)
    turned = fastad.ResultTable.from_table(
        frame.assign(cost=-frame["auc"]), measures=["cost"], higher_is_better={"cost": False}
    )
    assert function(turned, measure="cost", rng=1).to_columns() == result.to_columns()
    ranks = fastad.benchmarking.average_ranks(frame, rng=1)
    order = [ranks.detectors.index(name) for name in result.detectors]
    for one, same in ((ranks.mean, result.mean_ranks), (ranks.low, result.low)):
        np.testing.assert_array_equal(one[0, order], same)


def test_comparisons_as_tables() -> None:
    values = [[4, 3, 2, 1.0]] * 8 + [[1, 3, 2, 4.0]]
    result = nemenyi(results_of(values, names="w_yz"), measure="auc", rng=0)
    head, *rows = str(result).splitlines()
    assert head.split("  ")[0] == "auc"
    assert "p against w" in head
    assert "p, nemenyi" in head
    assert [row.split()[0] for row in rows[:4]] == ["w", "_", "y", "z"]
    assert rows[0].split()[1:] == [
        "1.33¹",
        f"[{result.low[0]:.2f},",
        f"{result.high[0]:.2f}]",
        "-",
        "-",
    ]
    assert rows[1].split()[1] == "2.00²"
    assert rows[3].split()[-1] == f"{result.adjusted_p_values[0, 3]:.2g}"
    assert rows[4] == result.summary
    assert rows[5] == f"critical difference: {result.critical_difference:.4g}"
    assert "| w | **1.33** |" in result.to_markdown()
    assert r"\_ & \cellcolor[gray]{0.82}2.00" in result.to_latex()
    against = str(wilcoxon_holm(results_of(values), measure="auc", control="c", rng=0))
    assert "p against c" in against
    assert "p, wilcoxon-holm" in against
    assert "critical" not in against
    frame = result.to_frame("pandas")
    assert list(zip(frame["first"], frame["second"], strict=True)) == list(
        itertools.combinations(result.detectors, 2)
    )
    assert frame["adjusted_p_value"].tolist() == upper(result.adjusted_p_values)
    won = {(row.first, row.second) for row in frame.itertuples() if row.better == row.first}
    assert won == set(result.significant_pairs)
    assert won
    assert repr(result) == "<RankComparison of 4 detectors in auc, nemenyi>"


def test_a_tiny_p_value_reads_the_same_in_all_tables() -> None:
    """Of Wilcoxon's test of 100 data sets 5e-18 stood beside "< 1e-16"."""
    table = results_of(np.tile([[0.9, 0.8, 0.7]], (100, 1)))
    pairs, matrix = wilcoxon_holm(table, rng=0), multi_comparison_matrix(table)
    assert str(pairs).count("< 1e-16") == 4
    assert str(matrix).count("p < 1e-16") == 6
    # Friedman's by chi-square, by F, and exact; Nemenyi's of the best and the worst detector.
    assert str(friedman(table)).count("< 1e-16") == 3
    assert str(nemenyi(table, rng=0)).count("< 1e-16") == 2


def test_many_names_are_cut_short_and_problems_left_out_are_named() -> None:
    values = np.tile(np.arange(1, 11.0), (40, 1))
    values[7, 3] = math.nan
    result = nemenyi(results_of(values), measure="auc", rng=0)
    assert result.n_datasets == 39
    assert result.summary.startswith("j is better than g, f, e, d, c and 2 more; i is better")
    assert "; … (auc, 39 data sets" in result.summary
    assert result.notes[2] == (
        "auc: 1 of 40 data sets is left out, where a detector has no value (7 for d)"
    )


def test_one_data_set_or_two_detectors() -> None:
    for function in (nemenyi, wilcoxon_holm):
        one = function(results_of([[1, 2, 3]]), measure="auc", rng=0)
        assert one.significant_pairs == []
        assert np.isnan(one.low).all()
        two = function(results_of([[1, 2]] * 9), measure="auc", rng=0)
        assert two.significant_pairs == [("b", "a")]
        assert two.summary.startswith("b is better than a (")
    of_two = [
        nemenyi(results_of([[1, 2]] * 9), measure="auc", control=control, rng=0)
        for control in (None, "a")
    ]
    assert of_two[0].critical_difference == pytest.approx(of_two[1].critical_difference, rel=1e-12)


@pytest.mark.parametrize("n_detectors", [2, 5, 10])
def test_too_few_data_sets_for_a_significant_difference_are_noted(n_detectors: int) -> None:
    # Each detector better than the next on every data set: the least p-values that there are.
    def compared(n: int) -> Any:
        values = -np.arange(n_detectors) * (1 + np.arange(n)[:, np.newaxis])
        return wilcoxon_holm(results_of(values), rng=0, n_resamples=20)

    enough = next(n for n in range(2, 20) if compared(n).significant_pairs)
    assert not any("would do" in note for note in compared(enough).notes)
    for n in (2, enough - 1):
        notes = " ".join(compared(n).notes)
        assert f"no difference can be significant on {n} data sets" in notes
        assert f"; {enough} would do" in notes


@pytest.mark.parametrize("n_detectors", [2, 4])
@pytest.mark.parametrize("has_control", [False, True])
def test_too_few_data_sets_for_the_critical_difference_are_noted(
    n_detectors: int, has_control: bool
) -> None:
    def compared(n: int) -> Any:
        values = np.tile(-np.arange(n_detectors), (n, 1))
        results = results_of(values)
        control = results.detectors[0] if has_control else None
        return nemenyi(results, control=control, rng=0, n_resamples=20)

    enough = next(n for n in range(1, 20) if compared(n).significant_pairs)
    assert enough > 1
    assert not any("would do" in note for note in compared(enough).notes)
    assert f"; {enough} would do" in " ".join(compared(enough - 1).notes)
