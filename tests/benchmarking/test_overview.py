"""All comparisons of a table in one go: ``compare_runs``, ``RunsOverview``, ``draw_overview``."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastad
from fastad.benchmarking import discriminability, selection_loss
from fastad.benchmarking import overview as module
from fastad.benchmarking.overview import compare_runs
from fastad.benchmarking.pairwise_tests.pairs import CRITERIA
from fastad.benchmarking.runs_overview import RunsOverview
from fastad.errors import InvalidInputError
from fastad.plot.overview import draw_overview
from tests.support.comparison_oracles import numbers

RATES = (0.01, 0.05, 0.1)
DETECTORS = ["knn", "knn", "lof", "lof", "svm", "svm"]
OPTIONS: dict[str, Any] = {"n_resamples": 40, "rng": 0}
LOSSES = [f"loss_at_{criterion}" for criterion in CRITERIA]
ALL = [
    *("ranks", "rank_intervals", "friedman", "nemenyi", "wilcoxon", "multi_comparison"),
    *("values", "kendall", "selection_loss"),
    *("class_sensitivity", "discriminability_auc", "discriminability_tpr"),
    *LOSSES,
    *("rank_distance", "recommendation_tpr@0.01", "recommendation_tpr@0.05"),
]


def columns(n_datasets: int = 4, n_folds: int = 3, seed: int = 0) -> dict[str, list[Any]]:
    """Rows of six models with auc, and auc@ and tpr@ at three rates."""
    rng = np.random.default_rng(seed)
    shape = n_datasets, len(DETECTORS), n_folds
    place = [index.ravel() for index in np.indices(shape)]
    quality = rng.uniform(0.4, 0.8, shape[:2])[:, :, None]
    table: dict[str, list[Any]] = {
        "dataset": [f"d{i}" for i in place[0]],
        "detector": [DETECTORS[i] for i in place[1]],
        "params": [f"k={i % 2}" for i in place[1]],
        "fold": place[2].tolist(),
    }
    names = ["auc", *(f"{name}@{rate}" for name in ("auc", "tpr") for rate in RATES)]
    for name in names:
        table[name] = (quality + rng.normal(0, 0.05, shape)).ravel().tolist()
    return table


def results(*labels: str, **how: int) -> fastad.ResultTable:
    return fastad.ResultTable.from_table(columns(**how), measures=labels or None)


@pytest.fixture(scope="module")
def table() -> fastad.ResultTable:
    return results()


@pytest.fixture(scope="module")
def overview(table: fastad.ResultTable) -> RunsOverview:
    return compare_runs(table, reference="tpr@0.05", **OPTIONS)


# What there is.


def test_each_comparison_is_what_its_function_returns_with_the_same_seed(
    table: fastad.ResultTable, overview: RunsOverview
) -> None:
    usual = ["auc", "auc@0.01", "auc@0.05", "tpr@0.01", "tpr@0.05"]
    assert overview.measures == usual
    several = {"measures": usual, **OPTIONS}
    wanted = {
        "ranks": fastad.benchmarking.average_ranks(table, **several),
        "rank_intervals": fastad.benchmarking.rank_intervals(table, measure="auc", **OPTIONS),
        "friedman": fastad.benchmarking.friedman(table, measures=usual),
        "nemenyi": fastad.benchmarking.nemenyi(table, measure="auc", **OPTIONS),
        "wilcoxon": fastad.benchmarking.wilcoxon_holm(table, measure="auc", **OPTIONS),
        "multi_comparison": fastad.benchmarking.multi_comparison_matrix(table, measure="auc"),
        "values": fastad.benchmarking.mean_values(table, measures=usual),
        "kendall": fastad.benchmarking.kendall_matrix(table, **several),
        "selection_loss": selection_loss(table, **several),
        "discriminability_auc": discriminability(table, measure="auc", **OPTIONS),
        "discriminability_tpr": discriminability(table, measure="tpr", **OPTIONS),
        "rank_distance": fastad.benchmarking.rank_distance(
            table, reference="tpr@0.05", measures=usual[:-1], **OPTIONS
        ),
        "recommendation_tpr@0.01": fastad.benchmarking.recommend(
            table, operating_fpr=0.01, **several
        ),
    }
    assert set(overview) == set(ALL) - {"class_sensitivity"}
    for name, result in wanted.items():
        assert type(overview[name]) is type(result)
        assert numbers(overview[name]) == numbers(result)
        assert str(overview[name]) == str(result)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_losses_at_selected_rates_are_those_of_the_function(
    table: fastad.ResultTable, overview: RunsOverview, criterion: Any
) -> None:
    result: Any = overview[f"loss_at_{criterion}"]
    wanted = fastad.benchmarking.loss_at_selected_fpr(table, criterion=criterion, **OPTIONS)
    assert (result.rows, result.columns) == (wanted.rows, wanted.columns)
    assert np.array_equal(result.by_dataset, wanted.by_dataset, equal_nan=True)
    # Of the same draws as the losses without these rates.
    loss: Any = overview["selection_loss"]
    for name in ("value", "low", "high"):
        assert np.array_equal(getattr(result, name)[:5, :5], getattr(loss, name), equal_nan=True)


def test_tests_are_at_one_minus_the_confidence_level(table: fastad.ResultTable) -> None:
    result: Any = compare_runs(table, confidence_level=0.9, **OPTIONS)
    assert result["discriminability_auc"].confidence_level == 0.9
    assert result["loss_at_tukey-q"].confidence_level == result["nemenyi"].confidence_level == 0.9
    wanted = discriminability(table, measure="tpr", confidence_level=0.9, **OPTIONS)
    assert numbers(result["discriminability_tpr"]) == numbers(wanted)


def test_classes_of_anomalies_add_their_loss() -> None:
    rows = columns()
    rows["anomaly_class"] = [name[-1:] in "02" for name in rows["dataset"]]
    rows["dataset"] = ["ab"[name in ("d2", "d3")] for name in rows["dataset"]]
    result = compare_runs(rows, **OPTIONS)
    wanted = fastad.benchmarking.class_sensitivity(rows, measures=result.measures, **OPTIONS)
    assert numbers(result["class_sensitivity"]) == numbers(wanted)


@pytest.mark.parametrize(
    ("arguments", "measure"),
    [
        ({}, "auc"),
        ({"operating_fpr": 0.1}, "tpr@0.1"),
        ({"operating_fpr": 0.1, "measure": "auc@0.05"}, "auc@0.05"),
        ({"measures": ["tpr@0.05", "auc@0.1"]}, "tpr@0.05"),
        ({"measures": ["tpr@0.05", "auc"]}, "auc"),
    ],
)
def test_detectors_are_compared_by_the_principal_measure(
    table: fastad.ResultTable, arguments: dict[str, Any], measure: str
) -> None:
    result = compare_runs(table, **arguments, **OPTIONS)
    assert result.measure == measure
    assert result["nemenyi"].measure == result["wilcoxon"].measure == measure  # type: ignore[attr-defined]
    if "measures" in arguments:
        assert result["kendall"].rows == arguments["measures"]  # type: ignore[attr-defined]
    else:
        assert measure in result.measures
    rates = [name for name in result if name.startswith("recommendation")]
    assert rates == (["recommendation_tpr@0.1"] if "operating_fpr" in arguments else ALL[-2:])


def test_names_of_functions_are_labels(table: fastad.ResultTable, overview: RunsOverview) -> None:
    result = compare_runs(table, measure="roc_auc", reference="roc_auc", **OPTIONS)
    assert (result.measure, result.reference, result.measures) == ("auc", "auc", overview.measures)
    assert result["rank_distance"].measures == overview.measures[1:]  # type: ignore[attr-defined]
    assert "roc_auc" not in str(result)


def test_a_control_is_what_the_others_are_compared_with(table: fastad.ResultTable) -> None:
    result = compare_runs(table, control="lof", **OPTIONS)
    for name in ("nemenyi", "wilcoxon"):
        assert result[name].control == "lof"  # type: ignore[attr-defined]
        assert "against lof" in result.title(name)


# What cannot be made.


@pytest.mark.parametrize(
    ("rows", "reasons"),
    [
        (results("auc"), {"kendall": "one measure alone", "recommendation": "neither tpr@0.01"}),
        (results("auc", "tpr@0.1", "tpr@0.05"), {"discriminability_tpr": "columns tpr@ at 3"}),
        (results(n_folds=1), dict.fromkeys(["discriminability_auc", *LOSSES], "must be two folds")),
        (
            fastad.ResultTable.from_arrays({"auc": [[0.5, 0.6]]}, detectors=["knn", "lof"]),
            {
                "friedman": None,
                "rank_intervals": "found 1. Folds or seeds",
                "class_sensitivity": "no column of the classes",
            },
        ),
        (
            fastad.ResultTable.from_arrays(
                {"auc": [[0.5, 0.6]], "em": [[1, 2]]}, detectors=["a", "a"], params=["1", "2"]
            ),
            dict.fromkeys(["ranks", "rank_intervals", "friedman", "nemenyi"], "found a, with"),
        ),
        (
            fastad.ResultTable.from_arrays({"auc": [[0.5, math.nan]], "em": [[1, 2]]}),
            {
                "nemenyi": "need a data set on which all",
                "wilcoxon": "need a data set on which all",
                "kendall": None,
            },
        ),
    ],
)
def test_what_cannot_be_made_has_its_reason_and_stops_nothing(
    rows: fastad.ResultTable, reasons: dict[str, str | None]
) -> None:
    result = compare_runs(rows, **OPTIONS)
    for name, reason in reasons.items():
        assert (name in result) == (reason is None)
        assert reason is None or reason in result.skipped[name]
        assert reason is None or name in str(result)
    made = {*result, *result.skipped}
    assert made - {"recommendation"} >= set(ALL[:-2])
    assert not set(result) & set(result.skipped)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"operating_fpr": 0.2},
            r"operating_fpr must .* tpr@0\.01, tpr@0\.05, tpr@0\.1; found 0\.2",
        ),
        ({"operating_fpr": 2}, "operating_fpr must lie in"),
        ({"reference": "x"}, "reference must be one of"),
        ({"n_resamples": 0}, "n_resamples must"),
    ],
)
def test_bad_arguments_are_refused_before_any_work(
    table: fastad.ResultTable,
    arguments: dict[str, Any],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def work(*_: Any, **__: Any) -> None:
        raise AssertionError

    monkeypatch.setattr(module, "_makers", work)
    with pytest.raises(InvalidInputError, match=f"^{message}"):
        compare_runs(table, **arguments)


# An example is a whole overview, also where more are drawn.
@pytest.mark.slow
@settings(max_examples=10)
@given(st.data())
def test_gaps_are_named_and_never_stop_the_rest(data: st.DataObject) -> None:
    rows = columns(n_datasets=2, n_folds=2)
    n = len(rows["auc"])
    for name in ("auc", "tpr@0.05", "auc@0.1"):
        for i in data.draw(st.sets(st.integers(0, n - 1), max_size=n)):
            rows[name][i] = math.nan
    kept = sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=n // 2)))
    rows = {name: [cells[i] for i in kept] for name, cells in rows.items()}
    result = compare_runs(rows, reference="auc", **OPTIONS)
    assert {*result, *result.skipped} == set(ALL)
    remarks = "\n".join(result.notes)
    for name in ("auc", "tpr@0.05", "auc@0.1"):
        n_nan = sum(map(math.isnan, rows[name]))
        lines = [line for line in remarks.splitlines() if f"in {n_nan} of {len(kept)} rows" in line]
        assert bool(n_nan) == any(name in line for line in lines)
    for name in result:
        assert "nan" not in result[name].text_table().plain().replace("nan@", "")


def test_a_matrix_that_nobody_could_read_is_not_made() -> None:
    many = fastad.ResultTable.from_arrays({"auc": np.random.default_rng(0).random((3, 21))})
    reason = compare_runs(many, **OPTIONS).skipped["multi_comparison"]
    assert reason == "a matrix of 21 detectors is not printed"


# The same bits.


def test_intervals_do_not_depend_on_what_else_there_is(overview: RunsOverview) -> None:
    few = compare_runs(results("auc", "auc@0.01", "auc@0.05", "tpr@0.01", "tpr@0.05"), **OPTIONS)
    assert "discriminability_auc" in few.skipped
    for name in set(few) & set(overview):
        assert numbers(few[name]) == numbers(overview[name])


def test_a_generator_is_a_seed_too() -> None:
    table = results(n_datasets=12)
    how = {"measures": ["auc", "tpr@0.1"], "n_resamples": 40}
    one, other = (compare_runs(table, rng=np.random.default_rng(3), **how) for _ in range(2))  # type: ignore[arg-type]
    assert numbers(one["selection_loss"]) == numbers(other["selection_loss"])
    drawn = compare_runs(table, **how)  # type: ignore[arg-type]
    assert numbers(one["selection_loss"]) != numbers(drawn["selection_loss"])


def test_a_seed_is_a_seed_whatever_its_type() -> None:
    table = results("auc", "tpr@0.05")
    alone = selection_loss(table, rng=3)
    for seed in (3, np.int64(3), np.uint8(3)):
        result = compare_runs(table, rng=seed)
        assert numbers(result["selection_loss"]) == numbers(alone)


def test_progress_is_an_option_as_elsewhere() -> None:
    table = results("auc", "tpr@0.05")
    for progress in (True, False):
        assert "kendall" in compare_runs(table, progress=progress, **OPTIONS)
    with pytest.raises(TypeError, match="progress must be True, False or a function; found int"):
        compare_runs(table, progress=3, **OPTIONS)  # type: ignore[arg-type]


def test_progress_tells_how_many_are_done(table: fastad.ResultTable) -> None:
    seen: list[tuple[int, int | None]] = []
    compare_runs(table, progress=lambda done, wanted: seen.append((done, wanted)), **OPTIONS)
    assert seen == [(i, len(ALL)) for i in range(len(ALL) + 1)]


# What it reads like.


def test_it_prints_all_tables_under_their_titles(overview: RunsOverview) -> None:
    text, page = str(overview), overview.to_markdown({"kendall": "k.png"})
    titles = [overview.title(name) for name in (*overview, *overview.skipped)]
    assert len(set(titles)) == len(titles)
    places = []
    for name in overview:
        title = overview.title(name)
        assert f"{title}\n{'-' * len(title)}\n{overview[name].text_table().plain()}" in text
        assert f"## {title}\n\n{overview[name].text_table().markdown()}" in page
        for line in overview.notes_of(name):
            assert line in text
            assert f"- {line}" in page
        places.append(text.index(f"{title}\n-"))
    assert places == sorted(places)
    assert page.count("![") == page.count("](k.png)") == 1
    assert "skipped: class_sensitivity: the table has no column" in text
    assert "- class_sensitivity: the table has no column" in page
    assert repr(overview).startswith("<RunsOverview of <ResultTable of 4 data sets")


def test_notes_stand_once_and_name_measures_that_lack_the_same() -> None:
    rows = columns()
    lacking = [name for name in rows if "@" in name or name == "auc"]
    for name in lacking:
        rows[name][:3] = [math.nan] * 3  # of one model on all folds
    rows = {name: cells[:5] + cells[6:] for name, cells in rows.items()}
    result = compare_runs(rows, **OPTIONS)
    assert result.notes == [
        "missing: 1 of 72 rows (d0, knn k=1, fold 2)",
        "nan: auc, auc@0.01, auc@0.05, auc@0.1 and 3 more are undefined in 3 of 71 rows",
    ]
    lines = str(result).splitlines()
    assert all(lines.count(line) == 1 for line in result.notes)


def test_a_note_of_two_comparisons_stands_once() -> None:
    rows = columns()
    rows["auc"][:6] = [math.nan] * 6  # of knn on d0
    result = compare_runs(rows, **OPTIONS)
    note = "auc: 1 of 4 data sets is left out"
    for name in ("ranks", "rank_intervals", "friedman", "nemenyi"):
        assert any(line.startswith(note) for line in result.notes_of(name))
    assert str(result).count(note) == result.to_markdown().count(note) == 1


# The answer.


def steps(n_datasets: int, **merits: float) -> fastad.ResultTable:
    """Detectors of equal auc on all data sets."""
    names = list(merits)
    return fastad.ResultTable.from_arrays(
        {"auc": [list(merits.values())] * n_datasets}, detectors=names
    )


@pytest.mark.parametrize(
    ("rows", "control", "line"),
    [
        # Critical differences of three: 2.343 √(12/6n), 0.61 with 30 data sets, 2.34 with two.
        (
            steps(30, a=0.9, b=0.8, c=0.7),
            None,
            "a has the best mean rank, 1.00 among 3 detectors on 30 data sets; "
            "not significantly different at 95 %: no other",
        ),
        (
            steps(2, a=0.9, b=0.8, c=0.7),
            None,
            "a has the best mean rank, 1.00 among 3 detectors on 2 data sets; "
            "not significantly different at 95 %: b and c",
        ),
        (
            steps(30, a=0.9, b=0.9, c=0.7),
            None,
            "a and b have the best mean rank, 1.50 among 3 detectors on 30 data sets; "
            "not significantly different at 95 %: no other",
        ),
        (
            steps(30, a=0.9, b=0.8, c=0.7),
            "b",
            "a has the best mean rank, 1.00 among 3 detectors on 30 data sets; "
            "b is better than c; worse than a",
        ),
    ],
)
def test_the_answer_says_who_leads_and_who_does_not_differ(
    rows: fastad.ResultTable, control: str | None, line: str
) -> None:
    result = compare_runs(rows, control=control, **OPTIONS)
    assert result.answer() == [f"By auc {line}"]
    assert str(result).startswith(f"By auc {line}\n")
    assert f"- By auc {line}\n" in result.to_markdown().partition("\n## ")[0]


def test_the_answer_says_by_which_measure_to_select(overview: RunsOverview) -> None:
    texts = [overview[name].text for name in ALL[-2:]]  # type: ignore[attr-defined]
    assert overview.answer()[1:] == texts
    for text in texts:
        assert str(overview).count(text) == overview.to_markdown().count(text) == 1


def test_without_ranks_the_answer_has_no_leader() -> None:
    alone = compare_runs(
        fastad.ResultTable.from_arrays(
            {"auc": [[0.5, 0.6]], "em": [[1, 2]]}, detectors=["a", "a"], params=["1", "2"]
        ),
        **OPTIONS,
    )
    assert alone.answer() == []


# Pictures.


@pytest.mark.slow
def test_pictures_are_drawn_without_pyplot(overview: RunsOverview) -> None:
    from matplotlib import pyplot

    before = pyplot.get_fignums()
    figures = dict(draw_overview(overview))
    assert pyplot.get_fignums() == before
    assert list(figures) == [
        *("rank_intervals", "nemenyi", "wilcoxon", "multi_comparison", "kendall"),
        "selection_loss",
        *("discriminability_auc", "discriminability_tpr"),
        *LOSSES,
    ]
    for name, figure in figures.items():
        assert figure.get_suptitle() == overview.title(name)
    kendall: Any = overview["kendall"]
    texts = [text.get_text() for text in figures["kendall"].axes[0].texts]
    assert texts == [f"{value:.2f}" for value in kendall.value.ravel()]
    panels = figures["discriminability_tpr"].axes
    assert [axes.get_ylabel() for axes in panels[:5]] == [f"{one} of tpr" for one in CRITERIA]
    assert panels[5].get_legend() is not None
    names = {text.get_text() for text in figures["nemenyi"].axes[0].texts}
    ranks: Any = overview["nemenyi"]
    for name, rank in zip(ranks.detectors, ranks.mean_ranks, strict=True):
        assert f"{name} ({rank:.2f})" in names
