"""Time of each measure in each library, for one set of labels and scores after the other."""

from collections.abc import Iterable
from dataclasses import asdict
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from scipy.integrate import cumulative_trapezoid

from bench.data import CONTINUOUS, LARGE, Case, cases, generate
from bench.peers import LIBRARIES, REFERENCE, Library, Output


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    runs = [
        pytest.param(case, measure, library, id=f"{case}-{measure}-{library.name}")
        for case in cases(large=metafunc.config.getoption("large"))
        for measure in _measures(case)
        for library in LIBRARIES
        if measure in library.measures and case.kind not in library.wrong_on
    ]
    metafunc.parametrize(("case", "measure", "library"), runs)


def _measures(case: Case) -> Iterable[str]:
    return REFERENCE.measures if case.kind == CONTINUOUS and case.n < LARGE else ["AUC"]


@pytest.mark.benchmark(min_rounds=5, max_time=0.3, disable_gc=True)
def test_measure(benchmark: BenchmarkFixture, case: Case, measure: str, library: Library) -> None:
    function = library.measures[measure]
    arguments = library.container(*generate(case))
    # The first call, which may compile, is compared and not timed.
    np.testing.assert_allclose(
        _comparable(function(*arguments)), _expected(case, measure), rtol=0, atol=library.tolerance
    )
    benchmark.group = f"{case}-{measure}"
    benchmark.extra_info.update(asdict(case), measure=measure, library=library.name)
    benchmark(function, *arguments)


@lru_cache(maxsize=1)
def _expected(case: Case, measure: str) -> npt.NDArray[np.float64]:
    return _comparable(REFERENCE.measures[measure](*generate(case)))


def _comparable(output: Output) -> npt.NDArray[np.float64]:
    """Return a number as it is, and of a curve the area up to many false positive rates.

    Curves may leave out points on straight pieces, or differ by rounding on upright ones; their
    areas agree all the same.
    """
    if not isinstance(output, tuple):
        return np.asarray(output, np.float64)
    fpr, tpr = (np.asarray(rates, np.float64) for rates in output[:2])
    area = cumulative_trapezoid(tpr, fpr, initial=0)
    return np.interp(np.linspace(0, 1, 1001), fpr, area)
