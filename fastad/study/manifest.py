"""What a study is: its configuration, its data and its batches, as ``study.json`` has them."""

import json
import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any

from fastad._core.files import written_aside
from fastad._core.parameters import short_repr
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.study.identity import is_name_of

MANIFEST = "study.json"
SCHEMA_VERSION = 3
# What all tasks depend on in a configuration, but for the values that say how many there are.
SETTINGS = ("seed", "protocol", "volumes", "measures")
AXES = ("protocol.repeats", "protocol.contaminations")
_TABLE = re.compile(r"\w+", re.ASCII)
_TYPES = {"config": dict, "problems": list, "batches": dict, "created": str}
_TYPES |= {"versions": dict, "later_versions": list, "notes": list, "code": dict}


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """A study as it was planned.

    Attributes
    ----------
    config : mapping
        Plain values: str, int, float, bool, None, lists and mappings of them.
    problems : sequence of mappings
        For each problem its ``name``, the ``digest`` of its data, and further facts.
    batches : mapping of str to mapping of str to sequence of str
        By table the names of batches, in order, and the digests of the tasks of each.
    versions : mapping of str to str
        Versions of the libraries that it began with.
    created : str
        When the study was planned, in ISO 8601.
    later_versions : sequence of mappings
        Other sets of versions that took part.
    notes : sequence of str
        What was left out of the data, and why.
    code : mapping of str to str
        Digests of the code of detectors that belong to no library, by module.

    Raises
    ------
    InvalidInputError
        If a name is missing, used twice, or cannot be that of a file, or a number is not finite.
    TypeError
        If a value is not plain.
    """

    config: Mapping[str, Any]
    problems: Sequence[Mapping[str, Any]]
    batches: Mapping[str, Mapping[str, Sequence[str]]]
    versions: Mapping[str, str]
    created: str
    later_versions: Sequence[Mapping[str, str]] = ()
    notes: Sequence[str] = ()
    code: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in fields(self):
            # As after reading JSON: lists for tuples, and copies of what callers may change.
            value = _plain(getattr(self, each.name), each.name)
            if not isinstance(value, _TYPES[each.name]):
                raise InvalidTypeError(
                    f"{each.name} must be a {_TYPES[each.name].__name__}; found "
                    f"{type(value).__name__}",
                    argument=each.name,
                )
            object.__setattr__(self, each.name, value)
        _check_names(self.problems)
        _check_batches(self.batches)

    @property
    def n_batches(self) -> int:
        """How many batches there are."""
        return sum(map(len, self.batches.values()))

    def tasks(self, table: str) -> list[str]:
        """Return the tasks of a table, in order."""
        return [task for tasks in self.batches[table].values() for task in tasks]

    def n_done(self, table: str, done: Collection[str]) -> int:
        """Return how many batches of a table have only tasks that are done."""
        return sum(all(task in done for task in tasks) for tasks in self.batches[table].values())

    def to_dict(self) -> dict[str, Any]:
        """Return what ``study.json`` contains."""
        return {"schema_version": SCHEMA_VERSION} | {
            each.name: getattr(self, each.name) for each in fields(self)
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
        required = [
            each.name
            for each in fields(cls)
            if each.default is MISSING and each.default_factory is MISSING
        ]
        missing = [name for name in required if name not in values]
        if missing:
            raise InvalidInputError(f"it lacks {', '.join(missing)}")
        try:
            names = {each.name for each in fields(cls)} & values.keys()
            return cls(**{name: values[name] for name in names})
        except TypeError as error:
            raise InvalidInputError(str(error)) from None


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


def _check_batches(tables: Mapping[str, Any]) -> None:
    """Check that batches have the names of their tasks, which are all different."""
    seen: set[str] = set()
    for table, batches in tables.items():
        if not _TABLE.fullmatch(table):
            raise InvalidInputError(
                f"batches must have tables whose names can be those of files; found {table!r}",
                argument="batches",
            )
        if not isinstance(batches, dict):
            raise InvalidTypeError(
                f"batches must map names to tasks in each table; found {short_repr(batches)}",
                argument="batches",
            )
        for name, tasks in batches.items():
            if not isinstance(tasks, list) or not all(isinstance(task, str) for task in tasks):
                raise InvalidTypeError(
                    f"batches must have a list of str for each; found {short_repr(tasks)}",
                    argument="batches",
                )
            if not tasks or not is_name_of(name, tasks):
                raise InvalidInputError(
                    f"batches must have the names that belong to their tasks; found {name!r}",
                    argument="batches",
                )
            for task in tasks:
                if task in seen:
                    raise InvalidInputError(
                        f"batches must have different tasks; found {task!r} twice",
                        argument="batches",
                    )
                seen.add(task)


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


def write_manifest(root: Path, manifest: Manifest) -> None:
    """Write the manifest of a folder."""
    with written_aside(root / MANIFEST) as aside, aside.open("w", encoding="utf-8") as file:
        file.write(manifest.to_json())
        # A power cut must not leave batches without it.
        file.flush()
        os.fsync(file.fileno())
