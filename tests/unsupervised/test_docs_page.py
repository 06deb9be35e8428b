"""The page on measures without labels: what it says of Goix's benchmark is what was measured."""

from pathlib import Path

import pytest

from bench import goix
from fastad.study.papers.goix_data import FILES, SETTINGS

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "unsupervised.md"
BENCHMARK = goix.read()


def text() -> str:
    return " ".join(PAGE.read_text(encoding="utf-8").split())


def test_every_cell_was_measured() -> None:
    results = {(row.dataset, row.setting, row.detector) for row in BENCHMARK.rows}
    expected = {
        (name, setting, detector)
        for name in FILES
        for setting in SETTINGS
        for detector in ("iForest", "OCSVM", "LOF")
    }
    assert results == expected
    assert len(BENCHMARK.rows) == len(expected)


@pytest.mark.parametrize("criterion", ["em", "mv"])
def test_the_page_counts_pairs_right(criterion: str) -> None:
    result = BENCHMARK.agreement(criterion, setting=None, pairs="all")  # type: ignore[arg-type]
    both = result.both
    assert both is not None
    pairs = f"{both.n_agreeing:g} of {both.n_pairs} pairs ({both.fraction:.0%})"
    assert f"{criterion.upper()} orders {pairs}" in text()
