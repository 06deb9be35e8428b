"""scikit-learn's own tests of the functions, which it ships, run against those of fastad."""

import re
from pathlib import Path

import pytest

from tests.support.processes import run

# Deliberate differences would be deselected here by name. There are none: what the tests compare
# bit by bit is equal, and the rest they compare with tolerances.
PROGRAM = """
import sys
import pytest
import sklearn.metrics
from fastad.compat import sklearn as compat

for name in compat.__all__:
    compat._of_scikit_learn(name)  # it is remembered before it is replaced
    setattr(sklearn.metrics, name, getattr(compat, name))
options = ["-q", "-p", "no:cacheprovider", "--disable-warnings", "--pyargs"]
sys.exit(pytest.main([*options, "sklearn.metrics.tests.{module}"]))
"""


@pytest.mark.system
@pytest.mark.parametrize("module", ["test_ranking", "test_classification", "test_common"])
def test_scikit_learns_own_tests_pass(module: str, tmp_path: Path) -> None:
    printed = run(PROGRAM.replace("{module}", module), "-W", "default", cwd=tmp_path)
    passed = re.search(r"(\d+) passed", printed)
    assert passed is not None, printed
    assert int(passed[1]) > 100
    assert "failed" not in printed
