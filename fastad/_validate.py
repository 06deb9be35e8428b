"""The door for data: labels, weights and scores are checked here, before any work."""

from collections.abc import Sequence
from numbers import Real
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from fastad._arguments import shown
from fastad._frames import as_array
from fastad._kernels import keys
from fastad._scratch import take
from fastad._threads import slices, thread_map
from fastad._types import CountVector, Label, LabelVector, ScoreVector
from fastad.errors import InvalidInputError

# Sums of whole weights stay below this, so that their sums and differences fit into int64.
_LARGEST_TOTAL = 2**62
# Real weights: products of sums of weights neither overflow nor vanish.
_LARGEST_WEIGHT = 1e100


class Labels(NamedTuple):
    """Labels and weights that have passed the door.

    Attributes
    ----------
    values : numpy.ndarray of shape (n_points,)
        1 for an anomaly, 0 for a normal point; rows of weight 0 are gone.
    n_anomalies : int
        Number of rows that are anomalies.
    weights : numpy.ndarray of shape (n_points,) or None
        Positive weights, int64 where all are whole numbers, else float64.
    rows : numpy.ndarray of shape (n_points,) or None
        Where rows of weight 0 were left out: the rows that stayed.
    n_rows : int
        Number of rows that the user gave.
    """

    values: LabelVector
    n_anomalies: int
    weights: CountVector | None
    rows: npt.NDArray[np.int64] | None
    n_rows: int


def check_labels(
    y_true: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    pos_label: Label | None = None,
) -> Labels:
    """Check labels and weights; leave out the rows of weight 0."""
    labels = _vector(y_true, "y_true")
    n_rows = labels.shape[0]
    if sample_weight is None:
        values, n_anomalies = _binary_labels(labels, pos_label, None)
        return Labels(values, n_anomalies, None, None, n_rows)
    weights, rows = _weights(sample_weight, n_rows)
    if rows is not None:
        labels, weights = labels[rows], weights[rows]
    values, n_anomalies = _binary_labels(labels, pos_label, rows)
    return Labels(values, n_anomalies, weights, rows, n_rows)


def all_normal(n_points: int) -> Labels:
    """Labels for questions that do not ask for labels: every point counts as normal."""
    return Labels(fixed(np.zeros(n_points, np.uint8)), 0, None, None, n_points)


def check_scores(y_score: npt.ArrayLike, labels: Labels, *, name: str = "y_score") -> ScoreVector:
    """Check that there is one real score for each label; leave out the rows of weight 0.

    NaN is found later, by the kernel that reads the scores anyway.
    """
    scores = real_vector(y_score, name)
    if scores.shape[0] != labels.n_rows:
        raise InvalidInputError(
            f"{name} must have one score for each label; "
            f"found {scores.shape[0]} scores and {labels.n_rows} labels"
        )
    return scores if labels.rows is None else scores[labels.rows]


def real_vector(values: npt.ArrayLike, name: str) -> ScoreVector:
    """Check that an argument is a vector of booleans, integers or floats of a native type."""
    vector = _vector(values, name)
    kind = vector.dtype.kind
    if kind not in "biuf" or vector.dtype.itemsize > 8:
        raise InvalidInputError(
            f"{name} must hold booleans, integers or floats of at most 64 bits; "
            f"found {_describe_type(vector)}"
        )
    if isinstance(values, list | tuple) and kind == "f" and np.max(np.abs(vector)) >= 2.0**53:
        _refuse_merged(values, name)
    return vector.astype(vector.dtype.newbyteorder("="), copy=False)


def _refuse_merged(values: Sequence[Any], name: str) -> None:
    """Refuse whole numbers that NumPy has made floats, because no integer type holds them all."""
    for i, value in enumerate(values):
        if isinstance(value, int) and int(float(value)) != value:
            raise InvalidInputError(
                f"{name} must not mix whole numbers that no one type holds; found {value} at "
                f"index {i}, which a float would round. Give an array of int64 or uint64"
            )


def check_no_nan(scores: ScoreVector, name: str, rows: npt.NDArray[np.int64] | None = None) -> None:
    """Check scores for NaN, where no kernel that reads them says so; they may be none at all."""
    if scores.shape[0] and scores.dtype.kind == "f" and np.isnan(scores.max()):
        refuse_nan(scores, name, rows)


def refuse_nan(scores: ScoreVector, name: str, rows: npt.NDArray[np.int64] | None) -> NoReturn:
    """Raise the error that says how many scores are NaN and where the first one is."""
    bad = np.isnan(scores)
    first = int(np.argmax(bad))
    raise InvalidInputError(
        f"{name} must not contain NaN; found {np.count_nonzero(bad)}, "
        f"the first at index {first if rows is None else int(rows[first])}"
    )


