"""A small service: points and labels come by POST, measures of the last days go out by GET.

    uvicorn --app-dir docs/examples/service app:app

Settings are environment variables, see `SETTINGS`.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from state import ServiceState

import fastad
from fastad.errors import UndefinedMeasureError
from fastad.streaming import RateMonitor, SlidingEvaluation

SETTINGS = {
    "SERVICE_FOLDER": "service-state",
    "SERVICE_PANE": "1h",
    "SERVICE_WINDOW": "7d",
    "SERVICE_THRESHOLD": "2.326",
    "SERVICE_EXPECTED_RATE": "0.01",
    "SERVICE_SNAPSHOT_SECONDS": "60",
}
MEASURES = ["auc", "ap", "tpr@0.01"]


def setting(name: str) -> str:
    return os.environ.get(name, SETTINGS[name])


def restored() -> ServiceState:
    """Return the state as it was before the last restart."""
    return ServiceState(
        Path(setting("SERVICE_FOLDER")),
        SlidingEvaluation(pane=setting("SERVICE_PANE"), window=setting("SERVICE_WINDOW")),
        RateMonitor(
            "flagged_rate",
            expected_rate=float(setting("SERVICE_EXPECTED_RATE")),
            threshold=float(setting("SERVICE_THRESHOLD")),
        ),
    )


@contextlib.asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    """Restore the state; write a snapshot now and then, and when the server is told to end."""
    state = app.state.service = await run_in_threadpool(restored)
    seconds = float(setting("SERVICE_SNAPSHOT_SECONDS"))

    async def write_often() -> None:
        while True:
            await asyncio.sleep(seconds)
            await run_in_threadpool(state.snapshot)

    task = asyncio.create_task(write_often())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await run_in_threadpool(state.snapshot)


async def change(request: Request) -> Response:
    """POST /scores and /labels: ``{"time", "score", "label", "group"}``."""
    try:
        body = {**await request.json(), "kind": request.url.path.strip("/")}
        counted = await run_in_threadpool(request.app.state.service.change, body)
    except KeyError as error:
        return JSONResponse({"error": f"{error.args[0]} must be given"}, 422)
    except (ValueError, TypeError) as error:
        # fastad's messages name the argument, what was expected, and what was found.
        return JSONResponse({"error": str(error)}, 422)
    return JSONResponse({"counted": counted}, 202)


async def measures(request: Request) -> Response:
    """GET /measures?group=acme&window=24h&measure=auc&measure=tpr@0.01."""
    query = request.query_params
    window: SlidingEvaluation = request.app.state.service.window
    options: dict[str, Any] = {name: query[name] for name in ("group", "window") if name in query}
    names = query.getlist("measure") or MEASURES
    try:
        table = await run_in_threadpool(window.evaluate, names, **options)
    except UndefinedMeasureError as error:
        return JSONResponse({"error": str(error)}, 404)
    except ValueError as error:
        return JSONResponse({"error": str(error)}, 422)
    return Response(table.to_json(), media_type="application/json")


async def metrics(request: Request) -> Response:
    """GET /metrics: the same for Prometheus, for each group, with the monitor's alarm."""
    text = await run_in_threadpool(_metrics, request.app.state.service)
    return PlainTextResponse(text, media_type="text/plain; version=0.0.4")


def _metrics(state: ServiceState) -> str:
    lines = ["# TYPE fastad_measure gauge"]
    for group in state.window.groups:
        with contextlib.suppress(UndefinedMeasureError):
            for measure, value in state.window.evaluate(MEASURES, group=group).items():
                for bound in ("value", "low", "high"):
                    labels = f'group="{_escaped(group)}",measure="{measure}",bound="{bound}"'
                    lines.append(f"fastad_measure{{{labels}}} {float(getattr(value, bound))}")
    lines.append("# TYPE fastad_dropped counter")
    for what, number in state.window.dropped._asdict().items():
        lines.append(f'fastad_dropped{{what="{what}"}} {number}')
    lines += ["# TYPE fastad_alarm gauge", f"fastad_alarm {int(state.monitor.is_alarm)}"]
    return "\n".join(lines) + "\n"


def _escaped(group: object) -> str:
    return str(group).replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


async def health(request: Request) -> Response:
    """GET /health."""
    window: SlidingEvaluation = request.app.state.service.window
    return JSONResponse({"status": "ok", "fastad": fastad.__version__, "kept": window.kept})


app = Starlette(
    lifespan=lifespan,
    routes=[
        Route("/scores", change, methods=["POST"]),
        Route("/labels", change, methods=["POST"]),
        Route("/measures", measures),
        Route("/metrics", metrics),
        Route("/health", health),
    ],
)
