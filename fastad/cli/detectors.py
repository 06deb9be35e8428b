"""Detectors of a command: loaded or fitted, on the features of a file."""

import importlib
import importlib.util
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.progress import Progress

from fastad._types import FloatMatrix, Label
from fastad._validate import check_labels
from fastad.cli._console import DataError, say
from fastad.cli.readers import need_once, open_source, typed
from fastad.cli.readers.arrays import ArrayArchive
from fastad.cli.readers.source import Column, Source, reading
from fastad.compiled.dispatch import compile_scorer
from fastad.compiled.scorer import CompiledScorer
from fastad.errors import InvalidInputError, MissingExtraError

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


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Points of a file: a row for each, and 1 where it is an anomaly."""

    X: FloatMatrix
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


def read_samples(path: Path, columns: Columns, loaded: Mapping[str, Any]) -> Samples:
    """Read features and labels; without labels all rows are normal."""
    source = open_source(path)
    label = _label_in(source, columns)
    labels = [] if label is None else [label]
    need_once(path, source, labels)
    features = columns.features or _known(source, loaded) or _others(source, labels)
    need_once(path, source, features)
    if not features:
        raise DataError(f"{path}: there is no column of features")
    pos_label: Label | None = None
    if columns.pos_label is None:
        numbers = source.numbers([*labels, *features])
        y_true = None if label is None else numbers[label]
    else:
        numbers = source.numbers(features)
        y_true = source.values(labels[0])
        pos_label = typed(columns.pos_label, y_true, f"{path}: the labels {labels[0]!r}")
    X = _stack(path, {name: numbers[name] for name in features})
    if y_true is None:
        return Samples(X, np.zeros(X.shape[0], np.uint8))
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
    return Samples(X, anomalous)


def _label_in(source: Source, columns: Columns) -> str | None:
    """Return the column of the labels, which may be absent where nobody asks for it."""
    if columns.label is not None or columns.pos_label is not None:
        return columns.label or "y"
    return "y" if "y" in source.names and "y" not in (columns.features or ()) else None


def _known(source: Source, loaded: Mapping[str, Any]) -> list[str]:
    """Return the columns that the first detector was fitted on, if it has kept their names."""
    for fitted in loaded.values():
        names = [str(name) for name in getattr(fitted, "feature_names_in_", ())]
        if names and set(names) <= set(source.names):
            return names
    return []


def _others(source: Source, labels: Sequence[str]) -> list[str]:
    """Return all columns beside the labels; of an archive its matrix ``X``, if there is one."""
    if not isinstance(source, ArrayArchive):
        return source.candidates(labels)
    if "X" in source.names:
        return ["X"]
    if labels:
        return source.candidates(labels)
    # As long as the first array, which stands for the labels here.
    first = source.names[:1]
    return [*first, *source.candidates(first)] if first else []


def _stack(path: Path, columns: Mapping[str, Column]) -> FloatMatrix:
    """Put columns, and matrices of several, side by side."""
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
    return np.concatenate(parts, axis=1)


def check_width(one: Path, train: Samples, other: Path, data: Samples) -> None:
    """Check that two files have equally many features."""
    if train.X.shape[1] != data.X.shape[1]:
        raise DataError(
            f"{one}: there are {train.X.shape[1]} features, in {other} {data.X.shape[1]}"
        )


def check_known(path: Path, data: Samples, scorers: Mapping[str, CompiledScorer]) -> None:
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
def shown_progress() -> Iterator[Callable[[int, int | None], object]]:
    """Show how many points are drawn, where somebody sees it."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("points", total=None)
        yield lambda drawn, wanted: bar.update(task, completed=drawn, total=wanted)


@contextmanager
def remarks() -> Iterator[None]:
    """Print warnings of libraries as messages."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        yield
    for message in dict.fromkeys(str(one.message) for one in caught):
        say(f"Warning: {' '.join(message.split())}")
