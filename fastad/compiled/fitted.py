"""Reading fitted estimators."""

import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad.errors import InvalidInputError


def is_exactly(estimator: Any, module: str, name: str) -> bool:
    """Tell whether an estimator is of a class, and of no subclass, which may score otherwise.

    The estimator's library is imported, or else it is no estimator of that library.
    """
    return type(estimator) is getattr(sys.modules.get(module), name, object())


def check_fitted(fitted: Any, module: str, name: str, attribute: str) -> None:
    """Check the class of an estimator, and that fitting has set an attribute."""
    found = type(fitted)
    if not is_exactly(fitted, module, name):
        raise InvalidInputError(
            f"fitted must be the {name} of {module}, and no subclass; found "
            f"{found.__module__}.{found.__qualname__}"
        )
    if not hasattr(fitted, attribute):
        raise InvalidInputError(f"fitted must be fitted; found an unfitted {name}")


def floats(values: Any) -> npt.NDArray[np.float64]:
    """Return a copy of fitted values, which later fits do not change; sparse ones become dense."""
    dense = values.toarray() if hasattr(values, "toarray") else values
    return np.array(dense, np.float64, order="C")
