"""Scores of blocks of points: of a box, and of the unit cube that stands for it."""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from typing import Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from numba.core.dispatcher import Dispatcher

from fastad._core.frames import refuse_masked
from fastad._core.parameters import short_repr
from fastad._core.progress import Pace
from fastad._core.threads import RemoteHook, in_steps, points_at_once
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad._kernels.geometry.draws import over_points, scale_to_box, write_rows
from fastad.detectors.compilation import scorer_of
from fastad.detectors.scorer import CompiledScorer, blocks, count_scores_below, refuse_nan
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.regions.batches import Batches
from fastad.regions.box import Box
from fastad.regions.reference import Referred

# A fitted detector, a jitted function of a point, a function of a batch, or a compiled scorer.
Detector: TypeAlias = Any

Result = TypeVar("Result")


class Countable(ABC):
    """A score, or several that are computed together: counts points below thresholds."""

    on_threads: bool = True  # whether several threads may compute at once, and gain by it
    # Jitted function of points, scores and further arguments, which writes the scores of a block.
    kernel: Any = None
    arguments: tuple[Any, ...] = ()

    @abstractmethod
    def count(self, points: FloatMatrix, thresholds: FloatVector, counts: IntVector) -> None:
        """Add the numbers of points below each of some rising thresholds."""

    def ranges(self, start: int, stop: int, n_features: int) -> Iterator[range]:
        """Yield ranges of points to score one after the other, each of some whole batches."""
        yield from in_steps(start, stop, points_at_once(n_features))

    def rounds(
        self,
        function: Callable[[range], Result],
        start: int,
        stop: int,
        n_features: int,
        *,
        blocks: int = 1,
        pace: Pace | None = None,
    ) -> Iterator[tuple[int, list[Result]]]:
        """Apply a function to ranges of points; yield each round's end and results.

        On threads, with at most ``blocks`` blocks in a range, or one range after the other.
        """
        if self.on_threads:
            largest = blocks * points_at_once(n_features)
            yield from (pace or Pace()).map(function, start, stop, largest)
            return
        for part in self.ranges(start, stop, n_features):
            yield part.stop, [function(part)]


class BlockScore(Countable):
    """Scores of points that stand coordinate by coordinate."""

    scorer: CompiledScorer | None = None
    # The detector as the user gave it, which other processes can make into the same score.
    given: Any = None
    # Counts draws for several scores together: a function of draws, rising thresholds, the first
    # draw, their number and the progress, which returns how many scores, and the counts.
    joint: Any = None

    def of_rows(self, samples: npt.NDArray[Any]) -> FloatVector:
        """Return the scores of samples of shape (n_samples, n_features)."""
        scores = np.empty(samples.shape[0])

        def write(rows: range) -> None:
            written = scores[rows.start : rows.stop]
            for points, part in blocks(samples[rows.start : rows.stop]):
                self.write_checked(points, written[part])

        deque(self.rounds(write, 0, *samples.shape), 0)
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


def _scoring(rows: FloatMatrix, score: Callable[[], Result]) -> Result:
    """Call a user's function of points; say which points it was given if it raises."""
    try:
        return score()
    except InvalidInputError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"detector raised {type(error).__name__} ({error}) on {rows.shape[0]} points, the "
            f"first of them {rows[0].tolist()}",
            argument="detector",
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
                f"detector must take a point of {n_features} features; found {error}"
            ) from None
        except Exception:  # the score may work inside the box
            return

    def write(self, points: FloatMatrix, scores: FloatVector) -> None:
        _scoring(points.T, lambda: self.kernel(points, scores))


class _Batch(BlockScore):
    # A function of Python holds the interpreter's lock, and may not be made for threads.
    on_threads = False

    def __init__(
        self, function: Callable[[FloatMatrix], Any], *, is_explained: bool = True
    ) -> None:
        # Whether errors say which detector raised them, and on which points.
        self._function, self._is_explained = function, is_explained
        self._batches = Batches()

    def ranges(self, start: int, stop: int, n_features: int) -> Iterator[range]:
        yield from self._batches.ranges(start, stop, n_features)

    def write(self, points: FloatMatrix, scores: FloatVector) -> None:
        rows = np.empty((points.shape[1], points.shape[0]))
        write_rows(points, rows)
        self._batches.write(self._scores_of, rows, scores)

    def _scores_of(self, rows: FloatMatrix) -> FloatVector:
        if not self._is_explained:
            return self._checked(rows)
        return _scoring(rows, lambda: self._checked(rows))

    def _checked(self, rows: FloatMatrix) -> FloatVector:
        returned = self._function(rows)
        refuse_masked(returned, "scores of a detector")
        result = np.asarray(returned)
        if result.shape != rows.shape[:1] or result.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"detector must return one number for each of {rows.shape[0]} points; found shape "
                f"{result.shape} of {result.dtype}, the first point being {rows[0].tolist()}"
            )
        return result.astype(np.float64)  # a copy: the function may use its memory again


class _OfReference(BlockScore):
    """Scores of the points of a reference, by points of the unit cube."""

    def __init__(self, score: BlockScore, referred: Referred) -> None:
        self.on_threads = score.on_threads
        self._inner, self._referred = score, referred

    def ranges(self, start: int, stop: int, n_features: int) -> Iterator[range]:
        yield from self._inner.ranges(start, stop, n_features)

    def write(self, points: FloatMatrix, scores: FloatVector) -> None:
        # In place: messages name the point that was scored.
        self._referred.from_cube(points)
        self._inner.write(points, scores)


