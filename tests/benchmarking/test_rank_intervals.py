"""Ranks of detectors over a population of data sets, and their simultaneous intervals."""

import math
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastad import ResultTable
from fastad._kernels.rank_tests import simultaneous
from fastad.benchmarking import average_ranks, rank_intervals
from fastad.benchmarking.rank_inference import largest_differences, step_down
from fastad.errors import InvalidInputError, UndefinedMeasureError

Floats = npt.NDArray[np.float64]


def table(values: Any, **options: Any) -> ResultTable:
    return ResultTable.from_arrays({"auc": values}, **options)


def slow_step_down(observed: Floats, drawn: list[Floats], alpha: float) -> npt.NDArray[np.bool_]:
    """All pairs that are left, anew in each step: the definition, of statistics of each pair."""
    better = np.zeros(observed.shape, np.bool_)
    every = np.array([observed, *drawn])
    while True:
        largest = np.where(better, 0.0, every).max(axis=(1, 2))
        p_values = np.mean(largest >= observed[..., None] * (1 - 1e-12), axis=-1)
        significant = (observed > 0) & (p_values <= alpha) & ~better
        if not significant.any():
            return better
        better |= significant


def statistics_of(values: Floats, weights: Floats) -> Floats:
    """Sums of weighted differences over the root of the sum of their weighted squares."""
    change = values[:, :, None] - values[:, None]
    squares = np.einsum("i,ijk->jk", np.abs(weights), change**2)
    sums = np.einsum("i,ijk->jk", weights, change)
    statistics: Floats = np.zeros_like(sums)
    np.divide(sums, np.sqrt(squares), out=statistics, where=squares > 0)
    return statistics


@given(
    seed=st.integers(0, 2**32 - 1),
    k=st.integers(2, 7),
    n=st.integers(1, 60),
    alpha=st.sampled_from([0.04, 0.2, 0.5]),
)
def test_steps_down_as_the_definition(seed: int, k: int, n: int, alpha: float) -> None:
    """With ties, equal detectors, and steps in which replicates are computed anew."""
    rng = np.random.default_rng(seed)
    values: Floats = rng.normal(size=(9, k)) + rng.uniform(0, 2) * np.arange(k)
    values = values.round(1)
    values[:, 0] = values[:, rng.integers(k)]
    signs = rng.choice([-1.0, 1.0], size=(9, n))
    sums, inverses = np.empty((k, n)), np.empty((k, k))
    simultaneous.weighted_sums(signs, values, sums)
    simultaneous.inverse_norms(values, inverses)
    np.testing.assert_allclose(sums, values.T @ signs, atol=1e-12)
    norms = np.sqrt(((values[:, :, None] - values[:, None]) ** 2).sum(axis=0))
    np.testing.assert_allclose(inverses * norms, norms > 0, atol=1e-12)
    observed = sums[:, 0] + 0  # a replicate: ties with the statistic itself
    statistics = (observed[:, None] - observed) * inverses
    drawn = [(each[:, None] - each) * inverses for each in sums.T]
    expected = slow_step_down(statistics, drawn, alpha)
    better = step_down(statistics, inverses, partial(largest_differences, sums), n, alpha)
    assert np.array_equal(better, expected)


@pytest.mark.parametrize("seed", range(3))
def test_random_signs_are_those_of_all_signs(seed: int) -> None:
    """Ten data sets have 1024 signs, of which all together are the exact test."""
    rng = np.random.default_rng(seed)
    values = rng.normal([0.9, 0.86, 0.85, 0.7], 0.03, (10, 4))
    signs = np.array(list(product([1.0, -1.0], repeat=10))).T
    drawn = [statistics_of(values, sign) for sign in signs.T[1:]]
    result = rank_intervals(table(values, detectors=list("abcd")), n_resamples=20_000, rng=1)
    order = [list("abcd").index(name) for name in result.detectors]
    # Monte Carlo error moves no level by a hundredth.
    least, most = (
        slow_step_down(statistics_of(values, signs[:, 0]), drawn, alpha) for alpha in (0.04, 0.06)
    )
    index = np.ix_(order, order)
    assert least.any()
    assert np.all(least[index] <= result.better)
    assert np.all(result.better <= most[index])
    assert result.low.tolist() == [1 + sum(result.better[:, j]) for j in range(4)]
    assert result.high.tolist() == [4 - sum(result.better[j]) for j in range(4)]


