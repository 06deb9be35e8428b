"""Memory that is left: of the system, and of every layout of control groups."""

from pathlib import Path

import pytest

from fastad._core.threads import available_memory

SYSTEM = 8 * 2**30
MEMINFO = f"MemTotal: 16777216 kB\nMemFree: 1 kB\nMemAvailable:    {SYSTEM // 1024} kB\n"


def tree(root: Path, group: str, files: dict[str, object]) -> Path:
    named = {"proc/meminfo": MEMINFO, "proc/self/cgroup": group, **files}
    for name, content in named.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n", encoding="utf-8")
    return root


def v2(limit: object, used: object, stat: str = "", group: str = ".") -> dict[str, object]:
    folder = f"sys/fs/cgroup/{group}"
    return {
        f"{folder}/memory.max": limit,
        f"{folder}/memory.current": used,
        f"{folder}/memory.stat": stat,
    }


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, SYSTEM),
        (v2("max", 500), SYSTEM),
        (v2(1000, 300), 700),
        (v2(1000, 900, "anon 300\ninactive_file 550\nactive_file 50"), 650),
        (v2(1000, 1300), 0),
        (v2(10 * SYSTEM, 0), SYSTEM),
        (v2("much", 0), SYSTEM),
        (v2(1000, ""), SYSTEM),
    ],
)
def test_what_a_container_has_left(tmp_path: Path, files: dict[str, object], expected: int) -> None:
    assert available_memory(tree(tmp_path, "0::/", files)) == expected


@pytest.mark.parametrize(("inner", "outer", "expected"), [(900, 700, 600), (500, 700, 400)])
def test_the_tightest_group_around_the_process_counts(
    tmp_path: Path, inner: int, outer: int, expected: int
) -> None:
    files = {**v2(inner, 100, group="a/b"), **v2(outer, 100, group="a"), **v2(50, 0, group="c")}
    assert available_memory(tree(tmp_path, "0::/a/b", files)) == expected


def test_groups_of_version_1(tmp_path: Path) -> None:
    folder = "sys/fs/cgroup/memory/job"
    files = {
        f"{folder}/memory.limit_in_bytes": 1000,
        f"{folder}/memory.usage_in_bytes": 800,
        f"{folder}/memory.stat": "inactive_file 5\ntotal_inactive_file 300",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": 2**63 - 4096,
        "sys/fs/cgroup/memory/memory.usage_in_bytes": 5000,
    }
    assert available_memory(tree(tmp_path, "9:cpu:/job\n4:memory:/job", files)) == 500


def test_a_system_that_does_not_say_has_some(tmp_path: Path) -> None:
    assert available_memory(tmp_path) > 0
