"""``delong_covariance``: the covariance of a measure of several detectors."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastad._core.arrays import set_all_readonly
from fastad._core.threads import thread_limit
from fastad._core.types import ArrayLike, Label
from fastad.measures.measure import MeasureLike
from fastad.measures.requests import bind
from fastad.ordering.labels import Table
from fastad.uncertainty.comparisons.paired import rank_table
from fastad.uncertainty.results import Covariance
from fastad.uncertainty.samples.influence import check_smooth


def delong_covariance(
    y_true: ArrayLike,
    y_score: ArrayLike | Mapping[str, ArrayLike] | Table,
    *,
    measure: MeasureLike = "roc_auc",
    pos_label: Label | None = None,
    n_threads: int | None = None,
    **operating_point: Any,
) -> Covariance:
    """Covariance of a measure of several detectors on the same samples.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal sample, or booleans.
    y_score : array-like of shape (n_detectors, n_samples), mapping, or table
        Anomaly scores, higher is more anomalous, of each detector; as for `evaluate`.
    measure : str, Measure or BoundMeasure, default "roc_auc"
        A smooth measure: the area under the ROC or a part of it, average precision, ….
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over detectors.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    Covariance
        ``names``, ``values``, and the ``matrix``.

    Raises
    ------
    InvalidInputError
        If the measure is not smooth.
    UndefinedMeasureError
        If the measure is undefined for a detector, or a class has fewer than two samples.

    Notes
    -----
    O(n log n) time and O(n) memory for each detector.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves", Biometrics 44, 1988, equation (6).

    Examples
    --------
    >>> import fastad
    >>> scores = [[1, 3, 2, 4], [1, 2, 3, 4]]
    >>> fastad.uncertainty.delong_covariance([0, 0, 1, 1], scores).matrix
    array([[0.125, 0.   ],
           [0.   , 0.   ]])
    """
    bound = bind(measure, operating_point, delong_covariance)
    check_smooth(bound)
    with thread_limit(n_threads):
        detectors = rank_table(y_true, y_score, pos_label)
        detectors.samples[0].refuse(f"the covariance of {bound.key}")
        values = np.array([bound.value(sample.counts) for sample in detectors.samples])
        influences = np.array([sample.contributions(bound) for sample in detectors.samples])
    anomalies, normals = (
        np.atleast_2d(np.cov(of_class)) / of_class.shape[1]
        for of_class in np.split(influences, [detectors.n_anomalies], axis=1)
    )
    matrix = anomalies + normals
    set_all_readonly(values, matrix)
    return Covariance(detectors.names, values, matrix)
