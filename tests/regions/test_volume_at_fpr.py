"""``volume_at_fpr`` and ``volumes``: decision regions at false positive rates."""

import math
from typing import Any

import numpy as np
import pytest

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.regions import volume, volume_at_fpr
from fastad.regions.box import Box
from tests.support.volumes import SQUARE, Array, OfBatch, fields, norm

# At a false positive rate.


def labelled(n: int = 400) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(size=(n, 2)), rng.uniform(-4, 4, (n // 10, 2))]
    return X, np.arange(len(X)) >= n, norm(X)


@pytest.mark.parametrize("only_normals", [False, True])
@pytest.mark.parametrize("interpolation", ["linear", "conservative"])
def test_the_volume_at_a_rate_is_that_at_its_threshold(
    only_normals: bool, interpolation: Any
) -> None:
    X, y, s = labelled()
    if only_normals:
        X, y, s = X[~y], y[~y], s[~y]
    box = Box.from_data(X)
    rates = [0.05, 0.0, 1.0, 0.01, 0.05]
    options: dict[str, Any] = {"n_draws": 2**12, "rng": 2}
    result = volume_at_fpr(norm, y, s, box, fpr=rates, interpolation=interpolation, **options)
    thresholds = [
        fastad.threshold_at_fpr(y, s, fpr=rate, interpolation=interpolation) for rate in rates
    ]
    assert [x.threshold for x in result] == thresholds
    expected = volume(norm, thresholds, box, **options)
    assert [fields(x) for x in result] == [fields(x) for x in expected]
    for rate, one in zip(rates, result, strict=True):
        alone = volume_at_fpr(norm, y, s, box, fpr=rate, interpolation=interpolation, **options)
        assert fields(alone) == fields(one)
    flagged = s >= result[0].threshold
    assert flagged[~y].mean() <= 0.05


def test_where_no_threshold_reaches_the_rate_the_volume_is_the_box() -> None:
    """The highest score is a normal one: at a rate of 0 nothing may be flagged."""
    y, s = np.zeros(10, int), np.arange(10.0)
    result = volume_at_fpr(norm, y, s, SQUARE, fpr=0, n_draws=1000, rng=0)
    assert (result.threshold, result.value, result.complement.is_bound) == (math.inf, 1, True)


def test_labels_of_another_name() -> None:
    X, y, s = labelled()
    box = Box.from_data(X)
    options: dict[str, Any] = {"fpr": 0.1, "n_draws": 1024, "rng": 0}
    names = np.where(y, "odd", "fine")
    assert fields(volume_at_fpr(norm, names, s, box, pos_label="odd", **options)) == fields(
        volume_at_fpr(norm, y, s, box, **options)
    )


def test_a_rate_of_float32_scores() -> None:
    """The threshold is of the scores' type, and means the same where scores are float64."""
    X, y, s = labelled()
    result = volume_at_fpr(
        norm, y, s.astype(np.float32), Box.from_data(X), fpr=0.1, n_draws=64, rng=0
    )
    assert result.threshold == np.float32(result.threshold)


def test_undefined_rates() -> None:
    with pytest.raises(UndefinedMeasureError):
        volume_at_fpr(norm, [1, 1], [0.0, 1.0], SQUARE, fpr=0.1)
    with pytest.raises(UndefinedMeasureError):
        volume_at_fpr(norm, [0, 0], [0.0, np.inf], SQUARE, fpr=0.1)
    for method in ("auto", "uniform", "splitting"):
        with pytest.raises(UndefinedMeasureError, match="volumes is undefined without normal"):
            fastad.volumes({"norm": norm}, np.eye(2), [1, 1], fpr=0.1, method=method)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"fpr": 1.5}, "fpr must lie in"),
        ({"fpr": []}, "fpr must be"),
        ({"fpr": "low"}, "fpr"),
        ({"fpr": 0.1, "method": "fast"}, "method must be one of"),
        ({"fpr": 0.1, "draws": 5}, "draws"),
        ({"fpr": 0.1, "interpolation": "cubic"}, "interpolation must be one of"),
        ({}, "fpr"),
    ],
)
def test_bad_options_at_a_rate(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, TypeError), match=message):
        volume_at_fpr(norm, [0, 1], [0.0, 1.0], SQUARE, **keywords)


# Several detectors.


def fails(X: Array) -> Array:
    raise ZeroDivisionError("by nothing")


@pytest.mark.parametrize("call", [fastad.volumes, fastad.evaluate_unsupervised])
@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda X: np.full(len(X), np.nan), r"detectors\['bad'\] must not return NaN"),
        (lambda X: X, r"detectors\['bad'\] must return one number for each"),
        (fails, r"detectors\['bad'\] raised ZeroDivisionError"),
        (OfBatch(norm, 3), r"box must have 3 features as detectors\['bad'\]; found 2"),
        # Only of points that are drawn: the threshold is that of others.
        (lambda X: np.where(norm(X) > 6, np.nan, 0.0), r"detectors\['bad'\] must not return NaN"),
    ],
    ids=["NaN", "shape", "raises", "features", "late NaN"],
)
def test_errors_of_a_score_name_the_detector(call: Any, score: Any, message: str) -> None:
    X = np.clip(labelled()[0], -3, 3)
    rest = (np.zeros(len(X)),) if call is fastad.volumes else ()
    options: dict[str, Any] = {"box": Box([-9, -9], [9, 9]), "rng": 0, "n_draws": 2000}
    with pytest.raises(InvalidInputError, match=rf"^{message}") as caught:
        call({"good": norm, "bad": score}, X, *rest, **options)
    assert caught.value.argument in ("detectors", "box")


def test_names_of_detectors_differ_as_strings() -> None:
    with pytest.raises(InvalidInputError, match="detectors must have names that differ as strings"):
        fastad.volumes({1: norm, "1": norm}, np.eye(2), [0, 0], fpr=0.5)  # type: ignore[dict-item]
