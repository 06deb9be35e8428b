"""What a threshold gains by its choice on the labels it is judged by, and what is left of it.

``python -m bench.optimism`` writes docs/evidence/optimism.csv, in about ten minutes.
"""

import math
import sys
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

from bench.pages import EVIDENCE, fill, read_rows, table, write_rows
from fastad.uncertainty import best_f1_optimism

TABLE, PAGE = EVIDENCE / "optimism.csv", EVIDENCE / "optimism.md"
# Anomalies, normals, and data sets: standard errors of the means are near 0.001.
SIZES = ((20, 20, 4000), (20, 200, 6000), (50, 500, 4000), (100, 1000, 2500), (500, 5000, 600))
# Beyond the claim: a hundred normals for each anomaly.
RARE = ((20, 2000, 1000),)
N_RESAMPLES = 20
METHODS: tuple[Literal["leave-one-out"], Literal["bootstrap"]] = ("leave-one-out", "bootstrap")


class Family(NamedTuple):
    """Scores of normals, those of anomalies higher by a shift, and the step of rounding down."""

    distribution: Any
    shift: float
    step: float = 0.0


FAMILIES: Mapping[str, Family] = {
    "Gaussian": Family(stats.norm, 2.0),
    "heavy-tailed": Family(stats.t(2), 4.0),
    "Gaussian, rounded to 0.5": Family(stats.norm, 2.0, 0.5),
    "Gaussian, rounded to 1": Family(stats.norm, 2.0, 1.0),
    "nearly perfect": Family(stats.norm, 5.0),
    "weak": Family(stats.norm, 0.7),
}


def draw(
    family: Family, n: int, m: int, rng: np.random.Generator
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return labels and scores."""
    y = np.repeat([1, 0], [n, m])
    scores = family.distribution.rvs(size=n + m, random_state=rng) + family.shift * y
    return y, np.floor(scores / family.step) * family.step if family.step else scores


def truth(family: Family, threshold: float, n: int, m: int) -> float:
    """Return the F1 score of a threshold on the population, with classes in the samples' ratio."""
    # A rounded score reaches its threshold where the score before does.
    tpr = float(family.distribution.sf(threshold - family.shift))
    fpr = float(family.distribution.sf(threshold))
    return 2 * n * tpr / (n * tpr + m * fpr + n)


def run(family: str, n: int, m: int, n_sets: int) -> dict[str, Any]:
    """Return a row: means over data sets, standard errors and root mean squares of differences."""
    rng = np.random.default_rng([n, m])
    values = []
    for seed in range(n_sets):
        y, scores = draw(FAMILIES[family], n, m, rng)
        results = [
            best_f1_optimism(y, scores, method=method, n_resamples=N_RESAMPLES, rng=seed)
            for method in METHODS
        ]
        true = truth(FAMILIES[family], results[0].threshold, n, m)
        values.append([true, results[0].value, *(result.corrected for result in results)])
    mean = np.mean(values, axis=0)
    differences = np.array(values)[:, 1:] - np.array(values)[:, :1]
    errors = differences.std(axis=0, ddof=1) / math.sqrt(n_sets)
    spread = np.sqrt(np.mean(differences**2, axis=0))
    row: dict[str, Any] = {"family": family, "n": n, "m": m}
    for i, kind in enumerate(("apparent", *METHODS)):
        row |= {
            kind: f"{mean[i + 1] - mean[0]:.4f}",
            f"{kind}_error": f"{errors[i]:.4f}",
            f"{kind}_rms": f"{spread[i]:.3f}",
        }
    return {**row, "truth": f"{mean[0]:.3f}", "n_sets": n_sets}


def page() -> str:
    """Return the table of the page."""
    head = ["scores", "anomalies, normals", "true value", "as judged"]
    head += ["leave-one-out", "bootstrap", "distance: as judged", "leave-one-out", "bootstrap"]
    rows = [
        [
            *(row["family"], f"{row['n']}, {row['m']}", row["truth"]),
            f"{float(row['apparent']):+.3f}",
            *(f"{float(row[x]):+.4f} ± {row[f'{x}_error']}" for x in METHODS),
            *(row[f"{x}_rms"] for x in ("apparent", *METHODS)),
        ]
        for row in read_rows(TABLE)
    ]
    return table(head, rows)


def main() -> None:
    """Write the table, and the page."""
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    rows = []
    for n, m, n_sets in (*SIZES, *RARE):
        for family in FAMILIES:
            rows.append(run(family, n, m, math.ceil(scale * n_sets)))
            print(rows[-1], flush=True)
    if scale == 1:
        write_rows(TABLE, rows)
        fill(PAGE, {"optimism": page()})


if __name__ == "__main__":
    main()
