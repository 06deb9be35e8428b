"""What it costs to select models at the false positive rate where they differ."""

import math
from typing import Any

import numpy as np
import pytest

from fastad import ResultTable
from fastad.benchmarking import LossMatrix, discriminability, loss_at_selected_fpr, selection_loss
from fastad.benchmarking.selected_fpr import usual_measures
from fastad.errors import InvalidInputError

nan = math.nan
RATES = (0.3, 0.01, 0.05, 0.1)
CRITERIA = ["tukey-q", "tukey-mean", "tukey-median", "welch-mean", "welch-median"]


def runs(seed: int, shape: tuple[int, ...] = (6, 5, 4)) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    quality = rng.uniform(0.3, 0.9, (shape[0], shape[1], 1))
    names = ["auc", "cost", *(f"{name}@{rate}" for name in ("tpr", "auc") for rate in RATES)]
    noise = {name: rng.uniform(0.05, 0.5, (shape[0], 1, 1)) for name in names}
    return {name: quality + rng.normal(0, noise[name], shape) for name in names}


def read(values: dict[str, Any], **options: Any) -> ResultTable:
    stated = {name: name != "cost" for name in values if name == "cost" or "@tukey" in name}
    stated |= {name: True for name in values if "@welch" in name}
    return ResultTable.from_arrays(values, higher_is_better=stated, **options)


def by_hand(values: dict[str, Any], criterion: str, choice: str, level: float) -> dict[str, Any]:
    """Add the columns at the rates that are chosen on each data set."""
    added = dict(values)
    for measure in ("auc", "tpr"):
        result = discriminability(read(values), measure=measure, confidence_level=level, rng=0)
        column = np.full(values["auc"].shape, nan)
        for d in range(len(column)):
            rate = nan
            if str(d) in result.selected:
                rate = getattr(result.selected[str(d)][criterion], choice)
            if not math.isnan(rate):
                column[d] = values[f"{measure}@{rate:g}"][d]
        added[f"{measure}@{criterion}"] = column
    return added


def check_same(one: LossMatrix, other: LossMatrix) -> None:
    assert (one.rows, one.columns, list(one.means)) == (other.rows, other.columns, [*other.means])
    assert one.datasets == other.datasets
    for field in ("value", "low", "high", "n_datasets", "n_undefined", "by_dataset"):
        assert getattr(one, field).tobytes() == getattr(other, field).tobytes(), field
    for name, mean in one.means.items():
        for field in ("value", "low", "high"):
            theirs = getattr(other.means[name], field)
            assert getattr(mean, field).tobytes() == theirs.tobytes()
    assert str(one) == str(other)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(("choice", "level"), [("optimal", 0.95), ("lowest", 0.8)])
def test_it_is_the_loss_of_a_table_with_the_selected_columns(
    criterion: Any, choice: Any, level: float
) -> None:
    values = runs(3)
    values["tpr@0.1"][2, 1, 3] = nan  # a model that has no part in the choice, but may be chosen
    result = loss_at_selected_fpr(
        read(values),
        criterion=criterion,
        choice=choice,
        confidence_level=level,
        rng=5,
        n_resamples=30,
    )
    usual = ["auc", "cost", "tpr@0.01", "tpr@0.05", "auc@0.01", "auc@0.05"]
    names = [*usual, f"auc@{criterion}", f"tpr@{criterion}"]
    table = read(by_hand(values, criterion, choice, level))
    assert result.columns == names
    expected = selection_loss(table, measures=names, confidence_level=level, rng=5, n_resamples=30)
    check_same(result, expected)
    assert type(result) is LossMatrix


def test_the_lowest_rate_is_another_and_lacks_where_nothing_exceeds() -> None:
    values = runs(3)
    values["auc@0.1"] = values["auc@0.3"] = values["auc@0.05"] = values["auc@0.01"]
    losses_at = {
        choice: loss_at_selected_fpr(read(values), choice=choice, rng=0)
        for choice in ("optimal", "lowest")
    }
    label = losses_at["lowest"].columns.index("tpr@tukey-mean")
    lacking = losses_at["lowest"].n_undefined[label, label]
    assert losses_at["optimal"].n_undefined[label, label] == 0 < lacking < 6
    assert f"nan: no loss by tpr@tukey-mean in {lacking} of 6 data sets" in str(losses_at["lowest"])
    both = ~np.isnan(losses_at["lowest"].by_dataset[:, 0, label])
    losses = [one.by_dataset[both, 0, label].tolist() for one in losses_at.values()]
    assert losses[0] != losses[1]


