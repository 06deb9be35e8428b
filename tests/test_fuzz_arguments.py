"""Any object for any argument: a result, or an error that names the argument."""

import inspect
import re
import typing
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.errors import MissingExtraError
from fastad.measures.registry import MEASURES
from tests.support.loops import loop
from tests.support.unusual import N_VALUES, UserError, anything, attempt

DATA = ("y_true", "y_score", "sample_weight", "pos_label", "groups")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(fastad.measures, name) for name in MEASURES},
    **{"evaluate": fastad.evaluate, "rank_scores": fastad.rank_scores},
}
PARAMETERS = {name: inspect.signature(FUNCTIONS[name]).parameters for name in FUNCTIONS}


USUAL: dict[str, st.SearchStrategy[Any]] = {
    "y_true": st.sampled_from([[0, 1, 1, 0], np.array([1, 0, 0, 1]), [True, False, False, False]]),
    "y_score": st.sampled_from(
        [[0.1, 0.4, 0.35, 0.8], [2, 1, 1, 3], np.zeros(N_VALUES, np.float32)]
    ),
    "sample_weight": st.sampled_from([None, None, [1, 2, 0, 1]]),
    "pos_label": st.sampled_from([None, None, None, 0]),
    "groups": st.sampled_from([None, ["a", "a", "b", "b"], {"fold": [0, 0, 1, 1]}]),
    "kinds": st.sampled_from([None, ["a", "b", "b", "a"], {"kind": [0, 0, 1, 1]}]),
    "segments": st.sampled_from([None, None, ["a", "b", "b", "a"]]),
    "measures": st.sampled_from([None, ["auc"], "auc", ["tpr@0.1", "auc_rp"]]),
    "score_range": st.sampled_from([(0, 4), (-1.0, 4.0), [0, 4]]),
    "interpolation": st.sampled_from(["linear", "conservative"]),
    "normalize": st.sampled_from(["width", "none", "mcclish"]),
    "quadrature": st.sampled_from(["right", "exact"]),
    "on_error": st.sampled_from(["raise", "record"]),
    "nan_policy": st.sampled_from(["raise", "omit"]),
    "drop_collinear": st.booleans(),
    "n_threads": st.sampled_from([None, 1, 2]),
    "progress": st.sampled_from([None, False, lambda *_: None]),
    "n_repeats": st.sampled_from([None, 2]),
    "confidence_level": st.sampled_from([None, None, 0.9]),
    "chance": st.sampled_from([False, False, True]),
    "n_resamples": st.just(3),
    "rng": st.just(0),
    "prevalence": st.sampled_from([None, 0.5]),
    "threshold": st.just(0.4),
    "k": st.just(1),
    "min_fpr": st.just(0.1),
    "max_fpr": st.just(0.5),
    "cost_miss": st.just(1),
    "cost_false_alarm": st.just(2),
    "fraction": st.just(0.5),
    "max_tpr": st.just(1),
    "alpha": st.just(0.5),
    "coverage": st.just(0.9),
    "subsample": st.just(0.5),
}
rates = st.sampled_from([0.4, 0.5, 1, Fraction(1, 3)])
rates_of_tables = rates | st.sampled_from([[0.25, 0.5], np.array([0.5])])


def usual_value(function: str, name: str, *, default: Any) -> st.SearchStrategy[Any]:
    """Values of a parameter: those above, the default of a switch, or else rates."""
    if name not in USUAL and (default is None or isinstance(default, bool | str)):
        return st.just(default)
    return USUAL.get(name, rates_of_tables if function == "evaluate" else rates)


def unusual_value(name: str) -> st.SearchStrategy[Any]:
    if name in ("n_repeats", "n_resamples"):  # what is asked for is done, however long it takes
        return anything.filter(lambda value: not _is_large(value))
    return anything


def _is_large(value: Any) -> bool:
    try:
        return bool(float(value) >= 100)
    except (TypeError, ValueError, OverflowError):
        return isinstance(value, int)


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any], set[str]]:
    """A function, its arguments, and the names of those that are not the usual ones."""
    name = draw(st.sampled_from([*FUNCTIONS, *["evaluate"] * 8]))
    given = dict(PARAMETERS[name])
    if name == "confusion_at":
        del given[draw(st.sampled_from(["threshold", "k"]))]
    unusual = {
        draw(st.sampled_from(list(given))) for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3])))
    }
    values = {
        x: draw(unusual_value(x) if x in unusual else usual_value(name, x, default=of.default))
        for x, of in given.items()
    }
    return name, values, unusual


def snapshot(value: Any) -> Any:
    """Return what an argument holds; two of the same object are equal unless it was changed."""
    if type(value) is np.ndarray and value.dtype != object:
        return value.shape, value.dtype, value.flags.writeable, value.tobytes()
    if isinstance(value, dict):
        return [(key, snapshot(cells)) for key, cells in value.items()]
    # Polars cannot show objects whose repr fails.
    return attempt(lambda: repr(value.to_list() if isinstance(value, pl.Series) else value), None)


def assert_documented(function: Callable[..., Any], result: Any) -> None:
    hint = typing.get_type_hints(function)["return"]
    members = typing.get_args(hint) if typing.get_origin(hint) in UNIONS else (hint,)
    assert type(result) in [typing.get_origin(member) or member for member in members]
    if isinstance(result, fastad.evaluation.Evaluation | fastad.evaluation.GroupedEvaluation):
        str(result)


UNIONS = (typing.Union, type(int | str))


def outcome(name: str, values: dict[str, Any]) -> str:
    """Return the message that a call ends with; none of a result, which must be as documented.

    An error that carries its argument names it in the message.
    """
    try:
        assert_documented(FUNCTIONS[name], FUNCTIONS[name](**values))
    except (UserError, UndefinedMeasureError):
        return ""
    except (InvalidInputError, MissingExtraError, TypeError) as error:
        caught: Exception = error
    else:
        return ""
    argument = getattr(caught, "argument", None)
    assert argument is None or names_one_of(str(caught), {argument}), caught
    return str(caught)


