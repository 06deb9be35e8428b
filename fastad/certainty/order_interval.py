"""The interval of one point of the ROC curve, from the exact laws of its band."""

from dataclasses import replace
from fractions import Fraction

from fastad._arguments import exact_rate
from fastad._validate import fixed
from fastad.certainty.asked import Asked
from fastad.certainty.bands import roc_band_of
from fastad.certainty.proportions import Bounds
from fastad.counts import OrderedCounts


def order_interval(counts: OrderedCounts, asked: Asked, level: Fraction) -> Bounds:
    """Return bounds on the TPR at an FPR, or on the FPR at a TPR; see `fastad.roc_band`."""
    if "fpr" in asked.options:
        return _tpr_bounds(counts, exact_rate(asked.options["fpr"], "fpr"), level)
    low, high = _tpr_bounds(
        _other_way_round(counts), 1 - exact_rate(asked.options["tpr"], "tpr"), level
    )
    return 1 - high, 1 - low


def _tpr_bounds(counts: OrderedCounts, fpr: Fraction, level: Fraction) -> Bounds:
    band = roc_band_of(counts, fpr, simultaneous=False, confidence_level=level)
    return band.low.item(), band.high.item()


def _other_way_round(counts: OrderedCounts) -> OrderedCounts:
    """Return the counts of negated scores with the classes exchanged.

    There the FPR is 1 - TPR of here, and the TPR 1 - FPR.
    """
    return replace(
        counts,
        fps=fixed((counts.n_anomalies - counts.tps)[::-1]),
        tps=fixed((counts.n_normals - counts.fps)[::-1]),
        n_anomalies=counts.n_normals,
        n_normals=counts.n_anomalies,
    )
