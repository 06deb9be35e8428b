"""Influences of points on the area under a curve, and how they spread."""

from fastad._core.jit import kernel
from fastad._core.types import CountVector, FloatVector


@kernel
def add_under(
    ys: CountVector,  # (g + 1,) counts of the upright class
    xs: CountVector,  # (g + 1,) counts of the level class
    end: float,  # of the range, as a fraction of the level class
    last: int,  # the piece that it lies on
    cut_by_expectation: bool,  # noqa: FBT001 - kernels take no keywords
    sign: float,
    upright: FloatVector,  # (g,) added to here
    level: FloatVector,  # (g,) added to here
) -> None:
    """Add the influences on the area from 0 to the end of a range, not centred.

    A point of the upright class at x adds the width on which it is counted, end - x. A point of
    the level class adds the height at its position less the height at the end, which moves with it.
    In a tie, which is a sloped piece, points lie evenly along it; or, cut by expectation, each
    lies anywhere on it and a cut takes a fraction of each.
    """
    wide = float(xs[-1])
    high = float(ys[-1])
    width = (xs[last + 1] - xs[last]) / wide
    fraction = 1.0
    at_end = 1.0  # where the curve is upright the range ends at its upper end
    if width > 0.0:
        fraction = min((end - xs[last] / wide) / width, 1.0)
        at_end = 0.5 if cut_by_expectation and fraction < 1.0 else fraction
    top = (ys[last] + (ys[last + 1] - ys[last]) * at_end) / high
    for i in range(last + 1):
        x = xs[i] / wide
        width = (xs[i + 1] - xs[i]) / wide
        covered = fraction if i == last else 1.0
        # Mean position of the covered points along the piece.
        along = 0.5 if cut_by_expectation and covered > 0.0 else covered / 2
        upright[i] += sign * (width * covered * along + max(end - x - width, 0.0))
        # Also where the class has no point: one more would tie with points of the other class.
        height = (ys[i + 1] - ys[i]) / high
        level[i] += sign * covered * (ys[i] / high - top + height * along)


@kernel
def centre(
    values: FloatVector,  # (g,) changed here
    cumulative: CountVector,  # (g + 1,) counts of the class
) -> None:
    """Subtract the mean over the points of a class."""
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i] * (cumulative[i + 1] - cumulative[i])
    mean = total / cumulative[-1]
    for i in range(values.shape[0]):
        values[i] -= mean


@kernel
def sum_of_powers(
    values: FloatVector,  # (g,)
    cumulative: CountVector,  # (g + 1,) counts of the class
    power: int,
) -> float:
    """Add up a power of the values over the points of a class."""
    total = 0.0
    for i in range(values.shape[0]):
        total += values[i] ** power * (cumulative[i + 1] - cumulative[i])
    return total
