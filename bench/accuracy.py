"""Accuracy of volumes of tiny regions whose size is known, as a table.

    python -m bench.accuracy METHOD [SEEDS [REGION ...]]

The method is ``importance``, ``splitting`` or ``auto``. Importance sampling and ``auto`` get
1000 points of the region as data. Errors are of the logarithm of the fraction: about
relative ones where they are small. A row counts the seeds that were answered, and of these the
warned ones and those whose 95 % interval has the truth; the error is the root of the mean square,
beside the standard error that the estimates claim.
"""

import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.pages import line, table
from bench.processor import describe, processor
from bench.volume_coverage import Shape, islands, volume_and_warning
from fastad.errors import InvalidInputError
from tests.support import hidden, rare

DIMENSIONS = (2, 5, 10, 20, 50, 100)
N_DRAWS = {"importance": 300_000, "splitting": 1_000_000, "auto": 300_000}
N_DATA, N_SEEDS = 1000, 10
HEAD = (
    *("region", "d", "log fraction", "answered", "warned", "covered", "error", "claimed"),
    *("calls", "seconds", "methods"),
)


def regions() -> Iterator[tuple[str, Shape]]:
    """Yield regions, by name, in all numbers of features."""
    for name, make in rare.SHAPES.items():
        for d in DIMENSIONS:
            yield name, _shape(make(d))
    for d in (5, 10):
        yield "needle", _shape(hidden.needle_in_valley(d))
    yield "64 islands", islands()


def _shape(region: rare.Rare) -> Shape:
    d = region.box.n_features
    return Shape(
        region.jitted,
        region.threshold,
        region.box,
        region.log_fraction,
        lambda rng, n: region.inside(rng, n, d),
    )


def row(name: str, shape: Shape, method: str, n_seeds: int) -> str:
    """Return what some seeds have come to."""
    results: list[Any] = []
    warned, seconds = 0, 0.0
    for seed in range(n_seeds):
        data = None
        if method != "splitting":
            data = shape.draw(np.random.default_rng([2, seed]), N_DATA)
        options: Any = {"method": method, "n_draws": N_DRAWS[method], "rng": seed, "data": data}
        began = time.perf_counter()
        try:
            result, is_warned = volume_and_warning(
                *(shape.score, shape.threshold, shape.box), **options
            )
            results.append(result)
            warned += is_warned
        except InvalidInputError as error:
            if "method='importance' needs" not in str(error):
                raise
        seconds += time.perf_counter() - began
    errors = [x.log_value - shape.log_fraction for x in results]
    claims = [1 / x.effective_sample_size for x in results if not x.is_bound]
    covered = sum(x.log_low <= shape.log_fraction <= x.log_high for x in results)
    methods = Counter(x.method for x in results)
    cells = [name, str(shape.box.n_features), f"{shape.log_fraction:.2f}"]
    cells += [f"{len(results)} of {n_seeds}", str(warned), f"{covered} of {len(results)}"]
    cells += [_root_mean_square(errors), f"{math.sqrt(np.mean(claims)):.2g}" if claims else "-"]
    cells += [f"{np.mean([x.n_scored for x in results]):.2g}" if results else "-"]
    cells += [f"{seconds / n_seeds:.1f}", ", ".join(f"{key} {n}" for key, n in methods.items())]
    return line(cells)


def _root_mean_square(errors: list[float]) -> str:
    return f"{math.sqrt(np.mean(np.square(errors))):.2g}" if errors else "-"


def main(method: str, n_seeds: int = N_SEEDS, *names: str) -> None:
    """Print the table, row by row."""
    print(describe(processor()))
    print(table(HEAD, []))
    for name, shape in regions():
        if not names or name in names:
            print(row(name, shape, method, n_seeds), flush=True)


if __name__ == "__main__":
    main(*(int(x) if x.isdigit() else x for x in sys.argv[1:]))  # type: ignore[arg-type]
