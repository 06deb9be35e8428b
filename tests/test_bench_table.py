"""The tables of what benchmarks have measured."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest

from bench import (
    contamination_page,
    coverage_page,
    difference_coverage,
    gate,
    goix,
    group_rates,
    labeling,
    optimism,
    rare_study,
    splitting_settings,
    volume_coverage,
)
from bench.data import Case, generate
from bench.limits import limits as limits_of
from bench.pages import filled, number, read_rows, table
from bench.processor import describe, processor
from bench.speed_page import (
    LIMITS,
    PAGE,
    README,
    Row,
    Run,
    limits,
    pages,
    ratio_sentence,
    read_run,
    read_runs,
    speeds,
)
from tests.support import definition_table

SIGN = "\N{MULTIPLICATION SIGN}"
ROW = Row("AUC", Case(10**6, 0.5))
FEW = Row("AUC", Case(10**6, 0.001))
NARROW = Row("AUC", Case(3 * 10**6, 0.01, "uint8", "tied"))


def made_run(design: str, day: str, rows: dict[Row, dict[str, float]]) -> Run:
    facts = {"name": "AMD EPYC", "design": design, "avx512": True, "date": day}
    return Run({**facts, "threads": {"fastad": 2}, "versions": {"numpy": "2.4.6"}}, dict(rows))


NEW = made_run(
    "Zen 5",
    "2026-11-26",
    {
        ROW: {"fastad": 4.0, "scikit-learn": 200.0, "sweep": 3.0, "copy": 0.2},
        FEW: {"fastad": 1.0, "scikit-learn": 210.0, "sweep": 4.0},
        NARROW: {"fastad": 0.5},
    },
)
OLD = made_run("Zen 4", "2026-11-03", {ROW: {"fastad": 10.0, "scikit-learn": 250.0}})


# The tables of a page, by the module that writes them and names the page.
STORED: dict[ModuleType, Callable[[], Mapping[str, str]]] = {
    contamination_page: lambda: {
        "corrected": contamination_page.corrected(),
        "independent": contamination_page.independent(),
    },
    coverage_page: coverage_page.tables,
    definition_table: lambda: {"definitions": definition_table.make_table()},
    difference_coverage: difference_coverage.tables,
    gate: gate.tables,
    goix: lambda: {"agreement": goix.lines(goix.read())},
    group_rates: lambda: {
        "coverage": group_rates.coverage_table(read_rows(group_rates.TABLE)),
        "level": group_rates.level_table(read_rows(group_rates.TABLE)),
    },
    labeling: labeling.pages,
    optimism: lambda: {"optimism": optimism.page()},
    rare_study: lambda: {"rare": rare_study.lines(read_rows(rare_study.TABLE))},
    splitting_settings: lambda: {
        "settings": splitting_settings.lines(read_rows(splitting_settings.TABLE))
    },
    volume_coverage: lambda: volume_coverage.tables(read_rows(volume_coverage.TABLE)),
}


@pytest.mark.parametrize("module", STORED, ids=lambda module: module.__name__)
def test_pages_show_what_is_stored(module: ModuleType) -> None:
    text = module.PAGE.read_text(encoding="utf-8")
    assert filled(text, STORED[module]()) == text, f"python -m {module.__name__}"


def test_each_setting_of_splitting_was_measured() -> None:
    names = {(x.module, x.name.strip("_")): None for x in splitting_settings.settings() if x.name}
    rows = read_rows(splitting_settings.TABLE)
    assert [(row["module"], row["setting"]) for row in rows] == list(names)
    text = splitting_settings.PAGE.read_text(encoding="utf-8")
    assert f"all {len(names)} settings" in text


def test_pages_show_the_speeds_that_are_stored() -> None:
    for path, tables in pages(read_runs()).items():
        text = path.read_text(encoding="utf-8")
        assert filled(text, tables) == text, "python -m bench.speed_page"


def test_the_readme_tells_the_ratios_of_the_table() -> None:
    text = README.read_text(encoding="utf-8").partition("<!-- bench -->")[2]
    told = re.search(r"scikit-learn takes (\d+)(?: to (\d+))? times as long", text)
    assert told is not None
    rows = re.findall(
        r"^\| AUC \| 10⁶ \| ([\d.]+) % \| continuous \| [\d.]+ \| \d+ \((\d+) .\)",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    by_share = sorted(rows, key=lambda row: -float(row[0]))
    ends = dict.fromkeys([by_share[0][1], by_share[-1][1]])
    assert [x for x in told.groups() if x] == list(ends)


def test_two_processors_are_columns_of_one_table() -> None:
    assert speeds([NEW, OLD], NEW.rows).replace(SIGN, "x").splitlines() == [
        "| measure | n | anomalies | scores | fastad | scikit-learn | sweep "
        "| fastad on Zen 4, 3 November 2026 |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |",
        "| AUC | 10⁶ | 50 % | continuous | 4.00 | 200 (50 x) | **3.00 (0.75 x)** | 10.0 (25 x) |",
        "| AUC | 10⁶ | 0.1 % | continuous | 1.00 | 210 (210 x) | 4.00 (4.0 x) | - |",
        "| AUC | 3000000 | 1 % | uint8, tied | 0.500 | - | - | - |",
    ]
    assert limits(NEW).replace(SIGN, "x").splitlines()[2:] == [
        "| AUC | 10⁶ | 50 % | continuous | 4.00 | 0.200 (0.050 x) |"
    ]
    assert ratio_sentence([NEW, OLD]) == (
        "For the AUC of a million scores scikit-learn takes 25 times as long as fastad on Zen 4 "
        "(50 % anomalies), 50 to 210 times as long as fastad on Zen 5 (50 % to 0.1 % anomalies)."
    )


def test_runs_are_read_from_lines(tmp_path: Path) -> None:
    lines = [
        NEW.facts,
        *({"measure": row.measure, **asdict(row.case), "ms": ms} for row, ms in NEW.rows.items()),
    ]
    path = tmp_path / "processor.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert read_run(path) == NEW


def test_every_table_names_its_processor() -> None:
    assert processor()["name"] in describe(processor())
    facts = {"family": 26, "model": 2, "caches": ["48 kB", "1 MB"], "avx512": False}
    assert describe({"name": "AMD EPYC", "design": "Zen 5", **facts}) == (
        "AMD EPYC (Zen 5; family 26; model 2; caches of 48 kB, 1 MB; no AVX-512)"
    )
    for tables in pages([NEW, OLD]).values():
        assert "AMD EPYC (Zen 5; AVX-512), 26 November 2026" in tables["bench"]


@pytest.mark.parametrize("dtype", ["float16", "int16", "uint8"])
def test_narrow_scores_keep_the_kind_of_their_order(dtype: str) -> None:
    labels, scores = generate(Case(10_000, 0.5, dtype))
    _, continuous = generate(Case(10_000, 0.5))
    assert scores.dtype == dtype
    assert labels.sum() == 5_000
    assert (scores[continuous.argsort()][1:] >= scores[continuous.argsort()][:-1]).all()
    assert len(set(scores.tolist())) > 100


@pytest.mark.system
def test_limits_of_a_measure_are_timed() -> None:
    times = limits_of(Case(1000, 0.5))
    assert set(times) == set(LIMITS if processor()["avx512"] else LIMITS[:2])
    assert min(times.values()) > 0


def test_numbers_have_so_many_digits() -> None:
    assert [number(x, 2) for x in (0.00451, 9.98, 10.4, 123.0)] == ["0.0045", "10", "10", "123"]


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
