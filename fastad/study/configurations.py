"""Which detectors a study compares, and with which parameters."""

import copy
import importlib
import inspect
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast, get_args

import numpy as np

from fastad._core.parameters import check_choice, check_count, short_repr
from fastad._core.types import FloatMatrix
from fastad.detectors.compilation import OF_BATCHES, compile_scorer
from fastad.detectors.knn import Kind as Score
from fastad.detectors.neighbours import Rule
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError, InvalidTypeError, MissingExtraError
from fastad.study.extensions import extensions

Options: TypeAlias = tuple[tuple[str, Any], ...]

# Kinds of estimators: the label of each and its class.
_ESTIMATORS = {
    "iforest": ("IForest", "sklearn.ensemble.IsolationForest"),
    "ocsvm": ("OCSVM", "sklearn.svm.OneClassSVM"),
}
_KINDS = ("knn", "lof", *_ESTIMATORS)
_SCORES = get_args(Score)
_SEED = "random_state"


@dataclass(frozen=True, slots=True, repr=False)
class Configuration:
    """A detector with its parameters.

    Attributes
    ----------
    detector : str
        Its label.
    params : str
        Its parameters as a string, such as "k=5, score=kappa".
    rule : Rule or None
        How it scores by nearest neighbours, if it does.
    factory : str, class or object
        Otherwise what makes it: a class, its name as "package.module.Class", or an estimator to
        copy.
    options : tuple of (str, object)
        The parameters by name.
    """

    detector: str
    params: str = ""
    rule: Rule | None = None
    factory: Any = field(default=None, hash=False)
    options: Options = field(default=(), hash=False)

    @property
    def key(self) -> str:
        """Label and parameters, unique within a study."""
        return f"{self.detector} {self.params}".rstrip()

    def __repr__(self) -> str:
        maker = "" if self.factory is None else f" by {_described(self.factory)}"
        return f"<Configuration {self.key}{maker}>"

    def fit(self, X_train: FloatMatrix, seed: int) -> Any:
        """Return a new detector, fitted; what it warns of is not shown.

        Parameters
        ----------
        X_train : numpy.ndarray of shape (n_train, n_features)
            Training rows.
        seed : int
            From 0 to 2**32 - 1, for each parameter ``random_state`` that the detector has.

        Returns
        -------
        object
            The estimator.
        """
        if self.factory is None:
            raise TypeError(f"{self.key} is a rule of neighbours: a Neighbourhood follows it")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = _make(self.factory, copy.deepcopy(dict(self.options)))
            _set_seed(estimator, seed)
            estimator.fit(X_train)
        return estimator

    def compiled(self, X_train: FloatMatrix, seed: int) -> CompiledScorer:
        """Return the score of a new detector, fitted; parameters as for `fit`."""
        fitted = self.fit(X_train, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a detector without a compiled form
            return compile_scorer(fitted)


def read_detectors(entries: Sequence[Mapping[str, Any]]) -> tuple[Configuration, ...]:
    """Return the configurations that tables of a study's file describe.

    Parameters
    ----------
    entries : sequence of mapping
        Each is one of: ``preset``, such as "paper"; ``kind="knn"`` with ``k`` and ``score``
        ("kappa" by default); ``kind="lof"`` with ``n_neighbors``; ``kind="iforest"`` or
        ``kind="ocsvm"`` with parameters of scikit-learn's estimator; ``name`` and ``estimator``
        with parameters of that, a class by its name as "package.module.Class", or in Python a
        class or an estimator, which is copied. A list is tried value by value, together with all
        values of the others.
        A parameter that is a list itself is put into a list.

    Returns
    -------
    tuple of Configuration
        In the order written; of several lists the last changes first.

    Raises
    ------
    InvalidInputError
        If a key or a value is not as described, two configurations are equal, or a class cannot
        be imported, does not fit and score, or lacks a parameter. The message names the key.
    MissingExtraError
        If scikit-learn is needed and not installed.
    """
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise InvalidTypeError(
            f"detectors must be a list of tables; found {short_repr(entries)}", argument="detectors"
        )
    configurations: dict[tuple[str, frozenset[str]], Configuration] = {}
    for i, entry in enumerate(entries):
        where = f"detectors[{i}]"
        if not isinstance(entry, Mapping):
            raise InvalidTypeError(
                f"{where} must be a table; found {short_repr(entry)}", argument=where
            )
        for configuration in _read(dict(entry), where):
            # Whatever the order of the parameters.
            identity = (
                configuration.detector,
                frozenset(_named(*option) for option in configuration.options),
            )
            if identity in configurations:
                raise InvalidInputError(
                    f"{where} must differ from those before; found {configuration.key} a "
                    "second time",
                    argument=where,
                )
            configurations[identity] = configuration
    if not configurations:
        raise InvalidInputError(
            "detectors must contain at least one table; found none", argument="detectors"
        )
    return tuple(configurations.values())


def detector_presets() -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the tables of each preset of detectors by its name; the first is the default."""
    return {
        name: tables for extension in extensions() for name, tables in extension.detectors().items()
    }


def check_configurations(values: Any, name: str) -> tuple[Configuration, ...]:
    """Check that values are configurations, at least one, all different."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise InvalidTypeError(
            f"{name} must be a sequence of Configuration; found {short_repr(values)}", argument=name
        )
    seen: set[tuple[str, str]] = set()
    for i, value in enumerate(values):
        if not isinstance(value, Configuration):
            raise InvalidTypeError(
                f"{name}[{i}] must be a Configuration; found {short_repr(value)}",
                argument=f"{name}[{i}]",
            )
        if (value.detector, value.params) in seen:
            raise InvalidInputError(
                f"{name}[{i}] must differ from those before; found {value.key} a second time",
                argument=name,
            )
        seen.add((value.detector, value.params))
    if not seen:
        raise InvalidInputError(
            f"{name} must contain at least one Configuration; found none", argument=name
        )
    return tuple(values)


