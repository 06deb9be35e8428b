"""Measure how often margin tests pass detectors that are worse by exactly the margin.

The new detector's true loss is the margin: at most 5 % may pass. With a margin that is 0.05 wider
it may pass, and how often it does is the power, beside that of a test that takes the detectors as
independent. The true values are those of the distributions themselves. Cells that are given, as
"100,5000" or "100,5000,strong", are measured alone.

    python -m bench.gate [PROCESSES [CELL ...]]
"""

import sys
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtr

from bench.coverage import Cell, rows_of_cells
from bench.difference_coverage import PairFamily
from bench.families import Family, Scores
from bench.pages import EVIDENCE, fill, read_rows, table, write_rows
from fastad.errors import UndefinedMeasureError
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.uncertainty.comparisons.one_sided import paired_tests
from fastad.uncertainty.comparisons.paired import draw_replicates, rank_detectors
from fastad.uncertainty.intervals.interval_estimation import InferenceOptions
from fastad.uncertainty.samples.closed_forms import clopper_pearson
from fastad.uncertainty.samples.influence import has_influence
from fastad.uncertainty.samples.sampling import check_design

SIZES = ((20, 500), (20, 5000), (100, 500), (100, 5000), (1000, 100_000))
KEYS = ("auc", "ap", "tpr@0.01", "tpr@0.001", "precision@n")
N_SEEDS, N_RESAMPLES = 200, 199
# Of so many normal samples fewer data sets are drawn.
MANY, N_SEEDS_OF_MANY = 100_000, 100
SCALE = 100
ALPHA, WIDER = 0.05, 0.05
# Smaller losses are no loss.
LEAST_LOSS = 0.002
# Rows of a cluster, and the correlation of their scores.
CLUSTER, WITHIN = 5, 0.5
# A public gate: accuracy of so many questions, a tolerance, a true loss; and runs of its rule.
N_QUESTIONS, TOLERANCE, LOSS, N_RUNS = 1319, 0.08, 0.05, 200_000
EXPECTED = (0.7, 0.81, 0.88, 0.95)
# Margin of a limit with a bound.
NARROW = 0.03
TABLE = EVIDENCE / "gate.csv"
PAGE = EVIDENCE / "gate.md"

Labels = npt.NDArray[np.bool_]
_STUDENT = np.asarray(np.sinh(np.linspace(-18.0, 18.0, 100_001)) / 10, np.float64)
_NORMAL = np.asarray(np.arange(-90_000, 90_001) * 1e-4, np.float64)


class Pair(Protocol):
    """Scores of a new and an old detector."""

    def sample(self, rng: np.random.Generator, labels: Labels) -> Scores:
        """Draw the scores of both."""
        ...

    def distributions(self) -> list[Family]:
        """Return the distribution of each detector's scores."""
        ...


def _as_labels(rng: np.random.Generator, labels: Labels) -> Scores:
    return labels.astype(np.float64)


class HeavyTailed(NamedTuple):
    """Student's distribution with two degrees of freedom, anomalies shifted."""

    shifts: tuple[float, float]

    def sample(self, rng: np.random.Generator, labels: Labels) -> Scores:
        """Draw the scores of both, with one denominator."""
        common, *own = rng.normal(size=(3, labels.shape[0]))
        scale = np.sqrt(rng.chisquare(2, labels.shape[0]) / 2)
        noise = np.sqrt(0.5) * (common + np.array(own)) / scale
        scores: Scores = noise + np.array([self.shifts]).T * labels
        return scores

    def distributions(self) -> list[Family]:
        """Return the distribution of each detector's scores."""

        def cumulative(shift: float) -> Callable[[Scores], tuple[Scores, Scores]]:
            return lambda x: (stdtr(2, x), stdtr(2, x - shift))

        return [Family(_as_labels, _STUDENT, cumulative(shift)) for shift in self.shifts]


