"""Objects of all kinds, few of which make sense as an argument."""

import array
import datetime
import decimal
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st

from tests.support.strategies import in_layout


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
N_VALUES = 4
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
    [datetime.date(2020, 1, 1)] * N_VALUES,
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
    values = draw(st.sampled_from(LISTS))[: draw(st.sampled_from([N_VALUES] * 8 + [0, 1, 2, 3]))]
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


# By their index: some cannot be hashed or compared.
unusual_objects = st.integers(0, len(UNUSUAL) - 1).map(lambda i: UNUSUAL[i])
anything = st.one_of(containers(), unusual_objects, st.integers(), st.floats(), st.text())
