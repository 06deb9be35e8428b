"""scikit-learn's functions, and those of the same names in fastad."""

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from pytest_benchmark.fixture import BenchmarkFixture
from sklearn import metrics

from bench.data import Case, generate
from fastad.compat import sklearn as compat

LIBRARIES = {"fastad": compat, "scikit-learn": metrics}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", compat.__all__)
@pytest.mark.parametrize("n", [10**3, 10**5, 10**6])
@pytest.mark.benchmark(min_rounds=5, max_time=0.3, disable_gc=True)
def test_function(benchmark: BenchmarkFixture, n: int, name: str, library: str) -> None:
    labels, scores = generate(Case(n, 0.5))
    data = labels, scores >= 1 if name == "f1_score" else scores

    def numbers(module: ModuleType) -> Any:
        result = getattr(module, name)(*data)
        return np.hstack(result if isinstance(result, tuple) else [result])

    np.testing.assert_allclose(numbers(compat), numbers(metrics), rtol=1e-12)
    benchmark.extra_info.update(runs=f"{name}, n = {n}", library=library)
    benchmark(getattr(LIBRARIES[library], name), *data)
