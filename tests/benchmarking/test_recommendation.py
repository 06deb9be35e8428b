"""Which measure to select models by, against loops over rows."""

import math
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from fastad import ResultTable
from fastad.benchmarking import Recommendation, recommend
from fastad.errors import UndefinedMeasureError
from tests.benchmarking.test_selection import LABELS, UP, table_of
from tests.support.comparison_oracles import (
    Rows,
    loss,
    losses_between_classes,
    mean_of,
    mean_over_folds,
    model_of,
    result_rows,
    tau_b,
)

nan = math.nan
Losses: TypeAlias = dict[Any, Fraction | None]


def arrays(**measures: Any) -> ResultTable:
    """Measures by data set and model; "tpr" is read at 0.1."""
    measures = {("tpr@0.1" if name == "tpr" else name): v for name, v in measures.items()}
    return ResultTable.from_arrays(measures)


def on_same_folds(rows: Rows, label: str, target: str) -> Losses:
    select, by = mean_over_folds(rows, label), mean_over_folds(rows, target)
    return {name: loss(select[name], by[name], UP[label], UP[target]) for name in select}


def on_other_folds(rows: Rows, label: str, target: str) -> Losses:
    """All folds but one select; that one evaluates, as a fraction of the best mean of all folds."""
    results: Losses = {}
    best_of = mean_over_folds(rows, target)
    for name in {row["dataset"] for row in rows}:
        own = [row for row in rows if row["dataset"] == name]
        means = [mean for mean in best_of[name,].values() if mean is not None]
        best = (max if UP[target] else min)(means, default=None)
        losses: list[Fraction | None] = []
        for fold in {row["fold"] for row in rows}:
            others: dict[Any, list[float]] = {}
            here: dict[Any, Fraction | None] = {}
            for row in own:
                if row["fold"] == fold:
                    here[model_of(row)] = mean_of([row[target]])
                else:
                    others.setdefault(model_of(row), []).append(row[label])
            merits = {model: mean_of(values) for model, values in others.items()}
            known = [merit for merit in merits.values() if merit is not None]
            if not best or not known:
                continue
            top = max(known) if UP[label] else min(known)
            used = [here.get(model) for model, merit in merits.items() if merit == top]
            if any(one is None for one in used):
                continue
            short = [(best - (one or 0)) * (1 if UP[target] else -1) / abs(best) for one in used]
            losses.append(sum(short, Fraction(0)) / len(short))
        results[name,] = mean_of(losses)
    return results


def compared_on(losses: dict[str, Losses]) -> tuple[list[str], list[Any]]:
    """Return the measures that lack few losses, and the problems on which they all have one."""
    problems = list(next(iter(losses.values())))
    sizes = {m: sum(one[p] is not None for p in problems) for m, one in losses.items()}
    whole = [m for m in losses if 5 * sizes[m] >= 4 * max(sizes.values())]
    counted: list[Any] = []
    while not counted:
        counted = [p for p in problems if all(losses[m][p] is not None for m in whole)]
        if not counted:
            whole = [m for m in whole if sizes[m] > min(sizes[m] for m in whole)]
    return whole, counted


def that_decide(losses: dict[str, Losses]) -> dict[str, Losses]:
    """Return the losses of what decides: of compared measures on those problems alone."""
    whole, counted = compared_on(losses)
    return {
        m: {p: x if m not in whole or p in counted else None for p, x in one.items()}
        for m, one in losses.items()
    }


def check_decision(result: Recommendation, losses: dict[str, Losses]) -> None:
    """Check what is recommended, given the losses of each measure on what decides."""
    whole, counted = compared_on(losses)
    means = {m: mean_of([losses[m][p] for p in counted]) for m in whole}
    least = min(mean for mean in means.values() if mean is not None)
    assert float(means[result.measure] or 0) == pytest.approx(float(least), abs=1e-12)
    assert result.measures[0] == result.measure
    assert list(result.not_evaluated) == [m for m in losses if m not in whole]
    order = [float(means[m] or 0) for m in result.measures[: len(whole)]]
    assert order == pytest.approx(sorted(order), abs=1e-12)
    assert list(result.measures[len(whole) :]) == list(result.not_evaluated)
    assert sorted([*result.not_worse, *result.worse, result.measure]) == sorted(whole)
    for names in (result.not_worse, result.worse):
        assert [m for m in result.measures if m in names] == list(names)
    assert f"over {len(counted)} data set{'s' * (len(counted) > 1)}." in result.text


