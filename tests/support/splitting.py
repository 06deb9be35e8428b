"""What tests of multilevel splitting share."""

from typing import Any

from fastad import Box, volume
from fastad.regions import VolumeEstimate
from tests.support.rare import Rare

Array = Any


def split(score: Any, threshold: Any, box: Box, n_draws: int = 10_000, **options: Any) -> Any:
    options.setdefault("rng", 0)
    return volume(score, threshold, box, method="splitting", n_draws=n_draws, **options)


def of(region: Rare, n_draws: int, seed: int, **options: Any) -> VolumeEstimate:
    result: VolumeEstimate = split(
        region.jitted, region.threshold, region.box, n_draws, rng=seed, **options
    )
    return result


def values(estimate: VolumeEstimate) -> dict[str, Any]:
    """All of them as text: NaN is equal to itself."""
    return {name: repr(value) for name, value in estimate.to_dict().items()}
