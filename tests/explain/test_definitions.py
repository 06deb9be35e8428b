"""Definitions of others against slow versions of them, and against numbers that they gave."""

import json
import operator
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from fastad._core.types import AnyVector, FloatVector
from fastad.explain.definition import Points, ScoredRows
from fastad.explain.explanation import DEFINITIONS
from tests.support import peer_definitions as slow

GOLDEN = Path(__file__).parents[1] / "golden" / "peer_definitions.json"
BY_NAME = {definition.name: definition for definition in DEFINITIONS}
AUC = "area under the ROC curve"
AP = "average precision"
TRAPEZOID = "trapezoid area under the precision-recall curve"


def value_of(name: str, y: Any, s: Any, groups: Any = None) -> float:
    labels, scores = np.asarray(y, np.uint8), np.asarray(s, np.float64)
    parts = []
    if groups is not None:
        parts = [np.flatnonzero(np.asarray(groups) == group) for group in np.unique(groups)]
    rows = ScoredRows(labels, scores, Points.from_rows(labels, scores), parts)
    return BY_NAME[name].compute(rows)


def assert_is(
    name: str, y: Any, s: Any, expected: float, *, groups: Any = None, tolerance: float = 1e-12
) -> None:
    """Check a value; what changes nothing on these rows has none, and gives the usual number."""
    value = value_of(name, y, s, groups)
    if np.isnan(value):
        usual = name.partition(" of ")[0]
        usual = {AUC: metrics.roc_auc_score, AP: metrics.average_precision_score}.get(
            usual, lambda y, s: value_of(TRAPEZOID, y, s)
        )(y, s)
        assert usual == pytest.approx(expected, abs=tolerance), name
    else:
        assert value == pytest.approx(expected, abs=tolerance), name


