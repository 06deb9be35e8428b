"""Small models in the ONNX format, written field by field: the package onnx is not needed."""

from collections.abc import Sequence
from typing import Any

import numpy as np

_TYPES = {np.dtype(np.float32): 1, np.dtype(np.int64): 7, np.dtype(np.float64): 11}


def _number(value: int) -> bytes:
    """Encode a number as Protocol Buffers do, seven bits a byte."""
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def _field(number: int, value: int | str | bytes) -> bytes:
    if isinstance(value, int):
        return _number(number << 3) + _number(value)
    content = value.encode() if isinstance(value, str) else value
    return _number(number << 3 | 2) + _number(len(content)) + content


def _tensor(name: str, array: Any) -> bytes:
    dims = b"".join(_field(1, size) for size in array.shape)
    return dims + _field(2, _TYPES[array.dtype]) + _field(8, name) + _field(9, array.tobytes())


def _node(operation: str, inputs: Sequence[str], output: str) -> bytes:
    named = b"".join(_field(1, name) for name in inputs)
    return named + _field(2, output) + _field(4, operation)


def _value(name: str, dtype: Any, shape: Sequence[int | None]) -> bytes:
    dims = b"".join(
        _field(1, _field(2, f"n{i}") if size is None else _field(1, size))
        for i, size in enumerate(shape)
    )
    kind = _field(1, _field(1, _TYPES[np.dtype(dtype)]) + _field(2, dims))
    return _field(1, name) + _field(2, kind)


def model(
    nodes: Sequence[tuple[str, Sequence[str], str]],
    constants: dict[str, Any],
    inputs: dict[str, Sequence[int | None]],
    outputs: dict[str, Sequence[int | None]],
    dtype: Any = np.float32,
) -> bytes:
    """Return a model of operations (name, inputs, output); shapes have None for any size."""
    graph = b"".join(_field(1, _node(*node)) for node in nodes)
    graph += _field(2, "graph")
    graph += b"".join(_field(5, _tensor(name, array)) for name, array in constants.items())
    graph += b"".join(_field(11, _value(name, dtype, shape)) for name, shape in inputs.items())
    graph += b"".join(_field(12, _value(name, dtype, shape)) for name, shape in outputs.items())
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 17))


def autoencoder(
    first: Any, second: Any, *, n_rows: int | None = None, dtype: Any = np.float32
) -> bytes:
    """Return x -> tanh(x @ first) @ second."""
    shape = (n_rows, first.shape[0])
    return model(
        [("MatMul", ("x", "first"), "a"), ("Tanh", ("a",), "b"), ("MatMul", ("b", "second"), "y")],
        {"first": first.astype(dtype), "second": second.astype(dtype)},
        {"x": shape},
        {"y": shape},
        dtype,
    )


def sums(n_features: int | None, *, keep: bool = False) -> bytes:
    """Return x -> the sum of each row, of shape (n,) or (n, 1), beside the rows themselves."""
    nodes = [
        ("Identity", ("x",), "same"),
        *([("MatMul", ("x", "ones"), "sum")] if keep else [("ReduceSum", ("x", "axis"), "a")]),
    ]
    if not keep:
        nodes.append(("Squeeze", ("a", "axis"), "sum"))
    width = n_features or 1
    return model(
        nodes,
        {"ones": np.ones((width, 1), np.float32)} if keep else {"axis": np.array([1])},
        {"x": (None, n_features)},
        {"sum": (None, 1) if keep else (None,), "same": (None, n_features)},
    )