def names_one_of(message: str, names: set[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", message) for name in names)


def check(name: str, values: dict[str, Any], unusual: set[str]) -> None:
    """Call a function; only a result, or an error that names what is unusual, may come of it."""
    before = {x: snapshot(value) for x, value in values.items()}
    message = outcome(name, values)
    # Lengths belong to two arguments, of which either may be wrong.
    suspects = unusual | (set(DATA) if unusual & {*DATA} else set())
    assert not message or names_one_of(message, suspects), message
    assert {x: snapshot(value) for x, value in values.items()} == before


@pytest.mark.slow
@settings(max_examples=100)
@given(calls())
def test_any_object_for_any_argument(call: tuple[str, dict[str, Any], set[str]]) -> None:
    check(*call)


@pytest.mark.evidence
@settings(max_examples=600)
@given(calls())
def test_any_object_for_any_argument_in_many_calls(
    call: tuple[str, dict[str, Any], set[str]],
) -> None:
    check(*call)


Y, S = [0, 1, 1, 0], [0.1, 0.4, 0.35, 0.8]
# What the test above once found.
REGRESSIONS: list[tuple[str, dict[str, Any], str]] = [
    ("tpr_at_fpr", {"fpr": [[0.1], [0.1, 0.2]]}, "fpr"),
    ("tpr_at_fpr", {"fpr": np.timedelta64(1, "s")}, "fpr"),
    ("tpr_at_fpr", {"fpr": np.array([1, "NaT"], "m8[s]")}, "fpr"),
    ("tpr_at_fpr", {"fpr": 10**5000}, "fpr"),
    ("tpr_at_fpr", {"fpr": Fraction(1, 10**5000)}, "fpr"),
    ("tpr_at_fpr", {"fpr": np.array([0.1, None], object).data}, "fpr"),
    ("tpr_at_fpr", {"fpr": pl.Series([2**64, 1])}, "fpr"),
    ("tpr_at_fpr", {"fpr": 0.1, "interpolation": np.array(["linear", "linear"])}, "interpolation"),
    ("tpr_at_fpr", {"fpr": 0.1, "interpolation": pd.NA}, "interpolation"),
    ("tpr_at_fpr", {"fpr": 0.1, "interpolation": 10**5000}, "interpolation"),
    ("precision_at_k", {"k": np.timedelta64(1, "s")}, "k"),
    ("precision_at_k", {"k": [[1], [1, 2]]}, "k"),
    ("precision_at_k", {"k": 10**5000}, "k"),
    ("confusion_at", {"threshold": np.timedelta64(1, "s")}, "threshold"),
    ("rp_auc", {"score_range": np.array(0.5)}, "score_range"),
    ("rp_auc", {"score_range": [1, 10**5000, 2]}, "score_range"),
    ("recall_at_precision", {"precision": 0.5, "prevalence": 5e-324}, "prevalence"),
    ("precision_at_p", {"p": 0.4, "rng": np.timedelta64(1, "s")}, "rng"),
    ("roc_auc", {"y_true": np.array([1, pd.NA, 0, 1], object), "pos_label": 1}, "y_true"),
    ("roc_auc", {"y_true": [True, False, True, True], "pos_label": -(2**70)}, "pos_label"),
    ("roc_auc", {"y_true": np.array(Y, np.float16), "pos_label": 1e300}, "y_true"),
    ("roc_auc", {"pos_label": np.void(b"abc")}, "pos_label"),
    ("roc_auc", {"y_score": [10**5000, 1, 2, 3]}, "y_score"),
    ("roc_auc", {"y_score": pl.Series([2**64, 1, 2, 3])}, "y_score"),
    ("evaluate", {"y_score": {10**5000: S}}, "y_score"),
    ("evaluate", {"y_score": pl.LazyFrame({"a": S})}, "y_score"),
    ("evaluate", {"groups": [(), (1,), (), (1,)]}, "groups"),
    ("evaluate", {"groups": np.array([{}, [], 0, 1], object)}, "groups"),
    ("evaluate", {"groups": np.array([pd.NA, 1, 0, 1], object)}, "groups"),
    ("evaluate", {"groups": [10**5000, 1, 0, 1]}, "groups"),
    ("evaluate", {"groups": np.array([1, 2, 3, "NaT"], "m8[s]")}, "groups"),
    ("evaluate", {"groups": np.array([1, 2, 3, complex("nan")])}, "groups"),
    ("evaluate", {"groups": np.zeros(4, "M8")}, "groups"),
]


@loop(("name", "unusual", "parameter"), REGRESSIONS)
def test_arguments_that_once_failed_are_refused_by_name(
    name: str, unusual: dict[str, Any], parameter: str
) -> None:
    assert names_one_of(outcome(name, {"y_true": Y, "y_score": S, **unusual}), {parameter})


@loop("dtype", ["f2", "f4", "f8", "g", "i8", "u8"])
@loop("scores", [[1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0]])
def test_a_threshold_may_be_of_any_type_of_number(scores: list[float], dtype: str) -> None:
    result = fastad.confusion_at(Y, scores, threshold=np.dtype(dtype).type(2))
    assert (result.tp, result.fp) == (2, 1)


def test_a_long_double_is_a_threshold_between_two_floats() -> None:
    above = np.nextafter(np.longdouble(2), np.longdouble(3))
    result = fastad.confusion_at(Y, [1, 2, 3, 4], threshold=above)
    assert (result.tp, result.fp) == (1, 1) if above > 2 else (2, 1)
