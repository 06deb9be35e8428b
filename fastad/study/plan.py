"""The plan of a study: its batches in their order, and its manifest."""

import platform
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import PackageNotFoundError, version

from fastad.study.config import StudyConfig
from fastad.study.configurations import Configuration
from fastad.study.extensions import Batch
from fastad.study.fitting import group_of
from fastad.study.manifest import Manifest
from fastad.study.problems import FoundProblems, Problem
from fastad.study.tasks import Settings, TaskBatch

# Characters of a batch's name, so that it can be the name of a file.
_MAX_NAME = 80
# Libraries whose versions are noted.
_LIBRARIES = ("fastad", "numpy", "scipy", "numba", "scikit-learn", "pyod")


def plan_batches(config: StudyConfig, problems: Sequence[Problem]) -> list[Batch]:
    """Return the batches of a study in the order of its results.

    Parameters
    ----------
    config : StudyConfig
        What to run.
    problems : sequence of Problem
        On which data.

    Returns
    -------
    list of Batch
        Batches of one split are next to each other, so that a process reads its rows once; those
        of extensions come last.
    """
    batches: list[Batch] = list(_task_batches(config, problems))
    for plan in config.extra.values():
        batches += plan.batches(problems, config.seed)
    digits = len(str(len(batches)))
    return [
        replace(batch, name=_file_name(f"{number:0{digits}d}-{batch.name}"))  # type: ignore[type-var]
        for number, batch in enumerate(batches)
    ]


def make_manifest(
    config: StudyConfig, selected: FoundProblems, batches: Sequence[Batch]
) -> Manifest:
    """Return the manifest of a study that is about to run with the libraries that are here."""
    tables: dict[str, list[str]] = {}
    for batch in batches:
        tables.setdefault(batch.table, []).append(batch.name)
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
        versions=versions_here(),
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        notes=selected.notes,
    )


def versions_here() -> dict[str, str]:
    """Return what results may depend on besides the study: the machine, Python and libraries."""
    versions = {
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }
    for name in _LIBRARIES:
        with suppress(PackageNotFoundError):
            versions[name] = version(name)
    return versions


def _task_batches(config: StudyConfig, problems: Sequence[Problem]) -> Iterator[TaskBatch]:
    settings = Settings.of(config)
    groups: dict[str, list[Configuration]] = {}
    for configuration in config.detectors:
        groups.setdefault(group_of(configuration), []).append(configuration)
    seen: set[tuple[str, str]] = set()
    for problem in problems:
        key = problem.collection, problem.dataset
        is_first = key not in seen
        seen.add(key)
        for contamination in config.protocol.contaminations:
            for repeat in range(1, config.protocol.repeats + 1):
                is_usual = contamination == config.protocol.contaminations[0] and repeat == 1
                split = f"{problem.name}-c{contamination:g}-r{repeat}"
                for group, members in groups.items():
                    yield TaskBatch(
                        f"{split}-{group}",
                        problem,
                        float(contamination),
                        repeat,
                        tuple(members),
                        settings,
                        with_curves=is_first and is_usual,
                    )


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.=-]+", "_", name, flags=re.ASCII)[:_MAX_NAME]
