"""Makers of detectors (a class, its name, or an estimator to copy), and scores of fitted ones."""

import copy
import importlib
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from fastad._core.extras import missing_extra
from fastad._core.parameters import refused, short_repr
from fastad._core.types import FloatMatrix, FloatVector
from fastad._kernels.geometry.draws import write_rows
from fastad.detectors.compilation import check_single_points, compile_scorer
from fastad.detectors.orientation import Kind, detector_scores, kind_of
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError
from fastad.study.digests import class_name, object_text

SEED = "random_state"
HigherIs: TypeAlias = Literal["anomalous", "normal"]
HIGHER_IS = get_args(HigherIs)
# In order of preference; one of them is needed.
SCORE_METHODS = ("score_samples", "decision_function")
# Libraries with detectors of no kind that are compiled.
_COMPILED = ("sklearn", "pyod", "fastad")
_OF_KIND: dict[Kind | None, HigherIs] = {"outlier detector": "normal", "PyOD detector": "anomalous"}


def import_class(path: str, folder: str | None, where: str) -> Any:
    """Return the class that a string names, of a module that may lie in a folder."""
    module, _, name = path.rpartition(".")
    if folder is not None and folder not in sys.path and _file_beside(module, folder) is not None:
        # Last in the path, and permanent: the module may import its neighbours when it is used.
        sys.path.append(folder)
    try:
        imported = importlib.import_module(module)
        kind = getattr(imported, name)
    except Exception as error:  # whatever a library does when it is imported
        if isinstance(error, ModuleNotFoundError) and error.name == "sklearn":
            raise missing_extra(where, "scikit-learn", extra="study") from None
        raise refused(
            where,
            "name a class that can be imported, as 'package.module.Class'",
            f"{path!r}: {error}",
        ) from None
    _check_file(imported, module, folder, where)
    return kind


def _file_beside(module: str, folder: str) -> Path | None:
    """Return the file or folder of a module beside the study's file, None where there is none."""
    top = Path(folder, module.partition(".")[0])
    return next((path for path in (top.with_suffix(".py"), top) if path.exists()), None)


def _check_file(imported: Any, module: str, folder: str | None, where: str) -> None:
    """Refuse a module of the same name that lies elsewhere than the one beside the file."""
    beside = None if folder is None else _file_beside(module, folder)
    file = getattr(imported, "__file__", None)
    if beside is None or beside.is_dir() or file is None:
        return
    if Path(file).resolve() != beside.resolve():
        raise refused(
            where,
            "name one module",
            f"{beside} and {file}, which Python imports: give the first another name",
        )


def check_estimator(factory: Any, where: str) -> None:
    """Check that a maker's detectors can fit and score single points."""
    if not callable(getattr(factory, "fit", None)):
        raise refused(where, "have a method fit", class_name(factory))
    if not any(hasattr(factory, name) for name in SCORE_METHODS):
        raise refused(
            where, "have a method score_samples or decision_function", class_name(factory)
        )
    kind = factory if isinstance(factory, type) else type(factory)
    check_single_points((kind.__module__.partition(".")[0], kind.__name__), where)


def check_options(factory: Any, names: Mapping[str, Any], where: str) -> None:
    """Check that an estimator has the parameters that are named, and gets those that it needs."""
    allowed, required, takes_all = _parameters(factory)
    for name in names:
        if name not in allowed and not takes_all:
            raise InvalidInputError(
                f"{where}.{name} is no parameter of {class_name(factory)}; it has "
                f"{', '.join(allowed) or 'none'}",
                argument=f"{where}.{name}",
            )
    for name in required:
        if name not in names:
            raise InvalidInputError(
                f"{where}.{name} must be given: {class_name(factory)} has no default for it"
            )


def _parameters(factory: Any) -> tuple[list[str], list[str], bool]:
    """Return the parameters, those without a default, and whether it accepts any other name."""
    if not isinstance(factory, type):
        return sorted(factory.get_params()) if hasattr(factory, "get_params") else [], [], False
    try:
        listed = inspect.signature(factory).parameters.values()
    except ValueError:  # compiled classes do not tell their parameters
        return [], [], True
    named = [p for p in listed if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [p.name for p in named if p.default is p.empty]
    takes_all = any(p.kind == p.VAR_KEYWORD for p in listed)
    return [p.name for p in named], required, takes_all


def make(factory: Any, options: dict[str, Any], folder: str | None = None) -> Any:
    """Return a new estimator."""
    if isinstance(factory, str):
        factory = import_class(factory, folder, "estimator")
    if isinstance(factory, type):
        return factory(**options)
    estimator = _copied(factory)
    return estimator.set_params(**options) if options else estimator


def _copied(estimator: Any) -> Any:
    """Return an unfitted clone of an estimator, or a copy where it cannot be cloned."""
    if hasattr(estimator, "get_params"):
        from sklearn.base import clone

        return clone(estimator)
    return copy.deepcopy(estimator)


def set_seed(estimator: Any, seed: int) -> None:
    """Seed the random parts of an estimator."""
    if hasattr(estimator, "get_params"):
        names = [
            name for name in estimator.get_params() if name == SEED or name.endswith(f"__{SEED}")
        ]
        if names:
            estimator.set_params(**dict.fromkeys(names, seed))
    elif hasattr(estimator, SEED):
        setattr(estimator, SEED, seed)


def described(factory: Any, where: str = "estimator") -> str:
    """Return a maker of detectors as a string that is the same in every process."""
    if isinstance(factory, str):
        return factory
    return class_name(factory) if isinstance(factory, type) else object_text(factory, where)


def scorer_of(fitted: Any, higher_is: HigherIs | None) -> CompiledScorer:
    """Return the score of a fitted detector, higher is more anomalous; compiled where possible.

    ``higher_is`` is the meaning of its higher scores; None where its kind determines it. If neither
    or both say it, differently, it is refused.
    """
    kind = kind_of(fitted)
    of_kind = _OF_KIND.get(kind)
    if higher_is is not None and of_kind is None:
        return _StatedScorer(fitted, negate=higher_is == "normal")
    if higher_is not in (None, of_kind):
        raise refused(
            "higher_is",
            f"be {of_kind!r} for {type(fitted).__name__}, which is of the kind {kind}",
            short_repr(higher_is),
        )
    library = type(fitted).__module__.partition(".")[0]
    try:
        return compile_scorer(fitted)
    except InvalidInputError:
        if of_kind is not None or higher_is is not None or library in _COMPILED:
            raise
        raise refused(
            "higher_is",
            f"say whether higher scores of {type(fitted).__name__} are 'anomalous' or 'normal', "
            "as it is no outlier detector of scikit-learn or PyOD",
            "none",
        ) from None


class _StatedScorer(CompiledScorer):
    """A detector that scores itself, with a stated orientation."""

    on_threads = False

    def __init__(self, fitted: Any, *, negate: bool) -> None:
        self.n_features = getattr(fitted, "n_features_in_", None)
        self._fitted, self._negate = fitted, negate
        self._method = next(name for name in SCORE_METHODS if hasattr(fitted, name))

    def __repr__(self) -> str:
        return f"<scores of {type(self._fitted).__name__}>"

    def score_block(self, points: FloatMatrix, scores: FloatVector) -> None:
        """Write the detector's own scores of a batch."""
        rows = np.empty((points.shape[1], points.shape[0]))
        write_rows(points, rows)
        scores[:] = detector_scores(self._fitted, rows, method=self._method, negate=self._negate)
