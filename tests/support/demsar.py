"""Demšar's worked example as a table of results, and others by hand."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import fastad

DEMSAR: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "demsar.json").read_text("utf-8")
)


def demsar() -> fastad.ResultTable:
    """Return the table; two values that only rounding makes equal differ a little."""
    auc = {name: list(values) for name, values in DEMSAR["auc"].items()}
    auc["voting"][3] -= 0.0001
    return fastad.ResultTable.from_arrays(
        {"auc": list(auc.values())}, datasets=list(auc), detectors=DEMSAR["detectors"]
    )


def results_of(values: npt.ArrayLike, names: str = "abcdefghij", **options: Any) -> Any:
    """Return a table of one measure, auc, of detectors a, b, ...."""
    array = np.asarray(values, float)
    detectors = options.pop("detectors", list(names[: array.shape[1]]))
    return fastad.ResultTable.from_arrays({"auc": array}, detectors=detectors, **options)
