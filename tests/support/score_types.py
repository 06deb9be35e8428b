"""The same scores in several types, most with ties."""

from typing import Any

import numpy as np
import numpy.typing as npt


def of_many_types(raw: npt.NDArray[np.float64]) -> dict[str, npt.NDArray[Any]]:
    """Return scores by type; of int64 beyond 2**53, where floats would merge them."""
    return {
        "float64": raw,
        "float32": raw.astype(np.float32),
        "float16": raw.astype(np.float16),
        "rounded": np.round(raw, 1),
        "int64": np.round(100 * raw).astype(np.int64) + 2**60,
        "uint64": np.round(100 * raw).astype(np.int64).astype(np.uint64) ^ np.uint64(2**63),
        "int8": np.round(9 * raw).astype(np.int8),
    }
