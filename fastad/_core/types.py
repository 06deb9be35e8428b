"""Names for the arrays and arguments that travel through the package."""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
else:

    class ArrayLike:
        """Input of NumPy's arrays: a name for `help`, which prints NumPy's union in full."""

        __module__ = "numpy.typing"


AnyVector: TypeAlias = npt.NDArray[Any]
FloatVector: TypeAlias = npt.NDArray[np.float64]
FloatMatrix: TypeAlias = npt.NDArray[np.float64]
IntVector: TypeAlias = npt.NDArray[np.int64]
IntMatrix: TypeAlias = npt.NDArray[np.int64]
# Positions among the points of a class, or counts of them.
ShortVector: TypeAlias = npt.NDArray[np.int32]
# Keys have the width of the scores: 32 or 64 bits.
KeyVector: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.int32]
BoolVector: TypeAlias = npt.NDArray[np.bool_]
BoolMatrix: TypeAlias = npt.NDArray[np.bool_]
# 0 for a normal sample, 1 for an anomaly.
LabelVector: TypeAlias = npt.NDArray[np.uint8]
# Integers (int64) unless real sample weights were given (float64).
CountVector: TypeAlias = npt.NDArray[Any]
# Scores as they came, or scores as the thresholds that flag them.
ScoreVector: TypeAlias = npt.NDArray[Any]

Count: TypeAlias = int | float
Threshold: TypeAlias = float | int
# An operating point as a user writes it: 0.01 stands for the decimal 1/100.
Point: TypeAlias = float | Fraction
Points: TypeAlias = Sequence[float] | npt.NDArray[Any]
Label: TypeAlias = bool | int | float | str

Interpolation: TypeAlias = Literal["linear", "conservative"]
Normalize: TypeAlias = Literal["width", "none", "mcclish"]
Quadrature: TypeAlias = Literal["right", "exact"]
ThresholdCriterion: TypeAlias = Literal["youden", "closest", "f1", "cost"]
OnError: TypeAlias = Literal["raise", "record"]
NanPolicy: TypeAlias = Literal["raise", "omit"]
IntervalMethod: TypeAlias = Literal[
    "auto",
    "delong",
    "logit",
    "newcombe",
    "pairs",
    "fiducial",
    "combined",
    "order",
    "inversion",
    "wilson",
    "clopper-pearson",
    "jeffreys",
    "bootstrap",
    "basic",
    "bca",
]
ComparisonMethod: TypeAlias = Literal["auto", "delong", "student", "bootstrap", "permutation"]
IndependentMethod: TypeAlias = Literal[
    "auto", "exact", "delong", "hybrid", "bootstrap", "permutation"
]
Correction: TypeAlias = Literal["holm", "benjamini-hochberg", "bonferroni", "none"]
# Mean length of blocks of a series, or how it is found.
Blocks: TypeAlias = int | Literal["auto"]
