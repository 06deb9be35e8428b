"""``fastad gate``: exit codes, and the files that a pipeline reads."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from tests.support.command_line import error_of, invoke, json_of, stdout_of

N = 900
Y = (np.arange(N) % 6 == 0).astype(np.int64)
OLD = np.random.default_rng(1).normal(size=N) + 2 * Y
SHIFTS = {"same": 0.0, "worse": 1.5, "slightly": 0.35}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    noise = 0.2 * np.random.default_rng(2).normal(size=N)
    for name, shift in SHIFTS.items():
        scores = OLD + noise - shift * Y
        pl.DataFrame({"y": Y, "score": scores}).write_parquet(tmp_path / f"{name}.parquet")
    pl.DataFrame({"y": Y, "score": OLD}).write_parquet(tmp_path / "old.parquet")
    (tmp_path / "policy.toml").write_text('[[require]]\nmeasure = "auc"\nmargin = 0.05\n')
    return tmp_path


@pytest.mark.parametrize(
    ("new", "code", "verdict"),
    [("same", 0, "pass"), ("worse", 1, "fail"), ("slightly", 3, "not enough data")],
)
def test_the_exit_code_is_the_verdict(folder: Path, new: str, code: int, verdict: str) -> None:
    paths = folder / "policy.toml", folder / f"{new}.parquet", folder / "old.parquet"
    outputs = [folder / f"out.{kind}" for kind in ("xml", "md", "json", "csv")]
    options = [word for path in outputs for word in ("--output", path)]
    result = invoke("gate", *paths, *options)
    assert (result.exit_code, result.stderr) == (code, "")
    assert result.stdout.startswith(f"gate: {verdict}\n\nrequirement ")
    assert ElementTree.parse(outputs[0]).getroot().get("tests") == "1"
    assert outputs[1].read_text().startswith(f"**Gate: {verdict}**\n\n| requirement |")
    assert json.loads(outputs[2].read_text())["exit_code"] == code
    assert pl.read_csv(outputs[3])["verdict"].to_list() == [verdict]
    as_json = invoke("gate", *paths, "--json")
    assert (as_json.exit_code, json.loads(as_json.stdout)["verdict"]) == (code, verdict)


@pytest.mark.slow
def test_power_takes_the_old_table_alone(folder: Path) -> None:
    paths = folder / "policy.toml", folder / "old.parquet"
    (row,) = json_of("gate", *paths, "--power", "--loss", "0.01")["rows"]
    assert row["loss"] == 0.01
    assert 0 < row["power"] < 1
    assert 50 < row["required_anomalies"] < 150
    printed = stdout_of("gate", *paths, "--power")
    assert "power  anomalies for 0.8  normals for 0.8" in printed


def test_wrong_use_and_wrong_data_are_no_verdict(folder: Path) -> None:
    """1 would say that the new detector is worse."""
    policy, old = folder / "policy.toml", folder / "old.parquet"
    assert "OLD: the old detector's table is missing" in error_of("gate", policy, old, code=2)
    assert "--loss: is of use only with --power" in error_of(
        "gate", policy, old, old, "--loss", "0.1", code=2
    )
    assert "one table is enough" in error_of("gate", policy, old, old, "--power", code=2)
    absent = folder / "absent.parquet"
    assert "there is no such file" in error_of("gate", policy, absent, old, code=2)
    assert ".html, .xml; found 'x.doc'" in error_of(
        "gate", policy, old, old, "--output", "x.doc", code=2
    )
    assert "unsupported file extension" in error_of(
        "gate", policy, old, "--power", "--output", "x.xml", code=2
    )
    policy.write_text('[[require]]\nmeasure = "auc"\nmargins = 0.05\n')
    for tables in ((old, old), (old, "--power")):
        error = error_of("gate", policy, *tables, code=2)
        assert f"{policy}: require[0].margins is no key" in error
        assert "did you mean require[0].margin?" in error
        assert str(old) not in error  # only the policy is wrong
    policy.write_text('score = "scores"\n[[require]]\nmeasure = "auc"\nmargin = 0.05\n')
    assert "there is no column 'scores'" in error_of("gate", policy, old, old, code=2)
    policy.write_text("[[require]\n")
    assert "the file is not TOML" in error_of("gate", policy, old, old, code=2)
