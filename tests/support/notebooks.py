"""The notebooks of the documentation, executed anew.

``python -m tests.support.notebooks`` writes their outputs after a cell or a result has changed.
"""

import re
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from tests.support.processes import environment

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
_NUMBER = re.compile(r"-?\d[\d.]*(e[-+]\d+)?")


def read(path: Path) -> nbformat.NotebookNode:
    """Return a notebook with its stored outputs."""
    notebook: nbformat.NotebookNode = nbformat.read(path, as_version=4)
    return notebook


def execute(path: Path, *, quickly: bool = False) -> nbformat.NotebookNode:
    """Return a notebook with the outputs of a new kernel, which imports this checkout.

    A cell that repeats something twenty times does so twice where that is quick enough.
    """
    notebook = read(path)
    for cell in notebook.cells if quickly else ():
        cell.source = cell.source.replace("range(20)", "range(2)")
    language = dict(notebook.metadata.language_info)
    client = NotebookClient(
        notebook,
        timeout=120,
        coalesce_streams=True,
        record_timing=False,
        resources={"metadata": {"path": path.parent}},
    )
    client.execute(env=environment(PYTHONPATH=str(ROOT)))
    # The kernel adds the version of its Python.
    notebook.metadata.language_info = language
    return notebook


def outputs(notebook: nbformat.NotebookNode) -> list[list[tuple[str, ...]]]:
    """Return for each cell what it shows: kinds, and texts whose numbers are left out.

    Other versions of libraries and other processors print other digits.
    """
    return [[_shown(each) for each in cell.get("outputs", ())] for cell in notebook.cells]


def _shown(output: nbformat.NotebookNode) -> tuple[str, ...]:
    if output.output_type == "stream":
        return output.name, _without_numbers(output.text)
    return *sorted(output.data), _without_numbers(output.data["text/plain"])


def _without_numbers(text: str) -> str:
    return " ".join(_NUMBER.sub("#", text).split())


if __name__ == "__main__":
    for each in NOTEBOOKS:
        nbformat.write(execute(each), each)
