"""Detectors of a command: loaded or fitted, on the features of a file."""

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from fastad._core.types import FloatMatrix, Label
from fastad.cli._console import DataError, say
from fastad.cli.readers import need_once, open_source, typed
from fastad.cli.readers.arrays import ArrayArchive
from fastad.cli.readers.source import Column, Source, reading
from fastad.detectors.compilation import compile_scorer
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError, MissingExtraError
from fastad.ordering.labels import check_labels

# Detectors by name: module and class of scikit-learn, options, and whether they draw lots.
_DETECTORS: Mapping[str, tuple[str, str, Mapping[str, Any], bool]] = {
    "iforest": ("ensemble", "IsolationForest", {}, True),
    "knn": ("neighbors", "NearestNeighbors", {}, False),
    "lof": ("neighbors", "LocalOutlierFactor", {"novelty": True}, False),
    "mahalanobis": ("covariance", "EllipticEnvelope", {}, True),
    "ocsvm": ("svm", "OneClassSVM", {}, False),
}


@dataclass(frozen=True, slots=True)
class Columns:
    """Columns of the files.

    Attributes
    ----------
    features : sequence of str or None
        Columns of the features; None for those that the detector knows, or all others.
    label : str or None
        Column of the labels; None for ``y`` where there is one.
    pos_label : str or None
        Label of the anomalies.
    """

    features: Sequence[str] | None
    label: str | None
    pos_label: str | None


@dataclass(frozen=True, slots=True)
class Detectors:
    """Which detectors, and where they come from.

    Attributes
    ----------
    models : sequence of Path
        Files of fitted detectors.
    trust : bool
        Whether the user says that these files may run code.
    names : sequence of str
        Detectors to fit.
    train : Path or None
        File of the rows to fit on; None for the normal rows of the data.
    standardize : bool
        Whether to standardise the features before fitting.
    """

    models: Sequence[Path]
    trust: bool
    names: Sequence[str]
    train: Path | None
    standardize: bool


@dataclass(frozen=True, slots=True)
class Order:
    """Columns of features in the order in which detectors or another file have them.

    Attributes
    ----------
    names : sequence of str
        The columns; none where nobody has kept their names.
    whose : str
        File that has them so.
    nameless : str
        File of a detector that is to get the same columns, and has kept no names.
    """

    names: Sequence[str] = ()
    whose: str = ""
    nameless: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """Points of a file: a row for each, and the names of the columns; none of a matrix."""

    X: FloatMatrix
    names: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Samples(Features):
    """Points of a file, and 1 where one is an anomaly."""

    anomalous: Column


def check_usage(detectors: Detectors) -> None:
    """Check that detectors are named or may be loaded."""
    if not detectors.models and not detectors.names:
        raise typer.BadParameter("a detector is needed", param_hint="--model or --detector")
    if detectors.models and not detectors.trust:
        raise typer.BadParameter(
            f"loading {detectors.models[0]} runs whatever code it holds; if you know where it "
            "comes from, add --trust",
            param_hint="--model",
        )
    for name in detectors.names:
        if name not in _DETECTORS:
            raise typer.BadParameter(
                f"it must be one of {', '.join(_DETECTORS)}; found {name!r}",
                param_hint="--detector",
            )
    if not detectors.names and (detectors.train is not None or detectors.standardize):
        option = "--standardize" if detectors.train is None else "--train"
        raise typer.BadParameter("there is no --detector to fit", param_hint=option)


def load(path: Path) -> Any:
    """Load a fitted detector. This runs the code in the file."""
    if not path.is_file():
        raise DataError(f"{path}: there is no such file")
    try:
        import joblib
    except ModuleNotFoundError:
        raise MissingExtraError("--model needs joblib: pip install 'fastad[sklearn]'") from None
    with remarks(), reading(path, "the detector"):
        return joblib.load(path)


def unfitted(name: str, seed: int, *, standardize: bool) -> Any:
    """Return a detector of scikit-learn by its name."""
    if importlib.util.find_spec("sklearn") is None:
        raise MissingExtraError("--detector needs scikit-learn: pip install 'fastad[sklearn]'")
    module, kind, options, draws = _DETECTORS[name]
    seeded = {"random_state": seed} if draws else {}
    detector = getattr(importlib.import_module(f"sklearn.{module}"), kind)(**options, **seeded)
    if not standardize:
        return detector
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return make_pipeline(StandardScaler(), detector)


