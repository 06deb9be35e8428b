"""The service of the documentation, run by tests on loopback."""

import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode

from tests.support.processes import environment

SERVICE = Path(__file__).parents[2] / "docs" / "examples" / "service"


class Service:
    """A running service, and the answers to requests: a status with JSON, text or bytes."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, token: str, log: Path) -> None:
        self.process, self.port, self.log = process, port, log
        self.url = f"http://127.0.0.1:{port}"
        self._token = token

    def get(self, path: str, **query: Any) -> tuple[int, Any]:
        return self._answer(urllib.request.Request(f"{self.url}{path}?{urlencode(query, True)}"))

    def post(self, path: str, **body: Any) -> tuple[int, Any]:
        return self.send(path, json.dumps(body).encode())

    def send(self, path: str, body: Any, **headers: str) -> tuple[int, Any]:
        usual = {"content-type": "application/json", "authorization": f"Bearer {self._token}"}
        return self._answer(urllib.request.Request(f"{self.url}{path}", body, usual | headers))

    def _answer(self, request: urllib.request.Request) -> tuple[int, Any]:
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                status, kind, content = answer.status, answer.headers["content-type"], answer.read()
        except HTTPError as error:
            status, kind, content = error.code, error.headers["content-type"], error.read()
        if kind == "application/json":
            return status, json.loads(content)
        return status, content.decode() if kind.startswith("text") else content


@contextmanager
def running(folder: Path, **settings: Any) -> Iterator[Service]:
    """Start the service; it is killed at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {"folder": folder, "window": "12h", "port": port, "token": "secret"} | settings
    with started(settings) as process:
        service = Service(process, port, settings["token"], folder.with_suffix(".log"))
        deadline = time.monotonic() + 300
        while True:
            try:
                assert service.get("/live") == (200, {"status": "live"})
                break
            except URLError:
                assert process.poll() is None, service.log.read_text()
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield service


@contextmanager
def started(settings: dict[str, Any]) -> Iterator[subprocess.Popen[bytes]]:
    """Start the service, with its log beside its folder; it is killed at the end."""
    named = {f"SERVICE_{name.upper()}": str(value) for name, value in settings.items()}
    command = [sys.executable, str(SERVICE / "app.py")]
    with (
        settings["folder"].with_suffix(".log").open("ab", buffering=0) as log,
        # A pipe: limits of the service's files are not those of its log.
        subprocess.Popen(command, env=environment(**named), stderr=subprocess.PIPE) as process,
    ):
        reader = threading.Thread(target=shutil.copyfileobj, args=(process.stderr, log, 1))
        reader.start()
        try:
            yield process
        finally:
            process.kill()
            reader.join()
