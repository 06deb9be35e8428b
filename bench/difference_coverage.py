"""Measure how often ``compare(method="auto")`` covers the true difference of two detectors.

Both see the same samples, and their scores are correlated: equal detectors, curves that cross,
strong detectors with few anomalies, scores of few levels. The true difference is that of the
distributions themselves. A comparison that came with a note about its reliability counts apart.
A verdict is wrong if it calls equal values different, or the worse detector better. Families that
are given are measured alone.

    python -m bench.difference_coverage [PROCESSES [FAMILY ...]]
"""

import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from bench.coverage import Cell, rows_of_cells
from bench.families import Family, Scores
from bench.pages import EVIDENCE, fill, read_rows, table, write_rows
from fastad.errors import UndefinedMeasureError
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.uncertainty.comparisons.pair_comparison import compare_pairs
from fastad.uncertainty.comparisons.paired import Detectors, rank_detectors
from fastad.uncertainty.intervals.interval_estimation import InferenceOptions
from fastad.uncertainty.samples.sampling import check_design

SIZES = ((10, 1000), (30, 30), (20, 200), (20, 2000), (30, 10_000), (100, 300), (300, 300))
KEYS = ("auc", "ap", "auc@0.05", "tpr@0.05", "fpr@tpr0.95", "precision@n")
N_SEEDS, N_RESAMPLES = 300, 199
# So many times the size of a sample is its population.
SCALE = 1000
TABLE = EVIDENCE / "differences.csv"
PAGE = EVIDENCE / "differences.md"
# With so few comparisons a rate says nothing.
FEWEST = 100
# Differences that are rounding alone.
_ROUNDING = 1e-9
_NORMAL = np.asarray(np.arange(-90_000, 90_001) * 1e-4, np.float64)

Labels = npt.NDArray[np.bool_]
Distribution = Callable[[Scores], tuple[Scores, Scores]]


class PairFamily(NamedTuple):
    """Normal scores of two detectors: N(0, 1) of the normal samples, and of the anomalies these.

    Attributes
    ----------
    means, deviations : tuple of float
        Of the anomalies, for each detector.
    correlation : float
        Of the scores of both within each class.
    n_levels : int or None
        Scores are rounded to so many levels.
    """

    means: tuple[float, float]
    deviations: tuple[float, float] = (1.0, 1.0)
    correlation: float = 0.3
    n_levels: int | None = None

    def sample(self, rng: np.random.Generator, labels: Labels) -> Scores:
        """Draw the scores of both detectors."""
        common, *own = rng.normal(size=(3, labels.shape[0]))
        noise = np.sqrt(self.correlation) * common + np.sqrt(1 - self.correlation) * np.array(own)
        mean, deviation = (np.array([each]).T for each in (self.means, self.deviations))
        scores: Scores = np.where(labels, mean + deviation * noise, noise)
        if self.n_levels is None:
            return scores
        return np.searchsorted(self._edges(), scores).astype(np.float64)

    def distributions(self) -> list[Family]:
        """Return the distribution of each detector's scores."""
        grid = _NORMAL if self.n_levels is None else np.arange(self.n_levels, dtype=np.float64)
        return [
            Family(lambda _, labels: labels.astype(np.float64), grid, self._cumulative(*each))
            for each in zip(self.means, self.deviations, strict=True)
        ]

    def _edges(self) -> Scores:
        assert self.n_levels is not None
        return np.linspace(-1, 3, self.n_levels - 1, dtype=np.float64)

    def _cumulative(self, mean: float, deviation: float) -> Distribution:
        def cumulative(x: Scores) -> tuple[Scores, Scores]:
            if self.n_levels is not None:
                uppers = np.append(self._edges(), np.inf)
                x = uppers[np.minimum(np.floor(x), self.n_levels - 1).astype(np.int64, copy=False)]
            return ndtr(x), ndtr((x - mean) / deviation)

        return cumulative


FAMILIES: Mapping[str, PairFamily] = {
    "exchangeable": PairFamily((1.5, 1.5), correlation=0.5),
    # Equal TPR at an FPR of 5 %, of 1 %, and equal areas.
    "crossing at 5 %": PairFamily((1.787, 2.0), (0.4, 1.0)),
    "crossing at 1 %": PairFamily((2.196, 2.0), (0.4, 1.0)),
    "equal areas": PairFamily((2 / np.sqrt(2) * np.sqrt(1.16), 2.0), (0.4, 1.0)),
    "strong": PairFamily((3.0, 2.5), correlation=0.5),
    "very strong": PairFamily((3.5, 3.0)),
    "nearly perfect": PairFamily((4.52, 4.0), correlation=0.5),
    "5 levels": PairFamily((1.5, 2.0), n_levels=5),
    "8 levels": PairFamily((1.5, 2.0), n_levels=8),
    "perfect and strong": PairFamily((8.0, 2.5)),
    "perfect and reversed": PairFamily((8.0, -8.0)),
    "strong and reversed": PairFamily((3.0, -3.0)),
}


