"""Measures that users make: values, the machines that take them, and functions that are refused."""

import json
import math
import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st
from numba import njit
from scipy.stats import beta
from sklearn.ensemble import IsolationForest

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.errors import InvalidTypeError
from fastad.measures import from_counts
from fastad.measures.measure import Measure
from fastad.measures.requests import bind
from fastad.sklearn import evaluation_scorer, measure_scorer
from fastad.streaming import ScoreSketch
from tests.support import custom
from tests.support.loops import loop
from tests.support.strategies import Sample, samples

PEERS = json.loads((Path(__file__).parents[1] / "golden" / "low_fpr.json").read_text("utf-8"))
RNG = np.random.default_rng(8)
Y = (RNG.random(300) < 0.3).astype(int)
S = np.round(RNG.normal(size=300) + 1.2 * Y, 1)
OTHER = np.round(RNG.normal(size=300) + 0.9 * Y, 1)
# Function, whether higher is better, whether it is monotone.
FUNCTIONS: dict[str, tuple[Callable[..., Any], bool, bool]] = {
    "f2": (custom.f2, True, True),
    "matthews": (custom.matthews, True, True),
    "own_accuracy": (custom.balanced_accuracy, True, True),
    "expected_cost": (custom.expected_cost, False, True),
    "alarm_precision": (custom.precision, True, True),
}
POINTS: dict[str, dict[str, Any]] = {
    "fpr": {"fpr": 0.07},
    "threshold": {"threshold": 0.6},
    "k": {"k": 40},
    "best": {},
}
EVERY = pytest.mark.parametrize("name", FUNCTIONS)
EVERY_POINT = pytest.mark.parametrize("at", POINTS)


def made(name: str, at: Any, **options: Any) -> Measure[Any]:
    function, higher, monotone = FUNCTIONS[name]
    return from_counts(
        name, function, at=at, higher_is_better=higher, **{"monotone": monotone, **options}
    )


def at_counts(name: str, result: Any) -> float:
    function = FUNCTIONS[name][0]
    with np.errstate(all="ignore"):
        value = function(
            np.float64(result.tp), result.fp, result.tp + result.fn, result.fp + result.tn
        )
    return float(value)


# Values


@EVERY
def test_values_are_those_of_the_function_at_confusion_counts(name: str) -> None:
    thresholds = [math.inf, *sorted(set(S.tolist()), reverse=True)]
    expected = [at_counts(name, fastad.confusion_at(Y, S, threshold=each)) for each in thresholds]
    curve = made(name, "curve").of(Y, S)
    np.testing.assert_array_equal(curve.values, expected)
    assert curve.thresholds.tolist() == thresholds
    at = made(name, "threshold")
    for i in (3, 20, 40):
        assert at.of(Y, S, threshold=thresholds[i]) == expected[i]
    best = made(name, "best").of(Y, S)
    better = np.nanmax if FUNCTIONS[name][1] else np.nanmin
    assert best == better(expected)
    assert best.threshold == thresholds[expected.index(float(best))]
    for k in (1, 40, 299):
        value = at_counts(name, fastad.confusion_at(Y, S, k=k))
        assert made(name, "k").of(Y, S, k=k) == pytest.approx(value, rel=1e-14)
    n = int(Y.sum())
    assert made(name, "k").of(Y, S) == made(name, "k").of(Y, S, k=n)
    for fpr in (0.01, 0.07, 0.5):
        threshold = fastad.threshold_at_fpr(Y, S, fpr=fpr)
        value = at_counts(name, fastad.confusion_at(Y, S, threshold=threshold))
        assert made(name, "fpr").of(Y, S, fpr=fpr) == value


@given(sample=samples(weights="integer", both=True), fpr=st.sampled_from([0, 0.1, 0.29, 0.5, 1]))
def test_values_are_those_of_the_measures_that_there_are(sample: Sample, fpr: float) -> None:
    y, s, w = sample.y, sample.s, sample.w
    assume(np.any(y * w > 0) and np.any((1 - y) * w > 0))
    pairs: list[tuple[Callable[[], Any], Callable[[], Any]]] = [
        (
            lambda: from_counts("own_f1", custom.f1, at="fpr").of(y, s, w, fpr=fpr),
            lambda: fastad.f1_at_fpr(y, s, fpr=fpr, sample_weight=w),
        ),
        (
            lambda: from_counts("own_f1", custom.f1, at="best").of(y, s, w),
            lambda: fastad.best_f1(y, s, sample_weight=w),
        ),
        (
            lambda: made("alarm_precision", "k").of(y, s, w),
            lambda: fastad.precision_at_k(y, s, sample_weight=w),
        ),
    ]
    for own, of_fastad in pairs:
        try:
            expected = of_fastad()
        except UndefinedMeasureError:
            with pytest.raises(UndefinedMeasureError):
                own()
            continue
        assert own() == pytest.approx(expected, rel=1e-14)


