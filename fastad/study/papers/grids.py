"""The grids of the papers: their detectors with parameters, and their measures."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastad.study.config import OPERATING_RATES
from fastad.study.configurations import Configuration, read_detectors

# Skvara, Pevny and Smidl 2019.
PAPER_DETECTORS: Sequence[Mapping[str, Any]] = (
    {"kind": "knn", "k": [1, 3, 5, 7, 9, 13, 21, 31, 51], "score": ["kappa", "gamma", "delta"]},
    {"kind": "lof", "n_neighbors": [10, 20, 50]},
    {"kind": "iforest", "n_estimators": [50, 100, 200]},
    {"kind": "ocsvm", "gamma": [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 50, 100], "nu": 0.5},
)

# False positive rates of AUC and TPR: dense where detectors work.
RATES = (
    *(round(0.01 * i, 2) for i in range(1, 11)),
    *(round(0.05 * i, 2) for i in range(3, 11)),
    *(0.6, 0.7, 0.8, 0.9, 1.0),
)
# The measures of the tables of Škvára, Pevný and Šmídl, in their order.
TABLE_MEASURES = tuple(
    ["auc", "auc_w"]
    + [
        f"{kind}{rate}"
        for rate in ("0.05", "0.01")
        for kind in ("auc@", "precision@p", "tpr@", "f1@", "cvol@")
    ]
)

# Operating points of Ning's experiments: FPR of the TPR, TPR of the FPR, and cost ratios.
_NING = ("tpr@0.4", "ht_auc@0.4", "fpr@tpr0.8", "lf_auc@0.8", "cost_auc@1.25", "cost_auc@0.8")


def paper_measures() -> tuple[str, ...]:
    """Return the keys of all measures with labels that the papers compare."""
    curves = [f"{kind}@{rate:g}" for kind in ("auc", "tpr") for rate in RATES]
    at_rates = [f"{kind}{rate:g}" for kind in ("precision@p", "f1@") for rate in OPERATING_RATES]
    return tuple(dict.fromkeys(["auc", "auc_w", "ap", "auc_pr", *curves, *at_rates, *_NING]))


def paper_detectors() -> tuple[Configuration, ...]:
    """Return the 42 configurations that Skvara, Pevny and Smidl compare.

    Nearest neighbours with k of 1, 3, 5, 7, 9, 13, 21, 31 and 51 and three scores each; local
    outlier factors of 10, 20 and 50 neighbours; isolation forests of 50, 100 and 200 trees;
    one-class support vector machines with gamma from 0.01 to 100 and nu = 0.5.

    Raises
    ------
    MissingExtraError
        If scikit-learn is not installed.

    References
    ----------
    .. [1] V. Skvara, T. Pevny and V. Smidl, Is AUC the best measure for practical comparison of
           anomaly detectors?, 2019.
    """
    return read_detectors(PAPER_DETECTORS)
