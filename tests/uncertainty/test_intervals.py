"""Confidence intervals: what holds for all methods, `auto`, and arguments."""

import math
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError
from fastad.errors import InvalidTypeError
from fastad.measures.rates import RATES, TRIALS
from fastad.measures.registry import MEASURES
from fastad.measures.requests import bind
from fastad.uncertainty.intervals.methods import methods_of
from fastad.uncertainty.samples.influence import INFLUENCES
from tests.support.operating import options_of
from tests.support.strategies import LAYOUTS, Sample, in_layout, samples
from tests.support.uncertainty import two_of_each_class

Y = np.array([0, 0, 0, 1, 0, 1, 1, 0, 1, 1])
S = np.array([1.0, 2, 3, 3, 4, 5, 6, 6, 7, 8])


def smooth_options(name: str) -> dict[str, Any]:
    options = options_of(MEASURES[name])
    return {**options, "fpr": 0.3} if "fpr" in options else options


@given(two_of_each_class(), st.sampled_from(sorted(INFLUENCES)), st.sampled_from([0.1, 0.9, 0.999]))
def test_smooth_intervals_contain_the_value_within_the_range(
    sample: Sample, name: str, level: float
) -> None:
    scores = np.unique(sample.s, return_inverse=True)[1] % 10
    options = smooth_options(name)
    low, high = bind(name, options).bounds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
        for method in ("delong", "logit"):
            if method == "logit" and not np.isfinite([low, high]).all():
                continue
            result = fastad.interval(
                sample.y, scores, measure=name, method=method, confidence_level=level, **options
            )
            # To and from the log odds is right to a rounding.
            assert low <= result.low <= result.value + 1e-15
            assert result.value - 1e-15 <= result.high <= high


