"""Control groups: the limits that a container or a batch job has on Linux."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath


def control_groups(root: Path, controller: str) -> Iterator[tuple[Path, int]]:
    """Yield the directories of the process's groups and of all around them, with the version.

    Parameters
    ----------
    root : Path
        Directory that contains ``proc`` and ``sys``.
    controller : str
        What the groups limit, such as ``"cpu"``.
    """
    top = root / "sys" / "fs" / "cgroup"
    for line in read_text(root / "proc" / "self" / "cgroup").splitlines():
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
    if ".." in parts:  # the group lies outside of what this container can see
        return
    for n_parts in range(len(parts), -1, -1):
        yield top.joinpath(*parts[:n_parts])


def read_text(path: Path) -> str:
    """Return a file's content, or nothing; names of groups are bytes of any kind."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape")
    except (OSError, ValueError):
        return ""
