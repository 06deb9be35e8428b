"""Scores of rows without labels, in order, and counts of labels that are probabilities."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from fastad._core.arrays import as_readonly, check_no_nan, check_rows, real_vector
from fastad._core.frames import table_columns
from fastad._core.types import FloatVector, IntVector, ScoreVector
from fastad.errors import InvalidInputError
from fastad.ordering.counts import OrderedCounts
from fastad.ordering.labels import all_normal, score_name
from fastad.ordering.orders import order_rows
from fastad.ordering.raw import KeyCodec

# Columns of files of drawn rows before the columns of the detectors.
COLUMNS = ("row", "label", "probability", "size", "priority", "least_size", "round", "population")


def check_all_scores(scores: Any) -> dict[str, ScoreVector]:
    """Check the scores of one detector, or of several in a mapping or table, by their names."""
    columns = table_columns(scores, "scores")
    columns = [("score", scores)] if columns is None else columns
    checked: dict[str, ScoreVector] = {}
    for name, values in columns:
        argument = score_name(name, "scores")
        vector = real_vector(values, argument)
        check_no_nan(vector, argument)
        # Files have numbers.
        checked[name] = vector.astype(np.uint8) if vector.dtype == np.bool_ else vector
        if name in COLUMNS:
            raise InvalidInputError(
                f"scores must have other names of detectors than {', '.join(COLUMNS)}; found "
                f"{name!r}"
            )
    sizes = {name: vector.shape[0] for name, vector in checked.items()}
    if len(set(sizes.values())) > 1:
        raise InvalidInputError(
            "scores must have as many rows for each detector; found "
            + ", ".join(f"{size} of {name!r}" for name, size in sizes.items())
        )
    check_rows({score_name(name, "scores"): values for name, values in columns})
    return checked


def digest_of(scores: Mapping[str, ScoreVector], rows: IntVector) -> str:
    """Return a digest of scores and of drawn rows, by which changed ones are recognised."""
    digest = blake2b(digest_size=8)
    for name, values in sorted(scores.items()):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(values, np.float64).data)
    digest.update(rows.tobytes())
    # A letter, so that no program takes it for a number.
    return f"x{digest.hexdigest()}"


@dataclass(frozen=True, slots=True, eq=False)
class ScoreOrder:
    """Scores from the highest down, without labels."""

    rows: IntVector  # from the highest score down
    point: IntVector  # number of the distinct score of each row, from the highest
    ends: IntVector  # last position of each distinct score in ``rows``
    keys: IntVector
    codec: KeyCodec
    n_tied: int

    @classmethod
    def of(cls, scores: ScoreVector, name: str = "scores") -> "ScoreOrder":
        """Order scores; O(n log n)."""
        order = order_rows(scores, all_normal(scores.shape[0]), name)
        falling = order.falling[order.rows]
        is_last = np.append(falling[1:] != falling[:-1], True)
        ends = np.flatnonzero(is_last)
        point = np.empty(falling.shape[0], np.int64)
        point[order.rows] = np.cumsum(is_last) - is_last
        sizes = np.diff(ends, prepend=-1)
        n_tied = int(sizes[sizes > 1].sum())
        return cls(order.rows, point, ends, as_readonly(falling[ends]), order.codec, n_tied)

    def counts(
        self, anomalous: FloatVector, sizes: FloatVector | None = None, *, falls: bool = False
    ) -> OrderedCounts:
        """Return the counts of rows that are anomalies with some probability.

        With sizes, a row stands for as many, and ``anomalous`` is their number of anomalies. With
        ``falls`` rows may count more than once, or less than 0, so that counts fall.
        """
        tps = np.cumsum(anomalous[self.rows])[self.ends]
        flagged = self.ends + 1.0 if sizes is None else np.cumsum(sizes[self.rows])[self.ends]
        tps, fps = np.append(0.0, tps), np.append(0.0, flagged - tps)
        if not falls:
            # Sums of probabilities of 1 do so by rounding.
            fps = np.maximum.accumulate(fps)
        return OrderedCounts(
            fps=as_readonly(fps),
            tps=as_readonly(tps),
            keys=self.keys,
            codec=self.codec,
            n_anomalies=tps.item(-1),
            n_normals=fps.item(-1),
            n_points=self.rows.shape[0],
            n_tied=self.n_tied,
            weighting="real",
        )
