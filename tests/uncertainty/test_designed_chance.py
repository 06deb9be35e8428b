"""The chance level of samples in clusters and in time."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.signal import lfilter

import fastad
from fastad import InvalidInputError, UndefinedMeasureError

RNG = np.random.default_rng(0)
CLUSTERS = np.repeat(np.arange(12), 5)
Y = (RNG.random(12) < 0.4)[CLUSTERS] ^ (RNG.random(60) < 0.1)
S = np.round(RNG.normal(size=12)[CLUSTERS] + RNG.normal(size=60) + Y, 1)


def area(y: Any, s: Any) -> float:
    pairs = [(a > b) + (a == b) / 2 for a in s[y] for b in s[~y]]
    return float(np.mean(pairs))


def test_a_series_is_compared_with_all_its_shifts() -> None:
    result = fastad.chance_level(Y, S, measure="auc", blocks=3)
    values = np.array([area(np.roll(Y, shift), S) for shift in range(60)])
    assert result.method == "exact"
    assert result.value == pytest.approx(area(Y, S), rel=1e-12)
    assert result.p_value == pytest.approx(np.mean(values >= result.value - 1e-9), rel=1e-12)
    assert result.expected == pytest.approx(0.5, abs=1e-12)
    assert result.standard_deviation == pytest.approx(values.std(), rel=1e-9)
    drawn = fastad.chance_level(Y, S, measure="auc", blocks=3, n_resamples=50, rng=1)
    assert (drawn.method, drawn.n_resamples) == ("permutation", 50)
    assert drawn.p_value == pytest.approx(result.p_value, abs=0.25)


@pytest.mark.slow
def test_labels_are_exchanged_between_clusters_of_a_size() -> None:
    """Three clusters of two rows and nine of one, each turned: all outcomes are enumerated."""
    clusters = np.array([0, 0, 1, 1, 2, 2, *range(3, 12)])
    y = np.array([1, 0, 0, 0, 1, 1, 1, *[0] * 8]).astype(bool)
    s = np.random.default_rng(5).permutation(15).astype(float)
    values = []
    turned = itertools.product((1, -1), repeat=3)
    for order, turns in itertools.product(itertools.permutations(range(3)), list(turned)):
        pairs = [y[2 * k : 2 * k + 2][::turn] for k, turn in zip(order, turns, strict=True)]
        for first in range(9):
            values.append(area(np.concatenate([*pairs, np.arange(9) == first]), s))
    result = fastad.chance_level(y, s, measure="auc", clusters=clusters, n_resamples=4000, rng=0)
    # Standard errors of 4 000 draws: below 0.008 of a probability, 1/60 of a deviation of a mean.
    assert result.p_value == pytest.approx(np.mean(np.array(values) >= area(y, s) - 1e-9), abs=0.03)
    deviation = float(np.std(values))
    assert result.expected == pytest.approx(np.mean(values), abs=deviation / 15)
    assert result.standard_deviation == pytest.approx(deviation, rel=0.06)


@pytest.mark.parametrize("design", [{"clusters": CLUSTERS}, {"blocks": 3}])
@pytest.mark.parametrize("with_intervals", [False, True])
def test_tables_have_the_level_of_each_measure(design: Any, with_intervals: bool) -> None:
    table = fastad.evaluate(
        Y,
        {"a": S, "b": -S},
        measures=["auc", "tpr@0.2", "ap"],
        chance=True,
        confidence_level=0.9 if with_intervals else None,
        n_resamples=100,
        rng=3,
        **design,
    )
    for name, scores in (("a", S), ("b", -S)):
        for key, result in table[name].chance.items():
            alone = fastad.chance_level(Y, scores, measure=key, n_resamples=100, rng=3, **design)
            assert repr(result) == repr(alone)
        assert list(table[name].chance) == ["auc", "tpr@0.2", "ap"]
        assert bool(table[name].intervals) == with_intervals


def test_weights_beside_clusters_have_no_level() -> None:
    weights = np.where(np.arange(60) == 7, 2, 1)
    table = fastad.evaluate(
        Y, S, measures=["auc"], chance=True, clusters=CLUSTERS, sample_weight=weights
    )
    assert not table["score"].chance
    assert "weights" in table["score"].interval_errors["auc"]


def test_a_cluster_for_each_row_changes_nothing() -> None:
    for measure in ("auc", "ap", "tpr@0.1"):
        plain = fastad.chance_level(Y, S, measure=measure, rng=0, n_resamples=200)
        alone = np.random.default_rng(1).permutation(60)
        result = fastad.chance_level(Y, S, measure=measure, rng=0, n_resamples=200, clusters=alone)
        assert repr(result) == repr(plain)


@pytest.mark.parametrize("design", [{"clusters": CLUSTERS}, {"blocks": 2}])
def test_threads_change_no_bit(design: dict[str, Any]) -> None:
    results = {
        repr(fastad.chance_level(Y, S, measure="ap", n_resamples=40, rng=3, n_threads=n, **design))
        for n in (1, 2, 3)
    }
    assert len(results) == 1


@pytest.mark.parametrize(
    ("design", "error", "message"),
    [
        ({"clusters": CLUSTERS[1:]}, InvalidInputError, "clusters must have one value"),
        ({"clusters": np.where(Y, np.nan, 1.0)}, InvalidInputError, "clusters must not have"),
        ({"clusters": CLUSTERS, "blocks": 5}, InvalidInputError, "blocks must not be given"),
        ({"blocks": 61}, InvalidInputError, "blocks must be at most the number of rows, 60"),
        ({"blocks": 20}, UndefinedMeasureError, "10 blocks; found 3"),
        ({"clusters": np.arange(60) % 9}, UndefinedMeasureError, "10 clusters; found 9"),
    ],
)
def test_bad_designs_are_named(design: dict[str, Any], error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        fastad.chance_level(Y, S, measure="auc", **design)


def test_the_chance_level_of_rows_sorted_by_label_is_a_half() -> None:
    """Anomalies stayed among the last rows of their clusters: the level was 0.7."""
    rng = np.random.default_rng(0)
    y = np.arange(600) >= 540
    s = rng.normal(size=600) + 2 * y
    for clusters in (rng.permutation(np.arange(600) % 60), rng.integers(0, 60, 600)):
        for rows in (np.arange(600), rng.permutation(600)):
            result = fastad.chance_level(
                y[rows], s[rows], measure="auc", clusters=clusters[rows], n_resamples=400, rng=0
            )
            assert result.expected == pytest.approx(0.5, abs=0.05)
            assert result.adjusted > 0.75
            assert result.p_value < 0.01


def test_clusters_that_all_differ_in_size_cannot_be_exchanged() -> None:
    clusters = np.repeat(np.arange(12), np.arange(1, 13))
    y = clusters % 2 == 0
    with pytest.raises(UndefinedMeasureError, match="found none among 12 clusters of 12 sizes"):
        fastad.chance_level(y, np.arange(78.0), measure="auc", clusters=clusters)


@pytest.mark.evidence
def test_p_values_are_small_as_rarely_as_they_say_where_plain_ones_are_small_often() -> None:
    rejected = np.zeros((2, 2))
    clusters = np.repeat(np.arange(60), 10)
    for seed in range(60):
        rng = np.random.default_rng(seed)
        in_clusters = (rng.random(60) < 0.3)[clusters], rng.normal(size=60)[clusters]
        noise = lfilter([1], [1, -0.9], rng.normal(size=(2, 900)))[:, 300:]
        in_time = noise[0] > 1, noise[1]
        designs: list[dict[str, Any]] = [{"clusters": clusters}, {"blocks": "auto"}]
        for i, ((y, s), design) in enumerate(zip((in_clusters, in_time), designs, strict=True)):
            for j, options in enumerate((design, {})):
                level = fastad.chance_level(
                    y, s, measure="auc", rng=seed, n_resamples=99, **options
                )
                rejected[i, j] += level.p_value <= 0.05
    # 5 % of 60, and three standard deviations more.
    assert (rejected[:, 0] <= 8).all()
    assert (rejected[:, 1] >= 10).all()
