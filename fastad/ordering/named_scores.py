"""Scores of several detectors, by name: vectors, matrices, mappings and tables."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from fastad._core.arrays import RowIndex, two_classes_hint
from fastad._core.frames import converted, table_columns
from fastad._core.types import ArrayLike
from fastad.errors import InvalidInputError

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
    is_masked = isinstance(y_score, np.ma.MaskedArray)
    expected = "contain equally many scores for each detector"
    scores = y_score if is_masked else converted(y_score, "y_score", expected)
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
