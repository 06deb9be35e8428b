"""Data of goix's benchmark: which sets, and which rows train, test and evaluate."""

import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import check_rows
from fastad._core.parameters import check_choice, check_count, check_flag, check_inside, refused
from fastad._core.types import ArrayLike, FloatMatrix, IntVector, LabelVector, Point
from fastad.detectors.scorer import check_samples
from fastad.errors import InvalidInputError
from fastad.ordering.labels import check_labels

Setting: TypeAlias = Literal["novelty", "unsupervised"]
SETTINGS: tuple[Setting, ...] = ("novelty", "unsupervised")

# Nine of the paper's twelve sets, and their files.
FILES = {
    "adult": "goix/adult.npz",
    "http": "adbench/http.npz",
    "pima": "adbench/Pima.npz",
    "arrhythmia": "goix/arrhythmia.npz",
    "forestcover": "adbench/cover.npz",
    "ionosphere": "adbench/Ionosphere.npz",
    "pendigits": "adbench/pendigits.npz",
    "shuttle": "adbench/shuttle.npz",
    "spambase": "adbench/SpamBase.npz",
}


@dataclass(frozen=True, slots=True)
class GoixProtocol:
    """Treatment of data in goix's benchmark; the defaults are the paper's where it says.

    Attributes
    ----------
    min_distinct : int
        Features with fewer distinct values are dropped.
    max_anomaly_fraction : float
        Largest fraction of anomalies in the unsupervised setting; further ones are left out at
        random.
    standardize : bool
        Whether each feature is divided by its deviation in the training rows. The paper's text
        does not say it, but its code does it, and its printed volumes are in such units.
    max_train, max_test : int or None
        Training and test rows at most, the first ones of the shuffled halves. The one-class SVM
        needs a time of the square of its training rows.
    max_direct : int
        Features up to which EM and MV use all features together, in one box.
    n_subspaces, n_features : int
        Beyond that: random subspaces, and features of each.
    n_uniform : int
        Uniform points, of a box or of each subspace.
    n_resamples : int
        Bootstrap replicates, of points or of subspaces.
    confidence_level : float
        Confidence level of each interval; family-wise for the comparisons on one data set.
    """

    min_distinct: int = 10
    max_anomaly_fraction: Point = 0.1
    standardize: bool = True
    max_train: int | None = 10_000
    max_test: int | None = 20_000
    max_direct: int = 8
    n_subspaces: int = 50
    n_features: int = 5
    n_uniform: int = 100_000
    n_resamples: int = 1000
    confidence_level: Point = 0.95

    def __post_init__(self) -> None:
        for option in fields(self):
            value = getattr(self, option.name)
            if option.name in ("max_anomaly_fraction", "confidence_level"):
                # As the manifest has them, which has no other numbers.
                value = float(check_inside(value, option.name))
            elif option.name == "standardize":
                value = check_flag(value, option.name)
            elif value is not None or option.name not in ("max_train", "max_test"):
                value = check_count(value, option.name)
            object.__setattr__(self, option.name, value)


class GoixSplit(NamedTuple):
    """Rows of a data set in one setting."""

    X_train: FloatMatrix
    # For ROC and PR, with 1 for anomalies.
    X_test: FloatMatrix
    y_test: LabelVector
    # For EM and MV: the test rows, in the novelty setting only the normal ones.
    evaluated: FloatMatrix


