"""What holds for every function of a table of results: order, threads, results, refusals."""

import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from fastad import ResultTable, compare_runs
from fastad.benchmarking import (
    average_ranks,
    bayesian_hierarchical_t,
    bayesian_signed_rank,
    class_sensitivity,
    discriminability,
    friedman,
    kendall_matrix,
    loss_at_selected_fpr,
    mean_values,
    multi_comparison_matrix,
    nemenyi,
    rank_distance,
    rank_intervals,
    recommend,
    selection_loss,
    variance_components,
    wilcoxon_holm,
)
from fastad.errors import InvalidInputError, InvalidTypeError
from tests.support.comparison_oracles import bits_of
from tests.support.loops import loop

Columns = dict[str, list[Any]]

RATES = (0.01, 0.05, 0.1)
LABELS = ["auc", "fpr@tpr0.8", *(f"{name}@{rate}" for name in ("auc", "tpr") for rate in RATES)]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "average_ranks": average_ranks,
    "mean_values": mean_values,
    "friedman": friedman,
    "nemenyi": partial(nemenyi, measure="auc"),
    "wilcoxon_holm": partial(wilcoxon_holm, measure="fpr@tpr0.8"),
    "rank_intervals": partial(rank_intervals, measure="auc"),
    "multi_comparison_matrix": partial(multi_comparison_matrix, measure="auc"),
    "bayesian_signed_rank": partial(bayesian_signed_rank, measure="auc"),
    "bayesian_hierarchical_t": partial(bayesian_hierarchical_t, measure="auc", test_fraction=0.3),
    "variance_components": partial(variance_components, measure="auc"),
    "kendall_matrix": kendall_matrix,
    "selection_loss": selection_loss,
    "class_sensitivity": class_sensitivity,
    "discriminability": discriminability,
    "loss_at_selected_fpr": loss_at_selected_fpr,
    "rank_distance": partial(rank_distance, reference="tpr@0.05"),
    "recommend": partial(recommend, operating_fpr=0.05),
    "compare_runs": partial(compare_runs, reference="auc"),
}
every_function = loop("function", FUNCTIONS.values())


