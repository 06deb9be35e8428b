"""Points of the ROC curve that an evaluation keeps for its page."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from fastad._core.page import filled
from fastad._core.text_tables import count_text
from fastad.measures.points import thresholds_from_infinity
from fastad.measures.simplification import simplified
from fastad.ordering.counts import OrderedCounts

_MAX_POINTS = 1000
# Points of all curves of a page, which stays below 200 kB.
_MAX_POINTS_OF_PAGE = 2500
# Curves are recognisable with as many.
_FEWEST_POINTS = 30
_ALPHA = 0.05
# Smaller bounds are of points on straight lines.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class RocPoints:
    """Some points of the ROC curve of a detector, with their exact counts."""

    counts: OrderedCounts  # counts at these points alone
    # Largest distance from the curve of all scores, in TPR at any FPR; 0
    # where it is the same.
    bound: float
    # Whether rows are independent and count as integers, so that rates are binomial.
    is_independent: bool

    def simplify(self, max_points: int) -> "RocPoints":
        """Return fewer points; the bound is on the distance from the curve of all scores."""
        counts = self.counts
        kept, distance = simplified(counts.fps, counts.tps, max_points)
        bound = self.bound + distance / float(counts.n_anomalies)
        return RocPoints(counts.at_points(kept), bound, self.is_independent)

    def plain(self, name: str) -> dict[str, Any]:
        """Return the data of a detector's curves on a page.

        Points are joined in a string, as 30 000 short lists would take more place than their
        numbers: threshold, false and true positives, and the ends of the intervals of both rates.
        """
        counts = self.counts
        totals = [_count(counts.n_normals), _count(counts.n_anomalies)]
        columns = [map(str, thresholds_from_infinity(counts))]
        columns += [map(_count, xs.tolist()) for xs in (counts.fps, counts.tps)]
        if self.is_independent:
            ends = partial(_ends, total=float(counts.n_normals))
            columns.append(map(ends, counts.fps.tolist()))
            ends = partial(_ends, total=float(counts.n_anomalies))
            columns.append(map(ends, counts.tps.tolist()))
        points = ";".join(map(",".join, zip(*columns, strict=True)))
        return {"name": name, "normals": totals[0], "anomalies": totals[1], "points": points}


def roc_points(counts: OrderedCounts, *, is_independent: bool) -> RocPoints | None:
    """Return points of the curve of counts, or None where a class is absent."""
    if not (counts.n_anomalies and counts.n_normals):
        return None
    is_binomial = is_independent and counts.weighting != "real"
    return RocPoints(counts, 0.0, is_binomial).simplify(_MAX_POINTS)


def curves_html(curves: Mapping[str, RocPoints]) -> str:
    """Return the curves of detectors in HTML, with a threshold to move."""
    n_points = max(_FEWEST_POINTS, min(_MAX_POINTS, _MAX_POINTS_OF_PAGE // len(curves)))
    shown = {name: curve.simplify(n_points) for name, curve in curves.items()}
    data = [curve.plain(name) for name, curve in shown.items()]
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return filled("fastad.evaluation", "curves.html", caption=_caption(shown), data=text)


def _caption(curves: Mapping[str, RocPoints]) -> str:
    """Return the distance that shown curves may have from the curves of all scores."""
    bound = max(curve.bound for curve in curves.values())
    n_most = max(curve.counts.fps.shape[0] for curve in curves.values())
    if bound == 0:
        drawn = "Curves are drawn through all their points, where the threshold stops."
    elif bound < _ROUNDING:
        drawn = (
            f"Curves are of all scores. The threshold stops at no more than "
            f"{count_text(n_most, 'point')} of each, where counts are exact."
        )
    else:
        drawn = (
            f"Curves are drawn through at most {count_text(n_most, 'point')}, where the threshold "
            f"stops and counts are exact. At no false positive rate is a curve more than "
            f"{_rounded_up(bound)} above or below the curve of all scores."
        )
    if all(curve.is_independent for curve in curves.values()):
        level = f"{100 * (1 - _ALPHA):g} %"
        drawn += f" Intervals are the exact {level} intervals of binomial proportions."
    else:
        drawn += " Rates have no interval where rows depend on each other or have real weights."
    return drawn


def _rounded_up(bound: float) -> str:
    """Return a number with two digits that is not below another."""
    digits = 1 - math.floor(math.log10(bound))
    return f"{math.ceil(bound * 10**digits) / 10**digits:.2g}"


def _ends(k: float, total: float) -> str:
    # Here, because SciPy's functions take a sixth of a second to import.
    from fastad.uncertainty.samples.closed_forms import clopper_pearson

    low, high = clopper_pearson(k, total, _ALPHA)
    return f"{low:.4g},{high:.4g}"


def _count(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.9g}"
