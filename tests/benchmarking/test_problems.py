"""A problem, which is a data set with one class of its anomalies, is not called a data set."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastad
from fastad import benchmarking
from fastad.plot import DiscriminabilityDisplay

OPTIONS: dict[str, Any] = {"rng": 0, "n_resamples": 20}


def results(n_classes: int) -> fastad.ResultTable:
    """Three data sets with some classes each, and gaps that notes count."""
    rng = np.random.default_rng(0)
    rows = [
        {
            "dataset": f"d{dataset}",
            "anomaly_class": f"c{label}",
            "detector": detector,
            "params": f"k={k}",
            "fold": fold,
            "auc": rng.uniform(),
            "auc@0.1": 0.0 if dataset == label == 0 else rng.uniform(),
            "auc@0.2": np.nan if dataset == label == 0 and detector == "a" else rng.uniform(),
            "tpr@0.1": rng.uniform(),
        }
        for dataset in range(3)
        for label in range(n_classes)
        for detector in "abc"
        for k in (1, 2)
        for fold in (1, 2, 3)
    ]
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    if n_classes == 1:
        del columns["anomaly_class"]
    return fastad.ResultTable.from_table(columns)


# What counts data sets in its table, its notes or its sentences.
COUNTING: dict[str, Callable[[fastad.ResultTable], object]] = {
    "ranks": lambda table: benchmarking.average_ranks(table, **OPTIONS),
    "kendall": lambda table: benchmarking.kendall_matrix(table, **OPTIONS),
    "loss": lambda table: benchmarking.selection_loss(table, **OPTIONS),
    "distance": lambda table: benchmarking.rank_distance(table, reference="auc@0.2", **OPTIONS),
    "rates": lambda table: benchmarking.discriminability(table, measure="auc", **OPTIONS),
    "nemenyi": lambda table: benchmarking.nemenyi(table, measure="auc@0.2", **OPTIONS),
    "leaders": lambda table: benchmarking.nemenyi(table, measure="auc", **OPTIONS).leaders,
    "recommendation": lambda table: (
        benchmarking.recommend(table, target_measure="auc", **OPTIONS).text
    ),
    "values": lambda table: benchmarking.mean_values(table),
    "overview": lambda table: fastad.compare_runs(table, **OPTIONS),
    "page": lambda table: fastad.compare_runs(table, **OPTIONS).to_markdown(),
    "name of a table": repr,
    "name of values": lambda table: repr(benchmarking.mean_values(table)),
}


@pytest.mark.parametrize("name", COUNTING)
def test_problems_are_not_called_data_sets(name: str) -> None:
    alone, several = (str(COUNTING[name](results(n))) for n in (1, 2))
    assert "data set" in alone
    assert "problem" not in alone
    assert "problem" in several
    # Six problems of three data sets; of five, where one is left out.
    for n in (5, 6):
        assert f"{n} data sets" not in several
        assert f"data sets: {n}" not in several


def test_the_picture_of_rates_says_problems() -> None:
    table = benchmarking.discriminability(results(2), measure="auc", **OPTIONS)
    axes = DiscriminabilityDisplay(table).plot().ax_
    labels = axes.get_legend_handles_labels()[1]
    assert "each problem" in labels
    assert f"mean of {len(table.pairwise_tests)} problems" in labels
