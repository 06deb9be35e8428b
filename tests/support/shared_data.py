"""Real data beside the project's folder; what needs them is skipped where they are not."""

from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"
needs_shared_data = pytest.mark.skipif(
    not DATA.is_dir(), reason="the data sets of ../shared are not here"
)


def shared_file(name: str) -> Path:
    """Return the path of a data set, or skip the test."""
    path = DATA / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"the data set {name} of ../shared is not here")
    return path
