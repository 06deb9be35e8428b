"""The study of tiny regions: its script, its table, and the page that shows it."""

import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bench import rare_study as study
from bench.pages import filled, read_rows
from fastad.regions.methods import VolumeMethod

ROWS = read_rows(study.TABLE)


def test_the_page_shows_the_table() -> None:
    page = study.PAGE.read_text(encoding="utf-8")
    assert filled(page, {"rare": study.lines(ROWS)}) == page


def test_the_page_counts_right() -> None:
    text = " ".join(study.PAGE.read_text(encoding="utf-8").split())
    pairs = study.pairs(ROWS)
    overlapping = [pair for pair in pairs if study.overlap(*pair)]
    assert f"{len(pairs)} pairs of estimates by two methods, of which {len(overlapping)}" in text
    of = {name: [row for row in ROWS if row["method"] == name] for name in study.METHODS}
    n_uniform, n_weighted = (
        sum(study.is_estimate(row) for row in of[name]) for name in ("uniform", "importance")
    )
    assert f"Uniform draws give an estimate in {n_uniform} of {len(of['uniform'])} cells" in text
    n_refused = sum(row["refusal"] != "" for row in of["importance"])
    assert f"gives an estimate in {n_weighted} cells and is refused in {n_refused}" in text
    assert all(study.is_estimate(row) and not row["warnings"] for row in of["splitting"])
    taken = Counter(row["chosen"] for row in of["auto"])
    assert (
        f"uniform draws in {taken['uniform']} cells, splitting in {taken['splitting']} and "
        f"importance sampling in {taken['importance']}"
    ) in text


def test_every_cell_was_estimated() -> None:
    cells = study.by_cell(ROWS)
    assert list(cells) == [(name, detector) for name in study.DATA for detector in study.DETECTORS]
    assert all(tuple(cell) == study.METHODS for cell in cells.values())


def test_estimates_lie_between_their_ends() -> None:
    for row in ROWS:
        if row["refusal"]:
            assert row["method"] == "importance"
            assert row["refusal"].startswith("RefusedError")
            continue
        low, value, high = (float(row[k]) for k in (study.LOW, "log10_share", study.HIGH))
        assert low <= value <= high <= 0
        assert (row["is_bound"] == "yes") <= math.isinf(low)
        assert row["chosen"] == row["method"] or row["method"] == "auto"
        assert bool(row["reason"]) >= (row["method"] == "auto")


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
    budgets: dict[VolumeMethod, int] = {
        "uniform": 4000,
        "importance": 4000,
        "splitting": 10_000,
        "auto": 20_000,
    }
    table = folder / "rare.csv"
    study.run(folder, table, ["points"], budgets)
    rows = read_rows(table)
    assert [row["method"] for row in rows] == [*budgets, *budgets]
    assert all(study.is_estimate(row) for row in rows)
    assert all(study.overlap(*pair) for pair in study.pairs(rows))
    assert len(study.lines(rows).splitlines()) == 2 + 2

    notes = table.with_suffix(".partial")
    assert not notes.exists()
    notes.write_text("".join(json.dumps(row) + "\n" for row in rows[:5]), encoding="utf-8")
    study.run(folder, table, ["points"], budgets)
    again = read_rows(table)
    assert again[:5] == rows[:5]
    for row in (*rows, *again):
        del row["seconds"]
    assert again == rows
