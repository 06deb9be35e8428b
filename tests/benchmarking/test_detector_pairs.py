"""Each two detectors over data sets: differences, wins, p-values, and Bayesian probabilities."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fastad import ResultTable
from fastad.benchmarking import (
    bayesian_hierarchical_t,
    bayesian_signed_rank,
    multi_comparison_matrix,
    wilcoxon_holm,
)
from fastad.benchmarking.detector_pairs import PairMatrix
from fastad.errors import InvalidInputError, InvalidTypeError, UndefinedMeasureError
from fastad.plot import PairMatrixDisplay
from tests.support.drawn import draw, new_axes

Floats = npt.NDArray[np.float64]
hierarchical = partial(bayesian_hierarchical_t, test_fraction=0.1, rng=0)
signed_rank = partial(bayesian_signed_rank, rng=0)
FUNCTIONS: list[Callable[..., PairMatrix]] = [multi_comparison_matrix, signed_rank, hierarchical]


def table(values: Any, names: str = "abcdefgh", **options: Any) -> ResultTable:
    detectors = list(names[: np.shape(values)[1]])
    return ResultTable.from_arrays({"auc": values}, detectors=detectors, **options)


def splits(seed: int = 0, n: int = 12, k: int = 3, n_folds: int = 10) -> Floats:
    """Detectors of falling quality on data sets and folds."""
    rng = np.random.default_rng(seed)
    means = np.array([0.9, 0.885, 0.86, 0.8])[:k]
    by_dataset = rng.normal(means[:, None], 0.02, (n, k, 1))
    values: Floats = by_dataset + rng.normal(0, 0.03, (n, k, n_folds))
    return values


def test_cells_are_differences_wins_and_p_values() -> None:
    values = np.round(splits().mean(axis=2), 2)
    result = multi_comparison_matrix(table(values))
    assert list(result.detectors) == ["a", "b", "c"]
    test = wilcoxon_holm(table(values), rng=0)
    for i, j in ((0, 1), (0, 2), (1, 2), (2, 0)):
        change = np.round(values[:, i] - values[:, j], 6)
        assert result.mean_difference[i, j] == pytest.approx(change.mean(), abs=1e-12)
        counts = result.wins[i, j], result.ties[i, j], result.losses[i, j]
        assert counts == (np.sum(change > 0), np.sum(change == 0), np.sum(change < 0))
        places = [list(test.detectors).index(result.detectors[each]) for each in (i, j)]
        assert result.p_values[i, j] == test.p_values[places[0], places[1]]
    assert result.to_columns()["losses"] == [result.losses[p] for p in ((0, 1), (0, 2), (1, 2))]


def test_other_detectors_move_no_cell() -> None:
    values = splits(k=4).mean(axis=2)
    few, many = (multi_comparison_matrix(table(some)) for some in (values[:, :2], values))
    for name in ("mean_difference", "wins", "ties", "p_values"):
        assert np.array_equal(getattr(few, name), getattr(many, name)[:2, :2], equal_nan=True)


def test_lower_may_be_better() -> None:
    values = splits().mean(axis=2)
    options = {"detectors": list("abc"), "higher_is_better": {"cost": False}}
    result = multi_comparison_matrix(ResultTable.from_arrays({"cost": 1 - values}, **options))  # type: ignore[arg-type]
    up = multi_comparison_matrix(table(values))
    assert list(result.detectors) == list(up.detectors)
    assert np.array_equal(result.wins, up.wins)
    np.testing.assert_allclose(result.mean_difference, -up.mean_difference, atol=1e-12)
    np.testing.assert_allclose(result.shades, up.shades)


def slow_signed_rank(change: Floats, rope: float, n_draws: int, seed: int) -> Floats:
    """The definition: products of weights of all pairs of differences, and of 0."""
    change = np.append(change, 0.0)
    sums = change + change[:, None]
    above = (sums > 2 * rope) + 0.5 * (sums == 2 * rope)
    below = (sums < -2 * rope) + 0.5 * (sums == -2 * rope)
    alpha = np.append(np.ones(len(change) - 1), 0.5)
    weights = np.random.default_rng(seed).dirichlet(alpha, n_draws)
    high, low = (np.einsum("di,ij,dj->d", weights, x, weights) for x in (above, below))
    regions = np.argmax([low, 1 - low - high, high], axis=0)
    return np.bincount(regions, minlength=3) / n_draws


@pytest.mark.parametrize("rope", [0.0, 0.0078125, 0.03125])
def test_signed_rank_is_its_definition(rope: float) -> None:
    """Within four standard errors. Multiples of 1/128 are on the ends of regions, and exact."""
    values = np.round(128 * splits().mean(axis=2)) / 128
    result = bayesian_signed_rank(table(values), rope=rope, n_draws=20_000, rng=1)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        pair = (
            values[:, "abc".index(result.detectors[i])],
            values[:, "abc".index(result.detectors[j])],
        )
        worse, equivalent, better = slow_signed_rank(pair[0] - pair[1], rope, 20_000, 7)
        expected = (better, equivalent, worse)
        three = result.p_better[i, j], result.p_equivalent[i, j], result.p_worse[i, j]
        assert three == pytest.approx(expected, abs=4 * 0.5 * math.sqrt(2 / 20_000))
        assert sum(three) == pytest.approx(1)


@given(
    differences=st.lists(st.integers(-5, 5), min_size=1, max_size=8),
    rope=st.integers(0, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_signed_rank_with_many_ties(differences: list[int], rope: int, seed: int) -> None:
    """Signs and order of the detectors exchange better and worse."""
    first = np.zeros((len(differences), 2))
    first[:, 0] = differences
    options: dict[str, Any] = {"rope": rope, "n_draws": 200, "rng": seed}
    up, down = (bayesian_signed_rank(table(x), **options) for x in (first, -first))
    three = [x[0, 1] for x in (up.p_better, up.p_equivalent, up.p_worse)]
    assert sum(three) == pytest.approx(1)
    assert list(up.detectors) != list(down.detectors) or sum(differences) == 0
    if sum(differences):
        assert three == [x[0, 1] for x in (down.p_better, down.p_equivalent, down.p_worse)]
    if not any(differences):
        assert three == ([0.5, 0, 0.5] if rope == 0 else [0, 1, 0])


def slow_hierarchical(change: Floats, rho: float, rope: float) -> Floats:
    """Integrate the posterior over a grid of location, scale and degrees of freedom.

    Given the mean of a data set, its deviation has a closed integral; means are averaged over
    quantiles of Student's distribution.
    """
    n = change.shape[1]
    means = change.mean(axis=1)
    squares = ((change - means[:, None]) ** 2).sum(axis=1) / (1 - rho)
    weight = n / (1 + (n - 1) * rho)
    locations = np.linspace(-1, 1, 201) * np.abs(change).max()
    scales = np.geomspace(1e-4, 1.0, 61)
    df = 1 + np.geomspace(0.1, 1000, 8)
    # The prior: uniform shapes and rates, by their mean; cells of the logarithm's grid.
    shapes, rates = (np.linspace(low, high, 41)[:, None] for low, high in ((1, 2), (0.01, 0.1)))
    densities: Any = stats.gamma.pdf(df - 1, shapes[..., None], scale=1 / rates)
    density = densities.mean(axis=(0, 1))
    quantiles = stats.t.ppf((np.arange(200) + 0.5) / 200, df[:, None])
    log_posterior = np.empty((len(df), len(scales), len(locations)))
    for i, scale in enumerate(scales):
        at = locations[:, None, None] + scale * quantiles
        log_posterior[:, i] = np.log(density * (df - 1) * scale)[:, None]
        for mean, square in zip(means, squares, strict=True):
            likelihood = (square + weight * (mean - at) ** 2) / square
            averaged = (likelihood ** (-(n - 1) / 2)).mean(axis=2)
            log_posterior[:, i] += np.log(averaged).T
    posterior = np.exp(log_posterior - log_posterior.max())
    of_grid = df[:, None, None], locations, scales[:, None]
    above: Any = stats.t.sf(rope, *of_grid)
    below: Any = stats.t.cdf(-rope, *of_grid)
    regions = np.argmax([below, 1 - above - below, above], axis=0)
    fractions: Floats = np.bincount(regions.ravel(), posterior.ravel(), 3) / posterior.sum()
    return fractions


@pytest.mark.evidence
@pytest.mark.parametrize("between", [0.002, 0.03])
def test_hierarchical_posterior_is_that_of_a_grid(between: float) -> None:
    """Data sets that differ less than their means are known, and more."""
    rng = np.random.default_rng(5)
    change = rng.normal(0.012, between, (5, 1)) + rng.normal(0, 0.03, (5, 6))
    values = np.stack([0.8 + change, np.full((5, 6), 0.8)], axis=1)
    result = bayesian_hierarchical_t(table(values), test_fraction=1 / 6, n_draws=40_000, rng=1)
    worse, equivalent, better = slow_hierarchical(change, 1 / 6, 0.01)
    i = list(result.detectors).index("a")
    three = result.p_better[i, 1 - i], result.p_equivalent[0, 1], result.p_worse[i, 1 - i]
    assert three == pytest.approx((better, equivalent, worse), abs=0.012)
    assert result.monte_carlo_error < 0.01


@pytest.mark.slow
def test_hierarchical_with_unequal_folds() -> None:
    """Folds that one detector lacks do not count; data sets with fewer than two are left out."""
    values = splits()
    gaps = values.copy()
    gaps[0, 0, 3:], gaps[1, 1, 1:], gaps[2, 2, ::2] = math.nan, math.nan, math.nan
    result = hierarchical(table(gaps), n_draws=400)
    assert result.p_better[0, 2] > 0.9
    assert any("values are of fewer than 10 folds" in note for note in result.notes)
    both = values.copy()
    both[0, :, 3:], both[1, :, 1:], both[2, :, ::2] = math.nan, math.nan, math.nan
    pairs = [hierarchical(table(x[:, [0, 1]]), n_draws=400) for x in (gaps, both)]
    one_lacks, both_lack = (x.p_better[0, 1] for x in pairs)
    assert one_lacks == pytest.approx(both_lack, abs=0.1)
    # Folds are matched: a shift of one fold of both changes nothing.
    shifted = values + np.arange(10.0)
    one, other = (hierarchical(table(x), n_draws=400) for x in (values, shifted))
    np.testing.assert_allclose(one.p_better, other.p_better, atol=0.02)


@pytest.mark.slow
def test_hierarchical_with_data_sets_without_variance() -> None:
    values = splits()
    values[3, 1] = values[3, 0]
    result = hierarchical(table(values), n_draws=400)
    assert result.p_better[0, 2] > 0.9
    with pytest.raises(UndefinedMeasureError, match="of a and b without a region needs diff"):
        hierarchical(table(values), rope=0)
    values[:, 1] = values[:, 0]
    assert hierarchical(table(values[:, :2])).p_equivalent[0, 1] > 0.99


def test_differences_of_zero_have_no_sign() -> None:
    for name in ("auc", "fpr@tpr0.95"):
        result = multi_comparison_matrix(
            ResultTable.from_arrays({name: [[0.5, 0.5], [0.7, 0.7]]}, detectors=["a", "b"])
        )
        assert not np.signbit(result.mean_difference).any()
        assert [result.cell(*pair)[0] for pair in ((0, 1), (1, 0))] == ["0.0000", "0.0000"]


def test_printed_matrices() -> None:
    auc = [[0.9, 0.8], [0.9, 0.9], [0.8, 0.7], [0.7, 0.8]]
    assert str(multi_comparison_matrix(table(auc))).splitlines() == [
        "auc                           a                      b",
        "a 0.8250                      -  +0.0250, 2-1-1, p = 1",
        "b 0.8000  -0.0250, 1-1-2, p = 1                      -",
        "row minus column; wins, ties, losses of the row; p of Wilcoxon's test, not adjusted",
    ]
    result = signed_rank(table(np.array(auc) * [1, 0.5]))
    assert str(result).splitlines() == [
        "auc                 a                 b",
        "a                   -  1.00, 0.00, 0.00",
        "b    0.00, 0.00, 1.00                 -",
        "row better, equivalent within 0.01, worse (signed-rank, 4 data sets; Monte Carlo error at "
        f"most {result.monte_carlo_error:.2g})",
    ]
    assert result.to_columns()["p_better"] == [result.p_better[0, 1]]


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_displays_show_the_cells(function: Callable[..., PairMatrix]) -> None:
    matrix = function(table(splits(n=6)))
    display = PairMatrixDisplay(matrix).plot(new_axes())
    draw(display)
    assert set(display.texts_) == {(i, j) for i in range(3) for j in range(3) if i != j}
    for (i, j), text in display.texts_.items():
        assert text.get_text().split("\n") == list(matrix.cell(i, j))
    shades: Floats = np.ma.filled(np.ma.asarray(display.image_.get_array()), np.nan)
    np.testing.assert_array_equal(shades, matrix.shades)
    assert shades[0, 2] == -shades[2, 0] > 0
    with pytest.raises(InvalidTypeError, match=r"matrix must be .*; found str"):
        PairMatrixDisplay("auc")  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("function", FUNCTIONS)
def test_missing_cells_and_refusals(function: Callable[..., PairMatrix]) -> None:
    values = splits(n=6)
    gaps = values.copy()
    gaps[2, 1] = math.nan
    with_gap, without = function(table(gaps)), function(table(np.delete(values, 2, axis=0)))
    assert np.array_equal(with_gap.shades, without.shades, equal_nan=True)
    assert any("1 of 6 data sets is left out" in note for note in with_gap.notes)
    gaps[:, 1] = math.nan
    with pytest.raises(UndefinedMeasureError, match=r"found 0 \(auc: 6 of 6 data sets"):
        function(table(gaps))
    one = ResultTable.from_arrays({"auc": values}, detectors=["a"] * 3, params=list("123"))
    with pytest.raises(InvalidInputError, match="two detectors to rank"):
        function(one)
    values[1, 2, 3] = math.inf
    with pytest.raises(UndefinedMeasureError, match="finite values; found inf of c on 1"):
        function(table(values))


def test_refusals_of_the_bayesian_tests() -> None:
    for function in (signed_rank, hierarchical):
        with pytest.raises(InvalidInputError, match="rope must be at least 0; found -1"):
            function(table(splits()), rope=-1)
        with pytest.raises(InvalidInputError, match="n_draws must be at least 1"):
            function(table(splits()), n_draws=0)
    with pytest.raises(InvalidInputError, match="test_fraction must lie strictly between"):
        bayesian_hierarchical_t(table(splits()), test_fraction=1)
    with pytest.raises(UndefinedMeasureError, match=r"need two data sets .* found 1"):
        hierarchical(table(splits(n=1)))
    with pytest.raises(UndefinedMeasureError, match="in two splits of two data sets; found 0"):
        hierarchical(table(splits(n_folds=1)))


def test_problems_of_a_data_set_share_weights() -> None:
    """Twice the same rows tell no more of other data sets."""
    values = splits(n=5).mean(axis=2)
    rows: dict[str, list[Any]] = {"dataset": [], "detector": [], "anomaly_class": [], "auc": []}
    for i, row in enumerate(values.tolist()):
        for name, value in zip("abc", row, strict=True):
            for anomaly_class in ("x", "y"):
                cells = (i, name, anomaly_class, value)
                for column, cell in zip(rows, cells, strict=True):
                    rows[column].append(cell)
    twice = bayesian_signed_rank(rows, n_draws=20_000, rng=0)
    once = bayesian_signed_rank(table(values), n_draws=20_000, rng=0)
    np.testing.assert_allclose(twice.p_better, once.p_better, atol=4 * 0.5 * math.sqrt(2 / 20_000))


def test_problems_of_data_sets_have_the_posterior_of_these_alone() -> None:
    """Of three data sets the difference of 0 counts for much; within four standard errors."""
    values = np.array([[0.9, 0.853], [0.8, 0.831], [0.7, 0.662]])
    rows: dict[str, list[Any]] = {"dataset": [], "detector": [], "anomaly_class": [], "auc": []}
    for (i, j), value in np.ndenumerate(values):
        for anomaly_class in "vwxyz":
            cells = (i, "ab"[j], anomaly_class, value)
            for column, cell in zip(rows, cells, strict=True):
                rows[column].append(cell)
    result = bayesian_signed_rank(rows, n_draws=20_000, rng=0)
    assert list(result.detectors) == ["a", "b"]
    worse, equivalent, better = slow_signed_rank(values[:, 0] - values[:, 1], 0.01, 20_000, 7)
    three = result.p_better[0, 1], result.p_equivalent[0, 1], result.p_worse[0, 1]
    expected = (better, equivalent, worse)
    assert three == pytest.approx(expected, abs=4 * 0.5 * math.sqrt(2 / 20_000))
