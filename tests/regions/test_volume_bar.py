"""Beside the bar of progress stands how good a volume is by now, whatever the method."""

import math
import re
from typing import Any

import numpy as np
import pytest

import fastad

pytest.importorskip("rich")

BOX = fastad.Box([-1, -1, -1], [1, 1, 1])
DATA = np.random.default_rng(1).normal(size=(500, 3)) / 5
OPTIONS: dict[str, dict[str, Any]] = {
    "uniform": {"n_draws": 50_000},
    "sobol": {"n_draws": 2**12},
    "splitting": {"n_draws": 20_000},
}


def squared(X: Any) -> Any:
    return (X**2).sum(axis=1)


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    """Return what a call with a bar returns, and the words that are shown last."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")

    def call(score: Any, threshold: Any, **options: Any) -> tuple[Any, str]:
        result = fastad.volume(score, threshold, BOX, rng=0, progress=True, **options)
        return result, last_line(capsys.readouterr().err)

    return call


def last_line(text: str) -> str:
    """Return the last line without what controls a terminal."""
    plain = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
    return plain.replace("\r", "\n").strip().splitlines()[-1]


@pytest.mark.parametrize("method", ["uniform", "sobol"])
def test_the_last_words_are_the_error_of_the_result(method: str, shown: Any) -> None:
    options = {"method": method, **OPTIONS[method]}
    result, words = shown(squared, 0.3, **options)
    assert words.endswith(f"relative error {result.relative_error:.2g}")
    assert result.value == fastad.volume(squared, 0.3, BOX, rng=0, **options).value


@pytest.mark.parametrize("method", ["uniform", "sobol"])
def test_of_several_thresholds_the_largest_error_is_told(method: str, shown: Any) -> None:
    result, words = shown(squared, [0.6, 0.05, 0.3], method=method, **OPTIONS[method])
    assert words.endswith(f"relative error {result[1].relative_error:.2g}")


def test_without_a_hit_there_is_no_error(shown: Any) -> None:
    words = shown(squared, 1e-9, method="uniform", n_draws=1000)[1]
    assert words.endswith("no draw inside yet")
    words = shown(squared, 1e-9, method="sobol", n_draws=1024)[1]
    assert "error" not in words


@pytest.mark.parametrize("threshold", [0.1, 0.001])
def test_splitting_tells_how_far_down_it_is(threshold: float, shown: Any) -> None:
    result, words = shown(squared, threshold, method="splitting", **OPTIONS["splitting"])
    depth = re.search(r"down to 10\^(-[\d.]+) of the box$", words)
    assert depth is not None
    # The last level is above the threshold, and less than about half of its region is.
    assert -0.1 < float(depth[1]) - result.log_value / math.log(10) < 0.5


def test_a_forest_is_decided_in_the_end(shown: Any) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    forest = ensemble.IsolationForest(n_estimators=3, random_state=0).fit(DATA)
    words = shown(forest, 0.5, method="exact")[1]
    assert words.endswith("100.0% of the box decided")


def test_of_several_detectors_the_words_name_one(monkeypatch: Any, capsys: Any) -> None:
    """With a name that rich would read as markup."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    scores = {"round": squared, "[red]": lambda X: abs(X).max(axis=1)}
    result = fastad.volumes(
        scores, DATA, np.zeros(500), fpr=0.1, box=BOX, method="uniform", rng=0, progress=True
    )
    error = result["[red]"]["vol@0.1"].relative_error
    assert last_line(capsys.readouterr().err).endswith(f"relative error {error:.2g} ([red])")
