"""The page that sets the study ``medium`` beside the papers, and what it says in words."""

import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastad
from bench import reproduction
from bench.pages import filled
from bench.papers_f1 import PAPERS_F1
from bench.reproduction import MEASURES, OPTIONS, RESULTS, criteria, results, selection

GROUPS = ("full", "umap", "adbench")


def losses(group: str, contamination: float = 0.0) -> dict[str, float]:
    result = selection(group, contamination)
    return dict(zip(result.rows, result.means["mean"].value.tolist(), strict=True))


@pytest.mark.evidence
def test_the_page_shows_the_tables() -> None:
    text = reproduction.PAGE.read_text(encoding="utf-8")
    assert filled(text, reproduction.tables()) == text


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_rates_of_criteria_lie_between() -> None:
    result = criteria()["tukey-q"]
    means = dict(zip(result.rows, result.means["mean"].value.tolist(), strict=True))
    assert means["auc@0.05"] < means["auc@tukey-q"] < means["auc"] < means["tpr@tukey-q"]
    text = " ".join(reproduction.PAGE.read_text(encoding="utf-8").split())
    shown = re.search(r"between AUC@0.05 \(([\d.]+) %\) and AUC \(([\d.]+) %\)", text)
    assert shown is not None
    assert shown.groups() == tuple(f"{100 * means[one]:.1f}" for one in ("auc@0.05", "auc"))


@pytest.mark.slow
def test_f1_of_the_papers_code_loses_most_and_ranks_machines_first() -> None:
    own, theirs = selection("full", 0.0), selection("full", 0.0, papers_f1=True)
    with_labels = [label for label in MEASURES if not label.startswith("cvol")]
    losses = dict(zip(theirs.rows, theirs.means["mean"].value.tolist(), strict=True))
    assert sorted(with_labels, key=losses.__getitem__)[-2:] == ["f1@0.05", "f1@0.01"]
    assert losses["f1@0.01"] > 5 * losses["tpr@0.01"]
    before = dict(zip(own.rows, own.means["mean"].value.tolist(), strict=True))
    assert before["f1@0.01"] < 1.5 * before["tpr@0.01"]
    for papers, first in ((False, "kNN"), (True, "OCSVM")):
        ranked = fastad.benchmarking.average_ranks(
            results("full", 0.0, papers_f1=papers), measures=["f1@0.01"], **OPTIONS
        )
        assert ranked.detectors[int(np.argmin(ranked.mean[0]))] == first


def f1_sample_by_sample(y_true: list[int], score: list[int], fpr: float) -> float:
    """F1 score at the threshold of the papers' code, as its rule is written."""
    samples = sorted(zip(score, y_true, strict=True), key=lambda one: (-one[0], one[1]))
    n_normals = y_true.count(0)
    passed, kept = 0, []
    for _, label in samples:
        passed += label == 0
        kept.append(passed / n_normals <= fpr)
    n_kept = sum(kept)
    if n_kept == 0:
        return 0.0  # no threshold: nothing is flagged
    if n_kept == len(samples):
        threshold = float(samples[-1][0])
    else:
        left, right = samples[n_kept - 1], samples[n_kept]
        before = sum(label == 0 for _, label in samples[:n_kept])
        part = fpr * n_normals - before
        threshold = left[0] if left[0] == right[0] else right[0] * part + left[0] * (1 - part)
    tp = sum(label for value, label in samples if value >= threshold)
    flagged = sum(value >= threshold for value, _ in samples)
    return 2 * tp / (flagged + y_true.count(1))


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3)), min_size=2, max_size=12).filter(
        lambda rows: len({label for label, _ in rows}) == 2
    ),
    st.sampled_from([0.015625, 0.25, 0.5, 0.75]),
)
def test_f1_of_the_papers_code_is_that_of_its_rule(rows: list[tuple[int, int]], fpr: float) -> None:
    y_true, score = map(list, zip(*rows, strict=True))
    assert PAPERS_F1.of(y_true, score, fpr=fpr) == pytest.approx(
        f1_sample_by_sample(y_true, score, fpr), abs=1e-12
    )


def test_a_tie_at_the_threshold_is_flagged_whole_by_the_papers_code() -> None:
    y_true, score = [0] * 100 + [1] * 100, [0.0] * 98 + [1.0] * 2 + [0.0] * 90 + [2.0] * 10
    assert PAPERS_F1.of(y_true, score, fpr=0.03) == pytest.approx(2 / 3)
    assert fastad.f1_at_fpr(y_true, score, fpr=0.03) == pytest.approx(20 / 112)
