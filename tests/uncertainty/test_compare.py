"""Comparisons of detectors: DeLong's test, shared replicates, permutations, corrections."""

import json
import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad._core.random import random_key
from fastad.measures.measure import BoundMeasure
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.uncertainty import Comparison
from fastad.uncertainty.bootstrap import plan, replicate_values
from fastad.uncertainty.corrections import CORRECTIONS
from fastad.uncertainty.influence import INFLUENCES
from fastad.uncertainty.paired import rank_detectors
from tests.support import oracles
from tests.support.operating import options_of
from tests.support.strategies import LAYOUTS, Sample, in_layout, samples

PROC = json.loads((Path(__file__).parents[1] / "golden" / "proc.json").read_text("utf-8"))
PROC_Y = [1] * 41 + [0] * 72
PRINTED = 1e-12

Y = np.array([0, 0, 0, 1, 0, 1, 1, 0, 1, 1])
A = np.array([1.0, 2, 3, 3, 4, 5, 6, 6, 7, 8])
B = np.array([2.0, 1, 3, 1, 5, 5, 9, 6, 4, 8])


@st.composite
def two_detectors(draw: st.DrawFn, max_size: int = 12, fewest: int = 2) -> Sample:
    """Labels with so many points of each class at least; two rows of scores with ties."""
    sample = draw(samples(max_size=max_size, both=True))
    assume(fewest <= sample.y.sum() <= len(sample.y) - fewest)
    scores = st.lists(st.integers(0, 4), min_size=len(sample.y), max_size=len(sample.y))
    return Sample(sample.y, np.array([draw(scores), draw(scores)]))


