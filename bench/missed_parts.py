"""Whether splitting ends in a right answer or a warning where particles may miss parts.

    python -m bench.missed_parts [SEEDS]

The needle beside a wide valley, without data and with 60 points of data, half of them in the
needle; and 256 balls in four features. Of each: how many 95 % intervals covered the true fraction,
how many seeds warned, how many did neither, and the median error of the logarithm.
"""

import math
import sys
from typing import Any

import numpy as np
from numba import njit

from bench.pages import line, table
from bench.volume_coverage import volume_and_warning
from fastad import Box
from tests.support import hidden

N_DRAWS = 100_000
# Half a side of the needle and of the valley at the threshold, and their middles.
_NEEDLE, _VALLEY = (0.12 * 0.3 ** (1 / 6), 0.87), (0.6 * 0.3**2, 0.4)


@njit(cache=False)
def _islands(x: Any) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        total += ((4 * x[i]) % 1 - 0.5) ** 2
    return total


def _data(rng: np.random.Generator, d: int) -> Any:
    parts = [middle + half * (2 * rng.random((30, d)) - 1) for half, middle in (_NEEDLE, _VALLEY)]
    return np.concatenate(parts)


def row(name: str, region: tuple[Any, float, Box], truth: float, has_data: bool, n: int) -> None:
    """Print a row of the table, of some seeds."""
    covered = warned = silent = 0
    errors = []
    for seed in range(n):
        data = _data(np.random.default_rng([5, seed]), region[2].n_features) if has_data else None
        options: Any = {"method": "splitting", "n_draws": N_DRAWS, "rng": seed, "data": data}
        result, is_warned = volume_and_warning(*region, **options)
        is_covered = result.log_low <= truth <= result.log_high
        covered += is_covered
        warned += is_warned
        silent += not (is_covered or is_warned)
        errors.append(abs(result.log_value - truth))
    error = f"{np.median(errors):.2g}"
    print(line([name, covered, warned, silent, n, error]), flush=True)


def main(n_seeds: int = 100) -> None:
    """Print the table."""
    print(table(["region", "covered", "warned", "neither", "of seeds", "error"], []))
    for d, has_data in ((5, False), (10, False), (10, True)):
        needle = hidden.needle_in_valley(d)
        region = needle.jitted, needle.threshold, needle.box
        name = f"needle, d = {d}, {'with' if has_data else 'no'} data"
        row(name, region, needle.log_fraction, has_data, n_seeds)
    truth = math.log(math.pi**2 / 2) + 2 * math.log(1e-4)
    row("256 balls, d = 4", (_islands, 1e-4, Box([0] * 4, [1] * 4)), truth, False, n_seeds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
