"""`fastad.compat.sklearn` returns, warns and raises what scikit-learn does."""

import inspect
import pickle
import sys
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from fastad.compat import sklearn as compat
from fastad.errors import MissingExtraError
from tests.support.loops import loop

NAMES = compat.__all__
AREAS = ("average_precision_score", "roc_auc_score")
CURVES = ("det_curve", "precision_recall_curve", "roc_curve")
# Sums of scikit-learn's are rounded at every sample.
CLOSE = 1e-12
CONTAINERS: tuple[Callable[[npt.NDArray[Any]], Any], ...] = (
    np.asarray,
    np.ndarray.tolist,
    lambda values: tuple(values.tolist()),
    lambda values: pd.Series(values, index=np.arange(len(values))[::-1]),
    lambda values: pl.Series(values.tolist()),
)
# Of normal samples and anomalies, for functions that infer the positive label and for others.
INFERRED = ((0, 1), (-1, 1), (False, True), (0.0, 1.0))
NAMED = (*INFERRED, (1, 0), (2, 7), ("normal", "odd"), ("odd", "normal"))

Outcome = tuple[Any, list[tuple[type[Warning], str]]]


def outcome(function: Callable[..., Any], *args: Any, **options: Any) -> Outcome:
    """Return the result or the error of a call, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args, **options)
        except Exception as error:
            result = type(error), str(error)
    return result, [(each.category, str(each.message)) for each in caught]


def assert_same(ours: Any, theirs: Any, rtol: float) -> None:
    assert type(ours) is type(theirs)
    if not isinstance(theirs, tuple):
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=rtol)
        return
    for our_values, their_values in zip(ours, theirs, strict=True):
        if isinstance(their_values, np.ndarray):
            assert our_values.dtype == their_values.dtype
            assert our_values.flags.writeable
            if their_values.dtype.kind == "f" and rtol:
                np.testing.assert_allclose(our_values, their_values, rtol=rtol, atol=rtol)
            else:
                np.testing.assert_array_equal(our_values, their_values)
        else:
            assert our_values == their_values


@st.composite
def weight_lists(draw: st.DrawFn, size: int, kind: str) -> npt.NDArray[Any] | None:
    """Weights with zeros among them, of both classes some that are not 0."""
    if kind == "none":
        return None
    entries: st.SearchStrategy[Any] = st.integers(0, 4)
    if kind == "real":
        entries = st.one_of(st.just(0.0), st.floats(0.1, 3))
    weights = np.array(draw(st.lists(entries, min_size=size, max_size=size)))
    weights[:2] = 1
    return weights


@st.composite
def calls(draw: st.DrawFn, name: str) -> tuple[list[Any], dict[str, Any], float]:
    """Arguments of a function that fastad computes, and how near results have to be."""
    n = draw(st.integers(2, 30))
    kind = draw(st.sampled_from(["none", "none", "integer", "real"]))
    options: dict[str, Any] = {}
    pair: Any = draw(st.sampled_from(NAMED))
    normal, odd = pair
    if name != "roc_auc_score" and (pair not in INFERRED or draw(st.booleans())):
        options["pos_label"] = draw(st.sampled_from([odd, np.array([odd])[0]]))
    anomalous = np.array([False, True, *draw(st.lists(st.booleans(), min_size=n, max_size=n))])
    in_container, other = (draw(st.sampled_from(CONTAINERS)) for _ in range(2))
    y = in_container(np.where(anomalous, odd, normal))
    weights = draw(weight_lists(n + 2, kind))
    if weights is not None:
        options["sample_weight"] = other(weights)
    if name == "f1_score":
        flags = [False, True, *draw(st.lists(st.booleans(), min_size=n, max_size=n))]
        return [y, other(np.where(flags, odd, normal))], options, 0.0
    dtype = draw(st.sampled_from(["f2", "f4", "f8", "i1", "i8", "u8"]))
    values = st.sampled_from([0, 1, 2, 3, 5, 100] if dtype[0] != "f" else [-0.0, 0, 0.1, 0.7, -4])
    scores = np.array(draw(st.lists(values, min_size=n + 2, max_size=n + 2)), dtype)
    if name in CURVES:
        # Rounding decides which points under real weights lie on a straight line.
        drops = [True, False] if kind != "real" or name != "roc_curve" else [False]
        options["drop_intermediate"] = draw(st.sampled_from(drops))
    elif name == "roc_auc_score":
        options["max_fpr"] = draw(st.sampled_from([None, 1, 1.0, 0.05, 0.3, 0.999]))
    exact = name in CURVES and kind != "real"
    return [y, in_container(scores)], options, 0.0 if exact else CLOSE


@pytest.fixture
def _without_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hide scikit-learn from fastad."""
    compat._of_scikit_learn.cache_clear()
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "sklearn.metrics", None)
        yield


