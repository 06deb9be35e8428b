"""Validation of labels, weights and the scores of one or several detectors, before any work."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import (
    RowIndex,
    as_readonly,
    as_vector,
    describe_type,
    read_numbers,
    real_vector,
    refuse_nan,
    refuse_wrong,
    set_readonly,
    two_classes_hint,
)
from fastad._core.buffers import borrow_buffer
from fastad._core.frames import converted, is_missing, refuse_missing, table_columns
from fastad._core.parameters import check_type, plain_repr, short_repr
from fastad._core.threads import slices, thread_map
from fastad._core.types import ArrayLike, BoolVector, CountVector, Label, LabelVector, ScoreVector
from fastad._kernels.ordering import keys
from fastad.errors import InvalidInputError

# Sums of whole weights stay below this, so that their sums and differences fit into int64.
_LARGEST_TOTAL = 2**62
# Real weights: products of sums of weights neither overflow nor vanish.
_LARGEST_WEIGHT = 1e100
# Rows that are drawn from are numbered with 32 bits.
_MOST_REPEATED = 2**31
# Treatment of scores that are NaN.
NAN_POLICIES = ("raise", "omit")
_UINT8 = np.dtype(np.uint8)
# Kinds of NumPy's types that have no missing value.
_NEVER_MISSING = "biuUS"
_FEW = 2**13


@dataclass(frozen=True, eq=False)  # without slots, to keep what is computed once
class Labels:
    """Labels and weights that have been checked."""

    # (n_points,): 1 for an anomaly, 0 for a normal sample; rows of weight 0 are gone.
    values: LabelVector
    n_anomalies: int  # number of rows that are anomalies
    # (n_points,): positive weights, int64 where all are integers, else float64.
    weights: CountVector | None
    # (n_points,): where rows were left out (of weight 0, or without a score): the rows that stayed.
    rows: npt.NDArray[np.int64] | None
    # The rows that the user gave, with the index that whatever is given for each row must have.
    row_index: RowIndex

    @property
    def n_rows(self) -> int:
        """Number of rows that the user gave."""
        return self.row_index.n_rows

    @property
    def class_sizes(self) -> tuple[int, int]:
        """Anomalies and normal samples: integer weights count rows, real ones do not."""
        if self.weights is None or self.weights.dtype.kind != "i":
            return self.n_anomalies, int(self.values.shape[0]) - self.n_anomalies
        n_anomalies = int(self.weights[self.values == 1].sum())
        return n_anomalies, int(self.weights.sum()) - n_anomalies

    @cached_property
    def effective_sizes(self) -> tuple[float, float]:
        """Anomalies and normals; of real weights, equal ones that say as much (Kish 1965).

        As much of a mean or an area, not of how these vary.
        """
        if self.weights is None or self.weights.dtype.kind == "i":
            return self.class_sizes
        of_classes = (self.weights[self.values == label] for label in (1, 0))
        # Sums round differently in another order of rows.
        n_anomalies, n_normals = (
            round(float(each.sum() ** 2 / (each @ each)), 6) if each.shape[0] else 0.0
            for each in of_classes
        )
        return n_anomalies, n_normals

    def keep(self, kept: BoolVector) -> "Labels":
        """Return the labels of some of the points."""
        values = self.values[kept]
        return Labels(
            set_readonly(values),
            int(values.sum()),
            None if self.weights is None else self.weights[kept],
            np.flatnonzero(kept) if self.rows is None else self.rows[kept],
            self.row_index,
        )

    def repeated(self) -> "Labels":
        """Return each point as often as its integer weight says, without weights."""
        if self.weights is None:
            return self
        total = int(self.weights.sum())
        if total >= _MOST_REPEATED:
            raise InvalidInputError(
                f"sample_weight must add up to fewer than {_MOST_REPEATED}; found {total}"
            )
        rows = np.arange(self.n_rows) if self.rows is None else self.rows
        values = np.repeat(self.values, self.weights)
        return Labels(
            set_readonly(values),
            int(values.sum()),
            None,
            np.repeat(rows, self.weights),
            self.row_index,
        )


def check_labels(
    y_true: ArrayLike, *, sample_weight: ArrayLike | None = None, pos_label: Label | None = None
) -> Labels:
    """Check labels and weights; leave out the rows of weight 0."""
    labels = as_vector(y_true, "y_true")
    if labels.dtype.kind not in _NEVER_MISSING:
        refuse_missing(is_missing(labels), "y_true")
    if labels.dtype == object and pos_label is None:
        labels = read_numbers(labels, "y_true")
    index = RowIndex(labels.shape[0])
    index.adopt(y_true, "y_true")
    if sample_weight is None:
        values, n_anomalies = _binary_labels(labels, pos_label, None)
        return Labels(values, n_anomalies, None, None, index)
    weights, rows = _weights(sample_weight, index.n_rows)
    index.check(sample_weight, "sample_weight")
    if rows is not None:
        labels, weights = labels[rows], weights[rows]
    values, n_anomalies = _binary_labels(labels, pos_label, rows)
    return Labels(values, n_anomalies, weights, rows, index)


def all_normal(n_points: int) -> Labels:
    """Return labels for measures that take none: every sample counts as normal."""
    return Labels(as_readonly(np.zeros(n_points, np.uint8)), 0, None, None, RowIndex(n_points))


def check_scores(
    y_score: ArrayLike, labels: Labels, *, name: str = "y_score", hint: str = ""
) -> ScoreVector:
    """Check that there is one real score for each label; leave out the rows of weight 0.

    NaN is detected later, by the kernel that reads the scores anyway. The hint ends the message
    about another number of scores.
    """
    scores = real_vector(y_score, name)
    if scores.shape[0] != labels.n_rows:
        raise InvalidInputError(
            f"{name} must have one score for each label; "
            f"found {scores.shape[0]} scores and {labels.n_rows} labels{hint}"
        )
    labels.row_index.check(y_score, name)
    return scores if labels.rows is None else scores[labels.rows]


def refuse_missing_scores(scores: ScoreVector, labels: Labels, name: str) -> NoReturn:
    """Raise the error on scores that are NaN; it names the functions that may leave them out."""
    is_evaluated = name.startswith("y_score")  # two samples are compared under other names
    hint = "; fastad.evaluate with nan_policy='omit' leaves such rows out" if is_evaluated else ""
    refuse_nan(scores, name, labels.rows, hint=hint)


def rows_with_score(scores: ScoreVector) -> BoolVector | None:
    """Return which scores are numbers; None where all are."""
    if scores.dtype.kind != "f" or not np.isnan(scores.max()):
        return None
    return ~np.isnan(scores)


def _binary_labels(
    labels: npt.NDArray[Any], pos_label: Label | None, rows: npt.NDArray[np.int64] | None
) -> tuple[LabelVector, int]:
    if labels.shape[0] == 0:
        raise InvalidInputError("sample_weight must be positive for some row; found only zeros")
    if pos_label is not None:
        labels = _is_positive(labels, pos_label)
    dtype = labels.dtype
    if dtype.kind not in "biuf" or dtype.itemsize > 8:
        raise InvalidInputError(
            f"y_true must contain 0 and 1 or booleans; found {describe_type(labels)}. "
            "Name the anomalies' label with pos_label= if it is another"
        )
    if dtype.char == "e" or not dtype.isnative:
        labels = labels.astype(np.float64)
    labels, values = as_readonly(labels), borrow_buffer("labels", labels.shape[0], _UINT8)
    ones, others = _count_labels(labels, values)
    if others:
        bad = (labels != 0) & (labels != 1)
        first = int(np.argmax(bad))
        row = first if rows is None else int(rows[first])
        example = ", such as scikit-learn's -1" if np.all(labels[bad] == -1) else ""
        raise InvalidInputError(
            f"y_true must contain 0 (normal) and 1 (anomaly); found {others} other "
            f"values, the first at index {row}: {labels[first]}. "
            f"Name the anomalies' label with pos_label= if it is another{example}"
        )
    return set_readonly(values), ones


def _count_labels(labels: npt.NDArray[Any], values: LabelVector) -> tuple[int, int]:
    """Write labels as 0 and 1; return how many are 1, and how many neither."""
    if labels.shape[0] < _FEW:  # where the overhead of threads would be seen
        ones, others = keys.label_counts(labels, values)
        return int(ones), int(others)
    blocks = slices(labels.shape[0])
    counts = thread_map(lambda rows: keys.label_counts(labels[rows], values[rows]), blocks)
    return sum(int(ones) for ones, _ in counts), sum(int(others) for _, others in counts)


def _is_positive(labels: npt.NDArray[Any], pos_label: Label) -> npt.NDArray[np.bool_]:
    """Select the anomalies by their label; all other rows must carry one and the same label."""
    check_type(pos_label, (bool, int, float, str, bytes, np.generic), "pos_label", "a single label")
    positive = _equal(labels, pos_label, pos_label)
    others = labels[~positive]
    if others.shape[0]:
        different = ~_equal(others, others[0], pos_label)
        if np.any(different):
            found = [plain_repr(other) for other in (others[0], others[np.argmax(different)])]
            if not np.any(positive):
                raise InvalidInputError(
                    f"pos_label must be a label of y_true, or y_true have a single label; found "
                    f"{short_repr(pos_label)} beside {' and '.join(found)}"
                )
            raise InvalidInputError(
                f"y_true must contain at most two labels, pos_label={short_repr(pos_label)} and "
                f"one other; found {' and '.join(found)} beside it"
            )
    return positive


def _equal(labels: npt.NDArray[Any], label: Any, pos_label: Label) -> npt.NDArray[np.bool_]:
    try:
        with np.errstate(over="ignore"):  # NumPy brings the label to the type of the labels
            equal = np.asarray(labels == label)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"pos_label must be comparable with y_true ({describe_type(labels)}); "
            f"found {short_repr(pos_label)}: {error}"
        ) from None
    if equal.shape != labels.shape:
        raise InvalidInputError(
            f"pos_label must be comparable with y_true ({describe_type(labels)}); "
            f"found {short_repr(pos_label)}"
        )
    return equal


def _weights(
    sample_weight: ArrayLike, n_rows: int
) -> tuple[CountVector, npt.NDArray[np.int64] | None]:
    weights = real_vector(sample_weight, "sample_weight")
    if weights.shape[0] != n_rows:
        raise InvalidInputError(
            f"sample_weight must have one weight for each label; "
            f"found {weights.shape[0]} weights and {n_rows} labels"
        )
    present = weights > 0
    rows = None if np.all(present) else np.flatnonzero(present)
    return check_weights(weights, "sample_weight"), rows


def check_weights(weights: ScoreVector, name: str) -> CountVector:
    """Return weights, or numbers of samples, as int64 where all are integers, else as float64."""
    bad = ~(weights >= 0) | np.isinf(weights)
    refuse_wrong(bad, weights, name, "be finite and not negative")
    whole = weights.dtype.kind != "f" or bool(np.all(weights == np.floor(weights)))
    with np.errstate(over="ignore"):
        total = float(np.sum(weights, dtype=np.float64))
    if whole and total < _LARGEST_TOTAL:
        return weights.astype(np.int64)
    positive = weights[weights > 0].astype(np.float64)
    if np.any((positive < 1 / _LARGEST_WEIGHT) | (positive > _LARGEST_WEIGHT)):
        raise InvalidInputError(
            f"{name} must be 0 or lie in [{1 / _LARGEST_WEIGHT:g}, {_LARGEST_WEIGHT:g}]; "
            f"found weights from {positive.min()} to {positive.max()}"
        )
    return weights.astype(np.float64)


# Anything with named columns: pandas, polars or pyarrow tables; no library is imported for them.
Table: TypeAlias = Any


def named_scores(y_score: Any, rows: RowIndex) -> list[tuple[str, ArrayLike]]:
    """Return the name and the scores of each detector in a vector, matrix, mapping or table.

    Each is checked later, some of them in threads: the index of the first one counts for all.
    """
    detectors = table_columns(y_score, "y_score")
    if detectors is None:
        detectors = _scores_in_rows(y_score, rows.n_rows)
    for name, scores in detectors:
        rows.adopt(scores, score_name(name))
    return detectors


def _scores_in_rows(y_score: Any, n_rows: int) -> list[tuple[str, ArrayLike]]:
    """Return the only detector of a vector, or one for each row of a matrix."""
    scores = converted(y_score, "y_score", "contain equally many scores for each detector")
    if scores.ndim == 1:
        return [("score", y_score)]
    if scores.ndim != 2 or scores.shape[0] == 0:
        raise InvalidInputError(
            "y_score must be a vector, an array (detectors, points), or name scores; "
            f"found shape {scores.shape}"
        )
    if scores.shape[1] != n_rows and scores.shape[0] == n_rows:
        transposed = ", which looks transposed: pass y_score.T"
        raise InvalidInputError(
            f"y_score must have one row for each detector; found shape {scores.shape} for "
            f"{n_rows} labels{two_classes_hint(scores, 'y_score') or transposed}"
        )
    # A list stays as it is: an array would make integers floats if another detector has floats.
    each = y_score if isinstance(y_score, Sequence) else scores
    return [(f"score_{i}", row) for i, row in enumerate(each)]


def score_name(detector: str, argument: str = "y_score") -> str:
    """Return how messages name the scores of a detector."""
    return argument if detector == "score" else f"{argument}[{detector!r}]"


def series_names(vectors: Sequence[Any], otherwise: Sequence[str]) -> list[str]:
    """Return the names of Series, others for what has none; all others if two are equal."""
    names = [
        default if (name := _series_name(vector)) is None else name
        for vector, default in zip(vectors, otherwise, strict=True)
    ]
    return names if len(set(names)) == len(names) else list(otherwise)


def _series_name(vector: Any) -> str | None:
    """Return the name of a Series of pandas or polars, which are not imported for it."""
    if type(vector).__module__.partition(".")[0] not in ("pandas", "polars"):
        return None
    name = getattr(vector, "name", None)
    # A polars Series without a name has an empty one; pandas' may be any hashable.
    return None if name is None or name == "" else str(name)
