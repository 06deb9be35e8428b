"""The deliberate differences from scikit-learn, each shown by a test, and listed on a page."""

import math
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics

from fastad.compat import sklearn as compat

PAGE = Path(__file__).parents[2] / "docs" / "start" / "other_libraries.md"


def test_last_digits_differ() -> None:
    rng = np.random.default_rng(0)
    y, s = rng.integers(0, 2, 1000), rng.normal(size=1000)
    w = rng.uniform(0.1, 3, 1000)
    exact = math.fsum(w[y == 1])
    for weights in (None, w):
        for name in ("roc_auc_score", "average_precision_score"):
            ours, theirs = (
                getattr(x, name)(y, s, sample_weight=weights) for x in (compat, metrics)
            )
            assert ours == pytest.approx(theirs, rel=1e-14)
    ours, theirs = (
        x.roc_curve(y, s, sample_weight=w, drop_intermediate=False)[1] for x in (compat, metrics)
    )
    assert np.any(ours != theirs)
    np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    first = w[np.argmax(np.where(y == 1, s, -np.inf))]
    assert ours[ours > 0][0] == first / exact


def test_intermediate_points_under_real_weights_differ() -> None:
    rng = np.random.default_rng(0)
    y, s = np.repeat([0, 1], 50), rng.normal(size=100)
    w = np.full(100, 0.1)
    ours, theirs = (x.roc_curve(y, s, sample_weight=w) for x in (compat, metrics))
    assert len(ours[0]) != len(theirs[0])
    assert metrics.auc(*ours[:2]) == pytest.approx(metrics.auc(*theirs[:2]), rel=1e-13)


def test_zero_as_a_threshold_differs() -> None:
    ours, theirs = (x.roc_curve([0, 1], [-0.0, 1.0])[2] for x in (compat, metrics))
    assert ours[-1] == theirs[-1] == 0
    assert np.signbit(theirs[-1])
    assert not np.signbit(ours[-1])


def test_warnings_of_overflow_differ() -> None:
    largest = np.finfo(np.float64).max
    data = [0, 1], [-largest, largest]
    with pytest.warns(RuntimeWarning, match="overflow"):
        theirs = metrics.roc_auc_score(*data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert compat.roc_auc_score(*data) == theirs


def test_the_page_lists_these_differences() -> None:
    section = PAGE.read_text("utf-8").partition("## The same functions, faster\n")[2]
    listed = re.findall(r"^- \*\*(.+?)\.\*\*", section.partition("\n## ")[0], re.MULTILINE)
    names = [re.fullmatch("test_(.+)_differs?", name) for name in globals()]
    shown = [name[1].replace("_", " ") for name in names if name is not None]
    assert [title.lower() for title in listed] == shown
