"""Measure how often comparisons find equal detectors to differ.

The two detectors see the same samples, each with noise of its own: they are exchangeable. Scores of
five families, from 10 to 1000 anomalies and 30 to 3000 normals. The table that ``method="auto"``
follows has the highest rate of false positives of each closed form over the families; resampling is
tried in fewer cells for the documentation. Detectors whose curves cross are
in `bench.difference_coverage`. Finished cells are kept: a run that was stopped continues.

    python -m bench.false_positives [PROCESSES]
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.coverage import resumed
from bench.pages import EVIDENCE, write_rows
from fastad.errors import UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.uncertainty.comparisons.pair_estimates import NORMAL_METHODS, PairEstimate, student_test
from fastad.uncertainty.comparisons.paired import PAIRED_METHODS, Detectors, rank_detectors
from fastad.uncertainty.intervals.interval_estimation import InferenceOptions
from fastad.uncertainty.intervals.methods import limits_of
from fastad.uncertainty.samples.influence import INFLUENCES

ANOMALIES = (10, 30, 100, 300, 1000)
NORMALS = (30, 100, 300, 1000, 3000)
N_SEEDS = 1000
# Resampling is costly: it is tried on fewer samples, of these sizes, for these measures.
RESAMPLED_SIZES = ((30, 30), (1000, 100), (100, 1000))
RESAMPLED = ("auc", "auc@0.01", "auc@0.05", "ap", "auc_prg", "auc@tpr0.95", "tpr@0.01", "tpr@0.05")
RESAMPLING = ("bootstrap", "permutation")
N_RESAMPLED_SEEDS = 200
N_RESAMPLES = 199
RANGE = {"score_range": (-(10**9), 10**9)}
RATES = (0.001, 0.01, 0.05, 0.2)
MEASURES: tuple[tuple[str, dict[str, Any]], ...] = (
    *((key, {}) for key in ("auc", "ap", "auc_pr", "auc_prg", "auc_w")),
    *((key, {}) for key in ("ht_auc@0.2", "lf_auc@0.8")),
    *((f"{name}@{rate}", {}) for name in ("auc", "tpr") for rate in RATES),
    *((key, {}) for key in ("auc@tpr0.9", "auc@tpr0.95", "f1@0.05", "f1_best", "fpr@tpr0.95")),
    *((key, RANGE) for key in ("auc_rp", "auc_p", "auc_scored")),
    *((key, {}) for key in ("auc_log@0.001", "auc_log@0.02", "bedroc@20", "rie@20")),
    ("dcf@threshold1.5", {}),
)
TABLE = Path(__file__).parent.parent / "fastad" / "uncertainty" / "false_positives.csv"
BY_FAMILY = EVIDENCE / "comparisons.csv"

Scores = npt.NDArray[np.float64]
Labels = npt.NDArray[np.bool_]


def _gaussian(shift: float) -> Callable[[np.random.Generator, Labels], Scores]:
    def pair(rng: np.random.Generator, labels: Labels) -> Scores:
        common = rng.normal(shift * labels)
        noise: Scores = rng.normal(size=(2, labels.shape[0]))
        return common + noise

    return pair


def _heavy_tailed(rng: np.random.Generator, labels: Labels) -> Scores:
    common = rng.standard_t(2, labels.shape[0]) + 4 * labels
    noise: Scores = rng.standard_t(2, (2, labels.shape[0]))
    return common + noise


def _tied(rng: np.random.Generator, labels: Labels) -> Scores:
    rounded: Scores = np.round(_gaussian(2)(rng, labels))
    return rounded


def _half_hidden(rng: np.random.Generator, labels: Labels) -> Scores:
    return _gaussian(4)(rng, labels & (rng.random(labels.shape[0]) < 0.5))


PAIRS: Mapping[str, Callable[[np.random.Generator, Labels], Scores]] = {
    "Gaussian": _gaussian(2),
    "heavy-tailed": _heavy_tailed,
    "tied": _tied,
    "half hidden": _half_hidden,
    "nearly perfect": _gaussian(6.4),
}


def measure(cell: tuple[int, int, str]) -> list[dict[str, Any]]:
    """Return the false positive rates of a cell."""
    n, m, family = cell
    labels = np.arange(n + m) < n
    wrong: Counter[tuple[int, str]] = Counter()
    tried: Counter[tuple[int, str]] = Counter()
    bound = [bind(key, options) for key, options in MEASURES]
    for seed in range(N_SEEDS):
        rng = np.random.default_rng([seed, n, m, list(PAIRS).index(family)])
        a, b = PAIRS[family](rng, labels)
        key = np.uint64(seed)
        options = InferenceOptions("student", Fraction(95, 100), N_RESAMPLES, True, key)
        detectors = rank_detectors(check_labels(labels), [("a", "a", a), ("b", "b", b)])
        is_resampled = (n, m) in RESAMPLED_SIZES and seed < N_RESAMPLED_SEEDS
        for i, each in enumerate(bound):
            values = [each.value_or_nan(ranking.counts) for ranking in detectors.samples]
            difference = values[0] - values[1]
            if difference != difference:
                continue
            p_values = {}
            if each.measure.name in INFLUENCES:
                p_values = _by_variance(detectors, each, options, difference)
            for method in RESAMPLING if is_resampled and each.key in RESAMPLED else ():
                with suppress(UndefinedMeasureError):
                    estimate = _estimate(method, detectors, each, options, difference)
                    p_values[method] = estimate.p_value
            for method, p_value in p_values.items():
                tried[i, method] += 1
                wrong[i, method] += p_value <= options.alpha
    rows = []
    for (i, method), n_tried in tried.items():
        limits = limits_of(bound[i], n, m)
        rows.append(
            {
                "measure": bound[i].measure.name,
                "key": bound[i].key,
                "method": method,
                "family": family,
                "n_anomalies": n,
                "n_normals": m,
                "anomalies": float(f"{limits.anomalies:.4g}"),
                "normals": float(f"{limits.normals:.4g}"),
                "tried": n_tried,
                "rate": round(wrong[i, method] / n_tried, 4),
            }
        )
    return rows


def _by_variance(
    detectors: Detectors, bound: BoundMeasure, options: InferenceOptions, difference: float
) -> dict[str, float]:
    """Return the p-values of both methods by a variance, which differ in the distribution alone."""
    estimate = _estimate("student", detectors, bound, options, difference)
    normal = 1.0
    if estimate.variance > 0:
        deviation = math.sqrt(estimate.variance)
        _, normal = student_test(difference, deviation, math.inf, bound, options.alpha)
    return {"delong": normal, "student": estimate.p_value}


def _estimate(
    method: str,
    detectors: Detectors,
    bound: BoundMeasure,
    options: InferenceOptions,
    difference: float,
) -> PairEstimate:
    return PAIRED_METHODS[method](detectors, bound, options, [(0, 1)], [difference])[0]


def summarize(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the highest rate of each closed form over the families, by measure and limits."""
    highest: dict[tuple[str, str, float, float], float] = {}
    for row in rows:
        if row["method"] in NORMAL_METHODS and 2 * row["tried"] >= N_SEEDS:
            key = row["measure"], row["method"], row["anomalies"], row["normals"]
            highest[key] = max(highest.get(key, 0.0), row["rate"])
    return [
        {**dict(zip(("measure", "method", "anomalies", "normals"), key, strict=True)), "rate": rate}
        for key, rate in highest.items()
    ]


def main() -> None:
    """Measure all cells, and write the tables."""
    cells = list(itertools.product(ANOMALIES, NORMALS, PAIRS))
    notes = BY_FAMILY.with_suffix(".partial")
    rows = resumed(measure, cells, notes)
    write_rows(BY_FAMILY, rows)
    write_rows(TABLE, summarize(rows))
    notes.unlink()


if __name__ == "__main__":
    main()
