"""Declarations of measures: copies, and errors that name parameters."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fastad
from fastad._core.declared import REQUIRED, Integer
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.measure import BoundMeasure, Measure
from fastad.measures.rates import RATES
from fastad.measures.registry import MEASURES
from fastad.measures.requests import parse_measures
from tests.support.loops import loop

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
every_copy = loop("duplicate", COPIES.values())


@every_copy
def test_the_sentinel_of_required_parameters_stays_itself(duplicate: Callable[[Any], Any]) -> None:
    assert duplicate(REQUIRED) is REQUIRED


@every_copy
@loop("measure", DECLARED)
def test_copies_of_a_measure_are_the_measure(
    measure: Measure[Any], duplicate: Callable[[Any], Any]
) -> None:
    assert duplicate(measure) is measure


@every_copy
@loop("bound", BOUND)
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


PARAMETERS = [(measure, name) for measure in MEASURES.values() for name in measure.parameters]


@loop("wrong", [object(), 1j, "7x", {1: 2}, len])
@loop(("measure", "name"), PARAMETERS)
def test_errors_about_a_parameter_carry_its_name(
    measure: Measure[Any], name: str, wrong: object
) -> None:
    with pytest.raises((InvalidInputError, InvalidTypeError)) as caught:
        measure.parameters[name].check(wrong, name)
    assert caught.value.argument == name
    assert str(caught.value).startswith(name)


@loop("measure", DECLARED)
def test_a_parameter_that_is_not_given_is_named(measure: Measure[Any]) -> None:
    required = [name for name, each in measure.parameters.items() if each.is_required]
    if required:
        with pytest.raises(InvalidTypeError) as caught:
            measure.check({})
        assert caught.value.argument == required[0]
    else:
        assert measure.check({}).keys() == measure.parameters.keys()


@every_copy
@loop("kind", [InvalidInputError, InvalidTypeError])
def test_errors_keep_their_argument_in_copies(
    kind: type[InvalidInputError | InvalidTypeError], duplicate: Callable[[Any], Any]
) -> None:
    same = duplicate(kind("fpr[1] must be a number; found str", argument="fpr[1]"))
    assert type(same) is kind
    assert (str(same), same.argument, same.item) == (
        "fpr[1] must be a number; found str",
        "fpr",
        "fpr[1]",
    )


@pytest.mark.parametrize(
    ("labels", "pos_label", "argument"),
    [
        ([0, 1], 0.5, "pos_label"),
        ([0, 1, 2], 7, "pos_label"),
        (["a", "b"], "c", "pos_label"),
        ([0, 1], [1], "pos_label"),
        ([0, 1, 2], 1, "y_true"),
        (["a", "b", "c"], "c", "y_true"),
    ],
)
def test_whether_labels_or_the_label_of_anomalies_is_wrong(
    labels: list[Any], pos_label: Any, argument: str
) -> None:
    with pytest.raises((InvalidInputError, InvalidTypeError)) as caught:
        fastad.roc_auc(labels, np.arange(len(labels)), pos_label=pos_label)
    assert caught.value.argument == argument


LIMITED = [
    (measure, name)
    for measure, name in PARAMETERS
    if isinstance(measure.parameters[name], Integer) and measure.parameters[name].random
]


@pytest.mark.parametrize(("measure", "name"), LIMITED, ids=lambda x: getattr(x, "name", x))
def test_numbers_of_repetitions_have_a_limit(measure: Measure[Any], name: str) -> None:
    parameter = measure.parameters[name]
    assert isinstance(parameter, Integer)
    assert parameter.highest is not None
    assert parameter.check(parameter.highest, name) == parameter.highest
    for number in (parameter.highest + 1, 10**30):
        with pytest.raises(InvalidInputError, match=rf"{name} must lie in \[1, .*found {number}"):
            parameter.check(number, name)


def test_there_is_a_number_of_repetitions() -> None:
    assert LIMITED
    with pytest.raises(InvalidInputError, match="n_repeats must lie in"):
        fastad.precision_at_p([0, 1], [0, 1], p=0.5, n_repeats=10**30)
