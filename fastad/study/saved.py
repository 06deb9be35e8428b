"""What a study has found so far, read while it runs or afterwards."""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fastad.errors import InvalidInputError
from fastad.study.folder import CURVES, GOIX, MANIFEST, PARTS, RESULTS, TIMES, manifest_of
from fastad.study.manifest import Manifest
from fastad.study.part_files import BATCH, DamagedPartError, in_order, read_all, read_result
from fastad.study.runner_lock import runner_at_work
from fastad.study.tables import ArrowTable, StudyTables


@dataclass(frozen=True, slots=True)
class StudyStatus:
    """How far a study is.

    Attributes
    ----------
    n_batches, n_done : int
        Batches that are planned, and those that are done.
    failures : mapping of str to int
        For each reason the number of tasks that failed, the most frequent first.
    runner : str or None
        Who is at work now.
    """

    n_batches: int
    n_done: int
    failures: Mapping[str, int]
    runner: str | None


def read_study(folder: str | os.PathLike[str]) -> StudyTables:
    """Read what a study has found so far; also while it is running.

    Parameters
    ----------
    folder : path
        Of the study.

    Returns
    -------
    StudyTables
        Rows in the order of the plan; tables without columns where nothing is there.

    Raises
    ------
    InvalidInputError
        If the folder holds no study, or its files are damaged.
    """
    root = Path(folder)
    manifest = _present(root)
    tables, n_done = _read(root, manifest)
    return StudyTables(
        tasks=tables[PARTS],
        curves=tables[CURVES],
        goix=tables[GOIX],
        manifest=manifest.to_dict(),
        n_batches=len(manifest.batches),
        n_done=n_done,
    )


def study_status(folder: str | os.PathLike[str]) -> StudyStatus:
    """Tell how far a study is, and who is at work.

    Parameters
    ----------
    folder : path
        Of the study.

    Returns
    -------
    StudyStatus

    Raises
    ------
    InvalidInputError
        As `read_study`.
    """
    root = Path(folder)
    manifest = _present(root)
    tables, n_done = _read(root, manifest, columns=("reason",))
    tasks = tables[PARTS]
    reasons = tasks["reason"].to_pylist() if "reason" in tasks.column_names else []
    failures = dict(Counter(filter(None, reasons)).most_common())
    return StudyStatus(len(manifest.batches), n_done, failures, runner_at_work(root))


def _present(root: Path) -> Manifest:
    manifest = manifest_of(root)
    if manifest is None:
        raise InvalidInputError(
            f"folder must be that of a study; {root} has no {MANIFEST}", argument="folder"
        )
    return manifest


def _read(
    root: Path, manifest: Manifest, columns: tuple[str, ...] | None = None
) -> tuple[dict[str, ArrowTable], int]:
    """Return the tables of a study, and how many batches are done."""
    planned = frozenset(manifest.batches)
    tables: dict[str, ArrowTable] = {}
    for kind, name in RESULTS.items():
        try:
            tables[kind] = read_result(root / name, columns)
        except DamagedPartError as error:
            raise InvalidInputError(f"{error}; run the study again to write it anew") from None
    # They are written when all is done, and never where there are no rows.
    finished = tables[PARTS] is not None or tables[GOIX] is not None
    done = set(planned) if finished else set()
    wanted = None if columns is None else (BATCH, *columns)
    # Curves last: they are written before the rows of their batch.
    for kind in (GOIX, PARTS, CURVES):
        if tables[kind] is None:
            found = read_all(root / kind, planned, wanted)
            if kind != CURVES:
                done |= found.batches
            tables[kind] = in_order(found, [one for one in manifest.batches if one in done])
    # A finished study has them in a file of their own.
    times = [name for name in TIMES if name in tables[PARTS].column_names]
    return tables | {PARTS: tables[PARTS].drop_columns(times)}, len(done)
