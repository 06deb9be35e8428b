"""The train/test protocol of Škvára, Pevný and Šmídl: which rows train, and which test."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fastad._core.parameters import (
    check_count,
    check_flag,
    check_inside,
    exact_rate,
    mistyped,
    refused,
)
from fastad._core.types import FloatMatrix, IntVector, LabelVector, Point

# With ten normal rows and these two there are always two normal rows to train on.
_MIN_FRACTION = Fraction(2, 10)
_MIN_TRAIN = 4
# Smaller deviations come from rounding.
_MIN_VARIANCE, _MIN_DEVIATION = 1e-15, 1e-8


@dataclass(frozen=True, slots=True)
class Protocol:
    """Splits of the data of a study; the table ``[protocol]`` of its configuration.

    Attributes
    ----------
    train_fraction : float
        Fraction of the normal rows that is for training, in [0.2, 1).
    contaminations : tuple of float
        Anomalies in training, as ratios to the normal rows there.
    repeats : int
        Splits of each problem and contamination.
    max_train : int or None
        Training rows at most, normal ones and anomalies together.
    max_test : int or None
        Test rows of each of the two kinds at most.
    standardize : bool
        Whether each feature is centred and divided by its deviation, over all rows of a problem.
    """

    train_fraction: Point = 0.8
    contaminations: tuple[float, ...] = (0.0, 0.01, 0.05)
    repeats: int = 10
    max_train: int | None = None
    max_test: int | None = None
    standardize: bool = True

    def __post_init__(self) -> None:
        fraction = check_inside(self.train_fraction, "protocol.train_fraction")
        if fraction < _MIN_FRACTION:
            raise refused(
                "protocol.train_fraction",
                f"be at least {float(_MIN_FRACTION)}",
                self.train_fraction,
            )
        object.__setattr__(self, "train_fraction", float(fraction))
        object.__setattr__(self, "contaminations", _contaminations(self.contaminations))
        for name in ("repeats", "max_train", "max_test"):
            value = getattr(self, name)
            if value is not None or name == "repeats":
                object.__setattr__(self, name, check_count(value, f"protocol.{name}"))
        if self.max_train is not None and self.max_train < _MIN_TRAIN:
            raise refused("protocol.max_train", f"be at least {_MIN_TRAIN}", self.max_train)
        standardize = check_flag(self.standardize, "protocol.standardize")
        object.__setattr__(self, "standardize", standardize)


class Split(NamedTuple):
    """Rows of a problem; normal ones come before anomalies."""

    X_train: FloatMatrix
    X_test: FloatMatrix
    # 1 for anomalies of the test rows.
    y_test: LabelVector
    # The last rows of ``X_train``.
    n_train_anomalies: int


def split_problem(
    X: FloatMatrix,
    y: LabelVector,
    *,
    contamination: float,
    repeat: int,
    seed_key: tuple[int, ...],
    protocol: Protocol,
) -> Split:
    """Split the rows of a problem into training and test.

    N normal rows and M anomalies are each shuffled; n = floor(``train_fraction`` N) normal rows and
    min(floor(``contamination`` n), floor(M / 2)) anomalies train; all others test. The normal
    rows of one repeat are in the same order for each contamination: the same rows test. Where
    ``max_train`` makes n smaller, the rows that it takes from training go nowhere.

    ``repeat`` is the number of the split, from 1; with ``seed_key``, seeds of the problem that are
    not negative, it determines the shuffle. Too few rows to train or test on are refused.
    """
    repeat = check_count(repeat, "repeat")
    normals, anomalies = (np.flatnonzero(y == label) for label in (0, 1))
    n_allotted = math.floor(
        exact_rate(protocol.train_fraction, "train_fraction") * normals.shape[0]
    )
    most_anomalies = anomalies.shape[0] // 2
    ratio = exact_rate(contamination, "contamination")
    n_train = _limited(n_allotted, ratio, most_anomalies, protocol.max_train)
    n_train_anomalies = min(math.floor(ratio * n_train), most_anomalies)
    if n_train < 2 or not anomalies.shape[0]:
        raise refused(
            "X",
            "have 2 normal rows to train on, and an anomaly to test on",
            f"{normals.shape[0]} normal rows and {anomalies.shape[0]} anomalies",
        )
    rng = np.random.default_rng(np.random.SeedSequence([*seed_key, repeat]))
    normals, anomalies = rng.permutation(normals), rng.permutation(anomalies)
    # Training takes the last anomalies, so that where max_test cuts, the contaminations have as
    # many test anomalies in common as possible.
    n_others = anomalies.shape[0] - n_train_anomalies
    train: IntVector = np.concatenate([normals[:n_train], anomalies[n_others:]])
    test_parts = normals[n_allotted:], anomalies[:n_others]
    test: IntVector = np.concatenate([part[: protocol.max_test] for part in test_parts])
    table = standardized(X) if protocol.standardize else X
    return Split(_rows(table, train), _rows(table, test), y[test], n_train_anomalies)


def standardized(X: FloatMatrix) -> FloatMatrix:
    """Centre each feature and divide it by its deviation, over all rows; n - 1 in the variance.

    A variance of at most 1e-15 counts as 1, a centred value of size at most 1e-8 as 0.
    """
    # From the first row on: a constant feature is then 0, however its sum would be rounded.
    centred = X - X[0]
    centred -= centred.mean(axis=0)
    variances = centred.var(axis=0, ddof=1)
    centred[np.abs(centred) <= _MIN_DEVIATION] = 0.0
    scaled: FloatMatrix = centred / np.sqrt(np.where(variances <= _MIN_VARIANCE, 1.0, variances))
    return scaled


def _limited(n_allotted: int, ratio: Fraction, most_anomalies: int, max_train: int | None) -> int:
    """Return how many normal rows train, where all training rows have a limit.

    The largest n with n + min(floor(ratio n), most_anomalies) <= max_train; the first of the
    two is floor((1 + ratio) n), at most max_train as long as (1 + ratio) n < max_train + 1.
    """
    if max_train is None:
        return n_allotted
    return min(
        n_allotted, max(math.ceil((max_train + 1) / (1 + ratio)) - 1, max_train - most_anomalies)
    )


def _rows(table: FloatMatrix, rows: IntVector) -> FloatMatrix:
    selected: FloatMatrix = np.ascontiguousarray(table[rows], np.float64)
    return selected


def _contaminations(values: object) -> tuple[float, ...]:
    """Check contaminations, which must differ; integers become floats."""
    name = "protocol.contaminations"
    if not isinstance(values, list | tuple):
        raise mistyped(name, "be a list of numbers", type(values).__name__)
    rates = tuple(float(exact_rate(value, f"{name}[{i}]")) for i, value in enumerate(values))
    # Reports show six digits.
    if not rates or len({f"{rate:g}" for rate in rates}) < len(rates):
        raise refused(name, "be numbers that differ in six digits, at least one", values)
    return rates
