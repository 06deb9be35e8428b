"""How much memory the process may still take."""

import os
from pathlib import Path

# Limits of a container, of both versions of control groups, and what it has taken.
_GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)
_MEMINFO = Path("/proc/meminfo")
# Where the system does not say.
_ASSUMED = 4 * 2**30


def available_memory() -> int:
    """Return the bytes that the system, and the container, have left."""
    return max(min([_of_system(), *filter(None, (_of_group(*paths) for paths in _GROUPS))]), 0)


def _of_system() -> int:
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (OSError, ValueError, AttributeError):
        return _ASSUMED


def _of_group(limit: str, used: str) -> int | None:
    try:
        return int(Path(limit).read_text()) - int(Path(used).read_text())
    except (OSError, ValueError):  # no group, or no limit ("max")
        return None
