"""fastad for scikit-learn: scorers for model selection, and adapters of fitted detectors.

``<measure>_scorer`` makes a scorer of each measure that is a value, with the measure's own
parameters: ``roc_auc_scorer()``, ``tpr_at_fpr_scorer(fpr=0.01)``. They are made from the
declarations of measures when first used. scikit-learn is imported when something is made.
"""

from typing import TYPE_CHECKING, Any

from fastad._core.lazy import lazy_names
from fastad.detectors.orientation import scikit_learn
from fastad.measures.registry import MEASURES
from fastad.sklearn.scorers import factory_name, make_factory

if TYPE_CHECKING:
    from fastad.sklearn.adapters import AdaptedDetector as AdaptedDetector
    from fastad.sklearn.adapters import OrientationWarning as OrientationWarning
    from fastad.sklearn.adapters import from_pyod as from_pyod
    from fastad.sklearn.adapters import from_sklearn as from_sklearn
    from fastad.sklearn.scorers import EvaluationScorer as EvaluationScorer
    from fastad.sklearn.scorers import MeasureScorer as MeasureScorer
    from fastad.sklearn.scorers import evaluation_scorer as evaluation_scorer
    from fastad.sklearn.scorers import measure_scorer as measure_scorer
    from fastad.sklearn.thresholded import ThresholdedDetector as ThresholdedDetector

_load, _, _names = lazy_names()
_MEASURE_OF = {
    factory_name(measure.name): measure for measure in MEASURES.values() if measure.kind == "value"
}
__all__ = sorted([*_names, *_MEASURE_OF])


def __getattr__(name: str) -> Any:
    if name == "ThresholdedDetector":
        scikit_learn("base")  # names the missing extra, before base classes are imported
    if name not in _MEASURE_OF:
        return _load(name)
    globals()[name] = factory = make_factory(_MEASURE_OF[name])
    return factory


def __dir__() -> list[str]:
    return __all__