def load_goix(
    folder: str | os.PathLike[str], names: Iterable[str] = tuple(FILES)
) -> dict[str, tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
    """Read data sets of goix's benchmark.

    Nine of its twelve; the others are smtp, wilt and annthyroid.

    Parameters
    ----------
    folder : path
        Contains ``goix/adult.npz``, ``goix/arrhythmia.npz``, and of ADBench ``adbench/http.npz``,
        ``Pima``, ``cover``, ``Ionosphere``, ``pendigits``, ``shuttle`` and ``SpamBase``, each
        with arrays ``X`` and ``y``, 1 for an anomaly.
    names : iterable of str, optional
        Data sets to read: ``adult``, ``http``, ``pima``, ``arrhythmia``, ``forestcover``,
        ``ionosphere``, ``pendigits``, ``shuttle``, ``spambase``; by default all.

    Returns
    -------
    dict of str to (X, y)
        Data sets in the order of ``names``.

    Raises
    ------
    InvalidInputError
        If a name is unknown, or files are missing; the message names them all.
    """
    folders = {check_choice(name, tuple(FILES), "names"): Path(folder) for name in names}
    paths = {name: root / FILES[name] for name, root in folders.items()}
    missing = [FILES[name] for name, path in paths.items() if not path.is_file()]
    if missing:
        raise InvalidInputError(
            f"folder must contain the files of all data sets; {os.fspath(folder)} lacks "
            f"{', '.join(missing)}"
        )
    arrays = {}
    for name, path in paths.items():
        with np.load(path, allow_pickle=False) as file:
            arrays[name] = file["X"], file["y"]
    return arrays


def split_goix(
    X: ArrayLike,
    y: ArrayLike,
    setting: Setting,
    *,
    protocol: GoixProtocol,
    rng: np.random.Generator,
) -> GoixSplit:
    """Cut a data set as the paper does.

    Features with few distinct values are dropped, surplus anomalies left out (unsupervised), rows
    shuffled; the first half trains, without its anomalies (novelty), the second half tests. It is
    an `InvalidInputError` if no feature or no row is left.
    """
    check_choice(setting, SETTINGS, "setting")
    samples = check_samples(X, None).astype(np.float64)
    labels = check_labels(y).values
    if labels.shape[0] != samples.shape[0]:
        raise refused("y", f"have a label for each of the {samples.shape[0]} rows", labels.shape[0])
    check_rows({"y": y, "X": X})
    kept = [np.unique(column).shape[0] >= protocol.min_distinct for column in samples.T]
    if not any(kept):
        raise refused(
            "X", f"have a feature with at least {protocol.min_distinct} distinct values", "none"
        )
    rows = np.arange(samples.shape[0])
    if setting == "unsupervised":
        rows = _without_surplus(labels, protocol.max_anomaly_fraction, rng)
    order = rng.permutation(rows)
    half = order.shape[0] // 2
    train, test = order[:half], order[half:]
    if setting == "novelty":
        train = train[labels[train] == 0]
    train, test = train[: protocol.max_train], test[: protocol.max_test]
    evaluated = test if setting == "unsupervised" else test[labels[test] == 0]
    for left, name in ((train, "train on"), (evaluated, "evaluate on")):
        if left.shape[0] == 0:
            raise refused("X", f"leave rows to {name}", "none")
    table = samples[:, kept]
    if protocol.standardize:
        table = _standardized(table, table[train])
    return GoixSplit(table[train], table[test], labels[test], table[evaluated])


def _without_surplus(
    labels: LabelVector, max_fraction: Point, rng: np.random.Generator
) -> IntVector:
    """Return the rows that remain where anomalies beyond a fraction are left out at random."""
    normals, anomalies = (np.flatnonzero(labels == label) for label in (0, 1))
    exact = check_inside(max_fraction, "max_anomaly_fraction")
    most = math.floor(exact * normals.shape[0] / (1 - exact))
    if anomalies.shape[0] > most:
        anomalies = rng.permutation(anomalies)[:most]
    # In the order of the data, so that the labels choose rows and nothing more.
    return np.sort(np.concatenate([normals, anomalies]))


def _standardized(rows: FloatMatrix, train: FloatMatrix) -> FloatMatrix:
    """Return rows in units of the training rows; constant features keep their unit."""
    # Not where deviations are 0: equal numbers may have a deviation by rounding.
    units = np.where(np.ptp(train, axis=0) > 0, train.std(axis=0), 1.0)
    scaled: FloatMatrix = (rows - train.mean(axis=0)) / units
    return scaled
