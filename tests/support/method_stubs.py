"""The typed signatures of the measures as methods, made from their public functions.

``python -m tests.support.method_stubs`` writes them after a measure has changed.
"""

import ast
from pathlib import Path

import fastad

PACKAGE = Path(str(fastad.__file__)).parent
STUBS = PACKAGE / "evaluation" / "measure_methods.pyi"
DATA = ("y_true", "y_score", "sample_weight", "pos_label")
HEAD = """from collections.abc import Sequence

import numpy as np

from fastad._core.types import (
    FloatVector,
    Interpolation,
    IntVector,
    Normalize,
    Point,
    Points,
    Quadrature,
    ScoreVector,
    Threshold,
)
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


def make_stubs() -> str:
    """Return the stub file: of each function its signatures without the data."""
    text = HEAD.replace("import Sequence\n", "import Sequence\nfrom typing import overload\n")
    names = set(fastad.measures.__all__)
    for path in sorted((PACKAGE / "measures").glob("*.py")):
        functions = [
            node
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef) and node.name in names
        ]
        overloaded = {node.name for node in functions if node.decorator_list}
        for node in functions:
            if node.name not in overloaded or node.decorator_list:
                text += stub(node)
    return text


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
    options = [
        f"{arg.arg}: {ast.unparse(arg.annotation)}" + ("" if default is None else " = ...")
        for arg, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        if arg.annotation is not None and arg.arg not in DATA
    ]
    parameters = ", ".join(["self", *(["*", *options] if options else [])])
    overload = "    @overload\n" if node.decorator_list else ""
    return f"{overload}    def {node.name}({parameters}) -> {ast.unparse(node.returns)}: ...\n"


if __name__ == "__main__":
    STUBS.write_text(make_stubs(), encoding="utf-8")