class MissedKind(NamedTuple):
    """The new detector misses a part of the anomalies, all of which the old one detects."""

    part: float
    mean: float

    def sample(self, rng: np.random.Generator, labels: Labels) -> Scores:
        """Draw the scores of both."""
        scores = PairFamily((self.mean, self.mean), correlation=0.7).sample(rng, labels)
        missed = labels & (rng.random(labels.shape[0]) < self.part)
        scores[0, missed] -= self.mean
        return scores

    def distributions(self) -> list[Family]:
        """Return the distribution of each detector's scores."""

        def cumulative(part: float) -> Callable[[Scores], tuple[Scores, Scores]]:
            return lambda x: (ndtr(x), part * ndtr(x) + (1 - part) * ndtr(x - self.mean))

        return [Family(_as_labels, _NORMAL, cumulative(part)) for part in (self.part, 0.0)]


FAMILIES: Mapping[str, Pair] = {
    "Gaussian": PairFamily((1.5, 1.8), correlation=0.5),
    "strong": PairFamily((3.0, 3.5), correlation=0.5),
    "crossing": PairFamily((2.0, 2.196), (1.0, 0.4)),
    "8 levels": PairFamily((1.5, 2.0), correlation=0.5, n_levels=8),
    "heavy-tailed": HeavyTailed((3.0, 4.0)),
    "20 % missed": MissedKind(0.2, 4.0),
    "5 % missed": MissedKind(0.05, 3.0),
    "1 % missed": MissedKind(0.01, 6.0),
    "in clusters": PairFamily((1.5, 1.8), correlation=0.5),
}


def in_clusters(rng: np.random.Generator, scores: Scores) -> tuple[Scores, npt.NDArray[np.int64]]:
    """Return normal scores that are correlated within clusters of rows, and their clusters."""
    clusters = rng.permutation(scores.shape[1]) // CLUSTER
    common = rng.normal(size=(1, clusters.max() + 1))[:, clusters]
    return np.sqrt(WITHIN) * common + np.sqrt(1 - WITHIN) * scores, clusters


def measure(cell: Cell) -> list[dict[str, Any]]:
    """Return how often each measure's test passes in a cell."""
    n, m, name = cell
    family = FAMILIES[name]
    labels = np.arange(n + m) < n
    populations = [
        each.population(n * SCALE, m * SCALE, whole=False) for each in family.distributions()
    ]
    rows = []
    for key in KEYS:
        bound = bind(key, {})
        values = [bound.value_or_nan(population) for population in populations]
        loss = values[1] - values[0]
        # Replicates of so many rows in clusters take an hour.
        is_long = name == "in clusters" and m >= MANY and not has_influence(bound.measure)
        if loss < LEAST_LOSS or is_long:
            continue
        counted = dict.fromkeys(("tried", "noted", "passed", "failed", "power", "independent"), 0)
        for seed in range(N_SEEDS_OF_MANY if m >= MANY else N_SEEDS):
            rng = np.random.default_rng([seed, n, m, list(FAMILIES).index(name)])
            scores, clusters = family.sample(rng, labels), None
            if name == "in clusters":
                means = np.array([[1.5], [1.8]]) * labels
                noise, clusters = in_clusters(rng, scores - means)
                scores = noise + means
            checked = check_labels(labels)
            design = check_design(clusters, None, checked.row_index, None)
            detectors = rank_detectors(
                checked, [("new", "new", scores[0]), ("old", "old", scores[1])], design
            )
            options = InferenceOptions(
                "auto", 1 - 2 * Fraction(1, 20), N_RESAMPLES, True, np.uint64(seed)
            )
            observed = [bound.value_or_nan(each.counts) for each in detectors.samples]
            counted["tried"] += 1
            try:
                tests = paired_tests(detectors, bound, options, observed)
            except UndefinedMeasureError:
                counted["noted"] += 1
                continue
            if has_influence(bound.measure):
                variances = [sample.variance(bound) for sample in detectors.samples]
            else:
                drawn = draw_replicates(detectors, bound, options)
                variances = [float(np.var(np.asarray(each))) for each in drawn]
            half = -float(ndtri(ALPHA)) * float(np.sqrt(sum(variances)))
            counted["independent"] += tests.estimate - half > -(loss + WIDER)
            if tests.note is not None:
                counted["noted"] += 1
                continue
            counted["passed"] += tests.p_above(-loss) <= ALPHA
            counted["failed"] += tests.p_below(-loss) <= ALPHA
            counted["power"] += tests.p_above(-(loss + WIDER)) <= ALPHA
        rows.append(
            {
                "key": key,
                "family": name,
                "n_anomalies": n,
                "n_normals": m,
                "loss": round(loss, 5),
                **counted,
            }
        )
    return rows


