"""``level_sets``: mass and volume of a detector's level sets, straight from the detector."""

import math
from fractions import Fraction
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import as_readonly
from fastad._core.buffers import ReusedBuffers
from fastad._core.parameters import check_choice, check_count, check_generator, exact_rate
from fastad._core.progress import Progress, reporting
from fastad._core.suggestions import suggests_arguments
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, FloatMatrix, FloatVector, Point
from fastad.detectors.scorer import check_columns, check_samples
from fastad.errors import InvalidInputError
from fastad.regions.box import Box, box_of
from fastad.regions.methods import CANDIDATES, ENOUGH_INSIDE, FIRST_DRAWS
from fastad.regions.scores import BlockScore, Cube, Detector, block_score, into_cube
from fastad.regions.splitting.diagnostics import warn_of_mixing
from fastad.regions.splitting.estimation import log_fractions, mixing_problems
from fastad.regions.splitting.repeats import split
from fastad.regions.splitting.restarts import MOST_COMPARED, thin
from fastad.regions.uniform import Draws
from fastad.unsupervised.counted import level_sets_of_scores
from fastad.unsupervised.levels import LevelSets, check_extent

LevelMethod: TypeAlias = Literal["auto", "uniform", "sobol", "splitting"]
METHODS = ("auto", *CANDIDATES)
# Uniform draws by default: fewer than for a volume, as their scores are kept.
_N_UNIFORM = 100_000
# "auto" keeps uniform draws if enough of the first ones lie in the level set of this mass.
_MASS = 0.9
_FEWEST_REPEATS = 2


@suggests_arguments
def level_sets(
    detector: Detector,
    X: ArrayLike,
    *,
    box: Box | None = None,
    method: LevelMethod = "auto",
    n_draws: int | None = None,
    lowest_mass: Point = 0,
    rng: int | np.random.Generator | None = None,
    progress: Progress | bool | None = None,
    n_threads: int | None = None,
) -> LevelSets:
    """Mass and volume of a detector's level sets, which both curves without labels are made of.

    Parameters
    ----------
    detector : detector, callable or CompiledScorer
        Anomaly score of any point, as for `volume`.
    X : array-like of shape (n_test, n_features)
        Data that the detector was not fitted to; finite numbers.
    box : Box, optional
        Region of the draws; by default the box of X.
    method : {"auto", "uniform", "sobol", "splitting"}, default "auto"
        Uniform draws, whose scores are counted, or the other methods of `volume`: Sobol points,
        and multilevel splitting, which finds volumes that few uniform draws hit. ``"auto"`` takes
        uniform draws if 16 of 2¹⁴ fall into the level set that contains 0.9 of the data, else
        splitting.
    n_draws : int, optional
        Points that are scored besides X: by default 10⁵, 2¹⁷ Sobol points, and 10⁶ for
        splitting, which keeps to it nearly.
    lowest_mass : float, default 0
        Mass in [0, 1) down to which the methods other than uniform draws find volumes. The volume
        of any smaller set is taken to be the volume of the smallest one found, which is at least
        as large.
    rng : int or numpy.random.Generator, optional
        Seed or generator.
    progress : callable or True, optional
        True draws a bar where rich or tqdm is installed. A function is called
        with the numbers of points scored and to be scored.
    n_threads : int, optional
        Threads over the points; the same seed gives the same result for any number.

    Returns
    -------
    LevelSets
        Input of `mass_volume_curve`, `excess_mass_curve` and `emmv`.

    Raises
    ------
    InvalidInputError
        If the score raises, or returns NaN or another shape.

    Warns
    -----
    InsufficientMixingWarning
        If particles of splitting may have missed parts of a region.

    Notes
    -----
    Uniform draws keep 8 bytes a draw. Test points outside of the box count with their score; the
    volumes are of the parts inside. Splitting is shown some test points, so that a part of the sets
    that its particles have missed is found or warned of.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, section 2.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> X = np.random.default_rng(0).normal(size=(2000, 2))
    >>> levels = fastad.unsupervised.level_sets(lambda rows: np.hypot(*rows.T), X, rng=0)
    >>> half = fastad.mass_volume_curve(levels)(0.5)  # of a normal distribution 2 pi log 2
    >>> bool(abs(half / (2 * np.pi * np.log(2)) - 1) < 0.1)
    True
    """
    lowest = exact_rate(lowest_mass, "lowest_mass")
    if lowest == 1:
        raise InvalidInputError("lowest_mass must lie in [0, 1); found 1")
    options = LevelSetOptions.of(method, n_draws, lowest)
    samples, region = check_data(X, box)
    check_columns(detector, X, "the detector")
    generator = check_generator(rng)
    scored = block_score(detector, region.n_features)
    with thread_limit(n_threads), reporting(progress, "points") as report:
        options = options._replace(progress=report)
        estimator = LevelSetEstimator(scored, region, generator)
        levels, _ = estimator.level_sets(samples, scored.of_rows(samples), options)
    warn_of_mixing(estimator.mixing_problems)
    return levels


def check_data(X: ArrayLike, box: Box | None) -> tuple[npt.NDArray[Any], Box]:
    """Check test points and the box, by default theirs."""
    samples = check_samples(X, None)
    if samples.shape[0] == 0:
        raise InvalidInputError("X must contain at least one row; found none")
    return samples, box_of(samples, box)


def empty_scores(n_draws: int) -> FloatVector:
    """Return an empty array for the scores of ``n_draws`` points, if it fits into memory."""
    try:
        return np.empty(n_draws)
    except (MemoryError, ValueError):
        raise InvalidInputError(
            f"n_draws must fit into memory, 8 bytes each; found {n_draws}"
        ) from None