def columns(*, tied: bool = False, gaps: bool = False, classes: bool = False) -> Columns:
    """Rows of six models of three detectors on four data sets with three folds."""
    rng = np.random.default_rng(4)
    shape = 4, 6, 3
    dataset, model, fold = (index.ravel() for index in np.indices(shape))
    table: Columns = {
        "dataset": [f"d{i // 2 if classes else i}" for i in dataset],
        "detector": [["knn", "lof", "svm"][i // 2] for i in model],
        "params": [f"k={i % 2}" for i in model],
        "fold": fold.tolist(),
    }
    if classes:
        table["anomaly_class"] = [f"c{i % 2}" for i in dataset]
    quality = rng.uniform(0.4, 0.8, shape[:2])[:, :, None]
    for name in LABELS:
        values = quality + rng.normal(0, 0.05, shape)
        if tied:
            values = np.round(values * 8) / 8
        if gaps:
            values[rng.random(shape) < 0.03] = math.nan
        table[name] = (1 - values if name.startswith("fpr") else values).ravel().tolist()
    kept = [i for i in range(len(fold)) if not (gaps and i in (3, 40, 41))]
    return {name: [cells[i] for i in kept] for name, cells in table.items()}


TABLES = {
    "untied": columns(classes=True),
    "tied": columns(tied=True, classes=True),
    "gaps": columns(gaps=True),
}
# One function needs classes of anomalies, which the last table lacks.
every_case = pytest.mark.parametrize(
    ("function", "name"),
    [
        pytest.param(FUNCTIONS[function], table, id=f"{table}-{function}")
        for table in TABLES
        for function in FUNCTIONS
        if (function, table) != ("class_sensitivity", "gaps")
    ],
)


def bits(result: Any) -> Any:
    """All of a result, so that equal results have equal bits, NaN included."""
    if isinstance(result, np.ndarray):
        return result.dtype.str, result.shape, result.tobytes()
    if isinstance(result, ResultTable):
        return bits([result.models, *(result.means(label) for label in result.measure_keys)])
    if isinstance(result, Mapping):
        return {name: bits(value) for name, value in result.items()}
    if dataclasses.is_dataclass(result):
        return [bits(getattr(result, field.name)) for field in dataclasses.fields(result)]
    if isinstance(result, Sequence) and not isinstance(result, str):
        return [bits(entry) for entry in result]
    return repr(result)


def result_of(function: Callable[..., Any], table: Any, **options: Any) -> Any:
    result = function(table, **few_resamples(function), **options)
    return str(result), bits(result)


def few_resamples(function: Callable[..., Any]) -> dict[str, int]:
    """Seed and number of replicates, where a function draws any."""
    counts = {name: 30 for name in ("n_resamples", "n_draws") if takes(function, name)}
    return counts | {"rng": 5} if counts else {}


def takes(function: Callable[..., Any], name: str) -> bool:
    return name in inspect.signature(function).parameters


@pytest.mark.slow
@every_case
def test_order_of_rows_and_threads_change_no_bit(function: Callable[..., Any], name: str) -> None:
    table = TABLES[name]
    one, three = ({"n_threads": n} if takes(function, "n_threads") else {} for n in (1, 3))
    expected = result_of(function, table, **one)
    rows = np.random.default_rng(1).permutation(len(table["auc"]))
    turned = {key: [cells[i] for i in rows] for key, cells in table.items()}
    assert result_of(function, turned, **three) == expected
    if name != "gaps":  # where notes have the names of folds
        renamed = table | {"fold": [["x", "z", "y"][fold] for fold in table["fold"]]}
        assert result_of(function, renamed)[0] == expected[0]


@pytest.mark.slow
@every_function
def test_a_table_that_is_read_is_as_good_as_its_columns(function: Callable[..., Any]) -> None:
    table = TABLES["untied"]
    assert result_of(function, ResultTable.from_table(table)) == result_of(function, table)


@pytest.mark.parametrize("what", ["data sets", "models", "measures"])
@pytest.mark.parametrize("function", [kendall_matrix, selection_loss])
def test_order_and_names_change_no_bit(function: Callable[..., Any], what: str) -> None:
    """Of tables with many ties, whose means are of other orders of data sets and models."""
    rng, down = np.random.default_rng(3), {"cost": False}
    for _ in range(30):
        arrays = {name: rng.integers(1, 6, (7, 6)) / 10 for name in ("auc", "ap", "cost")}
        turned = dict(reversed(arrays.items()))
        if what != "measures":
            axis = ["data sets", "models"].index(what)
            order = rng.permutation(arrays["auc"].shape[axis])
            turned = {name: np.take(array, order, axis) for name, array in arrays.items()}
        tables = (ResultTable.from_arrays(x, higher_is_better=down) for x in (arrays, turned))
        one, other = (bits_of(function(table, n_resamples=1)) for table in tables)
        assert one == other


def arrays_of(result: Any) -> list[np.ndarray[Any, Any]]:
    if isinstance(result, np.ndarray):
        return [result]
    if isinstance(result, Mapping):
        return [array for value in result.values() for array in arrays_of(value)]
    if dataclasses.is_dataclass(result) and not isinstance(result, ResultTable):
        return [
            array
            for field in dataclasses.fields(result)
            if not field.name.startswith("_")
            for array in arrays_of(getattr(result, field.name))
        ]
    return []


def check_intervals(result: Any) -> int:
    """Check that no interval excludes its estimate; return how many there are."""
    n = 0
    if isinstance(result, Mapping):
        return sum(map(check_intervals, result.values()))
    estimate = next((x for x in ESTIMATES if hasattr(result, x)), None)
    if hasattr(result, "low") and estimate is not None:
        low, value, high = (np.asarray(getattr(result, x)) for x in ("low", estimate, "high"))
        has_one = ~np.isnan(low)
        assert np.all(low[has_one] <= value[has_one]), (low, value)
        assert np.all(value[has_one] <= high[has_one]), (value, high)
        assert np.array_equal(np.isnan(low), np.isnan(high))
        n += int(np.count_nonzero(has_one))
    for name in ("means", "losses", "tau", "optimal", "lowest"):
        if hasattr(result, name):
            n += check_intervals(getattr(result, name))
    return n


# What an interval is of, by the first of these names that a result has.
ESTIMATES = ("rank", "kendall_w", "mean_ranks", "mean", "value")


@every_case
@pytest.mark.parametrize("n_resamples", [1, 30])
def test_intervals_contain_their_estimate(
    function: Callable[..., Any], name: str, n_resamples: int
) -> None:
    draws = takes(function, "n_resamples")
    options = {"n_resamples": n_resamples, "rng": 5} if draws else {}
    result = function(TABLES[name], **options)
    # Of two data sets Kendall's W has none, and values have a deviation in its place.
    assert check_intervals(result) > 0 or not draws


@pytest.mark.slow
@every_function
def test_results_cannot_be_written(function: Callable[..., Any]) -> None:
    result = function(TABLES["untied"], **few_resamples(function))
    assert not any(array.flags.writeable for array in arrays_of(result))
    if dataclasses.is_dataclass(result):
        name = dataclasses.fields(result)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, name, None)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"confidence_level": 0}, "confidence_level must lie strictly between 0 and 1"),
    ({"confidence_level": 1}, "confidence_level must lie strictly between 0 and 1"),
    ({"confidence_level": "0.9"}, "confidence_level must be a number; found str"),
    ({"n_resamples": 0}, "n_resamples must be at least 1; found 0"),
    ({"n_resamples": 10.5}, "n_resamples must be an integer; found 10.5"),
    ({"n_resamples": True}, "n_resamples must be .*; found bool"),
    ({"n_draws": 0}, "n_draws must be at least 1; found 0"),
    ({"rope": -1}, "rope must be at least 0; found -1"),
    ({"test_fraction": 1}, "test_fraction must lie strictly between 0 and 1"),
    ({"ranked_by": "mean"}, "ranked_by must be"),
    ({"n_best": 0}, "n_best must be at least 1; found 0"),
    ({"rng": "x"}, "rng must be an int, .* found str"),
    ({"rng": 1.5}, "rng must be an int, .* found float"),
    ({"measures": ["f1"]}, "measures must be one of auc, .*; found 'f1'"),
    ({"measures": []}, "measures must name at least one measure; found none"),
    ({"measures": "auc"}, "measures must be a sequence of keys; found 'auc' alone"),
    ({"measures": 3}, "measures must be a sequence of keys; found 3"),
    ({"measure": "f1"}, "measure must be one of .*; found 'f1'"),
    ({"control": "x"}, "control must be one of knn, lof, svm; found 'x'"),
    ({"reference": "x"}, "reference must be one of auc, .*; found 'x'"),
    ({"reference": 3}, "reference must be a key; found 3"),
    ({"n_threads": 0}, "n_threads must be at least 1; found 0"),
    ({"n_threads": 1.5}, "n_threads must be an integer; found 1.5"),
]


