"""How often the intervals of means over data sets cover the true mean: the table in the docs.

``python -m bench.comparison_coverage`` prints it, in about a minute.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bench.pages import table
from fastad.benchmarking.resampling import check_resampling

Floats = npt.NDArray[np.float64]

SIZES = (5, 12, 30, 100)
N_SAMPLES = 3000
N_RESAMPLES = 1000


def half(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Half of the values 0, the others exponential."""
    return rng.exponential(1, shape) * (rng.random(shape) < 0.5)


# What draws values, and their true mean.
KINDS: dict[str, tuple[Callable[[np.random.Generator, tuple[int, int]], Floats], float]] = {
    "normal": (lambda rng, shape: rng.normal(size=shape), 0.0),
    "exponential": (lambda rng, shape: rng.exponential(1, shape), 1.0),
    "half of them 0, the others exponential": (half, 0.5),
    "lognormal": (lambda rng, shape: rng.lognormal(size=shape), float(np.exp(0.5))),
}


def coverage(kind: str, n_datasets: int) -> float:
    """Return the fraction of samples whose interval covers the true mean."""
    draw, truth = KINDS[kind]
    rng = np.random.default_rng([n_datasets, list(KINDS).index(kind)])
    values = draw(rng, (n_datasets, N_SAMPLES))
    means = check_resampling(np.arange(n_datasets), 0.95, N_RESAMPLES, rng).means(values)
    return float(np.mean((means.low <= truth) & (truth <= means.high)))


def main() -> None:
    """Print the table."""
    rows = [[kind, *(f"{coverage(kind, n):.2f}" for n in SIZES)] for kind in KINDS]
    print(table(["values", *map(str, SIZES)], rows))


if __name__ == "__main__":
    main()
