"""``Box``: where points are drawn."""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import mul
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly, check_rows, refuse_wrong
from fastad._core.floats import exp
from fastad._core.frames import as_array
from fastad._core.parameters import exact_number, short_repr
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector, Point
from fastad._kernels.geometry import draws as kernels
from fastad.detectors.scorer import check_samples
from fastad.errors import InvalidInputError, InvalidTypeError

if TYPE_CHECKING:
    from typing_extensions import Self

# Widths below this lose digits when they are divided into 2**53 parts.
_NARROW = 1e-290
_NONE = np.empty(0)


@dataclass(frozen=True, slots=True, eq=False)
class Box:
    """A range for each feature, or the values that it may have.

    Parameters
    ----------
    low, high : array-like of shape (n_features,)
        Ends of each feature, finite; low is below high but where there are values.
    values : sequence of (array-like or None), optional
        Distinct values of each discrete feature, in units of the feature; None for a
        continuous one. By default all are continuous.

    Attributes
    ----------
    low, high : numpy.ndarray of shape (n_features,)
        Ends of each feature.
    values : tuple of (numpy.ndarray or None)
        Distinct values of each discrete feature, rising.

    Raises
    ------
    InvalidInputError
        If an end or a value is not finite, or ends and values do not fit together.

    Examples
    --------
    >>> import fastad
    >>> box = fastad.Box([0, 0], [2, 3])
    >>> box.volume
    6.0
    """

    low: FloatVector
    high: FloatVector
    values: tuple[FloatVector | None, ...]
    ranges: kernels.Ranges = field(init=False, repr=False)

    def __init__(
        self, low: ArrayLike, high: ArrayLike, *, values: Sequence[ArrayLike | None] | None = None
    ) -> None:
        lows, highs = finite_vector(low, "low"), finite_vector(high, "high")
        if lows.shape != highs.shape:
            raise InvalidInputError(
                f"low and high must be equally long; found {lows.shape[0]} and {highs.shape[0]}",
                argument="high",
            )
        check_rows({"low": low, "high": high})
        if isinstance(values, str) or not isinstance(values, Iterable | None):
            raise InvalidTypeError(
                "values must be a sequence with an entry for each feature; found "
                f"{short_repr(values)}"
            )
        listed = [None] * lows.shape[0] if values is None else list(values)
        if len(listed) != lows.shape[0]:
            raise InvalidInputError(
                f"values must have an entry for each of {lows.shape[0]} features; found "
                f"{len(listed)}"
            )
        distinct = tuple(
            None if entry is None else as_readonly(np.unique(finite_vector(entry, f"values[{j}]")))
            for j, entry in enumerate(listed)
        )
        for j, column in enumerate(distinct):
            if column is not None and not (lows[j] <= column[0] and column[-1] <= highs[j]):
                raise InvalidInputError(
                    f"values[{j}] must lie in [{lows[j]}, {highs[j]}]; found values from "
                    f"{column[0]} to {column[-1]}"
                )
            if column is None and not lows[j] < highs[j]:
                raise InvalidInputError(
                    f"low must be below high in each continuous feature; found {lows[j]} and "
                    f"{highs[j]} in feature {j}"
                )
        object.__setattr__(self, "low", as_readonly(lows))
        object.__setattr__(self, "high", as_readonly(highs))
        object.__setattr__(self, "values", distinct)
        object.__setattr__(self, "ranges", _ranges(lows, highs, distinct))

    @classmethod
    def from_data(
        cls, X: ArrayLike, discrete_threshold: Point | None = 0.05, *, margin: Point = 0
    ) -> "Self":
        """Box around data.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers: the rows that the box contains.
        discrete_threshold : float or None, default 0.05
            A feature whose distinct values are at most this fraction of its samples is discrete: it
            is drawn from its values. None makes every feature continuous.
        margin : float, default 0
            Fraction of its width by which each continuous feature is widened on both sides.

        Returns
        -------
        Box

        Raises
        ------
        InvalidInputError
            If X is not finite, or a feature is constant and ``discrete_threshold`` is None.

        Notes
        -----
        A constant feature is discrete, with one value. Discrete features contribute the number of
        their values to the volume (Škvára, Pevný and Šmídl 2019, algorithm 1; EvalCurves).
        """
        samples = _rows(X, None)
        threshold = None
        if discrete_threshold is not None:
            threshold = exact_number(discrete_threshold, "discrete_threshold")
            if not 0 <= threshold <= 1:
                raise InvalidInputError(
                    f"discrete_threshold must lie in [0, 1]; found {discrete_threshold}"
                )
        widening = float(exact_number(margin, "margin"))
        if widening < 0:
            raise InvalidInputError(f"margin must not be negative; found {margin}")
        low, high = samples.min(axis=0), samples.max(axis=0)
        values: list[FloatVector | None] = []
        for j in range(samples.shape[1]):
            distinct = np.unique(samples[:, j])
            n = distinct.shape[0]
            if threshold is not None and (n == 1 or n <= threshold * samples.shape[0]):
                values.append(distinct)
                continue
            if n == 1:
                raise InvalidInputError(
                    "X must vary in each feature where discrete_threshold is None; found feature "
                    f"{j} with {distinct[0]} in all rows"
                )
            values.append(None)
            if widening:
                with np.errstate(over="ignore"):
                    step = widening * (high[j] / 2 - low[j] / 2) * 2
                    low[j], high[j] = low[j] - step, high[j] + step
                if not np.isfinite([low[j], high[j]]).all():
                    raise InvalidInputError(
                        f"margin must leave the ends of each feature finite; found {margin}"
                    )
        return cls(low, high, values=values)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.low.shape[0])

    @property
    def discrete(self) -> npt.NDArray[np.bool_]:
        """Mask of the discrete features."""
        return np.array([column is not None for column in self.values])

    @property
    def log_volume(self) -> float:
        """Natural logarithm of the volume."""
        return math.fsum(
            _log_width(low, high) if values is None else math.log(values.shape[0])
            for low, high, values in self._features()
        )

    @property
    def volume(self) -> float:
        """Product of the widths, and of the numbers of values of discrete features; may be inf."""
        widths = (
            high - low if values is None else float(values.shape[0])
            for low, high, values in self._features()
        )
        products: list[float] = list(accumulate(widths, mul))
        # Digits that are lost outside of the range of floats do not come back into it.
        if sys.float_info.min <= min(products) and max(products) <= sys.float_info.max:
            return products[-1]
        return exp(self.log_volume)

    def contains(self, X: ArrayLike) -> npt.NDArray[np.bool_]:
        """Tell which rows lie in the box, its ends included; discrete features by their range.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers.

        Returns
        -------
        numpy.ndarray of bool of shape (n_samples,)

        Raises
        ------
        InvalidInputError
            If X has another shape, no rows, or values that are not finite numbers.
        """
        samples = _rows(X, self.n_features)
        inside: npt.NDArray[np.bool_] = np.all(
            (samples >= self.low) & (samples <= self.high), axis=1
        )
        return inside

    def _features(self) -> Iterator[tuple[float, float, FloatVector | None]]:
        return zip(self.low.tolist(), self.high.tolist(), self.values, strict=True)


