"""What a study is: its configuration, its data and its batches, as ``study.json`` has them."""

import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any

from fastad._core.files import written_aside
from fastad._core.parameters import short_repr
from fastad.errors import InvalidInputError, InvalidTypeError

MANIFEST = "study.json"
SCHEMA_VERSION = 2
# What some file system does not allow; 200 bytes leave room for the suffix.
_INVALID_NAME = re.compile(r'[\x00-\x1f/\\:*?"<>|]|^\.|^\s|\s$')
# Files that are merged have these names.
_MERGED_NAME = re.compile(r"all-\d+", re.IGNORECASE)
_MAX_NAME = 200
# Differences that a message names.
_MAX_DIFFERENCES = 8
_TYPES = {"config": dict, "problems": list, "batches": dict, "created": str}
_TYPES |= {"versions": dict, "later_versions": list, "notes": list}


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """A study as it was planned.

    Attributes
    ----------
    config : mapping
        Plain values: str, int, float, bool, None, lists and mappings of them.
    problems : sequence of mappings
        For each problem its ``name``, the ``digest`` of its data, and further facts.
    batches : mapping of str to sequence of str
        By table their ids, in order; each is the name of a file.
    versions : mapping of str to str
        Versions of the libraries that it began with.
    created : str
        When the study was planned, in ISO 8601.
    later_versions : sequence of mappings
        Other sets of versions that took part.
    notes : sequence of str
        What was left out of the data, and why.

    Raises
    ------
    InvalidInputError
        If a name is missing, used twice, or cannot be that of a file, or a number is not finite.
    TypeError
        If a value is not plain.
    """

    config: Mapping[str, Any]
    problems: Sequence[Mapping[str, Any]]
    batches: Mapping[str, Sequence[str]]
    versions: Mapping[str, str]
    created: str
    later_versions: Sequence[Mapping[str, str]] = ()
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            # As after reading JSON: lists for tuples, and copies of what callers may change.
            value = _plain(getattr(self, field.name), field.name)
            if not isinstance(value, _TYPES[field.name]):
                raise InvalidTypeError(
                    f"{field.name} must not be a {type(value).__name__}", argument=field.name
                )
            object.__setattr__(self, field.name, value)
        _check_names(self.problems)
        for names in self.batches.values():
            if not isinstance(names, list):
                raise InvalidTypeError(
                    f"batches must have a list for each table; found {names!r}", argument="batches"
                )
        _check_batches([*self.batches, *self.all_batches])

    @property
    def all_batches(self) -> list[str]:
        """All ids, in order."""
        return [name for names in self.batches.values() for name in names]

    def to_dict(self) -> dict[str, Any]:
        """Return what ``study.json`` contains."""
        return {"schema_version": SCHEMA_VERSION} | {
            field.name: getattr(self, field.name) for field in fields(self)
        }

    def to_json(self) -> str:
        """Return ``study.json`` as a string."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, content: str | bytes) -> "Manifest":
        """Return the manifest of the content of ``study.json``.

        Raises
        ------
        InvalidInputError
            If the content is not that of a manifest, or of a newer fastad.
        """
        try:
            values = json.loads(content)
        except ValueError as error:
            raise InvalidInputError(f"it is not whole JSON ({error})") from None
        schema = values.get("schema_version") if isinstance(values, dict) else None
        if isinstance(schema, bool) or not isinstance(schema, int):
            raise InvalidInputError("it has no schema_version")
        if schema != SCHEMA_VERSION:
            raise InvalidInputError(
                f"its schema_version is {schema}, and this fastad reads {SCHEMA_VERSION} only"
            )
        required = [field.name for field in fields(cls) if field.default is MISSING]
        missing = [name for name in required if name not in values]
        if missing:
            raise InvalidInputError(f"it lacks {', '.join(missing)}")
        try:
            names = {field.name for field in fields(cls)} & values.keys()
            return cls(**{name: values[name] for name in names})
        except TypeError as error:
            raise InvalidInputError(str(error)) from None

    def differences(self, other: "Manifest") -> list[str]:
        """Return what makes this study another than that of a folder; versions do not.

        Parameters
        ----------
        other : Manifest
            That of the folder.

        Returns
        -------
        list of str
            A sentence for each difference; empty where the study is the same.
        """
        differences = list(_of_values(dict(_leaves(self.config)), dict(_leaves(other.config))))
        here = {str(problem["name"]): problem for problem in self.problems}
        there = {str(problem["name"]): problem for problem in other.problems}
        for name in dict.fromkeys((*here, *there)):
            if name not in there:
                differences.append(f'"{name}" is new')
            elif name not in here:
                differences.append(f'"{name}" is missing here')
            elif here[name].get("digest") != there[name].get("digest"):
                differences.append(f'the data of "{name}" changed')
            else:
                both = (dict(_leaves(x, f'"{name}"')) for x in (here[name], there[name]))
                differences.extend(_of_values(*both))
        if not differences and self.batches != other.batches:
            planned, old = set(self.all_batches), set(other.all_batches)
            new, missing = len(planned - old), len(old - planned)
            differences.append(
                f"the same configuration plans other batches: {len(planned)} here and "
                f"{len(old)} in the folder, {new} of them new and {missing} missing here"
            )
        return differences


def _of_values(here: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[str]:
    """Describe the values that differ."""
    for name in dict.fromkeys((*here, *there)):
        if name not in there:
            yield f"{name} is {short_repr(here[name])} here and not set in the folder"
        elif name not in here:
            yield f"{name} is not set here and {short_repr(there[name])} in the folder"
        elif _differ(here[name], there[name]):
            yield (
                f"{name} is {short_repr(here[name])} here and {short_repr(there[name])} "
                "in the folder"
            )


def _differ(a: Any, b: Any) -> bool:
    """Tell whether values differ; True and 1 do, 1 and 1.0 do not."""
    if isinstance(a, list) and isinstance(b, list):
        return len(a) != len(b) or any(map(_differ, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() != b.keys() or any(_differ(a[name], b[name]) for name in a)
    return isinstance(a, bool) != isinstance(b, bool) or a != b


def _leaves(values: Mapping[str, Any], root: str = "") -> Iterator[tuple[str, Any]]:
    """Walk through nested mappings; names have dots between their parts."""
    for name, value in values.items():
        path = f"{root}.{name}" if root else name
        if isinstance(value, dict) and value:
            yield from _leaves(value, path)
        else:
            yield path, value


def _plain(value: Any, name: str) -> Any:
    """Return a copy of plain values, in lists and dicts only."""
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise InvalidTypeError(
                    f"{name} must have names that are str; found {short_repr(key)}", argument=name
                )
        return {key: _plain(item, f"{name}.{key}") for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item, f"{name}[{i}]") for i, item in enumerate(value)]
    # Not isinstance: a subclass, such as NumPy's float, would come back as another value.
    if value is not None and type(value) not in (str, int, float, bool):
        raise InvalidTypeError(
            f"{name} must be a plain value; found {type(value).__name__}", argument=name
        )
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"{name} must be finite; found {value}", argument=name)
    return value


def _check_names(problems: Iterable[Any]) -> None:
    """Check that each problem has a name, all different."""
    seen = set()
    for i, problem in enumerate(problems):
        name = problem.get("name") if isinstance(problem, dict) else None
        if not isinstance(name, str):
            raise InvalidInputError(
                f"problems[{i}] must have a name; found {short_repr(problem)}",
                argument=f"problems[{i}]",
            )
        if name in seen:
            raise InvalidInputError(
                f"problems must have different names; found {name!r} twice", argument="problems"
            )
        seen.add(name)


def _check_batches(batches: Iterable[Any]) -> None:
    """Check that ids can be the names of files, also where case does not count."""
    seen = set()
    for name in batches:
        if not isinstance(name, str):
            raise InvalidTypeError(
                f"batches must be str; found {short_repr(name)}", argument="batches"
            )
        if not name or len(name.encode()) > _MAX_NAME or _INVALID_NAME.search(name):
            raise InvalidInputError(
                f"batches must have ids that can name a file of at most {_MAX_NAME} bytes; "
                f"found {name!r}",
                argument="batches",
            )
        if _MERGED_NAME.fullmatch(name):
            raise InvalidInputError(
                f"batches must not be named all-<number>; found {name!r}", argument="batches"
            )
        if name.casefold() in seen:
            raise InvalidInputError(
                f"batches must have different ids; found {name!r} twice", argument="batches"
            )
        seen.add(name.casefold())


def begin_study(root: Path, manifest: Manifest) -> tuple[Manifest, list[str]]:
    """Write the manifest of a new study, or go on with the one that is there.

    Returns
    -------
    (Manifest, list of str)
        That of the folder, and what a user should know of it.

    Raises
    ------
    InvalidInputError
        If the folder contains another study.
    """
    old = read_manifest(root)
    if old is None:
        _write(root, manifest)
        return manifest, []
    differences = manifest.differences(old)
    if differences:
        more = len(differences) - _MAX_DIFFERENCES
        raise InvalidInputError(
            f"folder must be new or that of the same study; {root} contains another: "
            + "; ".join(differences[:_MAX_DIFFERENCES])
            + (f"; and {more} more" if more > 0 else ""),
            argument="folder",
        )
    return _with_versions(root, old, manifest)


def read_manifest(root: Path) -> Manifest | None:
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


def _with_versions(root: Path, manifest: Manifest, here: Manifest) -> tuple[Manifest, list[str]]:
    """Return a manifest with the versions that take part now, and which of them differ."""
    old, new = manifest.versions, here.versions
    if new != old and new not in manifest.later_versions:
        manifest = replace(manifest, later_versions=[*manifest.later_versions, new])
        _write(root, manifest)
    names = dict.fromkeys((*old, *new))
    return manifest, [
        f"{name} is {new.get(name, 'not there')} here and was {old.get(name, 'not there')} when "
        "the study began"
        for name in names
        if new.get(name) != old.get(name)
    ]


def _write(root: Path, manifest: Manifest) -> None:
    with written_aside(root / MANIFEST) as aside, aside.open("w", encoding="utf-8") as file:
        file.write(manifest.to_json())
        # A power cut must not leave batches without it.
        file.flush()
        os.fsync(file.fileno())
