"""All levels of a measure: how far apart its models are, and how many pairs can be told apart."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_readonly
from fastad._core.threads import thread_map
from fastad._core.types import FloatVector, IntVector
from fastad.benchmarking.pairwise_tests.critical import tukey_critical
from fastad.benchmarking.pairwise_tests.models import Models, Overall, welch_test
from fastad.benchmarking.pairwise_tests.welch import (
    LARGEST_CORRECTED,
    PairCorrection,
    Tukey,
    Welch,
    tukey,
    welch,
)

CRITERIA = ("tukey-q", "tukey-mean", "tukey-median", "welch-mean", "welch-median")
WELCH_CORRECTIONS: tuple[PairCorrection, ...] = (
    "none",
    "bonferroni",
    "holm",
    "shaffer",
    "benjamini-hochberg",
)


@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    """Criteria, critical values and counts of pairs, each by level.

    Attributes
    ----------
    n_models, n_folds, n_pairs : int
        Sizes; n_pairs = n_models (n_models - 1) / 2.
    alpha : float
        Level of the tests.
    criteria : mapping of str to numpy.ndarray of shape (n_levels,)
        By name, see `CRITERIA`: from 0 on; NaN where no statistic is finite.
    critical_values : mapping of str to numpy.ndarray of shape (n_levels,)
        "tukey" and "welch": what the criteria of each must exceed. For Welch the mean over pairs
        of which at least one varies, NaN if there is none.
    n_separable : mapping of str to numpy.ndarray of shape (n_levels,), or None
        Pairs told apart: "tukey", whose q exceeds the critical value, and for each of
        `WELCH_CORRECTIONS` those whose corrected p-value is at most alpha. None where it was not
        counted: the last three for more than `LARGEST_CORRECTED` models.
    n_infinite : mapping of str to numpy.ndarray of shape (n_levels,)
        "tukey" and "welch": pairs left out of means and medians, which have different means and no
        variance.
    f, df_between, df_within, p_value : numpy.ndarray of shape (n_levels,)
        Welch's test of all models at once; NaN where it is undefined.
    """

    n_models: int
    n_folds: int
    n_pairs: int
    alpha: float
    criteria: Mapping[str, FloatVector]
    critical_values: Mapping[str, FloatVector]
    n_separable: Mapping[str, IntVector | None]
    n_infinite: Mapping[str, IntVector]
    f: FloatVector
    df_between: FloatVector
    df_within: FloatVector
    p_value: FloatVector


def separate(values: npt.NDArray[np.float64], *, alpha: float) -> Separation:
    """Compare all pairs of models at each level.

    With n models, O(n**2) time a level; a level at a time on each thread, with 8 bytes a pair up to
    `LARGEST_CORRECTED` models and 16 MB beyond.

    Parameters
    ----------
    values : numpy.ndarray of shape (n_models, n_folds, n_levels)
        Finite; at least two models and two folds.
    alpha : float
        Level of the tests, in (0, 1).

    Returns
    -------
    Separation
        The same bits for any order of models and folds, and any number of threads.
    """
    n_models, n_folds, n_levels = values.shape
    critical = tukey_critical(n_models, n_folds, alpha)
    stop = Event()

    def level(i: int) -> tuple[Tukey, Welch, Overall]:
        models = Models.of(values[:, :, i])
        return tukey(models, critical), welch(models, alpha, stop), welch_test(models)

    try:
        rows = thread_map(level, range(n_levels))
    except BaseException:
        # A helper leaves its level after the step that it is in.
        stop.set()
        raise
    of_tukey = [row[0] for row in rows]
    of_welch = [row[1] for row in rows]
    overall = [row[2] for row in rows]
    criteria = {
        "tukey-q": _floats(row.q for row in of_tukey),
        "tukey-mean": _floats(row.mean for row in of_tukey),
        "tukey-median": _floats(row.median for row in of_tukey),
        "welch-mean": _floats(row.mean for row in of_welch),
        "welch-median": _floats(row.median for row in of_welch),
    }
    critical_values = {
        "tukey": _floats(critical for _ in of_tukey),
        "welch": _floats(row.critical for row in of_welch),
    }
    n_separable: dict[str, IntVector | None] = {
        "tukey": _counts(row.n_separable for row in of_tukey)
    }
    for name in WELCH_CORRECTIONS:
        counted = n_models <= LARGEST_CORRECTED or name in ("none", "bonferroni")
        n_separable[name] = _counts(row.n_separable[name] for row in of_welch) if counted else None
    n_infinite = {
        "tukey": _counts(row.n_infinite for row in of_tukey),
        "welch": _counts(row.n_infinite for row in of_welch),
    }
    return Separation(
        n_models, n_folds, n_models * (n_models - 1) // 2, alpha,
        criteria, critical_values,
        n_separable, n_infinite,
        _floats(row.f for row in overall), _floats(row.df_between for row in overall),
        _floats(row.df_within for row in overall), _floats(row.p_value for row in overall),
    )  # fmt: skip


def _floats(numbers: Any) -> FloatVector:
    return set_readonly(np.fromiter(numbers, np.float64))


def _counts(numbers: Any) -> IntVector:
    return set_readonly(np.fromiter(numbers, np.int64))
