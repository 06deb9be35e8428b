"""Thresholds and true positive rates beyond the normals, by a model of their tail."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.parameters import check_inside, check_rates
from fastad._core.results import Column, ShortRepr, TableResult, estimate_columns
from fastad._core.text_tables import estimate_text
from fastad._core.types import ArrayLike, FloatVector, Label, Point, Points
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.ordering.labels import check_labels, check_scores
from fastad.uncertainty.rates.generalized_pareto import (
    HIGHEST_SHAPE,
    LOWEST_SHAPE,
    Fit,
    fit,
    growth,
    p_value_of_fit,
    quantile_bounds,
)
from fastad.uncertainty.results import Interval
from fastad.uncertainty.samples.closed_forms import Bounds, clopper_pearson

# The model is of the highest 5 % of the normals, at most 100, and at least 50 of them. Of fewer
# normals a higher fraction would be needed: of normally distributed scores, in which the excesses
# approach their limit slowly, intervals then cover too rarely (docs/evidence/tail_models.md).
_FRACTION, _MOST, _FEWEST = Fraction(1, 20), 100, 50
# Expected normals beyond the lowest rate for which the coverage was measured.
_LEAST_EXPECTED = Fraction(1, 10)
# Nearer to the location its own variance, which intervals leave out, decides: of 100 excesses
# those of 50 normals covered in 84 %, of 10 in 94 %.
_PART_BEYOND = Fraction(1, 10)
# Method of the intervals: the generalised Pareto distribution.
_MODEL = "gpd"
# A fit is refused at this p-value; up to a tenth of the excesses may be tied.
_REJECTED, _MOST_TIED = 0.05, 0.1


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TailModel(ShortRepr, TableResult):
    """Thresholds and true positive rates by a model of the normals' tail.

    Frames have a row for each FPR: ``fpr``, ``model``, and ``threshold`` and ``tpr``, each with
    ``_low`` and ``_high``.

    Attributes
    ----------
    fpr : tuple of float
        False positive rates.
    thresholds : tuple of Interval
        Score that this fraction of normals reaches by the model.
    tprs : tuple of Interval or None
        Fraction of the anomalies that reach it; None without anomalies.
    n_normals, n_anomalies : int
        Numbers of samples.
    n_excesses : int
        Number of the highest normals, to which the model is fitted.
    location, shape, scale : float
        Score above which they lie, and the parameters of the generalised Pareto distribution.
    p_value : float
        p-value of the test of the fit.
    """

    fpr: tuple[float, ...]
    thresholds: tuple[Interval, ...]
    tprs: tuple[Interval, ...] | None
    n_normals: int
    n_anomalies: int
    n_excesses: int
    location: float
    shape: float
    scale: float
    p_value: float

    @property
    def notes(self) -> list[str]:
        """Conditions on which the numbers rest."""
        return [
            f"model: generalised Pareto distribution of the {self.n_excesses} highest of "
            f"{self.n_normals} normals, shape {self.shape:.3g}, scale {self.scale:.3g}; "
            f"test of the fit: p = {self.p_value:.2g}"
        ]

    def _declare_columns(self) -> list[Column]:
        columns = [Column("fpr", self.fpr, "g"), Column("model", [_MODEL] * len(self.fpr))]
        nan = math.nan
        unknown = Interval(nan, nan, nan, nan, nan, _MODEL)
        for name, intervals, form in (
            ("threshold", self.thresholds, ".6g"),
            ("tpr", self.tprs or [unknown] * len(self.fpr), ".4f"),
        ):
            texts = [estimate_text(each.value, each.low, each.high, form) for each in intervals]
            columns += estimate_columns(name, intervals)
            columns.append(Column(None, texts, str, f"{name} ({_MODEL} model)"))
        return columns

    def _content(self) -> dict[str, Any]:
        tprs = self.tprs or [None] * len(self.fpr)
        points = [
            {"fpr": fpr, "threshold": threshold, "tpr": tpr}
            for fpr, threshold, tpr in zip(self.fpr, self.thresholds, tprs, strict=True)
        ]
        names = ("n_normals", "n_anomalies", "n_excesses", "location", "shape", "scale", "p_value")
        model = {name: getattr(self, name) for name in names}
        return {"model": _MODEL, **model, "points": points}


def tail_model(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    fpr: Point | Points,
    confidence_level: Point = 0.95,
    pos_label: Label | None = None,
) -> TailModel:
    """Threshold and true positive rate where the normals are too few, by a model of their tail.

    `fastad.threshold_at_fpr` and `fastad.tpr_at_fpr` assume nothing of the scores, and know nothing
    of rates beyond the highest normal. A model extends the tail of the normals; its numbers are
    only as good as the model, and are marked wherever they appear. They depend on the values of
    the scores, and change with their unit if that is not linear. The model is the generalised
    Pareto distribution of the excesses of the highest normals over the next one: 5 % of the
    normals, and 100 at most.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    fpr : float or sequence of floats
        False positive rates, from 0.1 divided by the number of normals to a tenth of the fraction
        of the normals that the model is fitted to.
    confidence_level : float, default 0.95
        Confidence of the intervals, in (0, 1).
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.

    Returns
    -------
    TailModel
        Intervals of the threshold and of the true positive rate at each FPR, and the fit.

    Raises
    ------
    UndefinedMeasureError
        If there are fewer than 1000 normals, their highest scores are tied or infinite, or the
        model does not fit them: the test of Anderson and Darling rejects it at 5 %, or its shape
        is beyond [-0.5, 2].

    Notes
    -----
    Parameters maximise the likelihood. The interval of the threshold comes from the profile
    likelihood; its critical value is raised by a fifth, without which intervals of normally
    distributed scores cover too rarely. The interval of the true positive rate joins it with the
    interval of Clopper and Pearson for the anomalies, half of alpha each. The p-value is the
    fraction of 499 samples of the fitted distribution that fit it worse. Coverage was measured down
    to a tenth of a normal; lower rates are refused. O(n) time, and some 0.1 s for the test.

    References
    ----------
    .. [1] J. Pickands, "Statistical inference using extreme order statistics", Annals of
       Statistics 3, 1975.
    .. [2] S. Coles, "An Introduction to Statistical Modeling of Extreme Values", 2001, chapter 4.
    .. [3] S. D. Grimshaw, "Computing maximum likelihood estimates for the generalized Pareto
       distribution", Technometrics 35, 1993.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1], [10_000, 100])
    >>> scores = rng.normal(size=10_100) + 5 * labels
    >>> model = fastad.uncertainty.tail_model(labels, scores, fpr=1e-5)
    >>> model.thresholds[0].low < 4.265 < model.thresholds[0].high  # true value 4.265
    True
    >>> model.tprs[0].method
    'gpd'
    """
    rates = check_rates(fpr, "fpr")
    level = check_inside(confidence_level, "confidence_level")
    alpha = float(1 - level)
    labels = check_labels(y_true, pos_label=pos_label)
    scores = check_scores(y_score, labels).astype(np.float64)
    anomalous = labels.values == 1
    normals, anomalies = scores[~anomalous], scores[anomalous]
    n_excesses = _number_of_excesses(normals.shape[0])
    _check_rates(rates, n_excesses, normals.shape[0])
    location, excesses = _highest(normals, n_excesses)
    fitted, p_value = _fit(excesses)
    thresholds, tprs = [], []
    for rate in rates:
        ratio = n_excesses / float(rate * normals.shape[0])
        value = location + fitted.scale * growth(np.array([fitted.shape]), ratio).item()
        low, high = _threshold_bounds(location, excesses, fitted, ratio, alpha)
        thresholds.append(_interval(value, (low, high), level))
        if anomalies.shape[0]:
            wide = _threshold_bounds(location, excesses, fitted, ratio, alpha / 2)
            tprs.append(_interval(*_tpr(anomalies, value, wide, alpha), level))
    return TailModel(
        fpr=tuple(map(float, rates)),
        thresholds=tuple(thresholds),
        tprs=tuple(tprs) if anomalies.shape[0] else None,
        n_normals=normals.shape[0],
        n_anomalies=anomalies.shape[0],
        n_excesses=n_excesses,
        location=location,
        shape=fitted.shape,
        scale=fitted.scale,
        p_value=p_value,
    )


def _number_of_excesses(n_normals: int) -> int:
    n = min(_MOST, math.floor(_FRACTION * n_normals))
    if n < _FEWEST:
        raise UndefinedMeasureError(
            f"a model of the tail needs at least {math.ceil(_FEWEST / _FRACTION)} normals; "
            f"found {n_normals}"
        )
    return n


def _check_rates(rates: list[Fraction], n_excesses: int, n_normals: int) -> None:
    lowest, highest = _LEAST_EXPECTED / n_normals, _PART_BEYOND * n_excesses / n_normals
    for rate in rates:
        if not lowest <= rate <= highest:
            raise InvalidInputError(
                f"fpr must lie in [{float(lowest):g}, {float(highest):g}] for a model of the tail "
                f"of {n_normals} normals; found {float(rate):g}. Higher rates need no model, and "
                "of lower ones the coverage of its intervals is not known"
            )


def _highest(normals: FloatVector, n_excesses: int) -> tuple[float, FloatVector]:
    """Return the score below the highest normals, and the excesses of these, falling."""
    top = np.sort(np.partition(normals, -n_excesses - 1)[-n_excesses - 1 :])[::-1]
    if not np.isfinite(top).all() or not math.isfinite(top[0] - top[-1]):
        raise UndefinedMeasureError(
            "a model of the tail is undefined for infinite scores; found "
            f"{np.count_nonzero(np.isinf(top))} among the highest normals"
        )
    n_tied = top.shape[0] - np.unique(top).shape[0]
    if n_tied > _MOST_TIED * n_excesses or top[-2] == top[-1]:
        raise UndefinedMeasureError(
            f"a model of the tail is continuous; found {n_tied} ties among the {top.shape[0]} "
            "highest normals"
        )
    return top[-1].item(), top[:-1] - top[-1]


def _fit(excesses: FloatVector) -> tuple[Fit, float]:
    """Return the fit and the p-value of its test, or raise why there is none."""
    fitted = fit(excesses)
    if not LOWEST_SHAPE < fitted.shape < HIGHEST_SHAPE:
        raise UndefinedMeasureError(
            "the model of the tail is refused: its shape must lie within "
            f"({LOWEST_SHAPE:g}, {HIGHEST_SHAPE:g}); found {fitted.shape:.3g}"
        )
    p_value = p_value_of_fit(excesses, fitted)
    if p_value <= _REJECTED:
        raise UndefinedMeasureError(
            f"the model of the tail is refused: the {excesses.shape[0]} highest normals do not fit "
            f"a generalised Pareto distribution (Anderson and Darling, p = {p_value:.2g})"
        )
    return fitted, p_value


def _threshold_bounds(
    location: float, excesses: FloatVector, fitted: Fit, ratio: float, alpha: float
) -> Bounds:
    low, high = quantile_bounds(excesses, fitted, ratio, alpha)
    return location + low, location + high


def _tpr(
    anomalies: FloatVector, threshold: float, bounds: Bounds, alpha: float
) -> tuple[float, Bounds]:
    """Return the fraction of anomalies at a threshold, and its bounds where that is uncertain."""
    n = anomalies.shape[0]
    fewest, k, most = (
        int(np.count_nonzero(anomalies >= x)) for x in (bounds[1], threshold, bounds[0])
    )
    low, _ = clopper_pearson(fewest, n, alpha / 2)
    _, high = clopper_pearson(most, n, alpha / 2)
    return k / n, (low, high)


def _interval(value: float, bounds: Bounds, level: Fraction) -> Interval:
    low, high = min(bounds[0], value), max(bounds[1], value)
    return Interval(value, low, high, math.nan, float(level), _MODEL)
