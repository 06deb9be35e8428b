"""Sections ``overview`` and ``made``: what ran, and all that one needs to make a study again."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from typing import Any

import numpy as np

from fastad._core.text_tables import count_text, some_of
from fastad.benchmarking.columns import find_measures
from fastad.study.files import ArrowTable
from fastad.study.plan import versions_here
from fastad.study.report.sections import Section, SectionBuilder, SimpleTable
from fastad.study.report.study_results import StudyResults, undefined_measures
from fastad.study.results import (
    NOT_APPLICABLE,
    StudyTables,
    count_reasons,
    is_failure,
    own_directions,
    rows_with,
)

_SPLIT = ("dataset", "anomaly_class", "contamination", "repeat")
_MODEL = ("detector", "params")
# Names in a cell.
_MAX_NAMES = 8

Row = tuple[Any, ...]
# Entries of a manifest that have tables of their own, or are of use to a run only.
_ELSEWHERE = ("batches", "problems", "notes")
# Columns of the table of data, with their keys in the manifest.
_DATA = {
    "problem": "name",
    "normal rows": "n_normals",
    "anomalies": "n_anomalies",
    "features": "n_features",
    "digest": "digest",
}
# Digits of a digest that are shown; the files of the table have all.
_DIGITS = 12


def overview_section(results: StudyResults) -> Section:
    """Return the counts of done, failed, missing and undefined results."""
    study = results.study
    builder = SectionBuilder(
        "overview",
        "What ran",
        "What the study consists of, which tasks failed or are missing, and where measures are "
        "undefined. A task is one detector with one set of parameters on one split of a data set "
        "with one class of anomalies. In all comparisons a task that failed is a row that is "
        "missing.",
        _state(study.n_batches, study.n_done),
    )
    if results.collections:
        names = (*results.collections, *results.without_rows)
        rows = {name: results.rows_of(name) for name in names}
        gaps = {name: list(_gaps(study, name, table)) for name, table in rows.items()}
        builder.table("collections", "Tasks by collection", _counts(rows, gaps))
        n_planned = len(study.manifest.get("config", {}).get("detectors", ()))
        n_seen = len(_distinct(study.tasks, _MODEL))
        if n_seen < n_planned:
            builder.paragraphs.append(
                f"Of {n_planned} configurations of detectors {n_seen} have rows yet; the others "
                "are not counted as missing."
            )
        unsuccessful = _unsuccessful(rows)
        failed = [row for row in unsuccessful if is_failure(row[2])]
        not_applicable = [
            (*row[:2], row[2].removeprefix(NOT_APPLICABLE), *row[3:])
            for row in unsuccessful
            if not is_failure(row[2])
        ]
        for name, title, header, rows_of_table in (
            ("failures", "Tasks that failed", _FAILED, failed),
            ("not-applicable", "Tasks that are not applicable", _FAILED, not_applicable),
            ("missing", "Tasks that are missing", _MISSING, _missing(gaps)),
            ("undefined", "Measures that are undefined", _UNDEFINED, _undefined(study, rows)),
        ):
            if rows_of_table:
                builder.table(name, title, SimpleTable(header, rows_of_table), folded=True)
            else:
                builder.paragraphs.append(f"{title}: none.")
    else:
        builder.paragraphs.append("Nothing can be shown yet: no task of the study is done.")
    return builder.section()


def _state(n_batches: int, n_done: int) -> str:
    if n_done >= n_batches:
        return f"The study is finished: batches done: {n_done}."
    left = n_batches - n_done
    return (
        f"The study is not finished: {n_done} of {n_batches} batches are done, {left} "
        f"{'is' if left == 1 else 'are'} not. The report is of those that are."
    )


def _counts(rows: Mapping[str, ArrowTable], gaps: Mapping[str, Sequence[Row]]) -> SimpleTable:
    """Count the contents of each collection."""
    header = ["collection", "data sets", "problems", "detectors", "configurations"]
    header += ["contaminations", "repeats", "done", "failed", "not applicable", "missing"]
    counts = []
    for name, table in rows.items():
        problems, models = _distinct(table, _SPLIT[:2]), _distinct(table, _MODEL)
        levels = sorted(level for (level,) in _distinct(table, ("contamination",)))
        counts.append(
            [
                name,
                len({dataset for dataset, _ in problems}),
                len(problems),
                len({detector for detector, _ in models}),
                len(models),
                ", ".join(f"{100 * level:g} %" for level in levels),
                len(_distinct(table, ("repeat",))),
                table.num_rows,
                *(sum(n_of.values()) for n_of in count_reasons(table["reason"].to_pylist())),
                len(gaps[name]),
            ]
        )
    note = "missing: of all splits that are planned, by the configurations that have rows"
    return SimpleTable(header, counts, [note])


_FAILED = ("detector", "parameters", "reason", "tasks", "data sets")


def _unsuccessful(rows: Mapping[str, ArrowTable]) -> list[Row]:
    """Return how often each configuration has no values for each reason, and where."""
    datasets_of: dict[Row, list[str]] = {}
    for name, table in rows.items():
        failed = table.filter(np.asarray(table["reason"]) != "")
        for detector, params, reason, dataset in _tuples(failed, (*_MODEL, "reason", "dataset")):
            datasets_of.setdefault((detector, params, reason), []).append(f"{name}/{dataset}")
    return [(*key, len(datasets), _some(datasets)) for key, datasets in sorted(datasets_of.items())]


_MISSING = ("collection", "data set", "class", "tasks", "contaminations", "repeats", "detectors")


def _gaps(study: StudyTables, collection: str, rows: ArrowTable) -> Iterator[Row]:
    """Yield splits and configurations of a collection, in their order, that have no row.

    Count everything planned or with rows; a configuration counts if it has rows anywhere.
    """
    present = set(_tuples(rows, (*_SPLIT, *_MODEL)))
    planned = [
        (problem["dataset"], problem["anomaly_class"])
        for problem in study.manifest.get("problems", ())
        if problem["collection"] == collection
    ]
    protocol = study.manifest.get("config", {}).get("protocol", {})
    levels = {(float(level),) for level in protocol.get("contaminations", ())}
    repeats = {(i,) for i in range(1, protocol.get("repeats", 0) + 1)}
    axes = (
        dict.fromkeys((*planned, *_distinct(rows, _SPLIT[:2]))),
        sorted(levels.union(_distinct(rows, ("contamination",)))),
        sorted(repeats.union(_distinct(rows, ("repeat",)))),
        _distinct(study.tasks, _MODEL),
    )
    for parts in product(*axes):
        key = tuple(chain.from_iterable(parts))
        if key not in present:
            yield key


def _missing(gaps: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Return how many tasks each problem lacks, and which."""
    missing: dict[Row, list[Row]] = {}
    for name, keys in gaps.items():
        for dataset, anomaly_class, *rest in keys:
            missing.setdefault((name, dataset, anomaly_class), []).append(tuple(rest))
    rows = []
    for key, tasks in missing.items():
        levels, repeats, detectors, _ = zip(*tasks, strict=True)
        columns = ([f"{100 * level:g} %" for level in levels], [str(i) for i in repeats], detectors)
        rows.append((*key, len(tasks), *map(_some, columns)))
    return rows


