"""Results: intervals, the effect of a sampling design, and the covariance of detectors.

No SciPy is needed here, so that evaluations can name them without loading it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt

from fastad._core.results import Record, ShortRepr
from fastad._core.text_tables import level_text
from fastad._core.user_warnings import warn_user
from fastad.errors import LowCoverageWarning, UndefinedMeasureError

# Reason why an interval without a width is unreliable.
NO_WIDTH = "the estimated variance is zero and the interval has no width"
# Intervals at 95 % that cover less often than this are reported as unreliable.
LEAST_COVERAGE = 0.92
# Clusters or blocks from which on the variance between them is known well enough: of 30 or 40, of
# which every twentieth is far from the others, intervals covered in 78 to 91 % of samples.
ENOUGH_UNITS = 50

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def or_error(
    function: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Result | UndefinedMeasureError:
    """Return a result, or why it is undefined."""
    try:
        return function(*args, **kwargs)
    except UndefinedMeasureError as error:
        # Its traceback would keep the arrays of the function alive.
        return error.with_traceback(None)


def warn_if_noted(measure: str, note: str | None) -> None:
    """Warn why a result of a measure is unreliable, unless it is reliable."""
    if note is not None:
        warn_user(f"{measure}: {note}", LowCoverageWarning)


@dataclass(frozen=True, slots=True)
class SamplingEffect(Record):
    """Loss of information by samples that depend on each other, or have weights.

    Attributes
    ----------
    kind : {"clusters", "blocks", "weights"}
        Why they do.
    n_units : float
        Number of clusters, of blocks (rows over their mean length), or of rows.
    block_length : float or None
        Mean length of blocks.
    design_effect : float
        Variance of the area under the ROC curve over its variance for as many independent rows of
        equal weights.
    effective_anomalies, effective_normals : float
        Numbers of independent samples of equal weights from which each class's part of this
        variance would be the same; at most the numbers of rows.
    """

    kind: str
    n_units: float
    block_length: float | None
    design_effect: float
    effective_anomalies: float
    effective_normals: float

    @property
    def reliability_note(self) -> str | None:
        """Reason why intervals are unreliable, or None."""
        if self.kind == "weights" or self.n_units >= ENOUGH_UNITS:
            return None
        return (
            f"with {self.n_units:.3g} {self.kind}, fewer than {ENOUGH_UNITS}, how much they "
            "vary is hardly known"
        )

    def __str__(self) -> str:
        blocks = "" if self.block_length is None else f" of {self.block_length:.3g} rows"
        units = "" if self.kind == "weights" else f"{self.n_units:.4g} {self.kind}{blocks}, "
        return (
            f"{units}design effect {self.design_effect:.3g}: as much as "
            f"{self.effective_anomalies:.4g} independent anomalies and "
            f"{self.effective_normals:.4g} normal samples"
        )


def largest_effect(effects: Iterable[SamplingEffect | None]) -> SamplingEffect | None:
    """Return the effect on the detector whose area has the largest design effect."""
    known = [effect for effect in effects if effect is not None]
    # NaN is of an area without a variance.
    return max(known, key=lambda effect: np.nan_to_num(effect.design_effect), default=None)


@dataclass(frozen=True, slots=True)
class Interval(Record):
    """A value and its confidence interval.

    Attributes
    ----------
    value : float
        The measure on the data.
    low, high : float
        Ends of the interval.
    standard_error : float
        From the variance of a closed form, or the standard deviation of the replicates of a
        bootstrap, or of the middles of random curves; NaN where the method has none (``"order"``
        and ``"pairs"``).
    confidence_level : float
        Nominal probability that such an interval covers the true value, in (0, 1).
    method : str
        How it was computed, never "auto": by this method the interval is the same, unless hidden
        anomalies were a range of fractions that begins at 0.
    coverage : float or None
        Lowest coverage of such intervals at 95 % on generated data, over six families of scores,
        with no more samples of either class or beyond the operating point; None where the method
        was not selected by it, but because theory bounds it or the method knows the distribution of
        the rates for any numbers of samples; NaN where it is not known.
    n_resamples : int
        Number of replicates; 0 for a closed form.
    n_undefined : int
        How many of them left the measure undefined, and were left out.
    sampling : SamplingEffect or None
        Effect of clusters, blocks or real weights, where samples have them.
    selection : str or None
        Why ``method="auto"`` selected the method; None where a method was given.
    """

    value: float
    low: float
    high: float
    standard_error: float
    confidence_level: float
    method: str
    coverage: float | None = None
    n_resamples: int = 0
    n_undefined: int = 0
    sampling: SamplingEffect | None = None
    selection: str | None = None

    _optional = ("sampling", "selection")

    @property
    def reliability_note(self) -> str | None:
        """Reason why the interval is unreliable, or None."""
        # Replicates of equal values differ by rounding.
        if math.isclose(self.low, self.high, rel_tol=1e-12):
            return NO_WIDTH
        if self.sampling is not None and self.sampling.reliability_note is not None:
            return self.sampling.reliability_note
        return coverage_note(self.coverage, self.method)

    @property
    def ends(self) -> str:
        """The value and the ends as a string, for tables whose heads say the rest."""
        return f"{self.value:.4f} [{self.low:.4f}, {self.high:.4f}]"

    def __str__(self) -> str:
        level = f"{level_text(self.confidence_level)}, {self.method}"
        note = "" if self.reliability_note is None else f"; unreliable: {self.reliability_note}"
        return f"{self.ends} ({level}{note})"


def reason_of_selection(coverage: float | None, method: str, kind: str | None) -> str:
    """Return the reason why `auto` selected a method, from the coverage that the result has.

    ``kind`` is the reason why rows depend or differ: clusters, blocks or weights.
    """
    if kind is not None:
        article = "no" if method in ("bootstrap", "basic") else "a"
        return f"the measure has {article} closed form of its variance over {kind}"
    if coverage is None and method == "fiducial":
        return "the distribution of the rates at all ranks is known for any numbers of samples"
    if coverage is None:
        return "theory bounds its coverage for such samples"
    if coverage != coverage:
        return "of no method the coverage on such samples is known"
    return (
        f"covers the true value in at least {coverage:.1%} of generated samples of this size: of "
        "the methods that cover it often enough the narrowest, or else the one that does most often"
    )


def lowest_coverage(intervals: Iterable[Interval]) -> float | None:
    """Return the lowest coverage that intervals have; NaN, which is not known, is lower still."""
    coverages = [interval.coverage for interval in intervals if interval.coverage is not None]
    return min(coverages, key=lambda x: -1.0 if x != x else x, default=None)


def coverage_note(coverage: float | None, method: str) -> str | None:
    """Return why intervals of such a coverage are unreliable, or None."""
    if coverage is None or coverage >= LEAST_COVERAGE:
        return None
    if coverage != coverage:
        return f"the coverage of intervals by {method!r} on such data is not known"
    return (
        f"on generated data of this size 95 % intervals by {method!r} cover the true value in "
        f"{coverage:.0%} of the samples"
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Covariance(ShortRepr):
    """Values of several detectors on the same samples, and their covariance.

    Attributes
    ----------
    names : sequence of str
        Names of the detectors.
    values : numpy.ndarray of shape (n_detectors,)
        The measure of each.
    matrix : numpy.ndarray of shape (n_detectors, n_detectors)
        Covariances of the values over samples like this one.
    """

    names: Sequence[str]
    values: npt.NDArray[np.float64]
    matrix: npt.NDArray[np.float64]