def made(seed: int, n: int, m: int, shifts: Any) -> tuple[Any, Any]:
    """Detectors that share half of what they see."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [m, n]))
    common = rng.normal(size=n + m)
    scores = [(common + rng.normal(size=n + m)) / math.sqrt(2) + shift * y for shift in shifts]
    return y, np.array(scores)


# --- DeLong -------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", PROC["tests"], ids=lambda case: f"{case['a']}-{case['b']}")
def test_delong_is_that_of_proc(case: dict[str, Any]) -> None:
    scores = {name: PROC["markers"][name]["scores"] for name in (case["a"], case["b"])}
    found = fastad.compare(PROC_Y, *scores.values(), measure="auc")
    assert found.method == "delong"
    assert found.difference == pytest.approx(
        PROC["auc"][case["a"]] - PROC["auc"][case["b"]], rel=PRINTED
    )
    assert found.p_value == pytest.approx(case["p_value"], rel=PRINTED)
    assert found.low == pytest.approx(case["low"], rel=PRINTED)
    assert found.high == pytest.approx(case["high"], rel=PRINTED)
    deviation = (found.high - found.low) / 2 / stats.norm.ppf(0.975)
    assert found.difference / deviation == pytest.approx(case["z"], rel=PRINTED)
    assert (found.n_anomalies, found.n_normals) == (41, 72)


@given(two_detectors(), st.sampled_from([0.5, 0.95, 0.999]))
def test_delong_by_the_covariance_of_placements(sample: Sample, level: float) -> None:
    data = [oracles.rows(sample.y, s) for s in sample.s]
    values = [oracles.roc_auc(rows) for rows in data]
    (aa, ab), (_, bb) = oracles.delong_covariance(data)
    spread, difference = aa + bb - 2 * ab, values[0] - values[1]
    found = fastad.compare(
        sample.y, *sample.s, measure="auc", method="delong", confidence_level=level
    )
    assert found.values == (float(values[0]), float(values[1]))
    assert found.difference == pytest.approx(float(difference), abs=1e-15)
    half = stats.norm.isf((1 - level) / 2) * math.sqrt(spread)
    assert found.low == pytest.approx(float(difference) - half, abs=1e-13)
    assert found.high == pytest.approx(float(difference) + half, abs=1e-13)
    if spread == 0:
        assert found.p_value == (1.0 if difference == 0 else 0.0)
    else:
        p_value = 2 * stats.norm.sf(abs(float(difference)) / math.sqrt(spread))
        assert found.p_value == pytest.approx(p_value, rel=1e-9)


@pytest.mark.parametrize("name", sorted(INFLUENCES))
def test_the_variance_of_a_difference_follows_from_the_matrix(name: str) -> None:
    y, scores = made(1, 40, 70, [0.4, 0.8])
    options = options_of(MEASURES[name])
    covariance = fastad.uncertainty.delong_covariance(y, scores, measure=name, **options)
    found = fastad.compare(y, *scores, measure=name, method="delong", **options)
    assert (found.method, found.values) == ("delong", tuple(covariance.values))
    (aa, ab), (_, bb) = covariance.matrix
    half = stats.norm.ppf(0.975) * math.sqrt(aa + bb - 2 * ab)
    assert found.high - found.difference == pytest.approx(half, rel=1e-9)
    assert found.difference - found.low == pytest.approx(half, rel=1e-9)


@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
@pytest.mark.parametrize("measure", ["auc", "ap", "auc@0.3", "tpr@0.3", "f1_best", "eer"])
def test_a_detector_is_no_better_than_itself(method: Any, measure: str) -> None:
    if method == "delong" and bind(measure, {}).measure.name not in INFLUENCES:
        return
    y, scores = made(2, 20, 30, [1.0])
    for other in (scores[0], 5 * scores[0] - 1, np.exp(scores[0])):
        found = fastad.compare(y, scores[0], other, measure=measure, method=method, rng=0)
        assert (found.difference, found.low, found.high, found.p_value) == (0, 0, 0, 1)
        assert not found.is_significant


def test_nothing_varies_and_yet_they_differ() -> None:
    """One separates the classes, the other turns them round."""
    y = [0] * 5 + [1] * 4
    found = fastad.compare(y, range(9), range(9, 0, -1), measure="auc", method="delong")
    assert (found.difference, found.low, found.high, found.p_value) == (1, 1, 1, 0)
    assert found.is_significant
    assert "a is better than b in auc" in found.summary
    constant = fastad.compare(y, range(9), [0] * 9, measure="auc", method="delong")
    assert (constant.difference, constant.p_value) == (0.5, 0)
    equal = fastad.compare(y, range(9), y, measure="auc", method="delong")
    assert (equal.difference, equal.p_value) == (0, 1)


@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
@pytest.mark.parametrize("measure", ["auc", "ap", "eer", "tpr@0.2"])
def test_exchanged_detectors_have_the_opposite_difference(method: Any, measure: str) -> None:
    if method == "delong" and measure in ("eer", "tpr@0.2"):
        return
    y, scores = made(3, 15, 25, [0.5, 1.5])
    keywords: Any = {"measure": measure, "method": method, "rng": 6, "n_resamples": 500}
    one = fastad.compare(y, *scores, **keywords)
    other = fastad.compare(y, *scores[::-1], **keywords)
    assert other.difference == -one.difference
    # A permutation and its complement exchange the sign: the test is the same, the draw is not.
    loose = method == "permutation"
    assert other.p_value == pytest.approx(one.p_value, rel=1e-12, abs=0.03 if loose else 0)
    assert [-other.high, -other.low] == pytest.approx([one.low, one.high], abs=1e-14)
    assert other.values == one.values[::-1]
    # The winner is the same detector under its other name.
    assert one.summary.split(" ")[0] != other.summary.split(" ")[0] or not one.is_significant


# --- The bootstrap ------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", ["auc", "ap", "tpr@0.1", "eer", "f1_best"])
@pytest.mark.parametrize("stratified", [True, False])
def test_bootstrapped_differences_share_their_replicates(measure: str, stratified: bool) -> None:
    y, scores = made(4, 12, 30, [0.6, 1.4])
    asked = bind(measure, {})
    detectors = rank_detectors(check_labels(y), [("a", "a", scores[0]), ("b", "b", scores[1])])
    key = random_key(8)
    resamples = plan(detectors.rankings[0].counts, 400, key, stratified=stratified)
    drawn = [replicate_values(ranking, [asked], resamples)[0] for ranking in detectors.rankings]
    differences = drawn[0] - drawn[1]
    keywords: Any = {"measure": measure, "method": "bootstrap", "rng": 8, "n_resamples": 400}
    found = fastad.compare(y, *scores, stratified=stratified, confidence_level=0.9, **keywords)
    expected = np.quantile(differences, [0.05, 0.95])
    assert [found.low, found.high] == pytest.approx(expected.tolist(), abs=1e-15)
    fewer = min(np.sum(differences <= 0), np.sum(differences >= 0))
    assert found.p_value == min(1, 2 * (1 + fewer) / 401)
    assert (found.method, found.n_resamples, found.n_undefined) == ("bootstrap", 400, 0)
    for threads in (1, 2, 3):
        again = fastad.compare(
            y,
            *scores,
            stratified=stratified,
            confidence_level=0.9,
            n_threads=threads,
            **keywords,
        )
        assert again == found


def test_a_paired_difference_is_narrower_than_two_intervals() -> None:
    y, scores = made(5, 100, 200, [1.0, 1.0])
    rng = np.random.default_rng(0)
    close = scores[0] + 0.1 * rng.normal(size=300)
    found = fastad.compare(y, scores[0], close, measure="auc", method="bootstrap", rng=0)
    alone = fastad.interval(y, scores[0], measure="auc", method="bootstrap", rng=0)
    assert found.high - found.low < (alone.high - alone.low) / 3
    delong = fastad.compare(y, scores[0], close, measure="auc")
    assert found.high - found.low == pytest.approx(delong.high - delong.low, rel=0.1)


def test_undefined_replicates_of_a_difference_are_counted() -> None:
    y = [0] * 4 + [1] * 2
    found = fastad.compare(
        y,
        [1, 2, 3, 4, 3, 5],
        [1, 5, 3, 4, 3, 5],
        measure="auc",
        method="bootstrap",
        stratified=False,
        rng=0,
        n_resamples=2000,
    )
    # A class is absent with probability (2/3)**6 + (1/3)**6.
    p = (2 / 3) ** 6 + (1 / 3) ** 6
    assert abs(found.n_undefined - 2000 * p) < 4 * math.sqrt(2000 * p * (1 - p))


# --- Permutations -------------------------------------------------------------------------------


def twice_mean_ranks(s: Any) -> list[int]:
    """From the highest score, tied ones sharing."""
    return [sum(2 * (t > x) + (t == x) for t in s) + 1 for x in s]


def all_swaps(
    y: Any, a: Any, b: Any, value: Callable[[oracles.Rows], Fraction]
) -> tuple[Fraction, list[Fraction | None]]:
    """The difference, and those of all 2**N exchanges of the two ranks of each point."""
    first, second = twice_mean_ranks(a), twice_mean_ranks(b)
    known: dict[tuple[int, ...], Fraction | None] = {}

    def measured(ranks: tuple[int, ...]) -> Fraction | None:
        if ranks not in known:
            data = oracles.rows(y, [-rank for rank in ranks])
            known[ranks] = oracles.attempt(lambda: value(data))
        return known[ranks]

    found: list[Fraction | None] = []
    for swaps in product((False, True), repeat=len(y)):
        pairs = [
            (q, p) if swap else (p, q) for p, q, swap in zip(first, second, swaps, strict=True)
        ]
        one, other = (measured(tuple(ranks)) for ranks in zip(*pairs, strict=True))
        found.append(None if one is None or other is None else one - other)
    assert found[0] is not None
    return found[0], found


CASES: list[tuple[BoundMeasure, Callable[[oracles.Rows], Fraction]]] = [
    (bind("auc", {}), oracles.roc_auc),
    (bind("ap", {}), oracles.average_precision),
    (bind("tpr@0.4", {}), lambda data: oracles.tpr_at_fpr(data, Fraction(2, 5), "linear")),
    (bind("precision@n", {}), lambda data: oracles.precision_at_k(data, None)),
]


@given(two_detectors(max_size=7, fewest=1), st.sampled_from(range(len(CASES))))
def test_all_permutations_are_tried_where_they_are_few(sample: Sample, case: int) -> None:
    asked, value = CASES[case]
    difference, swapped = all_swaps(sample.y, sample.s[0], sample.s[1], value)
    assert all(one is not None for one in swapped)
    extreme = sum(abs(one) >= abs(difference) for one in swapped if one is not None)
    found = fastad.compare(
        sample.y,
        *sample.s,
        measure=asked.measure.name,
        method="permutation",
        n_resamples=128,
        **asked.parameters,
    )
    assert found.method == "exact permutation"
    assert found.difference == pytest.approx(float(difference), abs=1e-15)
    assert found.p_value == pytest.approx(extreme / len(swapped), abs=1e-15)
    # Ranks that are alike need no exchange.
    differ = [p != q for p, q in zip(*(twice_mean_ranks(s) for s in sample.s), strict=True)]
    assert found.n_resamples == 2 ** sum(differ)
    sizes = [abs(float(one)) for one in swapped if one is not None]
    # Each exchange of the points that differ comes equally often among all.
    distinct = sorted(sizes)[:: 2 ** (len(differ) - sum(differ))]
    half = float(np.quantile(distinct, 0.95))
    assert found.high - found.difference == pytest.approx(half, abs=1e-14)
    assert found.difference - found.low == pytest.approx(half, abs=1e-14)


def test_drawn_permutations_are_near_all_of_them() -> None:
    y, scores = made(7, 6, 8, [0.2, 1.2])
    for measure in ("auc", "ap"):
        keywords: Any = {"measure": measure, "method": "permutation", "rng": 1}
        exact = fastad.compare(y, *scores, n_resamples=2**14, **keywords)
        drawn = fastad.compare(y, *scores, n_resamples=2000, **keywords)
        assert (exact.method, drawn.method) == ("exact permutation", "permutation")
        assert drawn.n_resamples == 2000 < exact.n_resamples
        p = exact.p_value
        assert abs(drawn.p_value - p) < 4 * math.sqrt(p * (1 - p) / 2000) + 1 / 2000
        for threads in (1, 2, 3):
            again = fastad.compare(y, *scores, n_resamples=2000, n_threads=threads, **keywords)
            assert again == drawn


def test_a_drawn_p_value_is_never_0() -> None:
    y = np.repeat([0, 1], [60, 40])
    found = fastad.compare(
        y, range(100), range(100, 0, -1), measure="auc", method="permutation", rng=0, n_resamples=99
    )
    assert found.p_value == 1 / 100


@pytest.mark.parametrize("n_resamples", [50, 4096])
def test_permutations_read_only_ranks(n_resamples: int) -> None:
    y, scores = made(9, 5, 7, [0.5, 1.0])
    options: Any = {"method": "permutation", "rng": 2, "n_resamples": n_resamples}
    for question in ({"measure": name} for name in ("auc", "ap", "tpr@0.3", "cost_auc@2")):
        keywords = options | question
        expected = fastad.compare(y, scores[0], scores[1], **keywords)
        relabelled: list[tuple[Any, Any]] = [
            (np.exp(scores[0]), scores[1]),
            (scores[0], 1000 * scores[1] - 5),
            (stats.rankdata(scores[0]).astype(np.int16), scores[1].astype(np.float32)),
        ]
        for a, b in relabelled:
            assert fastad.compare(y, a, b, **keywords) == expected


def test_one_point_of_a_class_can_be_permuted() -> None:
    found = fastad.compare(
        [0, 0, 0, 1], [1, 2, 3, 4], [4, 2, 3, 1], measure="auc", method="permutation"
    )
    assert found.method == "exact permutation"
    # Two points differ: exchanging both turns the difference round.
    assert (found.difference, found.p_value) == (1, 0.5)


@pytest.mark.parametrize(
    ("measure", "options"),
    [
        (row.name, options_of(row))
        for row in MEASURES.values()
        if row.takes_score_range and row.kind == "value"
    ],
)
def test_measures_of_values_cannot_be_permuted(measure: str, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=f"the scores' values; found measure {measure}"):
        fastad.compare(Y, A, B, measure=measure, method="permutation", **options)


# --- How often there is a difference where there is none ----------------------------------------


@pytest.mark.parametrize(
    ("measure", "method", "n_tried"),
    [("auc", "delong", 400), ("ap", "bootstrap", 150), ("auc", "permutation", 150)],
)
def test_alike_detectors_are_seldom_told_apart(measure: str, method: Any, n_tried: int) -> None:
    shown = 0
    for seed in range(n_tried):
        y, scores = made(seed, 40, 60, [1.0, 1.0])
        found = fastad.compare(
            y, *scores, measure=measure, method=method, rng=seed, n_resamples=300
        )
        shown += found.is_significant
    # Beyond 5 % by 3 standard deviations of chance and by what small samples cost.
    assert shown / n_tried < 0.06 + 3 * math.sqrt(0.05 * 0.95 / n_tried)
    assert shown > 0


@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
def test_a_large_difference_is_shown(method: Any) -> None:
    y, scores = made(0, 60, 90, [0.3, 2.0])
    found = fastad.compare(y, *scores, measure="auc", method=method, rng=0, n_resamples=999)
    assert found.is_significant
    assert found.difference < 0
    assert found.high < 0
    assert found.summary.startswith("b is better than a in auc: a - b = -0.")


# --- Many detectors -----------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
def test_all_pairs_are_those_of_two(method: Any) -> None:
    y, scores = made(11, 15, 20, [0.5, 1.0, 1.5])
    named = dict(zip(("x", "y", "z"), scores, strict=True))
    keywords: Any = {"measure": "auc", "method": method, "rng": 5, "n_resamples": 200}
    every = fastad.compare_all(y, named, **keywords)
    assert list(every) == [("x", "y"), ("x", "z"), ("y", "z")]
    assert len(every) == 3
    for (first, second), found in every.items():
        alone = fastad.compare(y, named[first], named[second], **keywords)
        assert found.names == (first, second)
        for field in ("difference", "low", "high", "p_value", "values", "method", "n_resamples"):
            assert getattr(found, field) == getattr(alone, field)
    array = fastad.compare_all(y, scores, **keywords)
    assert [one.p_value for one in array.values()] == [one.p_value for one in every.values()]
    assert next(iter(array)) == ("score_0", "score_1")


def by_hand(p_values: list[float], correction: str) -> list[float]:
    """The smallest level at which each hypothesis is rejected, from the procedures themselves."""
    n = len(p_values)
    if correction == "none":
        return p_values
    if correction == "bonferroni":
        return [min(1.0, n * p) for p in p_values]
    ordered = sorted(p_values)
    if correction == "holm":
        # Rejected are those before the first that fails.
        steps = [(n - i) * p for i, p in enumerate(ordered)]
        levels = {p: max(steps[: i + 1]) for i, p in enumerate(ordered)}
        # Equal p-values are rejected together: the first of them fails if any does.
        levels = {p: max(steps[: ordered.index(p) + 1]) for p in ordered}
    else:
        # Rejected are all up to the last that passes.
        steps = [n / (i + 1) * p for i, p in enumerate(ordered)]
        levels = {p: min(steps[ordered.index(p) :]) for p in ordered}
    return [min(1.0, levels[p]) for p in p_values]


@given(
    st.lists(
        st.sampled_from([0.0, 0.01, 0.02, 0.03, 0.04, 0.5, 1.0]) | st.floats(0, 1), min_size=1
    ),
    st.sampled_from(sorted(CORRECTIONS)),
)
def test_corrections_are_their_procedures(p_values: list[float], correction: str) -> None:
    found = CORRECTIONS[correction](np.array(p_values))
    assert found.tolist() == pytest.approx(by_hand(p_values, correction), rel=1e-12)
    assert (found >= np.array(p_values) * (1 - 1e-15)).all()
    assert found.max() <= 1


def test_corrections_of_a_published_example() -> None:
    """Benjamini and Hochberg 1995, section 3.2: fifteen p-values, of which four are rejected."""
    p_values = np.array(
        [
            *(0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344),
            *(0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000),
        ]
    )
    rejected = {name: int(np.sum(CORRECTIONS[name](p_values) <= 0.05)) for name in CORRECTIONS}
    assert rejected == {"benjamini-hochberg": 4, "bonferroni": 3, "holm": 3, "none": 9}
    # The fourth is 0.0095 <= 4 / 15 * 0.05, the fifth 0.0201 > 5 / 15 * 0.05.
    assert CORRECTIONS["benjamini-hochberg"](p_values)[3] == pytest.approx(0.0095 * 15 / 4)


@pytest.mark.parametrize("correction", sorted(CORRECTIONS))
def test_adjusted_values_stand_beside_the_comparisons(correction: Any) -> None:
    y, scores = made(12, 60, 90, [0.2, 0.6, 0.7, 1.3])
    every = fastad.compare_all(y, scores, measure="auc", correction=correction)
    p_values = [one.p_value for one in every.values()]
    assert list(every.adjusted.values()) == CORRECTIONS[correction](np.array(p_values)).tolist()
    assert every.correction == correction
    assert list(every.adjusted) == list(every)
    text = str(every)
    for names, one in every.items():
        (line,) = [row for row in text.splitlines() if row.startswith(" - ".join(names))]
        better = names[0] if one.difference > 0 else names[1]
        shown = every.adjusted[names] <= 1 - one.confidence_level
        assert line.rstrip().endswith(better if shown else "not significant")
    plain = json.loads(every.to_json())
    assert plain["correction"] == correction
    assert [one["adjusted_p_value"] for one in plain["comparisons"]] == list(
        every.adjusted.values()
    )
    assert [one["p_value"] for one in plain["comparisons"]] == p_values


# --- What is said -------------------------------------------------------------------------------


def test_verdicts() -> None:
    y = np.repeat([0, 1], [40, 40])
    good, bad = np.arange(80.0), np.arange(80) * 29 % 80
    better = fastad.compare(y, good, bad, measure="auc")
    assert better.summary == (
        f"a is better than b in auc: a - b = {better.difference:.4f} (95 % interval "
        f"{better.low:.4f} to {better.high:.4f}, p = {better.p_value:.2g}, delong)."
    )
    assert str(better) == better.summary == better.to_dict()["summary"]
    worse = fastad.compare(y, bad, good, measure="auc", confidence_level=0.9)
    assert worse.summary.startswith("b is better than a in auc: a - b = -0.")
    assert "(90 % interval " in worse.summary
    alike = fastad.compare(y, bad, np.roll(bad, 1), measure="auc")
    assert alike.summary.startswith("a and b do not differ significantly in auc: a - b = ")
    named = fastad.compare_all(y, {"forest": good, "noise": bad}, measure="ap")
    assert named["forest", "noise"].summary.startswith("forest is better than noise in ap: ")
    assert "forest - noise = 0." in named["forest", "noise"].summary


@pytest.mark.parametrize("measure", ["eer", "fpr@tpr0.9", "np_score"])
def test_where_lower_is_better(measure: str) -> None:
    y = np.repeat([0, 1], [40, 40])
    good, bad = np.arange(80.0), np.arange(80) * 29 % 80
    options: Any = {"alpha": 0.2} if measure == "np_score" else {}
    assert not bind(measure, options).measure.higher_is_better
    found = fastad.compare(y, good, bad, measure=measure, rng=0, n_resamples=300, **options)
    assert found.difference < 0
    assert not found.higher_is_better
    assert found.summary.startswith("a is better than b in ")
    every = fastad.compare_all(
        y, {"p": bad, "q": good}, measure=measure, rng=0, n_resamples=300, **options
    )
    assert str(every).splitlines()[-1].rstrip().endswith("q")
    assert every["p", "q"].summary.startswith("q is better than p in ")


@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
@pytest.mark.parametrize(("smallest", "power", "level"), [(0.05, 0.8, 0.95), (0.01, 0.95, 0.99)])
def test_anomalies_needed(method: Any, smallest: float, power: float, level: float) -> None:
    y, scores = made(13, 40, 80, [0.9, 1.1])
    found = fastad.compare(
        y,
        *scores,
        measure="auc",
        method=method,
        confidence_level=level,
        min_difference=smallest,
        power=power,
        rng=0,
        n_resamples=500,
    )
    needed = found.required_anomalies
    assert needed is not None
    reach = stats.norm.isf((1 - level) / 2) + stats.norm.ppf(power)
    if method == "delong":
        deviation = (found.high - found.low) / 2 / stats.norm.isf((1 - level) / 2)
        assert needed == math.ceil(40 * (reach * deviation / smallest) ** 2)
        # With so many anomalies the power is reached, with one fewer it is not.
        powers = [
            stats.norm.cdf(
                smallest / deviation * math.sqrt(n / 40) - stats.norm.isf((1 - level) / 2)
            )
            for n in (needed, needed - 1)
        ]
        assert powers[0] >= power > powers[1]
    else:
        delong = fastad.compare(
            y,
            *scores,
            measure="auc",
            confidence_level=level,
            min_difference=smallest,
            power=power,
        ).required_anomalies
        assert delong is not None
        assert needed == pytest.approx(delong, rel=0.3)
    assert found.summary.endswith(
        f" To detect a difference of {smallest:g} with probability {power:g} requires about "
        f"{needed} anomalies, with 2 normal samples for each; here are 40."
    )
    assert found.min_difference == smallest


def test_anomalies_needed_has_a_floor_and_a_default() -> None:
    y = [0] * 5 + [1] * 4
    found = fastad.compare(
        y, range(9), range(9, 0, -1), measure="auc", method="delong", min_difference=0.1
    )
    assert found.required_anomalies == 2
    assert fastad.compare(Y, A, B, measure="auc").required_anomalies is None
    large = fastad.compare(Y, A, B, measure="auc", method="delong", min_difference=1e-6)
    assert large.required_anomalies is not None
    assert large.required_anomalies > 10**9


def test_what_a_comparison_holds() -> None:
    found = fastad.compare(Y, A, B, measure="auc@0.5", rng=0)
    assert isinstance(found, Comparison)
    assert found.measure == "auc@0.5"
    assert found.names == ("a", "b")
    assert found.higher_is_better
    plain = found.to_dict()
    assert json.loads(json.dumps(plain))["p_value"] == found.p_value
    assert plain["names"] == ("a", "b")


# --- The door -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"method": "logit"}, InvalidInputError, "method must be one of 'auto', 'delong'"),
        ({"method": "basic"}, InvalidInputError, "method must be one of"),
        ({"method": None}, InvalidInputError, "method must be one of"),
        ({"confidence_level": 1}, InvalidInputError, "confidence_level must lie strictly"),
        ({"confidence_level": 95}, InvalidInputError, "confidence_level must lie in"),
        ({"confidence_level": "0.9"}, TypeError, "confidence_level must be a number"),
        ({"n_resamples": 0}, InvalidInputError, "n_resamples must be at least 1"),
        ({"n_resamples": 1e3}, TypeError, "n_resamples must be a whole number"),
        ({"stratified": "yes"}, TypeError, "stratified must be True or False"),
        ({"rng": -1}, InvalidInputError, "rng must not be negative"),
        ({"rng": "0"}, TypeError, "rng must be an int"),
        ({"min_difference": 0}, InvalidInputError, "min_difference must lie above 0"),
        ({"min_difference": -0.1}, InvalidInputError, "min_difference must lie above"),
        ({"min_difference": math.inf}, InvalidInputError, "min_difference must be"),
        ({"min_difference": math.nan}, InvalidInputError, "min_difference must be"),
        ({"min_difference": "0.1"}, TypeError, "min_difference must be a number"),
        ({"power": 0}, InvalidInputError, "power must lie strictly"),
        ({"power": 1.0}, InvalidInputError, "power must lie strictly"),
        ({"power": 80}, InvalidInputError, "power must lie in"),
        ({"power": None}, TypeError, "power must be a number"),
        ({"n_threads": 0}, InvalidInputError, "n_threads"),
        ({"pos_label": 7}, InvalidInputError, "pos_label"),
        ({"fpr": 0.1}, TypeError, "roc_auc takes no options; found fpr=0.1"),
        ({"sample_weight": A}, TypeError, "sample_weight"),
    ],
)
def test_bad_options_are_named(
    keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        fastad.compare(Y, A, B, **{"measure": "auc", **keywords})
    with pytest.raises(error, match=message):
        fastad.compare_all(Y, [A, B], **{"measure": "auc", **keywords})


def test_options_of_one_function_only() -> None:
    with pytest.raises(InvalidInputError, match="correction must be one of 'holm'"):
        fastad.compare_all(Y, [A, B], measure="auc", correction="fdr")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="at least two detectors; found one"):
        fastad.compare_all(Y, A, measure="auc")
    with pytest.raises(InvalidInputError, match="at least two detectors; found one"):
        fastad.compare_all(Y, {"x": A}, measure="auc")
    with pytest.raises(InvalidInputError, match="'delong' needs a smooth measure"):
        fastad.compare(Y, A, B, measure="f1_best", method="delong")


@pytest.mark.parametrize(
    ("n", "m", "smooth", "other"),
    [
        (30, 30, "delong", "bootstrap"),
        (29, 100, "permutation", "permutation"),
        (100, 29, "permutation", "permutation"),
    ],
)
def test_auto_permutes_where_points_are_few(n: int, m: int, smooth: str, other: str) -> None:
    y, scores = made(0, n, m, [0.3, 0.9])
    keywords: Any = {"rng": 0, "n_resamples": 50}
    for measure, expected in (("auc", smooth), ("ap", smooth), ("f1_best", other), ("eer", other)):
        found = fastad.compare(y, *scores, measure=measure, **keywords)
        assert found.method == expected
        assert found == fastad.compare(
            y, *scores, measure=measure, **{**keywords, "method": expected}
        )
        every = fastad.compare_all(y, scores, measure=measure, **keywords)
        assert every["score_0", "score_1"].p_value == found.p_value
    # Ranks say nothing of measures that read scores.
    options: Any = {"score_range": (-9, 9)}
    assert fastad.compare(y, *scores, measure="rp_auc", **options).method == "delong"
    options |= {"p": 90}
    options.pop("score_range")
    assert fastad.compare(y, *scores, measure="rp_distance", **options).method == "bootstrap"


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.where(A == 7, np.nan, A), B, "scores_a must not contain NaN; found 1.* index 8"),
        (A, np.where(A == 7, np.nan, B), "scores_b must not contain NaN; found 1.* index 8"),
        (A[1:], B, "scores_a"),
        (A, B[1:], "scores_b"),
        (A, ["x"] * 10, "scores_b"),
        (A, B + 1j, "scores_b"),
        (A.reshape(2, 5), B, "scores_a"),
    ],
)
def test_bad_scores_are_named(a: Any, b: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fastad.compare(Y, a, b, measure="auc")


@pytest.mark.parametrize("method", ["delong", "bootstrap"])
def test_two_points_of_each_class_are_needed(method: Any) -> None:
    for y in ([0, 0, 0, 1], [1, 1, 1, 0]):
        with pytest.raises(UndefinedMeasureError, match="two samples of each class"):
            fastad.compare(y, range(4), [1, 0, 2, 3], measure="auc", method=method)
    for method_of_one_class in (method, "permutation"):
        for y in ([0] * 4, [1] * 4):
            with pytest.raises(UndefinedMeasureError):
                fastad.compare(y, range(4), range(4), measure="auc", method=method_of_one_class)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
def test_every_layout_of_the_input(layout: str, method: Any) -> None:
    keywords: Any = {"measure": "auc", "method": method, "rng": 0, "n_resamples": 200}
    expected = fastad.compare(Y, A, B, **keywords)
    arrays: list[npt.NDArray[Any]] = [in_layout(x, layout) for x in (Y, A, B)]
    copies = [array.copy() for array in arrays]
    assert fastad.compare(*arrays, **keywords) == expected
    assert all((x == z).all() for x, z in zip(arrays, copies, strict=True))


def test_labels_of_another_kind() -> None:
    expected = fastad.compare(Y, A, B, measure="auc")
    assert fastad.compare(1 - 2 * Y, A, B, measure="auc", pos_label=-1) == expected
    assert fastad.compare(Y == 1, A.tolist(), tuple(B), measure="auc") == expected
    every = fastad.compare_all(1 - 2 * Y, [A, B], measure="auc", pos_label=-1)
    assert every["score_0", "score_1"].p_value == expected.p_value


@pytest.mark.parametrize("method", ["bootstrap", "delong"])
def test_rates_at_a_threshold_can_be_compared(method: Any) -> None:
    keywords: Any = {"measure": "tpr", "threshold": 5, "method": method, "rng": 0}
    if method == "delong":
        with pytest.raises(
            InvalidInputError, match="for tpr, because 'delong' needs a smooth measure"
        ):
            fastad.compare(Y, A, B, **keywords)
        return
    found = fastad.compare(Y, A, B, **keywords)
    assert found.values == tuple(fastad.confusion_at(Y, s, threshold=5).tpr for s in (A, B))


@given(two_detectors(max_size=10), st.sampled_from(["delong", "bootstrap", "permutation"]))
def test_what_holds_for_every_comparison(sample: Sample, method: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fastad.compare(
            sample.y, *sample.s, measure="ap", method=method, rng=1, n_resamples=40
        )
    assert 0 <= found.p_value <= 1
    assert found.low <= found.high
    assert found.difference == found.values[0] - found.values[1]
    if method != "bootstrap":
        assert found.low <= found.difference <= found.high


def test_many_pairs_of_the_same_detectors() -> None:
    """The matrix of all pairs is that of each two, whatever stands beside them."""
    y, scores = made(20, 25, 40, [0.1, 0.4, 0.9, 1.4, 2.0])
    covariance = fastad.uncertainty.delong_covariance(y, scores)
    every = fastad.compare_all(y, scores, measure="auc", method="delong", correction="none")
    for i, j in combinations(range(5), 2):
        one = every[f"score_{i}", f"score_{j}"]
        matrix = covariance.matrix
        deviation = math.sqrt(matrix[i, i] + matrix[j, j] - 2 * matrix[i, j])
        assert one.p_value == pytest.approx(2 * stats.norm.sf(abs(one.difference) / deviation))
