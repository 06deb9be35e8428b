"""``fastad volume``: the fraction of the data's box that detectors classify as normal."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from fastad._core.results import json_text
from fastad._core.text_tables import TextTable, intervals_text
from fastad.cli._console import data_from, print_result, print_table, progress_bar
from fastad.cli._detectors import (
    Detectors,
    FeatureColumns,
    Features,
    check_usage,
    fitted_order,
    load,
    make_scorers,
    read_samples,
    read_train,
)
from fastad.cli._saving import check_output, deliver
from fastad.regions.at_fpr import Volumes, volumes
from fastad.regions.box import Box
from fastad.regions.results import format_exp


def run(
    path: Path,
    columns: FeatureColumns,
    detectors: Detectors,
    options: Mapping[str, Any],
    *,
    margin: float,
    as_json: bool,
    output: Path | None,
) -> None:
    """Load or fit detectors, estimate their volumes, print and save these."""
    check_output(output)
    check_usage(detectors)
    loaded = {str(model): load(model) for model in detectors.models}
    order = fitted_order(columns, loaded)
    data = read_samples(columns, path, order)
    train, rows = data, data.X
    if detectors.names and detectors.train is not None:
        train = read_train(detectors, path, data, order, partial(read_samples, columns))
        rows = np.concatenate([train.X, data.X])
    normals, seed = train.X[train.anomalous == 0], int(options["rng"])
    scorers = make_scorers(path, data, loaded, detectors, normals, seed)
    with data_from(path):
        box = Box.from_data(rows, margin=margin)
        with progress_bar() as progress:
            table = volumes(scorers, data.X, data.anomalous, box=box, progress=progress, **options)
    deliver(
        {str(path): table},
        lambda: _as_json(table, path, data),
        lambda: _print(table),
        as_json=as_json,
        output=output,
    )


def _print(table: Volumes) -> None:
    estimates = [(name, key, volume) for name, row in table.items() for key, volume in row.items()]
    interval = intervals_text(estimates[0][2].confidence_level)
    body = [
        [
            name,
            key.removeprefix("vol@"),
            f"{volume.threshold:.6g}",
            f"{'< ' if volume.is_bound else ''}{format_exp(volume.log_value, 4)}",
            f"[{format_exp(volume.log_low, 4)}, {format_exp(volume.log_high, 4)}]",
            f"{'> ' if volume.is_bound else ''}{1 - volume.value:.4g}",
        ]
        for name, key, volume in estimates
    ]
    header = ["detector", "fpr", "threshold", "vol@fpr", interval, "cvol@fpr"]
    print_table(TextTable(header, body))
    print_result(
        f"log10 volume of the box: {table.box.log_volume / np.log(10):.4g} "
        f"({table.box.n_features} features)"
    )
    for name, row in table.items():
        rates_of: dict[tuple[str, int, str | None], list[str]] = {}
        for key, volume in row.items():
            how = volume.method, volume.n_scored, volume.reason
            rates_of.setdefault(how, []).append(key.removeprefix("vol@"))
        for (method, n_scored, reason), keys in rates_of.items():
            at = "" if len(keys) == len(row) else f" at fpr {', '.join(keys)}"
            why = f": {reason}" if reason else ""
            print_result(f"{name}{at}: method {method}, {n_scored} points scored{why}")
        wide = [
            f"[{volume.uniform_low:.4g}, {volume.uniform_high:.4g}] at fpr "
            f"{key.removeprefix('vol@')}"
            for key, volume in row.items()
            if volume.method == "splitting"
        ]
        if wide:
            print_result(f"{name}: by uniform draws alone {', '.join(wide)}")


def _as_json(table: Volumes, path: Path, data: Features) -> str:
    n_anomalies = int(np.count_nonzero(data.anomalous))
    content = {
        **table.to_dict(),
        "file": str(path),
        "n_anomalies": n_anomalies,
        "n_normals": data.X.shape[0] - n_anomalies,
        "box": {"low": table.box.low.tolist(), "high": table.box.high.tolist()},
    }
    return json_text(content, indent=2)
