"""The summary of EM and MV together: it follows from the significant pairs of both."""

import itertools
import json
import math
from collections.abc import Mapping

import numpy as np
import pytest

from fastad.unsupervised import UnsupervisedEvaluation, emmv
from fastad.unsupervised.criteria import Criteria, Criterion
from fastad.unsupervised.criteria_estimation import CriterionEstimates
from tests.support.criteria import Array

_RESAMPLES = np.random.default_rng(0).normal(size=(500, 2))


def criterion(log: float) -> Criterion:
    return Criterion(
        *(math.exp(log), math.exp(log - 0.1), math.exp(log + 0.1)),
        *(log, log - 0.1, log + 0.1, 0.1, 0.1),
        confidence_level=0.95,
        n_test=9,
        n_uniform=9,
        n_resamples=500,
        n_undefined=0,
        reason="no reason" if math.isnan(log) else "",
    )


def made(em: Mapping[str, float | None], mv: Mapping[str, float | None]) -> UnsupervisedEvaluation:
    """Detectors with merits: 1 apart is significant, 0.01 is not, and None is undefined."""
    estimates = {}
    for i, name in enumerate(em):
        merits = [em[name], mv[name]]
        logs = np.array([np.nan if x is None else x for x in merits]) * [1, -1]
        shift = np.roll(_RESAMPLES, 7 * i, axis=0)
        estimates[name] = CriterionEstimates(
            Criteria(*map(criterion, logs.tolist())), logs, logs + 0.05 * shift, np.full(2, np.inf)
        )
    return UnsupervisedEvaluation(estimates, 0.95)


SAME = {"a": 0.0, "b": 0.01, "c": 0.02}
A_BEST = {"a": 1.0, "b": 0.01, "c": 0.0}
B_BEST = {"a": 0.0, "b": 1.0, "c": 0.01}
C_WORST = {"a": 1.0, "b": 1.01, "c": 0.0}
A_WORST = {"a": 0.0, "b": 1.0, "c": 1.01}
A_B_C = {"a": 2.0, "b": 1.0, "c": 0.0}
C_B_A = {"a": 0.0, "b": 1.0, "c": 2.0}
A_UNKNOWN = {"a": None, "b": 1.0, "c": 0.0}
ALONE = {"a": 1.0, "b": None, "c": None}
SUMMARIES = [
    (SAME, SAME, "no two detectors differ significantly"),
    (A_BEST, A_B_C, "2 and 3 of 3 pairs differ significantly; a is the best by both"),
    (A_BEST, SAME, "2 and 0 of 3 pairs differ significantly; the best by both can only be a"),
    (C_WORST, SAME, "2 and 0 of 3 pairs differ significantly; the best by both can only be b or a"),
    (
        C_WORST,
        A_WORST,
        "2 and 2 of 3 pairs differ significantly; the best by both can only be b; "
        "they contradict each other on 1 pair",
    ),
    (
        A_BEST,
        B_BEST,
        "2 and 2 of 3 pairs differ significantly; the best is a by EM, but b by MV; "
        "they contradict each other on 1 pair",
    ),
    (
        A_BEST,
        A_WORST,
        "2 and 2 of 3 pairs differ significantly; the best is a by EM, but one of c, b by MV; "
        "they contradict each other on 2 pairs",
    ),
    (
        A_B_C,
        C_B_A,
        "3 and 3 of 3 pairs differ significantly; the best is a by EM, but c by MV; "
        "they contradict each other on 3 pairs",
    ),
    (
        A_B_C,
        A_UNKNOWN,
        "3 of 3 and 1 of 1 pairs differ significantly; the best is a by EM, but b by MV",
    ),
    (
        A_B_C,
        ALONE,
        "EM: at 95 % 3 of 3 pairs differ significantly; the best by EM is a; "
        "MV: fewer than two detectors to compare",
    ),
    (ALONE, ALONE, "EM and MV: fewer than two detectors to compare"),
]


@pytest.mark.parametrize(("em", "mv", "summary"), SUMMARIES)
def test_the_summary_is_of_both(
    em: Mapping[str, float | None], mv: Mapping[str, float | None], summary: str
) -> None:
    result = made(em, mv)
    if not summary.startswith("EM"):
        summary = f"EM and MV: at 95 % each, {summary}"
    assert result.summary() == summary
    assert result.notes == [summary]
    assert str(result).splitlines()[-1] == summary
    content = json.loads(result.to_json())
    assert content["best_by_both"] == result.best_by_both()
    assert content["contradictions"] == [list(pair) for pair in result.contradictions()]


@pytest.mark.parametrize(
    ("em", "mv"),
    list(itertools.product([A_BEST, B_BEST, C_WORST, A_WORST, A_B_C, C_B_A], repeat=2)),
)
def test_the_best_by_both_are_those_that_none_beats(
    em: Mapping[str, float], mv: Mapping[str, float]
) -> None:
    result = made(em, mv)
    beaten = {x for merits in (em, mv) for x in merits if max(merits.values()) - merits[x] > 0.5}
    assert set(result.best_by_both()) == em.keys() - beaten
    against = {(x, y) for x in em for y in em if em[x] - em[y] > 0.5 and mv[y] - mv[x] > 0.5}
    assert set(result.contradictions()) == against


def noise(x: Array) -> Array:
    result: Array = np.mod(abs(x) * 12345.678, 1)
    return result


def core(x: Array) -> Array:
    """The distance, and beyond 2.5 noise."""
    return np.where(abs(x) < 2.5, abs(x), 2.5 + noise(x))


def tail(x: Array) -> Array:
    """The distance, and below 2.9 noise."""
    return np.where(abs(x) < 2.9, 2.9 * noise(x), abs(x))


def test_a_detector_of_the_core_and_one_of_the_tail() -> None:
    """The first orders the core as the density does, the second the tail: EM and MV differ."""
    rng = np.random.default_rng(0)
    X, U = rng.normal(size=4000), rng.uniform(-60, 60, size=40_000)
    detectors = {"core": core, "tail": tail}
    result = emmv(
        {name: score(X) for name, score in detectors.items()},
        {name: score(U) for name, score in detectors.items()},
        120.0,
        n_resamples=200,
        rng=0,
    )
    assert result.significant_pairs("em") == [("core", "tail")]
    assert result.significant_pairs("mv") == [("tail", "core")]
    assert result.best_by_both() == []
    assert result.summary().endswith(
        "the best is core by EM, but tail by MV; they contradict each other on 1 pair"
    )
    assert str(result).count("the best") == 1


@pytest.mark.parametrize(("n_test", "n_resamples"), [(1, 20), (500, 1)])
def test_without_intervals_nothing_differs(n_test: int, n_resamples: int) -> None:
    rng = np.random.default_rng(0)
    uniform = rng.uniform(-4, 4, size=(5000, 2))
    test = rng.normal(size=(n_test, 2))
    result = emmv(
        {"good": (test**2).sum(axis=1), "bad": abs(test[:, 0] - 2)},
        {"good": (uniform**2).sum(axis=1), "bad": abs(uniform[:, 0] - 2)},
        64.0,
        n_resamples=n_resamples,
        rng=0,
    )
    assert math.isnan(result["good"].em.low)
    assert result.significant_pairs("em") == result.significant_pairs("mv") == []
    assert result.summary().endswith(
        "nothing is known of differences: too few test points or resamples"
    )
