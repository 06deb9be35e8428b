"""The study of tiny regions: its script, its table, and the page that shows it."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import fastad
from bench import rare_study as study
from bench import volume_coverage as shapes
from bench.pages import read_rows
from fastad.regions.methods import VolumeMethod

ROWS = read_rows(study.TABLE)


def test_the_page_counts_right() -> None:
    text = " ".join(study.PAGE.read_text(encoding="utf-8").split())
    pairs = study.pairs(ROWS)
    overlapping = [pair for pair in pairs if study.overlap(*pair)]
    assert f"{len(pairs)} pairs of estimates by two methods, of which {len(overlapping)}" in text
    of = {name: [row for row in ROWS if row["method"] == name] for name in study.METHODS}
    n_uniform = sum(study.is_estimate(row) for row in of["uniform"])
    assert f"Uniform draws give an estimate in {n_uniform} of {len(of['uniform'])} cells" in text
    assert all(study.is_estimate(row) for row in of["splitting"])
    n_bridged = sum(row["reason"].startswith("by bridges") for row in of["splitting"])
    assert f"Splitting ends with bridges in {n_bridged}" in text
    taken = Counter(row["chosen"] for row in of["auto"])
    assert (
        f"uniform draws in {taken['uniform']} cells and splitting in {taken['splitting']}" in text
    )


def test_every_cell_was_estimated() -> None:
    cells = study.by_cell(ROWS)
    assert list(cells) == [(name, detector) for name in study.DATA for detector in study.DETECTORS]
    assert all(tuple(cell) == study.METHODS for cell in cells.values())


def test_estimates_lie_between_their_ends() -> None:
    for row in ROWS:
        low, value, high = (float(row[k]) for k in (study.LOW, "log10_share", study.HIGH))
        assert low <= value <= high <= 0
        assert (row["is_bound"] == "yes") <= math.isinf(low)
        assert row["chosen"] == row["method"] or row["method"] == "auto"
        assert bool(row["reason"]) >= (row["method"] == "auto")


def test_regions_of_known_size() -> None:
    """What is said without a warning holds but for the two regions that the page names."""
    for row in (row for row in read_rows(shapes.TABLE) if row["method"] != shapes.WEIGHTED):
        n = int(row["seeds"])
        most = stats.binom.ppf(0.999, n, 0.05)
        assert int(row["uniform_false"]) <= most or row["method"] == "auto"
        is_false = int(row["false_unwarned"]) > most
        assert is_false <= row["shape"].startswith(("needle_in_valley", "lower curved valley")), row


# The fraction of a valley is counted by uniform draws itself.
CLOSED_FORMS = [name for name in shapes.OTHERS if "valley" not in name]


@pytest.mark.slow
@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_shapes_are_what_they_say(name: str) -> None:
    """Points that are drawn in them are inside; the fraction is that of uniform draws."""
    shape = shapes.OTHERS[name]()
    rng = np.random.default_rng(0)
    points = shape.draw(rng, 50)
    assert points.shape == (50, shape.box.n_features)
    assert shape.box.contains(points).all()
    assert all(shape.score(point) < shape.threshold for point in points)
    if shape.log_fraction > math.log(1e-3):
        result = fastad.volume(
            *(lambda rows: [shape.score(row) for row in rows], shape.threshold, shape.box),
            method="uniform",
            n_draws=50_000,
            rng=0,
            confidence_level=0.9999,
        )
        assert result.log_low <= shape.log_fraction <= result.log_high


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(200, 2)), rng.uniform(-6, 6, size=(20, 2))])
    np.savez(tmp_path / "points.npz", X=X.astype(np.float32), y=np.repeat([0, 1], [200, 20]))
    return tmp_path


@pytest.mark.system
def test_the_script_measures_and_goes_on_where_it_was(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "DETECTORS", ("kNN", "forest"))
    budgets: dict[VolumeMethod, int] = {"uniform": 4000, "splitting": 10_000, "auto": 20_000}
    table = folder / "rare.csv"
    study.run(folder, table, ["points"], budgets)
    rows = read_rows(table)
    assert [row["method"] for row in rows] == [*budgets, *budgets]
    assert all(study.is_estimate(row) for row in rows)
    assert all(study.overlap(*pair) for pair in study.pairs(rows))
    assert len(study.lines(rows).splitlines()) == 2 + 2

    notes = table.with_suffix(".partial")
    assert not notes.exists()
    notes.write_text("".join(json.dumps(row) + "\n" for row in rows[:4]), encoding="utf-8")
    study.run(folder, table, ["points"], budgets)
    again = read_rows(table)
    assert again[:4] == rows[:4]
    for row in (*rows, *again):
        del row["seconds"]
    assert again == rows
