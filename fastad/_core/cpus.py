"""Processors: how many of them this process may use, by its affinity and by its quota.

A container or a batch job is often given a fraction of the time of many processors rather than few
processors. Threads beyond that fraction do not run at once: the system stops all of them for the
rest of each period, and the work takes longer than with fewer threads.
"""

import functools
import os
from pathlib import Path

from fastad._core.control_groups import control_groups, read_text


def available_processors() -> int:
    """Return how many processors this process may use, at least one.

    The affinity is read anew in each call, as a program may change its own; the quota once.
    """
    n_processors = _processors_by_affinity()
    quota = _process_quota()
    return n_processors if quota is None else min(n_processors, quota)


def cgroup_quota(root: Path = Path("/")) -> int | None:
    """Return the quota of this process's control groups in processors, rounded up, or None.

    A group's limit applies to the groups inside it too, so that the tightest from the process's
    group upwards counts: Kubernetes limits the container, other systems a group around it.
    Where the path is that of the host and the container sees its own group only, mounted as the
    top, the files at the top are the ones that exist.

    Parameters
    ----------
    root : Path
        Directory that contains ``proc`` and ``sys``.

    Returns
    -------
    int or None
        Whole processors, at least one; None without a limit, on systems without control groups,
        and where the files are absent, unreadable or not understood.
    """
    quotas = [
        _whole_processors(fields)
        for directory, version in control_groups(root, "cpu")
        for fields in [_fields_v2(directory) if version == 2 else _fields_v1(directory)]
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


def _fields_v2(directory: Path) -> list[str]:
    return read_text(directory / "cpu.max").split()


def _fields_v1(directory: Path) -> list[str]:
    names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
    return " ".join(read_text(directory / name) for name in names).split()


def _whole_processors(fields: list[str]) -> int | None:
    """Return time over period, rounded up; a limit that is off is the word max, or -1."""
    if len(fields) != 2:
        return None
    try:
        time, period = int(fields[0]), int(fields[1])
    except ValueError:
        return None
    return -(-time // period) if time > 0 and period > 0 else None
