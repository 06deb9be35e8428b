"""Trying detectors on a few rows before a study begins, to find those that fail everywhere."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from fastad._core.text_tables import some_of
from fastad.errors import InvalidInputError
from fastad.study.config import StudyConfig, VolumePlan
from fastad.study.configurations import Configuration
from fastad.study.extensions import Batch, BatchResult
from fastad.study.problems import Problem
from fastad.study.results import EQUAL_SCORES, is_failure
from fastad.study.tasks import Settings, TaskBatch

RunCall: TypeAlias = Callable[[Sequence[Batch]], Iterable[tuple[Batch, BatchResult]]]

# Rows that train and rows of each kind that test, and uniform points.
_ROWS, _TEST_ROWS, _DRAWS = 40, 20, 100
# Detectors that a message names.
_MAX_NAMES = 5


def try_detectors(
    config: StudyConfig,
    problems: Sequence[Problem],
    configurations: Sequence[Configuration],
    run: RunCall,
) -> None:
    """Fit and score detectors on a few rows; those that fail there, on all rows of a split.

    Rules of neighbours are not tried: all that can fail is checked without.

    Parameters
    ----------
    config : StudyConfig
        Configuration to run.
    problems : sequence of Problem
        Problems of its data; the largest is taken.
    configurations : sequence of Configuration
        Configurations to try.
    run : callable
        Runs batches.

    Raises
    ------
    InvalidInputError
        If a detector fails in both; the message names it with its reason.
    """
    candidates = [each for each in configurations if each.factory is not None]
    problem = max(problems, key=lambda each: each.n_normals)
    few: dict[str, Any] = {"max_train": _ROWS, "max_test": _TEST_ROWS}
    failed = dict.fromkeys(candidates, "")
    for limits in (few, {}):
        if not failed:
            return
        batches = [
            _batch(config, problem, configuration, number, limits)
            for number, configuration in enumerate(failed)
        ]
        detectors = {batch.tasks: batch.configurations[0] for batch in batches}
        reasons: dict[Configuration, str] = {}
        for batch, result in run(batches):
            (reason,) = result.rows["reason"]
            if is_failure(reason) and not reason.startswith(EQUAL_SCORES):
                reasons[detectors[batch.tasks]] = reason
        failed = {each: reasons[each] for each in failed if each in reasons}
    if failed:
        named_failures = [f"{each.key} ({reason})" for each, reason in failed.items()]
        raise InvalidInputError(
            f"detectors must be able to fit and score; on {problem.name} {len(failed)} of "
            f"{len(candidates)} cannot: {some_of(named_failures, _MAX_NAMES)}",
            argument="detectors",
        )


def _batch(
    config: StudyConfig,
    problem: Problem,
    configuration: Configuration,
    number: int,
    limits: dict[str, Any],
) -> TaskBatch:
    protocol = config.protocol
    settings = Settings.of(
        replace(config, volumes=VolumePlan(_DRAWS), protocol=replace(protocol, **limits))
    )
    return TaskBatch(
        (f"trial-{number}",),
        problem,
        float(protocol.contaminations[0]),
        1,
        (configuration,),
        settings,
        with_curves=False,
    )
