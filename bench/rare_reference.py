"""Splitting under a standard normal reference, on regions whose mass is known in closed form.

Balls around the mean and what is outside of balls (chi-square distribution), and half-spaces across
one feature and across all of them.

    python -m bench.rare_reference [SEEDS]
"""

import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numba
import numpy as np
from scipy import stats

import fastad
from bench.pages import EVIDENCE, fill, read_rows, table, write_rows

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


def page(rows: Sequence[Mapping[str, Any]]) -> None:
    """Put the table into the page."""
    lines = []
    for cell in dict.fromkeys((r["region"], r["n_features"], r["mass"]) for r in rows):
        mine = [r for r in rows if (r["region"], r["n_features"], r["mass"]) == cell]
        errors = np.array([float(row["error"]) for row in mine])
        widths = np.array([float(row["half_width"]) for row in mine])
        root, covered = math.sqrt(float(np.mean(errors**2))), int((abs(errors) <= widths).sum())
        lines.append([*cell, f"{root:.3f}", f"{np.median(widths):.3f}", covered, len(mine)])
    head = ["region", "d", "mass", "error", "half-width", "covered", "of seeds"]
    fill(PAGE, {"reference": table(head, lines)})


def main(n_seeds: int = 3) -> None:
    """Measure all cells; with no seeds put the table that was measured into the page."""
    warnings.simplefilter("ignore")
    rows: list[dict[str, Any]] = []
    for mass in (1e-3, 1e-12) if n_seeds else ():
        for d in (3, 10, 50):
            reference = fastad.regions.Normal(np.zeros(d), np.eye(d))
            for name, (score, threshold) in regions(d, mass).items():
                for seed in range(n_seeds):
                    result = fastad.volume(
                        *(score, threshold),
                        reference=reference,
                        method="splitting",
                        n_draws=N_DRAWS,
                        rng=seed,
                    )
                    error = result.log_value - math.log(mass)
                    width = (result.log_high - result.log_low) / 2
                    cell = {"region": name, "n_features": d, "mass": mass, "seed": seed}
                    numbers = {"error": f"{error:.4f}", "half_width": f"{width:.4f}"}
                    rows.append({**cell, **numbers, "n_scored": result.n_scored})
                    write_rows(TABLE, rows)
    page(read_rows(TABLE))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
