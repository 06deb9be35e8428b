"""How often intervals and bounds of splitting leave out the true fraction, as a table.

    python -m bench.splitting_bounds    writes docs/evidence/splitting.csv

For regions whose size is known, one row for each region, number of features and budget. Of the
seeds it counts those whose upper end is below the truth, whose interval leaves it out, that ended
in a bound, and that warned; the false ones without a warning; and those whose interval by uniform
draws alone leaves out the truth.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from bench.pages import EVIDENCE, fill, table, write_rows
from bench.volume_coverage import volume_and_warning
from fastad.regions import VolumeEstimate
from tests.support import hidden, rare

TABLE, PAGE = EVIDENCE / "splitting.csv", EVIDENCE / "rare.md"
# Columns of the file that the page shows, and what it calls them.
SHOWN = {
    "region": "region",
    "d": "d",
    "n_draws": "calls",
    "bounds": "bounds",
    "interval_false": "`low` to `high` false",
    "warned": "warned",
    "false_unwarned": "false, not warned",
    "by_uniform_draws_false": "`uniform_low` to `uniform_high` false",
    "seeds": "of seeds",
}
# Features, and score calls.
CELLS = ((5, 10_000), (10, 10_000), (20, 20_000))
# Where so many calls come down, without the part that is the most of the region.
MORE = {"needle_in_valley": ((10, 100_000),)}
N_SEEDS = 60
SHAPES: dict[str, Callable[[int], rare.Rare]] = {**rare.SHAPES, **hidden.SHAPES}


def run(region: rare.Rare, n_draws: int, seed: int) -> tuple[VolumeEstimate, bool]:
    """Return an estimate, and whether it came with a warning."""
    options = {"method": "splitting", "n_draws": n_draws, "rng": seed, "n_threads": 1}
    return volume_and_warning(region.jitted, region.threshold, region.box, **options)


def row(region: rare.Rare, n_draws: int, n_seeds: int = N_SEEDS) -> dict[str, Any]:
    """Return a row of the table, of some seeds."""
    truth = region.log_fraction
    results = [run(region, n_draws, seed) for seed in range(n_seeds)]
    below = [x.log_high < truth for x, _ in results]
    outside = [not x.log_low <= truth <= x.log_high for x, _ in results]
    widths = [x.log_high - x.log_low for x, _ in results if not x.is_bound]
    above = [x.log_high - truth for x, _ in results if x.is_bound]
    return {
        "region": region.name,
        "d": region.box.n_features,
        "n_draws": n_draws,
        "log_fraction": round(truth, 2),
        "upper_end_false": sum(below),
        "interval_false": sum(outside),
        "bounds": sum(x.is_bound for x, _ in results),
        "warned": sum(warned for _, warned in results),
        "false_unwarned": sum(
            false and not warned for false, (_, warned) in zip(outside, results, strict=True)
        ),
        "by_uniform_draws_false": sum(
            not x.uniform_low <= math.exp(truth) <= x.uniform_high for x, _ in results
        ),
        "median_log_width": round(float(np.median(widths)), 2) if widths else "",
        "median_log_bound_over_truth": round(float(np.median(above)), 1) if above else "",
        "seeds": n_seeds,
    }


def lines(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return the table of the page."""
    return table(list(SHOWN.values()), [[row[name] for name in SHOWN] for row in rows])


def main() -> None:
    """Write the table, and put it into the page."""
    rows = []
    for name, shape in SHAPES.items():
        for d, n_draws in (*CELLS, *MORE.get(name, ())):
            rows.append(row(shape(d), n_draws))
            print(rows[-1], flush=True)
            write_rows(TABLE, rows)
    fill(PAGE, {"bounds": lines(rows)})


if __name__ == "__main__":
    main()
