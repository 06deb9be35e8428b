"""The page that sets the study ``medium`` beside the papers, and what it says in words."""

import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import fastad
from bench import reproduction
from bench.reproduction import MEASURES, OPTIONS, RESULTS, SPLITS, results

GROUPS = ("full", "umap", "adbench")


def losses(group: str, contamination: float = 0.0) -> dict[str, float]:
    result = fastad.benchmarking.selection_loss(
        results(group, contamination), measures=MEASURES, **OPTIONS
    )
    return dict(zip(result.rows, result.means["mean"].value.tolist(), strict=True))


@pytest.mark.evidence
def test_the_page_shows_the_tables() -> None:
    text = reproduction.PAGE.read_text(encoding="utf-8")
    assert reproduction.filled(text) == text


def test_the_results_are_small_and_of_the_whole_study() -> None:
    assert sum(path.stat().st_size for path in Path(RESULTS).parent.iterdir()) < 5_000_000
    table = pq.read_table(RESULTS)
    assert len(set(zip(*(table[name].to_pylist() for name in ("collection", "dataset"))))) == 97  # noqa: B905
    assert set(np.unique(np.asarray(table["contamination"]))) == {0.0, 0.01, 0.05}


@pytest.mark.parametrize("group", GROUPS)
def test_auc_up_to_five_percent_loses_least(group: str) -> None:
    result = losses(group)
    least = min(result.values())
    assert result["auc@0.05"] < least + 0.0005
    assert 1.8 < result["tpr@0.05"] / result["auc@0.05"] < 3.5
    assert all(result[label] < result["auc"] for label in ("auc_w", "auc@0.05", "auc@0.01"))


@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("contamination", [0.01, 0.05])
def test_volumes_select_worse_where_training_is_contaminated(
    group: str, contamination: float
) -> None:
    clean, dirty = losses(group), losses(group, contamination)
    assert dirty["cvol@0.05"] > clean["cvol@0.05"]
    assert dirty["cvol@0.05"] == max(dirty.values())


def test_f1_loses_about_what_tpr_does() -> None:
    for group in GROUPS:
        result = losses(group)
        assert result["f1@0.05"] == pytest.approx(result["tpr@0.05"], abs=0.006)


def test_neighbours_and_machines_lead() -> None:
    for group in ("full", "umap"):
        table = fastad.benchmarking.average_ranks(results(group, 0.0), measures=MEASURES, **OPTIONS)
        of = {name: table.mean[:, list(table.detectors).index(name)] for name in table.detectors}
        first = np.maximum(of["kNN"], of["OCSVM"])
        assert np.all(first < of["IForest"])
        assert np.all(first < of["LOF"])


def test_rates_of_criteria_lie_between() -> None:
    measures = [label for label in MEASURES if not label.startswith("cvol")]
    own = results("full", 0.0, SPLITS)
    result = fastad.benchmarking.loss_at_selected_fpr(
        own, criterion="tukey-q", measures=measures, **OPTIONS
    )
    means = dict(zip(result.rows, result.means["mean"].value.tolist(), strict=True))
    assert means["auc@0.05"] < means["auc@tukey-q"] < means["auc"] < means["tpr@tukey-q"]
    text = " ".join(reproduction.PAGE.read_text(encoding="utf-8").split())
    shown = re.search(r"between AUC@0.05 \(([\d.]+) %\) and AUC \(([\d.]+) %\)", text)
    assert shown is not None
    assert shown.groups() == tuple(f"{100 * means[one]:.1f}" for one in ("auc@0.05", "auc"))
