"""The scores of blocks of points, from whatever a user calls a score."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from numba.core.dispatcher import Dispatcher

from fastad._core.parameters import short_repr
from fastad._core.threads import in_steps, points_at_once, thread_map
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.geometry.draws import over_points, write_rows
from fastad.detectors.scorer import CompiledScorer, blocks, count_scores_below, refuse_nan
from fastad.errors import InvalidInputError


class BlockScore(ABC):
    """Scores of points that stand coordinate by coordinate.

    Attributes
    ----------
    on_threads : bool
        Whether several threads may ask at once, and gain by it.
    kernel : callable or None
        Jitted, of points, scores and the arguments: does what `write` does.
    arguments : tuple
        What the kernel takes besides.
    scorer : CompiledScorer or None
        The compiled scorer, if it is one.
    """

    on_threads: bool = True
    kernel: Any = None
    arguments: tuple[Any, ...] = ()
    scorer: CompiledScorer | None = None

    def of_rows(self, samples: npt.NDArray[Any]) -> FloatVector:
        """Return the scores of samples of shape (n_samples, n_features)."""
        scores = np.empty(samples.shape[0])

        def write(rows: range) -> None:
            own = scores[rows.start : rows.stop]
            for points, part in blocks(samples[rows.start : rows.stop]):
                self.write_checked(points, own[part])

        step = points_at_once(samples.shape[1]) if self.on_threads else samples.shape[0]
        thread_map(write, in_steps(0, samples.shape[0], step))
        return scores

    @abstractmethod
    def write(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of points of shape (n_features, n_points)."""

    def write_checked(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the scores of points; refuse NaN, naming a point."""
        self.write(points, scores)
        refuse_nan(points, scores)

    def count(self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector) -> None:
        """Add the numbers of points below each of some rising thresholds."""
        scores = np.empty(points.shape[1])
        self.write(points, scores)
        count_scores_below(points, scores, thresholds, counts)


class _Compiled(BlockScore):
    scorer: CompiledScorer

    def __init__(self, scorer: CompiledScorer) -> None:
        self.scorer = scorer
        self.on_threads = scorer.on_threads
        self.kernel, self.arguments = scorer.kernel, scorer.arguments

    def write(self, points: FloatMatrix, scores: FloatVector) -> None:
        self.scorer.score_block(points, scores)

    def count(self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector) -> None:
        self.scorer.count_below(points, thresholds, counts, np.empty(points.shape[1]))


def _scoring(points: FloatMatrix, score: Callable[[], None]) -> None:
    """Call a user's function of points; say which points it was given if it raises."""
    try:
        score()
    except InvalidInputError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"score raised {type(error).__name__} ({error}) on {points.shape[1]} points, the "
            f"first of them {points[:, 0].tolist()}"
        ) from error


class _Jitted(BlockScore):
    def __init__(self, function: Any, n_features: int) -> None:
        # Two of Numba's own parallel loops at once stop the process with some threading layers.
        self.on_threads = not function.targetoptions.get("parallel", False)
        self.kernel = over_points(function)
        try:
            # Compiled code does not check its indices.
            function.py_func(np.full(n_features, 0.5))
        except IndexError as error:
            raise InvalidInputError(
                f"score must take a point of {n_features} features; found {error}",
                argument="score",
            ) from None
        except Exception:  # what is wrong at that point may be right in the box
            return

    def write(self, points: FloatMatrix, scores: FloatVector) -> None:
        _scoring(points, lambda: self.kernel(points, scores))


class _Batch(BlockScore):
    # A function of Python holds the interpreter's lock, and may not be made for threads.
    on_threads = False

    def __init__(self, function: Callable[[FloatMatrix], Any]) -> None:
        self._function = function

    def write(self, points: FloatMatrix, scores: FloatVector) -> None:
        rows = np.empty((points.shape[1], points.shape[0]))
        write_rows(points, rows)
        _scoring(points, lambda: self._write_rows(rows, scores))

    def _write_rows(self, rows: FloatMatrix, scores: FloatVector) -> None:
        found = np.asarray(self._function(rows))
        if found.shape != scores.shape or found.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"score must return one number for each of {scores.shape[0]} points; found shape "
                f"{found.shape} of {found.dtype}, the first point being {rows[0].tolist()}",
                argument="score",
            )
        scores[:] = found


def block_score(score: Any, n_features: int) -> BlockScore:
    """Return what scores blocks: a compiled scorer, a jitted function, or a function of a batch."""
    if isinstance(score, CompiledScorer):
        if score.n_features not in (None, n_features):
            raise InvalidInputError(
                f"box must have {score.n_features} features as the score; found {n_features}",
                argument="box",
            )
        return _Compiled(score)
    if isinstance(score, Dispatcher):
        return _Jitted(score, n_features)
    if not callable(score):
        raise TypeError(
            "score must be a jitted function of a point, a function of a batch, or a compiled "
            f"scorer; found {short_repr(score)}"
        )
    return _Batch(score)
