"""``StudyConfig``: the configuration of a study, read from TOML or made in Python."""

import dataclasses
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fastad._core.parameters import (
    check_count,
    check_rate,
    check_seed,
    exact_rate,
    mistyped,
    refused,
    short_repr,
)
from fastad._core.toml_files import check_keys, check_table, check_tables, read_toml
from fastad.benchmarking.columns import key_list
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.measure import BoundMeasure, Measure, MeasureLike
from fastad.measures.requests import bind, function_of, parse_measures, read_key, suggestion_for
from fastad.study.configurations import (
    Configuration,
    check_configurations,
    detector_presets,
    read_detectors,
)
from fastad.study.digests import own_code, value_text
from fastad.study.extensions import ExtraPlan, extensions
from fastad.study.problems import DataSelection
from fastad.study.results import KEYS, SPLIT_COLUMNS
from fastad.study.split import Protocol

Section = TypeVar("Section")

# A fraction of 1e-5 of the volume cannot be measured by fewer points.
_MIN_DRAWS = 100
# False positive rates at which volumes are read.
OPERATING_RATES = (0.01, 0.05)

# Defaults by name of a profile: for minutes, for an hour, and for all data. Extensions add to them.
_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "quick": {
        "title": "Quick study",
        "data": {"bundled": True, "max_subproblems": 2},
        "protocol": {"repeats": 3},
        "volumes": {"n_draws": 20_000},
    },
    "medium": {
        "title": "Medium study",
        "data": {"max_subproblems": 3},
        "protocol": {"repeats": 3, "max_train": 2000},
    },
    "full": {"title": "Full study"},
}

# Columns of the results of a study beside those of measures.
_RESULT_COLUMNS = (*KEYS, *SPLIT_COLUMNS, "reason", "em", "mv")


@dataclass(frozen=True, slots=True)
class VolumePlan:
    """Options of the estimates of volumes.

    Attributes
    ----------
    n_draws : int
        Points drawn uniformly in the box of training and test rows of each split.
    fpr : sequence of float
        False positive rates at which volumes are read; each counts once.
    """

    n_draws: int = 100_000
    fpr: Sequence[float] = OPERATING_RATES

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_draws", check_count(self.n_draws, "volumes.n_draws"))
        if self.n_draws < _MIN_DRAWS:
            raise refused("volumes.n_draws", f"be at least {_MIN_DRAWS}", self.n_draws)
        rates = check_rate(self.fpr, "volumes.fpr")
        if not isinstance(rates, list):
            raise mistyped("volumes.fpr", "be a list of numbers", short_repr(self.fpr))
        fpr = tuple(dict.fromkeys(float(rate) for rate in rates))
        # Columns of volumes have them in their names.
        if len({f"{rate:g}" for rate in fpr}) < len(fpr):
            raise refused("volumes.fpr", "differ in six digits", short_repr(self.fpr))
        object.__setattr__(self, "fpr", fpr)


