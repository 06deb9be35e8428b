"""Definitions on all points of a curve: directions, classes, lines between points, ties."""

from functools import partial

import numpy as np

from fastad.explain.definition import (
    AP,
    AUC,
    PRECISION_AREAS,
    Definition,
    Points,
    ScoredRows,
    anchored_area,
    of_other_points,
    partial_area,
    recall_of,
    roc_area,
    sorted_area,
    trapezoid_area,
)

# False positive rates of partial areas that are printed.
_RATES = (0.01, 0.05, 0.1, 0.2, 0.3)
# Fraction of normals that pass, in benchmarks of out-of-distribution detection.
_RECALL = 0.95


def _by_medians(rows: ScoredRows) -> float:
    anomalous = rows.labels == 1
    is_falling = np.median(rows.scores[~anomalous]) > np.median(rows.scores[anomalous])
    return roc_area(rows.points.flipped() if is_falling else rows.points)


def _plain_area(rows: ScoredRows, rate: float) -> float:
    return partial_area(rows.points, rate)


def _standardized_area(rows: ScoredRows, rate: float) -> float:
    chance = rate**2 / 2
    return (1 + (partial_area(rows.points, rate) - chance) / (rate - chance)) / 2


def _balanced_area(points: Points) -> float:
    """Return steps of recall times the precision before each, of classes of equal weight."""
    recall, fpr = recall_of(points)[1:], points.fps[1:] / points.n_normals
    precision = recall / (recall + fpr)
    return float(recall[0] * precision[0] + np.sum(np.diff(recall) * precision[:-1]))


def _anomalies_above_normals(rows: ScoredRows) -> float:
    """Return the anomalies that pass where 95 % of the normals do."""
    normals = np.sort(rows.scores[rows.labels == 0])
    n_passing = int(np.floor(_RECALL * normals.shape[0]))
    if n_passing == 0:
        return np.nan
    return float(np.mean(rows.scores[rows.labels == 1] < normals[n_passing - 1]))


def _ties(rows: ScoredRows, *, favourable: bool) -> float:
    fps, tps = rows.points.fps, rows.points.tps
    heights = tps[1:] if favourable else tps[:-1]
    return float(np.sum(np.diff(fps) * heights)) / (int(fps[-1]) * int(tps[-1]))


def _in_row_order(rows: ScoredRows, *, reverse: bool) -> Points | None:
    n_rows = rows.scores.shape[0]
    if rows.points.scores.shape[0] == n_rows:
        return None
    ties = np.arange(n_rows) if reverse else -np.arange(n_rows)
    order = np.lexsort((ties, rows.scores))
    ranks = np.empty(n_rows)
    ranks[order] = np.arange(n_rows)
    return Points.from_rows(rows.labels, ranks)


