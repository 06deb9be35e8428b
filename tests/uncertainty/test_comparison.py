"""Comparisons of detectors: pairs, corrections, summaries, arguments."""

import json
import math
import warnings
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.errors import LowCoverageWarning
from fastad.measures.requests import bind
from fastad.uncertainty import Comparison
from fastad.uncertainty.comparisons.corrections import CORRECTIONS
from tests.support.strategies import LAYOUTS, Sample, in_layout
from tests.support.uncertainty import correlated_detectors, two_detectors

Y = np.array([0, 0, 0, 1, 0, 1, 1, 0, 1, 1])
A = np.array([1.0, 2, 3, 3, 4, 5, 6, 6, 7, 8])
B = np.array([2.0, 1, 3, 1, 5, 5, 9, 6, 4, 8])


@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
def test_all_pairs_are_those_of_two(method: Any) -> None:
    y, scores = correlated_detectors(11, 15, 20, [0.5, 1.0, 1.5])
    named = dict(zip(("x", "y", "z"), scores, strict=True))
    keywords: Any = {"measure": "auc", "method": method, "rng": 5, "n_resamples": 200}
    every = fastad.compare_all(y, named, **keywords)
    assert list(every) == [("x", "y"), ("x", "z"), ("y", "z")]
    assert len(every) == 3
    for (first, second), result in every.items():
        alone = fastad.compare(y, named[first], named[second], **keywords)
        assert result.names == (first, second)
        for field in ("difference", "low", "high", "p_value", "values", "method", "n_resamples"):
            assert getattr(result, field) == getattr(alone, field)
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
    result = CORRECTIONS[correction](np.array(p_values))
    assert result.tolist() == pytest.approx(by_hand(p_values, correction), rel=1e-12)
    assert (result >= np.array(p_values) * (1 - 1e-15)).all()
    assert result.max() <= 1


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
def test_adjusted_p_values_of_the_comparisons(correction: Any) -> None:
    y, scores = correlated_detectors(12, 60, 90, [0.2, 0.6, 0.7, 1.3])
    every = fastad.compare_all(y, scores, measure="auc", correction=correction)
    p_values = [one.p_value for one in every.values()]
    assert (
        list(every.adjusted_p_values.values())
        == CORRECTIONS[correction](np.array(p_values)).tolist()
    )
    assert every.correction == correction
    assert list(every.adjusted_p_values) == list(every)
    text = str(every)
    for names, one in every.items():
        (line,) = [row for row in text.splitlines() if row.startswith(" - ".join(names))]
        better = names[0] if one.difference > 0 else names[1]
        shown = every.adjusted_p_values[names] <= 1 - one.confidence_level
        assert line.rstrip().endswith(better if shown else "not significant")
    plain = json.loads(every.to_json())
    assert plain["correction"] == correction
    assert [one["adjusted_p_value"] for one in plain["comparisons"]] == list(
        every.adjusted_p_values.values()
    )
    assert [one["p_value"] for one in plain["comparisons"]] == p_values


def test_summaries() -> None:
    y = np.repeat([0, 1], [40, 40])
    good, bad = np.arange(80.0), np.arange(80) * 29 % 80
    better = fastad.compare(y, good, bad, measure="auc", method="delong")
    assert better.summary == (
        f"a is better than b in auc: a - b = {better.difference:.4f} (95 % interval "
        f"{better.low:.4f} to {better.high:.4f}, p = {better.p_value:.2g}, delong)."
    )
    assert str(better) == better.summary == better.to_dict()["summary"]
    worse = fastad.compare(y, bad, good, measure="auc", method="delong", confidence_level=0.9)
    assert worse.summary.startswith("b is better than a in auc: a - b = -0.")
    assert "(90 % interval " in worse.summary
    equal = fastad.compare(y, bad, np.roll(bad, 1), measure="auc")
    assert equal.summary.startswith("a and b do not differ significantly in auc: a - b = ")
    named = fastad.compare_all(y, {"forest": good, "noise": bad}, measure="ap", method="delong")
    assert named["forest", "noise"].summary.startswith("forest is better than noise in ap: ")
    assert "forest - noise = 0." in named["forest", "noise"].summary


