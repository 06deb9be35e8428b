"""A web service that loads and uses the package before it forks its workers."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(sys.platform == "win32", reason="gunicorn forks its workers"),
]

APPLICATION = """
import json
import os
import numpy as np
import fastad

rng = np.random.default_rng(0)
y = rng.random(300_000) < 0.1
scores = {name: rng.normal(size=y.size) + y for name in "abc"}

def measure():
    return fastad.evaluate(y, scores, n_threads=2).to_dict()["detectors"]

BEFORE = measure()

def app(environ, start_response):
    start_response("200 OK", [("Content-Type", "application/json")])
    same = json.dumps(measure()) == json.dumps(BEFORE)
    return [json.dumps({"same": same, "parent": os.getppid()}).encode()]
"""


def test_workers_that_were_forked_after_use_respond(tmp_path: Path) -> None:
    (tmp_path / "service.py").write_text(APPLICATION)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--preload", "--workers", "2", "--threads", "2", "--bind", f"127.0.0.1:{port}"]
    log = tmp_path / "log"
    with log.open("w") as stderr:
        server = subprocess.Popen(
            [sys.executable, "-m", "gunicorn", *options, "service:app"],
            cwd=tmp_path,
            env={**os.environ, "FASTAD_NUM_THREADS": "2", "HOME": str(tmp_path)},
            stderr=stderr,
        )

    def request(_: int) -> dict[str, object]:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=300) as response:
            content: dict[str, object] = json.loads(response.read())
            return content

    try:
        deadline = time.monotonic() + 300
        while "Booting worker" not in log.read_text():
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline
            time.sleep(0.1)
        with ThreadPoolExecutor(4) as pool:
            responses = list(pool.map(request, range(24)))
    finally:
        server.terminate()
        server.wait(30)
    assert [response["same"] for response in responses] == [True] * 24
    assert {response["parent"] for response in responses} == {server.pid}
