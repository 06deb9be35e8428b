"""Time of fresh processes: importing the package, and its first call, compiled before or not."""

import os
import subprocess
import sys
from pathlib import Path
from tempfile import mkdtemp

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

pytestmark = pytest.mark.benchmark(min_rounds=5, max_time=1)

_DATA = "import numpy; y = numpy.arange(1000) % 2; s = numpy.sin(numpy.arange(1000)); "
_FASTAD = _DATA + "import fastad; fastad.roc_auc(y, s)"
_SKLEARN = _DATA + "import sklearn.metrics; sklearn.metrics.roc_auc_score(y, s)"
PROGRAMS = {
    "import numpy": "import numpy",
    "import numpy, fastad": "import numpy, fastad",
    "first AUC, compiled before": _FASTAD,
    "first AUC, nothing compiled yet": _FASTAD,
    "first AUC of scikit-learn": _SKLEARN,
}


def _run(program: str, cache: str | Path) -> None:
    environment = {**os.environ, "FASTAD_CACHE_DIR": str(cache)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


@pytest.mark.parametrize("start", PROGRAMS)
def test_start(benchmark: BenchmarkFixture, tmp_path: Path, start: str) -> None:
    _run(PROGRAMS[start], tmp_path)  # fills the caches
    is_new = "nothing" in start
    benchmark(lambda: _run(PROGRAMS[start], mkdtemp(dir=tmp_path) if is_new else tmp_path))