@every_function
def test_arguments_that_are_refused(function: Callable[..., Any]) -> None:
    table = ResultTable.from_table(TABLES["untied"])
    n_refused = 0
    for options, message in REFUSED:
        (name,) = options
        if takes(function, name):
            n_refused += 1
            with pytest.raises(
                (InvalidTypeError, InvalidInputError), match=f"^{message}"
            ) as caught:
                function(table, **options)
            assert caught.value.argument == name
    assert n_refused > 0
    with pytest.raises(TypeError, match=r"results must be a data frame, .* found int"):
        function(3)


@pytest.mark.parametrize(
    "name",
    [
        *("average_ranks", "rank_intervals", "friedman", "mean_values", "nemenyi"),
        *("wilcoxon_holm", "rank_distance", "multi_comparison_matrix", "bayesian_signed_rank"),
        *("bayesian_hierarchical_t", "variance_components"),
    ],
)
def test_models_of_one_detector_are_not_ranked(name: str) -> None:
    rows = {"dataset": ["a"] * 2, "detector": ["k"] * 2, "params": [1, 2]}
    table = rows | {label: [1, 2] for label in LABELS}
    with pytest.raises(InvalidInputError, match="two detectors to rank; found k, with 2 models"):
        FUNCTIONS[name](table)


@pytest.mark.slow
def test_no_p_value_is_0() -> None:
    """Three detectors in one order on 1600 data sets: smaller than floats by any method."""
    table = ResultTable.from_arrays({"auc": np.tile([[0.7, 0.8, 0.9]], (1600, 1))[..., None]})
    test = friedman(table)["auc"]
    p_values = [test.p_value, test.f_p_value, test.exact_p_value]
    for posthoc in (nemenyi, wilcoxon_holm):
        for control in (None, table.detectors[0]):
            pairs = posthoc(table, control=control)
            p_values += [*pairs.p_values.ravel(), *pairs.adjusted_p_values.ravel()]
    pair = ResultTable.from_arrays({"auc": np.tile([[0.7, 0.8]], (1600, 1))[..., None]})
    p_values += [nemenyi(pair).p_values[0, 1], wilcoxon_holm(pair).p_values[0, 1]]
    assert not np.any(np.array(p_values) == 0)
