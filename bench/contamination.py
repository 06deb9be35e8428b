"""How often corrected measures contain the truth, and what hidden anomalies do to plain ones.

``python -m bench.contamination`` writes docs/evidence/contamination.csv, in about twenty minutes.
"""

import math
import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

import fastad
from bench.pages import EVIDENCE, write_rows
from fastad.errors import LowCoverageWarning
from fastad.measures.requests import bind
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty import contamination_sensitivity
from fastad.uncertainty.intervals.enclosing_curves import counts_of_curve

TABLE = EVIDENCE / "contamination.csv"
COLUMNS = (
    *("family", "measure", "truth", "plain_value", "plain", "corrected_value", "known"),
    *("within_30_percent", "bounds", "width_known", "width_range", "n_sets"),
)
N_SETS = 100
N_ANOMALIES, N_LABELLED_NORMAL, HIDDEN = 1000, 99_000, 0.01
# The fraction is known so well: the truth lies anywhere in the range that is given.
UNCERTAINTY = 0.3
N_RESAMPLES = 300
# Population curves are integrated over so many thresholds.
_N_GRID = 400_001

Floats = npt.NDArray[np.float64]


class Family(NamedTuple):
    """Scores of normals, those of anomalies higher by a shift, and where both are rounded down."""

    distribution: Any
    shift: float
    threshold: float
    cuts: tuple[float, ...] = ()


FAMILIES: Mapping[str, Family] = {
    "Gaussian": Family(stats.norm, 4.0, 3.0),
    "heavy-tailed": Family(stats.t(3), 12.0, 9.0),
    "Gaussian, 5 levels": Family(stats.norm, 4.0, 3.0, (0.0, 1.5, 3.0, 4.5)),
    "Gaussian, 8 levels": Family(stats.norm, 4.0, 3.0, (-1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0)),
}
MEASURES: Mapping[str, Mapping[str, Any]] = {
    "auc": {"measure": "auc"},
    "tpr@0.001": {"measure": "tpr@0.001"},
    "tpr@0.01": {"measure": "tpr@0.01"},
    "auc@0.01": {"measure": "auc@0.01"},
    "fpr@tpr0.9": {"measure": "fpr@tpr0.9"},
    "ap": {"measure": "ap"},
    "precision at a threshold": {"measure": "precision"},
    "fpr at a threshold": {"measure": "fpr"},
}


def options_of(name: str, family: Family) -> dict[str, Any]:
    """Return the measure as `fastad.interval` takes it."""
    options = dict(MEASURES[name])
    return {**options, "threshold": family.threshold} if "threshold" in name else options


def draw(family: Family, seed: int) -> tuple[npt.NDArray[np.int64], Floats]:
    """Return labels as they are seen, and scores."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [N_ANOMALIES, N_LABELLED_NORMAL])
    is_anomaly = np.append(np.ones(N_ANOMALIES), rng.random(N_LABELLED_NORMAL) < HIDDEN)
    scores: Floats = family.distribution.rvs(size=y.shape[0], random_state=rng)
    shifts: Floats = family.shift * is_anomaly.astype(np.float64)
    scores = scores + shifts
    if family.cuts:
        scores = np.array([-np.inf, *family.cuts])[np.digitize(scores, family.cuts)]
    return y, scores


def truth(name: str, family: Family, template: OrderedCounts) -> float:
    """Return a measure of the population, from its curve at many thresholds."""
    if family.cuts:
        thresholds = np.array([np.inf, *reversed(family.cuts), -np.inf])
        fpr = family.distribution.sf(thresholds)
    else:
        fpr = np.concatenate([[0.0], np.geomspace(1e-9, 1, _N_GRID - 1)])
        thresholds = family.distribution.isf(fpr)
    tpr = family.distribution.sf(thresholds - family.shift)
    tpr[0], tpr[-1] = 0.0, 1.0
    n_hidden = HIDDEN * N_LABELLED_NORMAL
    n, m = N_ANOMALIES + n_hidden, N_LABELLED_NORMAL - n_hidden
    options = options_of(name, family)
    if "threshold" in options:
        fp = m * float(family.distribution.sf(family.threshold))
        tp = n * float(family.distribution.sf(family.threshold - family.shift))
        return tp / (tp + fp) if options["measure"] == "precision" else fp / m
    # Sizes of the classes matter for average precision.
    totals: dict[str, Any] = {"n_anomalies": float(n), "n_normals": float(m)}
    population = replace(counts_of_curve(template, fpr * m, tpr * n), **totals)
    return bind(options["measure"], {}).value(population)


def run(family_name: str, name: str, n_sets: int) -> dict[str, Any]:
    """Return one row of the table."""
    family = FAMILIES[family_name]
    options = options_of(name, family)
    expected = truth(name, family, fastad.rank_scores([0, 1], [0.0, 1.0]).counts)
    covered = dict.fromkeys(("plain", "known", "within_30_percent", "bounds"), 0)
    widths: dict[str, list[float]] = {"known": [], "within_30_percent": []}
    values: dict[str, list[float]] = {"plain": [], "known": []}
    for seed in range(n_sets):
        y, scores = draw(family, seed)
        rng = np.random.default_rng([seed, 1])
        stated = HIDDEN / (1 + UNCERTAINTY * (2 * rng.random() - 1))
        wide = stated * (1 - UNCERTAINTY), stated * (1 + UNCERTAINTY)
        for kind, contamination in (("plain", 0), ("known", HIDDEN), ("within_30_percent", wide)):
            result = fastad.interval(
                y, scores, **options, contamination=contamination, n_resamples=N_RESAMPLES, rng=seed
            )
            covered[kind] += result.low <= expected <= result.high
            if kind in widths:
                widths[kind].append(result.high - result.low)
            if kind in values:
                values[kind].append(result.value)
        low, high = contamination_sensitivity(
            y,
            scores,
            **options,
            contamination=[(1 - UNCERTAINTY) * HIDDEN, (1 + UNCERTAINTY) * HIDDEN],
        ).bounds
        covered["bounds"] += low <= expected <= high
    return {
        "family": family_name,
        "measure": name,
        "truth": f"{expected:.6f}",
        "plain_value": f"{np.mean(values['plain']):.6f}",
        "corrected_value": f"{np.mean(values['known']):.6f}",
        **covered,
        "width_known": f"{np.mean(widths['known']):.6f}",
        "width_range": f"{np.mean(widths['within_30_percent']):.6f}",
        "n_sets": n_sets,
    }


def main() -> None:
    """Write the table, and print it."""
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else N_SETS
    warnings.simplefilter("ignore", LowCoverageWarning)
    rows = []
    for family, name in product(FAMILIES, MEASURES):
        rows.append(run(family, name, n_sets))
        print(rows[-1], flush=True)
    assert all(math.isfinite(float(row["truth"])) for row in rows)
    if n_sets == N_SETS:
        write_rows(TABLE, rows, COLUMNS)


if __name__ == "__main__":
    main()
