"""What all tests of detectors share."""

from collections.abc import Iterator

import pytest

from tests.support.compiled_points import interpreted_pyod


@pytest.fixture(autouse=True, scope="package")
def pyod_is_interpreted() -> Iterator[None]:
    with interpreted_pyod():
        yield
