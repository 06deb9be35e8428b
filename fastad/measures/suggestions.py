"""What a name that is no measure may have meant: misspelt keys, and names of other libraries."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from fastad._core.declared import Parameter
from fastad._core.suggestions import did_you_mean, suggestion
from fastad.measures.measure import Measure

# Keys of what scikit-learn and other libraries call by these names.
OTHER_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "roc_auc_score": ("auc", "roc_auc"),
        "auroc": ("auc", "roc_auc"),
        "aucroc": ("auc", "roc_auc"),
        "average_precision_score": ("ap", "average_precision"),
        "auprc": ("ap", "auc_pr"),
        "aucpr": ("ap", "auc_pr"),
        "f1_score": ("f1@0.05", "f1_best"),
        "precision_score": ("precision@fpr0.05", "precision@k10"),
        "recall_score": ("tpr@0.05", "recall@k10"),
        "top_k_accuracy_score": ("precision@k10",),
        "partial_auc": ("auc@0.05",),
        "pauc": ("auc@0.05",),
        "fpr95": ("fpr@tpr0.95",),
    }
)
_POINT = re.compile(r"(.*?@[a-z]*)([-+.\d].*)", re.DOTALL)


def suggest_measure(
    name: str, measures: Mapping[str, Measure[Any]], example_key: Callable[[Measure[Any]], str]
) -> str:
    """Return the end of a message: keys that a name may have meant; nothing where none is near."""
    if name.lower() in OTHER_NAMES:
        return suggestion(OTHER_NAMES[name.lower()])
    values = [measure for measure in measures.values() if measure.kind == "value"]
    examples = [example_key(measure) for measure in values]
    same_word = [key for key in examples if key.partition("@")[0] == name.lower()]
    if same_word:
        return suggestion(same_word)
    point = _POINT.fullmatch(name)
    if point is not None:
        prefixes = {
            m.prefix: m.prefix + point[2]
            for m in values
            if m.operating_point and _takes(m.point_parameter, point[2])
        }
        word = point[1].partition("@")[0].lower()
        of_word = [key for prefix, key in prefixes.items() if prefix.partition("@")[0] == word]
        return suggestion(of_word) or did_you_mean(point[1], prefixes)
    candidates = {key: key for key in [*(measure.name for measure in values), *examples]}
    return did_you_mean(name, candidates)


def _takes(parameter: Parameter, number: str) -> bool:
    """Tell whether a number of a key may be an operating point of a measure."""
    try:
        parameter.read(number, "")
    except ValueError:
        return False
    return True
