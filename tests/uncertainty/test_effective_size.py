"""Bands and thresholds with a guarantee of samples in clusters, in time, and with real weights."""

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, norm, t

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.errors import LowCoverageWarning
from fastad.uncertainty import precision_recall_band, roc_band

RNG = np.random.default_rng(0)
N = 1200
CLUSTERS = np.repeat(np.arange(60), 20)
Y = RNG.random(N) < 0.3
S = np.round(RNG.normal(size=60)[CLUSTERS] + RNG.normal(size=N) + 1.5 * Y, 1)
WEIGHTS = RNG.integers(0, 4, N)
REAL = RNG.random(N) + 0.1


def guarantee_of_clusters(s: Any, clusters: Any, fpr: float, level: float) -> tuple[Any, float]:
    """Return the threshold and the effective size by Korn and Graubard 1998, row by row."""
    names = sorted(set(clusters))
    k = len(names)
    effects = [1.0]
    rate = fpr
    while rate <= 0.5:
        cut = sorted(s, reverse=True)[int(np.ceil(round(rate * len(s), 9))) - 1]
        p = sum(x >= cut for x in s) / len(s)
        if p < 1:
            sums = [
                sum((x >= cut) - p for x, c in zip(s, clusters, strict=True) if c == name)
                for name in names
            ]
            variance = k / (k - 1) * sum(z * z for z in sums) / len(s) ** 2
            effects.append(variance / (p * (1 - p) / len(s)))
        rate *= 2
    n = len(s) / max(effects) * (norm.ppf(level) / t.ppf(level, k - 1)) ** 2
    for threshold in sorted(set(s)):
        # The rate strictly above a score, for thresholds between it and the next one.
        errors = sum(x > threshold for x in s) / len(s) * n
        if n - errors > 0 and beta.ppf(level, errors + 1, n - errors) <= fpr:
            return threshold, n
    return None, n


@pytest.mark.filterwarnings("ignore:with .* clusters of equal size")
@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.1, 0.2, 0.45]))
def test_a_guarantee_in_clusters_is_that_of_the_definition(seed: int, fpr: float) -> None:
    rng = np.random.default_rng(seed)
    clusters = rng.permutation(np.arange(160) % 40)
    s = rng.permutation(160) / 8 + rng.normal(scale=5, size=40)[clusters]
    below, n = guarantee_of_clusters(s.tolist(), clusters.tolist(), fpr, 0.9)
    if below is None:
        with pytest.raises(UndefinedMeasureError, match="independent scores; found 160 in 40 clus"):
            fastad.threshold_with_guarantee(s, fpr=fpr, confidence_level=0.9, clusters=clusters)
        return
    result = fastad.threshold_with_guarantee(s, fpr=fpr, confidence_level=0.9, clusters=clusters)
    assert result.n_effective == pytest.approx(n, rel=1e-9)
    assert result.threshold == np.nextafter(below, np.inf)
    assert result.n_exceeding == np.count_nonzero(s > below)
    mirrored = fastad.threshold_with_guarantee(
        -s, tpr=1 - fpr, confidence_level=0.9, clusters=clusters
    )
    assert mirrored.threshold == -below
    assert mirrored.n_exceeding == result.n_exceeding


def test_a_cluster_for_each_row_changes_nothing() -> None:
    alone = RNG.permutation(N)
    for function in (roc_band, precision_recall_band):
        for at_once in (False, True):
            plain = function(Y, S, simultaneous=at_once)
            result = function(Y, S, simultaneous=at_once, clusters=alone)
            np.testing.assert_array_equal(result.low, plain.low)
            np.testing.assert_array_equal(result.high, plain.high)
    assert fastad.threshold_with_guarantee(S, fpr=0.1, clusters=alone) == (
        fastad.threshold_with_guarantee(S, fpr=0.1)
    )


@pytest.mark.filterwarnings("ignore:with .* clusters of equal size")
@pytest.mark.parametrize("design", [{}, {"clusters": CLUSTERS}])
def test_whole_weights_repeat_rows(design: dict[str, Any]) -> None:
    rows = np.repeat(np.arange(N), WEIGHTS)
    again = {name: values[rows] for name, values in design.items()}
    grids: list[tuple[Any, dict[str, Any]]] = [
        (roc_band, {"fpr": [0.01, 0.1, 0.4]}),
        (precision_recall_band, {"recall": [0.2, 0.5, 0.9]}),
    ]
    for function, grid in grids:
        result = function(Y, S, sample_weight=WEIGHTS, **grid, **design)
        expected = function(Y[rows], S[rows], **grid, **again)
        np.testing.assert_allclose(result.low, expected.low, rtol=1e-12)
        np.testing.assert_allclose(result.high, expected.high, rtol=1e-12)
    weighted = fastad.threshold_with_guarantee(S, fpr=0.1, sample_weight=WEIGHTS, **design)
    repeated = fastad.threshold_with_guarantee(S[rows], fpr=0.1, **again)
    assert weighted.threshold == repeated.threshold
    assert (weighted.n_samples, weighted.n_exceeding) == (repeated.n_samples, repeated.n_exceeding)