@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_results_are_those_of_scikit_learn(name: str, data: st.DataObject) -> None:
    args, options, rtol = data.draw(calls(name))
    theirs, their_warnings = outcome(getattr(metrics, name), *args, **options)
    ours, our_warnings = outcome(getattr(compat, name), *args, **options)
    assert_same(ours, theirs, rtol)
    assert our_warnings == their_warnings


@pytest.mark.usefixtures("_without_scikit_learn")
@pytest.mark.parametrize("name", NAMES)
@given(data=st.data())
def test_scikit_learn_is_not_called_for_two_labels(name: str, data: st.DataObject) -> None:
    args, options, _ = data.draw(calls(name))
    assert getattr(compat, name)(*args, **options) is not None


@loop("name", NAMES)
def test_signatures_are_those_of_scikit_learn(name: str) -> None:
    ours, theirs = (inspect.signature(getattr(module, name)) for module in (compat, metrics))
    assert [(x.name, x.kind, x.default) for x in ours.parameters.values()] == [
        (x.name, x.kind, x.default) for x in theirs.parameters.values()
    ]


@loop("name", NAMES)
def test_a_pickled_function_is_the_same(name: str) -> None:
    assert pickle.loads(pickle.dumps(getattr(compat, name))) is getattr(compat, name)


Y, S = [0, 0, 1, 1, 0], [0.1, 0.4, 0.35, 0.8, 0.7]
ONE_HOT = np.eye(2, dtype=int)[Y]
NAN, INF = float("nan"), float("inf")
ODD_DATA: dict[str, tuple[Any, Any]] = {
    "normals only": ([0, 0, 0], [1, 2, 3]),
    "anomalies only": ([1, 1, 1], [1, 2, 3]),
    "one other label": ([2, 2], [1, 2]),
    "one string": (["a", "a"], [1, 2]),
    "three labels": ([0, 1, 2], [1, 2, 3]),
    "labels 1 and 2": ([1, 2, 2], [1, 3, 2]),
    "labels 2 and 3": ([3, 2, 2], [1, 3, 2]),
    "strings": (["a", "b", "b"], [1, 3, 2]),
    "digits as strings": (["0", "1", "1"], [1, 3, 2]),
    "bytes": ([b"a", b"b"], [1, 2]),
    "objects": (np.array([0, 1, 1], object), [1, 3, 2]),
    "mixed objects": (np.array(["a", 1, "a"], object), [1, 3, 2]),
    "a missing label": ([0, 1, None], [1, 2, 3]),
    "a NaN label": ([0, 1, NAN], [1, 2, 3]),
    "an infinite label": ([0, 1, INF], [1, 2, 3]),
    "fractions as labels": ([0, 0.5, 0.5], [1, 2, 3]),
    "huge labels": ([0, 1e300, 1e300], [1, 2, 3]),
    "complex labels": ([0, 1j], [1, 2]),
    "nothing": ([], []),
    "a number": (1, 2),
    "None": (None, None),
    "string for a sequence": ("01", [1, 2]),
    "too few scores": (Y, S[:-1]),
    "NaN": (Y, [*S[:-1], NAN]),
    "infinity": (Y, [*S[:-1], -INF]),
    "boolean scores": (Y, [False, True, True, True, False]),
    "scores as strings": (Y, list("12345")),
    "objects as scores": (Y, np.array(S, object)),
    "long doubles": (Y, np.array(S, np.longdouble)),
    "big-endian": (np.array(Y, ">i8"), np.array(S, ">f8")),
    "a masked array": (Y, np.ma.masked_array(S, np.array(Y) == 2)),
    "columns": (np.array(Y)[:, None], np.array(S)[:, None]),
    "frames": (pd.DataFrame({"y": Y}), pd.DataFrame({"s": S})),
    "two columns of scores": (Y, np.column_stack([S, S])),
    "probabilities": ([0, 1, 2, 0], np.full((4, 3), 1 / 3)),
    "several labels": (ONE_HOT, np.column_stack([S, S[::-1]])),
    "sparse": (scipy.sparse.csr_array(ONE_HOT), np.column_stack([S, S])),
    "missing in a column": (pd.Series([0, 1, None], dtype="Int64"), [1, 2, 3]),
    "a nullable column": (pd.Series(Y, dtype="Int64"), pd.Series(S, dtype="Float64")),
    "categories": (pd.Series(["a", "b", "a"], dtype="category"), [1, 2, 3]),
    "a range": (range(2), range(2)),
    "an iterator": (iter(Y), S),
    "predictions": (Y, [0, 1, 1, 0, 0]),
    "predictions of one class": (Y, [0, 0, 0, 0, 0]),
    "no true positive": (Y, [1, 1, 0, 0, 1]),
    "predictions of other labels": (Y, [1, 2, 1, 2, 2]),
    "predictions as booleans": (Y, np.array([0, 1, 1, 0, 0], bool)),
    "predictions as floats": (Y, [0.0, 1.0, 1.0, 0.0, 0.0]),
    "predictions of strings": (["0", "1"], [0, 1]),
}
ODD_OPTIONS: dict[str, list[Any]] = {
    "sample_weight": [
        *([1, 2, 3], [0, 0, 0, 0, 0], [1, 1, 0, 0, 1], [1, 1, -0.5, 1, 1], [1, 1, NAN, 1, 1]),
        *([1, INF, 1, 1, 1], 1, "weights", list("12345"), [True] * 5, [[1]] * 5),
        *(
            [1e-200, 1, 1, 1, 1],
            np.ones((5, 2)),
            [1, -1, -5, -1, 1],
            pd.Series([1, 2, 1, 2, 1]),
            np.ones(5, np.uint64),
        ),
    ],
    "pos_label": [
        *(0, 1, 2, None, True, 1.0, np.int64(0), np.float32(1), np.bool_(1)),
        *("1", [1], NAN, 1 + 0j, Decimal(1)),
    ],
    "drop_intermediate": [0, 1, None, "yes", np.True_, np.False_],
    "average": ["macro", "micro", "weighted", "samples", "binary", None, "mean", 1, Y],
    "max_fpr": [0, 0.0, 1, 1.0, 0.5, np.float32(0.3), 2, -1, NAN, "0.5", True, 1e-300],
    "multi_class": ["ovr", "ovo", "raise", "all"],
    "labels": [[0, 1], [1], None, [0, 1, 2]],
    "zero_division": ["warn", 0, 1, 0.0, NAN, True, 2, "nan", None],
    "no_such_option": [1],
}