@dataclass(frozen=True, slots=True)
class StudyConfig:
    """Configuration of a study.

    Attributes
    ----------
    data : DataSelection
        Data sets of the study.
    title : str
        Title of the report.
    seed : int
        Seed of splits, detectors and uniform points.
    protocol : Protocol
        Splits of the rows.
    volumes : VolumePlan
        Estimation of the volumes.
    measures : sequence of str, Measure and BoundMeasure
        Keys of the measures with labels, such as ``tpr@0.05``, or names of functions, which stand
        for their keys at each rate of the volumes; by default `paper_measures`.
        Declarations, such as `fastad.measures.from_counts` makes, are columns too; their functions
        must be defined in a module, and not within another function.
    detectors : sequence of Configuration
        Detectors with parameters; by default `paper_detectors`.
    extra : mapping of str to ExtraPlan
        Plans of extensions by the name of their table: ``{"goix": GoixPlan()}``.
    folder : Path
        Paths of data are relative to it.
    """

    data: DataSelection
    title: str = "Study of anomaly detectors"
    seed: int = 0
    protocol: Protocol = field(default_factory=Protocol)
    volumes: VolumePlan = field(default_factory=VolumePlan)
    measures: Sequence[MeasureLike] = field(
        default_factory=lambda: tuple(
            key for extension in extensions() for key in extension.measures()
        )
    )
    detectors: Sequence[Configuration] = field(
        default_factory=lambda: read_detectors(next(iter(detector_presets().values()), ()))
    )
    extra: Mapping[str, ExtraPlan] = field(default_factory=dict)
    folder: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        if not isinstance(self.title, str):
            raise mistyped("title", "be a string", short_repr(self.title))
        object.__setattr__(self, "seed", check_seed(self.seed, "seed"))
        object.__setattr__(self, "measures", check_measures(self.measures, self.volumes.fpr))
        object.__setattr__(self, "detectors", check_configurations(self.detectors))

        # A copy, as the configuration cannot change; not a proxy, which cannot be pickled.
        object.__setattr__(self, "extra", dict(self.extra))

    @property
    def own_measures(self) -> dict[str, BoundMeasure]:
        """Measures that are declarations, by their keys."""
        return {each.key: each for each in self.measures if isinstance(each, BoundMeasure)}

    def to_dict(self) -> dict[str, Any]:
        """Return all settings that the results depend on, as values that JSON can represent.

        Paths of data are left out: the content of each data set counts.
        """
        data = dataclasses.asdict(self.data)
        del data["paths"]
        own = {
            key: {
                "higher_is_better": bound.measure.higher_is_better,
                "code": own_code([bound.measure.compute]),
                "options": value_text(bound.measure.compute, "measures"),
                "parameters": value_text(dict(bound.parameters), "measures"),
            }
            for key, bound in self.own_measures.items()
        }
        return {
            "title": self.title,
            "seed": self.seed,
            "data": data,
            "protocol": dataclasses.asdict(self.protocol),
            "volumes": dataclasses.asdict(self.volumes),
            "measures": keys_of(self.measures),
            **({"own_measures": own} if own else {}),
            "detectors": [repr(detector) for detector in self.detectors],
            **{name: plan.to_dict() for name, plan in self.extra.items()},
        }


def read_config(path: str | os.PathLike[str]) -> StudyConfig:
    """Read a study from a TOML file.

    Parameters
    ----------
    path : path
        The file. Paths in it are relative to its folder.

    Returns
    -------
    StudyConfig

    Raises
    ------
    InvalidInputError
        If the file cannot be read, or a key or value is invalid; the message names it.
    MissingExtraError
        If a library that reads TOML (before Python 3.11), or of the detectors, is not installed.

    Notes
    -----
    Keys: ``title``, ``seed``, ``profile``, ``measures``; tables ``data``, ``protocol``,
    ``volumes`` and ``goix``; an array of tables ``detectors``. A profile provides the keys that the
    file lacks.
    """
    file = Path(path)
    values = read_toml(file)
    try:
        return make_config(values, folder=file.resolve().parent)
    except (InvalidInputError, InvalidTypeError) as error:
        raise type(error)(f"{file}: {error}", argument=error.item) from None


def make_config(values: Mapping[str, Any], *, folder: Path | None = None) -> StudyConfig:
    """Make a study of plain values, as a TOML file has them.

    Parameters
    ----------
    values : mapping
        Keys as for `read_config`.
    folder : Path, optional
        Paths of data are relative to it; by default the working directory.

    Returns
    -------
    StudyConfig

    Raises
    ------
    InvalidInputError
        If a key or value is invalid; the message names it.
    MissingExtraError
        If the library of a detector is not installed.
    """
    readers = {
        name: reader for extension in extensions() for name, reader in extension.plans().items()
    }
    keys = ("title", "seed", "profile", "measures", "data", "protocol", "volumes", "detectors")
    check_keys(values, (*keys, *readers), "")
    merged = _merge(_profile(values), values)
    # Extra plans of a profile can be left out.
    merged = {key: value for key, value in merged.items() if key in keys or value is not False}
    if "data" not in merged:
        raise refused("data", "name the data sets to run", "no such table")
    options: dict[str, Any] = {
        key: merged[key] for key in ("title", "seed", "measures") if key in merged
    }
    if "detectors" in merged:
        options["detectors"] = read_detectors(
            check_tables(merged["detectors"], "detectors"), folder=folder
        )
    options["extra"] = {
        name: read(check_table(merged[name], name))
        for name, read in readers.items()
        if name in merged
    }
    return StudyConfig(
        data=_section(DataSelection, merged["data"], "data"),
        protocol=_section(Protocol, merged.get("protocol", {}), "protocol"),
        volumes=_section(VolumePlan, merged.get("volumes", {}), "volumes"),
        folder=Path.cwd() if folder is None else folder,
        **options,
    )