class Pair(Protocol):
    """Scores of two detectors on the same samples."""

    def sample(self, rng: np.random.Generator, labels: Labels) -> Scores:
        """Draw the scores of both."""
        ...

    def distributions(self) -> list[Family]:
        """Return the distribution of each detector's scores."""
        ...


def true_values(
    family: Pair, n_anomalies: int, n_normals: int, keys: Sequence[str]
) -> dict[str, tuple[float, float]]:
    """Return each measure of both detectors on a population of so many."""
    first, second = (
        each.population(n_anomalies, n_normals, whole=False) for each in family.distributions()
    )
    measures = {key: bind(key, {}) for key in keys}
    return {
        key: (bound.value_or_nan(first), bound.value_or_nan(second))
        for key, bound in measures.items()
    }


def ranked(labels: Labels, scores: Scores, names: Sequence[str], **design: Any) -> Detectors:
    """Order the scores of both detectors."""
    checked = check_labels(labels, sample_weight=design.pop("weights", None))
    options = {"clusters": None, "blocks": None, **design}
    sampling = check_design(**options, labels=checked)
    return rank_detectors(checked, list(zip(names, names, scores, strict=True)), sampling)


def by_size(
    name: str, names: Iterable[str], sizes: Sequence[tuple[int, int]], cell: Callable[..., str]
) -> str:
    """Return a table with a row for each name and a column for each size."""
    lines = [
        [
            f"`{each}`" if name == "key" else each,
            *(cell(**{name: each, "n_anomalies": str(n), "n_normals": str(m)}) for n, m in sizes),
        ]
        for each in names
    ]
    return table([name, *(f"{n}, {m}" for n, m in sizes)], lines)


def measure(cell: Cell) -> list[dict[str, Any]]:
    """Return how often each measure's true difference is missed in a cell."""
    n, m, name = cell
    family = FAMILIES[name]
    labels = np.arange(n + m) < n
    rows = []
    for key, (first, second) in true_values(family, n * SCALE, m * SCALE, KEYS).items():
        bound = bind(key, {})
        true = first - second if abs(first - second) > _equal_within(key) else 0.0
        n_tried = n_noted = n_missing = n_wrong = 0
        width = 0.0
        for seed in range(N_SEEDS):
            rng = np.random.default_rng([seed, n, m, list(FAMILIES).index(name)])
            detectors = ranked(labels, family.sample(rng, labels), ("a", "b"))
            options = InferenceOptions(
                "auto", Fraction(95, 100), N_RESAMPLES, True, np.uint64(seed)
            )
            try:
                (result,) = compare_pairs(detectors, bound, options)
            except UndefinedMeasureError:
                continue
            if result.reliability_note is not None:
                n_noted += 1
                continue
            n_tried += 1
            width += result.high - result.low
            n_missing += not result.low - _ROUNDING <= true <= result.high + _ROUNDING
            is_right = true != 0 and (result.difference > 0) == (true > 0)
            n_wrong += result.is_significant and not is_right
        rows.append(
            {
                "key": key,
                "family": name,
                "n_anomalies": n,
                "n_normals": m,
                "difference": round(true, 5),
                "noted": n_noted,
                "without_note": n_tried,
                "missing": n_missing,
                "wrong": n_wrong,
                "width": float(f"{width / n_tried:.3g}") if n_tried else "",
            }
        )
    return rows


def _equal_within(key: str) -> float:
    """Return the difference that is due to the digits of a family's means."""
    return 1e-3 if key == "tpr@0.05" else _ROUNDING


def tables() -> dict[str, str]:
    """Return the tables of the page: percents missed and wrong, the highest of the families."""
    rows = read_rows(TABLE)

    def cell(count: str, **chosen: str) -> str:
        group = [row for row in rows if all(row[name] == x for name, x in chosen.items())]
        rates = [
            100 * int(row[count]) / int(row["without_note"])
            for row in group
            if int(row["without_note"]) >= FEWEST
        ]
        noted = sum(int(row["noted"]) for row in group)
        share = 100 * noted / max(1, noted + sum(int(row["without_note"]) for row in group))
        return (f"{max(rates):.1f}" if rates else "-") + (f" ({share:.0f})" if share >= 0.5 else "")

    def by(name: str, count: str, names: Iterable[str]) -> str:
        return by_size(name, names, SIZES, partial(cell, count))

    return {
        "missing": by("key", "missing", KEYS),
        "wrong": by("key", "wrong", KEYS),
        "families": by("family", "missing", FAMILIES),
    }


def main() -> None:
    """Measure all cells, or families alone, and write the table and the page."""
    families = sys.argv[2:]
    cells = [Cell(*size, family) for size, family in itertools.product(SIZES, families or FAMILIES)]
    rows = list(itertools.chain(*rows_of_cells(measure, cells)))
    if families:
        rows += [row for row in read_rows(TABLE) if row["family"] not in families]
    write_rows(TABLE, rows)
    fill(PAGE, tables())


if __name__ == "__main__":
    main()
