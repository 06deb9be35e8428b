"""What a study is: its configuration, its data and its batches, as ``study.json`` holds them."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any

from fastad._core.parameters import short_repr
from fastad.errors import InvalidInputError

SCHEMA_VERSION = 1
# What some file system does not take; 200 characters leave room for the ending.
_NO_NAME = re.compile(r'[\x00-\x1f/\\:*?"<>|]|^\.|^\s|\s$')
# Files that are merged have these names.
_TAKEN = re.compile(r"all-\d+", re.IGNORECASE)
_LONGEST = 200
_SHAPES = {"config": dict, "problems": list, "batches": list, "created": str}
_SHAPES |= {"versions": dict, "later_versions": list, "remarks": list}


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """A study as it was planned.

    Attributes
    ----------
    config : mapping
        Plain values: str, int, float, bool, None, lists and mappings of them.
    problems : sequence of mappings
        For each problem its ``name``, the ``digest`` of its data, and what else is known of it.
    batches : sequence of str
        Their ids, in order; each is the name of a file.
    versions : mapping of str to str
        Versions of the libraries that it began with.
    created : str
        When the study was planned, in ISO 8601.
    later_versions : sequence of mappings
        Other sets of versions that took part.
    remarks : sequence of str
        What was left out of the data, and why.

    Raises
    ------
    InvalidInputError
        If a name is missing, taken twice, or cannot be that of a file, or a number is not finite.
    TypeError
        If a value is not plain.
    """

    config: Mapping[str, Any]
    problems: Sequence[Mapping[str, Any]]
    batches: Sequence[str]
    versions: Mapping[str, str]
    created: str
    later_versions: Sequence[Mapping[str, str]] = ()
    remarks: Sequence[str] = ()

    def __post_init__(self) -> None:
        for one in fields(self):
            # As JSON gives it back: lists for tuples, and nothing that others still change.
            value = _plain(getattr(self, one.name), one.name)
            if not isinstance(value, _SHAPES[one.name]):
                raise TypeError(f"{one.name} must not be a {type(value).__name__}")
            object.__setattr__(self, one.name, value)
        _check_names(self.problems)
        _check_batches(self.batches)

    def to_dict(self) -> dict[str, Any]:
        """Return what ``study.json`` holds."""
        return {"schema_version": SCHEMA_VERSION} | {
            one.name: getattr(self, one.name) for one in fields(self)
        }

    def to_json(self) -> str:
        """Return the text of ``study.json``."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Manifest":
        """Return the manifest of a text.

        Raises
        ------
        InvalidInputError
            If the text is not that of a manifest, or of a newer fastad.
        """
        try:
            values = json.loads(text)
        except ValueError as error:
            raise InvalidInputError(f"it is not whole JSON ({error})") from None
        schema = values.get("schema_version") if isinstance(values, dict) else None
        if isinstance(schema, bool) or not isinstance(schema, int):
            raise InvalidInputError("it has no schema_version")
        if schema != SCHEMA_VERSION:
            raise InvalidInputError(
                f"its schema_version is {schema}, and this fastad reads {SCHEMA_VERSION} only"
            )
        needed = [one.name for one in fields(cls) if one.default is MISSING]
        missing = [name for name in needed if name not in values]
        if missing:
            raise InvalidInputError(f"it lacks {', '.join(missing)}")
        try:
            known = {one.name for one in fields(cls)} & values.keys()
            return cls(**{name: values[name] for name in known})
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
        found = list(_of_values(dict(_leaves(self.config)), dict(_leaves(other.config))))
        here = {str(one["name"]): one for one in self.problems}
        there = {str(one["name"]): one for one in other.problems}
        for name in dict.fromkeys((*here, *there)):
            if name not in there:
                found.append(f'"{name}" is new')
            elif name not in here:
                found.append(f'"{name}" is missing here')
            elif here[name].get("digest") != there[name].get("digest"):
                found.append(f'the data of "{name}" changed')
            else:
                both = (dict(_leaves(one, f'"{name}"')) for one in (here[name], there[name]))
                found.extend(_of_values(*both))
        if not found and self.batches != other.batches:
            new = len(set(self.batches) - set(other.batches))
            missing = len(set(other.batches) - set(self.batches))
            found.append(
                f"the same configuration plans other batches: {len(self.batches)} here and "
                f"{len(other.batches)} in the folder, {new} of them new and {missing} missing here"
            )
        return found


def _of_values(here: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[str]:
    """Say which values differ."""
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


def _differ(one: Any, other: Any) -> bool:
    """Tell whether values differ; True and 1 do, 1 and 1.0 do not."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) != len(other) or any(map(_differ, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() != other.keys() or any(_differ(one[name], other[name]) for name in one)
    return isinstance(one, bool) != isinstance(other, bool) or one != other


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
                raise TypeError(f"{name} must have names that are str; found {short_repr(key)}")
        return {key: _plain(one, f"{name}.{key}") for key, one in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(one, f"{name}[{i}]") for i, one in enumerate(value)]
    # Not isinstance: a subclass, such as NumPy's float, would come back as another value.
    if value is not None and type(value) not in (str, int, float, bool):
        raise TypeError(f"{name} must be a plain value; found {type(value).__name__}")
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInputError(f"{name} must be finite; found {value}", argument=name)
    return value


def _check_names(problems: Iterable[Any]) -> None:
    """Check that each problem has a name of its own."""
    seen = set()
    for i, one in enumerate(problems):
        name = one.get("name") if isinstance(one, dict) else None
        if not isinstance(name, str):
            raise InvalidInputError(f"problems[{i}] must have a name; found {short_repr(one)}")
        if name in seen:
            raise InvalidInputError(
                f"problems must have names of their own; found {name!r} twice", argument="problems"
            )
        seen.add(name)


def _check_batches(batches: Iterable[Any]) -> None:
    """Check that ids can be the names of files, also where case does not count."""
    seen = set()
    for name in batches:
        if not isinstance(name, str):
            raise TypeError(f"batches must be str; found {short_repr(name)}")
        if not name or len(name.encode()) > _LONGEST or _NO_NAME.search(name):
            raise InvalidInputError(
                f"batches must have ids that can name a file of at most {_LONGEST} bytes; "
                f"found {name!r}",
                argument="batches",
            )
        if _TAKEN.fullmatch(name):
            raise InvalidInputError(
                f"batches must not be called all-<number>; found {name!r}", argument="batches"
            )
        if name.casefold() in seen:
            raise InvalidInputError(
                f"batches must have ids of their own; found {name!r} twice", argument="batches"
            )
        seen.add(name.casefold())
