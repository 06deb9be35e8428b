"""Integers that are written as floats, wherever a number of things is asked for."""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import fastad
from fastad._core.parameters import check_count
from fastad.detectors import KNNDetector
from fastad.detectors.neighbours import Rule
from fastad.errors import InvalidInputError
from fastad.study.config import VolumePlan
from fastad.study.papers.goix_data import GoixProtocol
from fastad.study.problems import DataSelection
from fastad.study.split import Protocol
from tests.support.command_line import stdout_of
from tests.support.loops import loop

Y_TRUE = np.repeat([0, 1], [80, 20])
Y_SCORE = np.random.default_rng(0).normal(size=100) + Y_TRUE
BOX = fastad.Box([0, 0], [1, 1])


def _sum(rows: Any) -> Any:
    return rows.sum(axis=1)


def _wide(**options: Any) -> Any:
    return fastad.volume(_sum, 0.7, BOX, rng=0, method="uniform", **options).to_dict()


def _criteria(**options: Any) -> Any:
    X = np.random.default_rng(0).uniform(size=(100, 2))
    return fastad.evaluate_unsupervised({"sum": _sum}, X, rng=0, **options).to_dict()


# For each a call that returns something comparable, and an option of it.
CALLS: Mapping[str, tuple[Callable[..., Any], str]] = {
    "volume": (_wide, "n_draws"),
    "threads": (_wide, "n_threads"),
    "unsupervised": (_criteria, "n_draws"),
    "resamples of criteria": (_criteria, "n_resamples"),
    "interval": (
        lambda **options: fastad.interval(
            Y_TRUE, Y_SCORE, measure="auc", method="bootstrap", rng=0, **options
        ).to_dict(),
        "n_resamples",
    ),
    "evaluate": (
        lambda **options: fastad.evaluate(
            Y_TRUE, Y_SCORE, measures=["auc"], confidence_level=0.9, rng=0, **options
        ).to_dict(),
        "n_resamples",
    ),
    "measure": (lambda **options: fastad.precision_at_k(Y_TRUE, Y_SCORE, **options), "k"),
    "detector": (lambda **options: KNNDetector(**options).k, "k"),
    "rule": (lambda **options: Rule("kappa", **options), "k"),
    "volumes of a study": (lambda **options: VolumePlan(**options), "n_draws"),
    "repeats of a study": (lambda **options: Protocol(**options), "repeats"),
    "rows of a study": (lambda **options: Protocol(**options), "max_train"),
    "problems of a study": (lambda **options: DataSelection(**options), "min_anomalies"),
    "subproblems of a study": (lambda **options: DataSelection(**options), "max_subproblems"),
    "Goix's protocol": (lambda **options: GoixProtocol(**options), "n_subspaces"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_float_without_a_fraction_is_that_integer(name: str) -> None:
    call, option = CALLS[name]
    n = 100 if name != "measure" else 10
    # By repr, too: 100.0 == 100, but a study writes another file.
    assert repr(call(**{option: float(n)})) == repr(call(**{option: n}))


@loop("name", CALLS)
@loop("bad", [99.5, math.inf, math.nan, "100", True])
def test_what_is_no_integer_is_named(name: str, bad: Any) -> None:
    call, option = CALLS[name]
    with pytest.raises(TypeError, match=rf"{option} must be an integer; found "):
        call(**{option: bad})


@pytest.mark.parametrize("value", [1e6, np.float32(1e6), Fraction(10**6), np.int32(10**6)])
def test_every_type_of_number_that_is_an_integer(value: Any) -> None:
    result = check_count(value, "n")
    assert (result, type(result)) == (10**6, int)


@pytest.mark.parametrize("value", [0.0, -1e6])
def test_the_least_is_1_as_a_float_too(value: float) -> None:
    with pytest.raises(InvalidInputError, match="n must be at least 1; found"):
        check_count(value, "n")


def test_on_the_command_line(tmp_path: Any) -> None:
    path = tmp_path / "points.csv"
    np.savetxt(
        path,
        np.random.default_rng(0).normal(size=(60, 9)),
        delimiter=",",
        header="a,b,c,d,e,f,g,h,i",
        comments="",
    )
    options = (path, "--detector", "knn", "--method", "uniform")
    assert stdout_of("volume", *options, "--n-draws", "2e3") == stdout_of(
        "volume", *options, "--n-draws", "2000"
    )
