"""Makers of detectors: a class, its name, or an estimator to copy."""

import copy
import importlib
import inspect
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastad._core.extras import missing_extra
from fastad.detectors.compilation import check_single_points
from fastad.errors import InvalidInputError
from fastad.study.stated_scores import SCORE_METHODS
from fastad.study.value_texts import class_name, object_text

SEED = "random_state"


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
        raise InvalidInputError(
            f"{where} must name a class that can be imported, as 'package.module.Class'; "
            f"found {path!r}: {error}",
            argument=where,
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
        raise InvalidInputError(
            f"{where} must name one module; found {beside} and {file}, which Python imports: "
            "give the first another name",
            argument=where,
        )


def check_estimator(factory: Any, where: str) -> None:
    """Check that a maker's detectors can fit and score single points."""
    if not callable(getattr(factory, "fit", None)):
        raise InvalidInputError(
            f"{where} must have a method fit; found {class_name(factory)}", argument=where
        )
    if not any(hasattr(factory, name) for name in SCORE_METHODS):
        raise InvalidInputError(
            f"{where} must have a method score_samples or decision_function; found "
            f"{class_name(factory)}",
            argument=where,
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
                f"{where}.{name} must be given: {class_name(factory)} has no default for it",
                argument=f"{where}.{name}",
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
