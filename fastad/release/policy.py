"""``read_policy``: what a new detector must fulfil, from TOML or from plain values."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

from fastad._core.parameters import (
    N_RESAMPLES,
    check_choice,
    check_column_names,
    check_count,
    check_seed,
    check_type,
    refuse_given,
    short_repr,
)
from fastad._core.toml_files import check_keys, check_table, check_tables, read_toml
from fastad._core.types import Blocks, Label
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.contamination import check_contamination, corrected
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.uncertainty.comparisons.margin_results import PASS, SKIP, UNDECIDED
from fastad.uncertainty.comparisons.noninferiority import (
    check_test_options,
    range_of_limit,
    range_of_margin,
)

# Conditions: how the accepted range follows from the measure and the number.
CONDITIONS: Mapping[str, Callable[[BoundMeasure, Any, str], tuple[float, float]]] = {
    "margin": range_of_margin,
    "equivalence": partial(range_of_margin, both=True),
    "at_least": range_of_limit,
    "at_most": range_of_limit,
}
_WORDS = {"margin": "not worse by", "equivalence": "differs by less than"}
DESIGNS = ("paired", "independent")
# What a requirement may have instead of all rows.
PARTS = ("slices", "kinds", "segments")


@dataclass(frozen=True, slots=True)
class Requirement:
    """A condition on one measure.

    Attributes
    ----------
    measure : str
        Key of the measure.
    margin : float or None
        Largest acceptable loss against the old detector.
    equivalence : float or None
        Largest acceptable difference in either direction.
    at_least, at_most : float or None
        Limit of the new detector's value. Exactly one of these four is given.
    slices : sequence of str
        Columns in each of whose values the condition must hold, instead of on all rows.
    kinds : sequence of str
        Columns of kinds of anomalies: it must hold for each kind beside all normal samples.
    segments : sequence of str
        Columns of segments of normal samples: it must hold for each segment beside all anomalies.
    undecided : {"not enough data", "pass"}
        Verdict where the test decides neither way.
    """

    measure: str
    margin: float | None = None
    equivalence: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    slices: Sequence[str] = ()
    kinds: Sequence[str] = ()
    segments: Sequence[str] = ()
    undecided: str = UNDECIDED

    def __post_init__(self) -> None:
        given = self._given
        if len(given) != 1:
            raise InvalidInputError(
                f"measure {self.measure!r} must have one of {', '.join(CONDITIONS)}; found "
                f"{' and '.join(given) or 'none'}"
            )
        bound, is_better = self.bound, self.bound.measure.higher_is_better
        check_test_options(bound, 0.95, 1, 0)
        _ = self.accepted
        right, more = ("at_least", "more") if is_better else ("at_most", "less")
        if self.is_limit and given[0] != right:
            raise InvalidInputError(
                f"{given[0]} must be {right} for {bound.key}, of which {more} is better; found "
                f"{given[0]} = {getattr(self, given[0])}"
            )
        for name in PARTS:
            object.__setattr__(self, name, check_column_names(getattr(self, name), name))
        if self.segments and bound.fpr is not None:
            raise InvalidInputError(
                f"segments must be given for a measure at one threshold of all, such as "
                f"fpr@threshold0.5; found {bound.key}, whose threshold each segment would have for "
                "itself"
            )
        check_choice(self.undecided, (UNDECIDED, PASS), "undecided")

    @property
    def _given(self) -> list[str]:
        return [name for name in CONDITIONS if getattr(self, name) is not None]

    @property
    def text(self) -> str:
        """The condition in words."""
        (name,) = self._given
        words = _WORDS.get(name, name.replace("_", " "))
        return f"{self.measure} {words} {getattr(self, name):g}"

    @property
    def parts(self) -> list[tuple[str, str]]:
        """The columns of slices, kinds and segments, each with what it is."""
        return [(part, name) for part in PARTS for name in getattr(self, part)]

    @property
    def bound(self) -> BoundMeasure:
        """The measure with its operating point."""
        return bind(self.measure, {})

    @property
    def is_limit(self) -> bool:
        """Whether it is about the new detector alone."""
        return self.margin is None and self.equivalence is None

    @property
    def accepted(self) -> tuple[float, float]:
        """The accepted range of the difference, or of the value."""
        (name,) = self._given
        return CONDITIONS[name](self.bound, getattr(self, name), name)


@dataclass(frozen=True, slots=True)
class Policy:
    """What a new detector must fulfil, and where the tables have it.

    Attributes
    ----------
    require : sequence of Requirement
        All of them must hold.
    confidence_level : float
        Confidence level of each bound, in (0.5, 1).
    design : {"paired", "independent"}
        Whether both tables have the same samples, or samples of their own.
    label, score : str
        Columns of the labels and of the scores.
    new_score, old_score : str or None
        Columns of the scores of either table, where they differ.
    id : str or None
        Column by which rows of both tables are joined; by default they have the same order.
    clusters, weights : str or None
        Columns of clusters and weights, in the new table.
    blocks : int, "auto" or None
        Mean length of blocks, where rows are in the order of time.
    contamination : float
        Fraction of anomalies among the samples that are labelled normal.
    pos_label : label or None
        Label of the anomalies where labels are not 0 and 1.
    min_anomalies, min_normals : int
        Slices with fewer samples have no test.
    small_slices : {"not enough data", "skip"}
        Their verdict.
    n_resamples, seed : int
        Number of replicates, and their seed.
    """

    require: Sequence[Requirement]
    confidence_level: float = 0.95
    design: str = "paired"
    label: str = "y"
    score: str = "score"
    new_score: str | None = None
    old_score: str | None = None
    id: str | None = None
    clusters: str | None = None
    weights: str | None = None
    blocks: Blocks | None = None
    contamination: float = 0.0
    pos_label: Label | None = None
    min_anomalies: int = 10
    min_normals: int = 30
    small_slices: str = UNDECIDED
    n_resamples: int = N_RESAMPLES
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.require:
            raise InvalidInputError("require must have at least one requirement; found none")
        check_choice(self.design, DESIGNS, "design")
        check_choice(self.small_slices, (UNDECIDED, SKIP), "small_slices")
        for name in ("min_anomalies", "min_normals", "n_resamples"):
            check_count(getattr(self, name), name)
        check_seed(self.seed, "seed")
        for name in ("label", "score", "new_score", "old_score", "id", "clusters", "weights"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise InvalidTypeError(
                    f"{name} must be the name of a column; found {short_repr(value)}", argument=name
                )
        hidden = check_contamination(self.contamination)
        for each in self.require:
            check_test_options(each.bound, self.confidence_level, 1, 0)
            corrected(each.bound, hidden)
        names = "id", "clusters", "weights", "blocks"
        if hidden and (self.clusters is not None or self.blocks is not None):
            raise InvalidInputError(
                "contamination must not be given with clusters or blocks; found "
                f"{self.contamination:g}"
            )
        if self.design == "independent":
            refuse_given({name: getattr(self, name) for name in names}, "for independent samples")

    @property
    def slice_columns(self) -> list[str]:
        """The columns of slices, kinds and segments, each once."""
        return list(dict.fromkeys(name for each in self.require for _, name in each.parts))

    @property
    def part_columns(self) -> set[str]:
        """The columns of kinds and segments, in which rows of the other class may have no name."""
        parts = (part for each in self.require for part in each.parts)
        return {name for part, name in parts if part != "slices"}


def read_policy(policy: str | os.PathLike[str] | Mapping[str, Any] | Policy) -> Policy:
    """Read the policy of a gate from a TOML file, or from plain values.

    Parameters
    ----------
    policy : path, mapping or Policy
        A file, or its content. Keys are the attributes of `Policy`; ``require`` is an array of
        tables whose keys are the attributes of `Requirement`.

    Returns
    -------
    Policy

    Raises
    ------
    InvalidInputError
        If the file cannot be read, or a key or value is invalid; the message names it.
    MissingExtraError
        If a library that reads TOML (before Python 3.11) is not installed.

    Examples
    --------
    >>> import fastad
    >>> margin, limit = {"measure": "tpr@0.01", "margin": 0.02}, {"measure": "auc", "at_least": 0.9}
    >>> policy = fastad.release.read_policy({"require": [margin, limit]})
    >>> [each.accepted for each in policy.require]
    [(-0.02, inf), (0.9, inf)]
    """
    if isinstance(policy, Policy):
        return policy
    if isinstance(policy, Mapping):
        return _policy_of(policy)
    check_type(policy, (str, os.PathLike), "policy", "a path, a mapping or a Policy")
    values = read_toml(Path(policy))
    try:
        return _policy_of(values)
    except (InvalidInputError, InvalidTypeError) as error:
        raise type(error)(f"{Path(policy)}: {error}", argument="policy") from None


def _policy_of(values: Mapping[str, Any]) -> Policy:
    check_keys(values, [each.name for each in fields(Policy)], "", of="policy")
    tables = check_tables(values.get("require", ()), "require")
    keys = [each.name for each in fields(Requirement)]
    requirements = []
    for i, table in enumerate(tables):
        name = f"require[{i}]"
        check_keys(check_table(table, name), keys, f"{name}.", of="policy")
        if not isinstance(table.get("measure"), str):
            raise InvalidTypeError(
                f"{name}.measure must be the key of a measure; found "
                f"{short_repr(table.get('measure'))}",
                argument=f"{name}.measure",
            )
        try:
            requirements.append(Requirement(**table))
        except (InvalidInputError, InvalidTypeError) as error:
            raise type(error)(f"{name}: {error}", argument=name) from None
    return Policy(**{**values, "require": tuple(requirements)})
