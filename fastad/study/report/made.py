"""Section ``made``: all that one needs to make a study again."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastad._core.text_tables import count_text
from fastad.study.plan import versions_here
from fastad.study.report.sections import Section, SectionBuilder, SimpleTable
from fastad.study.report.study_results import StudyResults

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
        rows = [(i, _plain_name(text)) for i, text in enumerate(detectors, start=1)]
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


def _plain_name(text: str) -> str:
    """Return a configuration as the manifest has it, without the name of its class."""
    return text.removeprefix("<Configuration ").removesuffix(">")
