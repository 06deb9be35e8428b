"""Detectors of a command: loaded or fitted, on the features of a file."""

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import typer

from fastad._core.extras import import_extra, missing_extra
from fastad._core.types import AnyVector, FloatMatrix
from fastad._tables.columnar import ArrayArchive
from fastad._tables.columns import Labels, Numbers, Role, convert
from fastad._tables.errors import TableError, reading
from fastad._tables.table import Table, located
from fastad.cli._console import DataError, data_from, warnings_as_messages
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError, InvalidTypeError

# Detectors by name: module and class of scikit-learn, options, and whether they are random.
_DETECTORS: Mapping[str, tuple[str, str, Mapping[str, Any], bool]] = {
    "iforest": ("ensemble", "IsolationForest", {}, True),
    "knn": ("neighbors", "NearestNeighbors", {}, False),
    "lof": ("neighbors", "LocalOutlierFactor", {"novelty": True}, False),
    "mahalanobis": ("covariance", "EllipticEnvelope", {}, True),
    "ocsvm": ("svm", "OneClassSVM", {}, False),
}


@dataclass(frozen=True, slots=True)
class FeatureColumns:
    """Columns of files of points."""

    # None for those that a detector was fitted on, or all others.
    features: Sequence[str] | None
    # None for ``y`` where there is one.
    label: str | None
    pos_label: str | None


@dataclass(frozen=True, slots=True)
class Detectors:
    """Detectors and their sources."""

    models: Sequence[Path]
    # Whether files of models may run code.
    trust: bool
    names: Sequence[str]
    # File of the rows to fit on; None for the normal rows of the data.
    train: Path | None
    standardize: bool


@dataclass(frozen=True, slots=True)
class FeatureOrder:
    """Columns of features in the order in which a detector or another file has them."""

    # None where their names are unknown; and the file with this order.
    names: Sequence[str] = ()
    origin: str = ""
    # File of a detector that is to get the same columns, and does not know their names.
    unnamed: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Samples of a file, the names of the columns (none of a matrix), and 1 for each anomaly."""

    X: FloatMatrix
    names: Sequence[str]
    anomalous: AnyVector = field(default_factory=lambda: np.empty(0, np.uint8))


def check_usage(detectors: Detectors) -> None:
    """Check that detectors are named or may be loaded."""
    if not detectors.models and not detectors.names:
        raise typer.BadParameter("a detector is needed", param_hint="--model or --detector")
    if detectors.models and not detectors.trust:
        raise typer.BadParameter(
            f"loading {detectors.models[0]} runs whatever code is in it; if you know where it "
            "comes from, add --trust",
            param_hint="--model",
        )
    for name in detectors.names:
        if name not in _DETECTORS:
            raise typer.BadParameter(
                f"must be one of {', '.join(_DETECTORS)}; found {name!r}", param_hint="--detector"
            )


def load(path: Path) -> Any:
    """Load a fitted detector. This runs the code in the file."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    joblib = import_extra("joblib", "--model", extra="sklearn")
    with warnings_as_messages(), reading(path, "the detector"):
        return joblib.load(path)


def unfitted(name: str, seed: int, *, standardize: bool) -> Any:
    """Return a detector of scikit-learn by its name."""
    if importlib.util.find_spec("sklearn") is None:
        raise missing_extra("--detector", "scikit-learn", extra="sklearn")
    module, class_name, options, is_random = _DETECTORS[name]
    seeded = {"random_state": seed} if is_random else {}
    kind = getattr(importlib.import_module(f"sklearn.{module}"), class_name)
    detector = kind(**options, **seeded)
    if not standardize:
        return detector
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), detector)


def make_scorers(
    path: Path,
    data: Features,
    loaded: Mapping[str, Any],
    detectors: Detectors,
    X_train: FloatMatrix,
    seed: int,
) -> dict[str, CompiledScorer]:
    """Compile loaded detectors, and those named once they are fitted; check their features."""
    scorers = {name: _compiled(name, fitted) for name, fitted in loaded.items()}
    for name in detectors.names:
        detector = unfitted(name, seed, standardize=detectors.standardize)
        try:
            fitted = detector.fit(X_train)
        except ValueError as error:
            raise DataError(f"{name} cannot be fitted: {error}") from None
        scorers[name] = _compiled(name, fitted)
    for name, scorer in scorers.items():
        if scorer.n_features != data.X.shape[1]:
            raise DataError(
                f"{path}: there are {data.X.shape[1]} features; {name} was fitted on "
                f"{scorer.n_features}"
            )
    return scorers