def fit(name: str, X: FloatMatrix, seed: int, *, standardize: bool) -> CompiledScorer:
    """Fit a detector by its name, and compile it."""
    detector = unfitted(name, seed, standardize=standardize)
    try:
        with remarks():
            fitted = detector.fit(X)
    except ValueError as error:
        raise DataError(f"{name} cannot be fitted: {error}") from None
    return compile_named(name, fitted)


def compile_named(name: str, fitted: Any) -> CompiledScorer:
    """Compile a fitted detector."""
    try:
        with remarks():
            return compile_scorer(fitted)
    except InvalidInputError as error:
        raise DataError(f"{name}: {error}") from None


def known_order(columns: Columns, loaded: Mapping[str, Any]) -> Order:
    """Return the columns that loaded detectors were fitted on, as far as these say so."""
    named, nameless = {}, ""
    for model, fitted in loaded.items():
        names = [str(name) for name in getattr(fitted, "feature_names_in_", ())]
        if names:
            named[model] = names
        else:
            nameless = nameless or model
    if columns.features is not None:
        for model, names in named.items():
            _check_places(columns.features, model, names)
        return Order()
    first = next(iter(named), "")
    for model, names in named.items():
        if names != named[first]:
            raise DataError(
                "detectors must be fitted on the same columns in the same order; found "
                f"{_listed(named[first])} of {first}, and {_listed(names)} of {model}"
            )
    return Order(named.get(first, ()), first, nameless)


def _check_places(features: Sequence[str], model: str, names: Sequence[str]) -> None:
    """Check that no column stands where a detector knows another. New names may be given."""
    if any(one != other and one in names for one, other in zip(features, names, strict=False)):
        raise typer.BadParameter(
            f"{model} was fitted on {_listed(names)}; found {_listed(features)}",
            param_hint="--feature",
        )


def order_to_train(path: Path, data: Features, order: Order) -> Order:
    """Return the columns that a file to train on must have: those of the data."""
    return Order(data.names, str(path)) if data.names else order


def read_features(path: Path, columns: Columns, order: Order, *, need_label: bool) -> Features:
    """Read features only: labels may hold anything."""
    source = open_source(path)
    if need_label and columns.label is not None:
        need_once(path, source, [columns.label])
    label = columns.label or "y"
    labels = [label] if label in source.names and label not in (columns.features or ()) else []
    names = _features_in(path, source, columns, labels, order)
    if columns.label in names:
        raise DataError(f"{path}: column {label!r} is the label, and cannot be a feature")
    return Features(*_stack(path, source.numbers(names)))


def read_samples(path: Path, columns: Columns, order: Order) -> Samples:
    """Read features and labels; without labels all rows are normal."""
    source = open_source(path)
    label = _label_in(source, columns)
    labels = [] if label is None else [label]
    need_once(path, source, labels)
    features = _features_in(path, source, columns, labels, order)
    pos_label: Label | None = None
    if columns.pos_label is None:
        numbers = source.numbers([*labels, *features])
        y_true = None if label is None else numbers[label]
    else:
        numbers = source.numbers(features)
        y_true = source.values(labels[0])
        pos_label = typed(columns.pos_label, y_true, f"{path}: the labels {labels[0]!r}")
    X, names = _stack(path, {name: numbers[name] for name in features})
    if y_true is None:
        return Samples(X, names, np.zeros(X.shape[0], np.uint8))
    try:
        anomalous = check_labels(y_true, pos_label=pos_label).values
    except InvalidInputError as error:
        about = str(error).removeprefix("y_true").replace("pos_label=", "--pos-label")
        raise DataError(f"{path}: column {label!r}{about}") from None
    if anomalous.shape[0] != X.shape[0]:
        raise DataError(f"{path}: {X.shape[0]} rows of features, {anomalous.shape[0]} labels")
    if columns.pos_label is not None and not anomalous.any():
        raise DataError(f"{path}: column {label!r} has no label {columns.pos_label!r}")
    if anomalous.all():
        raise DataError(f"{path}: there are no normal rows")
    return Samples(X, names, anomalous)


def _label_in(source: Source, columns: Columns) -> str | None:
    """Return the column of the labels, which may be absent where nobody asks for it."""
    if columns.label is not None or columns.pos_label is not None:
        return columns.label or "y"
    return "y" if "y" in source.names and "y" not in (columns.features or ()) else None


