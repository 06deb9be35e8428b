"""Scores of fitted detectors in a study, also of those whose orientation is stated by a key."""

from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from fastad._core.parameters import short_repr
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.geometry.draws import write_rows
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.orientation import Kind, detector_scores, kind_of
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError

HigherIs: TypeAlias = Literal["anomalous", "normal"]
HIGHER_IS = get_args(HigherIs)
# In order of preference; one of them is needed.
SCORE_METHODS = ("score_samples", "decision_function")
_OF_KIND: dict[Kind | None, HigherIs] = {
    "outlier detector": "normal",
    "PyOD detector": "anomalous",
}


def scorer_of(fitted: Any, higher_is: HigherIs | None) -> CompiledScorer:
    """Return the score of a fitted detector, higher is more anomalous; compiled where possible.

    Parameters
    ----------
    fitted : object
        With ``score_samples`` or ``decision_function``.
    higher_is : {"anomalous", "normal"} or None
        Meaning of its higher scores; None where its kind determines it.

    Raises
    ------
    InvalidInputError
        If neither or both say it, differently.
    """
    kind = kind_of(fitted)
    of_kind = _OF_KIND.get(kind)
    if higher_is is not None and of_kind is None:
        return _StatedScorer(fitted, negate=higher_is == "normal")
    if higher_is not in (None, of_kind):
        raise InvalidInputError(
            f"higher_is must be {of_kind!r} for {type(fitted).__name__}, which is of the kind "
            f"{kind}; found {short_repr(higher_is)}",
            argument="higher_is",
        )
    try:
        return compile_scorer(fitted)
    except InvalidInputError:
        if of_kind is not None or higher_is is not None or _is_compiled(fitted):
            raise
        raise InvalidInputError(
            f"higher_is must say whether higher scores of {type(fitted).__name__} are 'anomalous' "
            "or 'normal', as it is no outlier detector of scikit-learn or PyOD; found none",
            argument="higher_is",
        ) from None


def _is_compiled(fitted: Any) -> bool:
    """Tell whether it is of a library whose other detectors have no kind but are compiled."""
    return type(fitted).__module__.partition(".")[0] in ("sklearn", "pyod", "fastad")


class _StatedScorer(CompiledScorer):
    """A detector that scores itself, with a stated orientation."""

    on_threads = False

    def __init__(self, fitted: Any, *, negate: bool) -> None:
        self.n_features = getattr(fitted, "n_features_in_", None)
        self._fitted, self._negate = fitted, negate
        self._method = next(name for name in SCORE_METHODS if hasattr(fitted, name))

    def __repr__(self) -> str:
        return f"<scores of {type(self._fitted).__name__}>"

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the detector's own scores of a batch."""
        rows = np.empty((points.shape[1], points.shape[0]))
        write_rows(points, rows)
        scores[:] = detector_scores(self._fitted, rows, method=self._method, negate=self._negate)
