"""Intervals of cross-validated measures."""

import json
import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import fastad
from fastad.errors import LowCoverageWarning
from fastad.measures import from_counts
from fastad.uncertainty import CrossValidatedInterval, cross_validated_interval
from tests.support import custom


def folds_of(seed: int, sizes: list[tuple[int, int]], shift: float = 1.0) -> Any:
    """Labels, scores without ties, and folds of so many anomalies and normals."""
    rng = np.random.default_rng(seed)
    y = np.concatenate([np.repeat([1, 0], size) for size in sizes])
    folds = np.repeat(np.arange(len(sizes)), [sum(size) for size in sizes])
    order = rng.permutation(len(y))
    scores = rng.normal(size=len(y)) + shift * y
    return y[order], scores[order], folds[order]


def ci_cvauc(y: Any, s: Any, folds: Any, level: float) -> tuple[float, float, float, float]:
    """`ci.cvAUC` of the R package cvAUC (E. LeDell, R/ci.cvAUC.R), line by line, without ties."""
    n = len(y)
    w1, w0 = 1 / (np.sum(y == 1) / n), 1 / (np.sum(y == 0) / n)
    areas, squares = [], []
    for fold in sorted(set(folds)):
        pos = [x for x, label, f in zip(s, y, folds, strict=True) if label == 1 and f == fold]
        neg = [x for x, label, f in zip(s, y, folds, strict=True) if label == 0 and f == fold]
        auc = sum(a > b for a in pos for b in neg) / (len(pos) * len(neg))
        ic = [sum(a > b for b in neg) / len(neg) * w1 - auc * w1 for a in pos]
        ic += [sum(b < a for a in pos) / len(pos) * w0 - auc * w0 for b in neg]
        areas.append(auc)
        squares.append(sum(x * x for x in ic) / len(ic))
    se = math.sqrt(sum(squares) / len(squares) / n)
    value, z = sum(areas) / len(areas), stats.norm.ppf(level + (1 - level) / 2)
    return value, se, max(value - z * se, 0), min(value + z * se, 1)


def test_large_folds_have_nearly_the_standard_error_of_cvauc() -> None:
    y, s, folds = folds_of(7, [(30, 50)] * 4)
    value, se, low, high = ci_cvauc(y, s, folds, 0.95)
    result = cross_validated_interval(y, s, folds, measure="auc")
    assert result.value == pytest.approx(value, rel=1e-12)
    assert 1 < result.standard_error / se < math.sqrt(30 / 29)
    assert (result.low, result.high) == pytest.approx((low, high), abs=0.15 * (high - low))


@given(
    st.integers(0, 99),
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 9)), min_size=1, max_size=5),
    st.sampled_from([0.5, 0.95]),
)
def test_variances_of_folds_add_up(seed: int, sizes: list[tuple[int, int]], level: float) -> None:
    """Of each fold DeLong's variance, by the parts of the other class that a sample is right of."""
    y, s, folds = folds_of(seed, sizes)
    variances, areas = [], []
    for fold in range(len(sizes)):
        pos, neg = (s[(folds == fold) & (y == label)] for label in (1, 0))
        is_right = pos[:, None] > neg
        areas.append(is_right.mean())
        for placements in (is_right.mean(axis=1), is_right.mean(axis=0)):
            n = len(placements)
            variances.append(np.var(placements, ddof=1) / n if n > 1 else 0.0)
    se = math.sqrt(sum(variances)) / len(sizes)
    result = quietly(y, s, folds, measure="auc", confidence_level=level)
    assert result.value == pytest.approx(np.mean(areas), rel=1e-12)
    assert result.standard_error == pytest.approx(se, rel=1e-12, abs=1e-15)
    assert list(result.folds) == [str(i) for i in range(len(sizes))]
    assert 0 <= result.low <= result.value <= result.high <= 1
    if 0 < result.value < 1:
        assert (result.high - result.low > 0) == (se > 0)
    assert (result.reliability_note is not None) >= (se == 0)


def quietly(*data: Any, **options: Any) -> CrossValidatedInterval:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowCoverageWarning)
        return cross_validated_interval(*data, **options)


def test_a_small_fold_beside_large_ones_is_noted() -> None:
    y, s, folds = folds_of(1, [(50, 150)] * 4 + [(3, 9)])
    with pytest.warns(LowCoverageWarning, match="a fold has 3 anomalies and a fold 9 normal"):
        cross_validated_interval(y, s, folds, measure="auc")


@pytest.mark.parametrize("measure", ["auc", "ap", "auc@0.2"])
def test_one_fold_has_nearly_the_interval_of_influences(measure: str) -> None:
    y, s, folds = folds_of(3, [(400, 600)])
    result = cross_validated_interval(y, s, folds, measure=measure)
    alone = fastad.interval(y, s, measure=measure, method="delong")
    assert result.value == alone.value
    assert result.standard_error == pytest.approx(alone.standard_error, rel=1e-9)
    assert math.isnan(result.std)
    assert result.to_dict()["std"] is None


