"""Score calls that fastad's splitting and other packages need for the same error.

UltraNest and dynesty integrate a function that is 1 in the region and falls off steeply outside, by
nested sampling with slices; of 2 d steps in UltraNest, as its manual recommends for many features.
OpenTURNS has subset sampling. Of all: the root mean square error of the logarithm of the fraction
over some seeds, the error claimed, and calls. The square of the error is in inverse proportion to
the calls, so that calls times squared error are those for an error of 1, and their ratio is that of
calls at equal error. (`pip install ultranest dynesty openturns`.)

    python -m bench.volume_peer                              all cells, into the table
    python -m bench.volume_peer METHOD REGION FEATURES SEEDS one of them
"""

import logging
import math
import sys
import warnings
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

import fastad
from bench.pages import EVIDENCE, fill, read_rows, table, write_rows
from tests.support import rare

# Seeds of fastad, and of each of the others.
CELLS = (
    *(("ball", 10, 8, 3), ("simplex", 10, 8, 3), ("two_balls", 10, 8, 3), ("ball", 20, 8, 3)),
    *(("simplex", 20, 8, 2), ("shell", 20, 8, 2), ("ball", 50, 5, 2), ("shell", 50, 5, 2)),
)
N_DRAWS = 300_000
# Live points of nested sampling, and points of a level of subset sampling.
N_LIVE, N_LEVEL = 50, 5000
TABLE, PAGE = EVIDENCE / "rare_peers.csv", EVIDENCE / "rare.md"
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


def by_ultranest(region: rare.Rare, n_seeds: int) -> Runs:
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
        sampler = ultranest.ReactiveNestedSampler(
            [f"x{i}" for i in range(d)],
            lambda points: _log_density(region, points),
            lambda u: low + side * u,
            vectorized=True,
        )
        sampler.stepsampler = stepsampler.SliceSampler(
            nsteps=2 * d, generate_direction=stepsampler.generate_mixture_random_direction
        )
        result = sampler.run(
            min_num_live_points=N_LIVE,
            frac_remain=0.01,
            min_ess=0,
            max_num_improvement_loops=0,
            viz_callback=False,
            show_status=False,
        )
        results.append((result["logz"], result["logzerr"], result["ncall"]))
    return _runs(region, results)


def by_dynesty(region: rare.Rare, n_seeds: int) -> Runs:
    """Estimate by nested sampling, with random slices."""
    dynesty: Any = import_module("dynesty")
    d = region.box.n_features
    low, side = region.box.low, region.box.high - region.box.low
    results = []
    for seed in range(n_seeds):
        sampler = dynesty.NestedSampler(
            lambda point: float(_log_density(region, point[None])[0]),
            lambda u: low + side * u,
            d,
            nlive=N_LIVE,
            sample="rslice",
            rstate=np.random.default_rng(seed),
        )
        sampler.run_nested(dlogz=0.01, print_progress=False)
        result = sampler.results
        results.append(
            (float(result.logz[-1]), float(result.logzerr[-1]), float(np.sum(result.ncall)))
        )
    return _runs(region, results)


def by_openturns(region: rare.Rare, n_seeds: int) -> Runs:
    """Estimate by subset sampling, a tenth of the points in each next level."""
    ot: Any = import_module("openturns")
    d = region.box.n_features
    sides = [ot.Uniform(*ends) for ends in zip(region.box.low, region.box.high, strict=True)]
    results = []
    for seed in range(n_seeds):
        ot.RandomGenerator.SetSeed(seed)
        calls = 0

        def scores(points: Any) -> Any:
            nonlocal calls
            rows = np.asarray(points)
            calls += rows.shape[0]
            return region.batch(rows)[:, None]

        score = ot.PythonFunction(d, 1, func_sample=scores)
        inputs = ot.RandomVector(ot.JointDistribution(sides))
        output = ot.CompositeRandomVector(score, inputs)
        event = ot.ThresholdEvent(output, ot.Less(), region.threshold)
        sampling = ot.SubsetSampling(event)
        sampling.setMaximumOuterSampling(N_LEVEL // 100)
        sampling.setBlockSize(100)
        sampling.setMinimumProbability(1e-300)
        sampling.run()
        result = sampling.getResult()
        fraction = float(result.getProbabilityEstimate())
        error = float(result.getCoefficientOfVariation())
        results.append((math.log(max(fraction, 1e-300)), error, float(calls)))
    return _runs(region, results)


def _log_density(region: rare.Rare, points: Any) -> Any:
    """Return the logarithm of the integrand of nested sampling."""
    above = region.batch(points) / region.threshold - 1
    return -np.maximum(above, 0.0) / _STEEP


METHODS = {
    "fastad": by_fastad,
    "OpenTURNS": by_openturns,
    "dynesty": by_dynesty,
    "UltraNest": by_ultranest,
}


def _runs(region: rare.Rare, runs: list[tuple[float, float, float]]) -> Runs:
    """Summarise logarithms of the fraction, their claimed errors, and calls."""
    errors, claimed, calls = np.array(runs).T
    errors = errors - region.log_fraction
    return Runs(
        math.sqrt(float(np.mean(errors**2))),
        math.sqrt(float(np.mean(claimed**2))),
        float(calls.mean()),
    )


def measure(name: str, method: str, d: int, n_seeds: int) -> dict[str, Any]:
    """Return a row of the table."""
    runs = METHODS[method](rare.SHAPES[name](d), n_seeds)
    return {
        "region": name,
        "n_features": d,
        "method": method,
        "seeds": n_seeds,
        "error": f"{runs.error:.3g}",
        "claimed": f"{runs.claimed:.3g}",
        "calls": f"{runs.calls:.3g}",
        "calls_for_one": f"{runs.calls_for_one:.3g}",
    }


def page(rows: Sequence[Mapping[str, Any]]) -> None:
    """Put the table into the page, with the calls by those of fastad."""
    ours = {
        (row["region"], row["n_features"]): float(row["calls_for_one"])
        for row in rows
        if row["method"] == "fastad"
    }
    lines = []
    for row in rows:
        cell = row["region"], row["n_features"]
        has_ratio = row["method"] != "fastad" and cell in ours
        ratio = f"{float(row['calls_for_one']) / ours[cell]:.2g}" if has_ratio else ""
        lines.append([*row.values(), ratio])
    head = ["region", "d", "method", "seeds", "error", "claimed", "calls", "calls for error 1"]
    fill(PAGE, {"peers": table([*head, "by fastad's"], lines)})


def main(arguments: Sequence[str]) -> None:
    """Measure one cell or all; keep the rows that were measured before."""
    warnings.simplefilter("ignore")
    rows = read_rows(TABLE) if TABLE.exists() else []
    wanted = [
        (name, method, d, n_own if method == "fastad" else n_others)
        for name, d, n_own, n_others in CELLS
        for method in METHODS
    ]
    if len(arguments) == 4:
        wanted = [(arguments[1], arguments[0], int(arguments[2]), int(arguments[3]))]
    done = {(row["region"], row["method"], int(row["n_features"])) for row in rows}
    for name, method, d, n_seeds in wanted:
        if (name, method, d) not in done:
            rows.append({k: str(v) for k, v in measure(name, method, d, n_seeds).items()})
            rows.sort(key=lambda row: (int(row["n_features"]), row["region"]))
            write_rows(TABLE, rows)
            page(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
