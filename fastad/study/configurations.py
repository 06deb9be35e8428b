"""Detectors of a study with their parameters."""

import copy
import itertools
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, cast, get_args

import numpy as np

from fastad._core.parameters import check_choice, check_count, mistyped, refused, short_repr
from fastad._core.toml_files import check_keys
from fastad._core.types import FloatMatrix
from fastad.detectors.knn import Kind as Score
from fastad.detectors.neighbours import Rule
from fastad.detectors.scorer import CompiledScorer
from fastad.errors import InvalidInputError
from fastad.study.digests import digest_of, named_text, own_code, value_text
from fastad.study.extensions import extensions
from fastad.study.factories import (
    HIGHER_IS,
    SEED,
    HigherIs,
    check_estimator,
    check_options,
    described,
    import_class,
    make,
    scorer_of,
    set_seed,
)

Options: TypeAlias = tuple[tuple[str, Any], ...]

# Kinds of estimators: the name of each and its class.
_ESTIMATORS = {
    "iforest": ("IForest", "sklearn.ensemble.IsolationForest"),
    "ocsvm": ("OCSVM", "sklearn.svm.OneClassSVM"),
}
_KINDS = ("knn", "lof", *_ESTIMATORS)
_SCORES = get_args(Score)
_HIGHER_IS = "higher_is"


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
        maker = import_class(self.factory, self.folder, "estimator") if named else self.factory
        return [maker, dict(self.options)]

    def digest(self) -> str:
        """Return a digest of it and its own code: equal digests give equal scores."""
        options = [[name, value_text(value, name)] for name, value in self.options]
        return digest_of(repr(self), repr(self.rule), options, own_code(self.code()))

    def fit(self, X_train: FloatMatrix, seed: int) -> Any:
        """Return a new detector, fitted; its warnings are not shown.

        The seed, from 0 to 2**32 - 1, is for each parameter ``random_state`` that the detector has.
        """
        if self.factory is None:
            raise TypeError(f"{self.key} is a rule of neighbours: a Neighbourhood follows it")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimator = make(self.factory, copy.deepcopy(dict(self.options)), self.folder)
            set_seed(estimator, seed)
            estimator.fit(X_train)
        return estimator

    def compiled(self, X_train: FloatMatrix, seed: int) -> CompiledScorer:
        """Return the score of a new detector, fitted; parameters as for `fit`."""
        fitted = self.fit(X_train, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a detector without a compiled form
            return scorer_of(fitted, self.higher_is)


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
    configurations: dict[tuple[str, frozenset[str]], Configuration] = {}
    for i, entry in enumerate(entries):
        where = f"detectors[{i}]"
        if not isinstance(entry, Mapping):
            raise mistyped(where, "be a table", short_repr(entry))
        for configuration in _read(dict(entry), where, folder):
            # In any order of the parameters.
            identity = (
                configuration.detector,
                frozenset(_named(*option, where) for option in configuration.options),
            )
            if identity in configurations:
                raise refused(
                    where, "differ from those before", f"{configuration.key} a second time"
                )
            configurations[identity] = configuration
    if not configurations:
        raise refused("detectors", "contain at least one table", "none")
    return tuple(configurations.values())


def detector_presets() -> dict[str, Sequence[Mapping[str, Any]]]:
    """Return the tables of each preset of detectors by its name; the first is the default."""
    return {
        name: tables for extension in extensions() for name, tables in extension.detectors().items()
    }


def check_configurations(values: Any) -> tuple[Configuration, ...]:
    """Check that values are configurations, at least one, all different."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        raise mistyped("detectors", "be a sequence of Configuration", short_repr(values))
    seen: set[tuple[str, str]] = set()
    for i, value in enumerate(values):
        if not isinstance(value, Configuration):
            raise mistyped(f"detectors[{i}]", "be a Configuration", short_repr(value))
        if (value.detector, value.params) in seen:
            raise refused(
                f"detectors[{i}]", "differ from those before", f"{value.key} a second time"
            )
        seen.add((value.detector, value.params))
    if not seen:
        raise refused("detectors", "contain at least one Configuration", "none")
    return tuple(values)


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
    maker = import_class(factory, folder_name, f"{where}.estimator") if named else factory
    check_estimator(maker, f"{where}.estimator")
    described(maker, f"{where}.estimator")  # refuses objects that differ from process to process
    higher_is: HigherIs | None = None
    if _HIGHER_IS in entry:
        higher_is = check_choice(entry.pop(_HIGHER_IS), HIGHER_IS, f"{where}.{_HIGHER_IS}")
    if SEED in entry:
        raise InvalidInputError(f"{where}.{SEED} must be left out: the study's seed decides it")
    check_options(maker, entry, where)
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
    return named_text(name, value, f"{where}.{name}")


def _check_keys(
    entry: Mapping[str, Any], allowed: Sequence[str], where: str, *, needed: str | None = None
) -> None:
    check_keys(entry, allowed, f"{where}.", of="detector")
    if needed is not None and needed not in entry:
        raise refused(f"{where}.{needed}", "be given", "no such key")
