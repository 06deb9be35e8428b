"""Agreement with scikit-learn, and the deliberate differences, each shown by a test."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn import metrics
from sklearn.exceptions import UndefinedMetricWarning

import fastad
from tests.support.loops import loop

Data = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any] | None]

# scikit-learn adds up floats: a few hundred terms of relative error 1.1e-16.
CLOSE = 1e-12


def dataset(seed: int, weighting: str, decimals: int) -> Data:
    rng = np.random.default_rng(seed)
    y = (rng.random(400) < (0.05 if seed % 2 else 0.4)).astype(int)
    s = np.round(rng.normal(size=400) + y, decimals)
    weights: dict[str, Any] = {
        "none": None,
        "integer": rng.integers(1, 5, 400),
        "real": rng.uniform(0.1, 3, 400),
    }
    return y, s, weights[weighting]


SETS = loop(
    "data",
    [
        pytest.param(dataset(seed, weighting, decimals), id=f"{seed}-{weighting}-{decimals}")
        for seed in (0, 1)
        for weighting in ("none", "integer", "real")
        for decimals in (1, 6)
    ],
)


@SETS
def test_areas(data: Data) -> None:
    y, s, w = data
    expected = metrics.roc_auc_score(y, s, sample_weight=w)
    assert fastad.roc_auc(y, s, sample_weight=w) == pytest.approx(expected, rel=CLOSE)
    expected = metrics.average_precision_score(y, s, sample_weight=w)
    assert fastad.average_precision(y, s, sample_weight=w) == pytest.approx(expected, rel=CLOSE)
    for fpr in (0.013, 0.05, 0.3, 0.77):
        expected = metrics.roc_auc_score(y, s, max_fpr=fpr, sample_weight=w)
        result = fastad.auc_at_fpr(y, s, fpr=fpr, normalize="mcclish", sample_weight=w)
        assert result == pytest.approx(expected, rel=CLOSE)


@SETS
def test_roc_curve(data: Data) -> None:
    y, s, w = data
    fpr, tpr, thresholds = metrics.roc_curve(y, s, sample_weight=w, drop_intermediate=False)
    curve = fastad.roc_curve(y, s, sample_weight=w)
    np.testing.assert_allclose(curve.fpr, fpr, rtol=CLOSE, atol=0)
    np.testing.assert_allclose(curve.tpr, tpr, rtol=CLOSE, atol=0)
    np.testing.assert_array_equal(curve.thresholds, thresholds)


@SETS
@pytest.mark.parametrize("name", ["roc_curve", "det_curve", "precision_recall_curve"])
def test_curves_unpack_in_the_order_of_scikit_learn(name: str, data: Data) -> None:
    y, s, w = data
    curve = getattr(fastad.measures, name)(y, s, sample_weight=w)
    first, second, thresholds = curve
    names = {"roc_curve": ("fpr", "tpr"), "det_curve": ("fpr", "fnr")}
    names["precision_recall_curve"] = ("precision", "recall")
    assert first is getattr(curve, names[name][0])
    assert second is getattr(curve, names[name][1])
    assert thresholds is curve.thresholds
    theirs = getattr(metrics, name)(y, s, sample_weight=w)
    # Each of their points is one of ours.
    for x, z in list(zip(*theirs[:2], strict=True))[1:-1]:
        assert np.isclose(first, x, rtol=CLOSE)[np.isclose(second, z, rtol=CLOSE)].any()


@SETS
def test_thinned_roc_curve_has_the_same_corners(data: Data) -> None:
    y, s, w = data
    if w is not None and w.dtype.kind == "f":
        w = None  # under real weights rounding decides what is straight
    fpr, tpr, _ = metrics.roc_curve(y, s, sample_weight=w)
    curve = fastad.roc_curve(y, s, sample_weight=w, drop_collinear=True)
    theirs = set(zip(np.round(fpr, 10), np.round(tpr, 10), strict=True))
    ours = set(zip(np.round(curve.fpr, 10), np.round(curve.tpr, 10), strict=True))
    assert ours <= theirs
    assert len(curve.fpr) < len(fastad.roc_curve(y, s, sample_weight=w).fpr)
    assert metrics.auc(curve.fpr, curve.tpr) == pytest.approx(metrics.auc(fpr, tpr), rel=CLOSE)


@SETS
def test_precision_recall_curve(data: Data) -> None:
    y, s, w = data
    precision, recall, thresholds = metrics.precision_recall_curve(y, s, sample_weight=w)
    curve = fastad.precision_recall_curve(y, s, sample_weight=w)
    # scikit-learn runs by rising threshold and puts (precision 1, recall 0) last.
    np.testing.assert_allclose(curve.precision[1:], precision[-2::-1], rtol=CLOSE, atol=0)
    np.testing.assert_allclose(curve.recall, recall[::-1], rtol=CLOSE, atol=0)
    np.testing.assert_array_equal(curve.thresholds[1:], thresholds[::-1])


@SETS
@loop("threshold", [-0.5, 1.2])
def test_confusion_and_its_rates(data: Data, threshold: float) -> None:
    y, s, w = data
    alarm = s >= threshold
    (tn, fp), (fn, tp) = metrics.confusion_matrix(y, alarm, sample_weight=w)
    result = fastad.confusion_at(y, s, threshold=threshold, sample_weight=w)
    assert (result.tp, result.fp, result.tn, result.fn) == pytest.approx(
        (tp, fp, tn, fn), rel=CLOSE
    )
    peers: dict[str, Callable[..., float]] = {
        "f1": metrics.f1_score,
        "mcc": metrics.matthews_corrcoef,
        "precision": metrics.precision_score,
        "recall": metrics.recall_score,
        "accuracy": metrics.accuracy_score,
        "balanced_accuracy": metrics.balanced_accuracy_score,
    }
    for name, peer in peers.items():
        expected = peer(y, alarm, sample_weight=w)
        assert getattr(result, name) == pytest.approx(expected, rel=1e-10), name


@SETS
@loop("fpr", [0.02, 0.1, 0.5])
def test_f1_and_precision_of_what_a_threshold_flags(data: Data, fpr: float) -> None:
    y, s, w = data
    alarm = s >= fastad.threshold_at_fpr(y, s, fpr=fpr, sample_weight=w)
    expected = metrics.f1_score(y, alarm, sample_weight=w)
    assert fastad.f1_at_fpr(y, s, fpr=fpr, sample_weight=w) == pytest.approx(expected, rel=CLOSE)
    expected = metrics.precision_score(y, alarm, sample_weight=w)
    result = fastad.precision_at_fpr(y, s, fpr=fpr, sample_weight=w)
    assert result == pytest.approx(expected, rel=CLOSE)


# Deliberate differences (docs/start/other_libraries.md).


@pytest.mark.parametrize("labels", [[0, 0], [1, 1]])
def test_differs_one_class_is_an_error_not_a_nan(labels: list[int]) -> None:
    with pytest.warns(UndefinedMetricWarning):
        assert math.isnan(metrics.roc_auc_score(labels, [0.1, 0.2]))
    with pytest.raises(fastad.UndefinedMeasureError):
        fastad.roc_auc(labels, [0.1, 0.2])
    with pytest.warns(UndefinedMetricWarning):
        metrics.roc_curve(labels, [0.1, 0.2])
    with pytest.raises(fastad.UndefinedMeasureError):
        fastad.roc_curve(labels, [0.1, 0.2])


def test_differs_no_anomaly_is_an_error_not_zero() -> None:
    with pytest.warns(UserWarning, match="No positive class"):
        assert metrics.average_precision_score([0, 0], [0.1, 0.2]) == 0
    with pytest.raises(fastad.UndefinedMeasureError):
        fastad.average_precision([0, 0], [0.1, 0.2])
    with pytest.warns(UserWarning, match="No positive class"):
        metrics.precision_recall_curve([0, 0], [0.1, 0.2])
    with pytest.raises(fastad.UndefinedMeasureError):
        fastad.precision_recall_curve([0, 0], [0.1, 0.2])


def test_differs_precision_of_no_alarm_is_an_error_not_zero() -> None:
    with pytest.warns(UndefinedMetricWarning):
        assert metrics.precision_score([0, 1], [0, 0]) == 0
    with pytest.raises(fastad.UndefinedMeasureError):
        fastad.precision_at_fpr([0, 1], [0.2, 0.1], fpr=0)


@pytest.mark.parametrize("labels", [[-1, 1], ["normal", "odd"]])
def test_differs_other_labels_are_never_guessed(labels: list[Any]) -> None:
    assert metrics.roc_auc_score(labels, [0.1, 0.2]) == 1
    with pytest.raises(fastad.InvalidInputError, match="y_true"):
        fastad.roc_auc(labels, [0.1, 0.2])
    assert fastad.roc_auc(labels, [0.1, 0.2], pos_label=labels[0]) == 0
    assert fastad.roc_auc(labels, [0.1, 0.2], pos_label=labels[1]) == 1


def test_differs_partial_area_is_divided_by_its_width() -> None:
    y, s = [0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]
    assert metrics.roc_auc_score(y, s, max_fpr=0.75) == pytest.approx(11 / 15)
    assert fastad.auc_at_fpr(y, s, fpr=0.75) == 2 / 3


def test_differs_standardized_area_below_chance_is_undefined() -> None:
    assert metrics.roc_auc_score([0, 1], [2, 1], max_fpr=0.5) < 0.5
    with pytest.raises(fastad.UndefinedMeasureError):
        fastad.auc_at_fpr([0, 1], [2, 1], fpr=0.5, normalize="mcclish")


def test_differs_curve_keeps_all_points() -> None:
    y, s = [1, 1, 1, 1, 1, 0], [6, 5, 4, 3, 2, 1]
    assert len(metrics.roc_curve(y, s)[0]) < 7
    assert len(fastad.roc_curve(y, s).fpr) == 7
    assert len(fastad.roc_curve(y, s, drop_collinear=True).fpr) == 3


def test_differs_thresholds_keep_the_type_of_scores() -> None:
    y, s = [0, 1], np.array([0.1, 0.7], np.float32)
    assert fastad.roc_curve(y, s).thresholds.dtype == np.float32
    huge = np.array([2**53, 2**53 + 1])
    assert fastad.roc_curve(y, huge).thresholds.tolist() == [math.inf, 2**53 + 1, 2**53]


def test_differs_infinite_scores_are_ordered() -> None:
    with pytest.raises(ValueError, match="infinity"):
        metrics.roc_auc_score([0, 1, 1], [-1, 0, np.inf])
    assert fastad.roc_auc([0, 1, 1], [-np.inf, 0, np.inf]) == 1


def test_differs_negative_weights_are_refused() -> None:
    y, s, w = [0, 1, 1, 0], [1, 2, 3, 4], [1, 1, -0.5, 1]
    assert math.isfinite(metrics.average_precision_score(y, s, sample_weight=w))
    with pytest.raises(fastad.InvalidInputError, match="sample_weight"):
        fastad.average_precision(y, s, sample_weight=w)


def test_differs_a_row_of_weight_0_may_hold_nan() -> None:
    y, s, w = [0, 1, 1], [1, 2, np.nan], [1, 1, 0]
    with pytest.raises(ValueError, match="NaN"):
        metrics.roc_auc_score(y, s, sample_weight=w)
    assert fastad.roc_auc(y, s, sample_weight=w) == 1


def test_differs_rates_without_a_denominator_are_nan() -> None:
    result = fastad.confusion_at([0, 1], [0, 0], threshold=1)
    assert math.isnan(result.precision)
    assert math.isnan(result.mcc)
    assert metrics.matthews_corrcoef([0, 1], [0, 0]) == 0
