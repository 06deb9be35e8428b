"""The problems of a study: data sets, and the sub-problems of their classes of anomalies."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastad._core.arrays import set_readonly
from fastad._core.parameters import check_choice, check_count, check_flag, mistyped, refused
from fastad._core.random import string_seed
from fastad._core.text_tables import some_of
from fastad._core.types import FloatMatrix, LabelVector
from fastad.errors import InvalidInputError
from fastad.study.data import (
    BUNDLED,
    BUNDLED_COLLECTION,
    DIFFICULTIES,
    SUFFIXES,
    LabelledData,
    Strings,
    load_bundled,
    read_data,
)
from fastad.study.manifest import MANIFEST

# With this many normal rows the protocol can train on two and test on one.
MIN_NORMALS = 10
_BUNDLED = "bundled:"


@dataclass(frozen=True, slots=True)
class DataSelection:
    """Data of a study; the table ``[data]`` of its configuration.

    Attributes
    ----------
    paths : tuple of str
        Folders, searched with all that is below them, and files: ``.npz``, ``.csv``, ``.parquet``.
    bundled : bool
        Whether the data sets that come with scikit-learn belong to it.
    include, exclude : tuple of str
        Patterns of names like ``uci/ecoli``, with ``*``, ``?`` and ``[…]``: which data sets are
        in, by default all, and which of them are not.
    difficulties : tuple of str
        Grades of the anomalies, ``easy``, ``medium``, ``hard`` or ``very_hard``, by default all;
        data sets without grades keep all their anomalies.
    max_subproblems : int or None
        Sub-problems of a data set at most: its classes of anomalies are drawn down to that number.
    min_anomalies : int
        Classes with fewer anomalies are left out.
    """

    paths: tuple[str, ...] = ()
    bundled: bool = False
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    difficulties: tuple[str, ...] = ()
    max_subproblems: int | None = None
    min_anomalies: int = 2

    def __post_init__(self) -> None:
        for name in ("paths", "include", "exclude", "difficulties"):
            object.__setattr__(self, name, _strings(getattr(self, name), f"data.{name}"))
        object.__setattr__(self, "bundled", check_flag(self.bundled, "data.bundled"))
        for grade in self.difficulties:
            check_choice(grade, DIFFICULTIES, "data.difficulties")
        for name in ("max_subproblems", "min_anomalies"):
            value = getattr(self, name)
            if value is not None or name == "min_anomalies":
                object.__setattr__(self, name, check_count(value, f"data.{name}"))


@dataclass(frozen=True, slots=True)
class Problem:
    """A data set, or all its normal rows against one class of its anomalies."""

    # The folder that contains the file, and the file's name without suffix.
    collection: str
    dataset: str
    # None where the data set has no classes.
    anomaly_class: str | None
    n_normals: int
    n_anomalies: int
    n_features: int
    # The file's absolute path, or a name like ``bundled:iris``.
    source: str
    # SHA-256 of the content of the whole file.
    digest: str
    # Grades of the anomalies; empty for all of them.
    difficulties: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the data set, with the class behind it: ``uci/ecoli (om)``."""
        anomalies = "" if self.anomaly_class is None else f" ({self.anomaly_class})"
        return f"{self.collection}/{self.dataset}{anomalies}"

    def load(self) -> tuple[FloatMatrix, LabelVector]:
        """Return samples and labels, 1 for an anomaly; both read-only.

        The last data sets stay in memory, so that sub-problems in a row read a file once. A file
        that has changed since the problem was found is refused.
        """
        data = _loaded(self.source, self.digest)
        keep = data.kept(self.difficulties, self.anomaly_class)
        if keep.all():
            return data.X, data.y
        return set_readonly(data.X[keep]), set_readonly(data.y[keep])


@dataclass(frozen=True, slots=True)
class FoundProblems:
    """The problems of a study."""

    # Sorted by collection, data set and class.
    problems: tuple[Problem, ...]
    # Data that were left out, and why.
    notes: list[str] = field(default_factory=list)


