"""Detectors that are trained anew: from what makes them to the score that they learn."""

import copy
import importlib.util
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from fastad._core.parameters import short_repr
from fastad._core.types import FloatMatrix
from fastad.detectors.compilation import compile_scorer
from fastad.errors import InvalidInputError
from fastad.regions.estimation import Score

# An estimator to fit, or a function that learns a score from data.
Factory: TypeAlias = Any

_LARGEST_SEED = 2**32


def check_factory(factory: Factory, name: str) -> Factory:
    """Check that something makes detectors."""
    if not hasattr(factory, "fit") and not callable(factory):
        raise TypeError(
            f"{name} must have a method fit, or be a function of the data that returns a score; "
            f"found {short_repr(factory)}"
        )
    return factory


def named_once(values: Mapping[Any, Any], name: str) -> dict[str, Any]:
    """Return values by names as text, none of them twice."""
    named = {str(key): value for key, value in values.items()}
    if len(named) < len(values):
        raise InvalidInputError(
            f"{name} must have names that differ as text; found equal ones", argument=name
        )
    return named


def train(factory: Factory, X: FloatMatrix, rng: np.random.Generator) -> Score:
    """Train a detector on data, and return its score.

    An estimator is copied first, and what draws lots in it gets a seed of its own.
    """
    if not hasattr(factory, "fit"):
        return factory(X)
    estimator = _copy(factory)
    if hasattr(estimator, "get_params"):
        seeds = {
            name: int(rng.integers(_LARGEST_SEED))
            for name in sorted(estimator.get_params())
            if name == "random_state" or name.endswith("__random_state")
        }
        estimator.set_params(**seeds)
    return compile_scorer(estimator.fit(X))


def _copy(factory: Factory) -> Factory:
    """Return an estimator without what it has learnt."""
    if hasattr(factory, "get_params") and importlib.util.find_spec("sklearn") is not None:
        from sklearn.base import clone

        return clone(factory)
    return copy.deepcopy(factory)
