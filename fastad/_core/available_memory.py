"""How much memory the process may still take."""

import os
from pathlib import Path

from fastad._core.control_groups import control_groups, read_text

# Of both versions of control groups: the limit, what has been taken, and the field of memory.stat
# that counts what has been read of files, of which the system takes back what is needed.
_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}
# Where the system does not say.
_ASSUMED = 4 * 2**30


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes that the system, and all control groups of the process, have left.

    Parameters
    ----------
    root : Path
        Directory that contains ``proc`` and ``sys``.
    """
    left = [_of_group(*group) for group in control_groups(root, "memory")]
    return max(min([_of_system(root), *(each for each in left if each is not None)]), 0)


def _of_system(root: Path) -> int:
    fields = _fields(root / "proc" / "meminfo")
    if "MemAvailable:" in fields:
        return fields["MemAvailable:"] * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (OSError, ValueError, AttributeError):
        return _ASSUMED


def _of_group(directory: Path, version: int) -> int | None:
    """Return what a group has left; None without a limit."""
    limit, used, of_files = _FILES[version]
    try:
        left = int(read_text(directory / limit)) - int(read_text(directory / used))
    except ValueError:  # no such file, or no limit ("max")
        return None
    return left + _fields(directory / "memory.stat").get(of_files, 0)


def _fields(path: Path) -> dict[str, int]:
    """Return the numbers of a file by the words before them."""
    fields = {}
    for line in read_text(path).splitlines():
        words = line.split()
        if len(words) > 1 and words[1].isdecimal():
            fields[words[0]] = int(words[1])
    return fields
