"""Which measures a study takes, as labels: those of the papers."""

from collections.abc import Sequence

from fastad._core.parameters import short_repr
from fastad.benchmarking.columns import label_list
from fastad.errors import InvalidInputError
from fastad.measures.requests import read_key

# False positive rates of AUC and TPR: dense where detectors work.
RATES = (
    *(round(0.01 * i, 2) for i in range(1, 11)),
    *(round(0.05 * i, 2) for i in range(3, 11)),
    *(0.6, 0.7, 0.8, 0.9, 1.0),
)
# Of the tables of Škvára, Pevný and Šmídl.
OPERATING_RATES = (0.01, 0.05)

# Where ning's experiments read their measures: TPR at this FPR, FPR at this TPR, and cost ratios.
_NING = ("tpr@0.4", "ht_auc@0.4", "fpr@tpr0.8", "lf_auc@0.8", "cost_auc@1.25", "cost_auc@0.8")


def paper_measures() -> tuple[str, ...]:
    """Return the labels of all measures with labels that the papers compare."""
    curves = [f"{kind}@{rate:g}" for kind in ("auc", "tpr") for rate in RATES]
    at_rates = [f"{kind}{rate:g}" for kind in ("precision@p", "f1@") for rate in OPERATING_RATES]
    return tuple(dict.fromkeys(["auc", "auc_w", "ap", "auc_pr", *curves, *at_rates, *_NING]))


def check_labels(labels: Sequence[str], name: str) -> tuple[str, ...]:
    """Check that labels are those of measures with labels; return each once."""
    found = label_list(labels, name)
    for label in found:
        named = read_key(label)
        if named is None or named[0].higher_is_better is None:
            raise InvalidInputError(
                f"{name} must hold labels of measures such as auc or tpr@0.05; "
                f"found {short_repr(label)}",
                argument=name,
            )
    return tuple(found)
