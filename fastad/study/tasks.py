"""Running one batch of a study: from a split to rows of its table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastad._core.random import string_seed
from fastad._core.threads import thread_limit
from fastad._core.types import FloatMatrix
from fastad.regions.box import Box
from fastad.regions.uniform import Draws
from fastad.study.batches import AnyBatch, Batch, GoixBatch
from fastad.study.config import StudyConfig, VolumePlan
from fastad.study.grid import Configuration
from fastad.study.measuring import EM, MV, cvol_label, measure_scores
from fastad.study.papers.goix import goix_cell, undefined_rows
from fastad.study.problems import Problem
from fastad.study.sharing import (
    Scorer,
    check_numbers,
    fit_batch,
    reason_of,
    scores_of_draws,
    scores_of_rows,
    unwarned,
)
from fastad.study.split import Protocol, Split, split_problem

Row: TypeAlias = dict[str, Any]
Columns: TypeAlias = dict[str, list[Any]]

# What is drawn, so that no two streams of random numbers are one.
_DETECTORS, _UNIFORM = 1, 2


class Settings(NamedTuple):
    """What batches need to know of their study.

    Attributes
    ----------
    seed : int
    protocol : Protocol
    volumes : VolumePlan
    measures : sequence of str
        As of `StudyConfig`.
    """

    seed: int
    protocol: Protocol
    volumes: VolumePlan
    measures: Sequence[str]

    @classmethod
    def of(cls, config: StudyConfig) -> "Settings":
        """Return what batches need to know of a study."""
        return cls(config.seed, config.protocol, config.volumes, config.measures)


@dataclass(slots=True)
class Found:
    """What a batch has found.

    Attributes
    ----------
    rows, curves : dict of str to list
        Columns of its tasks, and of their curves; no columns where there are none.
    n_failed : int
        Tasks that failed.
    seconds : float
        What it took.
    """

    rows: Columns
    curves: Columns = field(default_factory=dict)
    n_failed: int = 0
    seconds: float = 0.0


def run_batch(batch: AnyBatch, settings: Settings) -> Found:
    """Run one batch, on one thread.

    Parameters
    ----------
    batch : Batch or GoixBatch
        What to run.
    settings : Settings
        How.

    Returns
    -------
    Found
        The same whenever and wherever it runs, but for the times. A detector that fails has a row
        with the reason.
    """
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    began = perf_counter()
    # Within a task of Dask, joblib in a detector would make tasks of Dask.
    with thread_limit(1), threadpool_limits(1), parallel_config("sequential"):
        if isinstance(batch, Batch):
            found = _run_tasks(batch, settings)
        else:
            found = _run_goix(batch, settings.seed)
    found.seconds = perf_counter() - began
    return found


def _run_tasks(batch: Batch, settings: Settings) -> Found:
    split, box = _split_of(
        batch.problem, batch.contamination, batch.repeat, settings.seed, settings.protocol
    )
    key = _key(batch.problem, settings.seed, batch.repeat)
    seeds = [_seed(key, one, batch.contamination) for one in batch.configurations]
    # The same points for all detectors.
    draws = Draws(box, np.random.SeedSequence([*key, _UNIFORM]).generate_state(1, np.uint64)[0])
    fitted = fit_batch(batch.configurations, split.X_train, seeds)
    rows = {one: _row(batch, split, one, settings) for one in batch.configurations}
    curves: dict[Configuration, Row] = {}
    for one, own in fitted.seconds.items():
        rows[one]["fit_time_s"] = own
    for scorer, members in fitted.scorers:
        began = perf_counter()
        try:
            tested, uniform = _scores(scorer, len(members), split, draws, settings)
        except Exception as error:  # whatever it is, the other batches go on
            fitted.reasons |= dict.fromkeys(members, reason_of(error))
            continue
        seconds = (perf_counter() - began) / len(members)
        for one, own, drawn in zip(members, tested, uniform, strict=True):
            reason = check_numbers(own) or check_numbers(drawn)
            if reason:
                fitted.reasons[one] = reason
                continue
            try:
                measured = measure_scores(
                    *(split.y_test, own, drawn),
                    labels=settings.measures,
                    rates=settings.volumes.fpr,
                    with_curves=batch.with_curves,
                )
            except Exception as error:  # whatever it is, the others go on
                fitted.reasons[one] = reason_of(error)
                continue
            rows[one] |= measured.values
            rows[one]["score_time_s"] = seconds
            rows[one]["undefined"] = _in_words(measured.undefined)
            if batch.with_curves:
                curves[one] = {**_keys(batch, one), **measured.curves}
    for one, reason in fitted.reasons.items():
        rows[one]["reason"] = reason
    return Found(
        _columns(list(rows.values())),
        _columns([curves[one] for one in batch.configurations if one in curves]),
        len(fitted.reasons),
    )


def _scores(
    scorer: Scorer, n_scores: int, split: Split, draws: Draws, settings: Settings
) -> tuple[FloatMatrix, FloatMatrix]:
    with unwarned():
        tested = scores_of_rows(scorer, n_scores, split.X_test)
        return tested, scores_of_draws(scorer, n_scores, draws, settings.volumes.n_draws)


@lru_cache(maxsize=2)
def _split_of(
    problem: Problem, contamination: float, repeat: int, seed: int, protocol: Protocol
) -> tuple[Split, Box]:
    """Return the rows of a split, and the box around them."""
    X, y = problem.load()
    split = split_problem(
        *(X, y),
        contamination=contamination,
        repeat=repeat,
        seed_key=(seed, string_seed(problem.name)),
        protocol=protocol,
    )
    return split, Box.from_data(np.concatenate([split.X_train, split.X_test]))


def _run_goix(batch: GoixBatch, seed: int) -> Found:
    problem = batch.problem
    name = f"{problem.collection}/{problem.dataset}"
    X, y = problem.load()
    try:
        with unwarned():
            found = goix_cell(
                *(X, y),
                dataset=name,
                setting=batch.setting,
                protocol=batch.protocol,
                rng=seed,
            )
    except Exception as error:  # whatever it is, the other batches go on
        found = undefined_rows(name, batch.setting, batch.protocol, reason_of(error))
    return Found(_columns([row.to_dict() for row in found]))


def _row(batch: Batch, split: Split, one: Configuration, settings: Settings) -> Row:
    """Return the row of a task, without what is measured."""
    y_test = split.y_test
    labels = [*settings.measures, *map(cvol_label, map(float, settings.volumes.fpr)), EM, MV]
    return {
        **_keys(batch, one),
        "n_features": split.X_train.shape[1],
        "n_train": split.X_train.shape[0],
        "n_train_anomalies": split.n_train_anomalies,
        "n_test": y_test.shape[0],
        "n_test_anomalies": int(np.count_nonzero(y_test)),
        **dict.fromkeys(labels, float("nan")),
        "fit_time_s": float("nan"),
        "score_time_s": float("nan"),
        "reason": "",
        "undefined": "",
    }


def _keys(batch: Batch, one: Configuration) -> Row:
    problem = batch.problem
    return {
        "collection": problem.collection,
        "dataset": problem.dataset,
        "anomaly_class": problem.anomaly_class,
        "contamination": batch.contamination,
        "repeat": batch.repeat,
        "detector": one.detector,
        "params": one.params,
    }


def _columns(rows: Sequence[Row]) -> Columns:
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def _in_words(undefined: Mapping[str, str]) -> str:
    return "; ".join(f"{label}: {why}" for label, why in undefined.items())


def _key(problem: Problem, seed: int, repeat: int) -> tuple[int, ...]:
    return seed, string_seed(problem.name), repeat


def _seed(key: tuple[int, ...], one: Configuration, contamination: float) -> int:
    """Return the seed of a detector, which depends on nothing else that runs."""
    own = [*key, _DETECTORS, string_seed(one.key), string_seed(repr(contamination))]
    return int(np.random.SeedSequence(own).generate_state(1)[0])