def _features_in(
    path: Path, source: Source, columns: Columns, labels: Sequence[str], order: Order
) -> Sequence[str]:
    """Return the columns of the features: those named, those of the order, or all others."""
    features = columns.features or _ordered(path, source, labels, order) or _others(source, labels)
    need_once(path, source, features)
    if not features:
        raise DataError(f"{path}: there is no column of features")
    return features


def _ordered(
    path: Path, source: Source, labels: Sequence[str], order: Order
) -> Sequence[str] | None:
    """Return the columns of an order; None where there are no names to go by."""
    missing = [name for name in order.names if name not in source.names]
    if missing:
        # Columns of a matrix have no names.
        if isinstance(source, ArrayArchive) and "X" in source.names:
            return None
        raise DataError(
            f"{path}: there are {len(_others(source, labels))} features, in {order.whose} "
            f"{len(order.names)}; missing are {_listed(missing)}"
        )
    if order.nameless:
        here = [name for name in _others(source, labels) if name in order.names]
        if here != list(order.names):
            raise DataError(
                f"{path}: {order.whose} was fitted on {_listed(order.names)}; {order.nameless} "
                "does not say in which order it knows them; say it with --feature"
            )
    return order.names or None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _others(source: Source, labels: Sequence[str]) -> list[str]:
    """Return all columns beside the labels; of an archive its matrix ``X``, if there is one."""
    if not isinstance(source, ArrayArchive):
        return source.candidates(labels)
    if "X" in source.names:
        return ["X"]
    if labels:
        # Whoever does not need the labels may have a file in which they cannot be read.
        with suppress(DataError):
            found = source.candidates(labels)
            if found:
                return found
    # As long as the first array, which stands for the labels here.
    first = [name for name in source.names if name not in labels][:1]
    return [*first, *source.candidates([*first, *labels])] if first else []


def _stack(path: Path, columns: Mapping[str, Column]) -> tuple[FloatMatrix, Sequence[str]]:
    """Put columns, and matrices of several, side by side; return their names if there are such."""
    parts = []
    for name, column in columns.items():
        if column.dtype.kind not in "biuf" or column.ndim not in (1, 2) or column.size == 0:
            raise DataError(
                f"{path}: column {name!r} must hold numbers; found {column.dtype} of shape "
                f"{column.shape}"
            )
        part = column.astype(np.float64).reshape(column.shape[0], -1)
        odd = ~np.isfinite(part).all(axis=1)
        if odd.any():
            raise DataError(
                f"{path}: column {name!r} must hold finite numbers; found "
                f"{np.count_nonzero(odd)} others, the first in row {int(np.argmax(odd))}"
            )
        parts.append(part)
    if len({part.shape[0] for part in parts}) > 1:
        raise DataError(f"{path}: the columns of the features must be equally long")
    named = all(column.ndim == 1 for column in columns.values())
    return np.concatenate(parts, axis=1), list(columns) if named else []


def check_width(one: Path, train: Features, other: Path, data: Features) -> None:
    """Check that two files have equally many features."""
    if train.X.shape[1] != data.X.shape[1]:
        raise DataError(
            f"{one}: there are {train.X.shape[1]} features, in {other} {data.X.shape[1]}"
        )


def check_known(path: Path, data: Features, scorers: Mapping[str, CompiledScorer]) -> None:
    """Check that detectors were fitted on as many features as there are."""
    for name, scorer in scorers.items():
        if scorer.n_features != data.X.shape[1]:
            raise DataError(
                f"{path}: there are {data.X.shape[1]} features; {name} was fitted on "
                f"{scorer.n_features}"
            )


def bad_option(error: Exception, options: Collection[str], path: Path) -> Exception:
    """Return what to raise for an error of a function: about an option, or about the data."""
    message = str(error)
    for name in options:
        if message.startswith((f"{name} ", f"{name}=")):
            return typer.BadParameter(message, param_hint=f"--{name.replace('_', '-')}")
    return DataError(f"{path}: {message}")


@contextmanager
def shown_progress(what: str = "points") -> Iterator[Callable[[int, int | None], object]]:
    """Show how many points, or what else, are done, where somebody sees it."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, wanted: bar.update(task, completed=done, total=wanted)


@contextmanager
def remarks() -> Iterator[None]:
    """Print warnings of libraries as messages."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for message in dict.fromkeys(str(one.message) for one in caught):
        say(f"Warning: {' '.join(message.split())}")