def assert_same_outcome(name: str, *args: Any, **options: Any) -> None:
    theirs, their_warnings = outcome(getattr(metrics, name), *args, **options)
    ours, our_warnings = outcome(getattr(compat, name), *args, **options)
    assert_same(ours, theirs, CLOSE)
    assert our_warnings == their_warnings


@pytest.mark.slow
@loop("name, data", [(name, data) for name in NAMES for data in ODD_DATA])
def test_odd_data_have_the_same_outcome(name: str, data: str) -> None:
    if data == "an iterator":  # it can be read once
        ODD_DATA[data] = iter(Y), S
    assert_same_outcome(name, *ODD_DATA[data])
    for options in ({"pos_label": 1}, {"pos_label": "a"}, {"sample_weight": [1, 0, 1]}):
        if data != "an iterator" and {*options} <= {
            *inspect.signature(getattr(compat, name)).parameters
        }:
            assert_same_outcome(name, *ODD_DATA[data], **options)


@pytest.mark.slow
@loop("name, option", [(name, option) for name in NAMES for option in ODD_OPTIONS])
def test_odd_options_have_the_same_outcome(name: str, option: str) -> None:
    for value in ODD_OPTIONS[option]:
        for y in (Y, np.array(list("abbab"))):
            predictions = np.roll(y, 1)
            assert_same_outcome(
                name, y, predictions if name == "f1_score" else S, **{option: value}
            )


@loop("name", NAMES)
def test_a_score_of_weight_0_must_be_finite(name: str) -> None:
    assert_same_outcome(name, Y, [NAN, *S[1:]], sample_weight=[0, 1, 1, 1, 1])


@loop("name", NAMES)
def test_wrong_numbers_of_arguments_have_the_same_error(name: str) -> None:
    assert_same_outcome(name)
    assert_same_outcome(name, Y)
    assert_same_outcome(name, Y, S, 1, None, False, 6)


@pytest.mark.slow
def test_f1_under_real_weights_is_equal_to_the_last_bit() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):  # the order of additions shows in one of forty
        y, predicted = rng.random((2, 30)) < 0.4
        options = {"sample_weight": rng.uniform(0.1, 3, 30)}
        assert compat.f1_score(y, predicted, **options) == metrics.f1_score(y, predicted, **options)


def test_f1_may_have_no_weight_of_true_positives() -> None:
    for predicted in ([1, 1, 0, 0, 1], [0, 1, 1, 0, 0]):
        for weights in ([1, 2, 3, 4, 5], [1, 0, 0, 0, 0], [1, 1, 0, 0, 1], [1, 1, -3, 0, 1]):
            assert_same_outcome("f1_score", Y, predicted, sample_weight=weights)


def test_all_scores_may_be_equal() -> None:
    for name in (*AREAS, *CURVES):
        assert_same_outcome(name, Y, [3] * 5)
        for drop_intermediate in (True, False) if name in CURVES else ():
            assert_same_outcome(name, Y, [3] * 5, drop_intermediate=drop_intermediate)


@pytest.mark.usefixtures("_without_scikit_learn")
@loop("name", NAMES)
def test_what_is_left_to_scikit_learn_needs_it(name: str) -> None:
    with pytest.raises(MissingExtraError, match=f"^{name} with these arguments needs scikit-learn"):
        getattr(compat, name)([0, 1, 2], [0, 1, 2])