@given(two_of_each_class(), st.integers(0, 2**32))
def test_only_the_order_and_the_set_of_rows_matter(sample: Sample, seed: int) -> None:
    """Permuted rows, scores relabelled in order, and classes exchanged."""
    y, ranks = sample.y, np.unique(sample.s, return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(y))
    for measure in ("auc", "auc@0.3", "ap", "auc_pr"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
            one, other, third = (
                fastad.interval(labels, scores, measure=measure, method="delong")
                for labels, scores in (
                    (y, sample.s),
                    (y[order], sample.s[order]),
                    (y, np.exp(ranks / 7)),
                )
            )
        assert one == other == third
    area = fastad.interval(y, ranks, measure="auc", method="delong")
    exchanged = fastad.interval(1 - y, -ranks, measure="auc", method="delong")
    assert (area.low, area.high) == pytest.approx((exchanged.low, exchanged.high), abs=1e-14)
    negated = fastad.interval(y, -ranks, measure="auc", method="delong")
    assert negated.low == pytest.approx(1 - area.high, abs=1e-14)
    assert negated.high == pytest.approx(1 - area.low, abs=1e-14)


@given(samples(both=True, weights="integer"))
def test_whole_weights_repeat_rows(sample: Sample) -> None:
    assert sample.w is not None
    times = sample.w.astype(np.int64)
    y, s = np.repeat(sample.y, times), np.repeat(sample.s, times)
    assume(2 <= y.sum() <= len(y) - 2)
    keywords: Any = {"rng": 3, "n_resamples": 20}
    cases: list[tuple[str, Any, Any]] = [
        ("auc", "delong", {}),
        ("auc", "newcombe", {}),
        ("auc", "bootstrap", {}),
        ("ap", "bca", {}),
        ("tpr", "wilson", {"threshold": 1}),
        ("tpr_at_fpr", "order", {"fpr": 0.2}),
        ("f1_best", "basic", {}),
    ]
    for measure, method, options in cases:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
            weighted, repeated = (
                fastad.interval(
                    labels,
                    scores,
                    measure=measure,
                    method=method,
                    sample_weight=w,
                    **options,
                    **keywords,
                )
                for labels, scores, w in ((sample.y, sample.s, sample.w), (y, s, None))
            )
        # The same although a standard error may be NaN.
        assert repr(weighted) == repr(repeated)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_the_input(layout: str) -> None:
    y, s = in_layout(Y, layout), in_layout(S, layout)
    for method in ("delong", "logit", "bootstrap", "bca"):
        assert fastad.interval(y, s, measure="auc", method=method, rng=1) == fastad.interval(
            Y, S, measure="auc", method=method, rng=1
        )
    scores = np.stack([S, S[::-1]])
    expected = fastad.uncertainty.delong_covariance(Y, scores).matrix
    result = fastad.uncertainty.delong_covariance(
        y, {"a": s, "b": in_layout(S[::-1], layout)}
    ).matrix
    assert result.tobytes() == expected.tobytes()


def test_labels_of_another_kind() -> None:
    expected = fastad.interval(Y, S, measure="auc", method="delong")
    for labels, positive in ((np.where(Y == 1, -1, 1), -1), (np.where(Y == 1, "bad", "ok"), "bad")):
        assert (
            fastad.interval(labels, S, measure="auc", method="delong", pos_label=positive)
            == expected
        )
    assert fastad.interval(Y == 1, S.tolist(), measure="auc", method="delong") == expected


@pytest.mark.parametrize(
    ("level", "text"),
    [(0.95, "95 %"), (0.9999, "99.99 %"), (0.999999999, "99.9999999 %"), (1 / 3, "33.3333 %")],
)
def test_no_confidence_level_is_printed_as_all(level: float, text: str) -> None:
    result = fastad.interval([0, 1, 0, 1, 1], range(5), measure="auc", confidence_level=level)
    assert f"({text}, " in str(result)


@pytest.mark.parametrize("method", ["combined", "fiducial", "logit"])
@pytest.mark.parametrize(("n", "m"), [(5, 500), (20, 100), (100, 1000), (300, 300)])
@pytest.mark.parametrize("prevalence", [None, 0.01])
def test_the_smallest_average_precision_of_a_population_is_covered(
    method: Any, n: int, m: int, prevalence: float | None
) -> None:
    """The integral of the precision where the FPR is 1, pi t / (pi t + 1 - pi), over the TPR t.

    Of samples it is a mean at t = 1 / n to 1, which is higher.
    """
    labels = np.repeat([1, 0], [n, m])
    pi = n / (n + m) if prevalence is None else prevalence
    smallest = 1 - (1 - pi) / pi * math.log(1 / (1 - pi))
    # Of a curve between the points there is no variance, of which `logit` has a note.
    for measure in ("ap",) if method == "logit" else ("ap", "pr_auc"):
        result = fastad.interval(
            labels,
            np.arange(n + m),
            measure=measure,
            method=method,
            prevalence=prevalence,
            n_resamples=200,
            rng=0,
        )
        assert result.value >= smallest * (1 - 1e-9)
        assert result.low <= smallest
        assert result.low == pytest.approx(smallest, abs=1e-3)


def test_string_and_dictionary_of_an_interval() -> None:
    result = fastad.interval(Y, S, measure="auc", method="delong")
    ends = f"{result.value:.4f} [{result.low:.4f}, {result.high:.4f}]"
    assert str(result) == f"{ends} (95 %, delong)"
    assert result.to_dict() == {
        "value": result.value,
        "low": result.low,
        "high": result.high,
        "standard_error": result.standard_error,
        "confidence_level": 0.95,
        "method": "delong",
        "coverage": None,
        "n_resamples": 0,
        "n_undefined": 0,
    }
    assert result.reliability_note is None


@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
def test_what_is_printed_says_why_an_interval_is_unreliable() -> None:
    result = replace(fastad.interval(Y, S, measure="auc", method="delong"), coverage=0.8)
    assert str(result).endswith(f"(95 %, delong; unreliable: {result.reliability_note})")


def test_the_result_says_why_auto_selected_the_method() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(300) < 60
    s = rng.normal(size=300) + 2 * y
    by_table = fastad.interval(y, s, measure="auc", rng=0)
    assert f"at least {by_table.coverage:.1%} of generated samples" in str(by_table.selection)
    assert "theory" in str(fastad.interval(y, s, measure="tpr", threshold=1.0).selection)
    clustered = fastad.interval(y, s, measure="auc", clusters=np.arange(300) % 50)
    assert clustered.selection == "the measure has a closed form of its variance over clusters"
    for result in (by_table, clustered):
        assert result.to_dict()["selection"] == result.selection
        given = fastad.interval(y, s, measure="auc", method="delong")
        assert given.selection is None
        assert "selection" not in given.to_dict()


@pytest.mark.parametrize(
    ("label", "name", "options"),
    [
        ("auc", "roc_auc", {}),
        ("auc@0.2", "auc_at_fpr", {"fpr": 0.2}),
        ("ap", "average_precision", {}),
        ("auc@tpr0.9", "auc_at_tpr", {"min_tpr": 0.9}),
        ("tpr@0.3", "tpr_at_fpr", {"fpr": 0.3}),
    ],
)
def test_a_label_is_a_name_with_its_operating_point(
    label: str, name: str, options: dict[str, Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
        one = fastad.interval(Y, S, measure=label, method="bootstrap", rng=4)
        assert one == fastad.interval(Y, S, measure=name, method="bootstrap", rng=4, **options)


@pytest.mark.parametrize(
    "name", sorted(name for name, row in MEASURES.items() if row.kind == "value")
)
def test_auto_selects_a_method_of_the_measure(name: str) -> None:
    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], [1500, 300])
    s = np.clip(rng.normal(y * 1.5, 1), -9, 9)
    options = options_of(MEASURES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
        result = fastad.interval(y, s, measure=name, rng=0, n_resamples=60, **options)
        method: Any = result.method
        again = fastad.interval(y, s, measure=name, method=method, rng=0, n_resamples=60, **options)
    assert result.method in methods_of(bind(name, options))
    # At a threshold the distributions of both rates are known, and no table is needed.
    assert (result.coverage is None) == (name == "detection_cost")
    assert result.coverage is None or 0 < result.coverage <= 1
    assert (result.value, result.low, result.high) == (again.value, again.low, again.high)
    assert again.coverage is None


@pytest.mark.parametrize("measure", ["auc_prg", "ht_auc@0.2", "rank_power@k5"])
def test_sizes_that_were_not_measured_raise_a_warning(measure: str) -> None:
    """Of nine anomalies; methods that are valid for any size need none."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [90, 9])
    s = rng.normal(y * 1.5, 1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = fastad.interval(y, s, measure=measure, rng=0, n_resamples=100)
        valid = fastad.interval(y, s, measure="ap", rng=0, n_resamples=100)
    assert math.isnan(result.coverage or 0)
    assert [warning.category for warning in caught] == [fastad.errors.LowCoverageWarning]
    assert [warning.filename for warning in caught] == [__file__]
    assert (valid.method, valid.coverage) == ("fiducial", None)


@given(st.data())
def test_an_interval_contains_its_estimate(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(2, 12)), data.draw(st.integers(2, 12))
    scores = data.draw(st.lists(st.integers(0, 9), min_size=n + m, max_size=n + m))
    keys = ["auc", "ap", "auc@0.1", "tpr@0.05", "f1@0.2", "precision@fpr0.3", "f1_best", "eer"]
    bound = bind(data.draw(st.sampled_from(keys)), {})
    method: Any = data.draw(st.sampled_from(methods_of(bound)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
            result = fastad.interval(
                [1] * n + [0] * m, scores, measure=bound.key, method=method, rng=0, n_resamples=9
            )
    except fastad.UndefinedMeasureError:
        reject()
    assert result.low <= result.value <= result.high


def test_the_warning_names_the_calling_line() -> None:
    with pytest.warns(fastad.errors.LowCoverageWarning) as caught:
        fastad.interval([0] * 9 + [1] * 9, range(18), measure="ap", method="delong")
    assert [warning.filename for warning in caught] == [__file__]


def test_ranked_scores_have_the_same_intervals() -> None:
    ranked = fastad.rank_scores(Y, S)
    cases: list[dict[str, Any]] = [
        {"measure": "auc", "method": "delong"},
        {"measure": "ap", "method": "bca", "rng": 2},
        {"measure": "tpr_at_fpr", "fpr": 0.2, "method": "order"},
        {"measure": "precision", "threshold": 4, "method": "wilson"},
    ]
    for case in cases:
        options = {name: value for name, value in case.items() if name != "measure"}
        result = ranked.interval(measure=case["measure"], **options)
        expected = fastad.interval(Y, S, measure=case["measure"], **options)
        assert repr(result) == repr(expected)
    with pytest.warns(fastad.errors.LowCoverageWarning) as caught:
        fastad.rank_scores([0] * 9 + [1] * 9, range(18)).interval(measure="ap", method="delong")
    assert [warning.filename for warning in caught] == [__file__]
    weighted = fastad.rank_scores(Y, S, sample_weight=S / 7)
    with pytest.raises(InvalidInputError, match="sample_weight must contain integers"):
        weighted.interval(measure="auc", method="delong")


@pytest.mark.parametrize(
    ("measure", "keywords", "error", "message"),
    [
        ("area", {}, InvalidInputError, "'area'"),
        ("", {}, InvalidInputError, "found ''"),
        (7, {}, TypeError, "measure must be a string, a Measure or"),
        (None, {}, TypeError, "measure must be a string"),
        (["auc"], {}, TypeError, "measure must be a string, a Measure or"),
        ("roc_curve", {}, InvalidInputError, "must return one number; found roc_curve"),
        ("threshold_at_fpr", {"fpr": 0.1}, InvalidInputError, "must return one number"),
        ("confusion_at", {"threshold": 1}, InvalidInputError, "must return one number"),
        ("auc", {"fpr": 0.1}, TypeError, "has none; found fpr=0.1"),
        ("tpr_at_fpr", {}, TypeError, "fpr must be given for tpr_at_fpr"),
        ("tpr_at_fpr", {"tpr": 0.1}, TypeError, "has fpr, interpolation; found tpr="),
        ("tpr@0.1", {"fpr": 0.1}, InvalidInputError, "fpr must not be given beside"),
        ("tpr@", {}, InvalidInputError, "'tpr@'"),
        ("tpr@2", {}, InvalidInputError, "tpr@2"),
        ("tpr_at_fpr", {"fpr": 2}, InvalidInputError, "fpr must lie in"),
        ("tpr_at_fpr", {"fpr": math.nan}, InvalidInputError, "fpr must be finite"),
        ("tpr_at_fpr", {"fpr": [0.1, 0.2]}, InvalidTypeError, "fpr must be one operating point"),
        ("tpr_at_fpr", {"fpr": [0.1]}, InvalidTypeError, "fpr must be one operating point"),
        ("tpr_at_fpr", {"fpr": "0.1"}, TypeError, "fpr"),
        ("auc_at_fpr", {"fpr": [0.1, 0.2]}, InvalidTypeError, "fpr must be one operating point"),
        ("precision_at_k", {"k": [1, 2]}, InvalidTypeError, "k must be one operating point"),
        ("precision_at_k", {"k": 1.5}, TypeError, "k must be an integer"),
        ("precision_at_p", {"p": 0.1, "n_repeats": 3}, TypeError, "n_repeats"),
        ("rp_auc", {}, TypeError, "score_range must be given for rp_auc"),
        ("rp_auc", {"score_range": (0, 5)}, InvalidInputError, "score_range"),
        ("tpr", {}, TypeError, "threshold must be given for tpr"),
        ("tpr", {"fpr": 0.1}, TypeError, "of tpr, which has threshold; found fpr="),
        ("tpr", {"threshold": 1, "k": 1}, TypeError, "k must be an option"),
        ("tpr", {"threshold": "1"}, TypeError, "threshold must be a number"),
        ("tpr", {"threshold": math.nan}, InvalidInputError, "threshold"),
        ("tpr", {"threshold": [1, 2]}, TypeError, "threshold"),
    ],
)
def test_invalid_measures_are_named(
    measure: Any, keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    for function in (
        lambda **options: fastad.interval(Y, S, measure=measure, method="bootstrap", **options),
        lambda **options: fastad.compare(Y, S, S, measure=measure, method="bootstrap", **options),
        lambda **options: fastad.compare_all(
            Y, [S, S], measure=measure, method="bootstrap", **options
        ),
    ):
        with pytest.raises(error, match=message):
            function(**keywords)


@pytest.mark.parametrize(
    ("keywords", "error", "message"),
    [
        ({"method": "fast"}, InvalidInputError, "method must be one of 'auto', 'delong'"),
        ({"method": None}, InvalidInputError, "method must be one of"),
        ({"method": "wilson"}, InvalidInputError, "for roc_auc; found 'wilson'"),
        ({"method": "order"}, InvalidInputError, "for roc_auc; found 'order'"),
        ({"confidence_level": 0}, InvalidInputError, "confidence_level must lie strictly"),
        ({"confidence_level": 1.0}, InvalidInputError, "confidence_level must lie strictly"),
        ({"confidence_level": 95}, InvalidInputError, "confidence_level must lie in"),
        ({"confidence_level": -0.5}, InvalidInputError, "confidence_level must lie in"),
        ({"confidence_level": math.nan}, InvalidInputError, "confidence_level must be finite"),
        ({"confidence_level": "high"}, TypeError, "confidence_level must be a number"),
        ({"confidence_level": True}, TypeError, "confidence_level must be a number"),
        ({"n_resamples": 0}, InvalidInputError, "n_resamples must be at least 1"),
        ({"n_resamples": -3}, InvalidInputError, "n_resamples must be at least 1"),
        ({"n_resamples": 10.5}, TypeError, "n_resamples must be an integer"),
        ({"n_resamples": None}, TypeError, "n_resamples must be an integer"),
        ({"stratified": 1}, TypeError, "stratified must be True or False"),
        ({"stratified": None}, TypeError, "stratified must be True or False"),
        ({"rng": "seed"}, TypeError, "rng must be an int"),
        ({"rng": -1}, InvalidInputError, "rng must not be negative"),
        ({"rng": 1.5}, TypeError, "rng must be an int"),
        ({"rng": True}, TypeError, "rng must be an int"),
        ({"rng": np.random.RandomState(0)}, TypeError, "rng must be an int"),
        ({"n_threads": 0}, InvalidInputError, "n_threads"),
        ({"sample_weight": -S}, InvalidInputError, "sample_weight"),
        ({"sample_weight": S[1:]}, InvalidInputError, "sample_weight"),
        ({"pos_label": 3}, InvalidInputError, "pos_label"),
    ],
)
def test_invalid_options_are_named(
    keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        fastad.interval(Y, S, measure="auc", **{"method": "delong", **keywords})


@pytest.mark.parametrize(
    ("measure", "options", "method"),
    [
        ("best_f1", {}, "delong"),
        ("tpr_at_fpr", {"fpr": 0.1}, "delong"),
        ("tpr_at_fpr", {"fpr": 0.1}, "bca"),
        ("precision_gain_auc", {}, "logit"),
        ("average_precision", {}, "order"),
        ("tpr", {"threshold": 1}, "bca"),
        ("mcc", {"threshold": 1}, "wilson"),
        ("mcc", {"threshold": 1}, "clopper-pearson"),
    ],
)
def test_a_method_that_the_measure_lacks(
    measure: str, options: dict[str, Any], method: Any
) -> None:
    with pytest.raises(InvalidInputError, match=f"for {measure}; found '{method}'"):
        fastad.interval(Y, S, measure=measure, method=method, **options)


@pytest.mark.parametrize(
    ("y", "s", "message"),
    [
        (Y, np.where(S == 7, np.nan, S), "y_score must not contain NaN; found 1.* index 8"),
        (Y, S[1:], "y_score"),
        (Y[1:], S, "y_score"),
        (Y * 2, S, "y_true"),
        ([], [], "y_true"),
        (Y, S + 1j, "y_score"),
        (Y, ["a"] * 10, "y_score"),
        (Y, S.reshape(2, 5), "y_score"),
    ],
)
def test_invalid_data_are_named(y: Any, s: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fastad.interval(y, s, measure="auc", method="delong")


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"x": np.where(S == 7, np.nan, S), "z": S}, r"y_score\['x'\] must not contain NaN"),
        ({"z": S, "x": S[1:]}, r"y_score\['x'\]"),
        ([S, np.where(S == 7, np.nan, S)], r"y_score\['score_1'\] must not contain NaN"),
        (np.stack([S, S]).T, "transposed"),
        ({}, "y_score"),
        (np.zeros((0, 10)), "y_score"),
    ],
)
def test_invalid_detectors_are_named(scores: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        fastad.uncertainty.delong_covariance(Y, scores)
    with pytest.raises(InvalidInputError, match=message):
        fastad.compare_all(Y, scores, measure="auc")


HALVES = [0] * 30 + [1] * 30
PERFECT = list(range(60))
MIXED = np.random.default_rng(0).permutation(60).tolist()


@pytest.mark.parametrize("method", ["auto", "wilson", "clopper-pearson", "jeffreys", "bootstrap"])
def test_a_rate_without_a_denominator_is_undefined(method: Any) -> None:
    with pytest.raises(fastad.UndefinedMeasureError, match="where nothing is flagged"):
        fastad.interval([0, 0, 1, 1], [1, 2, 3, 4], measure="precision", threshold=9, method=method)


@pytest.mark.parametrize(
    ("measure", "options", "method"),
    [("ap", {}, "fiducial"), ("auc_pr", {}, "fiducial"), ("f1_at_fpr", {"fpr": 0.1}, "order")],
)
def test_another_prevalence_has_an_interval_that_is_valid_for_any_size(
    measure: str, options: dict[str, Any], method: str
) -> None:
    result = fastad.interval(HALVES, MIXED, measure=measure, prevalence=0.03, rng=0, **options)
    assert (result.method, result.coverage, result.reliability_note) == (method, None, None)
    with pytest.warns(fastad.errors.LowCoverageWarning, match="is not known"):
        fastad.interval(HALVES, MIXED, measure="f1_best", prevalence=0.03, rng=0, n_resamples=50)


@pytest.mark.parametrize("level", [1 - 2**-53, 1e-9, Fraction(10**20 - 1, 10**20)])
@pytest.mark.parametrize("scores", [PERFECT, PERFECT[::-1], MIXED, [0] * 60])
@pytest.mark.parametrize("method", ["delong", "logit", "newcombe", "bootstrap", "basic", "bca"])
def test_extreme_confidence_levels(level: Any, scores: list[int], method: Any) -> None:
    result = fastad.interval(
        HALVES, scores, measure="auc", method=method, confidence_level=level, n_resamples=50, rng=0
    )
    assert 0 <= result.low <= result.high <= 1


@pytest.mark.parametrize("method", ["wilson", "clopper-pearson", "jeffreys"])
@pytest.mark.parametrize("threshold", [-1, 30, 99])
def test_extreme_confidence_levels_of_rates(method: Any, threshold: int) -> None:
    result = fastad.interval(
        HALVES,
        PERFECT,
        measure="tpr",
        threshold=threshold,
        method=method,
        confidence_level=1 - 2**-53,
    )
    assert 0 <= result.low <= result.value <= result.high <= 1


def test_nothing_is_known_of_normal_samples_that_are_absent() -> None:
    result = fastad.interval([1] * 35, range(35), measure="ap", n_resamples=5, rng=0)
    assert (result.value, result.low, result.high) == (1, 0, 1)
    assert math.isnan(result.standard_error)


def test_an_interval_without_variance_is_its_value() -> None:
    with pytest.warns(fastad.errors.LowCoverageWarning, match="variance is zero"):
        result = fastad.interval(
            HALVES, [0] * 60, measure="auc_at_tpr", min_tpr=0.9, method="logit"
        )
    assert result.low == result.value == result.high


def test_a_width_of_rounding_is_none() -> None:
    y = np.repeat([1, 0], [60, 340])
    s = np.random.default_rng(0).random(400) + y
    with pytest.warns(fastad.errors.LowCoverageWarning, match="variance is zero"):
        result = fastad.interval(y, s, measure="rie@20", method="bootstrap", n_resamples=200, rng=0)
    assert result.low < result.high


@pytest.mark.parametrize("rate", sorted(set(RATES) - set(TRIALS)))
def test_a_function_of_both_rates_has_their_distributions(rate: str) -> None:
    interval = fastad.interval(Y, S, measure=rate, threshold=4, rng=0)
    assert (interval.method, interval.coverage, interval.reliability_note) == (
        "fiducial",
        None,
        None,
    )
    assert interval.low < interval.value < interval.high
    assert interval.value == getattr(fastad.confusion_at(Y, S, threshold=4), rate)


DESIGNS: dict[str, dict[str, Any]] = {
    "independent": {},
    "repeated rows": {"sample_weight": 1 + np.arange(340) % 3},
    "weights": {"sample_weight": 0.5 + np.arange(340) % 7 / 5},
    "clusters": {"clusters": np.arange(340) % 113},
    "blocks": {"blocks": 4},
    "hidden": {"contamination": 0.01},
    "a range": {"contamination": (0.005, 0.02)},
}
VALUES = [name for name, row in MEASURES.items() if row.kind == "value"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::fastad.errors.LowCoverageWarning")
@pytest.mark.parametrize("name", [*VALUES, "precision", "f1"])
def test_the_method_of_a_result_gives_the_same_interval(name: str) -> None:
    """Of `auto` over samples of all kinds: small and large, tied, nearly perfect, reversed."""
    options = {"threshold": 0.5} if name in RATES else options_of(MEASURES[name])
    rng, n_selected = np.random.default_rng(0), 0
    for n, m, shift, n_levels in (
        (3, 12, 9, 99),
        (30, 310, 2, 99),
        (40, 300, 4, 99),
        (170, 170, 1, 3),
    ):
        labels = np.arange(n + m) < n
        scores = np.clip(np.round(rng.normal(shift * labels) * n_levels / 3) / n_levels * 3, -9, 9)
        for design, arguments in DESIGNS.items():
            if n != 30 and design != "independent":
                continue
            keywords: Any = {"measure": name, "n_resamples": 20, "rng": 1, **options, **arguments}
            try:
                selected = fastad.interval(labels, scores, **keywords)
            except (InvalidInputError, fastad.errors.UndefinedMeasureError):
                continue  # what has no interval of such samples
            method: Any = selected.method
            given = fastad.interval(labels, scores, method=method, **keywords)
            same = replace(given, coverage=selected.coverage, selection=selected.selection)
            assert repr(same.to_dict()) == repr(selected.to_dict())
            n_selected += 1
    assert n_selected >= 3
