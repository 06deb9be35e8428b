"""Checks of the options of a comparison."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastad._core.parameters import check_choice
from fastad._core.progress import Progress
from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure
from fastad.uncertainty.influence import has_influence

# Methods by a variance that is a sum over the samples, which smooth measures have.
NORMAL_METHODS = ("delong", "student")


@dataclass(frozen=True, slots=True, eq=False)
class ComparisonOptions:
    """Options of a comparison, checked.

    Attributes
    ----------
    method : str
        One of the methods, or "auto".
    level : Fraction
        Confidence level.
    n_resamples, stratified, key
        Of replicates and permutations; the key is that of their random numbers.
    min_difference : Fraction or None
        The smallest difference of interest.
    power : Fraction
        Probability with which that is to be detected.
    progress : Progress or None
        Reports how many replicates are done.
    """

    method: str
    level: Fraction
    n_resamples: int
    stratified: bool
    key: np.uint64
    min_difference: Fraction | None
    power: Fraction
    progress: Progress | None = None

    @property
    def alpha(self) -> float:
        """Nominal probability that an interval does not cover the true difference."""
        return float(1 - self.level)


def check_method_of_comparison(
    bound: BoundMeasure, method: str, methods: Mapping[str, Callable[..., Any]]
) -> None:
    """Check that a measure says which detector is better, and that a method can compare it."""
    check_choice(method, ("auto", *methods), "method")
    if bound.measure.higher_is_better is None:
        raise InvalidInputError(
            f"measure must be one of which more, or less, is better; found {bound.key}",
            argument="measure",
        )
    if method in NORMAL_METHODS and not has_influence(bound.measure):
        *others, last = [repr(other) for other in methods if other not in NORMAL_METHODS]
        raise InvalidInputError(
            f"method must be {', '.join(others)} or {last} for {bound.measure.name}, because "
            f"{method!r} needs a smooth measure; found {method!r}",
            argument="method",
        )
