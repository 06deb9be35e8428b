"""The service of the documentation: loaded on loopback, refused, told to end, and killed."""

import json
import math
import re
import runpy
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastad
from tests.support.processes import environment
from tests.support.services import SERVICE, Service, running, started

pytestmark = pytest.mark.system
# Not on Windows, as `fcntl`, by which the service locks its folder.
resource = pytest.importorskip("resource")

RNG = np.random.default_rng(0)
Y = (RNG.random(4000) < 0.1).astype(int)
S = RNG.normal(size=4000) + 2 * Y
T = np.sort(RNG.uniform(0, 6 * 3600, 4000))


def body(rows: Any, *, labelled: bool = False, **options: Any) -> dict[str, Any]:
    content = {"time": T[rows].tolist(), "score": S[rows].tolist(), **options}
    return content | ({"label": Y[rows].tolist()} if labelled else {})


def post_scores(service: Service, rows: Any, **options: Any) -> None:
    sent = body(rows, **options)
    counted = {"counted": len(sent["score"]), "late": 0}
    assert service.post("/scores", **sent) == (202, counted)


def post_labels(service: Service, rows: Any, **options: Any) -> None:
    assert service.post("/labels", **body(rows, labelled=True, **options))[0] == 202


def auc_of(service: Service, **query: Any) -> dict[str, float]:
    status, result = service.get("/measures", measure=["auc"], **query)
    assert status == 200, result
    values: dict[str, float] = result["measures"]["auc"]
    return values


def metric(service: Service, sample: str) -> float | None:
    """Return a sample of /metrics, all of whose lines must have the text format."""
    found = None
    for line in service.get("/metrics")[1].splitlines():
        if not line.startswith("# "):
            assert re.fullmatch(r'fastad_\w+(\{(\w+="([^"\\]|\\.)*",?)+\})? \S+', line), line
            name, _, value = line.rpartition(" ")
            if name == f"fastad_{sample}":
                assert found is None, sample
                found = float(value)
    return found


def test_points_and_late_labels_become_measures_and_metrics(tmp_path: Path) -> None:
    with running(tmp_path / "state") as service:
        first, second = np.arange(3000), np.arange(3000, 4000)
        post_scores(service, first, labelled=True)
        post_scores(service, second)
        # Some 3 000 scores are more than fit 128 kB exactly.
        auc = auc_of(service)["value"]
        assert auc == pytest.approx(fastad.roc_auc(Y[first], S[first]), abs=1e-4)
        post_labels(service, second)
        result = service.get("/measures", measure=["auc", "ap"])[1]["measures"]
        assert result["auc"]["low"] <= fastad.roc_auc(Y, S) <= result["auc"]["high"]
        assert result["ap"]["low"] <= fastad.average_precision(Y, S) <= result["ap"]["high"]
        late = T >= 5 * 3600
        assert auc_of(service, window="1h")["value"] == fastad.roc_auc(Y[late], S[late])
        auc = result["auc"]["value"]
        assert metric(service, 'measure{measure="auc",bound="value"}') == auc
        assert metric(service, "points_total") == 4000
        assert metric(service, "labels_total") == 1000
        assert metric(service, 'dropped_total{what="points"}') == 0
        # A tenth are anomalies: far more than a hundredth is flagged.
        assert metric(service, "alarm") == 1
        assert service.post("/scores", score=[1, -2], time=30 * 3600)[1]["counted"] == 2
        assert service.post("/scores", score=[1, -2], time=0)[1] == {"counted": 0, "late": 2}
        assert metric(service, "points_total") == 4002


def test_groups_of_every_type_can_be_read(tmp_path: Path) -> None:
    groups: list[Any] = ["acme", "7", 7, ["acme", 7], 'a"b\\\n', "é"]
    with running(tmp_path / "state", metrics_groups=6) as service:
        for i, group in enumerate(groups):
            post_scores(service, np.arange(200 * i, 200 * (i + 1)), labelled=True, group=group)
        for i, group in enumerate(groups):
            rows = slice(200 * i, 200 * (i + 1))
            exact = fastad.roc_auc(Y[rows], S[rows])
            assert auc_of(service, group_json=json.dumps(group))["value"] == exact
            text = group if isinstance(group, str) else json.dumps(group)
            text = text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
            name = "group" if isinstance(group, str) else "group_json"
            sample = f'measure{{{name}="{text}",measure="auc",bound="high"}}'
            assert metric(service, sample) == exact
        assert auc_of(service, group="7") != auc_of(service, group_json="7")
        assert service.get("/measures", group="other")[0] == 404
        for wrong in ("[[1]]", "1.5", "true", "[", "[" * 10_000, '"\\ud800"'):
            assert service.get("/measures", group_json=wrong)[0] == 422
        # Of more groups than it lists, the page has all together.
        post_scores(service, np.arange(9), group="one more")
        assert 'group="acme"' not in service.get("/metrics")[1]