@loop("i", range(20))
def test_net_benefit_is_that_of_dcurves(i: int) -> None:
    """The dcurves package, version 1.1.7, on 20 sets; its scores are probabilities."""
    y, p = PEERS["y"][i], PEERS["s"][i]
    benefit = from_counts("net_benefit", custom.net_benefit, at="threshold", takes_threshold=True)
    result = [benefit.of(y, p, threshold=each) for each in PEERS["thresholds"]]
    expected = PEERS["values"]["dcurves"]["sets"][i]
    assert result == pytest.approx(expected["net_benefit_p"], rel=1e-12, abs=1e-12)
    ones = [1.0] * len(y)
    everything = [benefit.of(y, ones, threshold=each) for each in PEERS["thresholds"]]
    assert everything == pytest.approx(expected["net_benefit_all"], rel=1e-12, abs=1e-12)


def test_thresholds_that_functions_get() -> None:
    def reached(tp: Any, fp: Any, n: Any, m: Any, threshold: Any) -> Any:
        return np.where(np.isfinite(threshold), threshold, 99.0)

    options: dict[str, Any] = {"takes_threshold": True}
    y, s = [0, 1, 0, 1, 1], [5.0, 4, 4, 2, 1]
    curve = from_counts("own", reached, at="curve", **options).of(y, s)
    assert curve.values.tolist() == [99, 5, 4, 2, 1]
    at_k = from_counts("own", reached, at="k", **options)
    assert [at_k.of(y, s, k=k) for k in (1, 2, 3, 4, 5)] == [5, 4, 4, 2, 1]
    at_fpr = from_counts("own", reached, at="fpr", **options)
    assert [at_fpr.of(y, s, fpr=fpr) for fpr in (0, 0.5, 1)] == [99, 5, 1]
    at_threshold = from_counts("own", reached, at="threshold", **options)
    assert [at_threshold.of(y, s, threshold=each) for each in (3.5, 7)] == [3.5, 7]
    best = from_counts("own", reached, at="best", higher_is_better=False, **options).of(y, s)
    assert (float(best), best.threshold) == (1, 1)


def test_a_range_that_ends_beyond_all_floats() -> None:
    assert from_counts("own", custom.f2, at="best", value_range=(0, 10**400)).value_range == (
        0,
        math.inf,
    )


def test_alerts_per_day_of_a_threshold() -> None:
    alerts = from_counts("alerts", custom.alerts_per_day, at="threshold", higher_is_better=None)
    # Of one anomaly in 100 half is found, and one normal sample of four is flagged.
    value = alerts.of([0, 0, 0, 0, 1, 1], [1, 2, 3, 5, 4, 6], threshold=5)
    assert value == pytest.approx(10_000 * (0.01 * 0.5 + 0.99 * 0.25))


@pytest.mark.slow
def test_compiled_functions_are_the_same() -> None:
    @njit
    def compiled(tp: float, fp: float, n: float, m: float) -> float:
        return 5 * tp / (5 * tp + 4 * (n - tp) + fp)

    @njit
    def benefit(tp: float, fp: float, n: float, m: float, threshold: float) -> float:
        return (tp - fp * threshold / (1 - threshold)) / (n + m)

    for at, point in POINTS.items():
        own: Any = from_counts("f2", compiled, at=at)  # type: ignore[arg-type]
        assert own.of(Y, S, **point) == made("f2", at).of(Y, S, **point)
    curve = from_counts("f2", compiled, at="curve").of(Y, S)
    np.testing.assert_array_equal(curve.values, made("f2", "curve").of(Y, S).values)
    p = 1 / (1 + np.exp(-S))
    options: dict[str, Any] = {"at": "threshold", "takes_threshold": True}
    assert from_counts("own", benefit, **options).of(Y, p, threshold=0.3) == from_counts(
        "own", custom.net_benefit, **options
    ).of(Y, p, threshold=0.3)


