"""Limits: how many processors, and how much memory, this process may use.

A container or a batch job is often given a fraction of the time of many processors rather than few
processors. Threads beyond that fraction do not run at once: the system stops all of them for the
rest of each period, and the work takes longer than with fewer threads. Such limits come from
control groups, on Linux.
"""

import functools
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

# For both versions of control groups: the limit, the memory in use, and the field of memory.stat
# that counts pages read from files, which the system takes back as needed.
_FILES = {
    1: ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    2: ("memory.max", "memory.current", "inactive_file"),
}
# If the system does not say.
_ASSUMED = 4 * 2**30


def available_processors() -> int:
    """Return how many processors this process may use, at least one.

    The affinity is read anew in each call, as a program may change its own; the quota once.
    """
    n_processors = _processors_by_affinity()
    quota = _process_quota()
    return n_processors if quota is None else min(n_processors, quota)


def cgroup_quota(root: Path = Path("/")) -> int | None:
    """Return the quota of this process's control groups in whole processors, or None.

    A group's limit applies to the groups inside it too, so that the tightest from the process's
    group upwards counts: Kubernetes limits the container, other systems a group around it.
    Where the path is the host's and the container sees its own group only, mounted as the
    top, the files at the top are the ones that exist.

    The quota is rounded up. None without a limit, on systems without control groups, and where the
    files below ``root`` are absent, unreadable or not understood.
    """
    quotas = [
        _whole_processors(fields)
        for directory, version in _control_groups(root, "cpu")
        for names in [("cpu.max",) if version == 2 else ("cpu.cfs_quota_us", "cpu.cfs_period_us")]
        for fields in [" ".join(_read_text(directory / name) for name in names).split()]
    ]
    return min((quota for quota in quotas if quota is not None), default=None)


def _processors_by_affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        try:
            return len(os.sched_getaffinity(0))
        except OSError:  # refused by some sandboxes, and by kernels with very many processors
            pass
    return os.cpu_count() or 1


@functools.cache
def _process_quota() -> int | None:
    return cgroup_quota()


def _whole_processors(fields: list[str]) -> int | None:
    """Return time over period, rounded up; a limit that is off is the word max, or -1."""
    if len(fields) != 2:
        return None
    try:
        time, period = int(fields[0]), int(fields[1])
    except ValueError:
        return None
    return -(-time // period) if time > 0 and period > 0 else None


def available_memory(root: Path = Path("/")) -> int:
    """Return the bytes that the system, and all control groups of the process, have left."""
    left = [_of_group(*group) for group in _control_groups(root, "memory")]
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
    """Return the memory that a group has left; None without a limit."""
    limit, used, of_files = _FILES[version]
    try:
        left = int(_read_text(directory / limit)) - int(_read_text(directory / used))
    except ValueError:  # no such file, or no limit ("max")
        return None
    return left + _fields(directory / "memory.stat").get(of_files, 0)


def _fields(path: Path) -> dict[str, int]:
    """Return the numbers of a file by the words before them."""
    fields = {}
    for line in _read_text(path).splitlines():
        words = line.split()
        if len(words) > 1 and words[1].isdecimal():
            fields[words[0]] = int(words[1])
    return fields


def _control_groups(root: Path, controller: str) -> Iterator[tuple[Path, int]]:
    """Yield the directories of the process's groups and of all around them, with the version."""
    top = root / "sys" / "fs" / "cgroup"
    for line in _read_text(root / "proc" / "self" / "cgroup").splitlines():
        # number:controllers:path, where the path itself may contain colons.
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers == "" and path:
            # Beside version 1, version 2 has a separate directory, and no limits.
            yield from ((directory, 2) for directory in _upwards(top, path))
        elif controller in controllers.split(","):
            # Systems mount the controller under its name, or under the list of those it shares.
            for mount in {controller, controllers}:
                yield from ((directory, 1) for directory in _upwards(top / mount, path))


def _upwards(top: Path, path: str) -> Iterator[Path]:
    parts = [part for part in PurePosixPath(path).parts if part != "/"]
    if ".." in parts:  # the container cannot see the group
        return
    for n_parts in range(len(parts), -1, -1):
        yield top.joinpath(*parts[:n_parts])


def _read_text(path: Path) -> str:
    """Return a file's content, or nothing; names of groups are bytes of any kind."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except (OSError, ValueError):
        return ""