def _compiled(name: str, fitted: Any) -> CompiledScorer:
    try:
        return compile_scorer(fitted)
    # About the file, and not about the option --detector.
    except (InvalidInputError, InvalidTypeError) as error:
        raise DataError(f"{name}: {error}") from None


def fitted_order(columns: FeatureColumns, loaded: Mapping[str, Any]) -> FeatureOrder:
    """Return the columns that loaded detectors were fitted on, as far as they know them."""
    named, unnamed = {}, ""
    for model, fitted in loaded.items():
        names = [str(name) for name in getattr(fitted, "feature_names_in_", ())]
        if names:
            named[model] = names
        else:
            unnamed = unnamed or model
    if columns.features is not None:
        for model, names in named.items():
            _check_order(columns.features, model, names)
        return FeatureOrder()
    first = next(iter(named), "")
    for model, names in named.items():
        if names != named[first]:
            raise DataError(
                "detectors must be fitted on the same columns in the same order; found "
                f"{_quoted(named[first])} of {first}, and {_quoted(names)} of {model}"
            )
    return FeatureOrder(named.get(first, ()), first, unnamed)


def _check_order(features: Sequence[str], model: str, names: Sequence[str]) -> None:
    """Check that no column takes the place of another that a detector knows.

    Columns may have new names.
    """
    if any(new != old and new in names for new, old in zip(features, names, strict=False)):
        raise typer.BadParameter(
            f"{model} was fitted on {_quoted(names)}; found {_quoted(features)}",
            param_hint="--feature",
        )


def read_train(
    detectors: Detectors,
    path: Path,
    data: Features,
    order: FeatureOrder,
    read: Callable[[Path, FeatureOrder], Features],
) -> Features:
    """Read the file to train on, with the columns that the data have."""
    assert detectors.train is not None
    train = read(detectors.train, FeatureOrder(data.names, str(path)) if data.names else order)
    if train.X.shape[1] != data.X.shape[1]:
        raise DataError(
            f"{detectors.train}: there are {train.X.shape[1]} features, in {path} {data.X.shape[1]}"
        )
    return train


def read_features(
    columns: FeatureColumns, path: Path, order: FeatureOrder, *, need_label: bool
) -> Features:
    """Read features only, whatever the labels are."""
    table = Table(path)
    if need_label and columns.label is not None:
        table.check([columns.label], "label_column")
    label = columns.label or "y"
    labels = [label] if label in table.names and label not in (columns.features or ()) else []
    names = _features_in(path, table, columns, labels, order)
    if columns.label in names:
        raise DataError(f"{path}: column {label!r} is the label, and cannot be a feature")
    return Features(*_stack(path, _read(table, dict.fromkeys(names, Numbers()))))


def read_samples(columns: FeatureColumns, path: Path, order: FeatureOrder) -> Features:
    """Read features and labels; without labels all rows are normal."""
    table = Table(path)
    label = _label_in(table, columns)
    labels = [] if label is None else [label]
    table.check(labels, "label_column")
    features = _features_in(path, table, columns, labels, order)
    roles: dict[str, Role] = dict.fromkeys(features, Numbers())
    with data_from(path):
        read = _read(table, {**roles, **dict.fromkeys(labels, Labels(columns.pos_label))})
    X, names = _stack(path, {name: read[name] for name in features})
    if label is None:
        return Features(X, names, np.zeros(X.shape[0], np.uint8))
    anomalous = read[label]
    if anomalous.shape[0] != X.shape[0]:
        raise DataError(f"{path}: {X.shape[0]} rows of features, {anomalous.shape[0]} labels")
    if columns.pos_label is not None and not anomalous.any():
        raise DataError(f"{path}: column {label!r} has no label {columns.pos_label!r}")
    if anomalous.all():
        raise DataError(f"{path}: there are no normal rows")
    return Features(X, names, anomalous)


