"""The tables of what benchmarks have measured."""

import json
from pathlib import Path

import pytest

from bench.pages import filled, table
from bench.table import main


def test_every_benchmark_has_its_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = {"n": 1000, "proportion": 0.5, "dtype": "float64", "kind": "continuous"}
    infos = {
        "auc": {**case, "measure": "AUC", "library": "fastad"},
        "peer": {**case, "measure": "AUC", "library": "sklearn"},
        "grouped": {"runs": "100 groups", "library": "fastad"},
        "grouped peer": {"runs": "100 groups", "library": "loop"},
        "import": {"start": "import fastad"},
        "service": {"batch": 500, "p50": 1.25, "p99": 2.5},
        "window": {"batch": 500, "threads": 8, "p50": 7.25, "p99": 8.5},
        "part": {"fraction": 0.5},
        "other": {"n": 1000, "proportion": 0.5, "what": "curve"},
    }
    entries = [
        {"name": name, "extra_info": info, "stats": {"median": 0.006 if "peer" in name else 0.003}}
        for name, info in infos.items()
    ]
    machine = {
        "versions": {"numpy": "2"},
        "threads": {"fastad": 1},
        "cpu": {"brand_raw": "cpu", "count": 1},
        "python_version": "3",
    }
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"benchmarks": entries, "machine_info": machine}))
    main(str(path))
    printed = capsys.readouterr().out
    for row in (
        "| AUC | 10^3 | 50% | float64 | continuous | 3.00 | 6.00 (2.0x) |",
        "| 100 groups | fastad | 3.00 (1.0x) |",
        "| 100 groups | loop | 6.00 (2.0x) |",
        "| 500 | 1.25 | 2.50 |",
        *(f"| {name} | 3.00 |" for name in ("import fastad", "window", "other")),
        "| part | 6.00 |",
    ):
        assert row in printed


def test_columns_of_numbers_are_aligned_right() -> None:
    rows = [["ball", 5, "-", "refused"], ["cube", 10, "-1.5 ± 0.2", "-"]]
    assert table(["shape", "d", "log", "by"], rows).splitlines() == [
        "| shape | d | log | by |",
        "| --- | ---: | ---: | --- |",
        "| ball | 5 | - | refused |",
        "| cube | 10 | -1.5 ± 0.2 | - |",
    ]


def test_pages_are_filled_between_their_marks_alone() -> None:
    page = "a\n<!-- one -->\nold\n<!-- /one -->\nb\n<!-- two -->\nold\n<!-- /two -->\nc\n"
    new = "a\n<!-- one -->\nx\\1\ny\n<!-- /one -->\nb\n<!-- two -->\nold\n<!-- /two -->\nc\n"
    assert filled(page, {"one": "x\\1\ny"}) == new
    with pytest.raises(ValueError, match="must contain the marks of three"):
        filled(page, {"three": ""})
