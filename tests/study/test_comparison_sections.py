"""Sections of the papers' results: values, and what is missing."""

import re
import subprocess
import sys
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastad
from fastad.benchmarking.pairwise_tests.pairs import CRITERIA
from fastad.benchmarking.resampling import check_resampling
from fastad.study.papers import comparison_sections
from fastad.study.papers.criteria_section import count_pairs, middle_models, proportion_text
from fastad.study.papers.goix_results import GoixBenchmark, GoixRow
from fastad.study.papers.grids import TABLE_MEASURES
from fastad.study.report.make import make_sections
from fastad.study.report.sections import Choice, Picture, Section
from fastad.study.report.values import ValuesByMeasure
from fastad.study.results import StudyTables
from tests.support.comparison_oracles import numbers
from tests.support.study_sections import OPTIONS, SECTIONS, table
from tests.support.study_tables import CONFIGURATIONS, MEASURES, PROBLEMS

pytestmark = pytest.mark.system

SAFE = re.compile(r"[A-Za-z0-9._-]+")


def direct(study: StudyTables, collection: str, contamination: float = 0.0) -> fastad.ResultTable:
    """Read what the sections compare, row by row."""
    rows = [
        row
        for row in study.tasks.to_pylist()
        if row["collection"] == collection
        and row["contamination"] == contamination
        and row["reason"] == ""
    ]
    columns = {name: [row[name] for row in rows] for name in ("dataset", "detector", "params")}
    columns["fold"] = [row["repeat"] for row in rows]
    if any(row["anomaly_class"] for row in rows):
        columns["anomaly_class"] = [row["anomaly_class"] or "anomalies" for row in rows]
    columns |= {name: [row[name] for row in rows] for name in MEASURES}
    return fastad.ResultTable.from_table(columns)


# All of them.


def test_sections_come_in_order_with_names_of_files_that_are_unique(
    sections: dict[str, Section],
) -> None:
    assert tuple(sections) == SECTIONS
    names = [part.name for one in sections.values() for part in one.parts]
    assert len(names) > 100
    assert len({name.lower() for name in names}) == len(names)
    assert all(SAFE.fullmatch(name) for name in names)
    assert all(part.title for one in sections.values() for part in one.parts)


def test_every_section_of_a_paper_names_it(sections: dict[str, Section]) -> None:
    papers = {"Škvára": 6, "Goix": 1, "Ning": 1}
    said = [one.paragraphs[0] for one in sections.values()]
    for author, n in papers.items():
        assert sum(author in paragraph for paragraph in said) == n


def test_a_section_is_made_when_it_is_reached(
    study: StudyTables, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("reached")

    monkeypatch.setattr(comparison_sections, "discriminability", fails)
    made = make_sections(study, **OPTIONS)
    reached = [next(made).name for _ in range(SECTIONS.index("operating"))]
    assert reached == list(SECTIONS[: len(reached)])
    with pytest.raises(RuntimeError, match="reached"):
        next(made)


def test_arguments_are_checked_before_any_section_is_made(study: StudyTables) -> None:
    with pytest.raises(TypeError, match="rng must be"):
        make_sections(study, rng=np.random.default_rng(0))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="rng must not be negative"):
        make_sections(study, rng=-1)
    make_sections(study, rng=np.int64(3))
    with pytest.raises(ValueError, match="n_resamples must be"):
        make_sections(study, n_resamples=0)


def test_every_picture_can_be_drawn(sections: dict[str, Section]) -> None:
    from matplotlib.figure import Figure

    kinds = {}
    for section in sections.values():
        for part in section.parts:
            if isinstance(part, Picture) and part.name.endswith(("uci-0", "by-data-set")):
                kinds[part.name] = part.draw
    # Two are the ranks of detectors with intervals.
    assert len(kinds) == 15
    for draw in kinds.values():
        figure = draw()
        assert isinstance(figure, Figure)
        figure.canvas.draw()


