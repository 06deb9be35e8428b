"""The plan of a study: its batches in their order, its manifest, and a trial of its detectors."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TypeAlias

from fastad._core.text_tables import some_of
from fastad._core.version import __version__
from fastad.errors import InvalidInputError
from fastad.study.config import StudyConfig, VolumePlan
from fastad.study.configurations import Configuration
from fastad.study.digests import digest_of, library_versions, own_code
from fastad.study.extensions import Batch, BatchResult
from fastad.study.fitting import group_of
from fastad.study.manifest import AXES, SETTINGS, Manifest
from fastad.study.problems import FoundProblems, Problem
from fastad.study.results import EQUAL_SCORES, is_failure
from fastad.study.tasks import Settings, TaskBatch

# Libraries whose versions are noted, beside the detectors' own libraries.
_LIBRARIES = ("numpy", "scipy", "numba", "scikit-learn", "pyod")
RunCall: TypeAlias = Callable[[Sequence[Batch]], Iterable[tuple[Batch, BatchResult]]]

# Rows that train and rows of each kind that test, and uniform points.
_ROWS, _TEST_ROWS, _DRAWS = 40, 20, 100
# Detectors that a message names.
_MAX_NAMES = 5


def plan_batches(config: StudyConfig, problems: Sequence[Problem]) -> list[Batch]:
    """Return the batches of a study in the order of its results.

    Batches of one split are next to each other, so that a process reads its rows once; batches of
    extensions come last.
    """
    batches: list[Batch] = list(_task_batches(config, problems))
    for plan in config.extra.values():
        batches += plan.batches(problems, config.seed)
    return batches


def make_manifest(
    config: StudyConfig, selected: FoundProblems, batches: Sequence[Batch]
) -> Manifest:
    """Return the manifest of a study that is about to run with the libraries that are here."""
    tables: dict[str, list[Sequence[str]]] = {}
    for batch in batches:
        tables.setdefault(batch.table, []).append(batch.tasks)
    own = [bound.measure.compute for bound in config.own_measures.values()]
    code = [*own, *(detector.code() for detector in config.detectors)]
    return Manifest(
        config=config.to_dict(),
        problems=[
            {
                "name": problem.name,
                "collection": problem.collection,
                "dataset": problem.dataset,
                "anomaly_class": problem.anomaly_class,
                "n_normals": problem.n_normals,
                "n_anomalies": problem.n_anomalies,
                "n_features": problem.n_features,
                "digest": problem.digest,
            }
            for problem in selected.problems
        ],
        batches=tables,
        versions=library_versions(code) | versions_here(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        notes=selected.notes,
        code=own_code(code),
    )


def versions_here() -> dict[str, str]:
    """Return the versions that results may depend on: machine, Python and libraries."""
    versions = {
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        # Also of a clone that is not installed.
        "fastad": __version__,
    }
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _task_batches(config: StudyConfig, problems: Sequence[Problem]) -> Iterator[TaskBatch]:
    settings = Settings.of(config)
    common = _common_settings(config.to_dict())
    groups: dict[str, list[Configuration]] = {}
    for configuration in config.detectors:
        groups.setdefault(group_of(configuration), []).append(configuration)
    digests = {configuration: configuration.digest() for configuration in config.detectors}
    own = [bound.measure.compute for bound in config.own_measures.values()]
    code = {
        group: own_code([*own, *(configuration.code() for configuration in members)])
        for group, members in groups.items()
    }
    seen: set[tuple[str, str]] = set()
    for problem in problems:
        key = problem.collection, problem.dataset
        is_first = key not in seen
        seen.add(key)
        data = [problem.name, problem.digest, problem.anomaly_class, problem.difficulties]
        for contamination in map(float, config.protocol.contaminations):
            for repeat in range(1, config.protocol.repeats + 1):
                is_usual = contamination == config.protocol.contaminations[0] and repeat == 1
                with_curves = is_first and is_usual
                split = digest_of("task", common, data, contamination, repeat, with_curves)
                for group, members in groups.items():
                    yield TaskBatch(
                        tuple(digest_of(split, digests[member]) for member in members),
                        problem,
                        contamination,
                        repeat,
                        tuple(members),
                        settings,
                        with_curves=with_curves,
                        code=code[group],
                    )


def _common_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that all tasks depend on."""
    common: dict[str, Any] = {name: config[name] for name in ("own_measures",) if name in config}
    for name in SETTINGS:
        value = config[name]
        if isinstance(value, Mapping):
            value = {key: x for key, x in value.items() if f"{name}.{key}" not in AXES}
        common[name] = value
    return common


def try_detectors(
    config: StudyConfig,
    problems: Sequence[Problem],
    configurations: Sequence[Configuration],
    run: RunCall,
) -> None:
    """Fit and score detectors on a few rows; those that fail there, on all rows of a split.

    Rules of neighbours are not tried: all that can fail is checked without. The largest problem is
    taken. If a detector fails in both, an `InvalidInputError` names it with its reason.
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
            f"{len(candidates)} cannot: {some_of(named_failures, _MAX_NAMES)}"
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
