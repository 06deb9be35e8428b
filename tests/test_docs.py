"""The documentation builds without a warning, and every measure has its page."""

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from fastad.measures.registry import MEASURES

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages", ROOT / "docs" / "pages.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_measure_has_prose_and_every_prose_a_measure(pages: ModuleType) -> None:
    pages.check_prose()
    with pytest.raises(ValueError, match="not_written_yet"):
        pages.check_prose([*MEASURES, "not_written_yet"])
    with pytest.raises(ValueError, match="roc_auc"):
        pages.check_prose([name for name in MEASURES if name != "roc_auc"])


def test_the_documentation_builds_without_warnings(tmp_path: Path) -> None:
    build = subprocess.run(
        [
            *(sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html"),
            *("-d", tmp_path / "trees", ROOT / "docs", tmp_path / "html"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert build.returncode == 0, build.stderr
    for name in MEASURES:
        page = (tmp_path / "html" / "measures" / f"{name}.html").read_text(encoding="utf-8")
        assert f"fastad.{name}" in page


def test_the_readme_names_every_measure() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [name for name in MEASURES if f"`{name}`" not in readme] == []
