"""Measure how often margin tests pass detectors that are worse by exactly the margin.

The new detector's true loss is the margin: at most 5 % may pass. With a margin that is 0.05 wider
it may pass, and how often it does is the power, beside that of a test that takes the detectors as
independent. The true values are those of the distributions themselves. Designs are other samples
than independent rows: in clusters, in time, with weights, with hidden anomalies, or two of them. A
test of one detector has its true value as the limit.
Cells that are given, as "100,5000" or "100,5000,strong", are measured alone.

    python -m bench.gate [PROCESSES [CELL ...]]
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter
from scipy.special import ndtr, ndtri, stdtr

from bench.coverage import Cell, rows_of_cells
from bench.difference_coverage import Pair, PairFamily, by_size, ranked, true_values
from bench.families import Family, Scores
from bench.pages import EVIDENCE, fill, read_rows, table, write_rows
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.ordering.counts import count_scores
from fastad.ordering.labels import check_labels
from fastad.uncertainty.comparisons.noninferiority import one_sided_tests
from fastad.uncertainty.comparisons.paired import Detectors, draw_replicates
from fastad.uncertainty.comparisons.unpaired import Pair as Samples
from fastad.uncertainty.comparisons.unpaired import Sample
from fastad.uncertainty.intervals.interval_estimation import InferenceOptions
from fastad.uncertainty.samples.closed_forms import clopper_pearson
from fastad.uncertainty.samples.influence import has_influence

SIZES = ((20, 500), (20, 5000), (100, 500), (100, 5000), (100, 100_000), (1000, 100_000))
SIZES_OF_DESIGNS = ((20, 500), (100, 500), (100, 5000))
SIZES_OF_ONE = ((10, 1000), (20, 500), (20, 5000), (100, 500), (100, 5000))
ONE, N_SEEDS_OF_ONE = "one detector", 1000
KEYS = ("auc", "ap", "tpr@0.01", "tpr@0.001", "precision@n")
# Fewer weighted rows have no verdict.
SIZE_WITH_WEIGHTS = (400, 4000)
N_SEEDS, N_RESAMPLES = 200, 199
# Other numbers of data sets: of most rows, and where 200 left it open.
N_SEEDS_OF_SIZE = {(1000, 100_000): 100}
N_SEEDS_OF = {
    ("auc", Cell(100, 5000, "in clusters")): 1000,
    ("ap", Cell(20, 500, "crossing")): 1000,
    ("ap", Cell(100, 500, "crossing")): 1000,
    ("tpr@0.01", Cell(100, 100_000, "Gaussian")): 1000,
    ("auc", Cell(100, 5000, "two samples")): 1000,
    ("auc", Cell(20, 500, "two samples (20 % missed)")): 1000,
    ("ap", Cell(100, 500, "in clusters")): 1000,
    ("ap", Cell(100, 5000, "in clusters")): 1000,
    **{("ap", Cell(*size, "in time")): 1000 for size in SIZES_OF_DESIGNS},
}
MANY = 100_000
COUNTS = ("tried", "noted", "passed", "failed", "power", "independent")
SCALE = 100
ALPHA, WIDER = 0.05, 0.05
# Smaller losses are no loss.
LEAST_LOSS = 0.002
# Rows of a cluster, and the correlation of their scores.
CLUSTER, WITHIN = 5, 0.5
# Fraction of anomalies among the normal samples; rows drawn for each one that is kept, and how
# likely those of low scores are.
HIDDEN = 0.02
DRAWN, SELDOM = 8, 0.3
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


GAUSSIAN = PairFamily((1.5, 1.8), correlation=0.5)
FAMILIES: Mapping[str, Pair] = {
    "Gaussian": GAUSSIAN,
    "strong": PairFamily((3.0, 3.5), correlation=0.5),
    "crossing": PairFamily((2.0, 2.196), (1.0, 0.4)),
    "8 levels": PairFamily((1.5, 2.0), correlation=0.5, n_levels=8),
    "heavy-tailed": HeavyTailed((3.0, 4.0)),
    "20 % missed": MissedKind(0.2, 4.0),
    "5 % missed": MissedKind(0.05, 3.0),
    "1 % missed": MissedKind(0.01, 6.0),
    "in clusters": GAUSSIAN,
}
DESIGNS: Mapping[str, Pair] = {
    "in clusters": GAUSSIAN,
    "in time": GAUSSIAN,
    "weighted": GAUSSIAN,
    "hidden anomalies": GAUSSIAN,
    "two samples": GAUSSIAN,
    "two samples (heavy-tailed)": FAMILIES["heavy-tailed"],
    "two samples (20 % missed)": FAMILIES["20 % missed"],
    ONE: GAUSSIAN,
    **{
        f"{ONE} ({name})": FAMILIES[name]
        for name in ("strong", "8 levels", "heavy-tailed", "20 % missed")
    },
}
ALL = {**FAMILIES, **DESIGNS}
CELLS = [Cell(*size, family) for size in SIZES for family in FAMILIES]
CELLS_OF_DESIGNS = [
    Cell(*size, design)
    for design in DESIGNS
    for size in (
        (SIZE_WITH_WEIGHTS,)
        if design == "weighted"
        else SIZES_OF_ONE
        if design.startswith(ONE)
        else SIZES_OF_DESIGNS
    )
]


def draw(name: str, rng: np.random.Generator, n: int, m: int) -> Detectors | Samples:
    """Draw n anomalies and m normal samples, scored by the new and by the old detector."""
    family, labels = ALL[name], np.arange(n + m) < n
    means = np.array([[1.5], [1.8]])
    clusters = blocks = weights = None
    if name.startswith("two samples"):
        sides = []
        for i in range(2):
            scores = family.sample(rng, labels)[i]
            checked = check_labels(labels)
            sides.append(Sample(checked, scores, count_scores(scores, checked)))
        keys = rng.integers(2**63, size=2, dtype=np.uint64)
        return Samples((sides[0], sides[1]), ("new", "old"), (keys[0], keys[1]))
    if name == "hidden anomalies":
        scores = family.sample(rng, labels | (rng.random(n + m) < HIDDEN))
    elif name == "weighted":
        # Rows that the old detector scores low are drawn less often.
        labels = np.repeat(labels, DRAWN)
        scores = family.sample(rng, labels)
        chance = np.where(scores[1] > 1, 1, SELDOM)
        is_drawn = rng.random(labels.shape[0]) < chance
        rows = np.concatenate(
            [np.flatnonzero(is_drawn & (labels == x))[:k] for x, k in ((True, n), (False, m))]
        )
        labels, scores, weights = labels[rows], scores[:, rows], 1 / chance[rows]
    elif name == "in time":
        # Anomalies last for some rows, and both detectors' noise is autoregressive.
        blocks = "auto"
        labels = np.repeat(rng.permutation(labels[::CLUSTER]), CLUSTER)
        noise = family.sample(rng, np.zeros_like(labels))
        noise = lfilter([np.sqrt(1 - WITHIN**2)], [1, -WITHIN], noise)
        scores = noise + means * labels
    else:
        scores = family.sample(rng, labels)
    if name == "in clusters":
        noise, clusters = in_clusters(rng, scores - means * labels)
        scores = noise + means * labels
    n_detectors = 1 if name.startswith(ONE) else 2
    names = ("new", "old")[:n_detectors]
    design = {"clusters": clusters, "blocks": blocks, "weights": weights}
    return ranked(labels, scores[:n_detectors], names, **design)


def in_clusters(rng: np.random.Generator, scores: Scores) -> tuple[Scores, npt.NDArray[np.int64]]:
    """Return normal scores that are correlated within clusters of rows, and their clusters."""
    clusters = rng.permutation(scores.shape[1]) // CLUSTER
    common = rng.normal(size=(1, clusters.max() + 1))[:, clusters]
    return np.sqrt(WITHIN) * common + np.sqrt(1 - WITHIN) * scores, clusters


def measure(cell: Cell) -> list[dict[str, Any]]:
    """Return how often each measure's test passes in a cell."""
    n, m, name = cell
    hidden = HIDDEN if name == "hidden anomalies" else 0
    n_hidden = round(m * hidden)
    values = true_values(ALL[name], (n + n_hidden) * SCALE, (m - n_hidden) * SCALE, KEYS)
    counted: dict[str, dict[str, Any]] = {}
    for key, (new, old) in values.items():
        # Replicates of so many rows in clusters take an hour.
        is_long = name == "in clusters" and m >= MANY and not has_influence(bind(key, {}).measure)
        loss = -new if name.startswith(ONE) else old - new
        if (name.startswith(ONE) or loss >= LEAST_LOSS) and not is_long:
            counted[key] = {"loss": loss, **dict.fromkeys(COUNTS, 0)}
    usual = N_SEEDS_OF_ONE if name.startswith(ONE) else N_SEEDS_OF_SIZE.get((n, m), N_SEEDS)
    n_seeds = {key: N_SEEDS_OF.get((key, cell), usual) for key in counted}
    for seed in range(max(n_seeds.values(), default=0)):
        rng = np.random.default_rng([seed, n, m, list(ALL).index(name)])
        samples = draw(name, rng, n, m)
        options = InferenceOptions(
            "auto", 1 - 2 * Fraction(1, 20), N_RESAMPLES, True, np.uint64(seed)
        )
        for key, of_key in counted.items():
            if seed >= n_seeds[key]:
                continue
            bound, loss = bind(key, {}), of_key["loss"]
            of_key["tried"] += 1
            try:
                _, _, tests = one_sided_tests(samples, bound, options, hidden)
            except (InvalidInputError, UndefinedMeasureError):
                of_key["noted"] += 1
                continue
            if name in FAMILIES and isinstance(samples, Detectors):
                variances = [
                    sample.variance(bound)
                    if has_influence(bound.measure)
                    else float(np.var(np.asarray(drawn)))
                    for sample, drawn in zip(
                        samples.samples, _replicates(samples, bound, options), strict=True
                    )
                ]
                half = -float(ndtri(ALPHA)) * float(np.sqrt(sum(variances)))
                of_key["independent"] += tests.estimate - half > -(loss + WIDER)
            if tests.note is not None:
                of_key["noted"] += 1
                continue
            # Where p-values are at most alpha, the bounds exclude the margin.
            low, high = tests.ends
            of_key["passed"] += low > -loss
            of_key["failed"] += high < -loss
            of_key["power"] += low > -(loss + WIDER)
    sizes = {"n_anomalies": n, "n_normals": m}
    unknown = {} if name in FAMILIES else {"independent": ""}
    return [
        {
            "key": key,
            "family": name,
            **sizes,
            **of_key,
            "loss": round(abs(of_key["loss"]), 5),
            **unknown,
        }
        for key, of_key in counted.items()
    ]