# What takes a measure


@EVERY
@EVERY_POINT
def test_everything_that_takes_a_key_takes_it(name: str, at: str) -> None:
    measure, options = made(name, at), POINTS[at]
    value = float(measure.of(Y, S, **options))
    ranked = fastad.rank_scores(Y, S)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
        for given, more in ((measure, options), (measure.bind(**options), {})):
            result = fastad.interval(Y, S, measure=given, n_resamples=50, rng=1, **more)
            assert result.low <= result.value == value <= result.high
            again = ranked.interval(measure=given, n_resamples=50, rng=1, **more)
            assert (again.low, again.high) == (result.low, result.high)
            pair = fastad.compare(Y, S, OTHER, measure=given, n_resamples=50, rng=1, **more)
            assert pair.values == (value, float(measure.of(Y, OTHER, **options)))
            assert pair.higher_is_better == FUNCTIONS[name][1]
            level = fastad.chance_level(Y, S, measure=given, n_resamples=50, rng=1, **more)
            assert level.value == value
            assert (level.expected < value) == FUNCTIONS[name][1]
    key = measure.bind(**options).key
    table = fastad.evaluate(Y, {"a": S, "b": OTHER}, measures=["auc", measure.bind(**options)])
    assert table["a"][key] == value
    assert table["a"].keys() == {"auc", key}
    groups = fastad.evaluate(Y, S, measures=[measure.bind(**options)], groups=np.arange(300) % 2)
    for g in (0, 1):
        assert groups[g]["score"][key] == measure.of(Y[g::2], S[g::2], **options)
    assert key in str(groups.summary())


def test_tables_have_the_operating_points_of_declarations() -> None:
    measures = [made("f2", "fpr"), made("expected_cost", "threshold"), made("own_accuracy", "k")]
    result = fastad.evaluate(Y, S, measures=measures, fpr=[0.1, 0.2], threshold=[0.5, 1])["score"]
    assert list(result) == [
        *("f2@0.1", "f2@0.2", "expected_cost@threshold0.5", "expected_cost@threshold1"),
        "own_accuracy@n",
        *(f"{rate}@threshold{x}" for x in (0.5, 1) for rate in RATES_OF_TABLES),
    ]
    own = fastad.evaluate(
        Y, {"a": S, "b": OTHER}, measures=[made("f2", "threshold")], threshold={"a": 0.5, "b": 1}
    )
    assert own["b"]["f2@threshold"] == made("f2", "threshold").of(Y, OTHER, threshold=1)
    with pytest.raises(InvalidInputError, match="threshold must be given for 'f2'"):
        fastad.evaluate(Y, S, measures=[made("f2", "threshold")])


RATES_OF_TABLES = ("tpr", "fpr", "precision", "f1", "flagged")


def test_two_measures_with_one_key_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="keys of their own; found two for 'f2'"):
        fastad.evaluate(Y, S, measures=[made("f2", "best"), made("f2", "best")])
    same = made("f2", "best")
    assert list(fastad.evaluate(Y, S, measures=[same, same])["score"]) == ["f2"]


def test_declarations_of_fastad_are_taken_as_well() -> None:
    from fastad.measures.roc import TPR_AT_FPR

    assert list(fastad.evaluate(Y, S, measures=TPR_AT_FPR)["score"]) == ["tpr@0.01", "tpr@0.05"]
    bound = TPR_AT_FPR.bind(fpr=0.2)
    assert fastad.evaluate(Y, S, measures=bound)["score"]["tpr@0.2"] == bind(bound, {}).value(
        fastad.rank_scores(Y, S).counts
    )
    with pytest.raises(InvalidInputError, match="fpr must not be given beside the measure"):
        fastad.interval(Y, S, measure=bound, fpr=0.1)
    with pytest.raises(InvalidTypeError, match="fpr2 must be an option"):
        fastad.interval(Y, S, measure=TPR_AT_FPR, fpr2=0.1)
    with pytest.raises(InvalidInputError, match="must return one number"):
        fastad.interval(Y, S, measure=made("f2", "curve"))
    with pytest.raises(InvalidInputError, match="must return one number; found f2"):
        fastad.evaluate(Y, S, measures=[made("f2", "curve")])


