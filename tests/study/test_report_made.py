"""The last section of a report: all that one needs to make a study again."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastad.study.plan import versions_here
from fastad.study.report.make import make_sections
from fastad.study.report.overview import made_section
from fastad.study.report.study_results import StudyResults
from fastad.study.results import StudyTables
from tests.support.study_sections import OPTIONS, table
from tests.support.study_tables import CONFIGURATIONS, PROBLEMS, make_study

PLAIN = st.one_of(
    *(st.booleans(), st.integers(), st.none(), st.text("ab,", max_size=3)),
    st.lists(st.integers(), max_size=12),
)


@pytest.fixture(scope="module")
def study() -> StudyTables:
    return make_study(n_repeats=2, contaminations=(0.0,), curves=False)


def facts_of(study: StudyTables) -> dict[str, str]:
    return dict(table(made_section(StudyResults(study, 7, 30)), "manifest").rows)


def test_it_comes_last_whatever_is_done(study: StudyTables) -> None:
    small = make_study(problems={"a": {"b": (None,)}}, n_repeats=1, contaminations=(0.0,))
    nothing = replace(small, tasks=small.tasks.slice(0, 0), extra={}, n_done=0)
    for each in (small, nothing):
        *_, last = make_sections(each, **OPTIONS)
        assert last.name == "made"
        assert {"manifest", "configurations", "data"} <= {part.name for part in last.parts}


def test_versions_seeds_and_counts_are_shown(study: StudyTables) -> None:
    facts = facts_of(study)
    assert facts["config.seed"] == "0"
    assert facts["versions.numpy"] == "2.0"
    assert facts["created"] == study.manifest["created"]
    assert (facts["report.seed"], facts["report.n_resamples"]) == ("7", "30")
    assert facts["batches"] == str(study.n_batches)
    assert {"machine", "python", "fastad", "numpy", "numba"} <= versions_here().keys()
    for name, version in versions_here().items():
        assert facts[f"report.versions.{name}"] == version


@given(st.dictionaries(st.text("xyz", min_size=1, max_size=3), PLAIN, max_size=4))
def test_no_entry_of_a_configuration_is_cut(values: dict[str, Any]) -> None:
    small = make_study(problems={"a": {"b": (None,)}}, n_repeats=1, contaminations=(0.0,))
    config = {**small.manifest["config"], "own": {"deep": values}}
    later = [{"numpy": "3.0"}, {"numpy": "4.0"}]
    manifest = {**small.manifest, "config": config, "later_versions": later}
    facts = facts_of(replace(small, manifest=manifest))
    for name, value in values.items():
        shown = facts[f"config.own.deep.{name}"]
        if isinstance(value, list):
            assert shown == (", ".join(map(str, value)) or "none")
        else:
            assert shown == ("none" if value is None else str(value))
    assert facts["later_versions[1].numpy"] == "4.0"


def test_every_configuration_and_problem_is_there(study: StudyTables) -> None:
    section = made_section(StudyResults(study, 0, 10))
    names = [f"{detector} {params}" for detector, params in CONFIGURATIONS]
    assert table(section, "configurations").rows == list(enumerate(names, start=1))
    digest = hashlib.sha256(b"data").hexdigest()
    problems = [{**problem, "digest": digest} for problem in study.manifest["problems"]]
    study = replace(study, manifest={**study.manifest, "problems": problems})
    data = table(made_section(StudyResults(study, 0, 10)), "data")
    assert len(data.rows) == sum(len(own) for each in PROBLEMS.values() for own in each.values())
    assert [row[0] for row in data.rows] == [problem["name"] for problem in problems]
    # The page has no room for whole digests; files have them.
    assert {row[-1] for row in data.rows} == {digest[:12]}
    assert set(data.to_columns()["digest"]) == {digest}


def test_the_commands_have_the_options_of_this_report(study: StudyTables) -> None:
    (words, *_) = made_section(StudyResults(study, 7, 30)).paragraphs
    assert "fastad study report FOLDER --n-resamples 30 --seed 7" in words
    assert "fastad study run CONFIGURATION.toml --output FOLDER" in words