def _read(table: Table, roles: Mapping[str, Role]) -> dict[str, AnyVector]:
    """Read columns, or arrays of an archive that may be matrices."""
    if table.archive is None:
        return table.read(roles)
    arrays = {}
    for name, role in roles.items():
        with located(table.title, name, "row {}".format):
            # Labels are a vector.
            if isinstance(role, Labels):
                array = next(table.archive.cells([name]))[name]
            else:
                array = table.archive.array(name)
            arrays[name] = convert(array, role)
    return arrays


def _label_in(table: Table, columns: FeatureColumns) -> str | None:
    """Return the column of the labels, which may be absent if no option names it."""
    if columns.label is not None or columns.pos_label is not None:
        return columns.label or "y"
    return "y" if "y" in table.names and "y" not in (columns.features or ()) else None


def _features_in(
    path: Path, table: Table, columns: FeatureColumns, labels: Sequence[str], order: FeatureOrder
) -> Sequence[str]:
    """Return the columns of the features: the ones named, in a known order, or all others."""
    features = columns.features or _ordered(path, table, labels, order) or _others(table, labels)
    table.check(features, "features")
    if not features:
        raise DataError(f"{path}: there is no column of features")
    return features


def _ordered(
    path: Path, table: Table, labels: Sequence[str], order: FeatureOrder
) -> Sequence[str] | None:
    """Return the columns of a known order; None where the file or the order has no names."""
    missing = [name for name in order.names if name not in table.names]
    if missing:
        # Columns of a matrix have no names.
        if table.archive is not None and "X" in table.names:
            return None
        raise DataError(
            f"{path}: there are {len(_others(table, labels))} features, in {order.origin} "
            f"{len(order.names)}; missing are {_quoted(missing)}"
        )
    if order.unnamed:
        same = [name for name in _others(table, labels) if name in order.names]
        if same != list(order.names):
            raise DataError(
                f"{path}: {order.origin} was fitted on {_quoted(order.names)}; {order.unnamed} "
                "does not know their order; give it with --feature"
            )
    return order.names or None


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _others(table: Table, labels: Sequence[str]) -> list[str]:
    """Return all columns beside the labels; of an archive its matrix ``X``, if there is one."""
    names = [name for name in table.names if name not in labels]
    if table.archive is None:
        return [name for name in names if table.kind(name) != "other"]
    if "X" in names:
        return ["X"]
    if labels:
        # Labels that are not used may be unreadable.
        with suppress(DataError, TableError):
            alike = _alike(table.archive, names, labels[0])
            if alike:
                return alike
    # As long as the first array, which takes the place of the labels.
    return [*names[:1], *_alike(table.archive, names[1:], names[0])] if names else []


def _alike(archive: ArrayArchive, names: Sequence[str], first: str) -> list[str]:
    """Return the arrays of numbers of the shape of a first one."""
    return [name for name, reason in archive.left_out(names, first).items() if not reason]


def _stack(path: Path, columns: Mapping[str, AnyVector]) -> tuple[FloatMatrix, Sequence[str]]:
    """Join columns, and matrices of several, to one matrix; return the names of columns, if any."""
    parts = []
    for name, column in columns.items():
        if column.dtype.kind not in "biuf" or column.ndim not in (1, 2) or column.size == 0:
            raise DataError(
                f"{path}: column {name!r} must contain numbers; found {column.dtype} of shape "
                f"{column.shape}"
            )
        part = column.astype(np.float64).reshape(column.shape[0], -1)
        invalid = ~np.isfinite(part).all(axis=1)
        if invalid.any():
            raise DataError(
                f"{path}: column {name!r} must contain finite numbers; found "
                f"{np.count_nonzero(invalid)} others, the first in row {int(np.argmax(invalid))}"
            )
        parts.append(part)
    if len({part.shape[0] for part in parts}) > 1:
        raise DataError(f"{path}: the columns of the features must be of one length")
    named = all(column.ndim == 1 for column in columns.values())
    return np.concatenate(parts, axis=1), list(columns) if named else []