def check_means(result: Any, measures: Any, losses: dict[str, Losses]) -> None:
    for i, label in enumerate(measures):
        expected = mean_of(list(losses[label].values()))
        if expected is None:
            assert math.isnan(result.value[i])
        else:
            assert result.value[i] == pytest.approx(float(expected), rel=1e-12, abs=1e-15)
        assert result.n_undefined[i] == list(losses[label].values()).count(None)
        assert result.n[i] == len(losses[label]) - result.n_undefined[i]


# Against loops.


def can_be_compared(losses: dict[str, dict[Any, Any]]) -> bool:
    """Whether a data set is left for all measures that lack few, the fewest being dropped."""
    sizes = {name: sum(x is not None for x in values.values()) for name, values in losses.items()}
    kept = [name for name, size in sizes.items() if size >= 0.8 * max(sizes.values())]
    while kept:
        if any(all(losses[name][key] is not None for name in kept) for key in losses[kept[0]]):
            return True
        kept = [name for name in kept if sizes[name] > min(sizes[x] for x in kept)]
    return False


@given(result_rows(LABELS), st.sampled_from(LABELS))
def test_losses_and_choice_are_those_of_the_loops(rows: Rows, target: str) -> None:
    same = {label: on_same_folds(rows, label, target) for label in LABELS}
    other = {label: on_other_folds(rows, label, target) for label in LABELS}
    table = table_of(rows)
    evidence = {"other folds": other} if len(table.folds) > 1 else {}
    evidence["same folds"] = same
    defined = [
        name
        for name, losses in evidence.items()
        if any(one is not None for values in losses.values() for one in values.values())
    ]
    if not defined:
        with pytest.raises(UndefinedMeasureError, match=f"{target} has no loss on any of"):
            recommend(table, target_measure=target, rng=0, n_resamples=3)
        return
    if not can_be_compared(evidence[defined[0]]):
        with pytest.raises(UndefinedMeasureError, match="no data set on which two measures"):
            recommend(table, target_measure=target, rng=0, n_resamples=3)
        return
    result = recommend(table, target_measure=target, rng=0, n_resamples=3)
    assert result.evidence == defined[0]
    assert result.target_measure == target
    assert list(result.losses) == list(evidence)
    for name, losses in evidence.items():
        shown = that_decide(losses) if name == defined[0] else losses
        check_means(result.losses[name], result.measures, shown)
    check_decision(result, evidence[defined[0]])


@given(result_rows(LABELS, classes=3), st.sampled_from(LABELS))
def test_losses_on_other_classes_are_those_of_the_loops(rows: Rows, target: str) -> None:
    keys = ("dataset", "anomaly_class")
    means = {label: mean_over_folds(rows, label, keys) for label in LABELS}
    losses = {
        label: losses_between_classes(means[label], means[target], UP[label], UP[target])
        for label in LABELS
    }
    defined = any(one is not None for values in losses.values() for one in values.values())
    table = table_of(rows, anomaly_class=True)
    new: dict[str, Any] = {"unseen_anomaly_classes": True, "rng": 0, "n_resamples": 3}
    if not defined:
        with pytest.raises(UndefinedMeasureError, match=f"{target} has no loss on any of"):
            recommend(table, target_measure=target, **new)
        return
    if not can_be_compared(losses):
        with pytest.raises(UndefinedMeasureError, match="no data set on which two measures"):
            recommend(table, target_measure=target, **new)
        return
    result = recommend(table, target_measure=target, **new)
    assert result.evidence == "other classes"
    check_decision(result, losses)
    shown = that_decide(losses)
    for i, label in enumerate(result.measures):
        expected = mean_of(list(shown[label].values()))
        value = result.losses["other classes"].value[i]
        assert math.isnan(value) if expected is None else value == pytest.approx(float(expected))
    try:
        known = recommend(table, target_measure=target, rng=0, n_resamples=3)
    except UndefinedMeasureError:
        return
    assert known.evidence != "other classes"
    assert "other classes" in known.losses