def block_score(
    detector: Detector, n_features: int, one_of_several: str | None = None
) -> BlockScore:
    """Return the scorer of blocks: a detector, a jitted function, or a function of a batch.

    A fitted detector, or its method, is compiled. A single one raises its own errors; one of
    several has a name, with which its errors are explained.
    """
    scored = _block_score(detector, n_features, one_of_several)
    scored.given = detector
    return scored


# The argument that gave the detector at hand, where it is one of several.
named_as: ContextVar[str] = ContextVar("named_as", default="")


@contextmanager
def naming(argument: str) -> Iterator[None]:
    """Name a detector, in errors and warnings about it, as the argument that gave it."""
    token = named_as.set(argument)
    try:
        yield
    except InvalidInputError as error:
        if error.argument != "detector" or not str(error).startswith("detector "):
            raise
        message = argument + str(error).removeprefix("detector")
        raise InvalidInputError(message, argument=argument) from error.__cause__
    finally:
        named_as.reset(token)


def _block_score(detector: Detector, n_features: int, one_of_several: str | None) -> BlockScore:
    if isinstance(detector, Referred):
        inner = _block_score(detector.detector, n_features, one_of_several)
        return _OfReference(inner, detector)
    argument = one_of_several or "detector"
    scorer = scorer_of(detector, argument)
    if scorer is not None:
        if scorer.n_features not in (None, n_features):
            raise InvalidInputError(
                f"box must have {scorer.n_features} features as "
                f"{one_of_several or 'the detector'}; found {n_features}"
            )
        if scorer.on_threads:
            return _Compiled(scorer)
        return _Batch(scorer.score_samples, is_explained=one_of_several is not None)
    if isinstance(detector, Dispatcher):
        return _Jitted(detector, n_features)
    if not callable(detector):
        raise InvalidTypeError(
            f"{argument} must be a fitted detector, a jitted function of a point, a function of a "
            f"batch, or a compiled scorer; found {short_repr(detector)}"
        )
    return _Batch(detector)


# Takes a box, a score, and points of the unit cube (n_features, n_points); returns their scores.
scored_elsewhere: RemoteHook[[Box, BlockScore, FloatMatrix], FloatVector] = RemoteHook(
    "scored_elsewhere"
)


class Cube:
    """The score of a box's points, by their coordinates in the unit cube that stands for it.

    A fraction of the box is a fraction of the cube, in which a discrete feature has a part of
    [0, 1) for each of its values, equally long.

    Attributes
    ----------
    box : Box
        The box.
    on_threads : bool
        Whether several threads may compute scores at once, and gain by it.
    n_scored : int
        Points scored until now.
    """

    def __init__(self, box: Box, score: BlockScore) -> None:
        self.box = box
        # Here, as other threads do not know of it.
        self._elsewhere = scored_elsewhere.get()
        self.on_threads = score.on_threads and self._elsewhere is None
        self.n_scored = 0
        self._score = score
        self._lock = Lock()
        self._pace = Pace()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.box.n_features

    @property
    def n_values(self) -> list[int]:
        """Number of values of each feature, 0 where it is continuous."""
        return [0 if values is None else values.shape[0] for values in self.box.values]

    def scores(self, points: FloatMatrix, report: Callable[[], None] | None = None) -> FloatVector:
        """Return the scores of points of shape (n_features, n_points), which stay as they are.

        On threads where the score allows it. Reports now and then that more points are scored.
        """
        n = points.shape[1]
        if self._elsewhere is not None:
            with self._lock:
                self.n_scored += n
            scores = self._elsewhere(self.box, self._score, points)
            if report is not None:
                report()
            return scores
        scores = np.empty(n)

        def write(part: range) -> None:
            block = points[:, part.start : part.stop].copy(order="C")
            scale_to_box(self.box.ranges, block)
            self._score.write_checked(block, scores[part.start : part.stop])

        start = 0
        for end, _ in self._score.rounds(write, 0, n, self.n_features, pace=self._pace):
            with self._lock:
                self.n_scored += end - start
            start = end
            if report is not None:
                report()
        return scores


def into_cube(box: Box, samples: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
    """Return the cube's points of samples (n_samples, n_features), as (n_features, n_samples).

    Coordinates of a discrete feature are spread evenly over the part of their value, the nearest
    one of the box. Samples outside of the box are left out.
    """
    inside = samples[box.contains(samples)]
    points = np.empty((box.n_features, inside.shape[0]))
    for j, values in enumerate(box.values):
        numbers = inside[:, j]
        if values is None:
            low, high = float(box.low[j]), float(box.high[j])
            # A width that overflows is finite in halves, of which the narrowest would have none.
            unit = 0.5 if math.isinf(high - low) else 1.0
            points[j] = (numbers * unit - low * unit) / (high * unit - low * unit)
            continue
        middles = values[:-1] / 2 + values[1:] / 2
        indices = np.searchsorted(middles, numbers)
        points[j] = (indices + rng.uniform(size=indices.shape[0])) / values.shape[0]
    return np.clip(points, 0.0, np.nextafter(1.0, 0.0))
