"""The distribution of the threshold at a false positive rate, and means under it.

The threshold at a false positive rate p is uncertain: on other samples it would be another one. Of
the m normals draw h without replacement and keep the lowest threshold that flags at most the
fraction p of them: just above the normal of rank k + 1 among the h, k = floor(p h). It depends
on normals alone. J of all normals lie above it, by a negative hypergeometric distribution (tied
normals in random order)::

    P(J = j) = C(j, k) C(m - 1 - j, h - k - 1) / C(m, h),    j = k, ..., m - h + k.

The measures in `localized` are means of the height of the ROC curve under weights made of that
distribution; `gaussian_weighted_auc` has the distribution of m other normals at one threshold.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np

from fastad._core.arrays import as_readonly
from fastad._core.types import CountVector, FloatVector
from fastad.errors import InvalidInputError
from fastad.ordering.counts import OrderedCounts

# Listing them takes a third of a second; only weights of a billion samples ask for more.
_MOST_RATES = 2**22
# Probabilities below this part of the largest one cannot move the sixteenth digit of a sum.
_NEGLIGIBLE = 1e-18
# Floats decide unless they are so close to the bound, relative to it; then integers do.
_CLOSE = 1e-9
# Most normals that are counted exactly; beyond, a bound that floats cannot tell is exceeded.
_LARGEST_EXACT = 5_000
# exp(-60) is nothing beside 1.
_FAR = 60.0
# Standard deviations from the mean beyond which a normal density is 0.
_OUTSIDE = 50.0
# A piece of the curve is short if the distance to the ends of [0, 1], and four standard deviations
# of the weights, are this many times its width: then five points make its mean good to 13 digits.
_SHORT = 8.0
_NODES, _NODE_WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(5))
# The same for all detectors of a table and all replicates of a bootstrap.
_remembered = lru_cache(maxsize=64)


class _Distribution(NamedTuple):
    """Numbers of normals above the threshold: ``first``, and from there on one by one."""

    first: int
    probabilities: FloatVector


class _Weights(Protocol):
    """Weights over [0, 1], of total 1: the mass beyond x, and its first moment."""

    @property
    def deviation(self) -> float: ...
    def beyond(self, x: FloatVector) -> FloatVector: ...
    def moment_beyond(self, x: FloatVector) -> FloatVector: ...


def _moments(m: int, h: int, k: int) -> tuple[Fraction, Fraction]:
    mean = Fraction((k + 1) * (m + 1), h + 1) - 1
    variance = Fraction((m + 1) * (m - h) * (k + 1) * (h - k), (h + 1) ** 2 * (h + 2))
    return mean, variance


@_remembered
def threshold_distribution(m: int, h: int, k: int) -> _Distribution:
    """Return the distribution as far as it matters."""
    mean, variance = _moments(m, h, k)
    lowest, highest = k, m - h + k
    reach = 10.0
    while True:
        spread = reach * math.sqrt(variance) + 1
        first, last = max(lowest, math.floor(mean - spread)), min(highest, math.ceil(mean + spread))
        if last - first > _MOST_RATES:
            raise InvalidInputError(
                "y_true must have so few normal samples that the rates of subsamples can be "
                f"listed one by one, up to {_MOST_RATES}; found more for {h} of {m}"
            )
        likelihoods = _likelihoods(m, h, k, first, last)
        kept = np.flatnonzero(likelihoods > _NEGLIGIBLE * likelihoods.max())
        # The distribution falls on both sides of its mode: beyond an end that is negligible all is.
        if (kept[0] > 0 or first == lowest) and (kept[-1] < last - first or last == highest):
            break
        reach *= 2
    likelihoods = likelihoods[kept[0] : kept[-1] + 1]
    return _Distribution(first + int(kept[0]), as_readonly(likelihoods / math.fsum(likelihoods)))


def _likelihoods(m: int, h: int, k: int, first: int, last: int) -> FloatVector:
    """Return the probabilities of the numbers from first to last, relative to the mode's."""
    j = np.arange(first, last, dtype=np.float64)
    growth = (j + 1) / (j + 1 - k) * ((m - h + k - j) / (m - 1 - j))
    # From the mode outwards, so that errors grow where the distribution falls.
    mode = min(max(k * m // (h - 1) if h > 1 else k, first), last) - first
    likelihoods = np.ones(last - first + 1)
    np.cumprod(growth[mode:], out=likelihoods[mode + 1 :])
    np.cumprod(1 / growth[:mode][::-1], out=likelihoods[:mode][::-1])
    return likelihoods


@_remembered
def central_range(m: int, h: int, k: int, coverage: Fraction) -> tuple[int, int]:
    """Return the ends of the part of the distribution with equal tails."""
    outside = (1 - coverage) / 2
    # From the lowest score upwards it is the distribution of the h - k - 1 normals below.
    return _lower_end(m, h, k, outside), m - 1 - _lower_end(m, h, h - k - 1, outside)


def _lower_end(m: int, h: int, k: int, outside: Fraction) -> int:
    """Return the largest j with P(J < j) at most a fraction that is to lie outside."""
    distribution = threshold_distribution(m, h, k)
    below = np.cumsum(distribution.probabilities) - distribution.probabilities
    bound = float(outside)
    fits = below <= bound
    fits[0] = True
    for i in np.flatnonzero(np.abs(below - bound) <= _CLOSE * bound).tolist():
        fits[i] = m <= _LARGEST_EXACT and _is_exactly_within(
            m, h, k, distribution.first + i, outside
        )
    return distribution.first + int(np.flatnonzero(fits)[-1])


def _is_exactly_within(m: int, h: int, k: int, j: int, outside: Fraction) -> bool:
    """Tell in integers whether P(J < j) is at most a fraction."""
    ways, term = 0, math.comb(m - 1 - k, h - k - 1)
    for i in range(k, j):
        ways += term
        term = term * (i + 1) * (m - h + k - i) // ((i + 1 - k) * (m - 1 - i))
    return ways * outside.denominator <= outside.numerator * math.comb(m, h)


def heights_at(counts: OrderedCounts, fps: CountVector) -> FloatVector:
    """Return TPR at integers of false positives, at the upper end of a vertical piece."""
    left = np.searchsorted(counts.fps, fps, side="right") - 1
    right = np.minimum(left + 1, counts.fps.shape[0] - 1)
    start, end = counts.fps[left], counts.fps[right]
    along = (fps - start) / np.maximum(end - start, 1)
    below, above = counts.tps[left], counts.tps[right]
    heights: FloatVector = (below + (above - below) * along) / counts.n_anomalies
    return heights


def mean_height(counts: OrderedCounts, weights: _Weights) -> float:
    """Return the mean of TPR: an anomaly counts by the weight that lies beyond its position.

    That is the integral of TPR by parts. Tied normals spread the anomaly over a range of positions,
    of whose weights it takes the mean.
    """
    steps = np.flatnonzero(np.diff(counts.fps))
    # Each position once, whatever the number of anomalies at it.
    first, last = np.append(0, steps + 1), np.append(steps, counts.fps.shape[0] - 1)
    upright = counts.tps[last] - counts.tps[first]
    sloped = counts.tps[steps + 1] - counts.tps[steps]
    where = (first[upright > 0], steps[sloped > 0], steps[sloped > 0] + 1)
    at, starts, ends = (counts.fps[points] / counts.n_normals for points in where)
    beyond = np.concatenate([weights.beyond(at), _mean_beyond(weights, starts, ends)])
    rises = np.concatenate([upright[upright > 0], sloped[sloped > 0]])
    return math.fsum(rises * beyond) / counts.n_anomalies


def _mean_beyond(weights: _Weights, starts: FloatVector, ends: FloatVector) -> FloatVector:
    """Return the mean of the mass beyond over ranges that each have a width.

    The closed form is a difference, divided by the width: of a short range it would keep few
    digits.
    """
    if starts.shape[0] == 0:
        return starts
    highest, lowest = weights.beyond(starts), weights.beyond(ends)
    # Beyond weights of 2^53, positions that are next to each other may be one float.
    widths = np.maximum(ends - starts, np.finfo(np.float64).tiny)
    means = ends * lowest - starts * highest
    means += weights.moment_beyond(starts) - weights.moment_beyond(ends)
    means /= widths
    room = np.minimum(np.minimum(starts, 1 - ends), 4 * weights.deviation)
    short = np.flatnonzero(_SHORT * widths <= room)
    if short.shape[0]:
        middles = (starts[short] + ends[short]) / 2
        means[short] = 0.0
        for node, node_weight in zip(_NODES, _NODE_WEIGHTS, strict=True):
            means[short] += node_weight * weights.beyond(middles + node * widths[short])
    # The mass beyond falls: rounding must not take its mean out of the range.
    return np.clip(means, lowest, highest)


@dataclass(frozen=True, slots=True)
class BetaWeights:
    """A beta density."""

    a: float
    b: float
    mean: float
    deviation: float

    @staticmethod
    @_remembered
    def of(m: int, h: int, k: int) -> "BetaWeights":
        """Return the density with mean and variance of the distribution."""
        mean, variance = (part / m**i for i, part in enumerate(_moments(m, h, k), start=1))
        # Positive: only a distribution of 0 and 1 has the largest possible variance.
        strength = mean * (1 - mean) / variance - 1
        a, b = mean * strength, (1 - mean) * strength
        return BetaWeights(float(a), float(b), float(mean), math.sqrt(variance))

    def beyond(self, x: FloatVector) -> FloatVector:
        """Return the mass beyond x."""
        return self._beyond(self.a, x)

    def moment_beyond(self, x: FloatVector) -> FloatVector:
        """Return the first moment beyond x."""
        return self.mean * self._beyond(self.a + 1, x)

    def _beyond(self, a: float, x: FloatVector) -> FloatVector:
        """Return the mass beyond x of a density with this b, asked for only where it varies.

        Beyond x the mass is at most exp(-d (a + b)) with the divergence d of x from the mean, on
        the other side of the mean below x.
        """
        divergence = _special("rel_entr")(self.mean, x) + _special("rel_entr")(1 - self.mean, 1 - x)
        mass: FloatVector = np.where(x < self.mean, 1.0, 0.0)
        near = np.flatnonzero((self.a + self.b) * divergence < _FAR)
        mass[near] = _special("betaincc")(a, self.b, x[near])
        return mass


@dataclass(frozen=True, slots=True)
class NormalWeights:
    """A normal density, of which only the part in [0, 1] counts."""

    centre: float
    deviation: float
    inside: float
    above: float

    @staticmethod
    @_remembered
    def of(m: int, rate: Fraction) -> "NormalWeights":
        """Return the density of the rate of m samples."""
        centre, deviation = float(rate), math.sqrt(rate * (1 - rate) / m)
        if deviation == 0:
            return NormalWeights(centre, deviation, 0.0, 0.0)
        ends = np.array([-centre, float(rate - 1)]) / deviation
        below, above = _special("ndtr")(ends).tolist()
        return NormalWeights(centre, deviation, 1 - below - above, above)

    def beyond(self, x: FloatVector) -> FloatVector:
        """Return the mass beyond x."""
        # Between the ends, where rounding must not leave [0, 1] either.
        upper = _special("ndtr")((self.centre - x) / self.deviation)
        return np.clip((upper - self.above) / self.inside, 0.0, 1.0)

    def moment_beyond(self, x: FloatVector) -> FloatVector:
        """Return the first moment beyond x."""
        z = (np.stack([x, np.ones_like(x)]) - self.centre) / self.deviation
        z = np.minimum(np.abs(z), _OUTSIDE)
        here, end = np.exp(-(z**2) / 2) * (self.deviation / math.sqrt(2 * math.pi))
        moment: FloatVector = self.centre * self.beyond(x) + (here - end) / self.inside
        return moment


def _special(name: str) -> Callable[..., FloatVector]:
    """Return a function of SciPy, which the measures without it need not load."""
    from scipy import special

    function: Callable[..., FloatVector] = getattr(special, name)
    return function
