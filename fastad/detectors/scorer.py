"""Interface of every compiled detector."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numba.core.dispatcher import Dispatcher

from fastad._core.arrays import as_readonly
from fastad._core.frames import as_matrix, column_names
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import current_threads, in_steps, points_at_once, thread_limit, thread_map
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector, IntVector
from fastad._kernels.geometry.draws import add_below, write_coordinates
from fastad.errors import InvalidInputError

# Ranges for each thread: enough to keep threads busy to the end.
_RANGES_A_THREAD = 8


class CompiledScorer:
    """Anomaly score of a fitted detector as compiled code; made by `fastad.compile_scorer`.

    A subclass names a ``kernel``, or has a method `score_block`. Objects do not change, so
    that threads may share one.

    Attributes
    ----------
    n_features : int or None
        Length of a point; None if the detector does not have it.
    name : str
        Name of the compiled detector.
    on_threads : bool
        Whether several threads may score at once.
    kernel : callable or None
        A function that Numba has jitted: ``kernel(points, scores, *arguments)`` is equivalent to
        `score_block`. Volumes compile drawing and counting around it.
    arguments : tuple
        Arguments of the kernel after points and scores.
    feature_names : sequence of str or None
        Columns of the frame that the detector was fitted on, if it was one.
    """

    n_features: int | None
    name: str
    on_threads: bool = True
    kernel: Any = None
    arguments: tuple[Any, ...] = ()
    feature_names: Sequence[str] | None = None

    def __init_subclass__(cls) -> None:
        # Functions in a class are methods; this one does not take the scorer.
        if isinstance(cls.__dict__.get("kernel"), Dispatcher):
            cls.kernel = staticmethod(cls.kernel)

    def __repr__(self) -> str:
        return f"<CompiledScorer of {self.name}, {self.n_features} features>"

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of some points, without the interpreter's lock.

        Parameters
        ----------
        points : numpy.ndarray of shape (n_features, n_points)
            Coordinate by coordinate, contiguous, finite; may be overwritten.
        scores : numpy.ndarray of shape (n_points,)
            Written here; higher is more anomalous.
        """
        self.kernel(points, scores, *self.arguments)

    def count_below(
        self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector, scores: FloatVector
    ) -> None:
        """Add the numbers of points that score below each of some rising thresholds.

        Scorers that can decide faster on which side of a threshold a point is do so.
        """
        self.score_block(points, scores)
        count_scores_below(points, scores, thresholds, counts)

    @suggests_arguments
    def score_samples(self, X: ArrayLike, *, n_threads: int | None = None) -> FloatVector:
        """Return anomaly scores.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Finite numbers; of a frame, in the columns that the detector was fitted on.
        n_threads : int, optional
            Threads over the samples; by default the environment variable FASTAD_NUM_THREADS, else
            the processors that the process may use.

        Returns
        -------
        numpy.ndarray of shape (n_samples,)
            Scores, higher is more anomalous; equal to the detector's scores to 1e-9.

        Raises
        ------
        InvalidInputError
            If X has another shape, other columns, or values that are not finite.
        """
        samples = check_samples(X, self.n_features)
        check_columns(self, X, "the detector")
        scores = np.empty(samples.shape[0])

        def score_rows(rows: range) -> None:
            written = scores[rows.start : rows.stop]
            for points, part in blocks(samples[rows.start : rows.stop]):
                self.score_block(points, written[part])

        block = points_at_once(samples.shape[1])
        with thread_limit(n_threads if self.on_threads else 1):
            # A few ranges for each thread, each of whole blocks.
            blocks_each = -(-samples.shape[0] // (block * _RANGES_A_THREAD * current_threads()))
            thread_map(score_rows, in_steps(0, samples.shape[0], block * max(blocks_each, 1)))
        return scores


def count_scores_below(
    points: FloatMatrix, scores: FloatVector, thresholds: FloatVector, counts: IntVector
) -> None:
    """Add the numbers of scores below each threshold; refuse NaN, naming a point."""
    if add_below(scores, thresholds, counts) >= 0:
        refuse_nan(points, scores)


def refuse_nan(points: FloatMatrix, scores: FloatVector) -> None:
    """Refuse scores that are no numbers, naming a point."""
    is_nan = np.isnan(scores)
    if is_nan.any():
        raise InvalidInputError(
            f"detector must not return NaN; found {np.count_nonzero(is_nan)} in {scores.shape[0]} "
            f"points, the first at {points[:, int(np.argmax(is_nan))].tolist()}"
        )


def blocks(samples: npt.NDArray[Any]) -> Iterator[tuple[FloatMatrix, slice]]:
    """Yield samples block by block, coordinate by coordinate, in memory that is used again."""
    n_samples, n_features = samples.shape
    step = points_at_once(n_features)
    memory = np.empty(min(step, n_samples) * n_features)
    for start in range(0, n_samples, step):
        rows = np.ascontiguousarray(samples[start : start + step], np.float64)
        points = memory[: rows.size].reshape(n_features, rows.shape[0])
        write_coordinates(as_readonly(rows), points)
        yield points, slice(start, start + rows.shape[0])


def check_samples(X: ArrayLike, n_features: int | None, name: str = "X") -> npt.NDArray[Any]:
    """Check a table of finite numbers, with ``n_features`` features, or any number for None."""
    samples = as_matrix(X, name)
    if samples.ndim != 2 or n_features not in (None, samples.shape[1]):
        expected = "n_features" if n_features is None else n_features
        raise InvalidInputError(
            f"{name} must have the shape (n_samples, {expected}); found {samples.shape}"
        )
    if not samples.shape[1]:
        raise InvalidInputError(
            f"{name} must have at least one feature; found shape {samples.shape}"
        )
    if samples.dtype.kind not in "biuf":
        raise InvalidInputError(f"{name} must contain numbers; found {samples.dtype}")
    if not np.isfinite(samples).all():
        bad = ~np.isfinite(samples).all(axis=1)
        raise InvalidInputError(
            f"{name} must contain finite numbers; found others in {np.count_nonzero(bad)} rows, "
            f"the first at row {int(np.argmax(bad))}"
        )
    return samples


def check_columns(detector: Any, X: ArrayLike, item: str) -> None:
    """Check that a frame has the columns that a detector was fitted on, in their order.

    Features are told apart by their position. Arrays have no names, and neither have detectors
    that were fitted on arrays.
    """
    owner = getattr(detector, "__self__", detector)
    attribute = "feature_names" if isinstance(owner, CompiledScorer) else "feature_names_in_"
    compare_columns(X, "X", getattr(owner, attribute, None), f"that {item} was fitted on")


def compare_columns(X: ArrayLike, name: str, expected: Sequence[str] | None, origin: str) -> None:
    """Check that a frame has the expected columns, in their order."""
    columns = column_names(X)
    if columns is None or expected is None:
        return
    differing = [pair for pair in zip(columns, expected, strict=False) if pair[0] != pair[1]]
    if differing:
        found, wanted = differing[0]
        raise InvalidInputError(
            f"{name} must have the columns {origin}, in their order; found {len(differing)} "
            f"others, the first {found!r} in place of {str(wanted)!r}. Use {name}.to_numpy() if "
            "features are in the same order"
        )


def is_exactly(estimator: Any, module: str, name: str) -> bool:
    """Return whether an estimator is of a class, and of no subclass, which may score otherwise.

    The estimator's library is imported, or else it is no estimator of that library.
    """
    return type(estimator) is getattr(sys.modules.get(module), name, object())


def floats(values: Any) -> npt.NDArray[np.float64]:
    """Return a copy of fitted values, which later fits do not change; sparse ones become dense."""
    dense = values.toarray() if hasattr(values, "toarray") else values
    return np.array(dense, np.float64, order="C")
