"""Sections of a study: what ran, what failed, and what is missing is named."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad.study.papers.criteria_section import criteria_section
from fastad.study.papers.grids import TABLE_MEASURES
from fastad.study.report.make import make_sections
from fastad.study.report.overview import overview_section
from fastad.study.report.sections import Section
from fastad.study.report.study_results import StudyResults, file_names, reasons_by_measure
from fastad.study.results import StudyTables
from tests.support.study_sections import OPTIONS, SECTIONS, sections_of, table
from tests.support.study_tables import CONFIGURATIONS, FAILURE, PROBLEMS, make_study, with_reasons

pytestmark = pytest.mark.system


def without(study: StudyTables, *columns: str) -> StudyTables:
    return replace(study, tasks=study.tasks.drop_columns(list(columns)))


def test_what_ran_is_counted(study: StudyTables, sections: dict[str, Section]) -> None:
    overview = sections["overview"]
    result = table(overview, "collections").to_columns()
    for i, (name, datasets) in enumerate(PROBLEMS.items()):
        rows = [row for row in study.tasks.to_pylist() if row["collection"] == name]
        n_problems = sum(len(classes) for classes in datasets.values())
        wanted = {
            "collection": name,
            "data sets": len(datasets),
            "problems": n_problems,
            "detectors": 4,
            "configurations": len(CONFIGURATIONS),
            "contaminations": "0 %, 1 %, 5 %",
            "repeats": 3,
            "done": len(rows),
            "failed": sum(row["reason"] != "" for row in rows),
            "not applicable": 0,
            "missing": n_problems * 9 * len(CONFIGURATIONS) - len(rows),
        }
        assert {key: cells[i] for key, cells in result.items()} == wanted
    assert result["missing"] == [2, 2, 2]
    assert (
        f"{study.n_done} of {study.n_batches} batches are done, 1 is not" in overview.paragraphs[1]
    )
    assert table(overview, "missing").rows == [
        ("uci", "yeast", "VAC", 2, "5 %", "3", "OCSVM"),
        ("uci-umap", "yeast", "VAC", 2, "5 %", "3", "OCSVM"),
        ("adbench", "wide", None, 2, "5 %", "3", "OCSVM"),
    ]


def test_failures_and_undefined_measures_are_counted(sections: dict[str, Section]) -> None:
    ((detector, params, reason, n, places),) = table(sections["overview"], "failures").rows
    assert (detector, params) == CONFIGURATIONS[-1]
    assert (reason, n) == (FAILURE, 9 * (2 + 2 + 1))
    assert places == "uci/cardio, uci-umap/cardio, adbench/letter"
    ((collection, measure, n, _, where, why),) = table(sections["overview"], "undefined").rows
    assert (collection, measure, where) == ("adbench", "em", "wide")
    assert n == 9 * len(CONFIGURATIONS) - 2
    assert why == "no level set of 120 features has a volume"


def test_a_whole_study_says_so() -> None:
    whole = make_study(failures=False, problems={"uci": PROBLEMS["uci"]})
    overview = sections_of(whole, "overview")["overview"]
    assert any("finished: " in one for one in overview.paragraphs)
    for what in ("Tasks that failed", "Tasks that are missing", "Measures that are undefined"):
        assert f"{what}: none." in overview.paragraphs


@pytest.mark.parametrize("collection", ["uci", "uci-umap"])
def test_a_study_of_the_papers_data_names_the_tables_that_it_lacks(collection: str) -> None:
    small = make_study(problems={collection: PROBLEMS[collection]}, contaminations=(0.01,))
    said = {name: " ".join(one.paragraphs) for name, one in sections_of(small, "classes").items()}
    other, ranks, classes = {
        "uci": ("uci-umap", "Table 4", "Table 10"),
        "uci-umap": ("uci", "Table 3", "Table 11"),
    }[collection]
    why = f"the study has no results of the collection {other}."
    assert f"Missing: {ranks}: {why}" in said["ranks"]
    assert f"Missing: {classes}: {why}" in said["classes"]
    assert f"Table 6 for {collection}: the study has no results at 0 %" in said["selection"]
    assert f"Table 8 for {collection}: the study has no results at 5 %" in said["selection"]
    assert "Table 7 for" not in said["selection"]


@pytest.mark.parametrize("problems", [PROBLEMS["adbench"], PROBLEMS["uci"]])
def test_a_study_of_ones_own_lacks_no_table_of_a_paper(
    problems: Mapping[str, Sequence[str | None]],
) -> None:
    own = make_study(problems={"mine": problems}, contaminations=(0.02,), n_repeats=2)
    own = replace(without(own, "tpr@0.4", "auc@0.05"), extra={})
    for section in sections_of(own).values():
        of_others = [words for words in section.paragraphs[1:] if not words.startswith("mine at")]
        titles = [part.title for part in section.parts]
        assert not re.findall(r"Table|Figure|[Gg]oix", " ".join([*of_others, *titles]))


def test_goix_protocol_is_missing_where_it_was_planned(study: StudyTables) -> None:
    said = "Missing: Goix's own protocol: the study has no rows of it."
    begun = replace(study, extra={"goix": pa.table({})})
    assert said in criteria_section(StudyResults(begun, 0, 10)).paragraphs
    never = replace(study, extra={})
    assert said not in criteria_section(StudyResults(never, 0, 10)).paragraphs


def test_a_single_repeat_has_no_operating_rates() -> None:
    result = sections_of(make_study(n_repeats=1, problems={"uci": PROBLEMS["uci"]}))
    assert not result["operating"].parts
    assert "at least two folds" in result["operating"].paragraphs[-1]
    assert "uci at 0 % contamination" in result["operating"].paragraphs[-1]
    assert len(result["recommendation"].parts) == 2
    assert "on the same data" in " ".join(result["recommendation"].paragraphs)


def test_one_detector_alone_is_not_ranked() -> None:
    knn = [one for one in CONFIGURATIONS if one[0] == "kNN"]
    result = sections_of(make_study(configurations=knn, problems={"uci": PROBLEMS["uci"]}))
    for name in ("ranks", "distance"):
        assert not result[name].parts
        assert "at least two detectors" in result[name].paragraphs[-1]
    assert len(result["correlation"].parts) == 2


def test_one_model_alone_is_compared_with_nothing() -> None:
    result = sections_of(
        make_study(
            configurations=CONFIGURATIONS[:1], failures=False, problems={"uci": PROBLEMS["uci"]}
        )
    )
    for name in set(SECTIONS) - {"overview", "unsupervised"}:
        assert not result[name].parts
        assert "at least two models" in " ".join(result[name].paragraphs)


def test_measures_that_a_study_lacks_are_named(study: StudyTables) -> None:
    gone = ("cvol@0.01", "cvol@0.05", "auc@0.05", "tpr@0.4", "tpr@0.05", "em")
    result = sections_of(without(study, *gone))
    why = "the study has not measured them"
    missing = "auc@0.05, tpr@0.05, cvol@0.05, cvol@0.01 of uci at 0 % contamination"
    assert any(missing in words and why in words for words in result["ranks"].paragraphs)
    assert not any("nemenyi-auc-0.05" in part.name for part in result["ranks"].parts)
    assert table(result["correlation"], "correlation-uci-0").rows == [
        label for label in TABLE_MEASURES if label not in gone
    ]
    assert any(
        "tpr@0.4 of uci at 0 % contamination" in words and why in words
        for words in result["distance"].paragraphs[1:]
    )
    assert {row[0] for row in table(result["unsupervised"], "unsupervised-uci-0").rows} == {"MV"}
    assert {part.name for part in result["recommendation"].parts} == {
        f"recommendation-tpr-0.01-{name}-0" for name in PROBLEMS
    }


def test_measures_that_were_not_planned_are_not_missing(study: StudyTables) -> None:
    gone = ("auc@0.05", "tpr@0.4", "fpr@tpr0.8", "precision@p0.05")
    config = {**study.manifest["config"], "measures": ["auc", "tpr@0.4"]}
    chosen = replace(without(study, *gone), manifest={**study.manifest, "config": config})
    said = [words for one in sections_of(chosen).values() for words in one.paragraphs]
    missing = [words for words in said if "has not measured" in words]
    assert missing
    assert all("tpr@0.4 of" in words for words in missing)
    assert not any(name in words for words in missing for name in gone if name != "tpr@0.4")


def test_sections_that_have_nothing_to_say_are_left_out(study: StudyTables) -> None:
    keys = set(study.tasks.column_names) - set(study.results(collection="uci").measure_keys)
    config = {**study.manifest["config"], "measures": ["auc", "ap"]}
    few = replace(
        study,
        tasks=study.tasks.select([*sorted(keys), "auc", "ap"]),
        manifest={**study.manifest, "config": config},
        extra={},
    )
    made = {section.name: section for section in make_sections(few, **OPTIONS)}
    assert not {"distance", "recommendation", "unsupervised"} & made.keys()
    assert {"answer", "overview", "values", "ranks", "correlation", "made"} <= made.keys()
    assert all(one.parts or one.lists or one.paragraphs[1:] for one in made.values())


def test_measures_of_ones_own_are_compared_too(study: StudyTables) -> None:
    columns = study.tasks.column_names
    own = ["lf_auc@0.9" if name == "ht_auc@0.4" else name for name in columns]
    result = sections_of(replace(study, tasks=study.tasks.rename_columns(own)))
    labels = [*TABLE_MEASURES, "lf_auc@0.9"]
    assert table(result["ranks"], "ranks-uci-0").measures == labels
    assert table(result["correlation"], "correlation-uci-0").rows == labels
    assert table(result["selection"], "selection-loss-uci-0").rows == labels
    assert "lf_auc@0.9" in table(result["recommendation"], "recommendation-tpr-0.05-uci-0").measures


def test_a_collection_where_everything_failed_is_named(study: StudyTables) -> None:
    names = study.tasks["collection"].to_pylist()
    reasons = [
        "out of memory" if name == "uci" else old
        for name, old in zip(names, study.tasks["reason"].to_pylist(), strict=True)
    ]
    result = sections_of(with_reasons(study, reasons))
    n = sum(
        row["collection"] == "uci" and row["contamination"] == 0 for row in study.tasks.to_pylist()
    )
    for name in set(SECTIONS) - {"overview"}:
        assert f"all of {n} tasks failed" in " ".join(result[name].paragraphs)
        assert not any("-uci-0" in part.name for part in result[name].parts)


def test_a_study_of_which_nothing_is_done_says_so(study: StudyTables) -> None:
    empty = replace(study, tasks=study.tasks.slice(0, 0), extra={}, n_done=0)
    for section in sections_of(empty).values():
        assert "Nothing can be shown yet: no task of the study is done." in section.paragraphs
        assert section.parts == ()


def test_names_of_files_are_plain_and_differ_where_case_does_not_count() -> None:
    names = file_names(["a b", "a/b", "A", "a", "a-2", "ÄÖ", "..", "x.y_z"])
    assert names == ["a-b", "a-b-2", "A", "a-2", "a-2-2", "data", "data-2", "x.y_z"]


def test_undefined_measures_of_ones_own_are_counted_too() -> None:
    small = make_study(problems={"a": {"b": (None,)}}, n_repeats=1, failures=False, goix=False)
    n = small.tasks.num_rows
    columns = {name: small.tasks[name] for name in small.tasks.column_names}
    columns |= {"auc": [math.nan] * n, "own": [math.nan] * n, "undefined": ["auc: x; own: y"] * n}
    config = {**small.manifest["config"], "own_measures": {"own": {"higher_is_better": True}}}
    study = replace(small, tasks=pa.table(columns), manifest={**small.manifest, "config": config})
    rows = table(overview_section(StudyResults(study, 0, 10)), "undefined").rows
    assert rows == [("a", name, n, n, "b", why) for name, why in (("auc", "x"), ("own", "y"))]


REASONS = st.text("ab; @0.5", min_size=1, max_size=8).filter(lambda text: text == text.strip("; "))


@given(st.lists(st.dictionaries(st.sampled_from(["auc", "auc@0.05", "em"]), REASONS), max_size=5))
def test_reasons_are_distinguished(tasks: list[dict[str, str]]) -> None:
    texts = ["; ".join(f"{label}: {why}" for label, why in one.items()) for one in tasks]
    result = reasons_by_measure(texts, ["auc", "auc@0.05", "em", "mv"])
    assert not result["mv"]
    for label in ("auc", "auc@0.05", "em"):
        wanted = sorted(one[label] for one in tasks if label in one)
        assert sorted(result[label].elements()) == wanted


def test_what_is_planned_and_has_no_row_is_missing(study: StudyTables) -> None:
    rows = study.tasks.to_pylist()
    kept = [
        row["collection"] != "uci-umap" and row["dataset"] != "wine" and row["repeat"] < 3
        for row in rows
    ]
    some = replace(study, tasks=study.tasks.filter(pa.array(kept)))
    result = sections_of(some)
    counts = table(result["overview"], "collections").to_columns()
    planned = {
        name: 9 * len(CONFIGURATIONS) * sum(map(len, own.values()))
        for name, own in PROBLEMS.items()
    }
    for i, name in enumerate(counts["collection"]):
        done = sum(row["collection"] == name for row in some.tasks.to_pylist())
        assert (counts["done"][i], counts["missing"][i]) == (done, planned[name] - done)
    assert sorted(counts["collection"]) == sorted(PROBLEMS)
    lacking = {row[:3]: row[3:] for row in table(result["overview"], "missing").rows}
    n = 9 * len(CONFIGURATIONS)
    every = "kNN, LOF, IForest, OCSVM"
    assert lacking["uci", "wine", None] == (n, "0 %, 1 %, 5 %", "1, 2, 3", every)
    assert lacking["uci", "iris", "2"] == (n // 3, "0 %, 1 %, 5 %", "3", every)
    for name in set(SECTIONS) - {"overview"}:
        assert "Missing: uci-umap: no task of it is done." in result[name].paragraphs


def test_configurations_without_rows_are_counted(study: StudyTables) -> None:
    other = [name != "LOF" for name in study.tasks["detector"].to_pylist()]
    without_lof = replace(study, tasks=study.tasks.filter(pa.array(other)))
    overview = sections_of(without_lof, "overview")["overview"]
    n_lof = sum(name == "LOF" for name, _ in CONFIGURATIONS)
    said = f"Of {len(CONFIGURATIONS)} configurations of detectors {len(CONFIGURATIONS) - n_lof} "
    assert any(words.startswith(said) for words in overview.paragraphs)
