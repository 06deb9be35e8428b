"""The interval of Kendall's concordance over data sets."""

import math

import numpy as np

from fastad._core.types import FloatMatrix, FloatVector, IntMatrix, IntVector

# Below it, an interval covers the true concordance in less than 92 of 100 samples where two kinds
# of data sets order detectors the one way and the other.
MIN_DATASETS = 3
# Halvings of [0, 1]; more change no digit that is printed.
_HALVINGS = 40


def concordance_interval(
    deviations: IntMatrix, clusters: IntVector, confidence_level: float
) -> tuple[float, float]:
    """Return an interval of the concordance of all data sets of which some were drawn.

    With u the deviations of the ranks of a data set from their mean and μ their expectation, the
    concordance is V = |μ|² / E|u|². Kendall's W is the same of the mean of n data sets, where
    |mean(u)|² has the expectation |μ|² + (E|u|² - |μ|²) / n: W exceeds V by (1 - V) / n. The
    interval contains W and whatever of the following reaches farther.

    - A score interval. The variance of u is 1 - V in units of E|u|², as ranks have one length: it
      is known where V is, as for a proportion. A fraction c of it lies in one direction on
      average, c = tr(Σ²) / tr(Σ)² of the covariance Σ over data sets. In the direction of μ the
      mean of data sets is nearly normal, which bounds V above by Wilson's interval,
      sqrt(V) <= sqrt(W) + z sqrt(c (1 - V) / n). n W / (c (1 - V)) is nearly noncentral
      chi-squared with 1/c degrees of freedom and noncentrality n V / (c (1 - V)), which bounds V
      below: there the other directions count, which make W large without concordance.
    - The jackknife of the unbiased estimate (n W - 1) / (n - 1), the mean rank correlation of
      two data sets, by Student's quantiles of Fisher's z: in it data sets may have whatever
      distribution, but not where they are few or nearly identical.

    Problems of one data set are one in the jackknife, and count in n as their covariance says.

    ``deviations`` is twice the deviation of each problem's ranks from their mean, not 0 everywhere;
    ``clusters`` the data set of each problem. Both ends are NaN for fewer than three data sets.
    """
    index, sizes = np.unique(clusters, return_inverse=True, return_counts=True)[1:]
    n = len(sizes)
    if n < MIN_DATASETS:
        return math.nan, math.nan
    sums = np.zeros((n, deviations.shape[1]))
    lengths = np.zeros(n)
    np.add.at(sums, index, deviations)
    np.add.at(lengths, index, np.sum(deviations.astype(np.float64) ** 2, axis=1))
    total = sums.sum(axis=0)
    w = float(total @ total / (sizes.sum() * lengths.sum()))
    tail = (1 - confidence_level) / 2
    ends = [w, w, *_score(w, sums, lengths, sizes, tail), *_jackknife(sums, lengths, sizes, tail)]
    defined = [min(max(end, 0.0), 1.0) for end in ends if not math.isnan(end)]
    return min(defined), max(defined)


def _score(
    w: float, sums: FloatMatrix, lengths: FloatVector, sizes: IntVector, tail: float
) -> tuple[float, float]:
    """Return the ends at which W is as unlikely as a tail, with the variance that V says."""
    # Here, because SciPy's special functions take a tenth of a second to import.
    from scipy.special import chndtr, ndtri

    n_problems = float(sizes.sum())
    # Integers, so that identical data sets have no variance at all.
    around = n_problems * sums - sizes[:, np.newaxis] * sums.sum(axis=0)
    variance = float(np.sum(around**2)) / n_problems**2
    c, n = 1.0, float(len(sizes))
    if variance > 0:
        products = (around / n_problems) @ (around / n_problems).T
        c = min(float(np.sum(products**2)) / variance**2, 1.0)
        n = min(n_problems * float(lengths.sum()) * (1 - w) / variance, n_problems)

    def lower_tail(v: float) -> float:
        unit = n / (c * (1 - v))
        return float(chndtr(unit * w, 1 / c, unit * v))

    low, high = 0.0, w if lower_tail(0.0) > 1 - tail else 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if middle < 1 and lower_tail(middle) > 1 - tail:
            low = middle
        else:
            high = middle
    ratio = float(ndtri(tail)) ** 2 * c / n
    root = math.sqrt(w) + math.sqrt(max(ratio * (1 + ratio - w), 0.0))
    return low, (root / (1 + ratio)) ** 2


def _jackknife(
    sums: FloatMatrix, lengths: FloatVector, sizes: IntVector, tail: float
) -> tuple[float, float]:
    """Return the ends by the unbiased estimates that leave out one data set each."""
    from scipy.special import stdtrit

    n = len(sizes)
    # The first row leaves out nothing.
    left_out = np.vstack([np.zeros(sums.shape[1]), sums])
    squares = np.sum(left_out**2, axis=1)
    missing_lengths, missing = np.append(0.0, lengths), np.append(0, sizes)
    # Mean product of two data sets, divided by the mean product of a problem with itself.
    products = np.sum((sums.sum(axis=0) - left_out) ** 2, axis=1) - (squares.sum() - squares)
    count = sizes.sum() - missing
    pairs = count**2 - (np.sum(sizes**2) - missing**2)
    with np.errstate(invalid="ignore", divide="ignore"):
        estimates = products / pairs / ((lengths.sum() - missing_lengths) / count)
    whole, parts = float(estimates[0]), estimates[1:]
    error = math.sqrt((n - 1) / n * float(np.sum((parts - parts.mean()) ** 2)))
    if not (math.isfinite(error) and abs(whole) < 1):
        return math.nan, math.nan
    reach = -float(stdtrit(n - 1, tail)) * error / (1 - whole**2)
    return math.tanh(math.atanh(whole) - reach), math.tanh(math.atanh(whole) + reach)
