"""Score calls that fastad's splitting and UltraNest's nested sampling need for the same error.

UltraNest (`pip install ultranest`) integrates a function that is 1 in the region and falls off
steeply outside, by slices of 2 d steps, as its manual recommends for many features. Of both: the
root mean square error of the logarithm of the fraction over some seeds, the error claimed, and
calls. By both methods the square of the error is in inverse proportion to the calls, so that calls
times squared error are those for an error of 1, and their ratio is that of calls at equal error.

    python -m bench.volume_peer [REGION FEATURES LIVE_POINTS SEEDS]
"""

import logging
import math
import sys
import warnings
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

import fastad
from bench.pages import line, table
from tests.support import rare

CELLS = (("ball", 20, 50, 5), ("simplex", 20, 50, 3), ("ball", 50, 50, 2))
N_DRAWS = 300_000
# Of the score, by the threshold, above which the integrand falls by a factor e.
_STEEP = 1e-6


class Runs(NamedTuple):
    """Errors of a method over some seeds, and its mean number of calls."""

    error: float
    claimed: float
    calls: float

    @property
    def calls_for_one(self) -> float:
        """Calls for an error of 1."""
        return self.calls * self.error**2


def by_fastad(region: rare.Rare, n_seeds: int) -> Runs:
    """Estimate by splitting, without data."""
    results: list[Any] = [
        fastad.volume(
            *(region.jitted, region.threshold, region.box),
            method="splitting",
            n_draws=N_DRAWS,
            rng=seed,
        )
        for seed in range(n_seeds)
    ]
    runs = [(x.log_value, (x.log_high - x.log_low) / 4, float(x.n_scored)) for x in results]
    return _runs(region, runs)


def by_ultranest(region: rare.Rare, n_live: int, n_seeds: int) -> Runs:
    """Estimate by nested sampling."""
    # Only where the peer is measured; it has no types.
    ultranest: Any = import_module("ultranest")
    stepsampler: Any = import_module("ultranest.stepsampler")
    logging.getLogger("ultranest").setLevel(logging.ERROR)
    d = region.box.n_features
    low, side = region.box.low, region.box.high - region.box.low
    results = []
    for seed in range(n_seeds):
        np.random.seed(seed)  # noqa: NPY002  its only generator

        def log_density(points: Any) -> Any:
            above = region.batch(points) / region.threshold - 1
            return -np.maximum(above, 0.0) / _STEEP

        sampler = ultranest.ReactiveNestedSampler(
            [f"x{i}" for i in range(d)], log_density, lambda u: low + side * u, vectorized=True
        )
        sampler.stepsampler = stepsampler.SliceSampler(
            nsteps=2 * d,
            generate_direction=stepsampler.generate_mixture_random_direction,
        )
        result = sampler.run(
            min_num_live_points=n_live,
            frac_remain=0.01,
            min_ess=0,
            max_num_improvement_loops=0,
            viz_callback=False,
            show_status=False,
        )
        results.append((result["logz"], result["logzerr"], result["ncall"]))
    return _runs(region, results)


def _runs(region: rare.Rare, runs: list[tuple[float, float, float]]) -> Runs:
    """Summarise logarithms of the fraction, their claimed errors, and calls."""
    errors, claimed, calls = np.array(runs).T
    errors = errors - region.log_fraction
    return Runs(
        math.sqrt(float(np.mean(errors**2))),
        math.sqrt(float(np.mean(claimed**2))),
        float(calls.mean()),
    )


def main(cells: Any = CELLS) -> None:
    """Print a row for each method and region."""
    head = ["region", "d", "method", "seeds", "error", "claimed", "calls"]
    print(table([*head, "calls for an error of 1"], []))
    warnings.simplefilter("ignore")
    for name, d, n_live, n_seeds in cells:
        region = rare.SHAPES[name](d)
        _print(name, d, "fastad", 10, by_fastad(region, 10))
        _print(name, d, f"UltraNest, {n_live} live", n_seeds, by_ultranest(region, n_live, n_seeds))


def _print(name: str, d: int, method: str, n_seeds: int, runs: Runs) -> None:
    numbers = (*runs, runs.calls_for_one)
    print(line([name, d, method, n_seeds, *(f"{number:.3g}" for number in numbers)]), flush=True)


if __name__ == "__main__":
    main([(sys.argv[1], *map(int, sys.argv[2:5]))] if len(sys.argv) > 1 else CELLS)