def test_the_result_shows_mean_and_std_of_the_folds() -> None:
    y, s, folds = folds_of(4, [(20, 30)] * 5)
    names = np.array(["a", "b", "c", "d", "e"])[folds]
    result = cross_validated_interval(y, s, names, measure="ap")
    values = [fastad.average_precision(y[folds == i], s[folds == i]) for i in range(5)]
    assert list(result.folds) == ["a", "b", "c", "d", "e"]
    assert list(result.folds.values()) == values
    assert result.std == pytest.approx(np.std(values, ddof=1))
    assert f"mean ± std of 5 folds {np.mean(values):.4f} ± {result.std:.4f}" in str(result)
    table = fastad.evaluate(y, s, groups={"fold": folds}, measures=["ap"]).summary()
    assert f"{np.mean(values):.4f} ± {result.std:.4f}" in str(table)
    assert json.loads(json.dumps(result.to_dict()))["folds"]["a"] == values[0]


def test_scores_of_different_folds_are_never_compared() -> None:
    y, s, folds = folds_of(5, [(10, 15)] * 3)
    result = cross_validated_interval(y, s, folds, measure="auc")
    moved = cross_validated_interval(y, np.exp(s) + 100 * folds, folds, measure="auc")
    assert (moved.low, moved.high) == (result.low, result.high)


GOOD = ([0, 1, 0, 1], [1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1])


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        ((*GOOD[:2], [0, 0, 1]), {}, "folds must have one value for each label"),
        ((*GOOD[:2], [0, 0, 1, math.nan]), {}, "folds must not have missing values"),
        ((*GOOD[:2], np.array([1, 1, "1", "1"], object)), {}, "folds must differ as strings"),
        (GOOD, {"measure": "tpr@0.1"}, "measure must be smooth"),
        (GOOD, {"confidence_level": 0}, "confidence_level must lie"),
        ((GOOD[0], [1, 2, math.nan, 3], GOOD[2]), {}, "y_score must not contain NaN"),
    ],
)
def test_bad_input_is_refused(data: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(fastad.InvalidInputError, match=message):
        cross_validated_interval(*data, **{"measure": "auc", **options})


def test_a_fold_without_anomalies_is_named() -> None:
    with pytest.raises(fastad.UndefinedMeasureError, match=r"fold b: .* without anomalies"):
        cross_validated_interval([0, 1, 0, 0], GOOD[1], list("aabb"), measure="auc")


def test_a_fold_may_lack_a_class_of_which_the_measure_needs_none() -> None:
    benefit = from_counts("net_benefit", custom.net_benefit, at="threshold", takes_threshold=True)
    y, s, folds = np.tile([1, 1, 0], 8), np.random.default_rng(0).random(24), np.arange(24) % 3
    cases: list[dict[str, Any]] = [{"measure": benefit, "threshold": 0.5}, {"measure": "ap"}]
    for options in cases:
        result = cross_validated_interval(y, s, np.where(folds == 1, 2, folds), **options)
        assert result.low < result.value < result.high


@pytest.mark.parametrize("label", [0, 1])
def test_both_classes_are_needed(label: int) -> None:
    """Average precision is defined without normal samples, its interval is not."""
    with pytest.raises(fastad.UndefinedMeasureError, match="needs a sample of each class"):
        cross_validated_interval([label] * 4, GOOD[1], GOOD[2], measure="ap")


@pytest.mark.evidence
@pytest.mark.parametrize(
    "sizes",
    [[(4, 36)] * 5, [(2, 98)] * 5, [(72, 168), (9, 21), (9, 21), (9, 21), (20, 50)]],
    ids=["small", "few anomalies", "one large"],
)
def test_intervals_of_fixed_detectors_cover_the_mean_of_their_areas(
    sizes: list[tuple[int, int]],
) -> None:
    """Five detectors of different quality, each on its own fold."""
    shifts = [0.8, 1.0, 1.2, 1.4, 1.6]
    truth = np.mean([stats.norm.cdf(shift / math.sqrt(2)) for shift in shifts])
    covered = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        y, s, folds = folds_of(seed, sizes, shift=0.0)
        s = rng.normal(size=len(y)) + np.array(shifts)[folds] * y
        result = cross_validated_interval(y, s, folds, measure="auc")
        covered += int(result.low <= truth <= result.high)
    assert covered >= 0.917 * 400


def test_a_fold_of_one_sample_of_a_class_has_a_note() -> None:
    rng = np.random.default_rng(0)
    y = np.concatenate([np.repeat([1, 0], [k, 100]) for k in [1] * 9 + [2] * 6])
    folds = np.repeat(np.arange(15), [101] * 9 + [102] * 6)
    s = rng.normal(size=y.shape[0]) + 1.5 * y
    with pytest.warns(LowCoverageWarning, match="a fold has one sample of a class"):
        fastad.uncertainty.cross_validated_interval(y, s, folds, measure="auc")
