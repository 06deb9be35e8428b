"""Detectors of a study with their parameters, how they are made, and scores of fitted ones.

A detector is a rule of nearest neighbours, or made by a class, its name, or an estimator to copy.
"""

import copy
import importlib
import inspect
import itertools
import random
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast, get_args

import numpy as np

from fastad._core.extras import missing_extra
from fastad._core.parameters import check_choice, check_count, mistyped, refused, short_repr
from fastad._core.toml_files import check_keys
from fastad._core.types import FloatMatrix
from fastad.detectors.compilation import BatchScorer, check_single_points, compile_scorer
from fastad.detectors.knn import Kind as Score
from fastad.detectors.neighbours import Rule
from fastad.detectors.orientation import Kind, detector_scores, kind_of
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError
from fastad.study.digests import class_name, digest_of, object_text, own_code, value_text
from fastad.study.extensions import extensions

Options: TypeAlias = tuple[tuple[str, Any], ...]
HigherIs: TypeAlias = Literal["anomalous", "normal"]

# Kinds of estimators: the name of each and its class.
_ESTIMATORS = {
    "iforest": ("IForest", "sklearn.ensemble.IsolationForest"),
    "ocsvm": ("OCSVM", "sklearn.svm.OneClassSVM"),
}
_KINDS = ("knn", "lof", *_ESTIMATORS)
_SCORES = get_args(Score)
_HIGHER_IS = "higher_is"
_SEED = "random_state"
# In order of preference; one of them is needed.
_SCORE_METHODS = ("score_samples", "decision_function")
# Libraries with detectors of no kind that are compiled.
_COMPILED = ("sklearn", "pyod", "fastad")
_OF_KIND: dict[Kind | None, HigherIs] = {"outlier detector": "normal", "PyOD detector": "anomalous"}


