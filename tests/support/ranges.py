"""Scores that are cut into ranges although they are few."""

import contextlib
from collections.abc import Iterator
from unittest import mock

from fastad._core.threads import thread_limit


@contextlib.contextmanager
def tiny_ranges(n_threads: int) -> Iterator[None]:
    """Cut into ranges, for threads and for parts of the curve, from a handful of points on."""
    with (
        mock.patch("fastad._core.threads._POINTS_A_THREAD", 2),
        mock.patch("fastad.ordering.orders.FEWEST_POINTS", 1),
        mock.patch("fastad.ordering.cuts._SMALLEST_SAMPLE", 1),
        mock.patch("fastad.ordering.cuts._MARGIN", 0),
        thread_limit(n_threads),
    ):
        yield
