"""``StudyConfig``: what a study runs, read from TOML or made in Python."""

import dataclasses
import difflib
import importlib
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from fastad._core.parameters import check_choice, check_count, check_rate, short_repr
from fastad.errors import InvalidInputError, MissingExtraError
from fastad.study.grid import Configuration, check_configurations, paper_detectors, read_detectors
from fastad.study.labels import OPERATING_RATES, check_labels, paper_measures
from fastad.study.papers.goix_data import SETTINGS, GoixProtocol, Setting
from fastad.study.problems import DataSelection
from fastad.study.profiles import PROFILES
from fastad.study.split import Protocol

Section = TypeVar("Section")

# Reading a volume share of 1e-5 from fewer points is no measurement.
_FEWEST_DRAWS = 100


@dataclass(frozen=True, slots=True)
class VolumePlan:
    """How volumes are estimated.

    Attributes
    ----------
    n_draws : int
        Points drawn uniformly in the box of training and test rows of each split.
    fpr : sequence of float
        False positive rates at which volumes are read.
    """

    n_draws: int = 100_000
    fpr: Sequence[float] = OPERATING_RATES

    def __post_init__(self) -> None:
        if check_count(self.n_draws, "volumes.n_draws") < _FEWEST_DRAWS:
            raise InvalidInputError(
                f"volumes.n_draws must be at least {_FEWEST_DRAWS}; found {self.n_draws}"
            )
        rates = check_rate(self.fpr, "volumes.fpr")
        if not isinstance(rates, list):
            raise TypeError(f"volumes.fpr must be a list of numbers; found {short_repr(self.fpr)}")
        object.__setattr__(self, "fpr", tuple(float(rate) for rate in rates))


@dataclass(frozen=True, slots=True)
class GoixPlan:
    """Goix's protocol on the data sets of a study.

    Attributes
    ----------
    settings : sequence of {"novelty", "unsupervised"}
        In which settings.
    protocol : GoixProtocol
        Its numbers.
    """

    settings: Sequence[Setting] = SETTINGS
    protocol: GoixProtocol = field(default_factory=GoixProtocol)

    def __post_init__(self) -> None:
        if not self.settings:
            raise InvalidInputError("goix.settings must hold at least one setting; found none")
        for setting in self.settings:
            check_choice(setting, SETTINGS, "goix.settings")
        object.__setattr__(self, "settings", tuple(dict.fromkeys(self.settings)))


@dataclass(frozen=True, slots=True)
class StudyConfig:
    """What a study runs.

    Attributes
    ----------
    data : DataSelection
        Which data sets.
    title : str
        Of the report.
    seed : int
        Of splits, detectors and uniform points.
    protocol : Protocol
        How rows are split.
    volumes : VolumePlan
        How volumes are estimated.
    measures : sequence of str
        Labels of the measures with labels; by default all that the papers compare.
    detectors : sequence of Configuration
        By default the 42 of the paper.
    goix : GoixPlan or None
        Goix's protocol besides; None for none.
    folder : Path
        Paths of data are relative to it.
    """

    data: DataSelection
    title: str = "Study of anomaly detectors"
    seed: int = 0
    protocol: Protocol = field(default_factory=Protocol)
    volumes: VolumePlan = field(default_factory=VolumePlan)
    measures: Sequence[str] = field(default_factory=paper_measures)
    detectors: Sequence[Configuration] = field(default_factory=paper_detectors)
    goix: GoixPlan | None = None
    folder: Path = field(default_factory=Path.cwd)

    def __post_init__(self) -> None:
        if not isinstance(self.title, str):
            raise TypeError(f"title must be a text; found {short_repr(self.title)}")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int):
            raise TypeError(f"seed must be a whole number; found {short_repr(self.seed)}")
        if self.seed < 0:
            raise InvalidInputError(
                f"seed must not be negative; found {self.seed}", argument="seed"
            )
        object.__setattr__(self, "measures", check_labels(self.measures, "measures"))
        object.__setattr__(self, "detectors", check_configurations(self.detectors, "detectors"))

    def plain(self) -> dict[str, Any]:
        """Return what the results depend on as plain values.

        Where the data lie is left out: the content of each data set counts.
        """
        data = dataclasses.asdict(self.data)
        del data["paths"]
        return {
            "title": self.title,
            "seed": self.seed,
            "data": _plain(data),
            "protocol": _plain(dataclasses.asdict(self.protocol)),
            "volumes": _plain(dataclasses.asdict(self.volumes)),
            "measures": list(self.measures),
            "detectors": [repr(one) for one in self.detectors],
            "goix": None if self.goix is None else _plain(dataclasses.asdict(self.goix)),
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
        If the file cannot be read, or a key or value is not as described; the message names it.

    Notes
    -----
    Keys: ``title``, ``seed``, ``profile``, ``measures``; tables ``data``, ``protocol``,
    ``volumes`` and ``goix``; an array of tables ``detectors``. A profile fills in what the file
    does not say.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")  # some editors put a mark at the beginning
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"{file}: the file cannot be read: {error}") from None
    try:
        values = _toml().loads(text)
    except ValueError as error:  # of which the error of TOML is a kind
        raise InvalidInputError(f"{file}: the file is not TOML: {error}") from None
    try:
        return make_config(values, folder=file.resolve().parent)
    except (InvalidInputError, TypeError) as error:
        raise type(error)(f"{file}: {error}") from None


