"""Any object for any argument: a result, or an error that names the argument."""

import array
import datetime
import decimal
import inspect
import re
import typing
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastad
from fastad import InvalidInputError, UndefinedMeasureError
from fastad.errors import MissingExtraError
from fastad.measures.registry import MEASURES
from tests.support.strategies import in_layout

DATA = ("y_true", "y_score", "sample_weight", "pos_label", "groups")
FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: getattr(fastad.measures, name) for name in MEASURES},
    **{"evaluate": fastad.evaluate, "rank_scores": fastad.rank_scores},
}
PARAMETERS = {name: list(inspect.signature(FUNCTIONS[name]).parameters) for name in FUNCTIONS}


class UserError(Exception):
    """What an object of the user raises of itself; it may reach the user."""


def hostile(*methods: str) -> Any:
    """Return an object some of whose methods raise."""

    def fail(*_: object, **__: object) -> None:
        raise UserError

    return type("Hostile", (), dict.fromkeys(methods, fail))()


def returning(method: str, value: Any) -> Any:
    """Return an object one of whose methods gives a value that makes no sense."""
    return type("Unusual", (), {method: lambda *_, **__: value})()


UNUSUAL: list[Any] = [
    None,
    ...,
    NotImplemented,
    object(),
    len,
    int,
    np,
    lambda: 0,
    pd.NA,
    pd.NaT,
    np.ma.masked,
    decimal.Decimal("0.1"),
    decimal.Decimal("sNaN"),
    datetime.date(2020, 2, 2),
    datetime.timedelta(1),
    np.datetime64("2020"),
    np.datetime64("NaT", "s"),
    np.timedelta64(3, "s"),
    np.void(b"abc"),
    np.str_("width"),
    np.longdouble("1e4000"),
    np.longdouble(0.25),
    np.clongdouble(1j),
    np.float16(0.1),
    np.bool_(True),
    True,
    1j,
    "",
    "width",
    "auc",
    "\ud800\0{}%s",
    b"\xff",
    10**5000,
    -(10**5000),
    2**63,
    -(2**63) - 1,
    2**64,
    Fraction(1, 3),
    Fraction(1, 10**5000),
    Fraction(10**5000, 3),
    float("nan"),
    float("-inf"),
    5e-324,
    1.7e308,
    -0.0,
    pd.DataFrame({"a": [1, 2]}),
    pl.DataFrame({"a": [1, 2]}),
    pa.table({"a": [1, 2]}),
    pd.DataFrame([[1, 2]], columns=["a", "a"]),
    pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
    pd.DataFrame(),
    pd.Timestamp("2020-01-01", tz="UTC"),
    pl.LazyFrame({"a": [1]}),
    pa.scalar(1.5),
    {},
    {1: 2},
    {"a": [0.1, 0.2], 3: np.zeros(2)},
    {"1": [1], 1: [1]},
    {None: None},
    {(): [[]]},
    set(),
    {0.1},
    frozenset({1}),
    range(0),
    range(3),
    [[1], [1, 2]],
    [[[]]],
    [],
    (),
    [np.zeros(2), np.zeros(3)],
    [np.zeros(2), 1],
    [None],
    [[1, 2], [3, 4]],
    [{}],
    [{1}, [2]],
    memoryview(b"01"),
    memoryview(bytes(8)).cast("d"),
    memoryview(bytes(4)).cast("B", (2, 2)),
    array.array("d", [0.5, 1.5]),
    array.array("B", [0, 1]),
    bytearray(b"\0\1"),
    deque([0, 1]),
    np.array(0.5),
    np.array(None),
    np.array([[0.1, 0.2]]),
    np.zeros((0, 0)),
    np.zeros((2, 0, 3)),
    np.zeros((2, 2), np.longdouble),
    np.array([[0.5, 1.0]]).view(np.matrix),
    np.recarray((2,), [("a", "f8"), ("b", "i4")]),
    np.zeros(2, [("a", "f8")]),
    np.zeros(2, "V4"),
    np.broadcast_to(np.float64(1), 3),
    np.ma.masked_array([0.1, 0.2], [False, True]),
    np.array(["a", None], np.dtypes.StringDType(na_object=None)),
    np.array(["a", "b"], np.dtypes.StringDType()),
    np.array([1, pd.NA], object),
    np.array([1, None], object),
    np.array([{}, []], object),
    np.array([0, "a"], object),
    np.array([np.zeros(2), np.ones(3)], object),
    np.array(["NaT", "2020"], "M8[D]"),
    np.array([1, "NaT"], "m8[s]"),
    np.zeros(2, "M8"),
    *[hostile(method) for method in ("__array__", "__len__", "__iter__", "__eq__", "__float__")],
    *[hostile(method) for method in ("__repr__", "__hash__", "__getitem__", "__bool__")],
    hostile("__len__", "__getitem__", "__iter__", "__array__", "__repr__", "__eq__", "__hash__"),
    [hostile("__eq__"), hostile("__float__")],
    np.array([hostile("__eq__"), 0], object),
    np.array([hostile("__hash__"), 0], object),
    np.array([hostile("__repr__"), 0], object),
    returning("__array__", 3),
    returning("__array__", np.array([0, 1])),
    returning("__len__", -1),
    returning("__float__", "x"),
    returning("__eq__", np.zeros(2)),
    returning("columns", None),
    returning("column_names", None),
    type("Columns", (), {"columns": 3})(),
    type("Columns", (), {"columns": ["a"]})(),
    type("Interface", (), {"__array_interface__": {"version": 3}})(),
    type("Interface", (), {"__array_interface__": 3})(),
]

