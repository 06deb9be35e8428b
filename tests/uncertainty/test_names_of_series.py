"""Detectors are called what their Series are called, and must score the same samples."""

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fastad
from fastad import InvalidInputError

Y = [0] * 40 + [1] * 40
A, B = np.arange(80.0), np.arange(80.0) * 7 % 80
KINDS: dict[str, Callable[[Any, str], Any]] = {
    "pandas": lambda values, name: pd.Series(values, name=name),
    "polars": lambda values, name: pl.Series(name, values),
    "column": lambda values, name: pd.DataFrame({name: values})[name],
}


@pytest.mark.parametrize(("first", "second"), list(product(KINDS, KINDS)))
def test_series_name_the_detectors(first: str, second: str) -> None:
    result = fastad.compare(
        Y, KINDS[first](A, "forest"), KINDS[second](B, "neighbours"), measure="auc"
    )
    assert result.names == ("forest", "neighbours")
    assert "forest" in result.summary
    plain = fastad.compare(Y, A, B, measure="auc")
    assert (result.difference, result.p_value) == (plain.difference, plain.p_value)


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        (A, B, ("a", "b")),
        (pd.Series(A), pd.Series(B), ("a", "b")),
        (pl.Series(A), pl.Series(B), ("a", "b")),
        (pd.Series(A, name="forest"), B, ("forest", "b")),
        (A, pd.Series(B, name="forest"), ("a", "forest")),
        (pd.Series(A, name=0), pd.Series(B, name=1), ("0", "1")),
        # Equal names tell nothing apart.
        (pd.Series(A, name="score"), pd.Series(B, name="score"), ("a", "b")),
        (pd.Series(A, name="b"), B, ("a", "b")),
    ],
)
def test_what_has_no_name_of_its_own_is_called_a_and_b(
    first: Any, second: Any, names: tuple[str, str]
) -> None:
    assert fastad.compare(Y, first, second, measure="auc").names == names


@pytest.mark.parametrize("length", [1, 79, 81])
def test_scores_of_other_samples_cannot_be_paired(length: int) -> None:
    other = np.arange(float(length))
    for call in (
        lambda: fastad.compare(Y, A, other, measure="auc"),
        lambda: fastad.compare(Y, other, A, measure="auc"),
        lambda: fastad.compare_all(Y, {"a": A, "b": other}, measure="auc"),
    ):
        with pytest.raises(InvalidInputError, match=rf"{length} scores and 80 .*the same samples"):
            call()
