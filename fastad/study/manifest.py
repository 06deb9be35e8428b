"""Description of a study, as in ``study.json``: its configuration, data and batches.

Settings that all tasks depend on cannot change in a folder: another seed, protocol or measure is
another study. Detectors, data, repeats, contaminations and additional tables can change.
"""

import itertools
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from fastad._core.files import written_aside
from fastad._core.parameters import short_repr
from fastad._core.text_tables import some_of
from fastad.errors import InvalidInputError, InvalidTypeError

MANIFEST = "study.json"
SCHEMA_VERSION = 4
# Settings that all tasks depend on, but for the values that determine their number.
SETTINGS = ("seed", "protocol", "volumes", "measures")
AXES = ("protocol.repeats", "protocol.contaminations")
# Keys of a configuration whose values say for themselves which tasks there are.
_SHARED = ("title", "data", "detectors")
# Differences that a message names, and values of one.
MAX_DIFFERENCES = 8
_TYPES = {"config": dict, "problems": list, "batches": dict, "created": str}
_TYPES |= {"versions": dict, "later_versions": list, "notes": list, "code": dict}


@dataclass(frozen=True, slots=True, eq=False)
class Manifest:
    """A study as it was planned; values are plain, and those that are not are refused."""

    config: Mapping[str, Any]
    # For each problem its ``name``, the ``digest`` of its data, and further facts.
    problems: Sequence[Mapping[str, Any]]
    # Digests of the tasks of each batch, in order, by table.
    batches: Mapping[str, Sequence[Sequence[str]]]
    # Versions of libraries at the beginning, and the time of planning in ISO 8601.
    versions: Mapping[str, str]
    created: str
    # Other sets of versions that took part.
    later_versions: Sequence[Mapping[str, str]] = ()
    # Data that were left out, and why.
    notes: Sequence[str] = ()
    # Digests of the code of detectors that belong to no library, by module.
    code: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for each in fields(self):
            # As after reading: lists for tuples, and copies of values that callers may change.
            value = json.loads(json.dumps(getattr(self, each.name), allow_nan=False))
            if not isinstance(value, _TYPES[each.name]):
                raise InvalidTypeError(
                    f"{each.name} must be a {_TYPES[each.name].__name__}; found "
                    f"{type(value).__name__}"
                )
            object.__setattr__(self, each.name, value)

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return sum(map(len, self.batches.values()))

    def tasks(self, table: str) -> list[str]:
        """Return the tasks of a table, in order; none of a table that is not there."""
        return [task for tasks in self.batches.get(table, ()) for task in tasks]

    def n_done(self, done: Collection[str]) -> int:
        """Return how many batches have only tasks that are done."""
        batches = itertools.chain.from_iterable(self.batches.values())
        return sum(all(task in done for task in tasks) for tasks in batches)

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``study.json``."""
        return {"schema_version": SCHEMA_VERSION} | {
            each.name: getattr(self, each.name) for each in fields(self)
        }

    def to_json(self) -> str:
        """Return ``study.json`` as a string."""
        return json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, content: str | bytes) -> "Manifest":
        """Return the manifest of the content of ``study.json``, unless it is of another fastad."""
        try:
            values = json.loads(content)
        except ValueError as error:
            raise InvalidInputError(f"it is not whole JSON ({error})") from None
        schema = values.pop("schema_version", None) if isinstance(values, dict) else None
        if schema != SCHEMA_VERSION:
            raise InvalidInputError(
                f"its schema_version is {schema}, and this fastad reads {SCHEMA_VERSION} only"
            )
        try:
            return cls(**values)
        except TypeError as error:
            raise InvalidInputError(str(error)) from None


def read_manifest(root: Path) -> Manifest | None:
    """Return the manifest of a folder, None where there is none."""
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


def conflicts(here: Manifest, there: Manifest) -> list[str]:
    """Return why a study cannot go on in the folder of another, whose results it cannot share.

    A sentence for each difference; none where results can be shared.
    """
    settings = (_settings(manifest.config) for manifest in (here, there))
    differences = list(_of_values(*settings))
    problems = (manifest.problems for manifest in (here, there))
    detectors = (manifest.config.get("detectors", []) for manifest in (here, there))
    for what, parts in (
        ("data set", [[str(problem["name"]) for problem in part] for part in problems]),
        ("detector", [list(part) for part in detectors]),
    ):
        if all(parts) and set(parts[0]).isdisjoint(parts[1]):
            new, old = (some_of(part, MAX_DIFFERENCES) for part in parts)
            differences.append(f"no {what} is in both: {new} here and {old} in the folder")
    return differences


def changes(here: Manifest, there: Manifest) -> list[str]:
    """Return which data, code and additional tables of the folder are named here and changed."""
    changed = []
    new, old = (
        {str(problem["name"]): problem for problem in study.problems} for study in (here, there)
    )
    for name in new.keys() & old.keys():
        if new[name].get("digest") != old[name].get("digest"):
            changed.append(f'the data of "{name}" changed')
        else:
            facts = (dict(_leaves(problems[name], f'"{name}"')) for problems in (new, old))
            changed += _of_values(*facts)
    changed += [
        f"the code of {module} changed"
        for module in here.code.keys() & there.code.keys()
        if here.code[module] != there.code[module]
    ]
    for name in here.config.keys() & there.config.keys():
        # If both plans have a task in common, values that differ add or drop tasks, and no result
        # depends on them.
        tables = [set(study.tasks(name)) for study in (here, there)]
        if name not in (*SETTINGS, *_SHARED) and tables[0].isdisjoint(tables[1]):
            parts = (dict(_leaves({name: study.config[name]})) for study in (here, there))
            changed += _of_values(*parts)
    return sorted(changed)


def version_changes(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Return which libraries of a folder are here in another version."""
    return [
        f"{name} is {here[name]} here and was {number} when the study began"
        for name, number in there.items()
        if here.get(name, number) != number
    ]


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that all tasks depend on, by their names."""
    common = {name: config[name] for name in SETTINGS if name in config}
    return {name: value for name, value in _leaves(common) if name not in AXES}


def _of_values(here: Mapping[str, Any], there: Mapping[str, Any]) -> Iterator[str]:
    """Describe the values that differ."""
    for name in dict.fromkeys((*here, *there)):
        if name not in there:
            yield f"{name} is {short_repr(here[name])} here and not set in the folder"
        elif name not in here:
            yield f"{name} is not set here and {short_repr(there[name])} in the folder"
        elif _differ(here[name], there[name]):
            yield f"{name} {_of_two(here[name], there[name])}"


def _of_two(here: Any, there: Any) -> str:
    """Describe two different values, of lists the entries in one of them alone."""
    if not (isinstance(here, list) and isinstance(there, list)):
        return f"is {short_repr(here)} here and {short_repr(there)} in the folder"
    sides = {"here": (here, there), "in the folder": (there, here)}
    parts = {
        where: [short_repr(x) for x in own if all(_differ(x, y) for y in others)]
        for where, (own, others) in sides.items()
    }
    described = [
        f"{some_of(values, MAX_DIFFERENCES)} {where} only"
        for where, values in parts.items()
        if values
    ]
    return "has " + (" and ".join(described) or "the same values in another order")


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