@given(result_rows(LABELS))
def test_tau_is_that_of_the_loops(rows: Rows) -> None:
    table = table_of(rows)
    try:
        result = recommend(table, target_measure="cost", rng=0, n_resamples=3)
    except UndefinedMeasureError:
        reject()
    for i, label in enumerate(result.measures):
        pairs = zip(table.means(label), table.means("cost"), strict=True)
        taus = [tau_b(a.tolist(), b.tolist()) * (-1 if UP[label] else 1) for a, b in pairs]
        there = [tau for tau in taus if tau == tau]
        assert result.tau.n[i] == len(there)
        mean = sum(there) / len(there) if there else nan
        assert result.tau.value[i] == pytest.approx(mean, abs=1e-12, nan_ok=True)


# By hand.


def test_a_noisy_target_measure_loses_on_other_folds() -> None:
    rng = np.random.default_rng(1)
    quality = rng.uniform(0.4, 0.9, (40, 6, 1))
    tpr = quality + rng.normal(0, 0.3, (40, 6, 5))
    auc = quality + rng.normal(0, 0.01, (40, 6, 5))
    result = recommend(arrays(auc=auc, tpr=tpr), operating_fpr=0.1, rng=0)
    assert (result.measure, result.worse, result.evidence) == ("auc", ["tpr@0.1"], "other folds")
    same = dict(zip(result.measures, result.losses["same folds"].value, strict=True))
    other = dict(zip(result.measures, result.losses["other folds"].value, strict=True))
    assert same["tpr@0.1"] == 0 < same["auc"]
    assert 0 < other["auc"] < other["tpr@0.1"] / 2
    assert "select them by auc: it loses" in result.text
    assert "Worse: tpr@0.1 (" in result.text
    assert "loses nothing" not in result.text
    # One fold alone does not tell.
    one = recommend(arrays(auc=auc[:, :, :1], tpr=tpr[:, :, :1]), operating_fpr=0.1, rng=0)
    assert (one.measure, one.evidence) == ("tpr@0.1", "same folds")
    assert list(one.losses) == ["same folds"]
    assert "tpr@0.1 itself loses nothing: results of several folds would tell" in one.text


def losing(*losses: Any) -> ResultTable:
    """A measure for each row of losses, which it has on the data sets."""
    tpr = np.column_stack([np.ones(len(losses[0])), *(1 - np.array(losses, float))])
    columns = {"tpr@0.1": tpr}
    for i, name in enumerate(["auc", "ap", "auc_w"][: len(losses)], start=1):
        # It chooses the model whose tpr falls short by the loss.
        columns[name] = np.tile(np.arange(tpr.shape[1]) == i, (len(tpr), 1)).astype(float)
    return ResultTable.from_arrays(columns)


def test_comparisons_are_paired_over_data_sets() -> None:
    varied = np.linspace(0, 0.8, 20)
    table = losing(varied, varied + 0.01, varied + np.tile([0.02, -0.02], 10))
    result = recommend(
        table, operating_fpr=0.1, measures=["auc", "ap", "auc_w"], rng=0, n_resamples=500
    )
    assert result.losses["same folds"].value == pytest.approx([0.4, 0.4, 0.41])
    assert result.measure in ("auc", "auc_w")
    assert result.worse == ["ap"]
    assert len(result.not_worse) == 1
    low, high = result.losses["same folds"].low, result.losses["same folds"].high
    assert (low < 0.35).all()
    assert (high > 0.45).all()


def test_the_level_decides_what_is_significant() -> None:
    differences = np.tile([0.1, -0.06, 0.09, -0.05], 5)
    table = losing(np.full(20, 0.2), 0.2 + differences)
    outcomes = {}
    for level in (0.5, 0.999):
        result = recommend(
            table, operating_fpr=0.1, measures=["auc", "ap"], confidence_level=level, rng=0
        )
        assert result.measure == "auc"
        outcomes[level] = (list(result.not_worse), list(result.worse))
    assert outcomes == {0.5: ([], ["ap"]), 0.999: (["ap"], [])}
    assert "At 99.9 % not significantly worse: ap (22.0%)." in result.text


def test_classes_of_one_data_set_are_not_independent() -> None:
    # Worse on 20 problems and better on 10, but these are three data sets.
    differences = np.repeat([0.1, 0.1, -0.05], 10)
    flat = losing(np.full(30, 0.2), 0.2 + differences)
    measures = ["auc", "ap"]
    assert recommend(flat, operating_fpr=0.1, measures=measures, rng=0).worse == ["ap"]
    columns = flat.means("tpr@0.1").shape
    rows = {
        "dataset": np.repeat(["a", "b", "c"], 10 * columns[1]),
        "anomaly_class": np.tile(np.repeat(np.arange(10), columns[1]), 3),
        "detector": np.tile([f"m{i}" for i in range(columns[1])], columns[0]),
    }
    order = [flat.models.index(str(i)) for i in range(columns[1])]
    place = [flat.problems.index(str(i)) for i in range(columns[0])]
    rows |= {label: flat.means(label)[place][:, order].ravel() for label in flat.measure_keys}
    result = recommend(rows, operating_fpr=0.1, measures=measures, rng=0)
    assert (result.evidence, result.not_worse, result.worse) == ("same folds", ["ap"], [])
    assert "over 30 problems of 3 data sets." in result.text


