"""What all tests of the command line share."""

from collections.abc import Iterator

import pytest

from tests.support.pictures import quick_pictures


@pytest.fixture(scope="session", autouse=True)
def plain_fonts() -> Iterator[None]:
    with quick_pictures():
        yield