class LevelSetOptions(NamedTuple):
    """Checked options of the estimates of volumes."""

    method: str  # one of the methods, or "auto"
    n_draws: int | None  # points that are scored; None for the usual number
    lowest_mass: Fraction  # mass down to which volumes are found
    progress: Progress | None  # called with the numbers of points scored and to be scored

    @classmethod
    def of(cls, method: str, n_draws: int | None, lowest_mass: Fraction) -> "LevelSetOptions":
        """Check how volumes are to be estimated."""
        check_choice(method, METHODS, "method")
        n = None if n_draws is None else check_count(n_draws, "n_draws")
        return cls(method, n, lowest_mass, None)

    def budget(self) -> int:
        """Return the number of points that are scored."""
        usual = _N_UNIFORM if self.method == "uniform" else CANDIDATES[self.method].n_draws
        return self.n_draws or usual


class LevelSetEstimator:
    """Estimates the volumes of a detector's level sets.

    Attributes
    ----------
    score : BlockScore
        Scores of any points.
    box : Box
        Box of the draws.
    mixing_problems : list of str
        Reasons to suspect that particles of splitting have missed something.
    """

    def __init__(
        self, score: BlockScore, box: Box, rng: np.random.Generator | np.random.SeedSequence
    ) -> None:
        self.score, self.box = score, box
        self.mixing_problems: list[str] = []
        self._rng = np.random.default_rng(rng)
        self._draws = Draws(box, self._rng.integers(2**64, dtype=np.uint64))

    def level_sets(
        self, samples: FloatMatrix, y_score: FloatVector, options: LevelSetOptions
    ) -> tuple[LevelSets, FloatVector | None]:
        """Return the level sets, and the scores of the uniform points if they were counted.

        The test points show parts of the sets that particles of splitting have missed.
        """
        first, progress = empty_scores(0), options.progress
        if options.method == "auto":
            budget = options._replace(method="uniform").budget()
            first = self._scores(0, min(FIRST_DRAWS, budget), None)
            # Uniform draws often fall into the level set of most of the data.
            most = np.quantile(y_score, _MASS, method="higher")
            is_hit = np.count_nonzero(first <= most) >= ENOUGH_INSIDE
            is_few = budget < CANDIDATES["splitting"].least
            options = options._replace(method="uniform" if is_hit or is_few else "splitting")
        if options.method == "uniform":
            others = self._scores(first.shape[0], options.budget(), progress)
            drawn = np.concatenate([first, others])
            return level_sets_of_scores(y_score, drawn, check_extent(self.box)), drawn
        return self._repeated(samples, y_score, options), None

    def _scores(self, start: int, n_draws: int, progress: Progress | None) -> FloatVector:
        """Return the scores of the draws from a number on."""
        scores = empty_scores(n_draws - start)

        def write(part: range) -> None:
            with ReusedBuffers():
                points = self._draws.points(part.start, len(part))
                self.score.write_checked(points, scores[part.start - start : part.stop - start])

        for end, _ in self.score.rounds(write, start, n_draws, self.box.n_features):
            if progress is not None:
                progress(end, n_draws)
        return scores

    def _repeated(
        self, samples: FloatMatrix, y_score: FloatVector, options: LevelSetOptions
    ) -> LevelSets:
        """Return level sets whose volumes independent repeats estimate."""
        distinct, counts = np.unique(y_score, return_counts=True)
        masses = np.cumsum(counts)
        kept = masses >= math.ceil(options.lowest_mass * y_score.shape[0])
        # Level sets are closed, and these methods find the volumes of open ones.
        above = np.nextafter(distinct[kept], np.inf)
        # Below infinity lies the whole box, but for points that score infinity themselves.
        finite = above[np.isfinite(above)]
        logs = np.zeros((_FEWEST_REPEATS, 0))
        if finite.shape[0]:
            logs = self._log_fractions(samples, finite, options)
        if finite.shape[0] < above.shape[0]:
            logs = np.concatenate([logs, np.zeros((logs.shape[0], 1))], axis=1)
        reached = np.isfinite(logs).all(axis=0)
        if not reached.any():
            raise InvalidInputError(
                "n_draws must let all repeats reach the highest test score; found "
                f"{options.budget()}"
            )
        empty = np.full((logs.shape[0], 1), -np.inf)
        return LevelSets(
            as_readonly(np.concatenate([[-np.inf], distinct[kept][reached]])),
            as_readonly(np.concatenate([[0], masses[kept][reached]])),
            None,
            as_readonly(np.concatenate([empty, logs[:, reached]], axis=1)),
            check_extent(self.box),
            None,
        )

    def _log_fractions(
        self, samples: FloatMatrix, above: FloatVector, options: LevelSetOptions
    ) -> FloatMatrix:
        """Return logarithms of the fractions below rising thresholds, by repeats."""
        cube = Cube(self.box, self.score)
        if options.method == "sobol":
            # Here, because SciPy's sequences take a while to import.
            from fastad.regions.quasi import replicate_counts

            counts, size = replicate_counts(
                *(self.box, self.score, above), *(options.budget(), self._rng, options.progress)
            )
            with np.errstate(divide="ignore"):
                fractions: FloatMatrix = np.log(counts / size)
            return fractions
        lowest = float(above[0])
        points = into_cube(self.box, thin(samples.T, MOST_COMPARED).T, self._rng)
        run = split(cube, lowest, options.budget(), self._rng, options.progress, points, curve=True)
        self.mixing_problems = mixing_problems(run, lowest, float(above[-1]))
        return log_fractions(run, above)