def _replicates(
    detectors: Detectors, bound: BoundMeasure, options: InferenceOptions
) -> Sequence[Scores | None]:
    """Return each detector's replicates; none of a measure that has a variance without them."""
    return (
        [None, None] if has_influence(bound.measure) else draw_replicates(detectors, bound, options)
    )


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
    of_families = [row for row in rows if row["family"] in FAMILIES]

    def rates(count: str, among: list[dict[str, str]], **values: object) -> list[float]:
        chosen = [row for row in among if all(row[name] == str(x) for name, x in values.items())]
        return [100 * int(row[count]) / int(row["tried"]) for row in chosen]

    def highest(count: str, **values: object) -> str:
        found = rates(count, of_families, **values)
        return f"{max(found):.1f}" if found else "-"

    def mean(count: str, **values: object) -> str:
        found = rates(count, of_families, **values)
        return f"{np.mean(found):.0f}" if found else "-"

    def of_design(**values: object) -> str:
        passed, failed, noted = (rates(x, rows, **values) for x in ("passed", "failed", "noted"))
        if not passed:
            return "-"
        return f"{passed[0]:.1f} / {failed[0]:.1f}" + f" ({noted[0]:.0f})" * (noted[0] >= 0.5)

    def by_cell(cells: Sequence[Cell]) -> str:
        return table(
            ["design", "anomalies, normals", *(f"`{key}`" for key in KEYS)],
            [
                [
                    name,
                    f"{n}, {m}",
                    *(of_design(family=name, n_anomalies=n, n_normals=m, key=key) for key in KEYS),
                ]
                for n, m, name in cells
            ],
        )

    return {
        "tolerance": tolerance_table(),
        "passed": by_size("key", KEYS, SIZES, partial(highest, "passed")),
        "families": by_size("family", FAMILIES, SIZES, partial(highest, "passed")),
        "failed": by_size("key", KEYS, SIZES, partial(highest, "failed")),
        "noted": by_size("key", KEYS, SIZES, partial(mean, "noted")),
        "power": by_size(
            "key", KEYS, SIZES, lambda **x: f"{mean('power', **x)} / {mean('independent', **x)}"
        ),
        "designs": by_cell([each for each in CELLS_OF_DESIGNS if not each.family.startswith(ONE)]),
        "one": by_cell([each for each in CELLS_OF_DESIGNS if each.family.startswith(ONE)]),
    }


def main() -> None:
    """Measure all cells, or those of one size, and write the table and the page."""
    given = [each.split(",") for each in sys.argv[2:]]
    cells = [
        Cell(int(n), int(m), family) for n, m, *families in given for family in families or FAMILIES
    ] or list(dict.fromkeys([*CELLS, *CELLS_OF_DESIGNS]))
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
