"""Declarations of measures: copies, and what a new one needs."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from fastad._core.parameters import REQUIRED
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.rates import RATES
from fastad.measures.registry import MEASURES
from fastad.measures.requests import parse_measures

DECLARED = [*MEASURES.values(), *RATES.values()]
BOUND = parse_measures(
    [*(m.name for m in MEASURES.values() if m.kind == "value" and m.default_points != ()), *RATES],
    [Fraction(1, 100), Fraction(1, 20)],
    (Fraction(0), Fraction(1)),
    [0.5, 3],
)
COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{
        f"pickle {protocol}": lambda value, protocol=protocol: pickle.loads(  # type: ignore[misc]
            pickle.dumps(value, protocol)
        )
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
}
every_copy = pytest.mark.parametrize("duplicate", COPIES.values(), ids=COPIES)


@every_copy
def test_the_sentinel_of_required_parameters_stays_itself(duplicate: Callable[[Any], Any]) -> None:
    assert duplicate(REQUIRED) is REQUIRED


@every_copy
@pytest.mark.parametrize("measure", DECLARED, ids=lambda measure: measure.name)
def test_copies_of_a_measure_are_the_measure(
    measure: Measure[Any], duplicate: Callable[[Any], Any]
) -> None:
    assert duplicate(measure) is measure


@every_copy
@pytest.mark.parametrize("bound", BOUND, ids=lambda bound: bound.key)
def test_copies_of_a_bound_measure_are_equal(
    bound: BoundMeasure, duplicate: Callable[[Any], Any]
) -> None:
    same = duplicate(bound)
    assert same == bound
    assert hash(same) == hash(bound)
    assert same.measure is bound.measure


def test_bound_measures_differ_by_their_parameters() -> None:
    assert len(set(BOUND)) == len(BOUND)
    rate = MEASURES["tpr_at_fpr"]
    assert rate.bind(fpr=0.01) == rate.bind(fpr=Fraction(1, 100))
    assert rate.bind(fpr=0.01) != rate.bind(fpr=0.02)
    assert rate.bind(fpr=0.01) != rate.bind(fpr=0.01, interpolation="conservative")
    assert rate.bind(fpr=0.01) != "tpr@0.01"


@every_copy
def test_copies_of_a_measure_that_is_not_listed_have_its_parts(
    duplicate: Callable[[Any], Any],
) -> None:
    derived = replace(MEASURES["tpr_at_fpr"], title="of a user")
    same = duplicate(derived)
    assert same.title == "of a user"
    assert same.compute is derived.compute
    assert same.bind(fpr=0.5).parameters == derived.bind(fpr=0.5).parameters
