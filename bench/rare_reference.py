"""Splitting under a standard normal reference, on regions whose mass is known in closed form.

Balls around the mean and what is outside of balls (chi-square distribution), and half-spaces across
one feature and across all of them.

    python -m bench.rare_reference [SEEDS]
"""

import math
import sys
import warnings
from typing import Any

import numba
import numpy as np
from scipy import stats

import fastad
from bench.pages import EVIDENCE, fill, table, write_rows

N_DRAWS = 200_000
TABLE, PAGE = EVIDENCE / "rare_reference.csv", EVIDENCE / "rare.md"


@numba.njit
def _square(point: Any) -> Any:
    return (point**2).sum()


@numba.njit
def _minus_square(point: Any) -> Any:
    return -(point**2).sum()


@numba.njit
def _minus_first(point: Any) -> Any:
    return -point[0]


@numba.njit
def _minus_sum(point: Any) -> Any:
    return -point.sum()


def regions(d: int, mass: float) -> dict[str, tuple[Any, float]]:
    """Return scores and thresholds of regions of a mass."""
    far = float(stats.norm.isf(mass))
    return {
        "ball": (_square, float(stats.chi2(d).ppf(mass))),
        "outside of a ball": (_minus_square, -float(stats.chi2(d).isf(mass))),
        "tail of a feature": (_minus_first, -far),
        "tail of the sum": (_minus_sum, -far * math.sqrt(d)),
    }


def main(n_seeds: int = 3) -> None:
    """Measure all cells, and put the table into the page."""
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    lines = []
    for mass in (1e-3, 1e-12):
        for d in (3, 10, 50):
            reference = fastad.regions.Normal(np.zeros(d), np.eye(d))
            for name, (score, threshold) in regions(d, mass).items():
                errors, widths = [], []
                for seed in range(n_seeds):
                    result = fastad.volume(
                        *(score, threshold),
                        reference=reference,
                        method="splitting",
                        n_draws=N_DRAWS,
                        rng=seed,
                    )
                    errors.append(result.log_value - math.log(mass))
                    widths.append((result.log_high - result.log_low) / 2)
                    numbers = {"error": f"{errors[-1]:.4f}", "half_width": f"{widths[-1]:.4f}"}
                    cell = {"region": name, "n_features": d, "mass": mass, "seed": seed}
                    rows.append({**cell, **numbers, "n_scored": result.n_scored})
                    write_rows(TABLE, rows)
                root = math.sqrt(float(np.mean(np.square(errors))))
                covered = sum(abs(e) <= w for e, w in zip(errors, widths, strict=True))
                median = f"{np.median(widths):.3f}"
                lines.append([name, d, f"{mass:g}", f"{root:.3f}", median, covered, n_seeds])
    head = ["region", "d", "mass", "error", "half-width", "covered", "of seeds"]
    fill(PAGE, {"reference": table(head, lines)})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
