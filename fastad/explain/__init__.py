"""Definitions of other libraries, and common mistakes, behind a printed number."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.explain.explanation import Explanation as Explanation
    from fastad.explain.explanation import MatchingDefinition as MatchingDefinition
    from fastad.explain.explanation import explain as explain

__getattr__, __dir__, __all__ = lazy_names()
