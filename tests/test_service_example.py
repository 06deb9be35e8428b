"""The service of the documentation: loaded on loopback, told to end, and killed."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode

import numpy as np
import pytest

import fastad
from tests.support.processes import environment

pytestmark = pytest.mark.system

SERVICE = Path(__file__).parents[1] / "docs" / "examples" / "service"
RNG = np.random.default_rng(0)
Y = (RNG.random(4000) < 0.1).astype(int)
S = RNG.normal(size=4000) + 2 * Y
T = np.sort(RNG.uniform(0, 6 * 3600, 4000))


class Service:
    """A running service."""

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self.process = process
        self._root = f"http://127.0.0.1:{port}"

    def get(self, path: str, **query: Any) -> Any:
        with urllib.request.urlopen(f"{self._root}{path}?{urlencode(query, True)}") as answer:
            text = answer.read().decode()
        return json.loads(text) if answer.headers["content-type"].startswith("app") else text

    def post(self, path: str, **body: Any) -> tuple[int, Any]:
        return self.send(path, json.dumps(body).encode())

    def send(self, path: str, body: bytes) -> tuple[int, Any]:
        header = {"content-type": "application/json"}
        request = urllib.request.Request(f"{self._root}{path}", body, header)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            return error.code, json.load(error)

    def scores(self, rows: Any, **options: Any) -> None:
        body = {"time": T[rows].tolist(), "score": S[rows].tolist(), **options}
        assert self.post("/scores", **body) == (202, {"counted": len(body["score"])})

    def labels(self, rows: Any, **options: Any) -> None:
        body = {"time": T[rows].tolist(), "score": S[rows].tolist(), "label": Y[rows].tolist()}
        assert self.post("/labels", **body, **options)[0] == 202


@contextmanager
def running(folder: Path) -> Iterator[Service]:
    """Start the service; it is killed at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"SERVICE_FOLDER": str(folder), "SERVICE_WINDOW": "12h"}
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(SERVICE), "--port", str(port)]
    with subprocess.Popen(
        [*command, "--log-level", "warning", "app:app"],
        env=environment(**settings),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        service = Service(process, port)
        try:
            deadline = time.monotonic() + 300
            while True:
                try:
                    service.get("/health")
                    break
                except URLError:
                    assert process.poll() is None, process.communicate()[1]
                    assert time.monotonic() < deadline
                    time.sleep(0.1)
            yield service
        finally:
            process.kill()


def auc_of(service: Service, **query: Any) -> float:
    result = service.get("/measures", measure=["auc"], **query)
    return float(result["measures"]["auc"]["value"])


def test_points_and_late_labels_become_measures_and_metrics(tmp_path: Path) -> None:
    with running(tmp_path / "state") as service:
        first, second = np.arange(3000), np.arange(3000, 4000)
        service.scores(first, label=Y[first].tolist())
        service.scores(second)
        # Some 3 000 scores are more than fit 128 kB exactly.
        assert auc_of(service) == pytest.approx(fastad.roc_auc(Y[first], S[first]), abs=1e-4)
        service.labels(second)
        result = service.get("/measures", measure=["auc", "ap"])["measures"]
        assert result["auc"]["low"] <= fastad.roc_auc(Y, S) <= result["auc"]["high"]
        assert result["ap"]["low"] <= fastad.average_precision(Y, S) <= result["ap"]["high"]
        late = T >= 5 * 3600
        assert auc_of(service, window="1h") == fastad.roc_auc(Y[late], S[late])
        metrics = service.get("/metrics")
        auc = result["auc"]["value"]
        assert f'fastad_measure{{group="None",measure="auc",bound="value"}} {auc}' in metrics
        assert 'fastad_dropped{what="points"} 0' in metrics
        # Whole numbers are scores, too.
        assert service.post("/scores", score=[1, -2], time=T[-1])[0] == 202
        # A tenth are anomalies: far more than a hundredth is flagged.
        assert metrics.endswith("fastad_alarm 1\n")
        for path, body, part in (
            ("/scores", {"score": [1.0]}, "time must be given"),
            ("/scores", {"score": ["high"], "time": 0}, "could not convert"),
            ("/scores", {"score": [1.0], "time": "soon"}, "time must contain numbers of seconds"),
            ("/labels", {"score": [77.0], "label": [1], "time": 0}, "counted without a label"),
        ):
            code, answer = service.post(path, **body)
            assert code == 422
            assert part in answer["error"]
        for sent in (b"{", b"[1]", b""):
            assert service.send("/scores", sent)[0] == 422


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_restart_loses_nothing_that_was_answered(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "state"
    with running(folder) as service:
        service.scores(np.arange(2000), group="acme")
        service.scores(np.arange(9), group=["acme", 7])
        service.labels(np.arange(500), group="acme")
        if how == "kill":
            service.process.kill()
        else:
            service.process.send_signal(signal.SIGTERM)
        service.process.wait(60)
    if how == "terminate":
        assert [path.stat().st_size for path in folder.glob("journal-*")] == [0]
    else:
        # A request whose line was cut off was not answered.
        (journal,) = folder.glob("journal-*")
        with journal.open("ab") as file:
            file.write(b'{"time": [1], "sco')
    with running(folder) as service:
        service.labels(np.arange(500, 2000), group="acme")
        service.scores(np.arange(2000, 4000), label=Y[2000:].tolist(), group="acme")
        result = service.get("/measures", measure=["auc"], group="acme")["measures"]["auc"]
        assert result["low"] <= fastad.roc_auc(Y, S) <= result["high"]
        assert result["high"] - result["low"] < 1e-3
        assert "group=\"('acme', 7)\"" not in service.get("/metrics")
        service.labels(np.arange(9), group=["acme", 7])
        assert "group=\"('acme', 7)\"" in service.get("/metrics")
    assert len(list(folder.iterdir())) == 2


def test_a_folder_that_cannot_be_written_is_said_at_the_start(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    process = subprocess.run(
        [sys.executable, "-m", "uvicorn", "--app-dir", SERVICE, "--port", "0", "app:app"],
        env=environment(SERVICE_FOLDER=str(blocked / "state")),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert process.returncode != 0
    assert str(blocked) in process.stderr


def test_the_dockerfile_names_files_that_are_there() -> None:
    text = (SERVICE / "Dockerfile").read_text("utf-8")
    root = SERVICE.parents[2]
    for name in ("docs/examples/service/requirements.txt", "docs/guide/deploy.md"):
        assert name in text
        assert (root / name).is_file()
