"""The typed signatures of the measures as methods, made from their public functions.

``python -m tests.support.method_stubs`` writes them after a measure has changed.
"""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

import fastad
from fastad.measures.registry import MEASURES

PACKAGE = Path(str(fastad.__file__)).parent
STUBS = PACKAGE / "evaluation" / "measure_methods.pyi"
BOUNDED_STUBS = PACKAGE / "streaming" / "sketches" / "bounded_methods.pyi"
DATA = ("y_true", "y_score", "contamination", "sample_weight", "pos_label")
HEAD = """import numpy as np

from fastad._core.types import Interpolation, Normalize, Point, Points, Quadrature, Threshold
from fastad.measures.results import (
    ClassPercentiles,
    Confusion,
    DetCurve,
    NpCurve,
    PrecisionRecallCurve,
    RocCurve,
    RpCurve,
    ValueAtThreshold,
)
from fastad.ordering.counts import OrderedCounts

class MeasureMethods:
    _counts: OrderedCounts

    def __init__(self, counts: OrderedCounts) -> None: ...
"""


BOUNDED_HEAD = """from abc import ABC, abstractmethod
from typing import Any

from fastad._core.types import Interpolation, Normalize, Point, Quadrature, Threshold
from fastad.measures.measure import BoundMeasure, Measure
from fastad.streaming.sketches.results import BoundedValue

def bind_any(measure: Measure[Any], parameters: dict[str, Any]) -> BoundMeasure: ...

class BoundedMeasureMethods(ABC):
    @abstractmethod
    def bounds(self, bound: BoundMeasure) -> BoundedValue: ...
"""


def functions() -> Iterator[ast.FunctionDef]:
    """Each public function of a measure."""
    for path in sorted((PACKAGE / "measures").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name in MEASURES:
                yield node


def make_stubs() -> str:
    """Return the stub file: of each function its signatures without the data."""
    return HEAD + "".join(map(stub, functions()))


def make_bounded_stubs() -> str:
    """Return the stub file of methods that return a value with bounds: at one point each."""
    text = BOUNDED_HEAD
    for node in functions():
        measure = MEASURES[node.name]
        if measure.kind in ("value", "threshold"):
            of_data = (*DATA, *[name for name, each in measure.parameters.items() if each.random])
            options = options_of(node, of_data)
            parameters = ", ".join(["self", *(["*", *options] if options else [])])
            text += f"    def {node.name}({parameters}) -> BoundedValue: ...\n"
    return text


def options_of(node: ast.FunctionDef, without: Sequence[str]) -> list[str]:
    return [
        f"{arg.arg}: {ast.unparse(arg.annotation)}" + ("" if default is None else " = ...")
        for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if arg.annotation is not None and arg.arg not in without
    ]


def stub(node: ast.FunctionDef) -> str:
    """Return the signature of a function as a method, without the data."""
    missing = [
        arg.arg for arg in [*node.args.args, *node.args.kwonlyargs] if arg.annotation is None
    ]
    if missing or node.returns is None:
        missing += [] if node.returns else ["the result"]
        raise TypeError(
            f"{node.name} must annotate all parameters and the result; found no type of "
            f"{', '.join(missing)}"
        )
    options = options_of(node, DATA)
    parameters = ", ".join(["self", *(["*", *options] if options else [])])
    return f"    def {node.name}({parameters}) -> {ast.unparse(node.returns)}: ...\n"


if __name__ == "__main__":
    STUBS.write_text(make_stubs(), encoding="utf-8")
    BOUNDED_STUBS.write_text(make_bounded_stubs(), encoding="utf-8")
