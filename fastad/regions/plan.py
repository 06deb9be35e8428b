"""``Plan``: how a volume is to be estimated."""

from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from fastad._core.parameters import check_choice, check_count, check_generator, check_inside
from fastad._core.progress import Progress
from fastad._core.random import random_key
from fastad._core.types import ArrayLike, FloatMatrix, Point
from fastad.detectors.scorer import check_samples
from fastad.errors import InvalidInputError
from fastad.regions.box import Box
from fastad.regions.splitting.repeats import FEWEST_CALLS
from fastad.regions.uniform import Draws

VolumeMethod: TypeAlias = Literal["auto", "uniform", "sobol", "importance", "splitting", "exact"]

METHODS = ("auto", "uniform", "sobol", "importance", "splitting", "exact")
# Score calls by default, and for a relative error at most.
_BUDGETS = {
    "uniform": 10**6,
    "sobol": 2**17,
    "importance": 3 * 10**5,
    "splitting": 10**6,
}
_LARGEST = 10**9
# With fewer score calls there is no other method than draws from the whole box.
FEWEST_FOR_OTHERS = 2 * FEWEST_CALLS


class Plan(NamedTuple):
    """How to estimate, checked."""

    method: str
    n_draws: int | None
    rtol: float | None
    data: FloatMatrix | None
    level: float
    rng: np.random.Generator
    progress: Progress | None

    def budget(self, method: str) -> int:
        """Return the number of score calls."""
        return self.n_draws or _BUDGETS[method]

    @property
    def most(self) -> int:
        """Score calls at most, until a relative error is reached."""
        return self.n_draws or _LARGEST

    def draws(self, box: Box) -> Draws:
        """Return uniform draws of a box, others in each call: the generator moves on."""
        return Draws(box, random_key(self.rng))

    def after(self, n_scored: int, method: str) -> "Plan":
        """Return the plan of a method for the score calls that are left after so many."""
        if self.rtol is not None and self.n_draws is None:
            return self
        least = FEWEST_CALLS if method == "splitting" else 1
        return self._replace(n_draws=max(self.budget(method) - n_scored, least))


def check_plan(
    method: str,
    n_draws: int | None,
    rtol: Point | None,
    data: ArrayLike | None,
    confidence_level: Point,
    rng: int | np.random.Generator | None,
) -> Plan:
    """Check how to estimate."""
    check_choice(method, METHODS, "method")
    error = None if rtol is None else float(check_inside(rtol, "rtol"))
    if data is None and method == "importance":
        raise InvalidInputError(
            "data must be given for method='importance', normal samples; found None",
            argument="data",
        )
    points = None if data is None else check_samples(data, None, "data").astype(np.float64)
    if points is not None and points.shape[0] == 0:
        raise InvalidInputError(
            "data must contain at least one sample; found none", argument="data"
        )
    return Plan(
        method,
        None if n_draws is None else check_count(n_draws, "n_draws"),
        error,
        points,
        float(check_inside(confidence_level, "confidence_level")),
        check_generator(rng),
        None,
    )
