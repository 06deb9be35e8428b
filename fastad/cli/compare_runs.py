"""``fastad compare-runs``: which detector, which measure, which operating point."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from fastad._core.files import written_aside
from fastad._core.results import json_text, plain_rows, with_versions
from fastad._core.threads import available_threads
from fastad.benchmarking.overview import compare_runs
from fastad.benchmarking.runs_overview import RunsOverview
from fastad.cli._console import DataError, say, show, show_table
from fastad.cli.detectors import remarks, shown_progress
from fastad.cli.readers.runs import Columns, named_files, read_runs
from fastad.cli.writers import save_columns, save_text
from fastad.errors import InvalidInputError, MissingExtraError

# Arguments of the function, and the options of the command that they come from.
_OPTIONS = {
    "measures": "--measure",
    "measure": "--by",
    "operating_fpr": "--operating-fpr",
    "reference": "--reference",
    "control": "--control",
    "confidence_level": "--confidence-level",
    "n_resamples": "--n-resamples",
}
_DPI = 150


def run(
    files: Sequence[Path],
    columns: Columns,
    options: Mapping[str, Any],
    *,
    output: Path | None,
    as_json: bool,
) -> None:
    """Compare the runs of all files, print what they say, and save it."""
    for name in columns.higher:
        if name in columns.lower:
            raise typer.BadParameter(
                f"{name!r} is also --higher-is-better", param_hint="--lower-is-better"
            )
    available_threads()
    table = read_runs(files, columns, options["measures"])
    if output is not None:
        _check_folder(output)
    try:
        with remarks(), shown_progress("comparisons") as progress:
            found = compare_runs(table, **options, progress=progress)
    except InvalidInputError as error:
        raise _bad_option(error, files) from None
    if not found:
        raise DataError(
            f"{named_files(files)}: nothing can be compared: {'; '.join(found.reasons())}"
        )
    if output is not None:
        _save(found, output)
    if as_json:
        show(_as_json(found, files))
        return
    for note in found.notes:
        say(note)
    for name, notes in found.new_notes().items():
        # Not as the title of the table, which breaks it where the table is narrow.
        show(found.title(name))
        show_table(found[name].text_table())
        if notes:
            show("\n".join([*notes, ""]))
    for reason in found.reasons():
        say(reason)


def _bad_option(error: InvalidInputError, files: Sequence[Path]) -> Exception:
    """Return what to raise for an error of the function: about an option, or about the data."""
    message = str(error)
    for argument, option in _OPTIONS.items():
        if message.startswith(f"{argument} "):
            return typer.BadParameter(message.removeprefix(f"{argument} "), param_hint=option)
    return DataError(f"{named_files(files)}: {message}")


def _check_folder(folder: Path) -> None:
    """Make the folder, and see whether a file can be made in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataError(f"{folder}: the folder cannot be written to: {error.strerror}") from None


def _save(found: RunsOverview, folder: Path) -> None:
    """Save each comparison as a table and as a picture, and a page of all."""
    try:
        for name, one in found.items():
            save_columns(one.to_columns(), folder / f"{name}.csv")
            notes = [f"- {note}" for note in found.notes_of(name)]
            text = "\n".join([one.text_table().markdown(), *notes])
            save_text(text.rstrip("\n") + "\n", folder / f"{name}.md")
            save_text(one.to_latex(), folder / f"{name}.tex")
        pictures = _save_pictures(found, folder)
        save_text(found.to_markdown(pictures), folder / "index.md")
    except OSError as error:
        raise DataError(f"{folder}: files cannot be written: {error.strerror}") from None


def _save_pictures(found: RunsOverview, folder: Path) -> dict[str, str]:
    """Save pictures where matplotlib is installed; return their names."""
    from fastad.plot._overview import draw_overview

    pictures: dict[str, str] = {}
    try:
        with shown_progress("pictures") as progress:
            for name, figure in draw_overview(found):
                import matplotlib as mpl

                progress(len(pictures), None)
                # The same bits whenever they are drawn.
                with mpl.rc_context({"svg.hashsalt": "fastad"}):
                    for ending, about in ((".png", {}), (".svg", {"Date": None})):
                        with written_aside(folder / f"{name}{ending}") as aside:
                            figure.savefig(aside, dpi=_DPI, metadata=about)
                pictures[name] = f"{name}.png"
    except MissingExtraError as error:
        say(f"There are no pictures: {error}")
    return pictures


def _as_json(found: RunsOverview, files: Sequence[Path]) -> str:
    content = {
        "files": [str(path) for path in files],
        "measure": found.measure,
        "measures": list(found.measures),
        "notes": found.notes,
        "sections": {name: plain_rows(one.to_columns()) for name, one in found.items()},
        "notes_of_sections": {name: found.notes_of(name) for name in found},
        "skipped": dict(found.skipped),
    }
    return json_text(with_versions(content), indent=2)