def test_measures_without_a_loss_somewhere_are_not_evaluated() -> None:
    tpr = [[0.8, 0.4], [0.6, 0.3], [0.5, 0.4]]
    table = arrays(auc=[[1, 2], [1, 2], [1, 2]], ap=[[nan, nan], [2, 1], [2, 1]], tpr=tpr)
    result = recommend(table, operating_fpr=0.1, measures=["ap", "auc"], rng=0)
    # ap loses nothing where it is there; auc loses 0.5, 0.5 and 0.2.
    assert (result.measure, result.not_evaluated, result.measures) == ("auc", ["ap"], ["auc", "ap"])
    assert (result.not_worse, result.worse) == ([], [])
    assert "Not evaluated, because undefined on some of them: ap." in result.text
    assert result.losses["same folds"].n.tolist() == [3, 2]
    last = str(result).splitlines()[-1]
    assert last.startswith("ap ")
    assert "¹" not in last


def test_measures_are_compared_where_all_have_losses() -> None:
    tpr = [[0.8, 0.4], [0.6, 0.3], [0.5, 0.4]]
    table = arrays(auc=[[1, 2], [1, 2], [nan] * 2], ap=[[nan] * 2, [1, 2], [1, 2]], tpr=tpr)
    result = recommend(table, operating_fpr=0.1, measures=["auc", "ap"], rng=0)
    # On the second data set both lose a half; on the third ap loses a fifth.
    assert (result.measure, result.not_worse, result.not_evaluated) == ("auc", ["ap"], [])
    assert "it loses 50.0% on the data that selected, over 1 data set." in result.text
    assert "Others, not tested: ap (50.0%)." in result.text
    assert result.losses["same folds"].value == pytest.approx([0.5, 0.5])


def test_the_table_has_the_losses_of_the_text() -> None:
    """Of all its data sets AUC loses an eighth, and AP a tenth, which was marked as the best."""
    tpr = [[0.8, 0.2], *[[0.8, 0.4]] * 5]
    auc = [[1, 2], *[[2, 1]] * 5]
    ap = [[nan, nan], [1, 2], *[[2, 1]] * 4]
    result = recommend(arrays(auc=auc, ap=ap, tpr=tpr), operating_fpr=0.1,
                       measures=["ap", "auc"], rng=0)  # fmt: skip
    assert "select them by auc: it loses 0.0% " in result.text
    columns = result.to_columns()
    assert columns["measure"] == ["auc", "ap"]
    assert columns["loss_same_folds"] == pytest.approx([0, 0.1])
    assert columns["loss_same_folds_datasets"] == [5, 5]
    best, second = str(result).splitlines()[-2:]
    assert "0.0% [0.0%, 0.0%]¹" in best
    # Tau of AUC is over six data sets, of AP over five: they are not compared.
    assert (second.count("¹"), second.count("²")) == (0, 1)


def test_data_sets_where_the_target_measure_is_undefined_do_not_count() -> None:
    table = arrays(auc=[[1, 2], [1, 2]], ap=[[2, 1], [nan, nan]], tpr=[[0.8, 0.4], [0, 0]])
    result = recommend(table, operating_fpr=0.1, measures=["ap", "auc"], rng=0)
    assert (result.measure, list(result.not_evaluated)) == ("ap", [])
    assert result.losses["same folds"].n.tolist() == [1, 1]
    assert result.worse == []  # one data set shows nothing


def test_equal_losses_keep_the_order_of_the_table() -> None:
    tpr = [[0.8, 0.4], [0.6, 0.3]]
    for names in (["auc", "ap", "auc_w"], ["ap", "auc_w", "auc"]):
        table = arrays(**{name: [[1, 2], [2, 1]] for name in names}, tpr=tpr)
        result = recommend(table, operating_fpr=0.1, measures=names, rng=0)
        assert (result.measures, result.not_worse) == (names, names[1:])