@pytest.mark.parametrize("measure", ["eer", "fpr@tpr0.9", "np_score"])
def test_where_lower_is_better(measure: str) -> None:
    y = np.repeat([0, 1], [40, 40])
    good, bad = np.arange(80.0), np.arange(80) * 29 % 80
    operating: Any = {"alpha": 0.2} if measure == "np_score" else {}
    options: Any = operating | {"method": "permutation"}
    assert not bind(measure, operating).measure.higher_is_better
    result = fastad.compare(y, good, bad, measure=measure, rng=0, n_resamples=300, **options)
    assert result.difference < 0
    assert not result.higher_is_better
    assert result.summary.startswith("a is better than b in ")
    every = fastad.compare_all(
        y, {"p": bad, "q": good}, measure=measure, rng=0, n_resamples=300, **options
    )
    assert str(every).splitlines()[-1].rstrip().endswith("q")
    assert every["p", "q"].summary.startswith("q is better than p in ")


@pytest.mark.parametrize("method", ["delong", "bootstrap", "permutation"])
@pytest.mark.parametrize(("smallest", "power", "level"), [(0.05, 0.8, 0.95), (0.01, 0.95, 0.99)])
def test_required_anomalies(method: Any, smallest: float, power: float, level: float) -> None:
    y, scores = correlated_detectors(13, 40, 80, [0.9, 1.1])
    result = fastad.compare(
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
    needed = result.required_anomalies
    assert needed is not None
    reach = stats.norm.isf((1 - level) / 2) + stats.norm.ppf(power)
    if method == "delong":
        deviation = (result.high - result.low) / 2 / stats.norm.isf((1 - level) / 2)
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
            method="delong",
            confidence_level=level,
            min_difference=smallest,
            power=power,
        ).required_anomalies
        assert delong is not None
        assert needed == pytest.approx(delong, rel=0.3)
    assert result.required_anomalies_interval is not None
    low, high = result.required_anomalies_interval
    assert 2 <= low <= needed <= high
    assert result.summary.endswith(
        f" To detect a difference of {smallest:g} with probability {power:g} requires about "
        f"{needed} anomalies ({100 * level:g} % interval {low} to {high}), with 2 normal samples "
        "for each; here are 40."
    )
    assert result.min_difference == smallest


def test_required_anomalies_has_a_minimum_and_a_default() -> None:
    result = fastad.compare(Y, A, B, measure="auc", method="delong", min_difference=1)
    assert result.required_anomalies == 2
    assert fastad.compare(Y, A, B, measure="auc", method="delong").required_anomalies is None
    large = fastad.compare(Y, A, B, measure="auc", method="delong", min_difference=1e-6)
    assert large.required_anomalies is not None
    assert large.required_anomalies > 10**9
    larger = fastad.compare(Y, A, B, measure="auc", method="delong", min_difference=1e-200)
    assert larger.required_anomalies is not None
    digits = math.log10(larger.required_anomalies) - math.log10(large.required_anomalies)
    assert digits == pytest.approx(2 * (200 - 6))


def test_required_anomalies_at_an_extreme_level_have_an_interval() -> None:
    options: Any = {"measure": "auc", "method": "delong", "min_difference": 0.1}
    result = fastad.compare(Y, A, B, confidence_level=1 - 2**-53, **options)
    assert result.required_anomalies_interval is not None
    assert result.required_anomalies is not None
    low, high = result.required_anomalies_interval
    assert 2 <= low < result.required_anomalies < high


def test_dictionary_of_a_comparison() -> None:
    result = fastad.compare(Y, A, B, measure="auc@0.5", method="student")
    assert isinstance(result, Comparison)
    assert result.measure == "auc@0.5"
    assert result.names == ("a", "b")
    assert result.higher_is_better
    plain = result.to_dict()
    assert json.loads(json.dumps(plain))["p_value"] == result.p_value
    assert plain["names"] == ["a", "b"]


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
        ({"n_resamples": 1.5e-3}, TypeError, "n_resamples must be an integer"),
        ({"stratified": "yes"}, TypeError, "stratified must be True or False"),
        ({"rng": -1}, InvalidInputError, "rng must not be negative"),
        ({"rng": "0"}, TypeError, "rng must be an int"),
        ({"min_difference": 1.5}, InvalidInputError, "at most 1, the largest difference in auc"),
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
        ({"fpr": 0.1}, TypeError, "fpr must be an option of compare"),
        ({"sample_weight": -A}, InvalidInputError, "sample_weight"),
    ],
)
def test_invalid_options_are_named(
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
    ("n", "m", "measure", "method"),
    [
        (10, 30, "auc", "student"),
        (100, 100, "auc@0.05", "student"),
        (1000, 1000, "auc", "student"),
        (30, 100, "tpr@0.1", "bootstrap"),
        (100, 1000, "tpr@0.1", "bootstrap"),
        (100, 100, "f1_best", "bootstrap"),
        # Of these it is not known, or hardly, how reliable they are.
        (30, 60, "tpr@0.01", "bootstrap!"),
        (9, 1000, "auc", "student!"),
        (1000, 29, "auc", "student!"),
        (30, 100, "tpr@0.01", "bootstrap!"),
        (99, 100, "f1_best", "bootstrap!"),
    ],
)
@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
def test_auto_tests_whether_values_are_equal(n: int, m: int, measure: str, method: Any) -> None:
    y, scores = correlated_detectors(0, n, m, [0.3, 0.9])
    keywords: Any = {"measure": measure, "rng": 0, "n_resamples": 50}
    result = fastad.compare(y, *scores, **keywords)
    assert (result.reliability_note is not None) == method.endswith("!")
    method = method.rstrip("!")
    assert result.method == method
    assert result.p_value == fastad.compare(y, *scores, **keywords, method=method).p_value
    every = fastad.compare_all(y, scores, **keywords)
    assert every["score_0", "score_1"].p_value == result.p_value