def _read(entry: dict[str, Any], where: str) -> Iterator[Configuration]:
    if "estimator" in entry:  # whose parameters may have the names of other keys
        name = entry.pop("name", None)
        if not isinstance(name, str) or not name.isprintable() or not name.strip():
            raise InvalidInputError(
                f"{where}.name must be a label; found {short_repr(name)}", argument=f"{where}.name"
            )
        yield from _of_estimator(name, entry.pop("estimator"), entry, where)
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
            yield from _of_estimator(*_ESTIMATORS[kind], entry, where)
    else:
        raise InvalidInputError(
            f"{where} must have one of the keys preset, kind and estimator; "
            f"found {', '.join(map(str, entry)) or 'none'}",
            argument=where,
        )


def _of_distances(entry: dict[str, Any], where: str) -> Iterator[Configuration]:
    _check_keys(entry, ("k", "score"), where, needed="k")
    for options in _combinations({**entry, "score": entry.get("score", "kappa")}, where):
        values = dict(options)
        k = check_count(values["k"], f"{where}.k")
        score = check_choice(values["score"], _SCORES, f"{where}.score")
        checked = (("k", k), ("score", score))
        rule = Rule(cast(Score, score), k)
        yield Configuration("kNN", _text(checked), rule=rule, options=checked)


def _of_factors(entry: dict[str, Any], where: str) -> Iterator[Configuration]:
    _check_keys(entry, ("n_neighbors",), where, needed="n_neighbors")
    for ((name, value),) in _combinations(entry, where):
        k = check_count(value, f"{where}.{name}")
        checked = ((name, k),)
        yield Configuration("LOF", _text(checked), rule=Rule("lof", k), options=checked)


def _of_estimator(
    label: str, factory: Any, entry: dict[str, Any], where: str
) -> Iterator[Configuration]:
    maker = _imported(factory, f"{where}.estimator") if isinstance(factory, str) else factory
    _check_estimator(maker, f"{where}.estimator")
    if _SEED in entry:
        raise InvalidInputError(
            f"{where}.{_SEED} must be left out: the study's seed decides it",
            argument=f"{where}.{_SEED}",
        )
    _check_options(maker, entry, where)
    for options in _combinations(entry, where):
        yield Configuration(label, _text(options), factory=factory, options=options)


