"""What a result depends on, as a digest: equal digests are equal results, in any study.

What is saved is known by such digests, so that a study that grows or shrinks finds what it has in
common with what was saved before. Versions of libraries are no part of them: the manifest notes
those, and a runner warns where they differ.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any

# What rows contain; another number is another result of everything.
_LAYOUT = 1
# Characters of a name that are shown before its digest.
_MAX_TEXT = 80
_NAME = re.compile(r"[\w=-][\w.=-]*-([0-9a-f]{16})", re.ASCII)


def digest_of(*values: Any) -> str:
    """Return 16 hexadecimal digits that stand for plain values."""
    text = json.dumps([_LAYOUT, *values], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def name_of(text: str, tasks: Sequence[str]) -> str:
    """Return the name of a batch and of its file: a string, and a digest of its tasks."""
    readable = re.sub(r"[^\w.=-]+", "_", text, flags=re.ASCII)[:_MAX_TEXT].lstrip(".")
    return f"{readable or '_'}-{digest_of(*tasks)}"


def renamed(name: str, tasks: Sequence[str]) -> str:
    """Return the name of a batch of some of the tasks that another one had."""
    return name_of(name.rpartition("-")[0], tasks)


def is_name(name: str) -> bool:
    """Tell whether a name looks like that of a batch."""
    return _NAME.fullmatch(name) is not None


def is_name_of(name: str, tasks: Sequence[str]) -> bool:
    """Tell whether a name is that of a batch of certain tasks."""
    match = _NAME.fullmatch(name)
    return match is not None and match[1] == digest_of(*tasks)
