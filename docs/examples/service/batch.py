"""What clients send: one batch of points, or of labels, checked before anything is counted."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from config import Settings

FIELDS = {"id", "time", "score", "label", "group"}
MAX_NAME = 200  # characters of an id, bytes of a group

Group = str | int | tuple[str | int, ...]


class RefusedError(ValueError):
    """A batch that is wrong: 422."""


@dataclass(frozen=True)
class Batch:
    """A batch, and its line in the journal."""

    kind: str
    id: str | None
    group: Group | None
    time: Any
    score: np.ndarray
    label: list[int] | None
    line: bytes

    @classmethod
    def from_line(cls, line: bytes) -> "Batch":
        """Return the batch of a line, which was checked before it was written."""
        content = json.loads(line)
        group = content.get("group")
        return cls(
            content["kind"],
            content.get("id"),
            # JSON has no tuples.
            tuple(group) if isinstance(group, list) else group,
            content["time"],
            # JSON has one type of number: scores must not be integers in one batch only.
            np.array(content["score"], np.float64),
            content.get("label"),
            line,
        )


def read_batch(kind: str, content_type: str, body: bytes, settings: Settings, now: float) -> Batch:
    """Check a body, and return its batch."""
    if content_type.partition(";")[0].strip().lower() != "application/json":
        raise RefusedError(f"content-type must be application/json; found {content_type!r}")
    try:
        content = json.loads(body)
    except RecursionError:
        raise RefusedError("the body must not be nested deeply") from None
    except ValueError as error:
        raise RefusedError(f"the body must be JSON: {error}") from None
    if not isinstance(content, dict):
        raise RefusedError("the body must be a JSON object")
    if unknown := content.keys() - FIELDS:
        raise RefusedError(f"unknown fields {sorted(unknown)}; allowed are {sorted(FIELDS)}")
    needed = ["time", "score", "label"] if kind == "labels" else ["time", "score"]
    for name in needed:
        if content.get(name) is None:
            raise RefusedError(f"{name} must be given")
    scores = content["score"]
    if not isinstance(scores, list) or not 1 <= len(scores) <= settings.max_batch:
        raise RefusedError(f"score must be a list of 1 to {settings.max_batch} numbers")
    if np.isnan(_numbers("score", scores)).any():
        raise RefusedError("score must not contain NaN")
    times = content["time"] if isinstance(content["time"], list) else [content["time"]]
    if len(times) not in (1, len(scores)):
        raise RefusedError(f"time must be one number or {len(scores)}; found {len(times)}")
    # A wrong clock would slide all panes of all groups away.
    if (latest := _numbers("time", times).max()) > now + settings.max_ahead_seconds:
        raise RefusedError(
            f"time must be in seconds since 1970, at most {settings.max_ahead_seconds:g} s ahead "
            f"of {now:.0f}; found {latest:.0f}"
        )
    label = content.get("label")
    if label is not None and not (
        isinstance(label, list)
        and len(label) == len(scores)
        and set(map(type, label)) <= {int, bool}
        and set(label) <= {0, 1}
    ):
        raise RefusedError(f"label must be a list of {len(scores)} values, 0 or 1")
    if (name := content.get("id")) is not None and not (
        isinstance(name, str) and 1 <= len(name) <= MAX_NAME
    ):
        raise RefusedError(f"id must be a string of 1 to {MAX_NAME} characters")
    check_group(content.get("group"))
    return Batch.from_line(_line({**content, "kind": kind}) + b"\n")


def check_group(group: Any) -> Group | None:
    """Refuse what is no group; lists become tuples."""
    parts = group if isinstance(group, list) else [group]
    if group is not None and not (
        parts and all(type(part) is int or (type(part) is str and part) for part in parts)
    ):
        raise RefusedError("group must be a string, an integer, or a list of these, not empty")
    if len(_line(group)) > MAX_NAME:
        raise RefusedError(f"group must have at most {MAX_NAME} bytes")
    return tuple(parts) if isinstance(group, list) else group


def _line(content: Any) -> bytes:
    """Return one line of UTF-8, the same for the same content."""
    try:
        return json.dumps(content, ensure_ascii=False, sort_keys=True).encode()
    except UnicodeEncodeError:
        raise RefusedError("text must be Unicode without lone surrogates") from None


def _numbers(name: str, values: list[Any]) -> np.ndarray:
    if not set(map(type, values)) <= {int, float}:
        raise RefusedError(f"{name} must contain numbers only")
    try:
        return np.array(values, np.float64)
    except OverflowError:
        raise RefusedError(f"{name} must contain numbers that fit a 64-bit float") from None