def made_up(seed: int) -> tuple[AnyVector, FloatVector]:
    """Return rows with ties, runs of anomalies, and scores in or beyond [0, 1]."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(8, 90))
    y = np.repeat(rng.integers(0, 2, n), rng.integers(1, 5, n))[:n]
    y[:2] = (1, 0) if seed % 2 else (0, 1)
    s = rng.normal(size=n) + y
    s = s if seed % 3 else (s - s.min()) / np.ptp(s)
    return y, np.round(s, seed % 4 + 1)


SLOW: dict[str, Callable[[AnyVector, FloatVector], float]] = {
    f"{AUC} with scores negated, or classes exchanged": lambda y, s: metrics.roc_auc_score(y, -s),
    "partial area up to FPR 0.1, standardized by McClish": lambda y, s: metrics.roc_auc_score(
        y, s, max_fpr=0.1
    ),
    "partial area up to FPR 0.3, standardized by McClish": lambda y, s: metrics.roc_auc_score(
        y, s, max_fpr=0.3
    ),
    TRAPEZOID: lambda y, s: metrics.auc(*metrics.precision_recall_curve(y, s)[1::-1]),
    f"{TRAPEZOID} sorted by recall": slow.sorted_trapezoid,
    f"{AP} of negated scores": lambda y, s: metrics.average_precision_score(y, -s),
    f"{AP} of exchanged classes": lambda y, s: metrics.average_precision_score(1 - y, s),
    f"{AP} of normal samples as the positives": lambda y, s: metrics.average_precision_score(
        1 - y, -s
    ),
    f"{TRAPEZOID} of normal samples as the positives": lambda y, s: metrics.auc(
        *metrics.precision_recall_curve(1 - y, -s)[1::-1]
    ),
    "area of TPR / (TPR + FPR) over TPR": slow.odin_aupr,
    "area of TPR / (TPR + FPR) over TPR with normal samples as the positives": (
        lambda y, s: slow.odin_aupr(1 - y, -s)
    ),
    f"{AUC} with ties counted as right": lambda y, s: np.mean(s[y == 1][:, None] >= s[y == 0]),
    f"{AUC} with ties counted as wrong": lambda y, s: np.mean(s[y == 1][:, None] > s[y == 0]),
    f"{AUC} of hard labels (score > 0.5)": lambda y, s: metrics.roc_auc_score(y, s > 0.5),
    f"{AP} of hard labels (score > 0.5)": lambda y, s: metrics.average_precision_score(y, s > 0.5),
    f"{TRAPEZOID} of hard labels (score > 0)": lambda y, s: metrics.auc(
        *metrics.precision_recall_curve(y, s > 0)[1::-1]
    ),
    "F1 of hard labels (score > 0.5)": lambda y, s: slow.f1(y, s > 0.5),
    "F1 of hard labels (highest 10%)": lambda y, s: slow.f1(y, s > np.percentile(s, 90)),
    "F1 of hard labels (score > mean + 3 standard deviations)": lambda y, s: slow.f1(
        y, s > s.mean() + 3 * s.std()
    ),
    "range area under the ROC curve at 250 ranks without a window": (
        lambda y, s: slow.range_areas(y, s)[0]
    ),
    "range average precision at 250 ranks without a window": lambda y, s: slow.range_areas(y, s)[1],
    "range trapezoid area under the precision-recall curve at 250 ranks": (
        lambda y, s: slow.range_areas(y, s)[2]
    ),
    "best F1 after point adjustment": lambda y, s: max(
        slow.f1(y, slow.adjusted(y, s >= t)) for t in slow.falling(s)
    ),
    "best F1 after point adjustment above 100 thresholds": lambda y, s: max(
        slow.f1(y, slow.adjusted(y, s > t)) for t in np.linspace(s.min(), s.max(), 100)
    ),
    "F1 after point adjustment above mean + 3 standard deviations": lambda y, s: slow.f1(
        y, slow.adjusted(y, s > s.mean() + 3 * s.std())
    ),
    "fraction of anomalies that pass where 95 % of the normal samples do": lambda y, s: float(
        np.mean(s[y == 1] < np.sort(s[y == 0])[int(np.floor(0.95 * np.sum(y == 0))) - 1])
    ),
}


@pytest.mark.parametrize("name", SLOW)
def test_values_are_those_of_the_obvious_computation(name: str) -> None:
    for seed in range(12):
        y, s = made_up(seed)
        assert_is(name, y, s, SLOW[name](y, s))


def peers_rows(kind: str) -> tuple[AnyVector, FloatVector, AnyVector]:
    """Return labels, scores and regions of the rows that peers were given."""
    rng = np.random.default_rng(20)
    y, regions = np.zeros(500, int), np.zeros(500, int)
    for region, rows in enumerate((slice(100, 130), slice(300, 320)), start=1):
        y[rows], regions[rows] = 1, region
    s = rng.normal(size=500) + 1.5 * y
    fractions = (s - s.min()) / np.ptp(s)
    scores = {
        "logits": s,
        "fractions": fractions,
        "rounded": np.round(fractions, 2),
        "large": np.round(s * 8 + 10, 2),
    }
    return y, scores[kind], regions


@pytest.mark.parametrize("kind", ["logits", "fractions", "rounded", "large"])
def test_values_are_those_that_peers_gave(kind: str) -> None:
    y, s, regions = peers_rows(kind)
    peers = json.loads(GOLDEN.read_text(encoding="utf-8"))["values"][kind]
    assert len(peers) > 25
    for name, expected in peers.items():
        # They compute in single precision.
        assert_is(name, y, s, expected, groups=regions, tolerance=3e-7)


def test_row_order_decides_among_ties_only() -> None:
    y, s = np.array([0, 1, 1, 0, 0, 1]), np.array([1.0, 1.0, 0.0, 0.0, 2.0, 2.0])
    first = value_of(f"{AUC} of tied scores in the order of the rows", y, s)
    last = value_of(f"{AUC} of tied scores in the reverse order of the rows", y, s)
    # By hand: 0 1 0 1 1 0, and 1 0 1 0 0 1.
    assert first == pytest.approx(4 / 9)
    assert last == pytest.approx(5 / 9)
    assert np.isnan(value_of(f"{AUC} of tied scores in the order of the rows", [0, 1], [1, 2]))


def test_the_direction_of_the_medians_flips_a_detector_below_chance() -> None:
    name = f"{AUC} in the direction of the medians"
    y = [0, 0, 0, 1, 1, 1]
    assert value_of(name, y, [4, 5, 6, 1, 2, 5.5]) == pytest.approx(1 - 2 / 9)
    assert value_of(name, y, [1, 2, 5.5, 4, 5, 6]) == pytest.approx(1 - 2 / 9)


def test_spark_joins_points_and_starts_with_the_first_precision() -> None:
    y, s = [0, 1, 1, 0], [4, 3, 2, 1]
    name = f"{TRAPEZOID} from its first precision"
    # Points (0, 0), (1/2, 1/2), (1, 2/3), (1, 1/2), from (0, 0).
    assert value_of(name, y, s) == pytest.approx(0.5 * 0.25 + 0.5 * (0.5 + 2 / 3) / 2)
    many = np.arange(2500.0)
    labels = (np.random.default_rng(0).random(2500) < many / 2500).astype(int)
    # 2500 / 1000 is 2: every second point from the top.
    order = np.argsort(-many)
    tps = np.append(0, np.cumsum(labels[order])[1::2])
    fps = np.append(0, np.cumsum(1 - labels[order])[1::2])
    expected = slow.trapezoid(list(fps / fps[-1]), list(tps / tps[-1]))
    assert value_of(f"{AUC} of about 1000 points", labels, many) == pytest.approx(expected)
    assert np.isnan(value_of(f"{AUC} of about 1000 points", y, s))


def test_pycaleva_adds_rectangles() -> None:
    rng = np.random.default_rng(3)
    y, s = np.repeat([0, 1], 40), rng.random(80)
    name = "sum of rectangles under the ROC curve at 251 thresholds"
    assert value_of(name, y, s) == pytest.approx(slow.rectangles(y, s, 250))
    assert np.isnan(value_of(name, y, s + 1))


@pytest.mark.parametrize(
    ("n", "steps", "flagged", "name"),
    [
        # Scores on thresholds too: those are not above them.
        (199, 398, operator.gt, f"{AUC} above 200 thresholds"),
        # Many thresholds have scores; the lowest and the highest score are 0 and 1.
        (200, 400, operator.ge, f"{AUC} at 201 thresholds from below 0 to above 1"),
    ],
    ids=["Keras", "Ludwig"],
)
def test_rates_are_read_at_equal_steps_and_beyond_both_ends(
    n: int, steps: int, flagged: Any, name: str
) -> None:
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 50)
    s = np.append(rng.integers(0, steps + 1, 98) / steps, [0.0, 1.0])
    s = s.astype(np.float32).astype(np.float64)
    thresholds = np.array([-1e-7, *(np.arange(1, n) / n), 1 + 1e-7], np.float32)
    points = [slow.rates(y, flagged(s, float(t))) for t in thresholds]
    expected = slow.trapezoid([p[0] for p in points], [p[1] for p in points])
    assert value_of(name, y, s) == pytest.approx(expected, abs=1e-12)
    assert value_of(name, y, s) != pytest.approx(metrics.roc_auc_score(y, s), abs=1e-4)
    assert np.isnan(value_of(name, y, 2 * s))


@pytest.mark.parametrize(
    ("rule", "threshold"),
    [
        ("score >= 0.5", None),
        ("highest 5%", 95),
        ("highest 1%", 99),
        ("as many as there are anomalies", 70),
    ],
)
def test_hard_labels_are_scores_above_a_threshold(rule: str, threshold: float | None) -> None:
    rng = np.random.default_rng(8)
    y, s = np.repeat([0, 1], [70, 30]), rng.permutation(100) / 100
    labels = s >= 0.5 if threshold is None else s > np.percentile(s, threshold)
    for name, measure in ((AUC, metrics.roc_auc_score), (AP, metrics.average_precision_score)):
        value = value_of(f"{name} of hard labels ({rule})", y, s)
        assert value == pytest.approx(measure(y, labels), abs=1e-12)


def test_the_denominator_of_f1_may_be_larger() -> None:
    y, s = np.array([0, 1, 0, 1, 1]), np.arange(5.0)
    precision, recall, _ = metrics.precision_recall_curve(y, s)
    expected = np.max(2 * precision * recall / (precision + recall + 0.00001))
    assert value_of("best F1 with 0.00001 in its denominator", y, s) == pytest.approx(expected)


def test_averages_are_over_groups_with_both_classes() -> None:
    y = [0, 1, 0, 1, 1, 0, 0]
    s = [1, 2, 2, 1, 3, 0, 5]
    groups = ["a", "a", "b", "b", "b", "c", "c"]
    # Areas 1 and 1/2; the third group has no anomaly.
    assert value_of(f"mean of the {AUC} over groups", y, s, groups) == pytest.approx(0.75)
    weighted = value_of(f"mean of the {AUC} over groups, weighted by their rows", y, s, groups)
    assert weighted == pytest.approx((2 * 1 + 3 * 0.5) / 5)
    assert np.isnan(value_of(f"mean of the {AUC} over groups", y, s))


def test_a_score_that_separates_all_groups_has_the_overlap_1() -> None:
    y = np.repeat([0, 1], [20, 6])
    groups = np.append(np.zeros(20), [1, 1, 1, 1, 2, 2])
    name = "per-region overlap up to FPR 0.3, regions being groups"
    assert value_of(name, y, y, groups) == pytest.approx(1)
    half = y * np.isin(groups, [1])
    # The small region has the scores of the normals: the diagonal up to 0.3.
    assert value_of(name, y, half, groups) == pytest.approx((1 + 0.15) / 2)


def test_every_definition_has_a_name_of_its_own_and_says_why() -> None:
    assert len(BY_NAME) == len(DEFINITIONS)
    for one in DEFINITIONS:
        assert one.source
        assert one.reason[0].isupper()
        assert one.reason.endswith(".")
        assert "|" not in one.name + one.source + one.reason