class _Source(NamedTuple):
    """A data set that was found but not read."""

    collection: str
    dataset: str
    location: str

    @property
    def name(self) -> str:
        return f"{self.collection}/{self.dataset}"


def find_problems(selection: DataSelection, *, folder: Path, seed: int) -> FoundProblems:
    """Find the problems of a study; each file is read and checked.

    Paths are relative to ``folder``. The seed, with the name of a data set, draws classes where
    there are too many. It is an `InvalidInputError` if there are no data, a file cannot be used, or
    two data sets have one name.
    """
    sources = sorted(_sources(selection, folder))
    if not sources:
        raise refused(
            "data.paths", "name files or folders of data, or data.bundled be true", "neither"
        )
    notes = _check_patterns(selection, [source.name for source in sources])
    selected = [source for source in sources if _is_selected(source.name, selection)]
    _check_names(selected)
    problems: list[Problem] = []
    for source in selected:
        data = _read(source.location)
        try:
            problems += _problems_of(source, data, selection, seed, notes)
        except InvalidInputError as error:
            raise InvalidInputError(f"{source.location}: {error}", argument=error.item) from None
    if not problems:
        raise InvalidInputError(
            "data.include, data.exclude and data.difficulties must leave something; found "
            f"{some_of([source.name for source in sources], 5)}, all left out"
        )
    return FoundProblems(tuple(problems), notes)


def _sources(selection: DataSelection, folder: Path) -> set[_Source]:
    """Return all data sets of a study; a file that is listed twice is one."""
    sources: set[_Source] = set()
    if selection.bundled:
        sources.update(_Source(BUNDLED_COLLECTION, name, _BUNDLED + name) for name in BUNDLED)
    for path in selection.paths:
        # Not resolved: the name of a link counts, not its target's.
        for file in _files(Path(os.path.abspath(folder / path)), path):
            sources.add(_Source(file.parent.name, file.stem, str(file)))
    return sources


def _files(location: Path, path: str) -> list[Path]:
    if not location.exists():
        raise refused(
            "data.paths", "name files or folders that are there", f"no {path!r} ({location})"
        )
    extensions = " or ".join(SUFFIXES)
    if location.is_file():
        if location.suffix.lower() not in SUFFIXES:
            raise refused("data.paths", f"name {extensions} files", repr(path))
        return [location]
    # Results of studies are no data, whatever folder they were put into.
    studies = {file.parent for file in location.rglob(MANIFEST)}
    files = [
        file
        for file in location.rglob("*")
        if file.suffix.lower() in SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(location).parts)
        and studies.isdisjoint(file.parents)
    ]
    if not files:
        raise refused(
            "data.paths", f"name folders with {extensions} files", f"none in {path!r} ({location})"
        )
    return files


def _check_patterns(selection: DataSelection, names: Sequence[str]) -> list[str]:
    """Check that each pattern to include matches; note those to exclude that match nothing."""
    for pattern in selection.include:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise InvalidInputError(
                f"data.include must match data sets; {pattern!r} matches none of "
                f"{some_of(names, 5)}"
            )
    return [
        f"data.exclude: {pattern!r} matches no data set"
        for pattern in selection.exclude
        if not any(fnmatchcase(name, pattern) for name in names)
    ]


def _is_selected(name: str, selection: DataSelection) -> bool:
    def matches(patterns: Sequence[str]) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in patterns)

    return (not selection.include or matches(selection.include)) and not matches(selection.exclude)


def _check_names(sources: Sequence[_Source]) -> None:
    locations: dict[str, str] = {}
    for source in sources:
        if source.name in locations:
            raise refused(
                "data.paths",
                "lead to data sets of different names",
                f"{source.name!r} twice: {locations[source.name]} and {source.location}",
            )
        locations[source.name] = source.location


