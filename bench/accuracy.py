"""Accuracy of volumes of tiny regions whose size is known, as a table.

    python -m bench.accuracy > docs/evidence/accuracy.md

The shapes are those of the tests. Importance sampling is told where the region is by 1000 points of
it; "auto" as well. Errors are in the logarithm of the share: about relative ones where they are
small.
"""

import math
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np

import fastad
from tests.support import rare

DIMENSIONS = (2, 5, 10, 20, 50, 100)
BUDGETS = {"importance": 300_000, "splitting": 1_000_000, "auto": 300_000}
N_DATA, N_SEEDS = 1000, 1


class _Cell(NamedTuple):
    """What some runs of a method have come to."""

    error: float  # root of the mean square
    claimed: float  # the standard error, root of the mean square
    covered: int
    warned: int
    calls: float
    seconds: float
    method: str

    def __str__(self) -> str:
        marks = f", {self.covered}/{N_SEEDS} covered"
        if self.warned:
            marks += f", {self.warned} warned"
        chosen = f" ({self.method})" if self.method else ""
        return (
            f"{self.error:.2g} ± {self.claimed:.2g}{marks}, {self.calls:.2g} calls, "
            f"{self.seconds:.1f} s{chosen}"
        )


def _run(shape: rare.Rare, method: str) -> _Cell:
    found, warned, seconds = [], 0, 0.0
    for seed in range(N_SEEDS):
        data = shape.data(N_DATA, seed) if method != "splitting" else None
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            options: Any = {"method": method, "n_draws": BUDGETS[method], "rng": seed}
            found.append(
                fastad.volume(shape.jitted, shape.threshold, shape.box, data=data, **options)
            )
        seconds += time.perf_counter() - start
        warned += any(
            issubclass(one.category, fastad.errors.InsufficientMixingWarning) for one in caught
        )
    errors = [one.log_value - shape.log_fraction for one in found if not one.is_bound]
    claims = [1 / one.effective_sample_size for one in found if not one.is_bound]
    return _Cell(
        math.sqrt(float(np.mean(np.square(errors)))) if errors else math.nan,
        math.sqrt(float(np.mean(claims))) if claims else math.nan,
        sum(one.log_low <= shape.log_fraction <= one.log_high for one in found),
        warned,
        float(np.mean([one.n_scored for one in found])),
        seconds / N_SEEDS,
        "/".join(sorted({one.method for one in found})) if method == "auto" else "",
    )


def main() -> None:
    """Print the table, row by row."""
    names = ", ".join(f"{method} {budget:_}" for method, budget in BUDGETS.items())
    print(f"Error in log fraction ± the error claimed, of {N_SEEDS} seeds. Budgets: {names}.\n")
    print("| region | d | log fraction |", " | ".join(BUDGETS), "|")
    print("|---|---:|---:|", "|".join("---" for _ in BUDGETS), "|")
    for name, make in rare.SHAPES.items():
        for d in DIMENSIONS:
            shape = make(d)
            cells = [str(_run(shape, method)) for method in BUDGETS]
            print(f"| {name} | {d} | {shape.log_fraction:.2f} |", " | ".join(cells), "|")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