@pytest.mark.slow
@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 6), n=st.integers(2, 12))
def test_largest_resampled_statistic(seed: int, k: int, n: int) -> None:
    """Of the pairs that are left, in either direction; no data set may vary."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, k)).round(rng.integers(0, 3))
    values -= values.mean(axis=0)
    weights = rng.multinomial(n, np.full(n, 1 / n), 9).T.astype(float)
    factors = rng.integers(0, 2, (k, k)).astype(float)
    largest = np.empty(9)
    sums = (values.T @ weights).copy()
    simultaneous.largest_resampled(weights, values, sums, factors, np.empty(9), largest)
    drawn = [statistics_of(values, count) for count in weights.T]
    expected = [max(0.0, float(np.max(each * factors))) for each in drawn]
    np.testing.assert_allclose(largest, expected, atol=1e-9)


@given(seed=st.integers(0, 2**32 - 1), k=st.integers(2, 6), n=st.integers(2, 12))
def test_skewness_of_each_detector(seed: int, k: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    values, signs = rng.lognormal(size=(n, k)), rng.choice([-1.0, 1.0], n)
    values[:, 0] = values[:, -1] + 1  # a difference that does not vary
    sums, expected = np.empty(k), np.zeros(k)
    simultaneous.sum_skewness(signs, values, 1e-12, np.empty((2, n)), sums)
    for i, j in product(range(k), repeat=2):
        change = values[:, i] - values[:, j]
        change = (change - change.mean()) * signs
        if change.std() > 1e-9:
            expected[i] += (change.mean() - np.median(change)) / change.std()
    np.testing.assert_allclose(sums, expected, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_skewed_differences_are_resampled(seed: int) -> None:
    """By the studentized bootstrap, of differences about their mean."""
    rng = np.random.default_rng(seed)
    values = rng.lognormal(size=(30, 6)) * [9, 9, 9, 1, 1, 1] + [40, 16, 4, 0, 0, 3]
    result = rank_intervals(table(values, detectors=list("abcdef")), rng=1)
    assert "studentized bootstrap" in result.notes[-1]
    order = ["abcdef".index(name) for name in result.detectors]
    centred = values - values.mean(axis=0)
    counts = rng.multinomial(30, np.full(30, 1 / 30), 4000).astype(float)
    drawn = [statistics_of(centred, count) for count in counts]
    observed = statistics_of(values, np.ones(30))
    # The Monte Carlo error of 1000 replicates.
    least, most = (slow_step_down(observed, drawn, alpha) for alpha in (0.03, 0.07))
    index = np.ix_(order, order)
    assert least.any()
    assert np.all(least[index] <= result.better)
    assert np.all(result.better <= most[index])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_skewness_is_that_of_random_signs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.lognormal(size=(12, 5)) ** rng.choice([0.1, 1.0]) * [1, 3, 1, 3, 1]
    values = values[:, np.argsort(-values.mean(axis=0))]
    pairs = [(i, j) for i in range(5) for j in range(5) if i != j]

    def sizes(signs: Floats) -> Floats:
        skewness = np.zeros((len(signs), 5))
        for i, j in pairs:
            change = values[:, i] - values[:, j]
            change = (change - change.mean()) * signs
            above = change.mean(axis=1) - np.median(change, axis=1)
            skewness[:, i] += above / change.std(axis=1)
        total: Floats = np.abs(skewness).sum(axis=1)
        return total

    drawn = sizes(rng.choice([-1.0, 1.0], (2000, 12)))
    p_value = np.mean(drawn >= sizes(np.ones((1, 12))) - 1e-9)
    noted = [
        any("are skewed" in note for note in rank_intervals(table(values), rng=i).notes)
        for i in range(40)
    ]
    # One of 39 random signs at most exceeds the data.
    expected = stats.binom.cdf(1, 39, p_value)
    assert np.mean(noted) == pytest.approx(expected, abs=4 * math.sqrt(0.25 / 40))
    assert not p_value > 0.3 or not any(noted)


def test_probabilities_are_those_of_weights_of_dirichlet() -> None:
    rng = np.random.default_rng(3)
    values = rng.normal([0.8, 0.79, 0.78], 0.03, (15, 3))
    result = rank_intervals(table(values), n_resamples=20_000, rng=1)
    means = rng.dirichlet(np.ones(15), 20_000) @ values
    ranks = 1 + (means[:, None] > means[:, :, None]).sum(axis=2)
    for i, name in enumerate(result.detectors):
        frequencies = [np.mean(ranks[:, int(name)] == rank) for rank in (1, 2, 3)]
        np.testing.assert_allclose(result.rank_probabilities[i], frequencies, atol=0.02)
    among = result.best_probabilities(2)
    np.testing.assert_allclose(among, result.rank_probabilities[:, :2].sum(axis=1))
    assert np.all(result.best_probabilities(9) == 1)


def test_printed_table() -> None:
    values = np.random.default_rng(0).normal([0.9, 0.89, 0.8], 0.02, (12, 3))
    result = rank_intervals(table(values, detectors=["knn", "lof", "svm"]), n_best=2, rng=0)
    assert str(result).splitlines() == [
        "auc    mean  mean rank  rank  95 % interval  P(best)  P(best 2)",
        "knn  0.8975       1.33     1         [1, 2]     0.96       1.00",
        "lof  0.8882       1.67     2         [1, 2]     0.04       1.00",
        "svm  0.7978       3.00     3         [3, 3]     0.00       0.00",
        "tied with the best at 95 %: knn, lof (2 of 3); 1 of 2 pairs of neighbours do not differ "
        "significantly (auc, mean value, 12 data sets)",
    ]
    columns = result.to_columns()
    assert columns["is_tied_with_best"] == [True, True, False]
    np.testing.assert_allclose(columns["mean"], values.mean(axis=0))
    expected = average_ranks(table(values), rng=0).mean[0]
    np.testing.assert_allclose(columns["mean_rank"], expected)


def test_ranks_by_mean_rank_do_not_heed_the_unit() -> None:
    values = np.random.default_rng(2).normal([0.9, 0.85, 0.7], 0.02, (12, 3))
    values[0, 2] = 80  # an outlier of the mean
    by_value = rank_intervals(table(values, detectors=list("abc")), rng=0)
    by_rank = rank_intervals(table(values, detectors=list("abc")), ranked_by="mean_rank", rng=0)
    assert by_value.detectors[0] == "c"
    assert list(by_rank.detectors) == ["a", "b", "c"]
    again = rank_intervals(table(np.exp(values)), ranked_by="mean_rank", rng=0)
    assert np.array_equal(again.better, by_rank.better)


def test_direction_and_unit_of_the_measure() -> None:
    values = np.random.default_rng(2).normal([0.9, 0.85, 0.7], 0.02, (12, 3))
    up = rank_intervals(table(values), rng=0)
    down = ResultTable.from_arrays({"cost": -1e-200 * values}, higher_is_better={"cost": False})
    result = rank_intervals(down, rng=0)
    assert np.array_equal(result.better, up.better)
    assert list(result.detectors) == list(up.detectors)
    assert result.mean[0] < 0


def test_equal_detectors_share_their_rank() -> None:
    values = np.random.default_rng(2).normal([0.9, 0.85, 0.7], 0.02, (12, 3))
    result = rank_intervals(table(values[:, [0, 0, 1, 2]]), n_best=1, rng=0)
    assert result.rank.tolist() == [1, 1, 3, 4]
    assert result.best_probabilities().tolist() == [1, 1, 0, 0]


def test_problems_of_a_data_set_count_together() -> None:
    """Each class of a data set twice is no more than once, whatever the means."""
    rng = np.random.default_rng(4)
    values = rng.normal([0.9, 0.88, 0.8], 0.03, (7, 3))
    rows: dict[str, list[Any]] = {"dataset": [], "detector": [], "anomaly_class": [], "auc": []}
    for i, row in enumerate(values.tolist()):
        for name, value in zip("abc", row, strict=True):
            for anomaly_class in ("x", "y"):
                cells = (i, name, anomaly_class, value)
                for column, cell in zip(rows, cells, strict=True):
                    rows[column].append(cell)
    twice, once = rank_intervals(rows, rng=0), rank_intervals(table(values), rng=0)
    assert np.array_equal(twice.better, once.better)
    assert np.array_equal(twice.rank_probabilities, once.rank_probabilities)
    assert "14 problems of 7 data sets" in twice.summary


def test_few_data_sets_show_nothing_and_say_so() -> None:
    values = np.tile([0.9, 0.5], (5, 1)) + 0.001 * np.arange(5)[:, None]
    result = rank_intervals(table(values), rng=0)
    assert result.high.tolist() == [2, 2]
    assert "5 data sets cannot show a difference at this level; 6 may" in result.notes
    assert rank_intervals(table(np.vstack([values, values[:1]])), rng=0).high.tolist() == [1, 2]


@pytest.mark.slow
def test_skewed_differences_are_noted() -> None:
    """Those of skewed noise of unequal size; of equal size, or rounded to ties, rarely."""
    rng = np.random.default_rng(7)
    n_noted = dict.fromkeys(("unequal", "ten data sets", "equal", "normal", "tied"), 0)
    scale = np.where(np.arange(20) % 2, 5, 1)
    for _ in range(10):
        skewed, normal = rng.lognormal(size=(40, 20)), rng.normal(size=(40, 20))
        values = {
            "unequal": skewed * scale,
            "ten data sets": skewed[:10] * scale,
            "equal": skewed,
            "normal": normal * scale,
            "tied": np.where(rng.random((40, 20)) < 0.1, normal.round(), 0),
        }
        for name, each in values.items():
            notes = rank_intervals(table(each), n_resamples=20, rng=rng).notes
            n_noted[name] += any("differences of detectors are skewed" in note for note in notes)
            by_rank = rank_intervals(table(each), n_resamples=20, ranked_by="mean_rank", rng=rng)
            assert not any("skewed" in note for note in by_rank.notes)
    assert n_noted["unequal"] == 10
    assert n_noted["ten data sets"] >= 7
    assert max(n_noted["normal"], n_noted["tied"]) <= 3
    assert n_noted["equal"] <= 5
    constant = np.tile([0.9, 0.8, 0.7], (12, 1)) + rng.normal(size=(12, 1))
    assert len(rank_intervals(table(constant), rng=0).notes) == 1


def test_missing_cells_leave_out_the_data_set() -> None:
    values = np.random.default_rng(2).normal([0.9, 0.85, 0.7], 0.02, (12, 3))
    gaps = values.copy()
    gaps[3, 1] = math.nan
    result = rank_intervals(table(gaps), rng=0)
    whole = rank_intervals(table(np.delete(values, 3, axis=0)), rng=0)
    assert np.array_equal(result.better, whole.better)
    assert np.array_equal(result.mean, whole.mean)
    assert any("1 of 12 data sets is left out" in note for note in result.notes)


def test_refusals() -> None:
    values = np.random.default_rng(2).normal([0.9, 0.85, 0.7], 0.02, (12, 3))
    with pytest.raises(UndefinedMeasureError, match=r"two data sets .* found 1. Folds or seeds"):
        rank_intervals(table(np.ones((1, 3, 10))))
    holes = np.where(np.eye(12, 3) > 0, math.nan, values)[:3]
    with pytest.raises(UndefinedMeasureError, match=r"found 0 .*3 of 3 data sets are left out"):
        rank_intervals(table(holes))
    one = table(values[:, :2], detectors=["knn", "knn"], params=["k=1", "k=2"])
    with pytest.raises(InvalidInputError, match="two detectors to rank"):
        rank_intervals(one)
    values[2, 1] = math.inf
    with pytest.raises(UndefinedMeasureError, match="found inf of 1 on 2: rank by mean_rank"):
        rank_intervals(table(values))
    assert rank_intervals(table(values), ranked_by="mean_rank").n_resamples == 2000
    for options, message in (
        ({"ranked_by": "median"}, "ranked_by must be"),
        ({"n_best": 0}, "n_best must be at least 1"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            rank_intervals(table(values), **options)


@pytest.mark.evidence
@pytest.mark.parametrize("n_datasets", [8, 40])
def test_equal_detectors_are_rarely_ranked(n_datasets: int) -> None:
    """Where all are equal any rejection is an error; below 5 % by three standard errors."""
    rng, wrong = np.random.default_rng(5), []
    scales = np.where(np.arange(12) % 2, 10.0, 1.0)
    n = 200
    for _ in range(n):
        values = rng.normal(size=(n_datasets, 12)) * scales
        wrong.append(rank_intervals(table(values), n_resamples=199, rng=rng).better.any())
    assert np.mean(wrong) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n)


@pytest.mark.evidence
@pytest.mark.parametrize("n_datasets", [10, 40])
def test_equal_detectors_of_skewed_differences_are_rarely_ranked(n_datasets: int) -> None:
    rng, wrong = np.random.default_rng(5), []
    scales = np.where(np.arange(20) % 2, 5.0, 1.0)
    n = 100
    for _ in range(n):
        values = (rng.lognormal(size=(n_datasets, 20)) - math.exp(0.5)) * scales
        wrong.append(rank_intervals(table(values), n_resamples=199, rng=rng).better.any())
    assert np.mean(wrong) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / n)


def test_replicates_that_are_too_few_for_the_level_are_named() -> None:
    values = np.random.default_rng(0).normal([0, 10, 20, 30], 1, (20, 4))
    few, enough = (rank_intervals(table(values), n_resamples=n, rng=0) for n in (18, 19))
    assert "18 replicates cannot show a difference at this level; 19 may" in few.notes
    assert not few.better.any()
    assert enough.better[0, 3]
    assert not any("replicates" in note for note in enough.notes)


@pytest.mark.parametrize(("n_datasets", "n_wins"), [(8, 7), (13, 10)])
def test_differences_of_one_size_tie_whatever_their_rounding(n_datasets: int, n_wins: int) -> None:
    """Sums of decimals differ by rounding: one table in six was significant at p = 0.07."""
    rng = np.random.default_rng(0)
    for seed in range(40):
        base = rng.uniform(0.5, 0.95, n_datasets).round(2)
        wins = rng.permutation(np.arange(n_datasets) < n_wins)
        values = np.column_stack([base, base - np.where(wins, 0.01, -0.01)]).round(2)
        assert not rank_intervals(table(values), rng=seed).better.any()
