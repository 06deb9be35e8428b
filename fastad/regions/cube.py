"""The unit cube that stands for a box: where rare regions are looked for.

A share of the box is a share of the cube, whose discrete features have a part of [0, 1) for each of
their values, equally long.
"""

from threading import Lock

import numpy as np

from fastad._core.threads import current_threads, in_steps, points_at_once, thread_map
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.geometry.draws import scale_to_box
from fastad.regions.box import Box
from fastad.regions.scores import BlockScore

# Fewer points are not worth a thread.
_FEWEST = 256


class Cube:
    """The score of a box's points, by where they stand in the unit cube.

    Attributes
    ----------
    box : Box
        The box.
    on_threads : bool
        Whether several threads may ask for scores at once, and gain by it.
    n_scored : int
        Points scored until now.
    """

    def __init__(self, box: Box, score: BlockScore) -> None:
        self.box = box
        self.on_threads = score.on_threads
        self.n_scored = 0
        self._score = score
        self._lock = Lock()

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.box.n_features

    def scores(self, points: FloatMatrix) -> FloatVector:
        """Return the scores of points of shape (n_features, n_points), which stay as they are.

        On threads where the score allows it.
        """
        n = points.shape[1]
        scores = np.empty(n)
        largest = points_at_once(self.n_features)

        def write(own: range) -> None:
            block = points[:, own.start : own.stop].copy(order="C")
            scale_to_box(self.box.ranges, block)
            self._score.write_checked(block, scores[own.start : own.stop])

        if self.on_threads:
            share = -(-n // current_threads())
            thread_map(write, in_steps(0, n, min(max(share, _FEWEST), largest)))
        else:
            for own in in_steps(0, n, largest):
                write(own)
        with self._lock:
            self.n_scored += n
        return scores


def into_cube(box: Box, samples: FloatMatrix, rng: np.random.Generator) -> FloatMatrix:
    """Return where samples of shape (n_samples, n_features) stand, as (n_features, n_samples).

    Those of a discrete feature are spread evenly over the part of their value, the nearest one of
    the box. What lies outside of the box is left out.
    """
    inside = samples[box.contains(samples)]
    points = np.empty((box.n_features, inside.shape[0]))
    for j, values in enumerate(box.values):
        numbers = inside[:, j]
        if values is None:
            low, high = box.low[j] / 2, box.high[j] / 2  # halves, whose difference is finite
            points[j] = (numbers / 2 - low) / (high - low)
            continue
        middles = values[:-1] / 2 + values[1:] / 2
        places = np.searchsorted(middles, numbers)
        points[j] = (places + rng.uniform(size=places.shape[0])) / values.shape[0]
    return np.clip(points, 0.0, np.nextafter(1.0, 0.0))