def _ranges(
    lows: FloatVector, highs: FloatVector, values: Sequence[FloatVector | None]
) -> kernels.Ranges:
    """Return the arrays that kernels draw with."""
    with np.errstate(over="ignore"):
        widths = highs - lows
    discrete = np.array([column is not None for column in values])
    # Discrete features take a step more, and widths that overflow, or lose digits when divided.
    special = discrete | np.isinf(widths) | (widths < _NARROW)
    indices = np.flatnonzero(special)
    columns = [_NONE if (column := values[j]) is None else column for j in indices.tolist()]
    return kernels.Ranges(
        lows=as_readonly(np.where(special, 0.0, lows)),
        highs=as_readonly(np.where(special, 1.0, highs)),
        special=as_readonly(indices),
        ends=as_readonly(np.column_stack([lows[indices], highs[indices]])),
        values=as_readonly(np.concatenate([_NONE, *columns])),
        last_values=as_readonly(np.cumsum([column.shape[0] for column in columns], dtype=np.int64)),
    )


def _log_width(low: float, high: float) -> float:
    width = high - low
    return math.log(width) if math.isfinite(width) else math.log(high / 2 - low / 2) + math.log(2)


def _rows(X: ArrayLike, n_features: int | None) -> FloatMatrix:
    samples = check_samples(X, n_features).astype(np.float64)
    if not samples.shape[0]:
        raise InvalidInputError(f"X must contain rows; found shape {samples.shape}")
    return samples


def finite_vector(values: ArrayLike, name: str) -> FloatVector:
    """Return a vector of at least one finite number as floats."""
    array = as_array(values, name)
    if array.ndim != 1 or not array.size:
        raise InvalidInputError(
            f"{name} must be a vector of at least one number; found shape {array.shape}"
        )
    if array.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must contain numbers; found {array.dtype}")
    floats = array.astype(np.float64)
    refuse_wrong(~np.isfinite(floats), floats, name, "contain finite numbers")
    return floats


def check_box(box: object) -> Box:
    """Check that a box is one."""
    if not isinstance(box, Box):
        raise InvalidTypeError(f"box must be a fastad.Box; found {type(box).__name__}")
    return box


def box_of(samples: npt.NDArray[Any], box: object) -> Box:
    """Check a box of the features of samples; by default it is the one that encloses them."""
    region = Box.from_data(samples) if box is None else check_box(box)
    if region.n_features != samples.shape[1]:
        raise InvalidInputError(
            f"box must have {samples.shape[1]} features as X; found {region.n_features}"
        )
    return region
