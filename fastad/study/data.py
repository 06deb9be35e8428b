"""Data sets from files and of scikit-learn: samples, labels, and where given classes and grades."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import set_readonly
from fastad._core.extras import import_extra
from fastad._core.parameters import refused
from fastad._core.text_tables import some_of
from fastad._core.types import FloatMatrix, LabelVector
from fastad._tables.columnar import ArrayArchive
from fastad._tables.columns import Names, Numbers, Role
from fastad._tables.errors import TableError
from fastad._tables.table import Table
from fastad.errors import InvalidInputError

Strings: TypeAlias = npt.NDArray[np.str_]
SUFFIXES = (".npz", ".csv", ".parquet")
# Grades of anomalies, from the Loda benchmark.
DIFFICULTIES = ("easy", "medium", "hard", "very_hard")
# Sums of squares of such numbers do not overflow.
_LARGEST = 1e100
# Columns of a file that are no features.
_NO_FEATURES = ("y", "cls", "difficulty")

# The data sets that come with scikit-learn: names in a study, and its functions.
BUNDLED_COLLECTION = "scikit-learn"
BUNDLED = {
    "breast-cancer": "load_breast_cancer",
    "diabetes": "load_diabetes",
    "digits": "load_digits",
    "iris": "load_iris",
    "wine": "load_wine",
}


@dataclass(frozen=True, slots=True, eq=False)
class LabelledData:
    """A validated data set; its arrays are read-only."""

    # (n_samples, n_features) finite numbers.
    X: FloatMatrix
    # 1 for an anomaly, 0 for a normal row.
    y: LabelVector
    # The class of each row, all normal rows in one.
    classes: Strings | None = None
    # The grade of each anomaly, an empty string for normal rows.
    difficulty: Strings | None = None

    def kept(self, difficulties: Sequence[str], anomaly_class: str | None) -> npt.NDArray[np.bool_]:
        """Return which rows a problem has: normal ones, and anomalies of its grades and class."""
        keep: npt.NDArray[np.bool_] = np.ones(self.y.shape[0], np.bool_)
        if difficulties and self.difficulty is not None:
            keep &= np.isin(self.difficulty, difficulties)
        if anomaly_class is not None:
            keep &= self.classes == anomaly_class
        keep |= self.y == 0
        return keep

    def digest(self) -> str:
        """Return the SHA-256 of the content, independent of the kind of file."""
        digest = hashlib.sha256(json.dumps(self.X.shape).encode())
        digest.update(np.ascontiguousarray(self.X, "<f8").data)
        digest.update(self.y.data)
        for names in (self.classes, self.difficulty):
            digest.update(json.dumps(None if names is None else names.tolist()).encode())
        return digest.hexdigest()


def read_data(path: Path) -> LabelledData:
    """Read a data set from a file.

    A ``.npz`` file has arrays ``X`` and ``y``, a ``.csv`` or ``.parquet`` file a column ``y`` and
    features. ``cls``, the class of each row, and ``difficulty``, the grade of each anomaly, are
    optional in each. An `InvalidInputError` names the file and the value at fault; rows and columns
    without names count from 0.
    """
    try:
        read = _from_arrays if path.suffix.lower() == ".npz" else _from_table
        return read(path)
    except TableError:
        raise
    except InvalidInputError as error:
        raise InvalidInputError(f"{path}: {error}", argument=error.item) from error.__cause__


def load_bundled(name: str) -> LabelledData:
    """Read a data set that comes with scikit-learn, by its name in `BUNDLED`.

    ``breast-cancer``: malignant tumours are the anomalies. ``diabetes``, a regression: anomalies
    are the tenth of the patients whose disease has progressed furthest, those above the 90th
    percentile of the target. ``digits``, ``iris`` and ``wine``: the largest class is normal, the
    first among equals; each of the others is a class of anomalies.
    """
    datasets = import_extra("sklearn.datasets", "data.bundled", extra="study")
    load: Callable[[], Any] = getattr(datasets, BUNDLED[name])
    bunch = load()
    columns = [repr(str(column)) for column in bunch.feature_names]
    if name == "breast-cancer":
        malignant = list(bunch.target_names).index("malignant")
        return checked_data(bunch.data, bunch.target == malignant, {}, columns)
    if name == "diabetes":
        usual = np.percentile(bunch.target, 90, method="inverted_cdf")
        return checked_data(bunch.data, bunch.target > usual, {}, columns)
    target: npt.NDArray[np.int64] = bunch.target
    classes = [str(bunch.target_names[code]) for code in target]
    normal = np.argmax(np.bincount(target))
    return checked_data(bunch.data, target != normal, {"cls": classes}, columns)


def checked_data(
    X: npt.NDArray[Any],
    y: npt.NDArray[Any],
    strings: Mapping[str, Sequence[object]],
    columns: Sequence[str],
) -> LabelledData:
    """Check a data set; messages name its features by ``columns``."""
    samples = _checked_samples(X, columns)
    labels = _checked_labels(y)
    lengths = {name: len(values) for name, values in strings.items()}
    for name, length in {"y": labels.shape[0], **lengths}.items():
        if length != samples.shape[0]:
            raise refused(
                name, f"have a value for each of the {samples.shape[0]} rows of X", length
            )
    classes = _checked_classes(strings["cls"], labels) if "cls" in strings else None
    grades = _checked_grades(strings["difficulty"], labels) if "difficulty" in strings else None
    return LabelledData(set_readonly(samples), set_readonly(labels), classes, grades)


def _from_arrays(path: Path) -> LabelledData:
    archive = ArrayArchive(path)
    names = sorted(archive.names)
    arrays = {name: archive.array(name) for name in ("X", *_NO_FEATURES) if name in names}
    missing = [name for name in ("X", "y") if name not in arrays]
    if missing:
        raise InvalidInputError(
            f"must contain the arrays X and y; found no {' and no '.join(missing)}, but "
            f"{some_of(names, 5) or 'nothing'}"
        )
    X, y = arrays.pop("X"), arrays.pop("y")
    if X.ndim != 2 or X.shape[1] == 0:
        raise refused("X", "have the shape (n_rows, n_features)", X.shape)
    if X.dtype.kind not in "biuf":
        raise refused("X", "contain numbers", X.dtype)
    for name, array in (("y", y), *arrays.items()):
        if array.ndim != 1:
            raise refused(name, "be one-dimensional", f"shape {array.shape}")
    if y.dtype.kind not in "biuf":
        raise refused("y", "contain 0 (normal) and 1 (anomaly)", y.dtype)
    strings = {name: array.tolist() for name, array in arrays.items()}
    return checked_data(X, y, strings, [str(i) for i in range(X.shape[1])])


def _from_table(path: Path) -> LabelledData:
    table = Table(path)
    _check_names(table.names)
    features = [name for name in table.names if name not in _NO_FEATURES]
    roles: dict[str, Role] = dict.fromkeys([*features, "y"], Numbers(may_miss=True))
    # Class 01 is not class 1.
    present = [name for name in _NO_FEATURES[1:] if name in table.names]
    columns = table.read({**roles, **dict.fromkeys(present, Names(may_miss=True))})
    strings = {
        name: ["" if value is None else value for value in columns[name].tolist()]
        for name in present
    }
    X = np.column_stack([np.asarray(columns[name], np.float64) for name in features])
    y = np.asarray(columns["y"], np.float64)
    return checked_data(X, y, strings, [repr(name) for name in features])


def _check_names(names: Sequence[str]) -> None:
    """Check the names of columns: one for each, a y among them, and no index of pandas."""
    for name, times in Counter(names).items():
        if times > 1:
            raise refused("columns", "have different names", f"{times} of {name!r}")
        if not name or name.startswith("__index_level_"):
            raise refused(
                "columns",
                "be y, cls, difficulty or features",
                f"{name!r}, which pandas calls an index: write the file without it",
            )
    if "y" not in names or set(names) <= set(_NO_FEATURES):
        raise InvalidInputError(
            f"must have a column y and at least one feature; found {some_of(names, 5) or 'nothing'}"
        )


def _checked_samples(X: npt.NDArray[Any], columns: Sequence[str]) -> FloatMatrix:
    with np.errstate(over="ignore"):  # a number of 80 bits may turn into infinity
        samples = np.array(X, np.float64, order="C")
    bad = ~(np.abs(samples) <= _LARGEST)
    if bad.any():
        row, column = (int(index) for index in np.argwhere(bad)[0])
        raise refused(
            "features",
            f"be finite numbers of size {_LARGEST:g} at most",
            f"{np.count_nonzero(bad)} that are missing, NaN, infinite or larger, the first at row "
            f"{row}, column {columns[column]}: {samples[row, column]}",
        )
    return samples


def _checked_labels(y: npt.NDArray[Any]) -> LabelVector:
    bad = (y != 0) & (y != 1)
    if bad.any():
        first = int(np.argmax(bad))
        raise refused(
            "y",
            "contain 0 (normal) and 1 (anomaly)",
            f"{np.count_nonzero(bad)} other values, the first at row {first}: {y[first]}",
        )
    labels: LabelVector = y.astype(np.uint8)
    return labels


def _checked_classes(values: Sequence[object], labels: LabelVector) -> Strings:
    classes = _strings(values, "cls")
    unnamed = classes == ""
    if unnamed.any():
        raise refused(
            "cls",
            "name the class of each row",
            f"{np.count_nonzero(unnamed)} without, the first at row {np.argmax(unnamed)}",
        )
    normal = np.unique(classes[labels == 0]).tolist()
    if len(normal) > 1:
        raise refused("cls", "be one class for all normal rows (y = 0)", some_of(normal, 5))
    both = np.flatnonzero((labels == 1) & np.isin(classes, normal))
    if both.size:
        raise refused(
            "cls",
            f"tell anomalies (y = 1) from the normal class {normal[0]!r}",
            f"it on {both.size} of them, the first at row {both[0]}",
        )
    return set_readonly(classes)


def _checked_grades(values: Sequence[object], labels: LabelVector) -> Strings:
    grades = _strings(values, "difficulty")
    bad = np.where(labels == 1, ~np.isin(grades, DIFFICULTIES), grades != "")
    if bad.any():
        first = int(np.argmax(bad))
        raise refused(
            "difficulty",
            f"be {', '.join(DIFFICULTIES)} for an anomaly and empty for a normal row",
            f"{np.count_nonzero(bad)} other values, the first at row {first}: "
            f"{str(grades[first])!r}",
        )
    return set_readonly(grades)


def _strings(values: Sequence[object], name: str) -> Strings:
    """Return names of classes or grades as strings; integers may be such names."""
    for row, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise refused(name, "contain strings or integers", f"{value!r} at row {row}")
    return np.array([str(value) for value in values], np.str_)