def test_auto_for_measures_of_values() -> None:
    y, scores = correlated_detectors(0, 100, 100, [0.3, 0.9])
    # Ranks say nothing of measures that read scores.
    options: Any = {"score_range": (-9, 9)}
    assert fastad.compare(y, *scores, measure="rp_auc", **options).method == "student"
    options |= {"p": 90}
    options.pop("score_range")
    result = fastad.compare(y, *scores, measure="rp_distance", **options, n_resamples=50)
    assert (result.method, result.reliability_note) == ("bootstrap", None)
    few, scores = correlated_detectors(0, 30, 60, [0.3, 0.9])
    with pytest.warns(LowCoverageWarning, match="is not known"):
        result = fastad.compare(few, *scores, measure="rp_distance", **options, n_resamples=50)
    assert result.reliability_note is not None


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
def test_invalid_scores_are_named(a: Any, b: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fastad.compare(Y, a, b, measure="auc")


@pytest.mark.parametrize("method", ["delong", "bootstrap"])
def test_two_samples_of_each_class_are_required(method: Any) -> None:
    for y in ([0, 0, 0, 1], [1, 1, 1, 0]):
        with pytest.raises(UndefinedMeasureError, match="two samples of each class"):
            fastad.compare(y, range(4), [1, 0, 2, 3], measure="auc", method=method)
    for y in ([0] * 4, [1] * 4):
        with pytest.raises(UndefinedMeasureError, match="two samples of each class"):
            fastad.compare(y, range(4), range(4), measure="auc", method=method)
        # Precision at k is defined without anomalies, and without normal samples.
        options: Any = {"method": "permutation", "min_difference": 0.1}
        with pytest.raises(UndefinedMeasureError, match="needs a sample of each class"):
            fastad.compare(y, range(4), range(4), measure="precision@k3", **options)


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
    options: Any = {"measure": "auc", "method": "student"}
    expected = fastad.compare(Y, A, B, **options)
    assert fastad.compare(1 - 2 * Y, A, B, pos_label=-1, **options) == expected
    assert fastad.compare(Y == 1, A.tolist(), tuple(B), **options) == expected
    every = fastad.compare_all(1 - 2 * Y, [A, B], pos_label=-1, **options)
    assert every["score_0", "score_1"].p_value == expected.p_value


def test_rates_at_a_threshold_can_be_compared() -> None:
    keywords: Any = {"measure": "tpr", "threshold": 5, "rng": 0}
    with pytest.raises(InvalidInputError, match="for tpr, because 'delong' needs a smooth measure"):
        fastad.compare(Y, A, B, method="delong", **keywords)
    result = fastad.compare(Y, A, B, method="bootstrap", **keywords)
    assert result.values == tuple(fastad.confusion_at(Y, s, threshold=5).tpr for s in (A, B))


@given(
    two_detectors(max_size=10),
    st.sampled_from(["delong", "bootstrap", "permutation"]),
    st.sampled_from(["auc", "ap", "f1_best"]),
    st.sampled_from([0.5, 0.8, 0.95, 0.99]),
    st.integers(1, 60),
)
def test_what_holds_for_every_comparison(
    sample: Sample, method: Any, measure: str, level: float, n_resamples: int
) -> None:
    if method == "delong" and measure == "f1_best":
        measure = "auc@0.3"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings(
            "ignore", ".*(variance is zero|fewer than 5 anomalies)", LowCoverageWarning
        )
        result = fastad.compare(
            sample.y,
            *sample.s,
            measure=measure,
            method=method,
            rng=1,
            n_resamples=n_resamples,
            confidence_level=level,
        )
    assert 0 <= result.p_value <= 1
    assert result.difference == result.values[0] - result.values[1]
    assert result.low <= result.difference <= result.high
    # Verdict and interval agree, but for the rounding of a difference that is 0.
    if abs(result.difference) > 1e-9:
        assert result.is_significant == (result.low > 0 or result.high < 0)


def test_many_pairs_of_the_same_detectors() -> None:
    """The matrix of all pairs is that of each two, whatever stands beside them."""
    y, scores = correlated_detectors(20, 25, 40, [0.1, 0.4, 0.9, 1.4, 2.0])
    covariance = fastad.uncertainty.delong_covariance(y, scores)
    every = fastad.compare_all(y, scores, measure="auc", method="delong", correction="none")
    for i, j in combinations(range(5), 2):
        one = every[f"score_{i}", f"score_{j}"]
        matrix = covariance.matrix
        deviation = math.sqrt(matrix[i, i] + matrix[j, j] - 2 * matrix[i, j])
        assert one.p_value == pytest.approx(2 * stats.norm.sf(abs(one.difference) / deviation))


HALVES = [0] * 30 + [1] * 30
MIXED = np.random.default_rng(0).permutation(60).tolist()


@pytest.mark.filterwarnings("ignore:.* with fewer than 5 anomalies")
@pytest.mark.parametrize("shift", [-5.0, 0.0, 100.0])
def test_rates_at_a_threshold_are_compared_by_scores_not_by_ranks(shift: float) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 8)) + shift
    y = [0] * 4 + [1] * 4
    options: dict[str, Any] = {"measure": "tpr", "threshold": 0.5 + shift, "rng": 0}
    with pytest.warns(LowCoverageWarning, match="known"):
        result = fastad.compare(y, a, b, **options)
    assert result.method in ("bootstrap", "pairs")
    assert result.p_value == fastad.compare(y, a, b, **options, method="bootstrap").p_value > 0
    with pytest.raises(fastad.InvalidInputError, match="the scores' values"):
        fastad.compare(y, a, b, **options, method="permutation")


