"""Slow, obvious definitions of the comparisons, over rows that are dicts."""

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from hypothesis import strategies as st

# Measures by problem (a data set, or a data set and a class of anomalies), then by model.
Means: TypeAlias = dict[Any, dict[Any, Fraction | None]]
Rows: TypeAlias = list[dict[str, Any]]


def mean_over_folds(rows: Rows, label: str, problem: Sequence[str] = ("dataset",)) -> Means:
    """Average each data set and model over the folds where the measure is there."""
    cells: dict[Any, dict[Any, list[float]]] = {}
    models = {model_of(row) for row in rows}
    for row in rows:
        of_problem = cells.setdefault(tuple(row[name] for name in problem), {m: [] for m in models})
        of_problem[model_of(row)].append(row[label])
    return {
        name: {model: mean_of(values) for model, values in of_models.items()}
        for name, of_models in cells.items()
    }


def model_of(row: Mapping[str, Any]) -> tuple[Any, Any]:
    return row["detector"], row.get("params")


def mean_of(values: Sequence[float | Fraction | None]) -> Fraction | None:
    there = [Fraction(value) for value in values if value is not None and value == value]
    return sum(there, Fraction(0)) / len(there) if there else None


def best_of(values: Mapping[Any, Fraction | None], up: bool) -> Fraction | None:
    there = [value for value in values.values() if value is not None]
    if not there:
        return None
    return max(there) if up else min(there)


def loss(
    select: Mapping[Any, Fraction | None],
    target: Mapping[Any, Fraction | None],
    select_up: bool = True,
    target_up: bool = True,
) -> Fraction | None:
    """Select a model by one measure; return its loss in the target measure, None if undefined."""
    chosen_by, best = best_of(select, select_up), best_of(target, target_up)
    if chosen_by is None or best is None or best == 0:
        return None
    losses = []
    for model, value in select.items():
        if value == chosen_by:
            used = target[model]
            if used is None:
                return None
            losses.append((best - used if target_up else used - best) / abs(best))
    return mean_of(losses)


def losses_between_classes(
    select: Means, target: Means, select_up: bool, target_up: bool
) -> dict[Any, Fraction | None]:
    """Average over ordered pairs of classes of each data set; problems are pairs of names."""
    by_dataset: dict[Any, list[Fraction | None]] = {}
    for first, second in itertools.permutations(select, 2):
        if first[0] == second[0]:
            by_dataset.setdefault(first[0], []).append(
                loss(select[first], target[second], select_up, target_up)
            )
    return {name: mean_of(losses) for name, losses in by_dataset.items()}


def tau_b(a: Sequence[float], b: Sequence[float]) -> float:
    """Count pairs one by one; NaN where a measure ties all that both have."""
    both = [(x, y) for x, y in zip(a, b, strict=True) if x == x and y == y]
    concordant = discordant = untied_a = untied_b = 0
    for (x, y), (u, v) in itertools.combinations(both, 2):
        untied_a += x != u
        untied_b += y != v
        if x != u and y != v:
            concordant += (x < u) == (y < v)
            discordant += (x < u) != (y < v)
    if not untied_a or not untied_b:
        return math.nan
    return (concordant - discordant) / math.sqrt(untied_a * untied_b)


def as_columns(rows: Rows) -> dict[str, list[Any]]:
    return {name: [row[name] for row in rows] for name in rows[0]}


def eighths(low: int, high: int) -> st.SearchStrategy[float]:
    """Few numbers, of which sums are exact: ties are frequent and survive the mean over folds."""
    return st.one_of(st.integers(low, high).map(lambda k: k / 8), st.just(math.nan))


@st.composite
def result_rows(
    draw: st.DrawFn,
    labels: Sequence[str],
    *,
    classes: int = 1,
    most_folds: int = 3,
    low: int = -3,
    high: int = 4,
) -> Rows:
    """Rows of a table in any order, some of them missing."""
    n_datasets, n_models = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    n_folds = draw(st.integers(1, most_folds))
    rows = [
        {"dataset": f"d{d}", "anomaly_class": c, "detector": f"k{m // 2}", "params": m % 2}
        | {"fold": f}
        | {label: draw(eighths(low, high)) for label in labels}
        for d in range(n_datasets)
        for c in range(classes if d % 2 == 0 else 1)
        for m in range(n_models)
        for f in range(n_folds)
    ]
    # The first row of every model and data set stays, so that none of them is lost.
    kept = [row for row in rows if row["fold"] == 0 or draw(st.integers(0, 4))]
    shuffled: Rows = draw(st.permutations(kept))
    return shuffled


def bits_of(matrix: Any) -> dict[tuple[str, str], tuple[Any, ...]]:
    """The values of each two measures, and of each row, whatever their order."""
    cells: dict[tuple[str, str], tuple[Any, ...]] = {
        (row, column): (
            np.float64(matrix.value[i, j]).tobytes(),
            int(matrix.n_datasets[i, j]),
            int(matrix.n_undefined[i, j]),
        )
        for i, row in enumerate(matrix.rows)
        for j, column in enumerate(matrix.columns)
    }
    for name, mean in matrix.means.items():
        cells |= {
            (row, name): (np.float64(mean.value[i]).tobytes(),) for i, row in enumerate(matrix.rows)
        }
    return cells


def numbers(result: Any) -> dict[str, list[str]]:
    """All cells as strings, in which NaN equals NaN and no bit is lost."""
    return {name: [repr(cell) for cell in cells] for name, cells in result.to_columns().items()}
