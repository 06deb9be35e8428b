"""scikit-learn's own tests of the functions, which it ships, run against those of fastad."""

import re
from pathlib import Path

import pytest

from tests.support.processes import run

# Deliberate differences would be deselected here by name. There are none: what the tests compare
# bit by bit is equal, and the rest they compare with tolerances.
PROGRAM = """
import inspect
import re
import sys
import pytest
import sklearn.metrics
from fastad.compat import sklearn as compat

for name in compat.__all__:
    compat._of_scikit_learn(name)  # it is remembered before it is replaced
    setattr(sklearn.metrics, name, getattr(compat, name))
# Cases are named by functions: "weighted_f1_score", "ovr_roc_auc".
names = [name.removesuffix("_score") for name in compat.__all__]
# Of another function, skipped unless a variable is set, passed on as averages of other kinds are
# but slow, and of pickles that other processes read.
others = ("label_ranking", "array_api", "samples_", "nan_validation")

class Affected:
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if self.is_affected(item)]

    def is_affected(self, item):
        if any(name in item.name for name in others):
            return False
        used = set(re.findall(r"\\w+", inspect.getsource(item.function)))
        if hasattr(item, "callspec"):
            return any(name in item.name for name in names) or not used.isdisjoint(compat.__all__)
        # Lists of functions are named "CURVE_METRICS".
        return any(name in compat.__all__ or name.endswith("_METRICS") for name in used)

options = ["-q", "-p", "no:cacheprovider", "--disable-warnings", "--pyargs"]
modules = ("sklearn.metrics.tests." + name for name in sys.argv[1:])
sys.exit(pytest.main([*options, *modules], plugins=[Affected()]))
"""
MODULES = "test_ranking", "test_classification", "test_common"


@pytest.mark.system
def test_scikit_learns_own_tests_of_these_functions_pass(tmp_path: Path) -> None:
    """All but the cases of other functions."""
    program = f"import sys; sys.argv[1:] = {MODULES}\n{PROGRAM}"
    printed = run(program, "-W", "default", cwd=tmp_path)
    passed = re.search(r"(\d+) passed", printed)
    assert passed is not None, printed
    assert int(passed[1]) > 500
    assert "failed" not in printed
