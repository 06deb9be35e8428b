"""The variance of data sets, and that of seeds within them."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from fastad import ResultTable
from fastad.benchmarking import rank_intervals, variance_components
from fastad.errors import InvalidInputError, UndefinedMeasureError

Floats = npt.NDArray[np.float64]


def table(values: Any, **options: Any) -> ResultTable:
    detectors = list("abcdef"[: np.shape(values)[1]])
    return ResultTable.from_arrays({"auc": values}, detectors=detectors, **options)


def seeds(n: int = 12, m: int = 4, between: float = 0.05, within: float = 0.02) -> Floats:
    rng = np.random.default_rng(n)
    values: Floats = rng.normal([[0.9], [0.8]], between, (n, 2, 1))
    return values + rng.normal(0, within, (n, 2, m))


def test_components_are_those_of_the_analysis_of_variance() -> None:
    """Of balanced tables: the expectations of the two mean squares, solved."""
    values = seeds()
    n, _, m = values.shape
    result = variance_components(table(values))
    assert list(result.detectors) == ["a", "b"]
    for j in range(2):
        y = values[:, j]
        mean_square_within = np.sum((y - y.mean(axis=1, keepdims=True)) ** 2) / (n * (m - 1))
        mean_square_between = m * np.sum((y.mean(axis=1) - y.mean()) ** 2) / (n - 1)
        between = (mean_square_between - mean_square_within) / m
        assert result.within[j].value == pytest.approx(math.sqrt(mean_square_within))
        assert result.between[j].value == pytest.approx(math.sqrt(between))
        # What is known of the mean is what its data sets say, whatever they are made of.
        errors = result.standard_errors()
        assert errors[j] == pytest.approx(y.mean(axis=1).std(ddof=1) / math.sqrt(n))
        assert result.standard_errors(n_datasets=4 * n)[j] == pytest.approx(errors[j] / 2)
        limit = result.standard_errors(n_seeds=10**9)[j]
        assert limit == pytest.approx(result.between[j].value / math.sqrt(n))
    assert result.mean.tolist() == pytest.approx(values.mean(axis=(0, 2)).tolist())
    assert result.n_seeds.tolist() == [m, m]


def test_intervals_are_those_of_the_formulas() -> None:
    values = seeds(n=7, m=3)
    result, y = variance_components(table(values)), values[:, 0]
    variances, means = y.var(axis=1, ddof=1), y.mean(axis=1)
    t, tail = stats.t.ppf(0.975, 6), stats.chi2.ppf([0.975, 0.025], 6)

    def jackknife(numbers: Floats, statistic: Any) -> Floats:
        logs = [math.log(statistic(np.delete(numbers, i))) for i in range(7)]
        error = math.sqrt(6 / 7 * sum((x - np.mean(logs)) ** 2 for x in logs))
        return np.array(statistic(numbers) * np.exp([-t * error, t * error]))

    within = jackknife(variances, np.mean)
    of_means = jackknife(means, lambda x: x.var(ddof=1))
    exact = 6 * means.var(ddof=1) / tail
    of_means = np.array([min(of_means[0], exact[0]), max(of_means[1], exact[1])])
    among, left = means.var(ddof=1), variances.mean() / 3
    less = math.hypot(among - of_means[0], within[1] / 3 - left)
    more = math.hypot(of_means[1] - among, left - within[0] / 3)
    deviation = result.within[0].low, result.within[0].high
    assert deviation == pytest.approx(np.sqrt(within))
    ends = max(among - left - less, 0), among - left + more
    assert (result.between[0].low, result.between[0].high) == pytest.approx(np.sqrt(ends))


def test_seeds_may_differ_by_data_set() -> None:
    values = seeds()
    values[0, :, 1:] = math.nan  # one seed
    values[1, :, 2:] = math.nan
    values[2, 1] = math.nan  # no value of one detector
    result = variance_components(table(values))
    kept = np.delete(values, 2, axis=0)[:, 0]
    spread = np.nanvar(kept[1:], axis=1, ddof=1).mean()
    left = np.mean([1, 1 / 2, *[1 / 4] * 9])
    among = np.nanmean(kept, axis=1).var(ddof=1)
    assert result.within[0].value == pytest.approx(math.sqrt(spread))
    assert result.between[0].value == pytest.approx(math.sqrt(among - left * spread))
    assert result.n_seeds[0] == pytest.approx(1 / left)
    assert result.n_datasets == 11
    assert any("1 of 12 data sets is left out" in note for note in result.notes)


def test_differences_are_taken_seed_by_seed() -> None:
    """What a seed adds to both cancels."""
    values = seeds()
    shared = values + np.random.default_rng(1).normal(0, 9, (12, 1, 4))
    one, other = (variance_components(table(x), control="b") for x in (values, shared))
    assert list(one.detectors) == ["a"]
    assert one.within[0].value == pytest.approx(other.within[0].value)
    plain = variance_components(table(np.stack([values[:, 0] - values[:, 1], values[:, 1]], 1)))
    assert one.between[0].value == pytest.approx(
        plain.between[list(plain.detectors).index("a")].value
    )
    assert one.notes[0] == "differences from b"
    values[3, 0, 1:], values[3, 1, :1] = math.nan, math.nan
    with pytest.raises(UndefinedMeasureError, match=r"b need a seed in common .* of a on 3"):
        variance_components(table(values), control="b")


def test_problems_of_a_data_set_are_one() -> None:
    values = seeds()
    rows: dict[str, list[Any]] = {name: [] for name in ("dataset", "detector", "fold", "auc")}
    rows["anomaly_class"] = []
    for (i, j, fold), value in np.ndenumerate(values):
        for anomaly_class in "xy":
            cells = f"d{i:02}", "ab"[j], fold, value, anomaly_class
            for name, cell in zip(rows, cells, strict=True):
                rows[name].append(cell)
    twice, once = variance_components(rows), variance_components(table(values))
    assert twice.within[0].value == pytest.approx(once.within[0].value)
    assert twice.standard_errors() == pytest.approx(once.standard_errors())
    assert twice.n_datasets == 12


def test_an_interval_over_seeds_is_warned_of() -> None:
    much, little = (
        variance_components(table(seeds())),
        variance_components(table(seeds(between=0.0001, within=0.1))),
    )
    error = much.standard_errors()
    of_seeds = [x.value / math.sqrt(48) for x in much.within]
    ratio = np.median(error / of_seeds)
    warning = f"intervals over seeds alone are {ratio:.1f} times too short for other data sets"
    assert much.notes[0].startswith(warning)
    assert not any("too short" in note for note in little.notes)
    assert any(x.low == 0 for x in little.between)
    # The same where ranks are asked for, of one data set.
    with pytest.raises(UndefinedMeasureError, match="seeds of one data set say nothing of others"):
        rank_intervals(table(seeds(n=1)))


def test_detectors_without_seeds_do_not_vary() -> None:
    values = np.repeat(seeds(m=1), 3, axis=2)
    result = variance_components(table(values))
    assert (result.within[0].value, result.within[0].high) == (0, 0)
    assert result.between[0].low > 0
    assert not any("too short" in note for note in result.notes)
    # Of one data set whose seeds vary, nothing bounds the variance of the others.
    values[3, 0, 0] += 0.1
    assert variance_components(table(values)).within[0].high == math.inf
    two = variance_components(table(seeds(n=2)))
    assert math.isnan(two.between[0].low)
    assert two.between[0].value > 0


def test_equal_values_do_not_vary_by_rounding() -> None:
    for value in (0.5, 0.7):
        result = variance_components(table(np.full((6, 2, 3), value)))
        for part in (*result.between, *result.within):
            assert (part.value, part.low, part.high) == (0, 0, 0)


def test_printed_table() -> None:
    values = np.round(seeds(), 3)
    result = variance_components(table(values))
    lines = str(result).splitlines()
    head = "auc    mean  std of data sets, 95 % interval  std of seeds, 95 % interval   error"
    assert lines[0].startswith(head)
    assert lines[0].endswith("twice the seeds  twice the data sets")
    between, within = result.between[0], result.within[0]
    assert f"{between.value:.4f} [{between.low:.4f}, {between.high:.4f}]" in lines[1]
    assert f"{within.value:.4f} [{within.low:.4f}, {within.high:.4f}]" in lines[1]
    columns = result.to_columns()
    assert columns["between_low"] == [each.low for each in result.between]
    assert columns["standard_error"] == result.standard_errors().tolist()


def test_refusals() -> None:
    with pytest.raises(UndefinedMeasureError, match=r"found 1\. One data set says nothing"):
        variance_components(table(seeds(n=1)))
    with pytest.raises(UndefinedMeasureError, match="values with two seeds; found 0"):
        variance_components(table(seeds(m=1)))
    with pytest.raises(InvalidInputError, match="control must be one of a, b; found 'c'"):
        variance_components(table(seeds()), control="c")
    with pytest.raises(InvalidInputError, match="n_seeds must be at least 1"):
        variance_components(table(seeds())).standard_errors(n_seeds=0)
    values = seeds()
    values[2, 1, 1] = math.inf
    with pytest.raises(UndefinedMeasureError, match="finite values; found inf of b on 2"):
        variance_components(table(values))


@pytest.mark.evidence
def test_intervals_cover_the_deviations() -> None:
    """Of ten data sets and three seeds; below 95 % by three standard errors at most."""
    rng, n_tables = np.random.default_rng(1), 600
    covered = np.zeros(2)
    for _ in range(n_tables):
        values = rng.normal(0, 1, (10, 2, 1)) + rng.normal(0, 1, (10, 2, 3))
        result = variance_components(table(values))
        for part, deviation in enumerate((result.between[0], result.within[0])):
            covered[part] += deviation.low <= 1 <= deviation.high
    assert covered.min() / n_tables >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / n_tables)