@pytest.mark.filterwarnings("ignore:with .* of equal size")
@pytest.mark.parametrize("n", [120, 1200])
def test_equal_weights_of_any_size_are_none(n: int) -> None:
    """Sums of them that miss a rate or a rank by rounding are at the next one."""
    rng = np.random.default_rng(0)
    y = rng.random(n) < 0.1
    scores = rng.normal(size=n) + y
    for design in ({"clusters": rng.integers(0, n // 4, n)}, {"blocks": 3}):
        for function in (roc_band, precision_recall_band):
            expected = function(y, scores, **design)
            for weight in (0.3, 300.15):
                result = function(y, scores, sample_weight=np.full(n, weight), **design)
                np.testing.assert_allclose(result.low, expected.low, rtol=1e-9)
                np.testing.assert_allclose(result.high, expected.high, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:with .* (blocks|clusters) of equal size")
@pytest.mark.parametrize(
    "design", [{"clusters": CLUSTERS}, {"blocks": 8}, {"blocks": "auto"}, {"sample_weight": REAL}]
)
@pytest.mark.parametrize("function", [roc_band, precision_recall_band])
def test_bands_of_designs_are_wider_and_enclose_the_curve(
    function: Any, design: dict[str, Any]
) -> None:
    each = function(Y, S, **design)
    whole = function(Y, S, simultaneous=True, **design)
    assert (each.low <= each.high).all()
    assert (whole.low <= each.low).all()
    assert (whole.high >= each.high).all()
    if "sample_weight" not in design:
        x = getattr(each, "fpr" if function is roc_band else "recall")
        grid = {"fpr" if function is roc_band else "recall": x[:-1]}
        plain, same = function(Y, S, **grid), function(Y, S, **grid, **design)
        assert (same.low <= plain.low + 1e-12).all()
        assert (same.high >= plain.high - 1e-12).all()


@pytest.mark.parametrize(
    ("design", "error", "message"),
    [
        ({"clusters": CLUSTERS[1:]}, InvalidInputError, "clusters must have one value"),
        ({"clusters": np.where(Y, np.nan, 1.0)}, InvalidInputError, "clusters must not have"),
        ({"clusters": CLUSTERS, "blocks": 5}, InvalidInputError, "blocks must not be given"),
        ({"blocks": N + 1}, InvalidInputError, "blocks must be at most the number of rows, 1200"),
        ({"sample_weight": REAL[1:]}, InvalidInputError, "sample_weight must have one weight"),
        ({"sample_weight": -REAL}, InvalidInputError, "sample_weight must be finite"),
        ({"clusters": np.arange(N) % 9}, UndefinedMeasureError, "10 clusters; found 9"),
        ({"blocks": 200}, UndefinedMeasureError, "10 blocks; found 6"),
    ],
)
def test_bad_designs_are_named(design: dict[str, Any], error: Any, message: str) -> None:
    for call in (
        lambda: fastad.threshold_with_guarantee(S, fpr=0.1, **design),
        lambda: roc_band(Y, S, **design),
        lambda: precision_recall_band(Y, S, **design),
    ):
        with pytest.raises(error, match=message):
            call()


def test_few_clusters_are_warned_of() -> None:
    few = np.arange(N) % 20
    for call in (
        lambda: fastad.threshold_with_guarantee(S, fpr=0.2, clusters=few),
        lambda: roc_band(Y, S, clusters=few),
    ):
        with pytest.warns(LowCoverageWarning, match="clusters of equal size") as caught:
            call()
        # Once, also where both classes are in few.
        assert [warning.filename for warning in caught] == [__file__]
    one_with_half = np.where(np.arange(N) < N // 2, 0, np.arange(N) % 100)
    for call in (
        lambda: fastad.threshold_with_guarantee(
            S, fpr=0.3, confidence_level=0.5, clusters=one_with_half
        ),
        lambda: roc_band(Y, S, clusters=one_with_half),
    ):
        with pytest.warns(LowCoverageWarning, match=r"with 2\.\d+ clusters of equal size"):
            call()


@pytest.mark.evidence
def test_guarantees_and_bands_hold_where_those_of_independent_rows_do_not() -> None:
    kept, covered = np.zeros(2), np.zeros(2)
    truth = norm.sf(norm.isf(0.05) - 2)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        clusters = np.repeat(np.arange(150), 20)
        y = (rng.random(150) < 0.2)[clusters]
        s = (rng.normal(size=150)[clusters] + rng.normal(size=3000)) / np.sqrt(2)
        for i, design in enumerate((clusters, None)):
            result = fastad.threshold_with_guarantee(s, fpr=0.05, clusters=design)
            kept[i] += norm.sf(result.threshold) <= 0.05
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LowCoverageWarning)
                band = roc_band(y, s + 2 * y, fpr=0.05, clusters=design)
            covered[i] += band.low.item() <= truth <= band.high.item()
    # At least 95 % but for three standard deviations of 100.
    assert kept[0] >= 88
    assert covered[0] >= 88
    assert kept[1] <= 88
    assert covered[1] <= 88
