"""The tasks of a study: one detector with one set of parameters on one split of a problem."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastad._core.random import string_seed
from fastad._core.types import FloatMatrix, FloatVector
from fastad.detectors.together import ScorerGroup
from fastad.measures.measure import BoundMeasure, MeasureLike
from fastad.regions.box import Box
from fastad.regions.uniform import Draws
from fastad.study.config import StudyConfig, VolumePlan, keys_of
from fastad.study.configurations import Configuration, described
from fastad.study.digests import check_code
from fastad.study.extensions import BatchResult
from fastad.study.fitting import (
    FAILURES,
    MACHINES,
    NEIGHBOURS,
    fit_batch,
    group_of,
    ignore_warnings,
    reason_of,
    scores_of_draws,
    scores_of_rows,
)
from fastad.study.measuring import EM, MV, Measured, cvol_key, measure_scores
from fastad.study.problems import Problem
from fastad.study.results import CURVES, EQUAL_SCORES, TASKS
from fastad.study.split import Protocol, Split, split_problem

Row: TypeAlias = dict[str, Any]

# Purposes of random numbers, so that no two streams are the same.
_DETECTORS, _UNIFORM = 1, 2

# Rows that train and rows of each kind that test, and uniform points, of a warm-up.
_FEW_TRAIN, _FEW_TEST, _FEW_DRAWS = 40, 20, 100
# Kinds of batches that ran in this process.
_RAN: set[str] = set()

# About how long batches take: fitted to the times of one split of each of 147 problems, on one
# core; of nineteen batches in twenty it is within a factor of two.
# Seconds a scored point; a point and training row; and also a feature.
_NEIGHBOURS_COST = (2.4e-6, 2.6e-9, 9e-11)
# Seconds a machine, point and training row; a point, row and feature; a machine and pair of rows.
_MACHINES_COST = (4.1e-10, 2e-10, 1.6e-8)
# Seconds of any other detector, as of a forest of 100 trees: at once and a point.
_OTHER_COST = (0.02, 1.3e-6)


class Settings(NamedTuple):
    """The settings of a study on which its tasks depend, as of `StudyConfig`."""

    seed: int
    protocol: Protocol
    volumes: VolumePlan
    measures: Sequence[MeasureLike]

    @classmethod
    def of(cls, config: StudyConfig) -> "Settings":
        """Return the settings of a study."""
        return cls(config.seed, config.protocol, config.volumes, config.measures)


@dataclass(frozen=True, slots=True)
class TaskBatch:
    """Tasks of one split with a common expensive computation; they are saved together."""

    # Digests of all that the row of each task depends on.
    tasks: tuple[str, ...]
    problem: Problem
    # Anomalies in training for each normal row, and number of the split, from 1.
    contamination: float
    repeat: int
    # One for each task.
    configurations: tuple[Configuration, ...]
    settings: Settings
    with_curves: bool
    # Digests by `own_code` of all its detectors.
    code: Mapping[str, str] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """The table of the study that its rows belong to."""
        return TASKS

    def warm_up(self) -> None:
        """Load its rows, and run the first of its kind in this process on a few of them."""
        self._check_code()
        split, box = self._split()
        if self._kind in _RAN:
            return
        volumes = replace(self.settings.volumes, n_draws=_FEW_DRAWS)
        few = replace(self, settings=self.settings._replace(volumes=volumes), with_curves=True)
        few._run_on(_few_rows(split), box)

    def run(self) -> BatchResult:
        """Return a row for each task; where the detector fails, with the reason."""
        self._check_code()
        return self._run_on(*self._split())

    def _check_code(self) -> None:
        """Check that its own code is that of the study; import it."""
        own = [x.measure.compute for x in self.settings.measures if isinstance(x, BoundMeasure)]
        check_code([*own, *(each.code() for each in self.configurations)], self.code)

    @property
    def _kind(self) -> str:
        """What it loads and compiles, by name: its group, or the maker of its detector."""
        first = self.configurations[0]
        group = group_of(first)
        return group if group in (NEIGHBOURS, MACHINES) else described(first.factory)

    def _run_on(self, split: Split, box: Box) -> BatchResult:
        settings = self.settings
        _RAN.add(self._kind)
        key = (settings.seed, string_seed(self.problem.name), self.repeat)
        seeds = [
            detector_seed(key, configuration, self.contamination)
            for configuration in self.configurations
        ]
        # The same points for all detectors.
        seed = np.random.SeedSequence([*key, _UNIFORM]).generate_state(1, np.uint64)[0]
        draws = Draws(box, seed)
        fitted = fit_batch(self.configurations, split.X_train, seeds)
        rows = {
            configuration: self._row(split, configuration) for configuration in self.configurations
        }
        for configuration, seconds in fitted.seconds.items():
            rows[configuration]["fit_time_s"] = seconds
        for scorer, members in fitted.scorers:
            began = perf_counter()
            try:
                with ignore_warnings():
                    tested = scores_of_rows(scorer, len(members), split.X_test)
            except FAILURES as error:  # whatever it is, the other batches go on
                fitted.reasons |= dict.fromkeys(members, reason_of(error))
                continue
            uniform, reason = _uniform_scores(scorer, len(members), draws, settings)
            seconds = (perf_counter() - began) / len(members)
            for i, configuration in enumerate(members):
                uniform_score = None if uniform is None else uniform[i]
                measured = self._measured(split, tested[i], uniform_score, reason)
                if isinstance(measured, str):
                    fitted.reasons[configuration] = measured
                    continue
                undefined = (f"{key}: {why}" for key, why in measured.undefined.items())
                rows[configuration] |= measured.values
                rows[configuration]["score_time_s"] = seconds
                rows[configuration]["undefined"] = "; ".join(undefined)
                rows[configuration] |= measured.curves
        for configuration, reason in fitted.reasons.items():
            rows[configuration]["reason"] = reason
        return _result(list(rows.values()))

    @property
    def title(self) -> str:
        """Description of the batch for people."""
        first = self.configurations[0].key
        others = len(self.configurations) - 1
        return (
            f"{first}{f' and {others} more' if others else ''} on {self.problem.name}, "
            f"contamination {self.contamination:g}, repeat {self.repeat}"
        )

    def only(self, tasks: Collection[str]) -> "TaskBatch":
        """Return the batch of some of its tasks; no row depends on the others."""
        kept = [i for i, task in enumerate(self.tasks) if task in tasks]
        return replace(
            self,
            tasks=tuple(self.tasks[i] for i in kept),
            configurations=tuple(self.configurations[i] for i in kept),
        )

    def failed(self, reason: str) -> BatchResult:
        """Return a row for each task, with the reason why there is no more."""
        split, _ = self._split()
        rows = [self._row(split, configuration) for configuration in self.configurations]
        return _result([{**row, "reason": reason} for row in rows])

    def time_limit(self, timeout: float) -> float:
        """Return how long it may take where a task may take so long."""
        return timeout * len(self.configurations)

    def estimated_seconds(self) -> float:
        """Return how long it takes on one core, about."""
        problem, protocol = self.problem, self.settings.protocol
        n_train = float(protocol.train_fraction) * problem.n_normals
        n_test = problem.n_normals - n_train + problem.n_anomalies
        if protocol.max_train is not None:
            n_train = min(n_train, protocol.max_train)
        if protocol.max_test is not None:
            n_test = min(n_test, 2 * protocol.max_test)
        points = self.settings.volumes.n_draws + n_test
        pairs = points * n_train
        group = group_of(self.configurations[0])
        if group == NEIGHBOURS:
            a, b, c = _NEIGHBOURS_COST
            return a * points + b * pairs + c * pairs * problem.n_features
        if group == MACHINES:
            a, b, c = _MACHINES_COST
            each = a * pairs + c * n_train**2
            return len(self.configurations) * each + b * pairs * problem.n_features
        return _OTHER_COST[0] + _OTHER_COST[1] * points

    def _split(self) -> tuple[Split, Box]:
        problem, settings = self.problem, self.settings
        return _split_of(problem, self.contamination, self.repeat, settings.seed, settings.protocol)

    def _measured(
        self, split: Split, y_score: FloatVector, uniform_score: FloatVector | None, reason: str
    ) -> Measured | str:
        """Return the measures of scores, or why there are none."""
        nan = _nan_reason(y_score, "test rows")
        if nan:
            return nan
        if len(y_score) > 1 and (y_score == y_score[0]).all():
            return f"{EQUAL_SCORES}{len(y_score)} test rows: {y_score[0]:g}"
        if uniform_score is not None:
            reason = _nan_reason(uniform_score, "uniform points")
            uniform_score = None if reason else uniform_score
        try:
            return measure_scores(
                *(split.y_test, y_score, uniform_score),
                keys=self.settings.measures,
                rates=self.settings.volumes.fpr,
                with_curves=self.with_curves,
                without_uniform=reason,
            )
        except Exception as error:  # whatever it is, the others go on
            return reason_of(error)

    def _row(self, split: Split, configuration: Configuration) -> Row:
        """Return the row of a task, without measured values."""
        problem, settings = self.problem, self.settings
        cvol = map(cvol_key, map(float, settings.volumes.fpr))
        return {
            "collection": problem.collection,
            "dataset": problem.dataset,
            "anomaly_class": problem.anomaly_class,
            "contamination": self.contamination,
            "repeat": self.repeat,
            "detector": configuration.detector,
            "params": configuration.params,
            "n_features": split.X_train.shape[1],
            "n_train": split.X_train.shape[0],
            "n_train_anomalies": split.n_train_anomalies,
            "n_test": split.y_test.shape[0],
            "n_test_anomalies": int(np.count_nonzero(split.y_test)),
            **dict.fromkeys([*keys_of(settings.measures), *cvol, EM, MV], float("nan")),
            "fit_time_s": float("nan"),
            "score_time_s": float("nan"),
            "reason": "",
            "undefined": "",
            # None for tasks that failed.
            **(dict.fromkeys(CURVES) if self.with_curves else {}),
        }


def detector_seed(key: tuple[int, ...], configuration: Configuration, contamination: float) -> int:
    """Return the seed of a detector, which depends on nothing else that runs."""
    parts = [string_seed(configuration.key), string_seed(repr(contamination))]
    return int(np.random.SeedSequence([*key, _DETECTORS, *parts]).generate_state(1)[0])


def _few_rows(split: Split) -> Split:
    """Return a few rows of a split, of both kinds of test rows."""
    kinds = [np.flatnonzero(split.y_test == kind)[:_FEW_TEST] for kind in (0, 1)]
    test = np.concatenate(kinds)
    return Split(split.X_train[:_FEW_TRAIN], split.X_test[test], split.y_test[test], 0)


def _nan_reason(scores: FloatVector, of: str) -> str:
    """Return why scores cannot be measured; nothing if they can."""
    n_nan = int(np.count_nonzero(np.isnan(scores)))
    return f"NaN in {n_nan} of {scores.shape[0]} scores of {of}" if n_nan else ""


def _uniform_scores(
    scorer: ScorerGroup, n_scores: int, draws: Draws, settings: Settings
) -> tuple[FloatMatrix | None, str]:
    """Return the scores of uniform points, or why there are none: other measures go on."""
    try:
        with ignore_warnings():
            return scores_of_draws(scorer, n_scores, draws, settings.volumes.n_draws), ""
    except FAILURES as error:  # whatever it is
        return None, f"of uniform points: {reason_of(error)}"


def _result(rows: Sequence[Row]) -> BatchResult:
    return BatchResult({name: [row[name] for row in rows] for name in rows[0]})


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
