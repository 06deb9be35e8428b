"""The first section of a report: who leads, what to select by, what failed."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import fastad
from fastad.study.papers.comparison_sections import recommendation_section
from fastad.study.report import study_results
from fastad.study.report.answer import answer_section
from fastad.study.report.make import make_sections
from fastad.study.report.sections import Picture, Section
from fastad.study.report.study_results import StudyResults
from fastad.study.results import EQUAL_SCORES, NOT_APPLICABLE, StudyTables
from tests.support.study_sections import OPTIONS, sections_of, table
from tests.support.study_tables import CONFIGURATIONS, FAILURE, PROBLEMS, make_study, with_reasons

pytestmark = pytest.mark.system

LOF = "n_neighbors=10"


@pytest.fixture(scope="module")
def study() -> StudyTables:
    return make_study(curves=False, goix=False, seed=1)


@pytest.fixture(scope="module")
def answer(study: StudyTables) -> Section:
    return answer_section(StudyResults(study, 0, 40))


def sentences(section: Section) -> list[str]:
    """All sentences of its lists."""
    return [sentence for _, each in section.lists for sentence in each]


def mean_ranks(study: StudyTables, collections: Sequence[str], measure: str) -> dict[str, float]:
    """Rank the best configurations on each problem, one by one."""
    rows = [row for row in study.tasks.to_pylist() if row["contamination"] == 0]
    rows = [row for row in rows if row["collection"] in collections and row["reason"] == ""]
    values: dict[tuple[str, str, str], dict[tuple[str, str], list[float]]] = {}
    for row in rows:
        problem = (row["collection"], row["dataset"], row["anomaly_class"])
        model = (row["detector"], row["params"])
        values.setdefault(problem, {}).setdefault(model, []).append(row[measure])
    ranks: dict[str, list[float]] = {}
    for models in values.values():
        best: dict[str, float] = {}
        for (detector, _), folds in models.items():
            best[detector] = max(best.get(detector, -np.inf), float(np.mean(folds)))
        for detector, value in best.items():
            above = sum(other > value for other in best.values())
            same = sum(other == value for other in best.values())
            ranks.setdefault(detector, []).append(above + (same + 1) / 2)
    return {detector: float(np.mean(own)) for detector, own in ranks.items()}


def test_it_comes_first(study: StudyTables) -> None:
    assert next(make_sections(study, **OPTIONS)).name == "answer"


@pytest.mark.parametrize("measure", ["auc", "auc@0.05"])
def test_the_leader_has_the_best_mean_rank(
    study: StudyTables, answer: Section, measure: str
) -> None:
    wanted = {"all collections": list(PROBLEMS), **{name: [name] for name in PROBLEMS}}
    ranks = {where: mean_ranks(study, names, measure) for where, names in wanted.items()}
    for where, own in ranks.items():
        leader = min(own, key=own.__getitem__)
        said = f"{where} at 0 % contamination: By {measure} {leader} has the best mean rank, "
        said += f"{own[leader]:.2f} among 4 detectors on "
        assert sum(words.startswith(said) for words in sentences(answer)) == 1
    shown = table(answer, f"leaders-{measure.replace('@', '-')}").to_columns()
    assert list(shown) == ["detector", *ranks]
    for where, own in ranks.items():
        assert dict(zip(shown["detector"], shown[where], strict=True)) == pytest.approx(own)


def test_sentences_are_those_of_the_comparisons(study: StudyTables, answer: Section) -> None:
    recommendations = recommendation_section(StudyResults(study, 0, 40))
    for name in PROBLEMS:
        results = study.results(collection=name)
        nemenyi = fastad.benchmarking.nemenyi(results, measure="auc", **OPTIONS)
        assert f"{name} at 0 % contamination: {nemenyi.leaders}." in sentences(answer)
        text = table(recommendations, f"recommendation-tpr-0.05-{name}-0").text
        assert f"{name} at 0 % contamination: {text}" in sentences(answer)


def test_problems_are_not_called_data_sets(answer: Section) -> None:
    start = "uci at 0 % contamination: By auc "
    (words,) = (each for each in sentences(answer) if each.startswith(start))
    n_problems = sum(map(len, PROBLEMS["uci"].values()))
    assert f"on {n_problems} problems of {len(PROBLEMS['uci'])} data sets;" in words
    assert not any(f"{n_problems} data sets" in each for each in sentences(answer))


def test_each_comparison_is_made_once(study: StudyTables, monkeypatch: pytest.MonkeyPatch) -> None:
    made: Counter[str] = Counter()
    for name in ("nemenyi", "recommend"):
        function = getattr(study_results, name)

        def counted(
            *args: object, _name: str = name, _of: object = function, **kw: object
        ) -> object:
            made[_name] += 1
            return _of(*args, **kw)  # type: ignore[operator]

        monkeypatch.setattr(study_results, name, counted)
    sections_of(study)
    # By two measures, all collections together too; for two targets.
    assert made == {"nemenyi": 2 * (len(PROBLEMS) + 1), "recommend": 2 * len(PROBLEMS)}


def test_failures_are_told_from_what_is_not_applicable(study: StudyTables) -> None:
    old = study.tasks["reason"].to_pylist()
    n_old = sum(reason == FAILURE for reason in old)
    few = f"{NOT_APPLICABLE}k=5 needs at least 6 training rows; found 4"
    kinds = list(zip(study.tasks["detector"].to_pylist(), old, strict=True))
    reasons = [few if name == "LOF" else reason for name, reason in kinds]
    n_few = reasons.count(few)
    sections = sections_of(with_reasons(study, reasons), "overview")
    said = sentences(sections["answer"])
    n = study.tasks.num_rows
    assert f"Of {n} tasks {n_old} failed: {FAILURE} ({n_old})." in said
    applicable = few.removeprefix(NOT_APPLICABLE)
    assert (
        f"Of {n} tasks {n_few} were not applicable: {applicable} ({n_few}); that is no failure."
        in said
    )
    assert not any("Every task" in words for words in said)
    overview = sections["overview"]
    assert {row[0] for row in table(overview, "failures").rows} == {"OCSVM"}
    assert {row[0] for row in table(overview, "not-applicable").rows} == {"LOF"}
    counts = table(overview, "collections").to_columns()
    assert (sum(counts["failed"]), sum(counts["not applicable"])) == (n_old, n_few)


def test_configurations_of_which_every_task_failed_are_named(study: StudyTables) -> None:
    bad = ("LOF", "n_neighbors=50")
    tasks = study.tasks.to_pylist()
    reasons = ["no" if (row["detector"], row["params"]) == bad else "" for row in tasks]
    said = sentences(answer_section(StudyResults(with_reasons(study, reasons), 0, 10)))
    assert "Every task of these configurations failed: LOF n_neighbors=50." in said
    nothing = sentences(answer_section(StudyResults(with_reasons(study, [""] * len(tasks)), 0, 10)))
    assert f"Of {len(tasks)} tasks none failed." in nothing
    assert not any("not applicable" in words or "Every task" in words for words in nothing)


def test_detectors_with_equal_or_infinite_scores_are_named() -> None:
    study = make_study(failures=False, goix=False)
    first = ("OCSVM", "gamma=0.01, nu=0.5")
    tasks = study.tasks.to_pylist()
    reasons = [
        f"{EQUAL_SCORES}{50 + i % 2} test rows: -0"
        if (row["detector"], row["params"]) == first and row["repeat"] < 3
        else ""
        for i, row in enumerate(tasks)
    ]
    own = [row for row in tasks if (row["detector"], row["params"]) == first]
    n_equal = sum(map(bool, reasons))
    assert 0 < n_equal < len(own)
    curves = study.curves.to_pylist()
    datasets = [row for row in curves if (row["detector"], row["params"]) == ("LOF", LOF)]
    for row in datasets[:2]:
        row["normal_percentiles"] = row["anomaly_percentiles"] = []
    changed = replace(
        with_reasons(study, reasons), curves=pa.Table.from_pylist(curves, study.curves.schema)
    )
    said = sentences(answer_section(StudyResults(changed, 0, 10)))
    equal = "qual scores of all test rows"
    assert f"Of {len(tasks)} tasks {n_equal} failed: e{equal} ({n_equal})." in said
    (words,) = (each for each in said if each.startswith(f"E{equal}, which rank nothing"))
    assert words.endswith(f": OCSVM {first[1]} ({n_equal} of {len(own)} tasks).")
    (words,) = (each for each in said if each.startswith("Infinite scores on the first split"))
    assert words.endswith(f": LOF {LOF} (2 of {len(datasets)} data sets).")
    whole = sentences(answer_section(StudyResults(study, 0, 10)))
    assert not [each for each in whole if "qual scores" in each or "Infinite" in each]


@pytest.mark.parametrize("n_sets", [1, 2])
def test_parameters_were_selected_where_there_are_several(n_sets: int) -> None:
    several = [*CONFIGURATIONS[:1], *CONFIGURATIONS[6:7], *CONFIGURATIONS[7 : 6 + n_sets]]
    own = make_study(configurations=several, failures=False, curves=False, goix=False)
    said = " ".join(sections_of(own, "values")["values"].paragraphs)
    assert ("selected on the same splits" in said) == (n_sets > 1)


@pytest.mark.parametrize("classes", [(None,), ("5", "8", "9")])
def test_nothing_is_tested_on_one_data_set(classes: Sequence[str | None]) -> None:
    one = make_study(problems={"own": {"cardio": classes}}, failures=False, goix=False)
    sections = sections_of(one, "ranks")
    values = {
        detector: np.mean(
            [
                max(
                    np.mean(
                        [
                            row["auc"]
                            for row in one.tasks.to_pylist()
                            if (row["detector"], row["params"], row["anomaly_class"])
                            == (detector, params, label)
                            and row["contamination"] == 0
                        ]
                    )
                    for name, params in CONFIGURATIONS
                    if name == detector
                )
                for label in classes
            ]
        )
        for detector in ("kNN", "LOF", "IForest", "OCSVM")
    }
    leader = max(values, key=values.__getitem__)
    (words,) = (each for each in sentences(sections["answer"]) if "By auc " in each)
    assert f"By auc {leader} ({values[leader]:.3f}) is the best, before " in words
    assert "nothing is tested" in words
    names = [part.name for part in sections["ranks"].parts]
    assert names == ["ranks-own-0"]
    assert not [part for part in sections["ranks"].parts if isinstance(part, Picture)]
    assert "a single data set is no sample" in " ".join(sections["ranks"].paragraphs)
    shown = " ".join(sentences(sections["answer"]))
    assert not re.search(r"significant", shown)


def test_a_study_without_the_papers_measures_has_answers_by_its_own(study: StudyTables) -> None:
    kept = [name for name in study.tasks.column_names if name not in fastad_labels(study)]
    own = replace(study, tasks=study.tasks.select([*kept, "fpr@tpr0.8", "ht_auc@0.4"]))
    said = sentences(answer_section(StudyResults(own, 0, 10)))
    assert sum("By fpr@tpr0.8 " in words for words in said) == 1 + len(PROBLEMS)


def fastad_labels(study: StudyTables) -> set[str]:
    """All measures of a study."""
    return set(study.results(collection="uci").measure_keys)
