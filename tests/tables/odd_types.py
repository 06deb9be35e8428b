"""Odd types of columns in Parquet and Arrow files and in archives, for `test_routes`."""

import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa

from tests.support.odd_tables import OddTable, columnar, dictionary, typed

_SHORT = [Decimal("1.25"), Decimal("-2.5"), Decimal("0.1"), Decimal(3)]
_LONG = Decimal("0.1234567890123456789")
ODD_TYPES = {
    **{
        f"{kind} in {suffix}": typed(
            suffix, np.array([1, 0, 3, 2], kind), [1, 0, 3, 2], y=(0, 1, 0, 1)
        )
        for kind in ("i1", "u1", "u2", "i4", "u8", "f2", "f4", ">f8", ">i4")
        for suffix in ((".npz",) if kind[0] == ">" else (".parquet", ".npz"))
    },
    "uint64": typed(
        ".parquet", np.array([2**64 - 1, 2**64 - 2, 0, 1], "u8"), [2**64 - 1, 2**64 - 2, 0, 1]
    ),
    "float32": typed(
        ".arrow",
        np.array([0.1, 0.2, 0.3, 0.4], "f4"),
        [float(np.float32(x)) for x in (0.1, 0.2, 0.3, 0.4)],
    ),
    "truths as scores": typed(".parquet", [True, False, False, True], [1, 0, 0, 1]),
    "truths with a gap": typed(
        ".parquet", [True, None, False, True], ": column 's', row 1: the value is missing"
    ),
    "decimals": typed(".parquet", pa.array(_SHORT, pa.decimal128(10, 2)), [1.25, -2.5, 0.1, 3]),
    "long decimals that floats have": typed(
        ".arrow", pa.array(_SHORT, pa.decimal128(38, 20)), [1.25, -2.5, 0.1, 3]
    ),
    "long decimals": typed(
        ".parquet",
        pa.array([*_SHORT[:3], _LONG], pa.decimal128(38, 19)),
        f": column 's' must contain numbers of at most 64 bits; found decimal128(38, 19) with "
        f"{_LONG}, which a float would round",
    ),
    "a dictionary of floats": typed(".arrow", dictionary([1.5, 2.5, 3.5]), [1.5, 2.5, 1.5, 2.5]),
    "integers with a gap": typed(
        ".arrow", pa.array([2**53 + 1, None, 3, 4]), ": column 's', row 1: the value is missing"
    ),
    "floats with NaN": typed(
        ".arrow", [1.5, 2.5, 0.5, float("nan")], ": column 's', row 3: the value must not be NaN"
    ),
    "half floats with a gap": typed(
        ".arrow",
        pa.array([np.float16(1), None, np.float16(2), np.float16(3)], pa.float16()),
        ": column 's', row 1: the value is missing",
    ),
    "a column of nulls": typed(".parquet", [None] * 4, ": column 's', row 0: the value is missing"),
    "infinities of arrays": typed(".npz", [np.inf, -np.inf, 1, 2], [np.inf, -np.inf, 1, 2]),
    "strings": typed(
        ".parquet", ["1", "2", "3", "4"], ": column 's' must contain numbers; found string"
    ),
    "dates": typed(
        ".parquet",
        [datetime.date(2026, 1, 1)] * 4,
        ": column 's' must contain numbers; found date32[day]",
    ),
    "lists": typed(
        ".parquet", [[1.0]] * 4, ": column 's' must contain numbers; found list<element: double>"
    ),
    "complex numbers": typed(
        ".npz", np.ones(4, complex), ": column 's' must contain numbers; found complex128"
    ),
    "a matrix": typed(
        ".npz", np.ones((4, 2)), ": column 's' must be one-dimensional; found shape (4, 2)"
    ),
    "arrays of other lengths": typed(
        ".npz", np.ones(3), ": columns must be of one length; found 3 values of 's' and 4 of 'y'"
    ),
    "no rows of Parquet": typed(".parquet", pa.array([], "float64"), ": there are no rows", y=()),
    "a name with a point": OddTable(
        ".parquet",
        columnar(".parquet", {"y": [0, 1, 0], "s": [9, 9, 9], "s.t": [1.5, 2.5, 0.5]}),
        {"y": [0, 1, 0], "s.t": [1.5, 2.5, 0.5]},
        scores=["s.t"],
    ),
}
