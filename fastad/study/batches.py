"""Batches: which tasks of a study run together, and in which order."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from fastad.study.config import StudyConfig
from fastad.study.grid import Configuration
from fastad.study.papers.goix_data import GoixProtocol, Setting
from fastad.study.problems import Problem
from fastad.study.sharing import group_of

# Of a name of a batch, so that it can be the name of a file.
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Batch:
    """Tasks of one split that share what is dear, and are saved together.

    Attributes
    ----------
    name : str
        Unique in the study, of characters that names of files may have.
    problem : Problem
        Data set and class of anomalies.
    contamination : float
        Anomalies in training for each normal row.
    repeat : int
        Which of the repeated splits, from 1.
    configurations : tuple of Configuration
        Detectors and parameters, one for each task.
    with_curves : bool
        Whether curves are kept.
    """

    name: str
    problem: Problem
    contamination: float
    repeat: int
    configurations: tuple[Configuration, ...]
    with_curves: bool


@dataclass(frozen=True, slots=True)
class GoixBatch:
    """A data set in one setting of goix's protocol.

    Attributes
    ----------
    name : str
        As of a `Batch`.
    problem : Problem
        Any of the data set: all its anomalies take part.
    setting : {"novelty", "unsupervised"}
        How detectors are trained.
    protocol : GoixProtocol
        Its numbers.
    """

    name: str
    problem: Problem
    setting: Setting
    protocol: GoixProtocol


AnyBatch: TypeAlias = Batch | GoixBatch


def plan_batches(config: StudyConfig, problems: Sequence[Problem]) -> list[AnyBatch]:
    """Return the batches of a study in the order of its results.

    Parameters
    ----------
    config : StudyConfig
        What to run.
    problems : sequence of Problem
        On which data.

    Returns
    -------
    list of Batch and GoixBatch
        Batches of one split stand together, so that a process reads its rows once.
    """
    unnamed = [*_batches(config, problems), *_goix_batches(config, problems)]
    digits = len(str(len(unnamed)))
    return [
        _named(batch, f"{number:0{digits}d}-{batch.name}") for number, batch in enumerate(unnamed)
    ]


def _batches(config: StudyConfig, problems: Sequence[Problem]) -> Iterator[AnyBatch]:
    groups: dict[str, list[Configuration]] = {}
    for one in config.detectors:
        groups.setdefault(group_of(one), []).append(one)
    drawn: set[tuple[str, str]] = set()
    for problem in problems:
        key = problem.collection, problem.dataset
        first = key not in drawn
        drawn.add(key)
        for contamination in config.protocol.contaminations:
            for repeat in range(1, config.protocol.repeats + 1):
                usual = contamination == config.protocol.contaminations[0] and repeat == 1
                where = f"{problem.name}-c{contamination:g}-r{repeat}"
                for group, members in groups.items():
                    yield Batch(
                        f"{where}-{group}",
                        problem,
                        float(contamination),
                        repeat,
                        tuple(members),
                        with_curves=first and usual,
                    )


def _goix_batches(config: StudyConfig, problems: Sequence[Problem]) -> Iterator[AnyBatch]:
    if config.goix is None:
        return
    for problem in _first_of_each(problems):
        for setting in config.goix.settings:
            where = f"{problem.collection}/{problem.dataset}"
            name = f"goix-{where}-{setting}"
            yield GoixBatch(name, problem, setting, config.goix.protocol)


def _first_of_each(problems: Iterable[Problem]) -> list[Problem]:
    """Return each data set once, with all its anomalies."""
    first: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        first.setdefault((problem.collection, problem.dataset), problem)
    return [replace(problem, anomaly_class=None) for problem in first.values()]


def _named(batch: AnyBatch, name: str) -> AnyBatch:
    return replace(batch, name=re.sub(r"[^\w.=-]+", "_", name, flags=re.ASCII)[:_LONGEST])