def _problems_of(
    source: _Source, data: LabelledData, selection: DataSelection, seed: int, notes: list[str]
) -> list[Problem]:
    """Return the problems of a data set, and note omissions."""
    _check_sizes(data.y, selection.min_anomalies)
    grades = () if data.difficulty is None else selection.difficulties
    anomalies = data.kept(grades, None) & (data.y == 1)
    if np.count_nonzero(anomalies) < selection.min_anomalies:
        notes.append(
            f"{source.name}: left out: {np.count_nonzero(anomalies)} anomalies of difficulty "
            f"{', '.join(grades)}, fewer than {selection.min_anomalies}"
        )
        return []
    sizes: dict[str | None, int] = {}
    if data.classes is None:
        sizes[None] = int(np.count_nonzero(anomalies))
    else:
        sizes.update(_class_sizes(source.name, data.classes[anomalies], selection, seed, notes))
    digest, n_normals = data.digest(), int(np.count_nonzero(data.y == 0))
    return [
        Problem(
            collection=source.collection,
            dataset=source.dataset,
            anomaly_class=anomaly_class,
            n_normals=n_normals,
            n_anomalies=size,
            n_features=data.X.shape[1],
            source=source.location,
            digest=digest,
            difficulties=grades,
        )
        for anomaly_class, size in sizes.items()
    ]


def _check_sizes(y: LabelVector, min_anomalies: int) -> None:
    n_anomalies = int(np.count_nonzero(y))
    n_normals = y.shape[0] - n_anomalies
    if not n_normals or not n_anomalies:
        only = f"only {0 if n_normals else 1}" if y.shape[0] else "no rows"
        raise refused("y", "contain both 0 (normal) and 1 (anomaly)", only)
    if n_normals < MIN_NORMALS:
        raise InvalidInputError(f"needs at least {MIN_NORMALS} normal rows; found {n_normals}")
    if n_anomalies < min_anomalies:
        raise InvalidInputError(
            f"needs at least {min_anomalies} anomalies (data.min_anomalies); found {n_anomalies}"
        )


def _class_sizes(
    dataset: str, classes: Strings, selection: DataSelection, seed: int, notes: list[str]
) -> dict[str, int]:
    """Return how many anomalies each class of a study has, and note the other classes."""
    values, counts = np.unique(classes, return_counts=True)
    sizes = dict(zip(values.tolist(), counts.tolist(), strict=True))
    few = {name: size for name, size in sizes.items() if size < selection.min_anomalies}
    enough = [name for name in sizes if name not in few]
    if few:
        shown = ", ".join(f"{name} ({size})" for name, size in few.items())
        fewer = f"with fewer than {selection.min_anomalies} anomalies: {shown}"
        if not enough:
            raise InvalidInputError(f"needs a class of anomalies that is large enough; all {fewer}")
        notes.append(f"{dataset}: {len(few)} of {len(sizes)} classes left out {fewer}")
    most = selection.max_subproblems
    if most is not None and len(enough) > most:
        rng = np.random.default_rng(np.random.SeedSequence([seed, string_seed(dataset)]))
        drawn = np.sort(rng.choice(len(enough), most, replace=False))
        kept = [enough[i] for i in drawn]
        notes.append(f"{dataset}: {most} of {len(enough)} classes drawn: {', '.join(kept)}")
        enough = kept
    return {name: sizes[name] for name in enough}


def _read(location: str) -> LabelledData:
    if location.startswith(_BUNDLED):
        return load_bundled(location.removeprefix(_BUNDLED))
    return read_data(Path(location))


@lru_cache(maxsize=2)
def _loaded(source: str, digest: str) -> LabelledData:
    """Return the data of a source; raise where they have changed."""
    data = _read(source)
    if data.digest() != digest:
        raise InvalidInputError(f"{source}: the data must be those that were found; they changed")
    return data


def _strings(values: Any, name: str) -> tuple[str, ...]:
    """Check a list of strings."""
    if not isinstance(values, list | tuple):
        raise mistyped(name, "be a list of strings", type(values).__name__)
    for i, value in enumerate(values):
        if not isinstance(value, str):
            raise mistyped(f"{name}[{i}]", "be a string", type(value).__name__)
        if not value:
            raise refused(f"{name}[{i}]", "not be empty", "''")
    return tuple(values)