def test_by_hand() -> None:
    # tpr tells the models apart at 0.2, where the second is better; auc at 0.1, where the first.
    folds = np.array([-0.1, 0.0, 0.1])
    centres = {
        "auc@0.1": (0.8, 0.4), "auc@0.2": (0.5, 0.6), "auc@0.3": (0.5, 0.6),
        "tpr@0.1": (0.5, 0.4), "tpr@0.2": (0.2, 0.8), "tpr@0.3": (0.9, 0.8),
    }  # fmt: skip
    values = {k: np.array([[folds + a, folds + b]]) for k, (a, b) in centres.items()}
    result = loss_at_selected_fpr(read(values), measures=["tpr@0.3"], rng=0)
    assert result.rows == result.columns == ["tpr@0.3", "auc@tukey-mean", "tpr@tukey-mean"]
    expected = [[0, 0, 0.75], [0, 0, 0.75], [1 / 9, 0.5, 0]]
    assert result.value == pytest.approx(np.array(expected))


def test_data_sets_that_cannot_be_compared_have_no_rate() -> None:
    values = runs(4)
    values["auc@0.1"][0, :, 1] = nan
    result = loss_at_selected_fpr(read(values), criterion="welch-median", rng=0)
    label = result.columns.index("auc@welch-median")
    assert np.isnan(result.by_dataset[0, label]).all()
    assert np.isnan(result.by_dataset[0, :, label]).all()
    assert result.n_undefined[label, label] == 1
    other = result.columns.index("tpr@welch-median")
    assert result.by_dataset[0, other, other] == 0


def test_the_mean_at_a_rate_has_no_part_of_the_selected_columns() -> None:
    result = loss_at_selected_fpr(read(runs(6)), rng=0)
    at_rate = [i for i, name in enumerate(result.columns) if name.endswith("@0.05")]
    assert at_rate == [3, 5]
    assert result.means["mean@0.05"].value == pytest.approx(result.value[:, at_rate].mean(axis=1))
    assert result.means["mean"].value == pytest.approx(result.value.mean(axis=1))


# Which other measures.


def names_of(*labels: str) -> list[str]:
    table = ResultTable.from_arrays({label: [[1, 2]] for label in labels})
    return [one.key for one in usual_measures(table)]


def test_curves_over_rates_are_left_out_but_for_the_usual_rates() -> None:
    curve = [f"tpr@{i / 100:g}" for i in range(101)]
    assert names_of("auc", *curve, "f1@0.2", "ap") == [
        "auc",
        "tpr@0.01",
        "tpr@0.05",
        "f1@0.2",
        "ap",
    ]
    # Each measure by itself; two rates are no curve.
    assert names_of(*curve, "auc@0.2", "auc@0.3") == ["tpr@0.01", "tpr@0.05", "auc@0.2", "auc@0.3"]
    assert names_of("tpr@0.1", "tpr@0.2", "tpr@0.3", "ap") == ["tpr@0.1", "ap"]
    others = ["auc@tpr0.8", "fpr@tpr0.8", "precision@p0.1", "precision@p0.2", "precision@p0.3"]
    assert names_of(*others, "auc@0.1", "auc@0.2") == [*others, "auc@0.1", "auc@0.2"]


def test_given_measures_stay() -> None:
    table = read(runs(7))
    result = loss_at_selected_fpr(table, measures=["tpr@0.3", "auc"], rng=0)
    assert result.columns == ["tpr@0.3", "auc", "auc@tukey-mean", "tpr@tukey-mean"]


# Bad input.


def test_bad_arguments() -> None:
    table = read(runs(8))
    with pytest.raises(InvalidInputError, match="criterion must be one of 'tukey-q'"):
        loss_at_selected_fpr(table, criterion="tukey")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="choice must be one of 'optimal', 'lowest'; found"):
        loss_at_selected_fpr(table, choice="best")  # type: ignore[arg-type]


def test_a_table_needs_both_measures_and_folds() -> None:
    values = runs(9)
    for missing in ("auc", "tpr"):
        short = {k: v for k, v in values.items() if not k.startswith(f"{missing}@")}
        with pytest.raises(InvalidInputError, match=f"must have columns {missing}@ at false"):
            loss_at_selected_fpr(read(short))
    with pytest.raises(InvalidInputError, match="at least two folds"):
        loss_at_selected_fpr(read({k: v[:, :, 0] for k, v in values.items()}))
