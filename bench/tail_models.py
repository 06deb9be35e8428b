"""Coverage where normals are few: exact intervals, and those of a model of the tail.

    python -m bench.tail_models [repetitions]

prints the tables of docs/evidence/tail_models.md.
"""

import sys
import warnings
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

import fastad
from bench.pages import line, table
from fastad.errors import LowCoverageWarning, UndefinedMeasureError
from fastad.uncertainty import tail_model


class Mixture(NamedTuple):
    """Standard normal scores, of which a fraction is of another normal distribution."""

    rate: float
    shift: float
    spread: float

    def rvs(self, size: int, random_state: np.random.Generator) -> Any:
        far = random_state.uniform(size=size) < self.rate
        noise = random_state.normal(size=size)
        return np.where(far, self.shift + self.spread * noise, noise)

    def sf(self, x: float) -> float:
        near, far = stats.norm.sf(x), stats.norm.sf((x - self.shift) / self.spread)
        return float((1 - self.rate) * near + self.rate * far)

    def isf(self, p: float) -> float:
        low, high = -10.0, 30.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if self.sf(middle) > p else (low, middle)
        return high


FAMILIES: dict[str, Any] = {
    "normal": stats.norm(),
    "t with 3 degrees of freedom": stats.t(3),
    "lognormal": stats.lognorm(1),
    "uniform": stats.uniform(),
    # One score in 2000 is of another cluster far above.
    "mixture": Mixture(1 / 2000, 8.0, 1.0),
}
# On which nothing of the model was chosen.
HELD_OUT: dict[str, Any] = {
    "exponential": stats.expon(),
    "logistic": stats.logistic(),
    "gamma, shape 0.5": stats.gamma(0.5),
    "gamma, shape 3": stats.gamma(3),
    "Weibull, shape 0.7": stats.weibull_min(0.7),
    "Weibull, shape 2": stats.weibull_min(2),
    "t with 5 degrees of freedom": stats.t(5),
    "Pareto, shape 1.5": stats.pareto(1.5),
    "lognormal, sigma 2": stats.lognorm(2),
    "two normals, 1 % of spread 3": Mixture(0.01, 0.0, 3.0),
    "beta(2, 5)": stats.beta(2, 5),
}
N_ANOMALIES = 100


class Coverage(NamedTuple):
    """How many data sets were refused, and of the others how many intervals covered.

    Attributes
    ----------
    n_refused, n_kept : int
        Numbers of data sets.
    threshold, tpr : float
        Fractions of intervals that covered the true value.
    width : float
        Median width of those of the TPR.
    """

    n_refused: int
    n_kept: int
    threshold: float
    tpr: float
    width: float


def draw(
    family: Any, n_normals: int, fpr: float, rng: np.random.Generator
) -> tuple[Any, Any, float]:
    """Return labels and scores, and the true threshold, which half of all anomalies reach."""
    threshold = float(family.isf(fpr))
    normals = family.rvs(n_normals, random_state=rng)
    anomalies = threshold + rng.normal(size=N_ANOMALIES) * abs(threshold) / 4
    labels = np.repeat([0, 1], [n_normals, N_ANOMALIES])
    return labels, np.concatenate([normals, anomalies]), threshold


def model_coverage(name: str, n_normals: int, expected: float, n_runs: int, seed: int) -> Coverage:
    """Return the coverage of the model where so many normals are expected beyond the rate."""
    rng, fpr = np.random.default_rng([seed, n_normals]), expected / n_normals
    family = (FAMILIES | HELD_OUT)[name]
    covered, widths, n_refused = [], [], 0
    for _ in range(n_runs):
        labels, scores, threshold = draw(family, n_normals, fpr, rng)
        try:
            model = tail_model(labels, scores, fpr=fpr)
        except UndefinedMeasureError:
            n_refused += 1
            continue
        assert model.tprs is not None
        at, tpr = model.thresholds[0], model.tprs[0]
        covered.append((at.low <= threshold <= at.high, tpr.low <= 0.5 <= tpr.high))
        widths.append(tpr.high - tpr.low)
    by_value = np.mean(covered, axis=0) if covered else [np.nan, np.nan]
    width = float(np.median(widths)) if widths else np.nan
    return Coverage(n_refused, len(covered), float(by_value[0]), float(by_value[1]), width)


def plain_coverage(
    name: str, n_normals: int, expected: float, n_runs: int, seed: int
) -> tuple[float, float]:
    """Return coverage and median width of the intervals of `fastad.interval` at the rate."""
    rng, fpr = np.random.default_rng([seed, n_normals]), expected / n_normals
    covered, widths = 0, []
    for _ in range(n_runs):
        labels, scores, _ = draw(FAMILIES[name], n_normals, fpr, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LowCoverageWarning)
            interval = fastad.interval(labels, scores, measure=f"tpr@{fpr!r}", rng=0)
        covered += interval.low <= 0.5 <= interval.high
        widths.append(interval.high - interval.low)
    return covered / n_runs, float(np.median(widths))


def main() -> None:
    """Print both tables."""
    n_runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(table(["scores", "n · FPR", "coverage", "median width"], []))
    for name in FAMILIES:
        for expected in (5.0, 0.1):
            coverage, width = plain_coverage(name, 1000, expected, n_runs, seed=1)
            cells = [name, f"{expected:g}", f"{coverage:.3f}", f"{width:.2f}"]
            print(line(cells), flush=True)
    print_models(FAMILIES, (1000, 10_000, 100_000), n_runs)
    print_models(HELD_OUT, (1000, 10_000), n_runs)


def print_models(names: Iterable[str], sizes: Iterable[int], n_runs: int) -> None:
    """Print the table of the model for families and numbers of normals."""
    head = ["scores", "normals", "refused", "threshold", "TPR", "median width"]
    print("\n" + table(head, []))
    for name in names:
        for n_normals in sizes:
            x = model_coverage(name, n_normals, 0.1, n_runs, seed=2)
            numbers = (x.n_refused / n_runs, x.threshold, x.tpr)
            cells = [name, n_normals, *(f"{number:.3f}" for number in numbers), f"{x.width:.2f}"]
            print(line(cells), flush=True)


if __name__ == "__main__":
    main()