@dataclass(frozen=True, slots=True, repr=False)
class Configuration:
    """A detector with its parameters.

    Attributes
    ----------
    detector : str
        Name of the detector.
    params : str
        Parameters as a string, such as "k=5, score=kappa".
    rule : Rule or None
        Rule of scores by nearest neighbours, if it has one.
    factory : str, class or object
        Otherwise the maker: a class, its name as "package.module.Class", or an estimator to
        copy.
    options : tuple of (str, object)
        The parameters by name.
    higher_is : {"anomalous", "normal"} or None
        Meaning of its higher scores; None where the kind of the estimator determines it.
    folder : str or None
        Folder that is searched for its module after Python's path.
    """

    detector: str
    params: str = ""
    rule: Rule | None = None
    factory: Any = field(default=None, hash=False)
    options: Options = field(default=(), hash=False)
    higher_is: HigherIs | None = None
    folder: str | None = field(default=None, compare=False)

    @property
    def key(self) -> str:
        """Label and parameters, unique within a study."""
        return f"{self.detector} {self.params}".rstrip()

    def __repr__(self) -> str:
        maker = "" if self.factory is None else f" by {described(self.factory)}"
        higher = "" if self.higher_is is None else f", higher is {self.higher_is}"
        return f"<Configuration {self.key}{maker}{higher}>"

    def code(self) -> list[Any]:
        """Return the classes, functions and objects that it runs."""
        if self.factory is None:
            return []
        named = isinstance(self.factory, str)
        maker = _import_class(self.factory, self.folder, "estimator") if named else self.factory
        return [maker, dict(self.options)]

    def digest(self) -> str:
        """Return a digest of it and its own code: equal digests give equal scores."""
        options = [[name, value_text(value, name)] for name, value in self.options]
        return digest_of(repr(self), repr(self.rule), options, own_code(self.code()))

    def fit(self, X_train: FloatMatrix, seed: int) -> Any:
        """Return a new detector, fitted; its warnings are not shown.

        The seed, from 0 to 2**32 - 1, is for each parameter ``random_state`` that the detector has,
        and for the generators of Python and NumPy that detectors without one may draw from.
        """
        if self.factory is None:
            raise TypeError(f"{self.key} is a rule of neighbours: a Neighbourhood follows it")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = _make(self.factory, copy.deepcopy(dict(self.options)), self.folder)
            _set_seed(estimator, seed)
            with _global_seed(seed):
                estimator.fit(X_train)
        return estimator

    def compiled(self, X_train: FloatMatrix, seed: int) -> CompiledScorer:
        """Return the score of a new detector, fitted; parameters as for `fit`."""
        fitted = self.fit(X_train, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a detector without a compiled form
            return _scorer_of(fitted, self.higher_is)


@contextmanager
def _global_seed(seed: int) -> Iterator[None]:
    """Seed the generators of the process, and leave them as they were."""
    states = random.getstate(), np.random.get_state()  # noqa: NPY002  # detectors' generator
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002


def read_detectors(
    entries: Sequence[Mapping[str, Any]], *, folder: Path | None = None
) -> tuple[Configuration, ...]:
    """Return the configurations that tables of a study's file describe.

    Each table is one of: ``preset``, such as "paper"; ``kind="knn"`` with ``k`` and ``score``
    ("kappa" by default); ``kind="lof"`` with ``n_neighbors``; ``kind="iforest"`` or
    ``kind="ocsvm"`` with parameters of scikit-learn's estimator; ``name`` and ``estimator`` with
    parameters of that, a class by its name as "package.module.Class", or in Python a class or an
    estimator, which is copied. A list is tried value by value, together with all values of the
    others; of several lists the last changes first. A parameter that is a list itself is put into a
    list. ``higher_is``, "anomalous" or "normal", is the meaning of higher scores of an estimator
    that is none of scikit-learn's outlier detectors or PyOD's detectors. Modules of estimators are
    searched for in Python's path, then in ``folder``.
    """
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise mistyped("detectors", "be a list of tables", short_repr(entries))
    configurations: list[Configuration] = []
    seen: set[object] = set()
    for i, entry in enumerate(entries):
        where = f"detectors[{i}]"
        if not isinstance(entry, Mapping):
            raise mistyped(where, "be a table", short_repr(entry))
        for configuration in _read(dict(entry), where, folder):
            _check_new(configuration, where, seen)
            configurations.append(configuration)
    if not configurations:
        raise refused("detectors", "contain at least one table", "none")
    return tuple(configurations)


def detector_presets() -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the tables of each preset of detectors by its name; the first is the default."""
    return {
        name: tables for extension in extensions() for name, tables in extension.detectors().items()
    }


def check_configurations(values: Any) -> tuple[Configuration, ...]:
    """Check that values are configurations, at least one, all different."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise mistyped("detectors", "be a sequence of Configuration", short_repr(values))
    seen: set[object] = set()
    for i, value in enumerate(values):
        if not isinstance(value, Configuration):
            raise mistyped(f"detectors[{i}]", "be a Configuration", short_repr(value))
        _check_new(value, f"detectors[{i}]", seen)
    if not seen:
        raise refused("detectors", "contain at least one Configuration", "none")
    return tuple(values)


def _check_new(configuration: Configuration, where: str, seen: set[object]) -> None:
    """Refuse the name of another configuration, and its parameters in another order."""
    options = frozenset(_named(*option, where) for option in configuration.options)
    own = {configuration.key, (configuration.detector, options)}
    if not seen.isdisjoint(own):
        raise refused(where, "differ from those before", f"{configuration.key} a second time")
    seen |= own


def _read(entry: dict[str, Any], where: str, folder: Path | None) -> Iterator[Configuration]:
    if "estimator" in entry:  # whose parameters may have the names of other keys
        name = entry.pop("name", None)
        if not isinstance(name, str) or not name.isprintable() or not name.strip():
            raise refused(f"{where}.name", "be a name", short_repr(name))
        yield from _of_estimator(name, entry.pop("estimator"), entry, where, folder)
    elif "preset" in entry:
        presets = detector_presets()
        name = check_choice(entry.pop("preset"), tuple(presets), f"{where}.preset")
        _check_keys(entry, (), where)
        yield from read_detectors(presets[name])
    elif "kind" in entry:
        kind = check_choice(entry.pop("kind"), _KINDS, f"{where}.kind")
        if kind == "knn":
            yield from _of_distances(entry, where)
        elif kind == "lof":
            yield from _of_factors(entry, where)
        else:
            yield from _of_estimator(*_ESTIMATORS[kind], entry, where, None)
    else:
        raise refused(
            where,
            "have one of the keys preset, kind and estimator",
            ", ".join(map(str, entry)) or "none",
        )


def _of_distances(entry: dict[str, Any], where: str) -> Iterator[Configuration]:
    _check_keys(entry, ("k", "score"), where, needed="k")
    for options in _combinations({**entry, "score": entry.get("score", "kappa")}, where):
        values = dict(options)
        k = check_count(values["k"], f"{where}.k")
        score = check_choice(values["score"], _SCORES, f"{where}.score")
        checked = (("k", k), ("score", score))
        rule = Rule(cast(Score, score), k)
        yield Configuration("kNN", _text(checked, where), rule=rule, options=checked)


def _of_factors(entry: dict[str, Any], where: str) -> Iterator[Configuration]:
    _check_keys(entry, ("n_neighbors",), where, needed="n_neighbors")
    for ((name, value),) in _combinations(entry, where):
        k = check_count(value, f"{where}.{name}")
        checked = ((name, k),)
        yield Configuration("LOF", _text(checked, where), rule=Rule("lof", k), options=checked)


def _of_estimator(
    name: str, factory: Any, entry: dict[str, Any], where: str, folder: Path | None
) -> Iterator[Configuration]:
    folder_name = None if folder is None else str(folder)
    named = isinstance(factory, str)
    maker = _import_class(factory, folder_name, f"{where}.estimator") if named else factory
    _check_estimator(maker, f"{where}.estimator")
    described(maker, f"{where}.estimator")  # refuses objects that differ from process to process
    higher_is: HigherIs | None = None
    if _HIGHER_IS in entry:
        higher_is = check_choice(entry.pop(_HIGHER_IS), get_args(HigherIs), f"{where}.{_HIGHER_IS}")
    if _SEED in entry:
        raise InvalidInputError(f"{where}.{_SEED} must be left out: the study's seed decides it")
    _check_options(maker, entry, where)
    for options in _combinations(entry, where):
        yield Configuration(
            name,
            _text(options, where),
            factory=factory,
            options=options,
            higher_is=higher_is,
            folder=folder_name if named else None,
        )


def _combinations(values: Mapping[str, Any], where: str) -> Iterator[Options]:
    """Yield all combinations of values, of which lists have several."""
    grids = []
    for name, value in values.items():
        several = isinstance(value, list | tuple | range | np.ndarray)
        grids.append(list(value) if several else [value])
        if not grids[-1]:
            raise refused(f"{where}.{name}", "contain at least one value", "none")
    for combination in itertools.product(*grids):
        yield tuple(zip(values, combination, strict=True))


def _text(options: Options, where: str) -> str:
    return ", ".join(_named(*option, where) for option in options)


def _named(name: str, value: Any, where: str) -> str:
    """Return a parameter with its value for people, with strings unquoted; see `value_text`."""
    return f"{name}={value if isinstance(value, str) else value_text(value, f'{where}.{name}')}"


def _check_keys(
    entry: Mapping[str, Any], allowed: Sequence[str], where: str, *, needed: str | None = None
) -> None:
    check_keys(entry, allowed, f"{where}.", of="detector")
    if needed is not None and needed not in entry:
        raise refused(f"{where}.{needed}", "be given", "no such key")


def _import_class(path: str, folder: str | None, where: str) -> Any:
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


def _check_estimator(factory: Any, where: str) -> None:
    """Check that a maker's detectors can fit and score single points."""
    if not callable(getattr(factory, "fit", None)):
        raise refused(where, "have a method fit", class_name(factory))
    if not any(hasattr(factory, name) for name in _SCORE_METHODS):
        raise refused(
            where, "have a method score_samples or decision_function", class_name(factory)
        )
    kind = factory if isinstance(factory, type) else type(factory)
    check_single_points((kind.__module__.partition(".")[0], kind.__name__), where)


def _check_options(factory: Any, names: Mapping[str, Any], where: str) -> None:
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


def _make(factory: Any, options: dict[str, Any], folder: str | None = None) -> Any:
    """Return a new estimator."""
    if isinstance(factory, str):
        factory = _import_class(factory, folder, "estimator")
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


def _set_seed(estimator: Any, seed: int) -> None:
    """Seed the random parts of an estimator."""
    if hasattr(estimator, "get_params"):
        names = [
            name for name in estimator.get_params() if name == _SEED or name.endswith(f"__{_SEED}")
        ]
        if names:
            estimator.set_params(**dict.fromkeys(names, seed))
    elif hasattr(estimator, _SEED):
        setattr(estimator, _SEED, seed)


def described(factory: Any, where: str = "estimator") -> str:
    """Return a maker of detectors as a string that is the same in every process."""
    if isinstance(factory, str):
        return factory
    return class_name(factory) if isinstance(factory, type) else object_text(factory, where)


def _scorer_of(fitted: Any, higher_is: HigherIs | None) -> CompiledScorer:
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


class _StatedScorer(BatchScorer):
    """A detector that scores itself, with a stated orientation."""

    def __init__(self, fitted: Any, *, negate: bool) -> None:
        method = next(name for name in _SCORE_METHODS if hasattr(fitted, name))
        self._set(fitted, partial(detector_scores, method=method, negate=negate))
