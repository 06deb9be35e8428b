"""How often intervals and bounds of splitting leave out the true fraction, as a table.

    python -m bench.splitting_bounds > docs/evidence/splitting.csv

For regions whose size is known, one row for each region, number of features and budget. Of the
seeds it counts those whose upper end is below the truth, whose interval leaves it out, that ended
in a bound, and that warned; the false ones without a warning; and those whose interval by uniform
draws alone leaves out the truth.
"""

import csv
import math
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import fastad
from fastad.errors import InsufficientMixingWarning
from fastad.regions import VolumeEstimate
from tests.support import hidden, rare

# Features, and score calls.
CELLS = ((5, 10_000), (10, 10_000), (20, 20_000))
# Where so many calls come down, without the part that is the most of the region.
MORE = {"needle_in_valley": ((10, 100_000),)}
N_SEEDS = 60
SHAPES: dict[str, Callable[[int], rare.Rare]] = {**rare.SHAPES, **hidden.SHAPES}


def run(region: rare.Rare, n_draws: int, seed: int) -> tuple[VolumeEstimate, bool]:
    """Return an estimate, and whether it was warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate: Any = fastad.volume(
            *(region.jitted, region.threshold, region.box),
            method="splitting",
            n_draws=n_draws,
            rng=seed,
            n_threads=1,
        )
    return estimate, any(issubclass(one.category, InsufficientMixingWarning) for one in caught)


def row(region: rare.Rare, n_draws: int, n_seeds: int = N_SEEDS) -> dict[str, Any]:
    """Count what some seeds come to."""
    truth = region.log_fraction
    results = [run(region, n_draws, seed) for seed in range(n_seeds)]
    below = [one.log_high < truth for one, _ in results]
    outside = [not one.log_low <= truth <= one.log_high for one, _ in results]
    widths = [one.log_high - one.log_low for one, _ in results if not one.is_bound]
    above = [one.log_high - truth for one, _ in results if one.is_bound]
    return {
        "region": region.name,
        "d": region.box.n_features,
        "n_draws": n_draws,
        "log_fraction": round(truth, 2),
        "upper_end_false": sum(below),
        "interval_false": sum(outside),
        "bounds": sum(one.is_bound for one, _ in results),
        "warned": sum(warned for _, warned in results),
        "false_unwarned": sum(
            false and not warned for false, (_, warned) in zip(outside, results, strict=True)
        ),
        "by_uniform_draws_false": sum(
            not one.uniform_low <= math.exp(truth) <= one.uniform_high for one, _ in results
        ),
        "median_log_width": round(float(np.median(widths)), 2) if widths else "",
        "median_log_bound_over_truth": round(float(np.median(above)), 1) if above else "",
        "seeds": n_seeds,
    }


def main(names: list[str]) -> None:
    """Print the table, row by row."""
    writer = None
    for name in names or SHAPES:
        for d, n_draws in (*CELLS, *MORE.get(name, ())):
            found = row(SHAPES[name](d), n_draws)
            if writer is None:
                writer = csv.DictWriter(sys.stdout, list(found), lineterminator="\n")
                writer.writeheader()
            writer.writerow(found)
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