CODES = [*"?bBhHiIlLqQefdgFDGOSUMmV", ">f8", ">i4", ">e", ">g", "S3", "U2", "M8[ns]", "m8[D]"]
LAYOUTS = ("plain", "strided", "reversed", "read-only", "big-endian", "unaligned", "broadcast")
# As many values as the other arguments have, and numbers that make good arguments, so that most
# calls get past the validation.
N = 4
LISTS: list[list[Any]] = [
    [0, 1, 1, 0],
    [True, False, True, False],
    [0.1, 0.4, 0.35, 0.8],
    [3, 1, 4, 1],
    [1, 1, 0, 0],
    [1.0, 0.0, 1.0, 1.0],
    [0.5, 1, 1.5, 0.25],
    [0, 0, 0, 0],
    [0.5, float("nan"), 0.5, float("inf")],
    [2**53 + 1, 0.5, 1, 2],
    [2**63, -1, 0, 1],
    [2**64, 1, 0, 1],
    [10**5000, 0, 1, 1],
    [1e308, 1e308, -1e308, 1e-320],
    [float("-inf"), float("inf"), 0.0, -0.0],
    ["a", "b", "a", "b"],
    ["0", "1", "1", "0"],
    ["a", 1, None, 0.5],
    [b"a", b"b", b"a", b"b"],
    [None, 1, 0, 1],
    [1j, 0, 1, 0],
    [Fraction(1, 3), 0, 1, 1],
    [decimal.Decimal(1), 0, 1, 0],
    [datetime.date(2020, 1, 1)] * N,
    [datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc), None] * 2,
    [pd.NA, 1, 0, 1],
    [[0], [1], [0], [1]],
    [[0, 1], [1], [], 0],
    [{}, {}, {}, {}],
    [(), (1,), (), (1,)],
    [np.float32(0.1), np.float64(0.1), np.int8(1), 0],
]
PANDAS = ["Int64", "UInt8", "Float32", "boolean", "string", "category", "object", "float64"]
PANDAS += ["int64[pyarrow]", "double[pyarrow]", "bool[pyarrow]", "Sparse[float64]"]
PANDAS += ["datetime64[ns, UTC]", "timedelta64[ns]", "period[D]", "interval", "complex128"]

POLARS: list[Any] = [pl.Int8, pl.UInt64, pl.Float32, pl.Boolean, pl.String, pl.Categorical]
POLARS += [pl.Decimal, pl.Null, pl.Object, pl.Date, pl.Datetime, pl.Duration, pl.List(pl.Int8)]
POLARS += [None]


def attempt(make: Callable[[], Any], fallback: Any) -> Any:
    """Return what a library makes of values, where it makes anything of them."""
    try:
        return make()
    except Exception:
        return fallback


def in_any_layout(values: Any, layout: str) -> Any:
    if layout == "unaligned":
        raw = bytearray(values.nbytes + 1)
        raw[1:] = values.tobytes()
        return np.frombuffer(raw, values.dtype, offset=1)
    if layout == "broadcast":
        return np.broadcast_to(values[:1], values.shape)
    return in_layout(values, layout)