def fixed(vector: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a contiguous read-only view (a copy if strided): one compiled signature a type."""
    view: npt.NDArray[Any] = np.ascontiguousarray(vector).view()
    view.flags.writeable = False
    return view


def frozen(vector: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Make an array read-only that is contiguous and that nobody else writes to."""
    vector.flags.writeable = False
    return vector


def _vector(values: npt.ArrayLike, name: str) -> npt.NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise InvalidInputError(
            f"{name} must not be a masked array, whose mask would be lost; "
            "leave out the masked rows"
        )
    vector = as_array(values, name)
    if vector.ndim != 1:
        raise InvalidInputError(f"{name} must be one-dimensional; found shape {vector.shape}")
    if vector.shape[0] == 0:
        raise InvalidInputError(f"{name} must not be empty; found 0 values")
    return vector


def _binary_labels(
    labels: npt.NDArray[Any], pos_label: Label | None, rows: npt.NDArray[np.int64] | None
) -> tuple[LabelVector, int]:
    if labels.shape[0] == 0:
        raise InvalidInputError("sample_weight must be positive for some row; found only zeros")
    if pos_label is not None:
        labels = _is_positive(labels, pos_label)
    if labels.dtype.kind not in "biuf" or labels.dtype.itemsize > 8:
        raise InvalidInputError(
            f"y_true must hold 0 and 1 or booleans; found {_describe_type(labels)}. "
            "Name the anomalies' label with pos_label= if it is another"
        )
    if labels.dtype == np.float16 or not labels.dtype.isnative:
        labels = labels.astype(np.float64)
    labels, values = fixed(labels), take("labels", labels.shape[0], np.uint8)

    def count(rows: slice) -> tuple[int, int]:
        counted: tuple[int, int] = keys.label_counts(labels[rows], values[rows])
        return counted

    ones = others = 0
    for found, odd in thread_map(count, slices(labels.shape[0])):
        ones += found
        others += odd
    if others:
        bad = (labels != 0) & (labels != 1)
        first = int(np.argmax(bad))
        row = first if rows is None else int(rows[first])
        raise InvalidInputError(
            f"y_true must hold 0 (normal) and 1 (anomaly); found {others} other "
            f"values, the first at index {row}: {labels[first]}. "
            "Name the anomalies' label with pos_label= if it is another"
        )
    return frozen(values), int(ones)


def _is_positive(labels: npt.NDArray[Any], pos_label: Label) -> npt.NDArray[np.bool_]:
    """Tell the anomalies by their label; all other rows must carry one and the same label."""
    if not isinstance(pos_label, bool | int | float | str | bytes | np.generic):
        raise TypeError(f"pos_label must be a single label; found {type(pos_label).__name__}")
    positive = _equal(labels, pos_label, pos_label)
    others = labels[~positive]
    if others.shape[0]:
        different = ~_equal(others, others[0], pos_label)
        if np.any(different):
            raise InvalidInputError(
                f"y_true must hold at most two labels, pos_label={shown(pos_label)} and one other; "
                f"found {_plain(others[0])} and {_plain(others[np.argmax(different)])} beside it"
            )
    return positive


def _equal(labels: npt.NDArray[Any], label: Any, pos_label: Label) -> npt.NDArray[np.bool_]:
    try:
        with np.errstate(over="ignore"):  # NumPy brings the label to the type of the labels
            equal = np.asarray(labels == label)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"pos_label must be comparable with y_true ({_describe_type(labels)}); "
            f"found {shown(pos_label)}: {error}"
        ) from None
    if equal.shape != labels.shape:
        raise InvalidInputError(
            f"pos_label must be comparable with y_true ({_describe_type(labels)}); "
            f"found {shown(pos_label)}"
        )
    return equal


def _plain(label: Any) -> str:
    return shown(label.item() if isinstance(label, np.generic) else label)


def _weights(
    sample_weight: npt.ArrayLike, n_rows: int
) -> tuple[CountVector, npt.NDArray[np.int64] | None]:
    weights = real_vector(sample_weight, "sample_weight")
    if weights.shape[0] != n_rows:
        raise InvalidInputError(
            f"sample_weight must have one weight for each label; "
            f"found {weights.shape[0]} weights and {n_rows} labels"
        )
    bad = ~(weights >= 0) | np.isinf(weights)
    if np.any(bad):
        first = int(np.argmax(bad))
        raise InvalidInputError(
            f"sample_weight must be finite and not negative; found {np.count_nonzero(bad)} "
            f"other values, the first at index {first}: {weights[first]}"
        )
    present = weights > 0
    rows = None if np.all(present) else np.flatnonzero(present)
    whole = weights.dtype.kind != "f" or bool(np.all(weights == np.floor(weights)))
    with np.errstate(over="ignore"):
        total = float(np.sum(weights, dtype=np.float64))
    if whole and total < _LARGEST_TOTAL:
        return weights.astype(np.int64), rows
    positive = weights[present].astype(np.float64)
    if np.any((positive < 1 / _LARGEST_WEIGHT) | (positive > _LARGEST_WEIGHT)):
        raise InvalidInputError(
            f"sample_weight must be 0 or lie in [{1 / _LARGEST_WEIGHT:g}, {_LARGEST_WEIGHT:g}]; "
            f"found weights from {positive.min()} to {positive.max()}"
        )
    return weights.astype(np.float64), rows


def _describe_type(vector: npt.NDArray[Any]) -> str:
    kinds = {"c": "complex numbers", "U": "text", "S": "bytes", "M": "dates", "m": "durations"}
    if vector.dtype.kind == "O":
        example = next((x for x in vector if not isinstance(x, Real)), vector[0])
        return f"objects such as {shown(example)}"
    return f"{kinds.get(vector.dtype.kind, 'type')} ({vector.dtype})"
