"""Generated labels and scores: sizes, proportions of anomalies, types and kinds of scores."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Labels: TypeAlias = npt.NDArray[np.int64]
Scores: TypeAlias = npt.NDArray[Any]

CONTINUOUS = "continuous"


def _nearly_sorted(
    labels: Labels, scores: Scores, rng: np.random.Generator
) -> tuple[Labels, Scores]:
    rows = np.argsort(scores + rng.normal(scale=0.01, size=scores.shape))
    return labels[rows], scores[rows]


def _wide(scores: Scores) -> Scores:
    """Spread scores over magnitudes from 1e-300 to 1e300, of both signs, in the same order."""
    spread: Scores = np.sign(scores) * 10.0 ** (600 * np.tanh(np.abs(scores) / 3) - 300)
    return spread


KINDS: dict[str, Callable[[Labels, Scores, np.random.Generator], tuple[Labels, Scores]]] = {
    CONTINUOUS: lambda labels, scores, rng: (labels, scores),
    "tied": lambda labels, scores, rng: (labels, scores.round(2)),
    "few values": lambda labels, scores, rng: (labels, scores.round(1)),
    "nearly sorted": _nearly_sorted,
    "heavy-tailed": lambda labels, scores, rng: (
        labels,
        rng.standard_cauchy(labels.shape) + 1.5 * labels,
    ),
    "wide": lambda labels, scores, rng: (labels, _wide(scores)),
}


@dataclass(frozen=True)
class Case:
    """What is generated: normals from N(0, 1), anomalies from N(1.5, 1), then the kind."""

    n: int
    proportion: float
    dtype: str = "float64"
    kind: str = CONTINUOUS


@lru_cache(maxsize=1)  # benchmarks go from case to case
def generate(case: Case) -> tuple[Labels, Scores]:
    rng = np.random.default_rng(2)
    labels = rng.permutation((np.arange(case.n) < round(case.proportion * case.n)).astype(np.int64))
    labels, scores = KINDS[case.kind](labels, rng.normal(1.5 * labels), rng)
    return labels, _as_type(scores, np.dtype(case.dtype))


def _as_type(scores: Scores, dtype: np.dtype[Any]) -> Scores:
    """Convert scores; integers of the type divide the scores from -8 to 8."""
    if dtype.kind == "f":
        return scores.astype(dtype)
    info = np.iinfo(dtype)
    levels = np.floor((scores + 8) / 16 * 2.0**info.bits) + info.min
    return levels.clip(info.min, info.max).astype(dtype)
