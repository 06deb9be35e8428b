"""The examples of other engines run, where the engine is installed."""

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
# What each example needs beside fastad: modules, and a program; and what it prints.
NEEDS: dict[str, tuple[Sequence[str], str | None, str]] = {
    "ray_tasks": (["ray"], None, "within the bounds: True"),
    "spark": (["pyspark"], "java", "within the bounds: True"),
    "torch_scorer": (["torch", "onnx", "onnxscript", "onnxruntime", "dask"], None, "\nONNX "),
}


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == NEEDS.keys()


@pytest.mark.system
@pytest.mark.parametrize("name", NEEDS)
def test_example(name: str) -> None:
    modules, program, printed = NEEDS[name]
    absent = [module for module in modules if importlib.util.find_spec(module) is None]
    if absent:
        pytest.skip(f"{', '.join(absent)} is not installed: see the head of the example")
    if program is not None and shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    # Workers are other processes, which must find the same fastad.
    paths = os.pathsep.join([str(EXAMPLES.parents[1]), os.environ.get("PYTHONPATH", "")])
    result = subprocess.run(
        [sys.executable, EXAMPLES / f"{name}.py"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": paths, "PYSPARK_PYTHON": sys.executable},
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    assert printed in result.stdout
