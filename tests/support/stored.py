"""A small study, and what its folder must hold."""

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastad.study.manifest import Manifest
from fastad.study.results import read_study
from fastad.study.store import StudyStore, open_store

TASKS = ["uci-b", "uci-a", "uci-c", "uci-d", "uci-é 1"]
GOIX = ["goix-b", "goix-a"]
LOG = "done.log"
Columns = dict[str, list[Any]]


def singles(tasks: list[str]) -> list[list[str]]:
    """A batch for each task."""
    return [[task] for task in tasks]


def plan(**changes: Any) -> Manifest:
    values: dict[str, Any] = {
        "config": {"protocol": {"repeats": 3, "max_train": 50}, "measures": ["auc", "ap"]},
        "problems": [{"name": "uci/ecoli", "digest": "1f", "n_features": 7}],
        "batches": {"results": singles(TASKS), "goix": singles(GOIX)},
        "versions": {"fastad": "1", "numpy": "2"},
        "created": "2026-01-02T03:04:05+00:00",
    }
    return Manifest(**(values | changes))


def rows_of(batch: str) -> Columns:
    """Rows as a batch has them: the same in each run, and others for each batch."""
    rng = random.Random(batch)
    n = 1 + len(batch) % 4
    return {
        "dataset": [batch] * n,
        # All None in some batches, as files without classes have it.
        "anomaly_class": [None if batch < "uci-c" else "im"] * n,
        "repeat": list(range(n, 0, -1)),
        "auc": [rng.random() if i else 1 for i in range(n)],
        "ap": [math.nan] * n,
        "reason": ["" if i % 2 else f"too few {i}" for i in range(n)],
    }


def curves_of(batch: str) -> Columns | None:
    """Curves of the first row of a batch, if it has some; the others failed, as it were."""
    if batch in ("uci-c", "uci-é 1"):
        return None
    none: list[Any] = [None] * (len(rows_of(batch)["repeat"]) - 1)
    return {"roc": [[0.0, 0.5, 1.0], *none], "mv_mass": [[] if "b" in batch else [1], *none]}


def kept_curves_of(batch: str) -> Columns | None:
    """The first row of a batch with curves, as the table of curves has it."""
    curves = curves_of(batch)
    if curves is None:
        return None
    keys = {name: rows_of(batch)[name] for name in ("dataset", "anomaly_class", "repeat")}
    return {name: values[:1] for name, values in {**keys, **curves}.items()}


def goix_of(batch: str) -> Columns:
    return {
        "dataset": [batch, batch],
        "em": [None, 0.5 if "a" in batch else None],
        "reason": ["no room", ""],
    }


def keep(store: StudyStore, batch: str) -> None:
    rows = goix_of(batch) if batch in GOIX else {**rows_of(batch), **(curves_of(batch) or {})}
    store.save([batch], rows)


def begin(folder: Path) -> None:
    """Open a folder, and give it back."""
    with open_store(folder, plan()):
        pass


def finish(folder: Path, order: list[str] | None = None) -> dict[str, bytes]:
    """Do what is left, and return the bytes of the results."""
    manifest = plan()
    with open_store(folder, manifest) as store:
        for batch in order or [*TASKS, *GOIX]:
            if batch not in store.done:
                keep(store, batch)
        store.finish()
    return {path.name: path.read_bytes() for path in folder.glob("*.parquet")}


def joined(batches: list[str], of: Callable[[str], Columns | None]) -> Columns:
    """The rows of batches one after another; None and NaN as None, as they compare."""
    results: Columns = {}
    for batch in batches:
        for name, values in (of(batch) or {}).items():
            results.setdefault(name, []).extend(None if x != x else x for x in values)
    return results


def check_tables(folder: Path, done: set[str] | None = None) -> set[str]:
    """Check that all rows of some batches are there, once and in order; return which."""
    study = read_study(folder)
    result = set(study.tasks.to_pydict().get("dataset", ()))
    result |= set(study.extra["goix"].to_pydict().get("dataset", ()))
    assert done is None or result == done
    assert study.n_batches == len(TASKS) + len(GOIX)
    assert study.n_done == len(result)
    tasks = [batch for batch in TASKS if batch in result]
    for table, names, of in [
        (study.tasks, tasks, rows_of),
        (study.curves, tasks, kept_curves_of),
        (study.extra["goix"], [batch for batch in GOIX if batch in result], goix_of),
    ]:
        columns = {
            name: [None if x != x else x for x in values]
            for name, values in table.to_pydict().items()
        }
        # Without rows there may be columns or none.
        assert (columns if table.num_rows else {}) == joined(names, of)
    return result


def leftovers(folder: Path) -> list[Path]:
    return list(folder.rglob(".fastad-*"))