def keys_of(measures: Sequence[MeasureLike]) -> list[str]:
    """Return the keys of measures as a study has them: keys, or bound."""
    return [each.key if isinstance(each, BoundMeasure) else str(each) for each in measures]


def check_measures(
    measures: Sequence[MeasureLike], fpr: Sequence[float]
) -> tuple[str | BoundMeasure, ...]:
    """Return the keys of measures with labels, each once; those that are declared are bound.

    ``tpr@0.05`` is a key; the name of a function, such as ``tpr_at_fpr``, stands for its keys, at
    each ``fpr`` if it takes one.
    """
    keys: dict[str, BoundMeasure | None] = {}
    rates = [exact_rate(rate, "volumes.fpr") for rate in fpr]
    declared = Measure, BoundMeasure
    if not (isinstance(measures, Sequence) and any(isinstance(x, declared) for x in measures)):
        measures = key_list(measures, "measures")
    for key in measures:
        if isinstance(key, declared):
            for bound in parse_measures(key, rates):
                _check_own(bound)
                own = None if _is_named(bound) else bound
                if keys.setdefault(bound.key, own) != own:
                    raise refused("measures", "have keys of their own", f"two for {bound.key!r}")
            continue
        key_list([key], "measures")
        if function_of(key) == key:
            keys |= dict.fromkeys(bound.key for bound in parse_measures(key, rates))
            continue
        named = read_key(key)
        if named is None or named[0].higher_is_better is None:
            raise refused(
                "measures",
                "contain keys of measures such as auc or tpr@0.05",
                f"{short_repr(key)}{suggestion_for(key)}",
            )
        keys[key] = None
    return tuple(key if bound is None else bound for key, bound in keys.items())


def _is_named(bound: BoundMeasure) -> bool:
    """Return whether a measure is the one that its key names, with all its options."""
    named = read_key(bound.key)
    is_whole = named is not None and not named.measure.takes_score_range
    return is_whole and bind(bound.key, {}) == bound


def _check_own(bound: BoundMeasure) -> None:
    """Check a declared measure: it has a direction, no key of a column, and code with a name."""
    if bound.measure.higher_is_better is None:
        raise refused("measures", "be ones of which more, or less, is better", bound.key)
    if bound.key in _RESULT_COLUMNS:
        raise refused("measures", "have keys that are no columns of the results", bound.key)
    value_text(bound.measure.compute, "measures")


def _profile(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the values that a profile provides; nothing where none is named."""
    if "profile" not in values:
        return {}
    name = values["profile"]
    if not isinstance(name, str) or name not in _PROFILES:
        raise refused("profile", f"be one of {', '.join(_PROFILES)}", short_repr(name))
    filled = dict(_PROFILES[name])
    for extension in extensions():
        filled |= extension.profiles().get(name, {})
    return filled


def _merge(profile: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a profile, replaced by those given; tables key by key."""
    merged = dict(profile)
    for key, value in values.items():
        filled = merged.get(key)
        both = isinstance(filled, Mapping) and isinstance(value, Mapping)
        merged[key] = {**filled, **value} if both else value  # type: ignore[dict-item]
    data = values.get("data")
    if isinstance(data, Mapping) and "paths" in data and "bundled" not in data:
        merged["data"] = {
            **merged["data"],
            "bundled": False,
        }  # whoever names data does not mean a profile's
    return merged


def _section(kind: type[Section], values: Any, name: str) -> Section:
    """Make one part of a study of a table."""
    table = check_table(values, name)
    check_keys(table, [option.name for option in dataclasses.fields(kind)], f"{name}.")  # type: ignore[arg-type]
    options = {key: tuple(x) if isinstance(x, list) else x for key, x in table.items()}
    return kind(**options)
