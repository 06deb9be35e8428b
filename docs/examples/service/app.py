"""A service: points and labels come by POST, measures of the last days go out by GET.

    python docs/examples/service/app.py

`config.Settings` are environment variables; docs/guide/service.md describes the requests.
"""

import asyncio
import contextlib
import hmac
import json
import logging
import logging.config
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import uvicorn
from batch import RefusedError, check_group, read_batch
from config import LOGGING, Settings
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from state import ServiceState, UnavailableError

import fastad
from fastad.errors import UndefinedMeasureError

MEASURES = ["auc", "ap", "tpr@0.01"]
RETRY_SECONDS = 5
log = logging.getLogger("service")


@contextlib.asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Restore the state; write snapshots regularly, and when the server is told to end."""
    logging.config.dictConfig(LOGGING)
    settings = app.state.settings = Settings.from_environment()
    if not settings.token:
        log.warning("SERVICE_TOKEN is not set: everybody who reaches this service may write")
    state = app.state.service = await run_in_threadpool(ServiceState, settings)
    app.state.answers = Counter()
    log.info("ready", extra={"fields": {"folder": str(settings.folder), "counts": state.counts}})

    async def write_often() -> None:
        while True:
            seconds = settings.snapshot_seconds
            await asyncio.sleep(min(seconds, RETRY_SECONDS) if state.errors else seconds)
            await run_in_threadpool(state.snapshot)

    task = asyncio.create_task(write_often())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await run_in_threadpool(state.snapshot)
        log.info("stopped", extra={"fields": {"counts": state.counts, "errors": state.errors}})


async def change(request: Request) -> Response:
    """POST /scores and /labels: ``{"id", "time", "score", "label", "group"}``."""
    app = request.app.state
    settings: Settings = app.settings
    given = request.headers.get("authorization", "").encode()
    if settings.token and not hmac.compare_digest(given, f"Bearer {settings.token}".encode()):
        return _error(401, "the header must be Authorization: Bearer <token>")
    try:
        body = await asyncio.wait_for(_body(request, settings.max_body), settings.body_seconds)
    except asyncio.TimeoutError:
        return _error(408, f"the body must be sent within {settings.body_seconds:g} s")
    except ClientDisconnect:
        return _error(400, "the body must be sent to its end")
    if body is None:
        return _error(413, f"the body must have at most {settings.max_body} bytes")

    def count() -> dict[str, int]:
        kind, sent_as = request.url.path.strip("/"), request.headers.get("content-type", "")
        state: ServiceState = app.service
        return state.change(read_batch(kind, sent_as, body, settings, time.time()))

    try:
        return JSONResponse(await run_in_threadpool(count), 202)
    except RefusedError as error:
        return _error(422, str(error))
    except UnavailableError as error:
        return _error(503, str(error), {"retry-after": str(RETRY_SECONDS)})


async def _body(request: Request, most: int) -> bytes | None:
    """Return the body, or None if it is too long, which is not read to the end."""
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > most:
            return None
    return bytes(body)


async def measures(request: Request) -> Response:
    """GET /measures?group=acme&window=24h&measure=auc&measure=tpr@0.01."""
    names = request.query_params.getlist("measure") or MEASURES
    return await _read(request, lambda window, chosen: window.evaluate(names, **chosen).to_json())


async def sketch(request: Request) -> Response:
    """GET /sketch?group=acme&window=24h: the bytes of a `ScoreSketch`, to be merged."""
    return await _read(request, lambda window, chosen: window.sketch(**chosen).to_bytes())


async def _read(request: Request, read: Any) -> Response:
    query = request.query_params
    chosen: dict[str, Any] = {name: query[name] for name in ("window", "end") if name in query}
    try:
        if "group_json" in query:
            chosen["group"] = check_group(json.loads(query["group_json"]))
        elif "group" in query:
            chosen["group"] = check_group(query["group"])
        if chosen.get("end", "").isdigit():
            chosen["end"] = int(chosen["end"])
        content = await run_in_threadpool(read, request.app.state.service.window, chosen)
    except UndefinedMeasureError as error:
        return _error(404, str(error))
    except (ValueError, TypeError, RecursionError) as error:
        return _error(422, str(error))
    kind = "application/json" if isinstance(content, str) else "application/octet-stream"
    return Response(content, media_type=kind)


async def metrics(request: Request) -> Response:
    """GET /metrics: counts, measures and the alarm, for Prometheus."""
    app = request.app.state
    text = await run_in_threadpool(_metrics, app.service, app.answers, app.settings)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _metrics(state: ServiceState, answers: Counter[int], settings: Settings) -> str:
    dropped = state.window.dropped
    groups = state.window.groups
    samples = {
        ("points_total", "counter", "Points counted."): [("", state.counts["points"])],
        ("labels_total", "counter", "Labels counted."): [("", state.counts["labels"])],
        ("batches_total", "counter", "Batches counted."): [("", state.counts["batches"])],
        ("repeated_batches_total", "counter", "Batches sent again, not counted again."): [
            ("", state.counts["repeated_batches"])
        ],
        ("dropped_total", "counter", "What came too late, or made room."): [
            (f'{{what="{what}"}}', number) for what, number in dropped._asdict().items()
        ],
        ("answers_total", "counter", "Answers since the start."): [
            (f'{{status="{status}"}}', number) for status, number in sorted(answers.items())
        ],
        ("groups", "gauge", "Groups that are kept."): [("", len(groups))],
        ("failing", "gauge", "1 while the disk cannot be written."): [
            ("", int(bool(state.errors)))
        ],
        ("snapshot_timestamp_seconds", "gauge", "Time of the last snapshot."): [
            ("", state.snapshot_time)
        ],
        ("alarm", "gauge", "1 after the alarm of the monitor."): [
            ("", int(state.monitor.is_alarm))
        ],
        ("measure", "gauge", "Measures of a group, or of all together."): list(
            _measured(state, groups if len(groups) <= settings.metrics_groups else [])
        ),
    }
    lines = []
    for (name, kind, text), values in samples.items():
        lines += [f"# HELP fastad_{name} {text}", f"# TYPE fastad_{name} {kind}"]
        lines += [f"fastad_{name}{labels} {value}" for labels, value in values]
    return "\n".join(lines) + "\n"


def _measured(state: ServiceState, groups: Any) -> Iterator[tuple[str, float]]:
    # Points without a group are in the values of all together.
    for group in {None, *groups}:
        if group is None:
            name = ""
        elif isinstance(group, str):
            name = f'group="{_escaped(group)}",'
        else:
            name = f'group_json="{_escaped(json.dumps(group, ensure_ascii=False))}",'
        with contextlib.suppress(UndefinedMeasureError):
            for measure, value in state.window.evaluate(MEASURES, group=group).items():
                for bound in ("value", "low", "high"):
                    labels = f'{{{name}measure="{measure}",bound="{bound}"}}'
                    yield labels, float(getattr(value, bound))


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


async def live(request: Request) -> Response:
    """GET /live: the process answers; if it does not, start it again."""
    return JSONResponse({"status": "live"})


async def health(request: Request) -> Response:
    """GET /health: 503 while batches or snapshots cannot be written."""
    state: ServiceState = request.app.state.service
    content = {
        "status": "failing" if state.errors else "ok",
        "errors": state.errors,
        "fastad": fastad.__version__,
        "kept": state.window.kept,
    }
    return JSONResponse(content, 503 if state.errors else 200)


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> JSONResponse:
    # It may quote what was sent.
    return JSONResponse({"error": message[:1000]}, status, headers)


class Logged:
    """Log and count every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Call the application."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        start, status = time.perf_counter(), 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            scope["app"].state.answers[status] += 1
            milliseconds = round(1e3 * (time.perf_counter() - start), 1)
            entry = {"path": scope["path"], "status": status, "milliseconds": milliseconds}
            level = logging.INFO if status != 200 else logging.DEBUG
            log.log(level, "%s", scope["method"], extra={"fields": entry})


app = Starlette(
    lifespan=lifespan,
    middleware=[Middleware(Logged)],
    routes=[
        Route("/scores", change, methods=["POST"]),
        Route("/labels", change, methods=["POST"]),
        Route("/measures", measures),
        Route("/sketch", sketch),
        Route("/metrics", metrics),
        Route("/live", live),
        Route("/health", health),
    ],
)


def main() -> None:
    """Serve until SIGTERM."""
    settings = Settings.from_environment()
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        log_config=LOGGING,
        access_log=False,
        limit_concurrency=settings.max_connections,
        timeout_graceful_shutdown=settings.stop_seconds,
    )


if __name__ == "__main__":
    main()
