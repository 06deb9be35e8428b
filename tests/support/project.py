"""What pyproject.toml says of the project."""

import importlib
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_TOML = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
PROJECT: dict[str, Any] = _TOML.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
