"""Rates at a fixed threshold: which there are, and how many trials each counts."""

from collections.abc import Callable, Mapping
from operator import attrgetter
from types import MappingProxyType

from fastad._core.types import Count
from fastad.measures.measure import Measure
from fastad.measures.results import Confusion

_PART_AND_WHOLE: dict[str, tuple[str, Callable[[Confusion], tuple[Count, Count]], bool]] = {
    "tpr": ("true positive rate", lambda c: (c.tp, c.tp + c.fn), True),
    "recall": ("recall", lambda c: (c.tp, c.tp + c.fn), True),
    "fpr": ("false positive rate", lambda c: (c.fp, c.fp + c.tn), False),
    "tnr": ("true negative rate", lambda c: (c.tn, c.fp + c.tn), True),
    "fnr": ("false negative rate", lambda c: (c.fn, c.tp + c.fn), False),
    "precision": ("precision", lambda c: (c.tp, c.tp + c.fp), True),
    "npv": ("negative predictive value", lambda c: (c.tn, c.tn + c.fn), True),
    "fdr": ("false discovery rate", lambda c: (c.fp, c.tp + c.fp), False),
    "fomr": ("false omission rate", lambda c: (c.fn, c.tn + c.fn), False),
    "accuracy": (
        "accuracy",
        lambda c: (c.tp + c.tn, c.tp + c.fp + c.tn + c.fn),
        True,
    ),
}
_OTHERS = {
    "balanced_accuracy": "balanced accuracy",
    "f1": "F1 score",
    "mcc": "Matthews correlation coefficient",
}

# Binomial numbers at a threshold that was fixed beforehand: flagged or right, of so many.
SHARES: Mapping[str, Callable[[Confusion], tuple[Count, Count]]] = MappingProxyType(
    {name: share for name, (_, share, _) in _PART_AND_WHOLE.items()}
)


def _row(name: str, title: str, *, higher_is_better: bool, span: str = "[0, 1]") -> Measure:
    return Measure(
        name=name,
        title=f"{title} at a threshold",
        label=name,
        compute=attrgetter(name),
        source="fastad.measures.Confusion",
        operating="threshold",
        higher_is_better=higher_is_better,
        range=span,
    )


RATES: Mapping[str, Measure] = MappingProxyType(
    {
        **{
            name: _row(name, title, higher_is_better=higher)
            for name, (title, _, higher) in _PART_AND_WHOLE.items()
        },
        **{
            name: _row(
                name, title, higher_is_better=True, span="[-1, 1]" if name == "mcc" else "[0, 1]"
            )
            for name, title in _OTHERS.items()
        },
    }
)
