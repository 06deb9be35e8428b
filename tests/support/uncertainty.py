"""Samples, detectors and measures for the tests of uncertainty."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import assume
from hypothesis import strategies as st

from fastad._core.random import random_key
from fastad.measures.measure import BoundMeasure
from fastad.measures.registry import MEASURES
from fastad.ordering.counts import count
from fastad.uncertainty.samples.bootstrap import (
    IndependentSample,
    Resamples,
    plan,
    replicate_values,
)
from tests.support.operating import domain
from tests.support.strategies import Sample, samples


def degrees_of_sizes(sizes: npt.ArrayLike) -> float:
    """Degrees of freedom of the squares of what units deviate by from a mean weighted by size."""
    part = np.asarray(sizes) / np.sum(sizes)
    n = part.shape[0]
    deviations = np.diag(part) @ (np.eye(n) - np.outer(np.ones(n), part))
    form = deviations.T @ deviations
    return float(np.trace(form) ** 2 / np.trace(form @ form))


@st.composite
def two_of_each_class(draw: st.DrawFn, max_size: int = 14) -> Sample:
    """At least two samples of each class."""
    sample = draw(samples(max_size=max_size, both=True))
    assume(2 <= sample.y.sum() <= len(sample.y) - 2)
    return sample


@st.composite
def two_detectors(draw: st.DrawFn, max_size: int = 12, fewest: int = 2) -> Sample:
    """Labels with at least so many samples of each class; two rows of scores with ties."""
    sample = draw(samples(max_size=max_size, both=True))
    assume(fewest <= sample.y.sum() <= len(sample.y) - fewest)
    scores = st.lists(st.integers(0, 4), min_size=len(sample.y), max_size=len(sample.y))
    return Sample(sample.y, np.array([draw(scores), draw(scores)]))


def correlated_detectors(seed: int, n: int, m: int, shifts: Any) -> tuple[Any, Any]:
    """Detectors with half of the variance of their scores in common."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [m, n]))
    common = rng.normal(size=n + m)
    scores = [(common + rng.normal(size=n + m)) / math.sqrt(2) + shift * y for shift in shifts]
    return y, np.array(scores)


def contaminated(seed: int, n: int, m: int, fraction: float, shift: float) -> tuple[Any, Any]:
    """Labels as they are seen, and normal scores of one unit of deviation."""
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [n, m])
    hidden = rng.random(m) < fraction
    return y, rng.normal(size=n + m) + shift * np.r_[np.ones(n), hidden]


def replicates_of(
    y: Any,
    s: Any,
    measures: Sequence[BoundMeasure],
    n_resamples: int,
    seed: int,
    *,
    stratified: bool = True,
) -> tuple[npt.NDArray[np.float64], Resamples]:
    counts = count(y, s)
    resamples = plan(counts, n_resamples, random_key(seed), stratified=stratified)
    return replicate_values(IndependentSample(counts), measures, resamples), resamples


# Areas, placements, variances and tests of the R package pROC, of its data on aneurysms.
PROC = json.loads((Path(__file__).parents[1] / "golden" / "proc.json").read_text("utf-8"))
PROC_Y = [1] * 41 + [0] * 72

# A test of fixed numbers fails by chance as often as its p-value says: 1 in 1 000, once for all.
LUCK = 1e-3

Vector = npt.NDArray[Any]


POINTS: dict[str, Any] = {"rate": 0.4, "count": 3, "percentile": 75, "positive": 1.25}


POINTS_OF: dict[str, Any] = {"precision_at_p": 0.25, "recall_at_precision": 0.4, "np_score": 0.3}
POINTS_OF |= {"log_auc": 0.04}


VALUES = [row for row in MEASURES.values() if row.kind == "value"]


# Falling scores of eight samples, without ties and with more and more of them.
SCORES: dict[str, Vector] = {
    "distinct": np.arange(8.0)[::-1],
    "tied": np.array([5.0, 4, 4, 3, 3, 3, 1, 0]),
    "two": np.array([9.0, 9, 9, 2, 2, 2, 2, 2]),
    "constant": np.ones(8),
}


def point_options(name: str) -> dict[str, Any]:
    row = MEASURES[name]
    options: dict[str, Any] = {"score_range": (-1, 10)} if row.takes_score_range else {}
    if row.operating_point:
        options[row.operating_point] = POINTS_OF.get(name, POINTS[domain(row)])
    return options


def labelled(total: int, anomalies: Any) -> Vector:
    y = np.zeros(total, int)
    y[list(anomalies)] = 1
    return y