def new_rows(**columns: Any) -> dict[str, Any]:
    return {
        "dataset": ["a"] * 4 + ["b"] * 4,
        "anomaly_class": ["x", "x", "y", "y"] * 2,
        "detector": ["knn", "lof"] * 4,
        "auc": [0.9, 0.8, 0.7, 0.6] * 2,
        "tpr@0.1": [0.5, 0.8, 0.5, 0.6, 0.9, 0.3, 0.1, 0.2],
    } | columns


def test_measures_that_share_no_data_set_are_not_compared() -> None:
    nan = math.nan
    table = arrays(auc=[[1, 2], [nan, nan]], ap=[[nan, nan], [1, 2]], tpr=[[0.5, 0.6], [0.3, 0.6]])
    with pytest.raises(UndefinedMeasureError, match="no data set on which two measures"):
        recommend(table, operating_fpr=0.1, measures=["auc", "ap"], rng=0)
    # TPR has losses on both; beside it each of the others lacks half of them.
    result = recommend(table, operating_fpr=0.1, rng=0)
    assert (result.measure, result.not_evaluated) == ("tpr@0.1", ["auc", "ap"])


def test_unseen_anomaly_classes_by_hand() -> None:
    result = recommend(new_rows(), operating_fpr=0.1, unseen_anomaly_classes=True, rng=0)
    # auc chooses knn: on a 3/8 and 1/6, on b 0 and 1/2. tpr loses nothing on a; on b it chooses
    # knn for y, which loses 1/2, and lof for x, which loses 2/3.
    losses = dict(zip(result.measures, result.losses["other classes"].value, strict=True))
    assert losses["auc"] == pytest.approx(((1 / 6 + 3 / 8) / 2 + (1 / 2 + 0) / 2) / 2)
    assert losses["tpr@0.1"] == pytest.approx((0 + (1 / 2 + 2 / 3) / 2) / 2)
    assert result.measure == "auc"
    assert "on anomalies of other classes, over 2 data sets" in result.text


def test_unseen_anomaly_classes_need_two_classes() -> None:
    rows = {name: column[:2] + column[4:6] for name, column in new_rows().items()}
    with pytest.raises(UndefinedMeasureError, match="two classes"):
        recommend(rows, operating_fpr=0.1, unseen_anomaly_classes=True, rng=0)


def test_table_and_frame() -> None:
    result = recommend(new_rows(), operating_fpr=0.1, rng=0, n_resamples=50)
    frame = result.to_columns()
    assert list(frame)[:3] == ["measure", "recommended", "not_worse"]
    assert frame["recommended"] == [True, False]
    for name, means in [*result.losses.items(), ("tau", result.tau)]:
        key = "tau" if name == "tau" else f"loss_{name.replace(' ', '_')}"
        parts = (means.value, means.low, means.high, means.n)
        for end, part in zip(("", "_low", "_high", "_datasets"), parts, strict=True):
            assert frame[key + end] == part.tolist()
    assert len(result.to_frame()) == 2
    lines = str(result).splitlines()
    assert lines[0] == result.text
    assert lines[2].startswith("select by ")
    assert "0.0% [0.0%, 0.0%]¹" in lines[3]
    markdown, latex = result.to_markdown().splitlines(), result.to_latex()
    assert markdown[:2] == [result.text, ""]
    assert "tau with tpr@0.1" in markdown[2]
    assert latex.startswith(f"% {result.text}\n")
    assert r"\cellcolor" in latex
    assert repr(result) == "<Recommendation of tpr@0.1 for tpr@0.1>"


def test_missing_rows_are_named() -> None:
    rows = new_rows()
    short = {name: column[:-1] for name, column in rows.items()}
    assert "missing: 1 of 8 rows (b y, lof, fold None)" in str(
        recommend(short, operating_fpr=0.1, rng=0)
    )


@pytest.mark.parametrize("rate", [0.29, np.float32(0.29), np.float64(0.29)])
def test_rates_are_the_decimals_as_written(rate: Any) -> None:
    rng = np.random.default_rng(0)
    names = ["auc@0.29", "fpr@tpr0.29", "tpr@0.28", "tpr@0.29"]
    table = ResultTable.from_arrays({name: rng.uniform(size=(3, 3)) for name in names})
    assert recommend(table, operating_fpr=rate, rng=0).target_measure == "tpr@0.29"
