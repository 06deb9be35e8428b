"""``design`` and ``draw``: how probable it is that a row is labelled, and what that gains."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastad._core.arrays import set_all_readonly, set_readonly
from fastad._core.parameters import check_count, check_inside, check_type
from fastad._core.random import numbered_generator, random_key
from fastad._core.results import Column, ShortRepr, TableResult, plain_rows
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import level_text
from fastad._core.types import FloatVector, Point, ScoreVector
from fastad.errors import InvalidInputError
from fastad.labeling.drawn_rows import DrawnRows, check_file, check_rounds, read_drawn
from fastad.labeling.score_orders import ScoreOrder, check_all_scores, digest_of
from fastad.labeling.targets import BoundTarget, Targets, check_targets
from fastad.labeling.working_model import Cells, WorkingModel
from fastad.ordering.counts import OrderedCounts
from fastad.uncertainty.samples.closed_forms import normal_quantile

# Part of the labels that is drawn uniformly, whatever the working model says.
FLOOR = 0.1
# The gradient in most rows that tells so, relative to the largest one.
_RESTS_ON = 0.01
_TINY, _ROUNDING = 1e-300, 1e-12
# Steps of the sizes, the fourth of which gains less than a thousandth.
_STEPS = 4


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LabelingDesign(ShortRepr, TableResult):
    """The probability with which each row is labelled, and the expected gain.

    Its table has a row for each target: the value and the half-width of its interval that the
    working model expects, the half-width of as many labels that are drawn uniformly, and how many
    of those would have the same variance.

    Attributes
    ----------
    targets : list of str
        Targets, as `estimate` takes them.
    budget : int
        Number of rows to label.
    probability : numpy.ndarray of shape (n_rows,)
        Probability of each row; 0 for those that have labels, which add up to the budget.
    value, half_width, uniform_half_width : list of float
        Of each target; intervals lie within the range of their measure.
    uniform_labels : list of float
        Labels that uniform sampling needs for the same variance.
    confidence_level : float
        Level of the intervals.
    round : int
        1, or the number of rounds that have labels and one more.
    """

    targets: list[str]
    budget: int
    probability: FloatVector
    value: list[float]
    half_width: list[float]
    uniform_half_width: list[float]
    uniform_labels: list[float]
    confidence_level: float
    round: int
    _sizes: FloatVector = field(repr=False)
    _scores: Mapping[str, ScoreVector] = field(repr=False)

    @property
    def gain(self) -> list[float]:
        """How many times as many labels uniform sampling needs for the same variance, by target."""
        return [n / self.budget for n in self.uniform_labels]

    def _declare_columns(self) -> Iterable[Column]:
        yield Column("target", self.targets, str)
        yield Column("value", self.value, ".4g")
        yield Column("half_width", self.half_width, ".3g", "±")
        yield Column("uniform_half_width", self.uniform_half_width, ".3g", "± uniform")
        yield Column("uniform_labels", self.uniform_labels, ".0f", "labels uniform")
        yield Column("gain", self.gain, ".1f", "times fewer")

    def _content(self) -> Mapping[str, Any]:
        return {"rows": plain_rows(self.to_columns()), "notes": self.notes}

    @property
    def notes(self) -> Sequence[str]:
        """What the table supposes."""
        return [
            f"{self.budget} of {self.probability.shape[0]} rows, half-widths at "
            f"{level_text(self.confidence_level)}, as the working model expects"
        ]


def design(
    scores: Any,
    *,
    budget: int,
    target: Targets,
    prevalence: Point = 0.01,
    auc: Point = 0.9,
    labeled: DrawnRows | Sequence[DrawnRows] = (),
    confidence_level: Point = 0.95,
) -> LabelingDesign:
    """Choose with which probability each row is to be labelled.

    A measure of estimated labels is wrong by the sum, to first order, of the error of each row's
    label times the row's gradient. The variance is the smallest where the probability of a row is
    proportional to its gradient and to the standard deviation of its label under a working model
    (Neyman 1934); several targets share the labels so that the product of their variances is the
    smallest. Where the model is wrong, intervals are wider, not
    invalid: a part of the labels is drawn uniformly.

    Parameters
    ----------
    scores : array-like of shape (n_rows,), or mapping or table of such
        Scores of all rows, by detector; higher is more anomalous.
    budget : int
        Number of rows to label.
    target : str or sequence of str
        What the labels are to determine: ``"tpr@0.01"`` of the only detector, or the difference of
        the only two; ``"tpr@0.01 a"``, ``"auc a vs b"``; ``"missed@threshold2.5 a"``, how many
        anomalies a threshold misses. Any measure with influence functions, at a threshold, or at
        an FPR, a TPR or a number of flagged rows.
    prevalence : float, default 0.01
        Expected fraction of anomalies. Like ``auc`` it is a guess, on which the gain depends, not
        the validity; labels replace both.
    auc : float, default 0.9
        Expected area under the ROC curve of each detector, in (0, 1).
    labeled : DrawnRows or sequence of them, optional
        Earlier rounds with all their labels: the design is for another round, which they improve.
    confidence_level : float, default 0.95
        Level of the intervals whose half-widths are expected.

    Returns
    -------
    LabelingDesign
        Probabilities, and a table of what they gain. O(n) beside the cells of similar scores.

    Raises
    ------
    InvalidInputError
        If the budget exceeds the number of rows without a label.

    References
    ----------
    .. [1] J. Neyman, "On the two different aspects of the representative method", 1934.
    .. [2] C.-E. Särndal, B. Swensson and J. Wretman, "Model Assisted Survey Sampling", 1992.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> scores = np.random.default_rng(0).normal(size=100_000)
    >>> plan = fastad.labeling.design(scores, budget=2000, target="tpr@0.01", prevalence=0.001)
    >>> plan.gain[0] > 3
    True
    """
    checked = check_all_scores(scores)
    targets = check_targets(target, list(checked))
    n_labels = check_count(budget, "budget")
    guess = float(check_inside(prevalence, "prevalence")), float(check_inside(auc, "auc"))
    level = check_inside(confidence_level, "confidence_level")
    rounds = check_rounds(labeled, checked, complete=True)
    n_rows = len(next(iter(checked.values())))
    known = np.concatenate([each.row for each in rounds] or [np.empty(0, np.int64)])
    if n_labels > n_rows - known.shape[0]:
        raise InvalidInputError(
            f"budget must be at most the number of rows without a label, "
            f"{n_rows - known.shape[0]}; found {n_labels}"
        )
    limits: dict[str, list[float]] = {}
    for each in targets:
        for name in each.detectors if "threshold" in each.bound.parameters else ():
            limits.setdefault(name, []).append(float(each.bound.parameters["threshold"]))
    cells = Cells.of(checked, limits)
    model = WorkingModel.prior(cells, *guess)
    unknown = cells.sizes
    anomalies: FloatVector = np.zeros(unknown.shape[0])
    if rounds:
        labels = np.concatenate([each.label for each in rounds])
        cell = cells.row_cell[known]
        model = model.fitted(cells.features[cell], labels)
        unknown = unknown - np.bincount(cell, minlength=unknown.shape[0])
        anomalies = anomalies + np.bincount(cell, labels, unknown.shape[0])
    expected = _expected_variances(cells, targets, model, unknown, anomalies)
    sizes = _sizes(unknown, targets, expected, n_labels)
    n_unknown = float(unknown.sum())
    p = np.minimum(sizes, 1.0)
    variances = [each.of(unknown * (1 - p) / p) for each in expected]
    uniform = [each.of(unknown * (n_unknown / n_labels - 1)) for each in expected]
    counts = _counts(cells, anomalies + unknown * model.probabilities(cells)[0])
    values = [each.value(counts) for each in targets]
    quantile = normal_quantile(float(1 - level))

    def half_widths(of_labels: Sequence[float]) -> list[float]:
        rows = zip(targets, values, map(math.sqrt, of_labels), strict=True)
        return [_half_width(*row, quantile) for row in rows]

    row_sizes = sizes[cells.row_cell]
    row_sizes[known] = 0.0
    return LabelingDesign(
        targets=[each.name for each in targets],
        budget=n_labels,
        probability=set_readonly(np.minimum(row_sizes, 1.0)),
        value=values,
        half_width=half_widths(variances),
        uniform_half_width=half_widths(uniform),
        # Where no label changes the target, as few do.
        uniform_labels=[
            n_unknown / (1 + each.odds(unknown, variance)) if of_uniform else float(n_labels)
            for each, variance, of_uniform in zip(expected, variances, uniform, strict=True)
        ],
        confidence_level=float(level),
        round=len(rounds) + 1,
        _sizes=set_readonly(row_sizes),
        _scores=checked,
    )


def _half_width(target: BoundTarget, value: float, error: float, quantile: float) -> float:
    """Return half the width of the interval that an estimate would have, within the range."""
    low, high = target.ends_of(value, error)(value, quantile * error, target.bounds)
    return (high - low) / 2


@suggests_arguments
def draw(
    design: LabelingDesign,
    *,
    path: str | Path | None = None,
    rng: int | np.random.Generator | None = None,
) -> DrawnRows:
    """Draw the rows to label, and save them.

    Parameters
    ----------
    design : LabelingDesign
        Probabilities of the rows.
    path : str or path, optional
        File to save the rows to, completely or not at all: .csv, .parquet, .arrow or .feather. If
        it has rows that were drawn by the same design, these are returned, with their labels,
        and none are drawn.
    rng : int, numpy.random.Generator or None
        Seed, or source of one.

    Returns
    -------
    DrawnRows
        As many rows as the budget has, none of which has been drawn in an earlier round.

    Raises
    ------
    InvalidInputError
        If the file has other rows.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> scores = np.random.default_rng(0).normal(size=1000)
    >>> plan = fastad.labeling.design(scores, budget=50, target="tpr@0.01")
    >>> drawn = fastad.labeling.draw(plan, rng=0)
    >>> drawn.row.shape
    (50,)
    """
    check_type(design, LabelingDesign, "design", "a LabelingDesign")
    file = None if path is None else check_file(path)
    if file is not None and file.exists():
        return _resumed(design, file)
    generator = numbered_generator(random_key(rng), design.round)
    sizes = design._sizes
    with np.errstate(divide="ignore"):
        # Rows with a label have the size 0, and are drawn last.
        priority = (1 - generator.random(sizes.shape[0])) / sizes
    n = design.budget
    order = np.argpartition(priority, n - 1)
    row = order[:n][np.argsort(priority[order[:n]])]
    limit = float(np.min(priority[order[n:]], initial=np.inf))
    if limit == np.inf:  # no row is left: each was certain
        limit = 2 * float(np.max(1 / sizes[row]))
    size = sizes[row] * limit
    result = DrawnRows(
        row,
        np.full(n, np.nan),
        size,
        priority[row] / limit,
        float(np.min(sizes, where=sizes > 0, initial=np.inf)) * limit,
        design.round,
        digest_of(design._scores, row),
        {name: set_readonly(values[row]) for name, values in design._scores.items()},
    )
    set_all_readonly(row, result.label, size, result.priority)
    if file is not None:
        try:
            result._write(file, is_new=True)
        except FileExistsError:  # another process was faster
            return _resumed(design, file)
    return result


def _resumed(design: LabelingDesign, path: Path) -> DrawnRows:
    """Return the rows of a file that were drawn by a design."""
    drawn = read_drawn(path)
    n, digest = drawn.row.shape[0], digest_of(design._scores, drawn.row)
    if (drawn.population, drawn.round, n) == (digest, design.round, design.budget):
        sizes = design._sizes[drawn.row]
        # Both have units of their own.
        if np.allclose(drawn.size * sizes[0], sizes * drawn.size[0], atol=0):
            return drawn
    raise InvalidInputError(
        f"path must be a new file, or one of this design; found in {path} round {drawn.round} of "
        f"another, with {n} rows"
    )


def _counts(cells: Cells, anomalous: FloatVector) -> dict[str, OrderedCounts]:
    """Return the counts of each detector in its bins."""
    counts = {}
    for name, bins in cells.bins.items():
        lowest = cells.lowest[name]
        anomalies, sizes = (
            np.bincount(bins, each, lowest.shape[0]).astype(np.float64)
            for each in (anomalous, cells.sizes)
        )
        counts[name] = ScoreOrder.of(lowest).counts(anomalies, sizes)
    return counts


class _Expected(NamedTuple):
    """Variances that rows of each cell add: to a target, and to the number of anomalies.

    The latter as a fraction of its square; 0 where the target does not rest on it. A quotient by a
    number that is badly known scatters by both, and by their product.
    """

    of_target: FloatVector
    of_number: FloatVector

    def of(self, rows: FloatVector) -> float:
        """Return the variance where rows of each cell count so many times."""
        return float(rows @ self.of_target * (1 + rows @ self.of_number))

    def odds(self, rows: FloatVector, variance: float) -> float:
        """Return how many times all rows count in a variance."""
        first = float(rows @ self.of_target)
        second = 4 * float(rows @ self.of_number) * variance
        return 2 * variance / max(first + math.sqrt(first**2 + first * second), _TINY)


def _expected_variances(
    cells: Cells,
    targets: Sequence[BoundTarget],
    model: WorkingModel,
    unknown: FloatVector,
    anomalies: FloatVector,
) -> list[_Expected]:
    """Return the variances of each target, as means over the models.

    Of one model, rows on which detectors agree would have none, and the threshold one place.
    """
    # Bins rise, and points fall.
    points = {name: cells.lowest[name].shape[0] - 1 - bins for name, bins in cells.bins.items()}
    bulk = int(np.argmax(unknown))
    of_targets = [np.zeros(unknown.shape[0]) for _ in targets]
    of_number, rests_on_number = np.zeros(unknown.shape[0]), [False] * len(targets)
    probabilities = model.probabilities(cells)
    for p in probabilities:
        counts = _counts(cells, anomalies + unknown * p)
        variance = p * (1 - p) / len(probabilities)
        of_number += variance / float(anomalies.sum() + unknown @ p) ** 2
        for i, target in enumerate(targets):
            slope = np.abs(target.gradient(counts, points))
            of_targets[i] += variance * slope**2
            rests_on_number[i] |= bool(slope[bulk] > _RESTS_ON * slope.max())
    return [
        _Expected(variance, of_number * (rests and not target.is_missed))
        for target, variance, rests in zip(targets, of_targets, rests_on_number, strict=True)
    ]


def _sizes(
    unknown: FloatVector,
    targets: Sequence[BoundTarget],
    expected: Sequence[_Expected],
    n_labels: int,
) -> FloatVector:
    """Return the sizes of rows by which the product of the targets' variances is the smallest.

    Its logarithm is below its tangent in the variances, which has the smallest value where squares
    of probabilities are proportional to what rows add to it (Neyman 1934): step by step.
    """
    even = np.full(unknown.shape, 1 / float(unknown.sum()))
    sizes = _scaled(even, unknown, n_labels)
    for _ in range(_STEPS):
        rows = unknown * (1 / np.minimum(sizes, 1.0) - 1)
        squares = np.zeros(unknown.shape[0])
        for target, (of_target, of_number) in zip(targets, expected, strict=True):
            # A bound on what is missed must not rest on the model.
            variance = even if target.is_missed else of_target
            squares += variance / max(float(rows @ variance), _TINY)
            squares += of_number / (1 + float(rows @ of_number))
        wanted = np.sqrt(squares)
        total = float(unknown @ wanted)
        # Where no label changes a target, as of scores that are all equal, rows are alike.
        if not 0 < total < math.inf:
            break
        sizes = _scaled((1 - FLOOR) / total * wanted + FLOOR * even, unknown, n_labels)
    return sizes


def _scaled(sizes: FloatVector, unknown: FloatVector, n_labels: int) -> FloatVector:
    """Return sizes so scaled that probabilities, at most 1, add up to a number of labels."""
    falling = np.argsort(-sizes)
    rows, parts = unknown[falling], (unknown * sizes)[falling]
    # What is left, of labels and of sizes, where rows of larger ones are certain.
    left = n_labels - np.cumsum(rows) + rows
    factors = left / np.maximum(np.cumsum(parts[::-1])[::-1], _TINY)
    is_possible = factors * sizes[falling] <= 1 + _ROUNDING
    return sizes * float(factors[np.argmax(is_possible)])
