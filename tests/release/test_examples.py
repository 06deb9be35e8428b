"""The action, the hook and the policy of the documentation are what the command takes."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

from fastad.release import read_policy
from tests.support.command_line import invoke

FOLDER = Path(__file__).parents[2] / "docs" / "examples" / "release_gate"
N = 3000
Y = (np.arange(N) % 10 == 0).astype(np.int64)


def parsed(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


@pytest.fixture
def tables(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    common = rng.normal(size=N) + 3 * Y
    for name in ("new", "old"):
        columns = {
            "event": np.arange(N),
            "y": Y,
            "score": common + 0.1 * rng.normal(size=N),
            "site": np.array(["a", "b"])[np.arange(N) // 10 % 2],
        }
        pl.DataFrame(columns).write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def test_the_policy_decides(tables: Path) -> None:
    assert len(read_policy(FOLDER / "policy.toml").require) == 3
    names = FOLDER / "policy.toml", tables / "new.parquet", tables / "old.parquet"
    result = invoke("gate", *names)
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_hook_names_the_command() -> None:
    (hook,) = parsed("pre-commit-config.yaml")["repos"][0]["hooks"]
    words = shlex.split(hook["entry"])
    assert words[:2] == ["fastad", "gate"]
    assert [Path(word).name for word in words[2:]] == ["policy.toml", "new.parquet", "old.parquet"]


@pytest.mark.system
def test_the_action_runs(tables: Path) -> None:
    action = parsed("action.yml")
    assert action["runs"]["using"] == "composite"
    (step,) = action["runs"]["steps"]
    assert step["env"].keys() == {"POLICY", "NEW", "OLD", "UNDECIDED"}
    (tables / "fastad").write_text(f'#!/bin/sh\nexec {sys.executable} -m fastad "$@"\n')
    (tables / "fastad").chmod(0o755)
    files = {"GITHUB_OUTPUT": tables / "output", "GITHUB_STEP_SUMMARY": tables / "summary"}
    wide, narrow = tables / "wide.toml", tables / "narrow.toml"
    for path, margin in ((wide, 0.5), (narrow, 0.0001)):
        path.write_text(f'[[require]]\nmeasure = "auc"\nmargin = {margin / 2}\n')
    for policy, undecided, code, verdict in (
        (wide, "false", 0, "pass"),
        (narrow, "true", 3, "not enough data"),
    ):
        for file in files.values():
            file.write_text("")
        result = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=tables,
            env={
                **os.environ,
                **{name: str(file) for name, file in files.items()},
                "PATH": f"{tables}{os.pathsep}{os.environ['PATH']}",
                "PYTHONPATH": str(FOLDER.parents[2]),
                "POLICY": str(policy),
                "NEW": "new.parquet",
                "OLD": "old.parquet",
                "UNDECIDED": undecided,
            },
            check=False,
            capture_output=True,
        )
        assert result.returncode == code, result.stderr
        assert files["GITHUB_OUTPUT"].read_text() == f"verdict={verdict}\n"
        assert files["GITHUB_STEP_SUMMARY"].read_text().startswith(f"**Gate: {verdict}**")
