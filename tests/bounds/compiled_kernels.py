"""Which kernels were compiled by tests that have run before, in a cache of their own.

`.ci/run` names this file, which no other run collects.
"""

import os
from pathlib import Path

from tests.support.kernels import kernels


def test_every_kernel_was_compiled_with_its_bounds_checked() -> None:
    assert os.environ["NUMBA_BOUNDSCHECK"] == "1"
    files = Path(os.environ["NUMBA_CACHE_DIR"]).glob("*/*.kernel")
    # A folder is named by that of the sources and a digest.
    compiled = {
        (path.parent.name.rpartition("_")[0], path.name.rpartition("-")[0]) for path in files
    }
    assert kernels() - compiled == set()
