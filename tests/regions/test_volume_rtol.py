"""Draws until a relative error is reached, by every method."""

import math
from typing import Any

import numpy as np
import pytest

import fastad
from fastad import Box, volume
from tests.support.rare import ball

REGION = ball(4)
DATA = REGION.data(200, 0)
METHODS = ("uniform", "sobol", "splitting", "auto")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rtol", [0.2, 0.03])
def test_every_method_reaches_it(method: Any, rtol: float) -> None:
    result = volume(
        *(REGION.jitted, 0.5, REGION.box),
        method=method,
        rtol=rtol,
        data=DATA,
        rng=1,
        confidence_level=0.9999,
    )
    truth = REGION.log_fraction + 2 * math.log(0.5)
    assert result.relative_error <= rtol
    assert result.log_low <= truth <= result.log_high
    assert result.n_scored >= result.n_drawn


@pytest.mark.slow
def test_the_smaller_the_error_the_more_draws() -> None:
    for method in ("sobol", "splitting"):
        n_scored = [
            volume(
                *(REGION.jitted, 0.5, REGION.box), method=method, rtol=rtol, data=DATA, rng=0
            ).n_scored
            for rtol in (0.1, 0.001)
        ]
        assert n_scored[0] < n_scored[1], method


@pytest.mark.parametrize("method", ["sobol", "splitting", "auto"])
def test_of_several_regions_each_reaches_it(method: Any) -> None:
    result = volume(
        *(REGION.jitted, [1.0, 0.3], REGION.box), method=method, rtol=0.05, data=DATA, rng=0
    )
    assert max(one.relative_error for one in result) <= 0.05
    assert len({one.n_scored for one in result}) == 1
    # Those of uniform draws end with each region, and each has particles of its own.
    assert len({one.n_drawn for one in result}) == (1 if result[0].method == "sobol" else 2)


@pytest.mark.parametrize(
    ("method", "data"),
    [*((method, DATA) for method in METHODS), ("auto", None)],
    ids=[*METHODS, "auto without data"],
)
def test_the_budget_ends_it(method: Any, data: Any) -> None:
    calls = [0]

    def score(X: Any) -> Any:
        calls[0] += len(X)
        return REGION.batch(X)

    result = volume(
        *(score, 0.5, REGION.box), method=method, rtol=1e-6, data=data, n_draws=60_000, rng=0
    )
    assert result.relative_error > 1e-6
    assert result.n_scored == calls[0]
    assert 20_000 <= result.n_scored <= (1.25 if result.method == "splitting" else 1) * 60_000


@pytest.mark.parametrize("method", ["uniform", "auto"])
def test_uniform_draws_say_how_many_were_scored(method: Any) -> None:
    calls: list[int] = []

    def score(X: Any) -> Any:
        calls.append(len(X))
        return REGION.batch(X)

    result = volume(score, [0.8, 1.0], REGION.box, method=method, rtol=0.1, rng=0)
    assert [one.method for one in result] == ["uniform"] * 2
    # The parts in which the draws of a threshold end are scored a second time.
    (n_scored,) = {one.n_scored for one in result}
    assert max(one.n_drawn for one in result) <= n_scored < sum(calls) <= 3 * n_scored


def test_progress_never_falls_and_has_no_end() -> None:
    for method in METHODS:
        done: list[int] = []
        ends: set[int | None] = set()

        def progress(n: int, of: int | None, done: Any = done, ends: Any = ends) -> None:
            done.append(n)
            ends.add(of)

        options: dict[str, Any] = {"method": method, "rtol": 0.02, "data": DATA, "rng": 0}
        volume(REGION.batch, 0.5, REGION.box, progress=progress, **options)
        assert done == sorted(done), method
        assert ends == {None}, method


def test_what_is_exact_has_no_error() -> None:
    from sklearn.ensemble import IsolationForest

    X = np.random.default_rng(0).normal(0, 0.3, (300, 2))
    model = IsolationForest(n_estimators=5, max_samples=32, random_state=0).fit(X)
    scorer = fastad.compile_scorer(model)
    threshold = float(np.median(scorer.score_samples(X)))
    for method in ("exact", "auto"):
        result = volume(scorer, threshold, Box([-1, -1], [1, 1]), method=method, rtol=1e-9)
        assert (result.method, result.relative_error) == ("exact", 0.0)