def test_the_picture_of_distances_has_dots_for_each_measure(sections: dict[str, Section]) -> None:
    result = table(sections["distance"], "rank-distance-tpr-0.4-uci-0")
    name = "rank-distance-tpr-0.4-uci-0-by-data-set"
    (picture,) = (one for one in sections["distance"].parts if one.name == name)
    assert isinstance(picture, Picture)
    (axes,) = picture.draw().axes
    dots = [line for line in axes.lines if line.get_marker() != "None"]
    assert [line.get_label() for line in dots] == result.measures
    for line, distances in zip(dots, result.distances.T, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), distances)
        # Each within its data set, whose order means nothing: no line joins two.
        assert line.get_linestyle() == "None"
        np.testing.assert_array_equal(
            np.round(np.asarray(line.get_xdata(), float)), np.arange(len(distances))
        )
    assert len({(line.get_marker(), line.get_color()) for line in dots}) == len(dots)
    assert [label.get_text() for label in axes.get_xticklabels()] == result.datasets


def test_matplotlib_is_loaded_when_a_picture_is_drawn_and_pyplot_never() -> None:
    code = """
import sys
from tests.support.study_tables import make_study
from fastad.study.report.make import make_sections
study = make_study(
    problems={"uci": {"a": ("1", "2"), "b": ("1", "2")}}, n_repeats=2, contaminations=(0.0,)
)
sections = list(make_sections(study, n_resamples=20))
assert "matplotlib" not in sys.modules
(picture, *_) = (one for one in sections[3].parts if hasattr(one, "draw"))
picture.draw()
assert "matplotlib" in sys.modules
assert "matplotlib.pyplot" not in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


# Values.


@pytest.mark.parametrize("collection", PROBLEMS)
def test_comparisons_are_those_of_the_rows_that_went_well(
    study: StudyTables, sections: dict[str, Section], collection: str
) -> None:
    results = direct(study, collection)
    several = {"measures": list(TABLE_MEASURES), **OPTIONS}
    wanted = {
        ("ranks", "ranks"): fastad.benchmarking.average_ranks(results, **several),
        ("ranks", "friedman"): fastad.benchmarking.friedman(results, measures=list(TABLE_MEASURES)),
        ("ranks", "nemenyi-auc"): fastad.benchmarking.nemenyi(results, measure="auc", **OPTIONS),
        ("ranks", "nemenyi-auc-0.05"): fastad.benchmarking.nemenyi(
            results, measure="auc@0.05", **OPTIONS
        ),
        ("ranks", "rank-intervals-auc"): fastad.benchmarking.rank_intervals(
            results, measure="auc", **OPTIONS
        ),
        ("correlation", "correlation"): fastad.benchmarking.kendall_matrix(results, **several),
        ("operating", "discriminability-auc"): fastad.benchmarking.discriminability(
            results, measure="auc", **OPTIONS
        ),
        ("operating", "discriminability-tpr"): fastad.benchmarking.discriminability(
            results, measure="tpr", **OPTIONS
        ),
        ("distance", "rank-distance-tpr-0.4"): fastad.benchmarking.rank_distance(
            results,
            reference="tpr@0.4",
            measures=["ht_auc@0.4", "auc_pr", "ap", "auc", "cost_auc@1.25", "cost_auc@0.8"],
            **OPTIONS,
        ),
        ("distance", "rank-distance-fpr-tpr0.8"): fastad.benchmarking.rank_distance(
            results,
            reference="fpr@tpr0.8",
            measures=["lf_auc@0.8", "auc_pr", "ap", "auc", "cost_auc@1.25", "cost_auc@0.8"],
            **OPTIONS,
        ),
        ("recommendation", "recommendation-tpr-0.01"): fastad.benchmarking.recommend(
            results, operating_fpr=0.01, **several
        ),
        ("recommendation", "recommendation-tpr-0.05"): fastad.benchmarking.recommend(
            results, operating_fpr=0.05, **several
        ),
    }
    for (section, name), result in wanted.items():
        assert numbers(table(sections[section], f"{name}-{collection}-0")) == numbers(result)


@pytest.mark.parametrize("collection", PROBLEMS)
def test_selection_is_evaluated_at_every_contamination(
    study: StudyTables, sections: dict[str, Section], collection: str
) -> None:
    means = table(sections["selection"], f"selection-mean-{collection}").to_columns()
    for i, contamination in enumerate((0.0, 0.01, 0.05)):
        results = direct(study, collection, contamination)
        wanted = fastad.benchmarking.selection_loss(
            results, measures=list(TABLE_MEASURES), **OPTIONS
        )
        name = f"selection-loss-{collection}-{contamination:g}"
        assert numbers(table(sections["selection"], name)) == numbers(wanted)
        own = slice(12 * i, 12 * (i + 1))
        assert means["selected_by"][own] == wanted.rows
        assert set(means["contamination"][own]) == {contamination}
        for key, values in zip(
            ("mean_loss", "low", "high"),
            (wanted.means["mean"].value, wanted.means["mean"].low, wanted.means["mean"].high),
            strict=True,
        ):
            assert means[key][own] == values.tolist()


def test_loss_on_other_classes_is_where_there_are_classes(
    study: StudyTables, sections: dict[str, Section]
) -> None:
    labels = [label for label in TABLE_MEASURES if not label.endswith("0.01")]
    for collection in ("uci", "uci-umap"):
        wanted = fastad.benchmarking.class_sensitivity(
            direct(study, collection), measures=labels, **OPTIONS
        )
        result = table(sections["classes"], f"class-sensitivity-{collection}-0")
        assert numbers(result) == numbers(wanted)
    (missing,) = sections["classes"].paragraphs[1:]
    assert missing == (
        "Missing: adbench at 0 % contamination: its data sets have one class of anomalies each."
    )


@pytest.mark.parametrize("criterion", CRITERIA)
def test_loss_at_chosen_rates(
    study: StudyTables, sections: dict[str, Section], criterion: Any
) -> None:
    labels = [label for label in TABLE_MEASURES if not label.startswith("cvol")]
    wanted = fastad.benchmarking.loss_at_selected_fpr(
        direct(study, "uci"), criterion=criterion, measures=labels, **OPTIONS
    )
    assert numbers(table(sections["operating"], f"loss-at-{criterion}-uci-0")) == numbers(wanted)


# EM and MV.


def share_of_pairs(table: fastad.ResultTable, name: str, labels: list[str]) -> tuple[float, int]:
    """Count pairs one by one."""
    values = {one: table.measure(one).sign * table.means(one) for one in ("em", "mv", *labels)}
    alike, n = 0.0, 0
    for problem in range(table.n_datasets):
        for i, j in combinations(range(len(table.models)), 2):
            pair = [
                np.sign(values[one][problem, i] - values[one][problem, j])
                for one in (name, *labels)
            ]
            if table.detector_of[i] == table.detector_of[j] or np.isnan(pair).any():
                continue
            if len(labels) > 1 and (pair[1] != pair[2] or pair[1] == 0):
                continue
            n += 1
            alike += 1 - abs(pair[0] - pair[1]) / 2
    return alike, n


@pytest.mark.parametrize("collection", PROBLEMS)
def test_pairs_of_all_models_are_counted(
    study: StudyTables, sections: dict[str, Section], collection: str
) -> None:
    result = table(sections["unsupervised"], f"unsupervised-{collection}-0")
    columns = result.to_columns()
    results = direct(study, collection)
    references = {"ROC": ["auc"], "PR": ["auc_pr"], "both": ["auc", "auc_pr"]}
    n_seen = 0
    for i, (name, models, reference) in enumerate(
        zip(columns["criterion"], columns["models"], columns["reference"], strict=True)
    ):
        if models == "all":
            n_seen += 1
            alike, n = share_of_pairs(results, name, references[reference])
            assert (columns["n_agreeing"][i], columns["n_pairs"][i]) == (alike, n)
            assert columns["fraction"][i] == alike / n
            assert columns["low"][i] <= columns["fraction"][i] <= columns["high"][i]
            shown = f"{alike:g} of {n} ({100 * alike / n:.1f} %)"
            assert any(shown in row for row in result.rows)
    assert n_seen == 6


def test_where_em_is_undefined_is_counted_and_named(sections: dict[str, Section]) -> None:
    result = table(sections["unsupervised"], "unsupervised-undefined-adbench-0")
    n = 3 * len(CONFIGURATIONS)
    assert result.rows == [["wide", 120, "EM", n, n, "no level set of 120 features has a volume"]]
    notes = table(sections["unsupervised"], "unsupervised-adbench-0").notes
    n_pairs = sum(a[0] != b[0] for a, b in combinations(CONFIGURATIONS, 2))
    # On letter the last configuration of OCSVM failed.
    n_pairs += sum(one != "OCSVM" for one, _ in CONFIGURATIONS)
    assert f"left out: {n_pairs} pairs where EM or ROC is undefined" in notes


def test_one_model_of_each_detector_is_the_middle_of_its_grid() -> None:
    names = [("a", f"k={k}") for k in (1, 2, 10, 20, 100)] + [("b", ""), ("c", "g=1e-05")]
    names.append(("c", "g=0.5"))
    results = fastad.ResultTable.from_arrays(
        {"auc": np.ones((1, len(names)))},
        detectors=[one for one, _ in names],
        params=[params for _, params in names],
    )
    assert [results.models[i] for i in middle_models(results)] == ["a k=10", "b", "c g=1e-05"]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_pairs_are_counted_as_one_by_one(data: st.DataObject) -> None:
    n_problems, n_models = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    cell = st.sampled_from([0.0, 1.0, 2.0, np.nan])
    shape = (data.draw(st.integers(2, 3)), n_problems, n_models)
    size = int(np.prod(shape))
    values = np.array(data.draw(st.lists(cell, min_size=size, max_size=size))).reshape(shape)
    detector_of = np.array(
        data.draw(st.lists(st.integers(0, 2), min_size=n_models, max_size=n_models))
    )
    resampling = check_resampling(np.arange(n_problems), 0.95, 20, 0)
    result = count_pairs(values[0], list(values[1:]), detector_of, resampling)
    alike, n, left_out = 0.0, 0, 0
    for problem in range(n_problems):
        for i, j in combinations(range(n_models), 2):
            if detector_of[i] == detector_of[j]:
                continue
            signs = np.sign(values[:, problem, i] - values[:, problem, j])
            if np.isnan(signs).any():
                left_out += 1
            elif len(signs) < 3 or (signs[1] == signs[2] != 0):
                n += 1
                alike += 1 - abs(signs[0] - signs[1]) / 2
    assert (result.n_agreeing, result.n_pairs, result.n_left_out) == (alike, n, left_out)


def test_large_counts_have_all_their_digits() -> None:
    assert proportion_text(1_234_567.5, 2_469_135) == "1234567.5 of 2469135 (50.0 %)"
    assert proportion_text(3.0, 4) == "3 of 4 (75.0 %)"


def test_goix_protocol_has_the_counts_of_its_benchmark(
    study: StudyTables, sections: dict[str, Section]
) -> None:
    result = table(sections["unsupervised"], "unsupervised-goix")
    benchmark = GoixBenchmark(GoixRow.from_dict(row) for row in study.extra["goix"].to_pylist())
    assert len(result.rows) == 8
    for setting, criterion, pairs, *cells in result.rows:
        which: Any = "all" if pairs == "all" else "significant"
        wanted = benchmark.agreement(criterion.lower(), setting=setting, pairs=which)
        counts = [wanted.roc, wanted.pr, wanted.both]
        for cell, one in zip(cells, counts, strict=False):
            shown = "-" if one is None else f"{one.n_agreeing:g} of {one.n_pairs} "
            assert cell.startswith(shown)
        if wanted.labels is not None:
            assert cells[3].startswith(
                f"{wanted.labels.n_recovered:g} of {wanted.labels.n_labels} "
            )


# Values.


def test_values_are_those_of_the_collections(
    sections: dict[str, Section], study: StudyTables
) -> None:
    parts = sections["values"].parts
    choices = {part.name: part.tables for part in parts if isinstance(part, Choice)}
    shown = {
        (name, key): table.content for name, of in choices.items() for key, table in of.items()
    }
    assert choices.keys() == {f"values-{collection}-0" for collection in PROBLEMS}
    of_library = {}
    for collection in sorted(set(study.tasks["collection"].to_pylist())):
        kept = [name == collection for name in study.tasks["collection"].to_pylist()]
        levels = study.tasks.filter(kept)["contamination"].to_pylist()
        results = study.results(collection=collection, contamination=min(levels))
        for key in results.measure_keys:
            values = fastad.benchmarking.mean_values(results, measures=[key])
            of_library[f"values-{collection}-0", key] = values
    assert shown.keys() == of_library.keys()
    for name, content in shown.items():
        values = of_library[name]
        assert numbers(content) == numbers(values)
        # Each row is one of the library's without the measure, with its marks; then the means.
        table, printed = content.text_table(), values.text_table()
        assert list(table.header) == list(printed.header[1:])
        assert [row for row in table.rows[:-1]] == [row[1:] for row in printed.rows]
        assert [tuple(own) for own in table.marks[:-1]] == [own[1:] for own in printed.marks]
        means = values.mean[0]
        kept = [row for row in means if not np.isnan(row).any()]
        if kept and not np.isnan(means).all(axis=0).any():
            noun = printed.header[1]
            assert table.rows[-1][0] == f"mean of {len(kept)} {noun}{'s' * (len(kept) != 1)}"
            wanted = [sum(column) / len(kept) for column in zip(*kept, strict=True)]
            assert [float(cell) for cell in table.rows[-1][1:]] == pytest.approx(wanted, abs=6e-5)


def test_means_of_values_are_over_problems_that_detectors_share() -> None:
    """A detector without any value leaves the means of the others; ties share the second place."""
    values = [
        [[1.0], [0.5], [0.5], [0.2], [np.nan]],
        [[0.8], [0.9], [0.9], [np.nan], [np.nan]],
        [[0.5], [0.6], [0.6], [0.5], [np.nan]],
    ]
    results = fastad.ResultTable.from_arrays({"auc": values}, detectors=list("abcde"))
    values_of = fastad.benchmarking.mean_values(results)
    content = ValuesByMeasure(values_of, 1.0, "data set")
    table = content.text_table()
    assert table.rows[-1] == ["mean of 2 data sets", "0.7500", "0.5500", "0.5500", "0.3500", "-"]
    assert list(table.marks[-1]) == [1, 2, 2, 0, 0]
    assert list(table.marks[0]) == [1, 2, 2, 0, 0]
    # Where no problem has all values, there is no mean.
    alone = fastad.ResultTable.from_arrays(
        {"mv": [[[1.0], [np.nan]], [[np.nan], [2.0]]]}, detectors=["a", "b"]
    )
    table = ValuesByMeasure(fastad.benchmarking.mean_values(alone), -1.0, "data set").text_table()
    assert table.rows[-1] == ["mean of 0 data sets", "-", "-"]
    one = fastad.ResultTable.from_arrays({"auc": [[[1.0], [0.5]]]}, detectors=["a", "b"])
    table = ValuesByMeasure(fastad.benchmarking.mean_values(one), 1.0, "data set").text_table()
    assert len(table.rows) == 1
