"""Pictures of reports that take half the time to write."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from fastad.study.report import make

# What reports of users have.
PDF_FONTS = make._PDF_FONTS


@contextmanager
def quick_pictures() -> Iterator[None]:
    """Write PDF with fonts that no other library has to cut to the letters in use."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make, "_PDF_FONTS", 3)
        yield
