"""A sample without a label is neither an anomaly nor normal."""

import datetime
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.sklearn import ThresholdedDetector
from fastad.streaming import RateMonitor, ScoreSketch, SlidingEvaluation
from tests.support.loops import loop

NAN = float("nan")
TEXT = ["a", None, None]
# Labels of which the last two are missing, and the label of the anomaly.
MISSING: dict[str, tuple[Any, Any]] = {
    "list": (TEXT, "a"),
    "tuple": (tuple(TEXT), "a"),
    "list with NaN": (["a", NAN, NAN], "a"),
    "list of both": (["a", NAN, None], "a"),
    "list with NA": (["a", pd.NA, pd.NA], "a"),
    "list with NaT": (["a", pd.NaT, pd.NaT], "a"),
    "bytes": ([b"a", NAN, NAN], "a"),
    "numbers": ([1, NAN, NAN], 1),
    "numbers, None": ([1, None, None], 1),
    "objects": (np.array(TEXT, object), "a"),
    "dates": (np.array([datetime.date(2020, 1, 1), None, None], object), "a"),
    "floats": (np.array([1, NAN, NAN]), 1.0),
    "float16": (np.array([1, NAN, NAN], np.float16), 1.0),
    "times": (np.array(["2020", "NaT", "NaT"], "M8[D]"), np.datetime64("2020")),
    "strings of NumPy": (np.array(["a", NAN, NAN], np.dtypes.StringDType(na_object=NAN)), "a"),
    "strings, None": (np.array(TEXT, np.dtypes.StringDType(na_object=None)), "a"),
    "pandas": (pd.Series(TEXT), "a"),
    "pandas objects": (pd.Series(TEXT, dtype=object), "a"),
    "pandas string": (pd.Series(TEXT, dtype="string"), "a"),
    "pandas category": (pd.Series(TEXT, dtype="category"), "a"),
    "pandas Int64": (pd.Series([1, None, None], dtype="Int64"), 1),
    "pandas boolean": (pd.Series([True, None, None], dtype="boolean"), True),
    "pandas Arrow": (pd.Series(TEXT, dtype=pd.ArrowDtype(pa.string())), "a"),
    "polars": (pl.Series(TEXT), "a"),
    "polars category": (pl.Series(TEXT, dtype=pl.Categorical), "a"),
    "polars integers": (pl.Series([1, None, None]), 1),
    "polars booleans": (pl.Series([True, None, None]), True),
    "arrow": (pa.array(TEXT), "a"),
    "arrow dictionary": (pa.array(TEXT).dictionary_encode(), "a"),
    "arrow integers": (pa.array([1, None, None]), 1),
    "arrow booleans": (pa.array([True, None, None]), True),
}
MESSAGE = r"must not have missing values; found 2, the first at index 1"
SCORES = [3.0, 2.0, 1.0]


def sketched(y: Any, **options: Any) -> Any:
    ScoreSketch().update(y, SCORES, **options)


def labelled_later(y: Any, **options: Any) -> Any:
    sketch = ScoreSketch()
    sketch.update(None, SCORES)
    sketch.label(SCORES, y, **options)


def sliding(y: Any, **options: Any) -> Any:
    SlidingEvaluation(pane="1min", window="1h").update(y, SCORES, time=0, **options)


def monitored(y: Any, **options: Any) -> Any:
    RateMonitor(rate="fpr", threshold=1.0, expected_rate=0.1).update(y, SCORES, **options)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "measure": lambda y, **options: fastad.roc_auc(y, SCORES, **options),
    "weighted": lambda y, **options: fastad.roc_auc(y, SCORES, sample_weight=[1, 0, 0], **options),
    "evaluate": lambda y, **options: fastad.evaluate(y, SCORES, **options),
    "interval": lambda y, **options: fastad.interval(y, SCORES, measure="auc", **options),
    "sketch": sketched,
    "labelled later": labelled_later,
    "sliding": sliding,
    "monitor": monitored,
}


@loop("function", FUNCTIONS.values())
@loop(("labels", "anomaly"), MISSING.values())
def test_a_missing_label_is_refused_with_the_label_of_the_anomalies(
    labels: Any, anomaly: Any, function: Callable[..., Any]
) -> None:
    with pytest.raises(InvalidInputError, match=f"^y_true {MESSAGE}$"):
        function(labels, pos_label=anomaly)


@pytest.mark.parametrize("name", [name for name, (_, label) in MISSING.items() if label == 1])
def test_a_missing_label_is_refused_without(name: str) -> None:
    with pytest.raises(InvalidInputError, match=f"^y_true {MESSAGE}$"):
        fastad.roc_auc(MISSING[name][0], SCORES)


def test_a_string_is_a_label_whatever_it_says() -> None:
    for text in ("NA", "nan", "None", ""):
        assert fastad.roc_auc(["a", text, text], SCORES, pos_label="a") == 1.0
        assert fastad.roc_auc(np.array(["a", text, text]), SCORES, pos_label="a") == 1.0


def test_anomalies_alone_leave_measures_undefined() -> None:
    with pytest.raises(UndefinedMeasureError, match="without normal samples"):
        fastad.roc_auc(["a", "a"], [1, 2], pos_label="a")


@pytest.mark.parametrize(
    ("labels", "anomaly"),
    [
        (np.array(["a", None] * 6, object), "a"),
        (np.array(["a", NAN] * 6, object), "a"),
        (np.array([1, NAN] * 6), 1),
    ],
)
def test_a_missing_label_is_refused_in_partitions(labels: Any, anomaly: Any) -> None:
    from_array = pytest.importorskip("dask.array").from_array
    columns = {"y": labels, "score": np.arange(12.0)}
    source = {name: from_array(column, chunks=5) for name, column in columns.items()}
    refused = r"column '{0}'.* (missing|NaN)|missing .*column '{0}'"
    for function in (fastad.dask.evaluate, fastad.dask.sketch):
        with pytest.raises(InvalidInputError, match=refused.format("y")):
            function(source, pos_label=anomaly)
    source["g"] = from_array(np.array(["b", None] * 6, object), chunks=5)
    source["y"] = from_array(np.arange(12) % 2, chunks=5)
    with pytest.raises(InvalidInputError, match=refused.format("g")):
        fastad.dask.evaluate(source, score_columns="score", group_columns="g")


def test_a_detector_is_not_fitted_to_samples_without_a_label() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    X = np.random.default_rng(0).normal(size=(40, 2))
    detector = ThresholdedDetector(ensemble.IsolationForest(n_estimators=5), pos_label="a")
    for missing in (None, NAN):
        with pytest.raises(InvalidInputError, match=r"^y must not have missing values; found 20"):
            detector.fit(X, ["a", missing] * 20)