def test_equal_detectors_have_no_difference_at_an_extreme_level() -> None:
    result = fastad.compare(HALVES, MIXED, MIXED, measure="auc", confidence_level=1 - 2**-53)
    assert (result.difference, result.low, result.high, result.p_value) == (0, 0, 0, 1)


def test_invalid_values_name_their_detector() -> None:
    good, bad = [0.1] * 60, [9.0] * 60
    with pytest.raises(fastad.InvalidInputError, match=r"^scores_b must lie in"):
        fastad.compare(HALVES, good, bad, measure="rp_auc", score_range=(0, 5))
    with pytest.raises(fastad.InvalidInputError, match=r"^y_score\['q'\] must lie in"):
        fastad.compare_all(HALVES, {"p": good, "q": bad}, measure="rp_auc", score_range=(0, 5))


@pytest.mark.parametrize("method", ["delong", "permutation"])
def test_a_tiny_range_is_not_rounding(method: str) -> None:
    rng = np.random.default_rng(1)
    y = np.arange(2000) < 1000
    a, b = rng.normal(size=2000) + 3 * y, rng.normal(size=2000)
    options: dict[str, Any] = {"measure": "auc_at_fpr", "fpr": 1e-13}
    options |= {"method": method, "rng": 0, "n_resamples": 200}
    result = fastad.compare(y, a, b, normalize="none", **options)
    wide = fastad.compare(y, a, b, **options)
    assert result.p_value == pytest.approx(wide.p_value)
    assert result.p_value < 1
    assert math.isfinite(result.low)


@pytest.mark.evidence
@pytest.mark.parametrize("measure", ["auc", "auc@0.2", "ap"])
def test_the_interval_of_required_anomalies_contains_their_number(measure: str) -> None:
    """That which very many samples tell, of 95 % of small ones."""
    keywords: Any = {"measure": measure, "method": "delong", "min_difference": 0.02}
    y, scores = correlated_detectors(1, 40_000, 80_000, [0.8, 1.0])
    required = fastad.compare(y, *scores, **keywords).required_anomalies
    assert required is not None
    n_tried, n_containing, too_few = 300, 0, 0
    for seed in range(n_tried):
        y, scores = correlated_detectors(seed, 60, 120, [0.8, 1.0])
        result = fastad.compare(y, *scores, **keywords)
        assert result.required_anomalies_interval is not None
        low, high = result.required_anomalies_interval
        n_containing += low <= required <= high
        too_few += high < required
    assert n_containing >= n_tried * (0.92 - 3 * math.sqrt(0.92 * 0.08 / n_tried))
    # With the upper end the promised power is missed in 2.5 % of the cases, not in half of them.
    assert too_few <= n_tried * (0.05 + 3 * math.sqrt(0.05 * 0.95 / n_tried))


