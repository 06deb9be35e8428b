"""Settings, from environment variables ``SERVICE_<NAME>``, and logs, one JSON object a line."""

import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

PREFIX = "SERVICE_"


@dataclass(frozen=True)
class Settings:
    """All settings, with their defaults; the comments give units and meanings."""

    folder: Path = Path("service-state")  # one process owns it
    host: str = "127.0.0.1"
    port: int = 8000
    token: str = ""  # needed for POST; without one, everybody may write
    # Measures and the alarm. A folder keeps those with which it was begun.
    pane: str = "1h"
    window: str = "7d"
    memory: str = "128kB"  # of each pane of each group
    threshold: float = 2.326
    expected_rate: float = 0.01
    # Limits.
    max_body: int = 8_000_000  # bytes
    max_batch: int = 100_000  # points
    max_groups: int = 1000  # a new group beyond is refused
    max_ahead_seconds: float = 3600.0  # of points before the clock
    max_connections: int = 200
    remembered_ids: int = 100_000  # of batches
    metrics_groups: int = 100  # with more, /metrics has all groups together only
    # Times.
    snapshot_seconds: float = 60.0
    body_seconds: float = 10.0  # to send a body
    stop_seconds: int = 10  # for running requests after SIGTERM

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "Settings":
        """Read the settings; refuse unknown names and values of another type."""
        types = {PREFIX + field.name.upper(): (field.name, field.type) for field in fields(cls)}
        given: dict[str, Any] = {}
        for variable, text in environment.items():
            if not variable.startswith(PREFIX):
                continue
            if variable not in types:
                raise ValueError(f"{variable} is unknown; the settings are {', '.join(types)}")
            name, kind = types[variable]
            try:
                given[name] = kind(text)  # type: ignore[operator]
            except ValueError:
                raise ValueError(f"{variable} must be {kind.__name__}; found {text!r}") from None
            if kind in (int, float) and name != "threshold" and not given[name] > 0:
                raise ValueError(f"{variable} must be positive; found {text!r}")
        return cls(**given)


class JsonFormatter(logging.Formatter):
    """One JSON object a line, so that no text of a request can begin a line of its own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return time, level, logger, message and what ``extra={"fields": ...}`` adds."""
        time = datetime.fromtimestamp(record.created, timezone.utc)
        entry = {
            "time": time.isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry)


LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"json": {"()": JsonFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
    "root": {"level": "INFO", "handlers": ["stderr"]},
}
