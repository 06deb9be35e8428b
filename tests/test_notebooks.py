"""The notebooks of the documentation run, and the site shows what they print today."""

import re
from pathlib import Path

import pytest

from tests.support.notebooks import NOTEBOOKS, execute, outputs, read

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


@each_notebook
def test_stored_outputs_are_small_and_name_no_place(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text) < 150_000
    assert re.findall(r"/(?:home|tmp|root|Users)/|\bat 0x[0-9a-f]+", text) == []
    cells = [cell for cell in read(path).cells if cell.cell_type == "code"]
    # In the order of the page, and none without having been executed.
    assert [cell.execution_count for cell in cells] == list(range(1, len(cells) + 1))
    streams = [output.get("name") for cell in cells for output in cell.outputs]
    assert "stderr" not in streams


@pytest.mark.system
@each_notebook
def test_a_new_kernel_shows_what_is_stored(path: Path) -> None:
    assert outputs(execute(path, quickly=True)) == outputs(read(path))
