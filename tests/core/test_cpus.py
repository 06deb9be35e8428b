"""Processors: the quota of every layout of control groups, and what it is combined with."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fastad._core import threads as _limits
from fastad._core.threads import available_processors, cgroup_quota

V1 = ("cpu.cfs_quota_us", "cpu.cfs_period_us")


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def v2(root: Path, path: str, limits: dict[str, str]) -> Path:
    files = {f"sys/fs/cgroup/{group}/cpu.max": text for group, text in limits.items()}
    return tree(root, {"proc/self/cgroup": f"0::{path}\n", **files})


def v1(root: Path, line: str, mount: str, limits: dict[str, tuple[int, int]]) -> Path:
    files = {
        f"sys/fs/cgroup/{mount}/{group}/{name}": f"{number}\n"
        for group, numbers in limits.items()
        for name, number in zip(V1, numbers, strict=True)
    }
    return tree(root, {"proc/self/cgroup": f"7:memory:/a\n{line}\n1:name=systemd:/a\n", **files})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("400000 100000\n", 4),
        ("150000 100000\n", 2),
        ("50000 100000\n", 1),
        ("1 1000000", 1),
        ("100001 100000", 2),
        ("max 100000\n", None),
        ("-1 100000", None),
        ("0 100000", None),
        ("100000 0", None),
        ("100000", None),
        ("100000 100000 5", None),
        ("1.5 1", None),
        ("two one", None),
        ("9" * 5000 + " 1", None),
        ("", None),
    ],
)
def test_the_quota_in_a_container_with_a_namespace(
    tmp_path: Path, text: str, expected: int | None
) -> None:
    assert cgroup_quota(v2(tmp_path, "/", {".": text})) == expected


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"a/b": "800000 100000", "a": "300000 100000"}, 3),
        ({"a/b": "max 100000", "a": "300000 100000"}, 3),
        ({"a/b": "200000 100000", "a": "300000 100000"}, 2),
        ({"a": "150000 50000", ".": "200000 100000"}, 2),
        ({"a/b": "nonsense", "a": "max 100000"}, None),
        ({"other": "100000 100000"}, None),
    ],
)
def test_the_tightest_group_around_the_process_counts(
    tmp_path: Path, limits: dict[str, str], expected: int | None
) -> None:
    assert cgroup_quota(v2(tmp_path, "/a/b", limits)) == expected


def test_the_hosts_path_without_a_namespace_falls_back_to_the_top(tmp_path: Path) -> None:
    assert cgroup_quota(v2(tmp_path, "/docker/0f:1 (deleted)", {".": "250000 100000"})) == 3


def test_a_group_outside_the_namespace_has_no_known_quota(tmp_path: Path) -> None:
    assert cgroup_quota(v2(tmp_path, "/../b", {".": "100000 100000"})) is None


@pytest.mark.parametrize(
    ("line", "mount"),
    [
        ("4:cpu,cpuacct:/a/b", "cpu,cpuacct"),
        ("4:cpu,cpuacct:/a/b", "cpu"),
        ("4:cpuacct,cpu:/a/b", "cpuacct,cpu"),
        ("2:cpu:/a/b", "cpu"),
    ],
)
@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"a/b": (150_000, 100_000)}, 2),
        ({"a/b": (-1, 100_000)}, None),
        ({"a/b": (-1, 100_000), "a": (100_000, 100_000)}, 1),
        ({".": (600_000, 100_000)}, 6),
    ],
)
def test_version_1(
    tmp_path: Path, line: str, mount: str, limits: dict[str, tuple[int, int]], expected: int | None
) -> None:
    assert cgroup_quota(v1(tmp_path, line, mount, limits)) == expected


def test_both_versions_beside_each_other(tmp_path: Path) -> None:
    v1(tmp_path, "4:cpu,cpuacct:/a", "cpu,cpuacct", {"a": (200_000, 100_000)})
    with (tmp_path / "proc/self/cgroup").open("a", encoding="utf-8") as file:
        file.write("0::/a\n")
    assert cgroup_quota(tree(tmp_path, {"sys/fs/cgroup/unified/a/cgroup.procs": ""})) == 2


def test_half_of_the_files_of_version_1_is_no_quota(tmp_path: Path) -> None:
    files = {"proc/self/cgroup": "2:cpu:/\n", "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000"}
    assert cgroup_quota(tree(tmp_path, files)) is None


@pytest.mark.parametrize("line", ["", "\n", "0", "0:", "0::", "cpu", ":cpu", "::\0", ":::::"])
def test_a_list_of_groups_that_is_not_understood_is_no_quota(tmp_path: Path, line: str) -> None:
    assert cgroup_quota(tree(tmp_path, {"proc/self/cgroup": line})) is None


def test_bytes_that_are_no_text_are_no_quota(tmp_path: Path) -> None:
    v2(tmp_path, "/", {".": "100000 100000"})
    (tmp_path / "sys/fs/cgroup/cpu.max").write_bytes(b"\xff\xfe 1")
    assert cgroup_quota(tmp_path) is None


def test_no_files_and_directories_in_their_place_are_no_quota(tmp_path: Path) -> None:
    assert cgroup_quota(tmp_path) is None
    v2(tmp_path, "/", {})
    (tmp_path / "sys/fs/cgroup/cpu.max").mkdir(parents=True)
    assert cgroup_quota(tmp_path) is None


@pytest.fixture
def no_cached_quota() -> Iterator[None]:
    _limits._process_quota.cache_clear()
    yield
    _limits._process_quota.cache_clear()


@pytest.mark.usefixtures("no_cached_quota")
@pytest.mark.parametrize(
    ("affinity", "quota", "expected"), [({0, 5}, 4, 2), ({0, 1, 2, 3}, 3, 3), ({7}, None, 1)]
)
def test_the_smaller_of_affinity_and_quota(
    monkeypatch: pytest.MonkeyPatch, affinity: set[int], quota: int | None, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: affinity, raising=False)
    monkeypatch.setattr(_limits, "cgroup_quota", lambda: quota)
    assert available_processors() == expected


@pytest.mark.usefixtures("no_cached_quota")
@pytest.mark.parametrize(("count", "expected"), [(6, 6), (None, 1)])
@pytest.mark.parametrize("is_refused", [False, True])
def test_without_an_affinity_all_processors_count(
    monkeypatch: pytest.MonkeyPatch, is_refused: bool, count: int | None, expected: int
) -> None:
    def refuse(_: int) -> set[int]:
        raise PermissionError

    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    if is_refused:
        monkeypatch.setattr(os, "sched_getaffinity", refuse, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: count)
    monkeypatch.setattr(_limits, "cgroup_quota", lambda: None)
    assert available_processors() == expected


@pytest.mark.usefixtures("no_cached_quota")
def test_the_affinity_is_read_anew_and_the_quota_once(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    monkeypatch.setattr(_limits, "cgroup_quota", lambda: reads.append(1))
    for n_processors in (3, 2):
        affinity = set(range(n_processors))
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, a=affinity: a, raising=False)
        assert available_processors() == n_processors
    assert len(reads) == 1


def test_this_process_may_use_at_least_one() -> None:
    assert available_processors() >= 1
