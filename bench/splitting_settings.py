"""What the settings of splitting are worth: each halved and doubled, the others as they are.

Regions of several kinds, some with as few calls as splitting takes. Half-widths and errors are
relative to those by the settings as they are, of the same seeds. A part of a whole that doubled
would be more than one is brought half as near to one. Finished settings are kept: a run that was
stopped continues.

    python -m bench.splitting_settings [PROCESSES]
"""

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

import numpy as np

import fastad.regions.splitting
from bench.coverage import resumed
from bench.pages import EVIDENCE, fill, read_rows, table, write_rows
from bench.volume_coverage import Shape, shapes, volume_and_warning
from fastad.regions.splitting.moves import KINDS

REGIONS: Mapping[str, int] = {
    "ellipsoid, d = 20": 100_000,
    "simplex, d = 10": 100_000,
    "two_balls, d = 10": 100_000,
    "star, d = 5": 100_000,
    "discrete and continuous features, d = 10": 100_000,
    "ellipsoid, d = 5": 10_000,
}
N_SEEDS = 3
TABLE, PAGE = EVIDENCE / "splitting_settings.csv", EVIDENCE / "rare.md"
WIDTHS = ("half-width, lower", "half-width, higher")
# No settings of the method: limits of rounding, of iterations and of memory, what a thread does at
# once, p-values, what an interval is by definition, and the one-fifth rule of evolution strategies.
LEFT_OUT = {
    *("_TOLERANCE", "_MOST_ITERATIONS", "_NEGLIGIBLE", "_CLOSE", "_SHARPEST", "_FLATTEST", "_TINY"),
    *("_LOG_TWO_PI", "_LOG_ROOT", "_SAME", "_NARROWEST", "_NODES", "_LONGEST", "_STEEPEST"),
    *("_SMALLEST", "_LARGEST", "_SHORTEST", "_AT_ONCE", "POINTS_AT_ONCE", "_NUMBERS_A_THREAD"),
    *("FEWEST_CALLS", "FEWEST_DRAWS", "_SUSPICIOUS", "_TOLERATED", "_RANKED"),
    *("_CORRELATED", "_PRIOR", "_DIFFERENT", "_MOST_PARTINGS", "_ACCEPTANCE"),
}


class Setting(NamedTuple):
    """Another value for a number of a module; without a name, all are as they are."""

    module: str
    name: str
    value: float


def settings() -> Iterator[Setting]:
    """Yield the settings as they are, and each with two other values."""
    yield Setting("", "", 1.0)
    for module in _modules():
        for name in _assigned(module):
            value = getattr(_loaded(module), name)
            if name in LEFT_OUT or not isinstance(value, int | float):
                continue
            doubled = (1 + value) / 2 if 0.5 < value < 1 else 2 * value
            # All kinds of moves together are not more than all moves.
            highest = 1 / len(KINDS) if name.startswith("_LEAST_OF") else math.inf
            for other in (value / 2, min(doubled, highest)):
                whole = max(int(other), 1) if isinstance(value, int) else other
                if whole != value:
                    yield Setting(module, name, whole)


def measure(setting: Setting) -> list[dict[str, Any]]:
    """Return the errors and half-widths of all regions by a setting."""
    rows = []
    with _set(Setting(*setting)) as before:
        for region, n_draws in REGIONS.items():
            shape = _shape(region)
            for seed in range(N_SEEDS):
                options: Any = {"method": "splitting", "n_draws": n_draws, "rng": seed}
                found, _ = volume_and_warning(shape.score, shape.threshold, shape.box, **options)
                rows.append(
                    {
                        **dict(zip(("module", "name", "value"), setting, strict=True)),
                        "before": before,
                        "region": region,
                        "seed": seed,
                        "error": float(f"{found.log_value - shape.log_fraction:.4g}"),
                        "half_width": float(f"{(found.log_high - found.log_low) / 2:.4g}"),
                        "covers": found.log_low <= shape.log_fraction <= found.log_high,
                    }
                )
    return rows


@contextmanager
def _set(setting: Setting) -> Iterator[float | None]:
    """Set a number where it is and where it is imported; yield what it was."""
    module, name, value = setting
    if not name:
        yield None
        return
    before = getattr(_loaded(module), name)
    # Private names of several modules are other numbers.
    modules = [module] if name.startswith("_") else _modules()
    sources = [source for each in modules if hasattr(source := _loaded(each), name)]
    for source in sources:
        setattr(source, name, value)
    try:
        yield before
    finally:
        for source in sources:
            setattr(source, name, before)


@cache
def _shape(name: str) -> Shape:
    return dict(shapes())[name]()


def _modules() -> list[str]:
    return [each.name for each in iter_modules(fastad.regions.splitting.__path__)]


def _loaded(module: str) -> Any:
    return import_module(f"fastad.regions.splitting.{module}")


def _assigned(module: str) -> list[str]:
    """Return the names of the constants that a module assigns, in their order."""
    source = ast.parse(Path(_loaded(module).__file__).read_text(encoding="utf-8"))
    targets = [
        target for node in source.body if isinstance(node, ast.Assign) for target in node.targets
    ]
    names = [name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return [name.id for name in names if name.id.isupper()]


def summary(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a row for each setting: its effects on half-widths, errors and coverage."""
    by_setting: dict[Setting, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_setting.setdefault(Setting(row["module"], row["name"], row["value"]), []).append(row)
    (_, base), *others = by_setting.items()
    cells: dict[tuple[str, str], dict[str, Any]] = {}
    for (module, name, value), each in others:
        before = each[0]["before"]
        cell = cells.setdefault((module, name), {"module": module, "setting": name.strip("_")})
        cell["value"] = f"{before:.3g}"
        which = "lower" if value < before else "higher"
        cell[which] = f"{value:.3g}"
        cell[f"half-width, {which}"] = _ratio(base, each, "half_width")
        cell[f"error, {which}"] = _ratio(base, each, "error")
        cell[f"covered, {which}"] = sum(row["covers"] for row in each)
    return list(cells.values())


def _ratio(
    base: Sequence[Mapping[str, Any]], others: Sequence[Mapping[str, Any]], what: str
) -> str:
    """Return the geometric mean over regions of a root mean square by its base; bounds aside."""
    logs = []
    for region in REGIONS:
        both = [
            [row[what] for row in rows if row["region"] == region and math.isfinite(row[what])]
            for rows in (base, others)
        ]
        if all(both):
            squares = [float(np.mean(np.square(values))) for values in both]
            logs.append(math.log(squares[1] / squares[0]) / 2)
    return f"{math.exp(np.mean(logs)):.2f}"


def lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of the page: settings that change a half-width by at least 3 %."""
    shown = [row for row in rows if any(abs(float(row[x]) - 1) >= 0.03 for x in WIDTHS)]
    head = [name for name in rows[0] if name != "module" and not name.startswith("error")]
    return table(head, [[row[name] for name in head] for row in shown])


def main() -> None:
    """Measure all settings, and write the table."""
    notes = TABLE.with_suffix(".partial")
    write_rows(TABLE, summary(resumed(measure, list(settings()), notes)))
    fill(PAGE, {"settings": lines(read_rows(TABLE))})
    notes.unlink()


if __name__ == "__main__":
    main()
