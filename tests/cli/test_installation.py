"""``fastad demo``, ``doctor`` and ``--version``, and files that cannot be written."""

import re
import shlex
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

import fastad
from fastad.plot import RocCurveDisplay
from tests.support.command_line import error_of, invoke, json_of, stdout_of

ROOT = Path(__file__).parents[2]
# Pixels of a tile, whose grey other versions of the libraries change little: they may move lines
# by a pixel. Then the mean difference of two pictures, which is 0.002 for a move of two.
TILE = 40
ALIKE = 0.005


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Folder that the demo wrote, and its stdout."""
    folder = tmp_path_factory.mktemp("demo") / "my demo"
    return folder, stdout_of("demo", "--output", folder)


@pytest.mark.slow
def test_the_demo_leaves_scores_and_a_figure(demo: tuple[Path, str]) -> None:
    folder = demo[0]
    assert sorted(x.name for x in folder.iterdir()) == ["roc.png", "scores.csv"]
    figure = (folder / "roc.png").read_bytes()
    assert figure.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(figure) > 10_000


@pytest.mark.slow
def test_the_demo_shows_a_line_that_prints_its_table(demo: tuple[Path, str]) -> None:
    *table, line = demo[1].splitlines()
    program, *arguments = shlex.split(line)
    assert (program, arguments[0]) == ("fastad", "evaluate")
    assert stdout_of(*arguments).splitlines() == table
    assert any(row.split()[:1] == ["auc"] for row in table)


@pytest.mark.slow
def test_the_demo_s_detectors_are_real_and_the_right_way_up(demo: tuple[Path, str]) -> None:
    """Every one of the four beats chance by far; flipped scores would be as far below it."""
    detectors = json_of("evaluate", demo[0] / "scores.csv")["detectors"]
    assert len(detectors) == 4
    assert all(0.8 < detector["values"]["auc"] < 1 for detector in detectors)
    # Enough of both that no value in the table has a mark.
    assert {(x["n_anomalies"], x["n_normals"]) for x in detectors} == {(500, 10_000)}
    assert "†" not in demo[1]


@pytest.mark.slow
def test_the_picture_in_the_readme_is_the_one_that_the_demo_draws(
    demo: tuple[Path, str], tmp_path: Path
) -> None:
    assert "(docs/demo.png)" in (ROOT / "README.md").read_text("utf-8")
    shown = tiles(ROOT / "docs" / "demo.png")
    assert np.abs(tiles(demo[0] / "roc.png") - shown).mean() < ALIKE
    # With linear axes it would be another one.
    table = np.genfromtxt(demo[0] / "scores.csv", delimiter=",", names=True)
    figure = Figure(figsize=(6.4, 4.8), layout="constrained")
    axes = figure.subplots()
    scores = {name: table[name] for name in ("knn", "lof", "iforest", "ocsvm")}
    RocCurveDisplay.from_predictions(table["y"], scores, ax=axes)
    axes.set_title("Four detectors")
    figure.savefig(tmp_path / "linear.png", dpi=150)
    assert np.abs(tiles(tmp_path / "linear.png") - shown).mean() > 3 * ALIKE


def tiles(path: Path) -> npt.NDArray[np.float64]:
    """Return the mean grey of each tile of a picture, in [0, 1]."""
    grey = np.asarray(imread(path)[..., :3].mean(axis=2), np.float64)
    height, width = grey.shape
    parts = grey.reshape(height // TILE, TILE, width // TILE, TILE)
    return np.asarray(parts.mean(axis=(1, 3)))


def test_doctor_names_versions_cache_threads_and_sort() -> None:
    result = invoke("doctor", FASTAD_NUM_THREADS="3")
    assert (result.exit_code, result.stderr) == (0, "")
    facts = dict(re.split(r"  +", line, maxsplit=1) for line in result.stdout.splitlines())
    assert facts["fastad"] == fastad.__version__
    assert facts["numpy"] == np.__version__
    assert facts["python"].startswith(f"{sys.version_info.major}.{sys.version_info.minor}.")
    assert facts["threads"].startswith("3 of ")
    assert {"numba", "scipy", "cache folder", "SIMD", "sort"} <= set(facts)


def test_the_version_goes_to_stdout() -> None:
    assert stdout_of("--version") == f"{fastad.__version__}\n"


@pytest.mark.parametrize("extension", [".csv", ".json"])
@pytest.mark.parametrize("passes", [(), ("--memory", "1MB")])
@pytest.mark.parametrize("place", ["missing folder", "folder is a file", "is a folder"])
def test_a_file_that_cannot_be_written_is_named_and_nothing_left(
    tmp_path: Path, place: str, passes: tuple[str, ...], extension: str
) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("y,s\n0,1\n1,2\n0,3\n1,4\n")
    folder = tmp_path / "place"
    output = folder / f"out{extension}"
    if place == "folder is a file":
        folder.write_text("mine")
    elif place == "is a folder":
        output.mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    options = ("--score", "s", "--measure", "auc", "--output", output, *passes)
    message = error_of("evaluate", scores, *options)
    assert message.startswith(f"Error: {output}: the file cannot be written")
    assert sorted(tmp_path.rglob("*")) == before
