"""The examples of other engines run, where the engine is installed."""

import ast
import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import fastad

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
# What each example needs beside fastad: modules, and a program; and what it prints.
NEEDS: dict[str, tuple[Sequence[str], str | None, str]] = {
    "kafka_consumer": (["confluent_kafka"], None, "same: True"),
    "mlflow_run": (["mlflow", "alembic"], None, "same: True"),
    "opentelemetry_metrics": (["opentelemetry.sdk"], None, "same: True"),
    "polars_duckdb": (["polars", "duckdb"], None, "by_polars: 1462 rows, same: True"),
    "ray_tasks": (["ray"], None, "within the bounds: True"),
    "spark": (["pyspark"], "java", "within the bounds: True"),
    "spark_streaming": (["pyspark"], "java", "same: True"),
    "tensorboard_run": (["tensorboard"], None, "curve points: 101\nsame: True"),
    "torch_scorer": (["torch", "onnx", "onnxscript", "onnxruntime", "dask"], None, "\nONNX "),
    "wandb_run": (["wandb"], None, "same: True"),
}


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == NEEDS.keys()


@pytest.mark.parametrize("name", NEEDS)
def test_an_example_names_what_fastad_has(name: str) -> None:
    # Also where the engine is not installed.
    for node in ast.walk(ast.parse((EXAMPLES / f"{name}.py").read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fastad"):
            module = importlib.import_module(str(node.module))
            assert all(hasattr(module, alias.name) for alias in node.names)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert node.value.id != "fastad" or hasattr(fastad, node.attr)


@pytest.mark.system
@pytest.mark.parametrize("name", NEEDS)
def test_example(name: str) -> None:
    modules, program, printed = NEEDS[name]
    absent = [module for module in modules if not _is_installed(module)]
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


def _is_installed(module: str) -> bool:
    package, _, _ = module.partition(".")
    return all(importlib.util.find_spec(name) is not None for name in (package, module))
