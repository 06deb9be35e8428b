"""Data sets that come with scikit-learn."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad.errors import MissingExtraError
from fastad.study.reading import LabelledData, checked_data

COLLECTION = "scikit-learn"
# Names in a study, and scikit-learn's functions.
BUNDLED = {
    "breast-cancer": "load_breast_cancer",
    "diabetes": "load_diabetes",
    "digits": "load_digits",
    "iris": "load_iris",
    "wine": "load_wine",
}


def load_bundled(name: str) -> LabelledData:
    """Read a data set that comes with scikit-learn.

    ``breast-cancer``: malignant tumours are the anomalies. ``diabetes``, a regression: anomalies
    are the tenth of the patients whose disease has progressed furthest, those above the 90th
    percentile of the target. ``digits``, ``iris`` and ``wine``: the largest class is normal, the
    first among equals; each of the others is a class of anomalies.

    Parameters
    ----------
    name : {"breast-cancer", "diabetes", "digits", "iris", "wine"}
        Which one.

    Returns
    -------
    LabelledData

    Raises
    ------
    MissingExtraError
        If scikit-learn is not there.
    """
    try:
        from sklearn import datasets
    except ModuleNotFoundError:
        raise MissingExtraError(
            "data.bundled needs scikit-learn: pip install 'fastad[study]'"
        ) from None
    load: Callable[[], Any] = getattr(datasets, BUNDLED[name])
    found = load()
    columns = [repr(str(column)) for column in found.feature_names]
    if name == "breast-cancer":
        malignant = list(found.target_names).index("malignant")
        return checked_data(found.data, found.target == malignant, {}, columns)
    if name == "diabetes":
        usual = np.percentile(found.target, 90, method="inverted_cdf")
        return checked_data(found.data, found.target > usual, {}, columns)
    target: npt.NDArray[np.int64] = found.target
    classes = [str(found.target_names[code]) for code in target]
    normal = np.argmax(np.bincount(target))
    return checked_data(found.data, target != normal, {"cls": classes}, columns)