@pytest.mark.parametrize("method", ["delong", "student", "bootstrap"])
def test_few_samples_have_a_note_by_every_method_but_permutations(method: Any) -> None:
    y, a, b = [0, 0, 0, 1, 1], [1, 2, 3, 4, 5], [5, 4, 3, 2, 1]
    with pytest.warns(LowCoverageWarning, match="with fewer than 5 anomalies"):
        fastad.compare(y, a, b, measure="ap", method=method, rng=0)
    exact = fastad.compare(y, a, b, measure="ap", method="permutation", rng=0)
    assert exact.reliability_note is None
    assert exact.p_value > 0.05


def test_permutations_without_a_difference_are_no_interval() -> None:
    """The TPR inside a tie, which exchanged ranks break."""
    rng = np.random.default_rng(1)
    y, common = np.repeat([1, 0], [7, 1000]), rng.normal(size=1007)
    a = common + rng.normal(size=1007) + 0.5 * y
    b = np.clip(np.round(common + y), 0, 2)
    with pytest.warns(LowCoverageWarning, match="the estimated variance is zero"):
        result = fastad.compare(y, a, b, measure="tpr@0.01", method="permutation", rng=0)
    assert result.low < -0.022 < result.high  # about the true difference
    assert result.method == "pairs"


def test_equal_rankings_require_no_number_of_anomalies() -> None:
    y, a = np.repeat([0, 1], [100, 20]), np.random.default_rng(0).random(120)
    result = fastad.compare(y, a, 2 * a + 1, measure="auc", min_difference=0.05)
    assert (result.low, result.high, result.p_value) == (0, 0, 1)
    assert result.required_anomalies is None


def test_numbers_of_replicates_that_nobody_draws_are_not_named() -> None:
    """Of 4 anomalies some 1e35 at 95 %, and none at the higher level."""
    y = np.repeat([0, 1], [12, 4])
    rng = np.random.default_rng(0)
    scores = {str(i): rng.normal(size=16) + 3 * (i % 2) * y for i in range(10)}
    for level in (0.95, 1 - 1e-9):
        with pytest.warns(LowCoverageWarning):
            result = fastad.compare_all(
                y, scores, measure="f1_best", confidence_level=level, n_resamples=30, rng=0
            )
        (note,) = result.notes
        assert note.endswith("with as many as can be drawn: too few samples decide")


@pytest.mark.parametrize("options", [{}, {"method": "permutation"}, {"correction": "bonferroni"}])
def test_replicates_too_few_for_the_number_of_pairs_are_named(options: dict[str, Any]) -> None:
    """Of 45 pairs none was significant, however large the difference, without a word."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [1000, 300])
    shifts = {"a": 4.0, "b": 4.0, "c": 0.5, "d": 0.5, "e": 0.5, "f": 0.5}
    scores = {name: rng.normal(size=y.size) + shift * y for name, shift in shifts.items()}
    given: dict[str, Any] = {"measure": "tpr@0.05", "rng": 0, **options}
    with pytest.warns(LowCoverageWarning, match="replicates are too few for 15 comparisons"):
        few = fastad.compare_all(y, scores, n_resamples=30, **given)
    assert min(few.adjusted_p_values.values()) > 0.05
    (note,) = few.notes
    assert note in str(few)
    # The second number is exact: of few replicates how much they vary is known less well.
    for _ in range(2):
        enough = int(note.partition("n_resamples=")[2].split()[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowCoverageWarning)
            result = fastad.compare_all(y, scores, n_resamples=enough, **given)
        note = (*result.notes, note)[0]
    assert result.notes == []
    assert few.to_dict()["notes"] == list(few.notes)
    different = {names for names, p in result.adjusted_p_values.items() if p <= 0.05}
    assert different == {(good, poor) for good in "ab" for poor in "cdef"}
    unadjusted = fastad.compare_all(y, scores, n_resamples=150, **given | {"correction": "none"})
    assert unadjusted.notes == []