@st.composite
def containers(draw: st.DrawFn) -> Any:
    """One of the lists, in anything that holds lists."""
    values = draw(st.sampled_from(LISTS))[: draw(st.sampled_from([N] * 8 + [0, 1, 2, 3]))]
    kind = draw(st.sampled_from(["list", "array", "array", "pandas", "polars", "arrow", "other"]))
    if kind == "array":
        code, layout = draw(st.sampled_from(CODES)), draw(st.sampled_from(LAYOUTS))
        cast = attempt(lambda: np.array(values).astype(code), None)
        # Bytes of Python objects are addresses.
        if cast is None or (cast.dtype == object and layout == "unaligned"):
            return values
        return attempt(lambda: in_any_layout(cast, layout), values)
    if kind == "pandas":
        dtype: Any = draw(st.sampled_from(PANDAS))
        make: Any = draw(st.sampled_from([pd.Series, pd.Index, pd.array]))
        return attempt(lambda: make(values, dtype=dtype), values)
    if kind == "polars":
        chosen = draw(st.sampled_from(POLARS))
        return attempt(lambda: pl.Series("s", values, chosen, strict=False), values)
    if kind == "arrow":
        column = attempt(lambda: pa.array(values), None)
        targets = [pa.int8(), pa.float16(), pa.bool_(), pa.string(), pa.large_binary(), pa.null()]
        targets += [pa.decimal128(9, 2), pa.date32(), pa.timestamp("ns", "UTC"), pa.uint64()]
        target = draw(st.sampled_from(targets))
        column = attempt(lambda: column.cast(target), column)
        if draw(st.booleans()):
            column = attempt(lambda: column.dictionary_encode(), column)
        if draw(st.booleans()):
            column = attempt(lambda: pa.chunked_array([column[:1], column[1:]]), column)
        return values if column is None else column
    if kind == "other":
        changes: list[Callable[[], Any]] = [
            lambda: tuple(values),
            lambda: deque(values),
            lambda: set(values),
            lambda: dict.fromkeys(values),
            lambda: dict(enumerate(values)).values(),
            lambda: (value for value in values),
            lambda: iter(values),
            lambda: [values, values],
            lambda: np.array([values, values]),
            lambda: np.array(values, object),
            lambda: np.ma.masked_array(values),
            lambda: np.array(values).view(np.matrix),
            lambda: np.array(values).data,
            lambda: {"a": values, "b": values},
            lambda: pd.DataFrame({"a": values, "b": values}),
            lambda: pl.DataFrame({"a": values}, strict=False),
            lambda: pa.table({"a": values}),
        ]
        return attempt(draw(st.sampled_from(changes)), values)
    return list(values)


# By their place in the list: some cannot be hashed or compared.
unusual_objects = st.integers(0, len(UNUSUAL) - 1).map(lambda i: UNUSUAL[i])
anything = st.one_of(containers(), unusual_objects, st.integers(), st.floats(), st.text())

USUAL: dict[str, st.SearchStrategy[Any]] = {
    "y_true": st.sampled_from([[0, 1, 1, 0], np.array([1, 0, 0, 1]), [True, False, False, False]]),
    "y_score": st.sampled_from([[0.1, 0.4, 0.35, 0.8], [2, 1, 1, 3], np.zeros(N, np.float32)]),
    "sample_weight": st.sampled_from([None, None, [1, 2, 0, 1]]),
    "pos_label": st.sampled_from([None, None, None, 0]),
    "groups": st.sampled_from([None, ["a", "a", "b", "b"], {"fold": [0, 0, 1, 1]}]),
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
    "clusters": st.none(),
    "blocks": st.none(),
    "contamination": st.none(),
    "max_tpr": st.just(1),
    "alpha": st.just(0.5),
    "coverage": st.just(0.9),
    "subsample": st.just(0.5),
}
rates = st.sampled_from([0.4, 0.5, 1, [0.25, 0.5], np.array([0.5]), Fraction(1, 3)])


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
    given = PARAMETERS[name]
    if name == "confusion_at":
        left_out = draw(st.sampled_from(["threshold", "k"]))
        given = [x for x in given if x != left_out]
    unusual = {draw(st.sampled_from(given)) for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3])))}
    values = {x: draw(unusual_value(x) if x in unusual else USUAL.get(x, rates)) for x in given}
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
    ("roc_auc", {"y_true": np.array([1, pd.NA, 0, 1], object), "pos_label": 1}, "pos_label"),
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


@pytest.mark.parametrize(("name", "unusual", "parameter"), REGRESSIONS)
def test_arguments_that_once_failed_are_refused_by_name(
    name: str, unusual: dict[str, Any], parameter: str
) -> None:
    assert names_one_of(outcome(name, {"y_true": Y, "y_score": S, **unusual}), {parameter})


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "i8", "u8"])
@pytest.mark.parametrize("scores", [[1, 2, 3, 4], [1.0, 2.0, 3.0, 4.0]])
def test_a_threshold_may_be_of_any_type_of_number(scores: list[float], dtype: str) -> None:
    found = fastad.confusion_at(Y, scores, threshold=np.dtype(dtype).type(2))
    assert (found.tp, found.fp) == (2, 1)


def test_a_long_double_is_a_threshold_between_two_floats() -> None:
    above = np.nextafter(np.longdouble(2), np.longdouble(3))
    found = fastad.confusion_at(Y, [1, 2, 3, 4], threshold=above)
    assert (found.tp, found.fp) == (1, 1) if above > 2 else (2, 1)
