"""What tests of multilevel splitting share."""

from typing import Any

from fastad import Box, volume
from fastad.regions import VolumeEstimate
from fastad.regions.scores import Cube, block_score
from tests.support.rare import Rare
from tests.support.volumes import Batch, unit_cube

Array = Any


def largest(X: Array) -> Array:
    """Score by the largest coordinate, so that level sets are cubes in a corner."""
    result: Array = X.max(axis=1)
    return result


def cube_of(score: Batch, d: int = 3) -> Cube:
    """Return a score as splitting calls it, in a box from 0 to 1."""
    return Cube(unit_cube(d), block_score(score, d))


def split(score: Any, threshold: Any, box: Box, n_draws: int = 10_000, **options: Any) -> Any:
    options.setdefault("rng", 0)
    return volume(score, threshold, box, method="splitting", n_draws=n_draws, **options)


def of(region: Rare, n_draws: int, seed: int, **options: Any) -> VolumeEstimate:
    result: VolumeEstimate = split(
        region.jitted, region.threshold, region.box, n_draws, rng=seed, **options
    )
    return result


def values(estimate: VolumeEstimate) -> dict[str, Any]:
    """All of them as strings: NaN is equal to itself."""
    return {name: repr(value) for name, value in estimate.to_dict().items()}
