"""Frames are matched to detectors by the names of their columns, whichever function has both."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import IsolationForest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import fastad
from fastad.plot import DecisionRegionDisplay, MassVolumeCurveDisplay, VolumeCurveDisplay

X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)) * [1, 9], columns=["a", "b"])
OTHERS = X[["b", "a"]]
FOREST = IsolationForest(n_estimators=5, random_state=0)
DETECTORS: dict[str, Any] = {
    "neighbours": fastad.detectors.KNNDetector(2).fit(X),
    "detector": FOREST.fit(X),
    "pipeline": make_pipeline(StandardScaler(), OneClassSVM(gamma=0.3)).fit(X),
    "search": GridSearchCV(FOREST, {"n_estimators": [5]}, scoring=lambda *_: 0.0, cv=2).fit(X),
}
FEW: dict[str, Any] = {"n_draws": 200, "rng": 0}


def volumes(detector: Any, rows: Any) -> object:
    found = fastad.volumes({"a": detector}, rows, np.zeros(60), fpr=0.1, method="uniform", **FEW)
    return found["a"]["vol@0.1"].value


def evaluate_unsupervised(detector: Any, rows: Any) -> object:
    both = {"a": detector, "other": lambda points: np.hypot(*points.T)}
    found = fastad.evaluate_unsupervised(both, rows, n_resamples=20, method="uniform", **FEW)
    return found.to_json()


def level_sets(detector: Any, rows: Any) -> object:
    return fastad.unsupervised.level_sets(detector, rows, method="uniform", **FEW).n_test


def compiled(detector: Any, rows: Any) -> object:
    return fastad.compile_scorer(detector).score_samples(rows).tolist()


def compiled_volumes(detector: Any, rows: Any) -> object:
    return volumes(fastad.compile_scorer(detector).score_samples, rows)


def region(detector: Any, rows: Any) -> object:
    shown = DecisionRegionDisplay.from_estimator(
        detector, rows, fpr=0.1, resolution=5, volume_kw={"method": "uniform", **FEW}
    )
    return shown.ax_.get_title()


def curve(detector: Any, rows: Any) -> object:
    options: dict[str, Any] = {"volume_kw": {"n_draws": 10_000, "rng": 0}}
    return VolumeCurveDisplay.from_estimator(detector, rows, **options).ax_.get_title()


def mass_volume(detector: Any, rows: Any) -> object:
    options = {"method": "uniform", **FEW}
    return MassVolumeCurveDisplay.from_estimator(detector, rows, level_sets_kw=options) is None


ROADS = [
    *(volumes, evaluate_unsupervised, level_sets, compiled, compiled_volumes),
    *(region, curve, mass_volume),
]


@pytest.mark.parametrize("kind", DETECTORS)
@pytest.mark.parametrize("road", ROADS)
def test_columns_in_another_order_are_refused(
    road: Callable[[Any, Any], object], kind: str
) -> None:
    with pytest.raises(
        fastad.InvalidInputError, match=r"was fitted on, in their order; found 2 .*'b' in place"
    ):
        road(DETECTORS[kind], OTHERS)


@pytest.mark.parametrize("road", ROADS)
def test_the_same_columns_and_arrays_are_taken(road: Callable[[Any, Any], object]) -> None:
    expected = road(DETECTORS["pipeline"], X)
    assert road(DETECTORS["pipeline"], X.to_numpy()) == expected
    numbered = X.set_axis([0, 1], axis=1)
    assert road(DETECTORS["pipeline"], numbered) == expected


def test_a_detector_of_fastad_itself_compares_columns_too() -> None:
    with pytest.raises(fastad.InvalidInputError, match="in their order; found 2 others"):
        DETECTORS["neighbours"].score_samples(OTHERS)


@pytest.mark.parametrize("kind", ["bool", "boolean", "Int64", "int8", "uint8", "Float32"])
def test_columns_of_several_types_are_numbers(kind: str) -> None:
    # As of pandas.get_dummies beside measurements.
    values = np.arange(60) % 2
    mixed = X.assign(b=pd.Series(values).astype(kind))
    expected = X.assign(b=values.astype(float)).to_numpy()
    assert compiled(DETECTORS["detector"], mixed) == compiled(DETECTORS["detector"], expected)
    assert volumes(DETECTORS["detector"], mixed) == volumes(DETECTORS["detector"], expected)
    assert np.array_equal(fastad.Box.from_data(mixed).high, fastad.Box.from_data(expected).high)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (["x"] * 60, "X must contain numbers; found .* in column 'b'"),
        (pd.array([1] * 59 + [None], "Int64"), "missing values; found 1|finite numbers; found"),
    ],
)
def test_a_column_without_numbers_is_named(column: Any, message: str) -> None:
    for road in (compiled, volumes):
        with pytest.raises(fastad.InvalidInputError, match=message):
            road(DETECTORS["detector"], X.assign(b=column))
    with pytest.raises(fastad.InvalidInputError, match=message):
        fastad.Box.from_data(X.assign(b=column))


def test_frames_of_polars_have_columns_too() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({name: X[name].to_numpy() for name in X})
    assert compiled(DETECTORS["detector"], frame) == compiled(DETECTORS["detector"], X)
    with pytest.raises(fastad.InvalidInputError, match="in their order"):
        compiled(DETECTORS["detector"], frame.select("b", "a"))


def test_samples_have_the_columns_of_those_that_train() -> None:
    options: dict[str, Any] = {"n_features": 1, "n_subspaces": 2, "n_resamples": 20, **FEW}
    with pytest.raises(fastad.InvalidInputError, match="X must have the columns of X_train"):
        fastad.evaluate_unsupervised({"a": FOREST, "b": FOREST}, OTHERS, X_train=X, **options)
