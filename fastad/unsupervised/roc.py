"""The link with the ROC curve, and how many uniform points it takes to see small volumes."""

import math

import numpy as np
import numpy.typing as npt

from fastad._core.arrays import check_no_nan
from fastad._core.parameters import check_inside
from fastad._core.types import Point
from fastad.errors import UndefinedMeasureError
from fastad.ordering.labels import check_labels, check_scores
from fastad.regions.box import Box
from fastad.unsupervised.counted import level_sets_of_scores
from fastad.unsupervised.extent import check_extent
from fastad.unsupervised.mass_volume import MassVolumeCurve, mass_volume_of


def mass_volume_from_roc(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike,
    volume: Point | Box | None = None,
    *,
    log_volume: Point | None = None,
) -> MassVolumeCurve:
    """Mass-volume curve of what a ROC curve is made of, where the anomalies are uniform points.

    To draw anomalies uniformly and to look at the ROC curve is to look at the mass-volume curve:
    mass = 1 - FPR, and volume = (1 - TPR) times that of the box.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for a point drawn uniformly in a box, 0 for data, or booleans.
    y_score : array-like of shape (n_samples,)
        Anomaly score, higher is more anomalous.
    volume : float or Box, optional
        The box, or its volume in units of the features; 1 to read the volume as a share.
    log_volume : float, optional
        The natural logarithm of its volume, in place of ``volume``.

    Returns
    -------
    MassVolumeCurve

    Raises
    ------
    InvalidInputError
        If an argument is not as described.
    UndefinedMeasureError
        If a class is absent.

    Notes
    -----
    Between two points of a ROC curve lies a line, and between those of a mass-volume curve a step,
    so that the area under the one is that above the other but for ties and steps: without ties the
    whole area of the mass-volume curve is ``volume * (1 - roc_auc(y_true, y_score))``.

    References
    ----------
    .. [1] N. Goix, "How to evaluate the quality of unsupervised anomaly detection algorithms?",
       2016, section 2, remark on the link with the ROC curve.
    .. [2] S. Clémençon and S. Robbiano, "Anomaly ranking as supervised bipartite ranking", 2014.

    Examples
    --------
    >>> import fastad
    >>> y_true, y_score = [0, 0, 0, 0, 1, 1], [0.1, 0.2, 0.4, 0.8, 0.3, 0.9]
    >>> curve = fastad.unsupervised.mass_volume_from_roc(y_true, y_score, 1.0)
    >>> curve(0.75), 1 - fastad.tpr_at_fpr(y_true, y_score, fpr=0.25)
    (0.5, 0.5)
    """
    box = check_extent(volume, log_volume)
    labels = check_labels(y_true)
    scores = check_scores(y_score, labels)
    uniform = labels.values == 1
    if uniform.all() or not uniform.any():
        raise UndefinedMeasureError(
            f"a mass-volume curve needs data and uniform points; found {np.count_nonzero(uniform)} "
            f"uniform points of {uniform.shape[0]}"
        )
    check_no_nan(scores, "y_score", labels.rows)
    return mass_volume_of(level_sets_of_scores(scores[~uniform], scores[uniform], box))


def required_uniform_draws(share: Point, *, rtol: Point) -> int:
    """Return how many uniform points a volume needs for a wished accuracy.

    Parameters
    ----------
    share : float
        The volume as a share of the box, in (0, 1).
    rtol : float
        Relative standard error of its estimate, in (0, 1).

    Returns
    -------
    int
        (1 - share) / (share * rtol²): binomial counts. So the number grows as volumes shrink, which
        they do exponentially with the number of features; beyond some 10⁹ use splitting.

    Raises
    ------
    InvalidInputError
        If an argument is not as described.

    See Also
    --------
    Criterion.required_uniform_draws : The same for EM and MV, from the error that was found.

    Examples
    --------
    >>> import fastad
    >>> fastad.unsupervised.required_uniform_draws(0.001, rtol=0.05)
    399600
    """
    part, wanted = check_inside(share, "share"), check_inside(rtol, "rtol")
    return math.ceil((1 - part) / (part * wanted**2))
