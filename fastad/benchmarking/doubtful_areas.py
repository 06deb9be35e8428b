"""Notes on areas under the ROC curve that look like a mistake in the scores."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from fastad._core.text_tables import some_of
from fastad._core.types import FloatMatrix, IntVector
from fastad.benchmarking.reading import problems_text

_AUC = "auc"
# A table has no numbers of samples: this many areas below this value are not chance.
_FAR_BELOW_CHANCE, _FEWEST_AREAS = 0.4, 3
_MAX_NAMES = 8


class _Areas(Protocol):
    """The attributes that are read of a `ResultTable`, which imports this file."""

    @property
    def measure_keys(self) -> Sequence[str]: ...
    @property
    def problems(self) -> Sequence[str]: ...
    @property
    def clusters(self) -> IntVector: ...
    @property
    def detectors(self) -> Sequence[str]: ...
    @property
    def models(self) -> Sequence[str]: ...
    @property
    def detector_of(self) -> IntVector: ...
    def by_fold(self, key: str) -> FloatMatrix: ...


def notes_of_areas(results: _Areas) -> list[str]:
    """Return a note of areas that are 0.5 in all folds, and of those far below 0.5 everywhere."""
    if _AUC not in results.measure_keys:
        return []
    areas = results.by_fold(_AUC)
    n_defined = np.count_nonzero(~np.isnan(areas), axis=2)
    # Scores that are all equal, whatever the fold.
    at_chance = (np.count_nonzero(areas == 0.5, axis=2) == n_defined) & (n_defined > 1)
    notes = []
    if at_chance.any():
        problems, models = results.problems, results.models
        names = [f"{problems[i]}, {models[j]}" for i, j in np.argwhere(at_chance).tolist()]
        notes.append(
            "auc is exactly 0.5 in all folds, as of scores that are all equal: "
            f"{some_of(names, _MAX_NAMES)}"
        )
    below = []
    for j, name in enumerate(results.detectors):
        of_detector = areas[:, results.detector_of == j]
        defined = of_detector[~np.isnan(of_detector)]
        if len(defined) >= _FEWEST_AREAS and defined.max() < _FAR_BELOW_CHANCE:
            below.append(name)
    if below:
        notes.append(
            f"auc of {some_of(below, _MAX_NAMES)} is below {_FAR_BELOW_CHANCE} on all of "
            f"{problems_text(results.clusters)}: the orientation of the scores may be reversed "
            "(higher must be more anomalous)"
        )
    return notes
