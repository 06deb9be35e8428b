"""Beginning a study in a folder, or going on with the one that is there, changed or not.

What all tasks depend on cannot change: another seed, protocol or measure is another study. What
some depend on can: detectors, data, repeats, contaminations and additional tables. Tasks that
are in both are not run again, new ones are, and the results are those of the present ones alone;
what was saved of the others is left in the folder, for a configuration that names them again.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastad._core.parameters import short_repr
from fastad._core.text_tables import some_of
from fastad.errors import InvalidInputError
from fastad.study.manifest import AXES, SETTINGS, Manifest, read_manifest, write_manifest
from fastad.study.results import remove_results

# Differences that a message names, and values of one.
_MAX_DIFFERENCES = 8
# Keys of a configuration whose values say for themselves which tasks there are.
_SHARED = ("title", "data", "detectors")


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
        write_manifest(root, manifest)
        return manifest, []
    differences = conflicts(manifest, old)
    if differences:
        more = len(differences) - _MAX_DIFFERENCES
        raise InvalidInputError(
            f"folder must be new or that of the same study; {root} contains another: "
            + "; ".join(differences[:_MAX_DIFFERENCES])
            + (f"; and {more} more" if more > 0 else ""),
            argument="folder",
        )
    notes = [
        f"{change}: earlier results that depend on it do not count"
        for change in changes(manifest, old)
    ]
    notes += _of_versions(manifest.versions, old.versions)
    merged = _merged(manifest, old)
    if merged.batches != old.batches:
        # First: what a reader takes for the results must be those of the manifest.
        remove_results(root, [*old.batches, *merged.batches])
    if merged.to_dict() != old.to_dict():
        write_manifest(root, merged)
    return merged, notes


def conflicts(here: Manifest, there: Manifest) -> list[str]:
    """Return why a study is another than that of a folder, with which it shares no task.

    Parameters
    ----------
    here, there : Manifest
        The study, and that of the folder.

    Returns
    -------
    list of str
        A sentence for each difference; empty where results can be shared.
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
            new, old = (some_of(part, _MAX_DIFFERENCES) for part in parts)
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
        if name not in (*SETTINGS, *_SHARED):
            parts = (dict(_leaves({name: study.config[name]})) for study in (here, there))
            changed += _of_values(*parts)
    return sorted(changed)


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that all tasks depend on, by their names."""
    common = {name: config[name] for name in SETTINGS if name in config}
    return {name: value for name, value in _leaves(common) if name not in AXES}


def _merged(here: Manifest, there: Manifest) -> Manifest:
    """Return a manifest with what took part in the folder before."""
    later = list(there.later_versions)
    if _of_versions(here.versions, there.versions) and here.versions not in later:
        later.append(here.versions)
    # Libraries that only new detectors need have no other version.
    versions = {**here.versions, **there.versions}
    return replace(here, versions=versions, later_versions=later, created=there.created)


def _of_versions(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    return [
        f"{name} is {here[name]} here and was {number} when the study began"
        for name, number in there.items()
        if here.get(name, number) != number
    ]


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
    """Describe two different values, of lists what is in one of them alone."""
    if not (isinstance(here, list) and isinstance(there, list)):
        return f"is {short_repr(here)} here and {short_repr(there)} in the folder"
    sides = {"here": (here, there), "in the folder": (there, here)}
    parts = {
        where: [short_repr(x) for x in own if all(_differ(x, y) for y in others)]
        for where, (own, others) in sides.items()
    }
    described = [
        f"{some_of(values, _MAX_DIFFERENCES)} {where} only"
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
