"""What is known of one measure."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["value", "threshold", "curve", "counts"]
Classes = Literal["both", "anomalies", "normals", "any"]
Domain = Literal["rate", "count", "percentile", "positive"]

# Of the ranges that have an end.
_BOUNDS = {
    "[0, 1]": (0.0, 1.0),
    "(0, 1]": (0.0, 1.0),
    "[-1, 1]": (-1.0, 1.0),
    "[0, ∞)": (0.0, math.inf),
    "(-∞, 1]": (-math.inf, 1.0),
}


@dataclass(frozen=True, slots=True)
class Measure:
    """What is known of one measure.

    Attributes
    ----------
    name : str
        Public function, and method of `fastad.evaluation.RankedScores`.
    title : str
        What it is, in a few words.
    label : str
        Short label in tables; with an operating point, what stands before its number.
    numbered : str
        What stands before the number where that is not the label itself.
    compute : callable
        The measure as a function of ordered counts.
    kind : {"value", "threshold", "curve", "counts"}
        What it returns; only values stand in tables.
    operating : str or None
        Parameter that holds the operating point.
    domain : {"rate", "count", "percentile", "positive"}
        Numbers that an operating point may be.
    points : tuple or None
        Operating points where a table names none; None where they are the table's ``fpr``, and
        empty where the label must name one.
    standard : bool
        Whether it belongs to the default set of `fastad.evaluate`.
    classes : {"both", "anomalies", "normals", "any"}
        Classes without which it is undefined.
    weights : {"real", "whole"}
        Sample weights that it takes.
    needs : {"all", "prefix", "values"}
        Whether it reads the whole order, only that above an operating point, or the values of
        the scores.
    ranged : bool
        Whether it takes ``score_range``, the lowest and highest possible score.
    smooth : bool
        Whether a small shift of the scores' distribution moves it little.
    higher_is_better : bool or None
        Direction of merit; None where there is none.
    range : str
        Values that it can take.
    cost : str
        Time beyond the ordering, for g distinct scores.
    source : str
        Where it is defined.
    """

    name: str
    title: str
    label: str
    compute: Callable[..., Any]
    source: str
    kind: Kind = "value"
    numbered: str = ""
    operating: str | None = None
    domain: Domain = "rate"
    points: tuple[Any, ...] | None = None
    standard: bool = False
    classes: Classes = "both"
    weights: Literal["real", "whole"] = "real"
    needs: Literal["all", "prefix", "values"] = "all"
    ranged: bool = False
    smooth: bool = False
    higher_is_better: bool | None = True
    range: str = "[0, 1]"
    cost: str = "O(g)"

    def label_at(self, point: Any) -> str:
        """Return the label at an operating point, None for the default one."""
        if self.operating is None or point is None:
            return self.label
        number = f"{point:d}" if isinstance(point, int) else f"{float(point):g}"
        return f"{self.prefix}{number}"

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest value that it can take, or approach."""
        return _BOUNDS.get(self.range, (-math.inf, math.inf))

    @property
    def prefix(self) -> str:
        """What stands before the number of an operating point."""
        return self.numbered or self.label
