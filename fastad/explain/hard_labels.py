"""Definitions on hard labels: scores above a threshold are 1, the others 0."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np

from fastad.explain.definition import AP, AREAS, AUC, Definition, ScoredRows, of_other_points
from fastad.explain.points import Points, f1_at

# Number of distinct scores that are labelled 1; None if the rule does not apply.
Rule: TypeAlias = Callable[[ScoredRows], int | None]


def _above(rows: ScoredRows, threshold: float) -> int:
    return int(rows.points.at(np.array([threshold]), strict=True)[0])


def _from(rows: ScoredRows, threshold: float) -> int | None:
    """Count scores from a threshold on, if that is not the same as above it."""
    n_scores = int(rows.points.at(np.array([threshold]))[0])
    return None if n_scores == _above(rows, threshold) else n_scores


def _above_deviations(rows: ScoredRows) -> int | None:
    threshold = rows.scores.mean() + 3 * rows.scores.std()
    return _above(rows, threshold) if np.isfinite(threshold) else None


def _highest(rows: ScoredRows, fraction: float) -> int | None:
    threshold = np.percentile(rows.scores, 100 * (1 - fraction))
    return _above(rows, threshold) if np.isfinite(threshold) else None


def _as_many_as_anomalies(rows: ScoredRows) -> int | None:
    return _highest(rows, rows.points.n_anomalies / rows.scores.shape[0])


def _best_f1(rows: ScoredRows) -> int:
    tps, fps = rows.points.tps[1:], rows.points.fps[1:]
    return int(np.argmax(tps / (tps + fps + rows.points.n_anomalies))) + 1


def _hard_points(rows: ScoredRows, rule: Rule) -> Points | None:
    n_scores = rule(rows)
    return None if n_scores is None else rows.points.hard(n_scores)


def _hard_f1(rows: ScoredRows, rule: Rule) -> float:
    n_scores = rule(rows)
    return np.nan if n_scores is None else f1_at(rows.points, n_scores)


def _confidence(rows: ScoredRows) -> Points | None:
    if rows.scores.min() < 0 or rows.scores.max() > 1:
        return None
    return Points.from_rows(rows.labels, np.maximum(rows.scores, 1 - rows.scores))


_COMMON = "predict() instead of predict_proba()"
_RULES: Sequence[tuple[str, str, Rule]] = (
    (
        "score > 0.5",
        f"{_COMMON}: simpletransformers#1239, gentropy#1283, MedMNIST#4, catboost#1108",
        partial(_above, threshold=0.5),
    ),
    ("score >= 0.5", f"{_COMMON}", partial(_from, threshold=0.5)),
    (
        "score > 0",
        "the sign of logits or of a decision function, scikit-learn outlier detectors",
        partial(_above, threshold=0.0),
    ),
    *(
        (
            f"highest {fraction:.0%}",
            "PyOD and scikit-learn predict() with contamination=…",
            partial(_highest, fraction=fraction),
        )
        for fraction in (0.1, 0.05, 0.01)
    ),
    (
        "as many as there are anomalies",
        "contamination set to the fraction of anomalies",
        _as_many_as_anomalies,
    ),
    ("score > mean + 3 standard deviations", "TSB-UAD, time series", _above_deviations),
    ("score at the best F1 or higher", "labels at the best threshold", _best_f1),
)

HARD_LABELS: list[Definition] = [
    *(
        definition
        for what, source, rule in _RULES
        for definition in of_other_points(
            partial(_hard_points, rule=rule),
            f"hard labels ({what})",
            source,
            "Labels have one threshold where scores have many: the curve has a single point "
            "between its ends.",
            AREAS,
        )
    ),
    *(
        Definition(
            f"F1 of hard labels ({what})",
            source,
            "f1_best",
            "It is the F1 at a fixed threshold, not the best one.",
            partial(_hard_f1, rule=rule),
        )
        for what, source, rule in _RULES
        if rule is not _best_f1
    ),
    *of_other_points(
        _confidence,
        "the confidence of the predicted class",
        "PyCaret prediction_score, pycaret#3686",
        "A sample that is surely normal has as high a score as one that is surely anomalous.",
        (AUC, AP),
    ),
]
