"""fastad for scikit-learn: scorers for model selection, and adapters of fitted detectors.

``<measure>_scorer`` makes a scorer of each measure that is a value, with the measure's own
parameters: ``roc_auc_scorer()``, ``tpr_at_fpr_scorer(fpr=0.01)``. They are made from the
declarations of measures when first used. scikit-learn is imported when something is made.
"""

from collections.abc import Callable

from fastad.measures.registry import MEASURES
from fastad.sklearn.adapters import AdaptedDetector as AdaptedDetector
from fastad.sklearn.adapters import OrientationWarning as OrientationWarning
from fastad.sklearn.adapters import from_pyod as from_pyod
from fastad.sklearn.adapters import from_sklearn as from_sklearn
from fastad.sklearn.scorers import EvaluationScorer as EvaluationScorer
from fastad.sklearn.scorers import MeasureScorer as MeasureScorer
from fastad.sklearn.scorers import evaluation_scorer as evaluation_scorer
from fastad.sklearn.scorers import factory_name, make_factory
from fastad.sklearn.scorers import measure_scorer as measure_scorer

_MEASURE_OF = {
    factory_name(measure.name): measure for measure in MEASURES.values() if measure.kind == "value"
}

__all__ = sorted(
    [
        "AdaptedDetector",
        "EvaluationScorer",
        "MeasureScorer",
        "OrientationWarning",
        "evaluation_scorer",
        "from_pyod",
        "from_sklearn",
        "measure_scorer",
        *_MEASURE_OF,
    ]
)


def __getattr__(name: str) -> Callable[..., MeasureScorer]:
    if name not in _MEASURE_OF:
        raise AttributeError(f"module 'fastad.sklearn' has no attribute {name!r}")
    factory = make_factory(_MEASURE_OF[name])
    globals()[name] = factory
    return factory


def __dir__() -> list[str]:
    return __all__