REFUSED: list[tuple[str, Any, str]] = [
    ("/scores", {"score": [1.0]}, "time must be given"),
    ("/scores", {"score": ["high"], "time": 0}, "score must contain numbers only"),
    ("/scores", {"score": [True], "time": 0}, "score must contain numbers only"),
    ("/scores", {"score": [[1]], "time": 0}, "score must contain numbers only"),
    ("/scores", {"score": [10**400], "time": 0}, "fit a 64-bit float"),
    ("/scores", {"score": [1], "time": 10**400}, "fit a 64-bit float"),
    ("/scores", {"score": [math.nan], "time": 0}, "must not contain NaN"),
    ("/scores", {"score": [], "time": 0}, "a list of 1 to 50"),
    ("/scores", {"score": [1] * 51, "time": 0}, "a list of 1 to 50"),
    ("/scores", {"score": 1, "time": 0}, "a list of 1 to 50"),
    ("/scores", {"score": [1.0], "time": "soon"}, "time must contain numbers only"),
    ("/scores", {"score": [1.0], "time": [1, 2]}, "time must be one number or 1"),
    ("/scores", {"score": [1.0], "time": math.nan}, "time must contain finite times"),
    ("/scores", {"score": [1.0], "time": 250_000_000_000}, "at most 3600 s ahead"),
    ("/scores", {"score": [1.0], "time": 0, "label": [2]}, "label must be a list of 1 values"),
    ("/scores", {"score": [1.0], "time": 0, "label": [[]]}, "label must be a list of 1 values"),
    ("/scores", {"score": [1.0], "time": 0, "scores": 1}, "unknown fields ['scores']"),
    ("/scores", {"score": [1.0], "time": 0, "\ud800": 1}, r"unknown fields ['\ud800']"),
    ("/scores", {"score": [1.0], "time": 0, "group": "\ud800x"}, "without lone surrogates"),
    ("/scores", {"score": [1.0], "time": 0, "id": "\udfff"}, "without lone surrogates"),
    ("/scores", {"score": [1.0], "time": 0, "id": 7}, "id must be a string"),
    ("/scores", {"score": [1.0], "time": 0, "group": ""}, "group must be a string"),
    ("/scores", {"score": [1.0], "time": 0, "group": [[1]]}, "group must be a string"),
    ("/scores", {"score": [1.0], "time": 0, "group": "x" * 300}, "at most 200 bytes"),
    ("/scores", {"score": [1.0], "time": 0, "group": "third"}, "no more than 2 groups"),
    ("/labels", {"score": [1.0], "time": 0}, "label must be given"),
    ("/labels", {"score": [77.0], "label": [1], "time": 0}, "counted without a label"),
    ("/scores", b"{", "the body must be JSON"),
    ("/scores", b"\xff", "the body must be JSON"),
    ("/scores", b"[1]", "must be a JSON object"),
    ("/scores", b"[" * 5000, "nested deeply"),
    ("/scores", b'{"score": [1' + b"0" * 4500 + b'], "time": 0}', "the body must be JSON"),
]


def test_wrong_requests_are_refused_with_a_message_and_change_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with running(folder, max_batch=50, max_body=9000, max_groups=2) as service:
        for group in ("first", "second"):
            post_scores(service, np.arange(20), labelled=True, group=group)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        for path, sent, part in REFUSED:
            content = sent if isinstance(sent, bytes) else json.dumps(sent).encode()
            status, answer = service.send(path, content)
            assert status == 422, (sent, answer)
            assert part in answer["error"]
        right = json.dumps(body(np.arange(5), group="first")).encode()
        for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
            status, answer = service.send("/scores", right, **{"content-type": kind})
            assert (status, answer["error"][:12]) == (422, "content-type")
        for token in ("", "Bearer wrong", "Bearer sécret", "secret"):
            encoded = token.encode().decode("latin-1")
            assert service.send("/scores", right, authorization=encoded)[0] == 401
        assert service.send("/scores", b" " * 9001 + right)[0] == 413
        # A body without a stated length.
        parts = iter([b" " * 5000, b" " * 5000])
        assert service.send("/scores", parts)[0] == 413
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        assert metric(service, "points_total") == 40
        assert service.get("/health")[0] == 200
        assert auc_of(service, group="first")["value"] == fastad.roc_auc(Y[:20], S[:20])


