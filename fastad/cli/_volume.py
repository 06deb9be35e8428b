"""``fastad volume``: the fraction of the data's box that detectors classify as normal."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fastad._core.results import json_text
from fastad._core.text_tables import TextTable
from fastad._core.types import FloatMatrix
from fastad.cli._console import (
    data_from,
    print_result,
    print_table,
    progress_bar,
    warnings_as_messages,
)
from fastad.cli._detectors import (
    Detectors,
    FeatureColumns,
    Samples,
    check_n_features,
    check_same_width,
    check_usage,
    compile_named,
    fit,
    fitted_order,
    load,
    order_to_train,
    read_samples,
)
from fastad.cli._saving import check_output, save_results
from fastad.detectors.scorer import CompiledScorer
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
    data = read_samples(path, columns, order)
    rows = data.X
    scorers = {name: compile_named(name, fitted) for name, fitted in loaded.items()}
    if detectors.names:
        train = data
        if detectors.train is not None:
            train = read_samples(detectors.train, columns, order_to_train(path, data, order))
            check_same_width(detectors.train, train, path, data)
            rows = np.concatenate([train.X, data.X])
        for name in detectors.names:
            normals, seed = train.X[train.anomalous == 0], int(options["rng"])
            scorers[name] = fit(name, normals, seed, standardize=detectors.standardize)
    table = _measure(path, data, scorers, rows, options, margin)
    if output is not None:
        save_results({str(path): table}, output, lambda: _as_json(table, path, data))
    if as_json:
        print_result(_as_json(table, path, data))
    else:
        _print(table)


def _measure(
    path: Path,
    data: Samples,
    scorers: Mapping[str, CompiledScorer],
    rows: FloatMatrix,
    options: Mapping[str, Any],
    margin: float,
) -> Volumes:
    check_n_features(path, data, scorers)
    with data_from(path):
        box = Box.from_data(rows, margin=margin)
        with warnings_as_messages(), progress_bar() as progress:
            return volumes(scorers, data.X, data.anomalous, box=box, progress=progress, **options)


def _print(table: Volumes) -> None:
    estimates = [(name, key, volume) for name, row in table.items() for key, volume in row.items()]
    level = 100 * estimates[0][2].confidence_level
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
    header = ["detector", "fpr", "threshold", "vol@fpr", f"{level:g}% interval", "cvol@fpr"]
    print_table(TextTable(header, body))
    print_result(
        f"log10 volume of the box: {table.box.log_volume / np.log(10):.4g} "
        f"({table.box.n_features} features)"
    )
    for name, row in table.items():
        volume = next(iter(row.values()))
        reason = f": {volume.reason}" if volume.reason else ""
        print_result(f"{name}: method {volume.method}, {volume.n_scored} points scored{reason}")
        wide = [
            f"[{volume.uniform_low:.4g}, {volume.uniform_high:.4g}] at fpr "
            f"{key.removeprefix('vol@')}"
            for key, volume in row.items()
            if volume.method == "splitting"
        ]
        if wide:
            print_result(f"{name}: by uniform draws alone {', '.join(wide)}")


def _as_json(table: Volumes, path: Path, data: Samples) -> str:
    n_anomalies = int(np.count_nonzero(data.anomalous))
    content = {
        **table.to_dict(),
        "file": str(path),
        "n_anomalies": n_anomalies,
        "n_normals": data.X.shape[0] - n_anomalies,
        "box": {"low": table.box.low.tolist(), "high": table.box.high.tolist()},
    }
    return json_text(content, indent=2)