def tolerance_table() -> str:
    """Return how often the public gate's rule, and a limit with a bound, pass, by simulation."""
    rows = []
    for expected in EXPECTED:
        cells = []
        for loss in (LOSS, 0.0):
            rng = np.random.default_rng(int(1000 * expected))
            rights = rng.binomial(N_QUESTIONS, expected - loss, N_RUNS)
            cells.append(np.mean(rights / N_QUESTIONS >= expected - TOLERANCE))
            counts, times = np.unique(rights, return_counts=True)
            # What `at_least` passes.
            bounds = [clopper_pearson(k, N_QUESTIONS, 2 * ALPHA)[0] for k in counts.tolist()]
            cells.append(np.average(np.array(bounds) > expected - NARROW, weights=times))
        rows.append([f"{expected:g}", *(f"{100 * cell:.2f}" for cell in cells)])
    head = ["tolerance, loss 0.05", "bound, loss 0.05", "tolerance, no loss", "bound, no loss"]
    return table(["expected accuracy", *head], rows)


def tables() -> dict[str, str]:
    """Return the tables of the page, in percent of the data sets."""
    rows = read_rows(TABLE)

    def chosen(**values: object) -> list[dict[str, Any]]:
        return [row for row in rows if all(row[name] == str(x) for name, x in values.items())]

    def highest(group: list[dict[str, Any]], count: str) -> str:
        rates = [100 * int(row[count]) / int(row["tried"]) for row in group]
        return f"{max(rates):.1f}" if rates else "-"

    def mean(group: list[dict[str, Any]], count: str) -> str:
        rates = [100 * int(row[count]) / int(row["tried"]) for row in group]
        return f"{np.mean(rates):.0f}" if rates else "-"

    head = [f"{n}, {m}" for n, m in SIZES]

    def by(name: str, names: list[str], cell: Callable[[list[dict[str, Any]]], str]) -> str:
        return table(
            [name, *head],
            [
                [
                    f"`{each}`" if name == "key" else each,
                    *(
                        cell(chosen(**{name: each, "n_anomalies": n, "n_normals": m}))
                        for n, m in SIZES
                    ),
                ]
                for each in names
            ],
        )

    return {
        "tolerance": tolerance_table(),
        "passed": by("key", list(KEYS), lambda group: highest(group, "passed")),
        "families": by("family", list(FAMILIES), lambda group: highest(group, "passed")),
        "failed": by("key", list(KEYS), lambda group: highest(group, "failed")),
        "noted": by("key", list(KEYS), lambda group: mean(group, "noted")),
        "power": by(
            "key",
            list(KEYS),
            lambda group: f"{mean(group, 'power')} / {mean(group, 'independent')}",
        ),
    }


def main() -> None:
    """Measure all cells, or those of one size, and write the table and the page."""
    given = [each.split(",") for each in sys.argv[2:]] or [[str(n), str(m)] for n, m in SIZES]
    cells = [
        Cell(int(n), int(m), family) for n, m, *families in given for family in families or FAMILIES
    ]
    rows = read_rows(TABLE) if TABLE.exists() else []
    for cell, new in zip(cells, rows_of_cells(measure, cells), strict=True):
        of_cell = [str(cell.n_anomalies), str(cell.n_normals), cell.family]
        rows = [
            row for row in rows if [row["n_anomalies"], row["n_normals"], row["family"]] != of_cell
        ]
        rows += [{name: str(value) for name, value in row.items()} for row in new]
        write_rows(TABLE, rows)
    fill(PAGE, tables())


if __name__ == "__main__":
    main()
