"""``fastad volume``: how much of the data's box detectors take for normal."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fastad._core.text_tables import TextTable
from fastad._core.threads import available_threads
from fastad._core.types import FloatMatrix
from fastad.cli._console import show, show_table
from fastad.cli.detectors import (
    Columns,
    Detectors,
    Samples,
    bad_option,
    check_known,
    check_usage,
    check_width,
    compile_named,
    fit,
    known_order,
    load,
    order_to_train,
    read_samples,
    remarks,
    shown_progress,
)
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.regions.box import Box
from fastad.regions.results import share_text
from fastad.regions.table import Volumes, volumes

# Options of the function that are options of the command.
_OPTIONS = ("fpr", "n_draws", "rtol", "method", "confidence_level")


def run(
    path: Path,
    columns: Columns,
    detectors: Detectors,
    options: Mapping[str, Any],
    *,
    margin: float,
    as_json: bool,
) -> None:
    """Load or fit detectors, estimate their volumes, and print them."""
    check_usage(detectors)
    available_threads()
    loaded = {str(model): load(model) for model in detectors.models}
    order = known_order(columns, loaded)
    data = read_samples(path, columns, order)
    rows = data.X
    scorers = {name: compile_named(name, fitted) for name, fitted in loaded.items()}
    if detectors.names:
        train = data
        if detectors.train is not None:
            train = read_samples(detectors.train, columns, order_to_train(path, data, order))
            check_width(detectors.train, train, path, data)
            rows = np.concatenate([train.X, data.X])
        for name in detectors.names:
            normals, seed = train.X[train.anomalous == 0], int(options["rng"])
            scorers[name] = fit(name, normals, seed, standardize=detectors.standardize)
    found = _measure(path, data, scorers, rows, options, margin)
    if as_json:
        show(_as_json(found, path, data))
    else:
        _print(found)


def _measure(
    path: Path,
    data: Samples,
    scorers: Mapping[str, CompiledScorer],
    rows: FloatMatrix,
    options: Mapping[str, Any],
    margin: float,
) -> Volumes:
    check_known(path, data, scorers)
    try:
        box = Box.from_data(rows, margin=margin)
        with remarks(), shown_progress() as progress:
            return volumes(scorers, data.X, data.anomalous, box=box, progress=progress, **options)
    except (InvalidInputError, UndefinedMeasureError) as error:
        raise bad_option(error, _OPTIONS, path) from None


def _print(found: Volumes) -> None:
    estimates = [(name, at, one) for name, row in found.items() for at, one in row.items()]
    level = 100 * estimates[0][2].confidence_level
    body = [
        [
            name,
            at.removeprefix("vol@"),
            f"{one.threshold:.6g}",
            f"{'< ' if one.is_bound else ''}{share_text(one.log_value, 4)}",
            f"[{share_text(one.log_low, 4)}, {share_text(one.log_high, 4)}]",
            f"{'> ' if one.is_bound else ''}{1 - one.value:.4g}",
        ]
        for name, at, one in estimates
    ]
    header = ["detector", "fpr", "threshold", "vol@fpr", f"{level:g}% interval", "cvol@fpr"]
    show_table(TextTable(header, body))
    show(
        f"log10 volume of the box: {found.box.log_volume / np.log(10):.4g} "
        f"({found.box.n_features} features)"
    )
    for name, row in found.items():
        one = next(iter(row.values()))
        why = f": {one.reason}" if one.reason else ""
        show(f"{name}: method {one.method}, {one.n_scored} points scored{why}")


def _as_json(found: Volumes, path: Path, data: Samples) -> str:
    n_anomalies = int(np.count_nonzero(data.anomalous))
    content = {
        **found.to_dict(),
        "file": str(path),
        "n_anomalies": n_anomalies,
        "n_normals": data.X.shape[0] - n_anomalies,
        "box": {"low": found.box.low.tolist(), "high": found.box.high.tolist()},
    }
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=False)