@pytest.mark.parametrize("how", ["kill", "terminate"])
def test_a_restart_loses_nothing_that_was_answered(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "state"
    with running(folder) as service:
        post_scores(service, np.arange(2000), group="acme", id="1")
        post_scores(service, np.arange(9), group=["acme", 7])
        post_labels(service, np.arange(500), group="acme", id="2")
        assert service.post("/labels", **body([3], labelled=True, group="acme"))[0] == 422
        if how == "kill":
            service.process.kill()
        else:
            service.process.send_signal(signal.SIGTERM)
        service.process.wait(60)
    (journal,) = folder.glob("journal-*")
    if how == "terminate":
        assert journal.stat().st_size == 0
    else:
        # A request whose line was cut off was not answered.
        with journal.open("ab") as file:
            file.write(b'{"time": [1], "sco')
    with running(folder) as service:
        # What was answered, and is sent again, is not counted again.
        again = {"counted": 2000, "late": 0, "repeated": 1}
        assert service.post("/scores", **body(np.arange(2000), group="acme", id="1"))[1] == again
        again = {"counted": 500, "late": 0, "repeated": 1}
        sent = body(np.arange(500), labelled=True, group="acme", id="2")
        assert service.post("/labels", **sent)[1] == again
        assert service.post("/scores", **body(np.arange(3), group="acme", id="1"))[0] == 422
        post_labels(service, np.arange(500, 2000), group="acme")
        post_scores(service, np.arange(2000, 4000), labelled=True, group="acme")
        result = auc_of(service, group="acme")
        assert result["low"] <= fastad.roc_auc(Y, S) <= result["high"]
        assert result["high"] - result["low"] < 1e-3
        undefined = service.get("/measures", group_json='["acme", 7]', measure="auc")[1]
        assert (undefined["measures"], list(undefined["undefined"])) == ({}, ["auc"])
        post_labels(service, np.arange(9), group=["acme", 7])
        assert auc_of(service, group_json='["acme", 7]')["value"] == fastad.roc_auc(Y[:9], S[:9])
        assert metric(service, "points_total") == 4009


def limit_files(service: Service, n_bytes: int) -> None:
    """Let no file of the service grow beyond a size, as a full disk does."""
    hard = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (n_bytes, hard))


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="limits another process: Linux")
def test_a_full_disk_is_said_and_nothing_is_counted_until_it_has_room(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with running(folder, snapshot_seconds=0.5) as service:
        post_scores(service, np.arange(1000), labelled=True, id="1")
        deadline = time.monotonic() + 60
        while not list(folder.glob("snapshot-1")):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for i in (1, 2):
            rows = np.arange(1000 * i, 1000 * (i + 1))
            sent = body(rows, labelled=True, id=str(i + 1))
            limit_files(service, 1000)
            for _ in range(3):
                status, answer = service.post("/scores", **sent)
                assert status == 503
                assert "could not be written" in answer["error"]
            status, answer = service.get("/health")
            assert (status, answer["status"]) == (503, "failing")
            assert metric(service, "failing") == 1
            assert service.get("/live")[0] == 200
            assert metric(service, "points_total") == 1000 * i
            # Snapshots fail, too.
            while "snapshot" not in service.get("/health")[1]["errors"]:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            limit_files(service, resource.RLIM_INFINITY)
            counted = {"counted": 1000, "late": 0}
            assert service.post("/scores", **sent) == (202, counted)
            assert service.post("/scores", **sent) == (202, {**counted, "repeated": 1})
            while service.get("/health")[0] == 503:
                assert time.monotonic() < deadline
                time.sleep(0.1)
        service.process.kill()
        service.process.wait()
    entries = [json.loads(line) for line in service.log.read_text().splitlines()]
    assert {"journal failed", "snapshot failed"} <= {entry["message"] for entry in entries}
    with running(folder) as service:
        result = auc_of(service)
        assert metric(service, "points_total") == 3000
        assert result["low"] <= fastad.roc_auc(Y[:3000], S[:3000]) <= result["high"]


def test_a_folder_has_one_process_and_its_settings_do_not_change(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    with running(folder) as service:
        with started({"folder": folder, "port": 9}) as second:
            assert second.wait(120) != 0
        assert f"is owned by process {service.process.pid}" in service.log.read_text()
        post_scores(service, np.arange(9))
        service.process.send_signal(signal.SIGTERM)
        service.process.wait(60)
    for settings, part in (
        ({"pane": "2h"}, "was begun with"),
        ({"pain": "2h"}, "SERVICE_PAIN is unknown"),
    ):
        with started({"folder": folder, "port": 9, "window": "12h", **settings}) as process:
            assert process.wait(120) != 0
        assert part in service.log.read_text()


def test_settings_of_another_type_are_refused() -> None:
    settings = runpy.run_path(str(SERVICE / "config.py"))["Settings"]
    for variable, value, message in (
        ("SERVICE_PORT", "tcp://1.2.3.4:8000", "SERVICE_PORT must be int"),
        ("SERVICE_MAX_BATCH", "0", "SERVICE_MAX_BATCH must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            settings.from_environment({variable: value})


def test_slow_clients_do_not_keep_it_from_ending(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    head = b"POST /scores HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer secret\r\n"
    with running(folder, stop_seconds=1, body_seconds=30) as service:
        post_scores(service, np.arange(100), labelled=True)
        slow = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(4)]
        slow[1].sendall(b"POST /sco")
        slow[2].sendall(head + b"Content-Length: 99\r\n\r\n{")
        slow[3].sendall(head + b"Transfer-Encoding: chunked\r\n\r\n")
        time.sleep(0.5)
        service.process.send_signal(signal.SIGTERM)
        # `stop_seconds`, and a snapshot.
        service.process.wait(10)
        for each in slow:
            each.close()
    (journal,) = folder.glob("journal-*")
    assert journal.stat().st_size == 0
    with running(folder, body_seconds=1) as service:
        assert metric(service, "points_total") == 100
        with socket.create_connection(("127.0.0.1", service.port)) as slow_one:
            slow_one.sendall(head + b"Content-Length: 99\r\n\r\n{")
            assert slow_one.recv(1000).startswith(b"HTTP/1.1 408 ")
        before = service.log.stat().st_size
        with socket.create_connection(("127.0.0.1", service.port)) as gone:
            gone.sendall(head + b"Content-Length: 99\r\n\r\n{")
        deadline = time.monotonic() + 60
        while not metric(service, 'answers_total{status="400"}'):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert b"exception" not in service.log.read_bytes()[before:]


def test_connections_are_limited(tmp_path: Path) -> None:
    with running(tmp_path / "state", max_connections=3) as service:
        idle = [socket.create_connection(("127.0.0.1", service.port)) for _ in range(3)]
        time.sleep(0.2)
        assert service.get("/live")[0] == 503
        for each in idle:
            each.close()
        time.sleep(0.2)
        assert service.get("/live")[0] == 200


def test_shards_are_merged(tmp_path: Path) -> None:
    with running(tmp_path / "a") as a, running(tmp_path / "b") as b:
        post_scores(a, np.arange(300), labelled=True, group="acme")
        post_scores(b, np.arange(300, 900), labelled=True, group="other")
        command = [sys.executable, str(SERVICE / "merged.py"), "?end=21600&window=6h", a.url, b.url]
        result = subprocess.run(
            command, env=environment(), capture_output=True, text=True, check=True
        )
        auc, _ = result.stdout.splitlines()
        assert auc.split() == ["auc", f"{fastad.roc_auc(Y[:900], S[:900]):.6g}", "(exact)"]


def test_kills_under_load_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    answered = 0
    for round_ in range(3):
        with running(folder, snapshot_seconds=0.1) as service, ThreadPoolExecutor(4) as pool:

            def send(i: int, service: Service = service) -> bool:
                rows = np.arange(i * 10, i * 10 + 10)
                try:
                    sent = body(rows, labelled=True, group=f"g{i % 7}", id=str(i))
                    return service.post("/scores", **sent)[0] == 202
                except (OSError, HTTPException):
                    return False

            # Batches whose answer was lost are sent again to the next process.
            first = service.post("/scores", **body([0], id=f"warm {round_}"))
            assert first[0] == 202
            futures = [pool.submit(send, i) for i in range(answered, 400)]
            if round_ < 2:
                time.sleep(0.4)
                service.process.kill()
            results = [future.result() for future in futures]
            answered += results.index(False) if False in results else len(results)
            if round_ == 2:
                assert answered == 400
                assert metric(service, "points_total") == 4003
                result = auc_of(service)
                assert result["low"] <= fastad.roc_auc(Y, S) <= result["high"]


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
