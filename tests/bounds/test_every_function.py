"""Every public function on drawn arguments: a kernel that leaves its arrays raises."""

import warnings
from typing import Any

import pytest
from hypothesis import given

from fastad.errors import InvalidInputError, UndefinedMeasureError
from tests.support.drawn_calls import arguments
from tests.test_public_api import FUNCTIONS, PUBLIC

pytestmark = pytest.mark.bounds

# What they are given reaches no kernel.
ELSEWHERE = {
    "counts_query": "writes a query",
    "from_counts": "declares a measure that the user has written",
    "onnx_scorer": "scores by the ONNX Runtime",
    "read_drawn": "reads a file",
}


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ELSEWHERE])
def test_every_function(name: str) -> None:
    returned, refused = [], []

    @given(arguments(name))
    def call(values: dict[str, Any]) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                returned.append(PUBLIC[name](**values))
            except (InvalidInputError, UndefinedMeasureError) as error:
                refused.append(error)

    call()
    assert returned, refused
