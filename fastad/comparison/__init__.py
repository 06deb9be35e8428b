"""Which detector, which measure, which operating point: comparisons over many data sets.

What is public here is so from `fastad` too.
"""

from typing import Any

import fastad


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(fastad, name)
    raise AttributeError(f"module 'fastad.comparison' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__


__all__ = sorted(
    name
    for home, names in fastad._HOMES.items()
    if home.startswith("comparison.")
    for name in names
)