def _combinations(values: Mapping[str, Any], where: str) -> Iterator[Options]:
    """Yield all combinations of values, of which lists have several."""
    grids = []
    for name, value in values.items():
        several = isinstance(value, list | tuple | range | np.ndarray)
        grids.append(list(value) if several else [value])
        if not grids[-1]:
            raise InvalidInputError(
                f"{where}.{name} must contain at least one value; found none",
                argument=f"{where}.{name}",
            )
    for combination in itertools.product(*grids):
        yield tuple(zip(values, combination, strict=True))


def _text(options: Options) -> str:
    return ", ".join(_named(*option) for option in options)


def _named(name: str, value: Any) -> str:
    """Return a parameter as a string, equal for numbers that are equal."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    return f"{name}={value if isinstance(value, str) else short_repr(value)}"


def _check_keys(
    entry: Mapping[str, Any], allowed: Sequence[str], where: str, *, needed: str | None = None
) -> None:
    for key in entry:
        if key not in allowed:
            expected = (
                f"known are {', '.join(allowed)}" if allowed else "no other key is known here"
            )
            raise InvalidInputError(
                f"{where}.{key} is no key of a detector: {expected}", argument=f"{where}.{key}"
            )
    if needed is not None and needed not in entry:
        raise InvalidInputError(
            f"{where}.{needed} must be given; found no such key", argument=f"{where}.{needed}"
        )


def _imported(path: str, where: str) -> Any:
    """Return the class that a string names."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except Exception as error:  # whatever a library does when it is imported
        if isinstance(error, ModuleNotFoundError) and error.name == "sklearn":
            raise MissingExtraError(
                f"{where} needs scikit-learn: pip install 'fastad[study]'"
            ) from None
        raise InvalidInputError(
            f"{where} must name a class that can be imported, as 'package.module.Class'; "
            f"found {path!r}: {error}",
            argument=where,
        ) from None


def _check_estimator(factory: Any, where: str) -> None:
    if not callable(getattr(factory, "fit", None)):
        raise InvalidInputError(
            f"{where} must have a method fit; found {_described(factory)}", argument=where
        )
    if not any(hasattr(factory, name) for name in ("score_samples", "decision_function")):
        raise InvalidInputError(
            f"{where} must have a method score_samples or decision_function; found "
            f"{_described(factory)}",
            argument=where,
        )
    kind = factory if isinstance(factory, type) else type(factory)
    if (kind.__module__.partition(".")[0], kind.__name__) in OF_BATCHES:
        raise InvalidInputError(
            f"{where} must score single points; {kind.__name__} scores a batch together",
            argument=where,
        )


def _check_options(factory: Any, names: Mapping[str, Any], where: str) -> None:
    """Check that an estimator has the parameters that are named, and gets those that it needs."""
    allowed, required, takes_all = _parameters(factory)
    for name in names:
        if name not in allowed and not takes_all:
            raise InvalidInputError(
                f"{where}.{name} is no parameter of {_name_of(factory)}; it has "
                f"{', '.join(allowed) or 'none'}",
                argument=f"{where}.{name}",
            )
    for name in required:
        if name not in names:
            raise InvalidInputError(
                f"{where}.{name} must be given: {_name_of(factory)} has no default for it",
                argument=f"{where}.{name}",
            )


def _parameters(factory: Any) -> tuple[list[str], list[str], bool]:
    """Return the parameters, those without a default, and whether it accepts any other name."""
    if not isinstance(factory, type):
        return sorted(factory.get_params()) if hasattr(factory, "get_params") else [], [], False
    listed = inspect.signature(factory).parameters.values()
    named = [p for p in listed if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    required = [p.name for p in named if p.default is p.empty]
    takes_all = any(p.kind == p.VAR_KEYWORD for p in listed)
    return [p.name for p in named], required, takes_all


def _make(factory: Any, options: dict[str, Any]) -> Any:
    """Return a new estimator."""
    if isinstance(factory, str):
        factory = _imported(factory, "estimator")
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


def _described(factory: Any) -> str:
    """Return what makes detectors as a string that is the same in every process."""
    if isinstance(factory, str):
        return factory
    if isinstance(factory, type) or not hasattr(factory, "get_params"):
        return _name_of(factory)
    options = sorted(factory.get_params(deep=False).items())
    return f"{_name_of(factory)}({_text(tuple(options))})"


def _name_of(factory: Any) -> str:
    kind = factory if isinstance(factory, type) else type(factory)
    return f"{kind.__module__}.{kind.__qualname__}"