@EVERY_POINT
def test_scorers(at: str) -> None:
    X = np.stack([S, OTHER], axis=1)
    forest = IsolationForest(n_estimators=5, random_state=0).fit(X)
    s = -forest.score_samples(X)
    options = {"threshold": 0.5} if at == "threshold" else POINTS[at]
    cost = made("expected_cost", at)
    scorer = measure_scorer(cost, **options)
    value = cost.of(Y, s, **options)
    assert scorer(forest, X, Y) == -float(value)
    many = evaluation_scorer(measures=["auc", cost.bind(**options)])
    assert many(forest, X, Y)[cost.bind(**options).key] == -float(value)
    assert pickle.loads(pickle.dumps(scorer))(forest, X, Y) == -float(value)
    assert measure_scorer("tpr@0.05")(forest, X, Y) == fastad.tpr_at_fpr(Y, s, fpr=0.05)


@EVERY_POINT
@pytest.mark.parametrize("name", [name for name, (_, _, rises) in FUNCTIONS.items() if rises])
@given(sample=samples(max_size=40, both=True), fpr=st.sampled_from([0, 0.1, 0.29, 0.5, 1]))
def test_bounds_of_sketches_hold(name: str, at: str, sample: Sample, fpr: float) -> None:
    measure, options = made(name, at), dict(POINTS[at])
    if at == "fpr":
        options["fpr"] = fpr
    if at == "threshold":
        options["threshold"] = sample.s[len(sample.s) // 2].item()
    if at == "k":
        options["k"] = max(1, len(sample.s) // 3)
    sketch = ScoreSketch(512)
    sketch.update(sample.y, sample.s)
    try:
        value = measure.of(sample.y, sample.s, **options)
    except UndefinedMeasureError:
        reject()  # in another order of a cell it may have a value
    bounds = sketch.bounds(measure.bind(**options))
    assert bounds.low <= value <= bounds.high


def test_a_sketch_refuses_what_is_not_monotone() -> None:
    sketch = ScoreSketch(512)
    sketch.update(Y, S)
    with pytest.raises(InvalidInputError, match="found matthews"):
        sketch.bounds(made("matthews", "best", monotone=False).bind())
    result = sketch.evaluate([made("f2", "best")])
    assert result["f2"].low <= made("f2", "best").of(Y, S) <= result["f2"].high


def test_intervals_at_a_threshold_follow_from_the_derivative() -> None:
    """Of the expected cost, which is linear in both rates, the variance is binomial."""
    n, m = int(Y.sum()), int((1 - Y).sum())
    result = fastad.interval(
        Y, S, measure=made("expected_cost", "threshold"), threshold=0.6, method="delong"
    )
    tpr, fpr = (np.mean(S[label == Y] >= 0.6) for label in (1, 0))
    variance = (custom.PREVALENCE * 49) ** 2 * tpr * (1 - tpr) / (n - 1)
    variance += ((1 - custom.PREVALENCE) * 3) ** 2 * fpr * (1 - fpr) / (m - 1)
    assert result.standard_error == pytest.approx(math.sqrt(variance), rel=1e-8)


def test_intervals_at_an_fpr_are_exact_where_the_function_is_monotone() -> None:
    own = from_counts("own_f1", custom.f1, at="fpr", value_range=(0, 1), monotone=True)
    for fpr in (0.01, 0.1, 0.4):
        result = fastad.interval(Y, S, measure=own, fpr=fpr)
        expected = fastad.interval(Y, S, measure="f1_at_fpr", fpr=fpr, method="order")
        assert result.method == "order"
        assert (result.low, result.high) == pytest.approx((expected.low, expected.high), rel=1e-12)


@loop("name", [name for name, (_, _, rises) in FUNCTIONS.items() if rises])
@loop("threshold", [-9.0, 0.6, 2.9, 9.0])
def test_intervals_at_a_threshold_are_quantiles_where_the_function_is_monotone(
    name: str, threshold: float
) -> None:
    """Quantiles over the beta distributions of both rates, with one sample more on either side."""
    measure = made(name, "threshold", value_range=(-60, 60))
    n, m = int(Y.sum()), int((1 - Y).sum())
    tp, fp = (int(np.sum(S[label == Y] >= threshold)) for label in (1, 0))
    try:
        result = fastad.interval(Y, S, measure=measure, threshold=threshold, n_resamples=20_000)
    except UndefinedMeasureError:
        assert tp + fp in (0, n + m)
        return
    assert (result.method, result.coverage) == ("fiducial", None)
    parts = (np.arange(400) + 0.5) / 400

    def rates(k: int, total: int) -> list[Any]:
        low = beta.ppf(parts, k, total - k + 1) if k else np.zeros(400)
        return [low, beta.ppf(parts, k + 1, total - k) if k < total else np.ones(400)]

    (tpr, more), (fpr, above) = rates(tp, n), rates(fp, m)
    function, rises, _ = FUNCTIONS[name]
    worst_and_best = ((tpr, above), (more, fpr))[:: 1 if rises else -1]
    for end, sign, (p, q) in zip((result.low, result.high), (1, -1), worst_and_best, strict=True):
        with np.errstate(all="ignore"):
            values = sign * function(p[:, None] * n, q[None, :] * m, n, m)
        values = np.nan_to_num(values, nan=-60)
        assert np.mean(values < sign * end - 1e-9) < 0.03
        assert np.mean(values <= sign * end + 1e-9) > 0.02


def test_an_interval_of_which_nothing_is_known_warns() -> None:
    with pytest.warns(fastad.errors.LowCoverageWarning):
        fastad.interval(Y, S, measure=made("matthews", "best"), n_resamples=50, rng=0)


# Functions and arguments that are refused


def raises_above(tp: Any, fp: Any, n: Any, m: Any) -> Any:
    if np.any(fp >= 3):
        raise ZeroDivisionError("three false alarms")
    return tp


BAD: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "another shape": (
        lambda tp, fp, n, m: (tp / n).reshape(1, -1),
        ["shape (1, 20) of float64", "tp = 0, fp = 0"],
    ),
    "one number": (lambda tp, fp, n, m: float(np.sum(tp)), ["shape ()", "tp = 0, fp = 0"]),
    "text": (lambda tp, fp, n, m: tp.astype(str), ["<U32"]),
    "complex": (lambda tp, fp, n, m: tp * 1j, ["complex128"]),
    "nothing": (lambda tp, fp, n, m: None, ["shape () of object"]),
    "NaN": (
        lambda tp, fp, n, m: np.where((tp == 2) & (fp == 1), np.nan, tp),
        ["found nan", "tp = 2, fp = 1, n_anomalies = 3, n_normals = 4"],
    ),
    "raises": (raises_above, ["ZeroDivisionError (three false alarms)", "tp = 0, fp = 3"]),
    "for one point": (
        lambda tp, fp, n, m: tp if tp > 0 else fp,
        ["ValueError", "several points at once"],
    ),
    "of all points": (
        lambda tp, fp, n, m: tp / max(1.0, tp.max()),
        ["each point by itself", "tp = 1, fp = 0"],
    ),
    "another number of arguments": (lambda tp, fp: tp, ["TypeError", "tp = 0, fp = 0"]),
}


@loop(("function", "shown"), BAD.values())
@loop("at", ["fpr", "best", "curve"])
def test_a_bad_function_is_refused_with_the_counts(
    function: Any, shown: list[str], at: Any
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        from_counts("own", function, at=at)
    assert caught.value.argument == "function"
    assert str(caught.value).startswith("function must")
    for each in shown:
        assert each in str(caught.value)


def late(tp: Any, fp: Any, n: Any, m: Any) -> Any:
    """What goes wrong only with many samples."""
    return np.where(tp == 50, np.nan, tp / n)


@pytest.mark.parametrize("at", ["best", "curve", "k"])
def test_a_function_that_goes_wrong_later_names_the_counts(at: Any) -> None:
    measure = from_counts("own", late, at=at)
    with pytest.raises(InvalidInputError, match=r"found nan at tp = 50, fp = 1, n_anomalies = 60"):
        measure.of([0, *[1] * 60, *[0] * 60], range(121, 0, -1), **({"k": 51} if at == "k" else {}))


def test_values_beyond_the_range_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="values from 0 to 2; found 3 at tp = 3, fp = 0"):
        from_counts("own", lambda tp, fp, n, m: tp, at="best", value_range=(0, 2))


@pytest.mark.parametrize(
    ("function", "higher", "found"),
    [
        (lambda tp, fp, n, m: -tp, True, "worse with one flagged anomaly more"),
        (lambda tp, fp, n, m: tp + fp, True, "better with one flagged normal more"),
        (lambda tp, fp, n, m: tp, False, "worse with one flagged anomaly more"),
        (lambda tp, fp, n, m: (tp - fp) ** 2, True, "with one flagged"),
    ],
)
def test_functions_that_are_not_monotone_are_found_out(
    function: Any, higher: bool, found: str
) -> None:
    with pytest.raises(InvalidInputError, match=found) as caught:
        from_counts("own", function, at="best", monotone=True, higher_is_better=higher)
    assert caught.value.argument == "monotone"


@loop(
    ("options", "argument"),
    [
        ({"name": "roc_auc"}, "name"),
        ({"name": "auc"}, "name"),
        ({"name": "tpr"}, "name"),
        ({"name": "f1"}, "name"),
        ({"name": "two words"}, "name"),
        ({"name": 3}, "name"),
        ({"function": 3}, "function"),
        ({"at": "rate"}, "at"),
        ({"higher_is_better": "yes"}, "higher_is_better"),
        ({"higher_is_better": None, "at": "best"}, "higher_is_better"),
        ({"higher_is_better": None, "monotone": True}, "monotone"),
        ({"monotone": 1}, "monotone"),
        ({"value_range": (1, 0)}, "value_range"),
        ({"value_range": 1}, "value_range"),
        ({"value_range": (0, math.nan)}, "value_range"),
        ({"takes_threshold": "no"}, "takes_threshold"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], argument: str) -> None:
    given = {"name": "own", "function": custom.f2, "at": "fpr", **options}
    with pytest.raises((InvalidInputError, InvalidTypeError)) as caught:
        from_counts(given.pop("name"), given.pop("function"), **given)
    assert caught.value.argument == argument


def test_thresholds_and_monotone_exclude_each_other_but_at_thresholds() -> None:
    options: dict[str, Any] = {"takes_threshold": True, "monotone": True}
    assert from_counts("own", custom.net_benefit, at="threshold", **options).monotone
    with pytest.raises(InvalidInputError, match="takes_threshold is True"):
        from_counts("own", custom.net_benefit, at="best", **options)


def test_what_is_undefined_says_where() -> None:
    at = made("alarm_precision", "threshold")
    with pytest.raises(UndefinedMeasureError, match="alarm_precision is undefined at tp = 0"):
        at.of(Y, S, threshold=100)
    with pytest.raises(UndefinedMeasureError, match="without normal samples"):
        made("f2", "fpr").of([1, 1], [1, 2], fpr=0.1)
    with pytest.raises(UndefinedMeasureError, match="f2 is undefined for the default k"):
        made("f2", "k").of([0, 0], [1, 2])
    never = from_counts(
        "own", lambda tp, fp, n, m: np.where(tp * fp * (n - tp) > 0, 1, np.nan), at="best"
    )
    with pytest.raises(UndefinedMeasureError, match="own is undefined at every threshold"):
        never.of([0, 1], [0, 1])


@EVERY_POINT
def test_other_comparisons_take_it(at: str) -> None:
    measure, options = made("f2", at), POINTS[at]
    halves = (Y[::2], S[::2]), (Y[1::2], S[1::2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
        result = fastad.uncertainty.compare_independent(
            *halves, measure=measure, n_resamples=50, rng=0, **options
        )
    values = [float(measure.of(*half, **options)) for half in halves]
    assert result.difference == values[0] - values[1]
    if at == "threshold":
        covariance = fastad.uncertainty.delong_covariance(
            Y, [S, OTHER], measure=measure.bind(**options)
        )
        assert covariance.values.tolist() == [measure.of(Y, each, **options) for each in (S, OTHER)]
    else:
        with pytest.raises(InvalidInputError, match=r"measure must be smooth.*found 'f2'"):
            fastad.uncertainty.delong_covariance(Y, [S, OTHER], measure=measure, **options)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_bands_of_large_integers_count_as_the_values_do(dtype: Any) -> None:
    """Above 2^53 floats merge neighbours: the band had no width where the detectors differed."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 200)
    first, second = rng.integers(0, 3, (2, 400))
    first += y
    measure = made("own_accuracy", "threshold")
    options: dict[str, Any] = {"measure": measure, "simultaneous": False}
    small = fastad.uncertainty.difference_band(y, first, second, threshold=[1, 2], **options)
    large = fastad.uncertainty.difference_band(
        y,
        *((each + 2**53).astype(dtype) for each in (first, second)),
        threshold=[2**53 + 1, 2**53 + 2],
        **options,
    )
    assert (small.low < small.high).all()
    for name in ("values_a", "values_b", "difference", "low", "high"):
        assert getattr(large, name).tolist() == getattr(small, name).tolist()
