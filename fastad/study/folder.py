"""A folder that a study can begin in, or go on in."""

import os
import tempfile
from dataclasses import replace
from pathlib import Path

from fastad._core.files import written_aside
from fastad._core.text_tables import some_of
from fastad.errors import InvalidInputError
from fastad.study.manifest import Manifest
from fastad.study.runner_lock import LOCK, NOTE

MANIFEST = "study.json"
# Folders of parts, and the files that their rows go to in the end.
PARTS, CURVES, GOIX = "parts", "curves", "goix"
RESULTS = {PARTS: "results.parquet", CURVES: "curves.parquet", GOIX: "goix.parquet"}
# What no two runs have in common, and the file that it goes to, so that results are the same.
TIMES = ("fit_time_s", "score_time_s")
TIMES_FILE = "times.parquet"
# What a folder may hold before a study begins there, beside hidden files.
_HARMLESS = (LOCK, NOTE, "report")
# Names and differences that a message shows.
_NAMED = 8


def check_folder(root: Path) -> None:
    """Make a folder and try to write there, unless it is that of something else.

    Raises
    ------
    InvalidInputError
        If it cannot be written, or holds something else.
    """
    try:
        _refuse_others(root)
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        raise InvalidInputError(
            f"folder must be one that can be written; {root}: {error.strerror}",
            argument="folder",
        ) from None


def begin(root: Path, manifest: Manifest) -> tuple[Manifest, list[str]]:
    """Write the manifest of a new study, or go on with the one that is there.

    Returns
    -------
    (Manifest, list of str)
        That of the folder, and what a user should know of it.

    Raises
    ------
    InvalidInputError
        If the folder holds another study.
    """
    known = manifest_of(root)
    if known is None:
        _write(root, manifest)
        return manifest, []
    differences = manifest.differences(known)
    if differences:
        more = len(differences) - _NAMED
        raise InvalidInputError(
            f"folder must be new or that of the same study; {root} holds another: "
            + "; ".join(differences[:_NAMED])
            + (f"; and {more} more" if more > 0 else "")
        )
    return _with_versions(root, known, manifest)


def manifest_of(root: Path) -> Manifest | None:
    """Return the manifest of a folder, None where there is none.

    Raises
    ------
    InvalidInputError
        If it cannot be read.
    """
    path = root / MANIFEST
    try:
        return Manifest.from_json(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except InvalidInputError as error:
        raise InvalidInputError(f"{path} cannot be read: {error}") from None


def _refuse_others(root: Path) -> None:
    """Refuse a folder of something else."""
    try:
        names = sorted(os.listdir(root))
    except FileNotFoundError:
        return
    strange = [name for name in names if name not in _HARMLESS and name[0] != "."]
    if MANIFEST not in names and strange:
        raise InvalidInputError(
            f"folder must be new, empty or that of a study; {root} has no {MANIFEST} and holds "
            f"{some_of(strange, _NAMED)}",
            argument="folder",
        )


def _with_versions(root: Path, known: Manifest, here: Manifest) -> tuple[Manifest, list[str]]:
    """Return a manifest with the versions that take part now, and say which are others."""
    old, new = known.versions, here.versions
    if new != old and new not in known.later_versions:
        known = replace(known, later_versions=[*known.later_versions, new])
        _write(root, known)
    names = dict.fromkeys((*old, *new))
    return known, [
        f"{name} is {new.get(name, 'not there')} here and was {old.get(name, 'not there')} when "
        "the study began"
        for name in names
        if new.get(name) != old.get(name)
    ]


def _write(root: Path, manifest: Manifest) -> None:
    with written_aside(root / MANIFEST) as aside, aside.open("w", encoding="utf-8") as file:
        file.write(manifest.to_json())
        # A power cut must not leave parts without it.
        file.flush()
        os.fsync(file.fileno())
