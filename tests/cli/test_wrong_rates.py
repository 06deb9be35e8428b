"""Rates out of range are refused in the words of the library, whatever the command."""

from pathlib import Path

import pytest

import fastad
from tests.support.command_line import error_of

LABELS, SCORES = [0, 1, 0, 1], [0.1, 0.3, 0.2, 0.5]


@pytest.mark.parametrize("rate", [2.0, -0.5, float("nan"), float("inf")])
@pytest.mark.parametrize("options", [["--fpr"], ["--fpr", "0.1", "--fpr"]])
def test_a_wrong_rate_is_refused_as_by_the_library(
    tmp_path: Path, rate: float, options: list[str]
) -> None:
    path = tmp_path / "scores.csv"
    rows = [f"{label},{score}" for label, score in zip(LABELS, SCORES, strict=True)]
    path.write_text("\n".join(["y,a", *rows]), encoding="utf-8")
    with pytest.raises(fastad.InvalidInputError) as caught:
        fastad.tpr_at_fpr(LABELS, SCORES, fpr=rate)
    expected = str(caught.value).removeprefix("fpr ")
    assert f"--fpr: {expected}" in error_of("evaluate", path, *options, rate, code=2)