def make_config(values: Mapping[str, Any], *, folder: Path | None = None) -> StudyConfig:
    """Make a study of plain values, as a TOML file holds them.

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
        If a key or value is not as described; the message names it.
    """
    known = ("title", "seed", "profile", "measures", "data", "protocol", "volumes", "goix")
    _check_keys(values, (*known, "detectors"), "")
    merged = _merged(_profile(values), values)
    if "data" not in merged:
        raise InvalidInputError(
            "data must say which data sets to run; found no such table", argument="data"
        )
    given: dict[str, Any] = {
        key: merged[key] for key in ("title", "seed", "measures") if key in merged
    }
    if "detectors" in merged:
        given["detectors"] = read_detectors(_tables(merged["detectors"], "detectors"))
    if "goix" in merged:
        given["goix"] = _goix(merged["goix"])
    return StudyConfig(
        data=_section(DataSelection, merged["data"], "data"),
        protocol=_section(Protocol, merged.get("protocol", {}), "protocol"),
        volumes=_section(VolumePlan, merged.get("volumes", {}), "volumes"),
        folder=Path.cwd() if folder is None else folder,
        **given,
    )


def _profile(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a profile fills in; nothing where none is named."""
    if "profile" not in values:
        return {}
    name = values["profile"]
    if not isinstance(name, str) or name not in PROFILES:
        raise InvalidInputError(
            f"profile must be one of {', '.join(PROFILES)}; found {name!r}", argument="profile"
        )
    return PROFILES[name]


def _merged(profile: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a profile, replaced by those given; tables key by key."""
    merged = dict(profile)
    for key, value in values.items():
        own = merged.get(key)
        both = isinstance(own, Mapping) and isinstance(value, Mapping)
        merged[key] = {**own, **value} if both else value  # type: ignore[dict-item]
    if merged.get("goix") is False:  # a profile's own can be left out
        del merged["goix"]
    own = values.get("data")
    if isinstance(own, Mapping) and "paths" in own and "bundled" not in own:
        merged["data"] = {
            **merged["data"],
            "bundled": False,
        }  # whoever names data does not mean a profile's
    return merged


def _goix(values: Any) -> GoixPlan:
    table = dict(_table(values, "goix"))
    settings = table.pop("settings", list(SETTINGS))
    if not isinstance(settings, list):
        raise TypeError(f"goix.settings must be an array; found {short_repr(settings)}")
    _check_keys(table, [one.name for one in dataclasses.fields(GoixProtocol)], "goix.")
    try:
        protocol = GoixProtocol(**table)
    except (InvalidInputError, TypeError) as error:  # which names the key alone
        raise type(error)(f"goix.{error}") from None
    return GoixPlan(tuple(settings), protocol)


def _section(kind: type[Section], values: Any, name: str) -> Section:
    """Make one part of a study of a table."""
    table = _table(values, name)
    _check_keys(table, [one.name for one in dataclasses.fields(kind)], f"{name}.")  # type: ignore[arg-type]
    fixed = {key: tuple(own) if isinstance(own, list) else own for key, own in table.items()}
    return kind(**fixed)


def _table(values: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(values, Mapping):
        raise TypeError(f"{name} must be a table; found {short_repr(values)}")
    return values


def _tables(values: Any, name: str) -> Sequence[Mapping[str, Any]]:
    if not isinstance(values, list | tuple):
        raise TypeError(f"{name} must be an array of tables; found {short_repr(values)}")
    return [_table(own, f"{name}[{i}]") for i, own in enumerate(values)]


def _check_keys(values: Mapping[str, Any], known: Iterable[str], prefix: str) -> None:
    names = list(known)
    for key in values:
        if key not in names:
            close = difflib.get_close_matches(str(key), names, n=1)
            meant = f"did you mean {prefix}{close[0]}? " if close else ""
            raise InvalidInputError(
                f"{prefix}{key} is no key of a study; {meant}Known are {', '.join(names)}"
            )


def _plain(value: Any) -> Any:
    """Return what JSON holds, as it comes back from there."""
    if isinstance(value, Mapping):
        return {key: _plain(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(own) for own in value]
    return value


def _toml() -> Any:
    """Return the library that reads TOML: Python's own from 3.11 on."""
    try:
        return importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    except ModuleNotFoundError:
        raise MissingExtraError("a TOML file needs tomli: pip install 'fastad[study]'") from None