_UNDEFINED = ("collection", "measure", "undefined", "tasks", "data sets", "reason")


def _undefined(study: StudyTables, rows: Mapping[str, ArrowTable]) -> list[Row]:
    """Return in how many tasks that succeeded each measure is undefined, where, and why."""
    undefined: list[Row] = []
    directions = own_directions(study.manifest)
    for name, table in rows.items():
        succeeded = rows_with(table, "reason", "")
        if not succeeded.num_rows:
            continue
        keys = [*_SPLIT, *_MODEL, "collection", "reason", "undefined"]
        measures = find_measures(succeeded.column_names, keys, None, directions)
        keys = [measure.key for measure in measures]
        for key, is_undefined, why in undefined_measures(succeeded, keys, keys):
            n = int(np.count_nonzero(is_undefined))
            datasets = _some(succeeded["dataset"].filter(is_undefined).to_pylist())
            undefined.append((name, key, n, succeeded.num_rows, datasets, _some(why, 1) or None))
    return undefined


def _some(names: Sequence[str], most: int = _MAX_NAMES) -> str:
    return some_of(list(dict.fromkeys(names)), most)


def _tuples(rows: ArrowTable, names: Sequence[str]) -> list[Row]:
    return list(zip(*(rows[name].to_pylist() for name in names), strict=True))


def _distinct(rows: ArrowTable, names: Sequence[str]) -> list[Row]:
    """Return the distinct combinations in the order of the rows."""
    return list(dict.fromkeys(_tuples(rows, names)))


def made_section(results: StudyResults) -> Section:
    """Return the configuration, the detectors, the data, the omissions, and the commands."""
    manifest = results.study.manifest
    n_resamples, seed = (results.options[name] for name in ("n_resamples", "rng"))
    builder = SectionBuilder(
        "made",
        "How it was made",
        "All that the results depend on, as the folder of the study has it in study.json. The same "
        "configuration, data, seed and libraries give the same results, byte for byte, on any "
        "number of processes: fastad study run CONFIGURATION.toml --output FOLDER. This page: "
        f"fastad study report FOLDER --n-resamples {n_resamples} --seed {seed}.",
    )
    config = dict(manifest.get("config", {}))
    detectors = config.pop("detectors", ())
    facts = {name: value for name, value in manifest.items() if name not in _ELSEWHERE}
    facts |= {"config": config, "batches": results.study.n_batches}
    facts |= {"report": {"n_resamples": n_resamples, "seed": seed, "versions": versions_here()}}
    title = "Configuration, versions and seeds"
    builder.table("manifest", title, SimpleTable(("what", "value"), [*_entries(facts)]))
    if detectors:
        # As the manifest has them, without the name of their class.
        names = (text.removeprefix("<Configuration ").removesuffix(">") for text in detectors)
        rows = list(enumerate(names, start=1))
        title = count_text(len(rows), "configuration") + " of detectors"
        builder.table(
            "configurations", title, SimpleTable(("number", "configuration"), rows), folded=True
        )
    problems = manifest.get("problems", ())
    if problems:
        builder.table("data", "Data", _data(problems), folded=True)
    notes = [(note,) for note in manifest.get("notes", ())]
    if notes:
        builder.table("left-out", "What was left out of the data", SimpleTable(("note",), notes))
    else:
        builder.paragraphs.append("Nothing was left out of the data.")
    return builder.section()


def _data(problems: Sequence[Mapping[str, Any]]) -> SimpleTable:
    values = {head: [problem.get(key) for problem in problems] for head, key in _DATA.items()}
    short = {**values, "digest": [str(text or "")[:_DIGITS] for text in values["digest"]]}
    note = (
        f"digest: the first {_DIGITS} digits of the SHA-256 of the data, which the files of this "
        "table have in full; problems with one digest are classes of one data set"
    )
    return SimpleTable(list(values), [*zip(*short.values(), strict=True)], [note], values)


def _entries(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    """Yield names and values, nested ones by their dotted names."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _entries(item, f"{name}.{key}".lstrip("."))
    elif isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        for i, item in enumerate(value):
            yield from _entries(item, f"{name}[{i}]")
    elif isinstance(value, list | tuple):
        yield name, ", ".join(map(str, value)) or "none"
    else:
        yield name, "none" if value is None else str(value)
