"""Means over data sets, and their intervals from resampled data sets."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_all_readonly
from fastad._core.parameters import check_count, check_float_level, check_generator
from fastad._core.results import ShortRepr
from fastad._core.types import FloatMatrix, IntVector, Point
from fastad.benchmarking.means import defined_mean

# A replicate whose data sets are identical but for rounding has no standard error.
_TINY = 1e-6


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Means(ShortRepr):
    """Means over data sets with their intervals; arrays of one shape."""

    # Mean and interval; NaN where no data set is defined, the interval also where one alone is.
    value: npt.NDArray[np.float64]
    low: npt.NDArray[np.float64]
    high: npt.NDArray[np.float64]
    n: npt.NDArray[np.int64]  # number of problems behind each mean
    n_undefined: npt.NDArray[np.int64]  # number of problems that are left out


@dataclass(frozen=True, slots=True, eq=False)
class Averages:
    """Means over data sets and their replicates."""

    value: npt.NDArray[np.float64]  # means; NaN where no data set is defined
    replicates: npt.NDArray[np.float64]  # means of resampled data sets
    # Numbers of problems behind each mean, and left out.
    n: npt.NDArray[np.int64]
    n_undefined: npt.NDArray[np.int64]
    n_clusters: npt.NDArray[np.int64]  # number of data sets behind each mean
    error: npt.NDArray[np.float64]  # standard error of each mean, from the data sets
    # Distance of each replicate from the mean, over its own standard error; NaN where it has none.
    studentized: npt.NDArray[np.float64]
    levels: npt.NDArray[np.float64]  # mean of each data set


@dataclass(frozen=True, slots=True, eq=False)
class Resampling:
    """Data sets drawn again and again, with replacement.

    Problems of one data set share their normal samples: they are drawn together.
    """

    clusters: IntVector  # data set of each problem
    n_resamples: int
    confidence_level: float
    generator: np.random.Generator  # source of the replicates
    counts: FloatMatrix  # number of draws of each data set

    @classmethod
    def draw(
        cls,
        clusters: IntVector,
        n_resamples: int,
        confidence_level: float,
        generator: np.random.Generator,
    ) -> "Resampling":
        """Draw the data sets of all replicates."""
        n = int(clusters.max()) + 1
        counts = generator.multinomial(n, np.full(n, 1 / n), n_resamples).astype(np.float64)
        return cls(clusters, n_resamples, confidence_level, generator, counts)

    def among(self, kept: npt.NDArray[np.bool_]) -> "Resampling":
        """Draw anew, among the data sets of some problems."""
        clusters = np.unique(self.clusters[kept], return_inverse=True)[1]
        return self.draw(clusters, self.n_resamples, self.confidence_level, self.generator)

    def average(self, values: npt.NDArray[np.float64]) -> Averages:
        """Average over the problems, the first axis, where values are defined."""
        shape = values.shape[1:]
        flat = values.reshape(len(values), -1)
        defined = ~np.isnan(flat)
        value = defined_mean(flat, axis=0)
        sums, sizes, totals = np.zeros((3, self.counts.shape[1], flat.shape[1]))
        np.add.at(totals, self.clusters, np.where(defined, flat, 0.0))
        np.add.at(sizes, self.clusters, defined)
        # About the mean, so that differences of large numbers do not cancel.
        np.add.at(sums, self.clusters, np.where(defined, flat - value, 0.0))
        with np.errstate(invalid="ignore", divide="ignore"):
            drawn = _drawn(sizes, self.counts)
            replicates = _drawn(totals, self.counts) / drawn
            moved = _drawn(sums, self.counts) / drawn
            error = np.sqrt(np.sum(sums**2, axis=0)) / np.sum(sizes, axis=0)
            spread = (
                _drawn(sums**2, self.counts)
                - 2 * moved * _drawn(sums * sizes, self.counts)
                + moved**2 * _drawn(sizes**2, self.counts)
            )
            drawn_error = np.sqrt(np.maximum(spread, 0.0)) / drawn
            studentized = np.where(drawn_error > _TINY * error, moved / drawn_error, np.nan)
            levels = totals / sizes
        n = defined.sum(axis=0)
        return Averages(
            value.reshape(shape),
            replicates.reshape(-1, *shape),
            n.reshape(shape),
            (len(values) - n).reshape(shape),
            np.count_nonzero(sizes, axis=0).reshape(shape),
            error.reshape(shape),
            studentized.reshape(-1, *shape),
            levels.reshape(-1, *shape),
        )

    def means(self, values: npt.NDArray[np.float64]) -> Means:
        """Average over the problems, the first axis, and put an interval about each mean."""
        means = self.average(values)
        fields = (means.value, *self.interval_of_mean(means), means.n, means.n_undefined)
        set_all_readonly(*fields)
        return Means(*fields)

    def interval_of_mean(
        self, means: Averages
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the ends of the interval of each mean.

        The percentiles of `interval`, and the percentiles of the studentized mean, which follow
        skewed losses (Efron and Tibshirani 1993, section 12.5): whichever reaches farther, but no
        farther than the data sets themselves. Each by itself is too short for few data sets.
        """
        low, high = self.interval(means.value, means.replicates, means.n_clusters)
        tail = (1 - self.confidence_level) / 2
        studentized = means.studentized.reshape(-1, means.value.size)
        levels = means.levels.reshape(-1, means.value.size)
        cells = zip(means.value.flat, means.error.flat, strict=True)
        for cell, (value, error) in enumerate(cells):
            drawn = studentized[:, cell]
            drawn = drawn[~np.isnan(drawn)]
            if np.isnan(low.flat[cell]) or not len(drawn):
                continue
            least, most = np.quantile(drawn, [tail, 1 - tail]) * error
            lowest, highest = np.nanmin(levels[:, cell]), np.nanmax(levels[:, cell])
            low.flat[cell] = min(low.flat[cell], max(value - most, lowest))
            high.flat[cell] = max(high.flat[cell], min(value - least, highest))
        return low, high

    def bounded_means(self, values: npt.NDArray[np.float64], least: float, most: float) -> Means:
        """Average values between two bounds over the first axis; no interval has no length.

        An upper end is a quantile of means of the data sets and of one more at the upper bound, all
        with random weights of Dirichlet's distribution (Gaffke 2005); a lower end mirrors it. Of
        values at the bounds alone they are Clopper's and Pearson's. No distribution is known of
        which they cover the mean less often than they say. A value is NaN where its problem is left
        out.
        """
        flat = values.reshape(len(values), -1)
        defined = ~np.isnan(flat)
        n_clusters = self.counts.shape[1]
        above, sizes = np.zeros((2, n_clusters, flat.shape[1]))
        np.add.at(above, self.clusters, np.where(defined, flat - least, 0.0))
        np.add.at(sizes, self.clusters, defined)
        weights = self.generator.standard_exponential((self.n_resamples, n_clusters + 1))
        tail = (1 - self.confidence_level) / 2
        n_defined = np.count_nonzero(sizes, axis=0)
        value = defined_mean(flat, axis=0)
        low, high = np.full((2, *value.shape), np.nan)
        for cell in np.flatnonzero(n_defined > 1).tolist():
            # Problems of one data set count as one: the unseen part is as large as their mean.
            unseen = weights[:, -1] * (sizes[:, cell].sum() / n_defined[cell])
            total = _drawn(sizes[:, [cell]], weights[:, :-1])[:, 0] + unseen
            reached = _drawn(above[:, [cell]], weights[:, :-1])[:, 0]
            highest = (reached + (most - least) * unseen) / total
            low[cell] = min(least + np.quantile(reached / total, tail), value[cell])
            high[cell] = max(least + np.quantile(highest, 1 - tail), value[cell])
        n = defined.sum(axis=0)
        shape = values.shape[1:]
        value, low, high = (column.reshape(shape) for column in (value, low, high))
        n, n_undefined = n.reshape(shape), (len(values) - n).reshape(shape)
        set_all_readonly(value, low, high, n, n_undefined)
        return Means(value, low, high, n, n_undefined)

    def interval(
        self,
        value: npt.NDArray[np.float64],
        replicates: npt.NDArray[np.float64],
        n_clusters: npt.NDArray[np.int64],
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return the ends of the interval of a value that replicates, the first axis, give.

        It contains the value, which rounding or few replicates might leave out. Percentiles move
        outwards by the ratio of Student's quantiles with the deviation by n - 1 to normal ones with
        the deviation by n: few data sets vary too little (Hesterberg 2014, section 5.3).
        """
        # Here, because SciPy's special functions take a tenth of a second to import.
        from scipy.special import ndtr, stdtrit

        shape = replicates.shape[1:]
        flat = replicates.reshape(len(replicates), -1)
        tail = (1 - self.confidence_level) / 2
        low, high = np.full((2, flat.shape[1]), np.nan)
        for column, n in enumerate(n_clusters.reshape(-1).tolist()):
            drawn = flat[:, column]
            drawn = drawn[~np.isnan(drawn)]
            if n > 1 and len(drawn):
                outer = float(ndtr(np.sqrt(n / (n - 1)) * stdtrit(n - 1, tail)))
                ends = np.quantile(drawn, [outer, 1 - outer])
                low[column] = min(ends[0], value.flat[column])
                high[column] = max(ends[1], value.flat[column])
        return low.reshape(shape), high.reshape(shape)


def _drawn(by_cluster: FloatMatrix, weights: FloatMatrix) -> FloatMatrix:
    """Return the sums over data sets with the weights of each replicate."""
    # Not by BLAS, whose sums depend on the number of its threads.
    total: FloatMatrix = np.einsum("rc,cx->rx", weights, by_cluster)
    return total


def check_resampling(
    clusters: IntVector,
    confidence_level: Point,
    n_resamples: int,
    rng: int | np.random.Generator | None,
) -> Resampling:
    """Check the options of intervals over data sets."""
    return Resampling.draw(
        clusters,
        check_count(n_resamples, "n_resamples"),
        check_float_level(confidence_level),
        check_generator(rng),
    )