WHOLE_CURVE: list[Definition] = [
    Definition(
        "area under the ROC curve with scores negated, or classes exchanged",
        "common mistake; pROC with its direction by medians",
        "auc",
        "A score that is lower for anomalies, or the column of the other class, gives 1 - AUC.",
        lambda rows: roc_area(rows.points.flipped()),
    ),
    Definition(
        "area under the ROC curve in the direction of the medians",
        'pROC roc(direction="auto"), pROC#61, pROC#128',
        "auc",
        "Scores are negated where the median of the normals is higher, so that a detector that "
        "is worse than chance looks better.",
        _by_medians,
    ),
    *(
        Definition(
            f"partial area up to FPR {rate:g}, standardized by McClish",
            "scikit-learn roc_auc_score(max_fpr=…), torchmetrics, pROC partial.auc.correct",
            f"auc@{rate:g}",
            "It is rescaled so that chance is 0.5 instead of divided by the width of the range.",
            partial(_standardized_area, rate=rate),
        )
        for rate in _RATES
    ),
    *(
        Definition(
            f"partial area up to FPR {rate:g}, not normalized",
            "pROC partial.auc, ROCR fpr.stop",
            f"auc@{rate:g}",
            "It is not divided by the width of the range, so that it is at most this width.",
            partial(_plain_area, rate=rate),
        )
        for rate in _RATES
    ),
    Definition(
        "area under the ROC curve with ties counted as right",
        "implementations that compare with >=",
        "auc",
        "A normal sample with the score of an anomaly counts 1 instead of 1/2.",
        partial(_ties, favourable=True),
    ),
    Definition(
        "area under the ROC curve with ties counted as wrong",
        "implementations that compare with >",
        "auc",
        "A normal sample with the score of an anomaly counts 0 instead of 1/2.",
        partial(_ties, favourable=False),
    ),
    *of_other_points(
        partial(_in_row_order, reverse=False),
        "tied scores in the order of the rows",
        "implementations that sort and count row by row; torcheval with use_fbgemm",
        "Each row of a tie is a point of its own, so that the value depends on the order of rows.",
        (AUC, AP),
    ),
    *of_other_points(
        partial(_in_row_order, reverse=True),
        "tied scores in the reverse order of the rows",
        "implementations on argsort(scores)[::-1]",
        "Each row of a tie is a point of its own, so that the value depends on the order of rows.",
        (AUC, AP),
    ),
    Definition(
        "trapezoid area under the precision-recall curve",
        "scikit-learn auc(recall, precision), OpenOOD AUPR-out, Spark before 2.3, cell-eval#208",
        "ap",
        "Straight lines between points overstate precision: constant scores get "
        "(1 + prevalence) / 2.",
        lambda rows: trapezoid_area(rows.points),
    ),
    Definition(
        "trapezoid area under the precision-recall curve sorted by recall",
        "anomalib AUPR with auc(reorder=True), anomalib#3781",
        "ap",
        "Sorting by recall turns points of equal recall round, so that lines lead from the "
        "highest precision of one recall to the lowest of the next.",
        lambda rows: sorted_area(rows.points),
    ),
    Definition(
        "trapezoid area under the precision-recall curve from its first precision",
        "Spark areaUnderPR",
        "ap",
        "The curve starts at recall 0 with the precision of the first point, and straight lines "
        "overstate precision.",
        lambda rows: anchored_area(rows.points),
    ),
    *of_other_points(
        lambda rows: rows.points.flipped(),
        "negated scores",
        "common mistake: scikit-learn's score_samples, higher for normal samples",
        "The most normal samples stand at the top.",
        PRECISION_AREAS,
    ),
    *of_other_points(
        lambda rows: rows.points.swapped(),
        "exchanged classes",
        "common mistake: labels with 1 for normal samples",
        "Normal samples are the positives, but scores are still higher for anomalies.",
        PRECISION_AREAS,
    ),
    *of_other_points(
        lambda rows: rows.points.flipped().swapped(),
        "normal samples as the positives",
        "OpenOOD AUPR-in, OpenOOD#211; ood-metrics#2",
        "The precision is of the normal samples, whose class is usually the larger one.",
        PRECISION_AREAS,
    ),
    Definition(
        "area of TPR / (TPR + FPR) over TPR",
        "odin calMetric AUPR-out, odin#6",
        "ap",
        "Rates in place of counts stand for two classes of equal size, and each step "
        "of recall takes the precision before it.",
        lambda rows: _balanced_area(rows.points),
    ),
    Definition(
        "area of TPR / (TPR + FPR) over TPR with normal samples as the positives",
        "odin calMetric AUPR-in, odin#6",
        "ap",
        "Rates in place of counts stand for two classes of equal size, and the "
        "positives are the normal samples.",
        lambda rows: _balanced_area(rows.points.flipped().swapped()),
    ),
    Definition(
        "fraction of anomalies that pass where 95 % of the normal samples do",
        "OpenOOD v1 FPR@95, ODIN",
        "fpr@tpr0.95",
        "The positives are the normal samples: it is a false negative rate of anomaly detection.",
        _anomalies_above_normals,
    ),
]
