"""Section ``unlabelled``: whether EM and MV order models as labels do."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, get_args

import numpy as np

from fastad._core.text_tables import DASH, interval_text, some_of
from fastad._core.types import FloatMatrix, IntVector
from fastad.benchmarking.agreement import LabelAgreement, PairAgreement, rank_label_agreement
from fastad.benchmarking.resampling import check_resampling
from fastad.benchmarking.result_table import ResultTable
from fastad.errors import UndefinedMeasureError
from fastad.study.papers.goix_data import SETTINGS
from fastad.study.papers.goix_results import GoixBenchmark, GoixRow, WhichPairs
from fastad.study.report.parts import Section
from fastad.study.report.sections.agreement_counts import PairCounts, count_pairs, count_text
from fastad.study.report.sections.draft import Draft
from fastad.study.report.sections.plain import Plain
from fastad.study.report.sections.study_results import Cell, StudyResults
from fastad.study.report.sections.undefined import reasons_by_measure
from fastad.unsupervised.criteria import CRITERIA, CriterionName

_ROC, _PR = "auc", "auc_pr"
# What the order by a criterion is compared with.
_REFERENCES: Mapping[str, tuple[str, ...]] = {
    "ROC": (_ROC,),
    "PR": (_PR,),
    "both": (_ROC, _PR),
}
# Which pairs of goix's protocol count.
_PAIRS: Mapping[WhichPairs, str] = {"all": "all", "separated": "told apart by the criterion"}
_ALL, _ONE = "all", "one each"
# So many names stand in a sentence.
_NAMED = 8


def unlabelled_section(results: StudyResults) -> Section:
    """Return how many pairs of models EM and MV order as the areas under both curves do."""
    draft = Draft(
        "unlabelled",
        "Criteria without labels: EM and MV",
        "Pairs of models of different detectors on one data set that excess mass (EM) and mass "
        "volume (MV) order as the area under the ROC curve, as that under the precision-recall "
        "curve (PR), and, of the pairs that these two order alike, as both: the counts of Goix, "
        "2016, section Benchmarks. By all models of a study, and by one of each detector, in the "
        "middle of its grid; labels are best, between and worst. At the lowest contamination, "
        "over the means of all repeats; intervals are from data sets drawn again.",
    )
    for cell in results.cells(draft):
        present = cell.present([*CRITERIA, _ROC, _PR], draft)
        if not {_ROC, _PR} <= set(present):
            continue
        criteria = [name for name in get_args(CriterionName) if name in present]
        make = partial(_agreement, cell.table, criteria, results.options)
        found = draft.attempt(cell.where, make) if criteria else None
        if found is not None:
            draft.table(f"unlabelled-{cell.key}", f"Pairs ordered alike, {cell.where}", found)
        lacking = list(_undefined(cell, criteria, results))
        if lacking:
            header = ("data set", "features", "criterion", "undefined", "tasks", "reason")
            draft.table(
                f"unlabelled-undefined-{cell.key}",
                f"Where criteria are undefined, {cell.where}",
                Plain(header, lacking),
            )
    _add_goix(draft, results)
    return draft.section()


def _agreement(table: ResultTable, criteria: list[CriterionName], options: Any) -> Plain:
    """Count for each criterion the pairs, and the labels of one model of each detector."""
    resampling = check_resampling(table.clusters, 0.95, **options)
    header = ["criterion", "models"]
    header += [head for name in _REFERENCES for head in (f"as {name}", "interval")]
    rows: list[list[Any]] = []
    values: dict[str, list[Any]] = {}
    chosen = {_ALL: np.arange(len(table.models)), _ONE: middle_models(table)}
    for name in criteria:
        for which, places in chosen.items():
            row = [name.upper(), which]
            for reference, labels in _REFERENCES.items():
                merits = [table.measure(one).sign * table.means(one) for one in (name, *labels)]
                own, *others = (one[:, places] for one in merits)
                found = count_pairs(own, others, table.detector_of[places], resampling)
                row += [str(found), interval_text(100 * found.low, 100 * found.high, ".1f")]
                _append(values, name, which, reference, found)
            recovered = _labels(table, name, places) if which == _ONE else None
            rows.append([*row, DASH if recovered is None else _text(recovered)])
    named = ", ".join(table.models[i] for i in chosen[_ONE])
    notes = [f"{_ONE}: {named}", "intervals at 95 %, of the share in %"]
    counts = zip(*(values[key] for key in ("criterion", "models", "reference")), strict=True)
    for key, n in zip(counts, values["n_left_out"], strict=True):
        if n and key[1:] == (_ALL, "ROC"):
            notes.append(f"left out: {n} pairs where {key[0].upper()} or ROC is undefined")
    return Plain([*header, "labels"], rows, notes, values)


def middle_models(table: ResultTable) -> IntVector:
    """Return one model of each detector: in the middle, ordered by the numbers in its name."""

    def by_numbers(place: int) -> tuple[list[float], str]:
        name = table.models[place]
        params = name[len(table.detectors[table.detector_of[place]]) :]
        return [float(one) for one in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", params)], params

    chosen = []
    for detector in range(len(table.detectors)):
        own = sorted(np.flatnonzero(table.detector_of == detector).tolist(), key=by_numbers)
        chosen.append(own[(len(own) - 1) // 2])
    return np.array(chosen)


def _append(
    values: dict[str, list[Any]], name: str, which: str, reference: str, found: PairCounts
) -> None:
    """Add the row of `to_frame` of one count."""
    own = {
        "criterion": name,
        "models": which,
        "reference": reference,
        "n_alike": found.n_alike,
        "n_pairs": found.n_pairs,
        "n_left_out": found.n_left_out,
        "share": found.share,
        "low": found.low,
        "high": found.high,
    }
    for key, cell in own.items():
        values.setdefault(key, []).append(cell)


def _labels(table: ResultTable, name: CriterionName, places: IntVector) -> LabelAgreement | None:
    def values(label: str) -> FloatMatrix:
        return table.means(label)[:, places]

    higher = table.measure(name).higher_is_better
    try:
        return rank_label_agreement(
            values(name), (values(_ROC), values(_PR)), higher_is_better=higher
        )
    except UndefinedMeasureError:
        return None


def _undefined(
    cell: Cell, criteria: list[CriterionName], results: StudyResults
) -> Iterator[list[Any]]:
    """Yield the data sets where criteria are undefined, in how many tasks, and why."""
    rows = results.rows_of(cell.collection, cell.contamination)
    rows = rows.filter(np.asarray(rows["reason"]) == "")
    names = np.asarray(rows["dataset"])
    for dataset in dict.fromkeys(rows["dataset"].to_pylist()):
        own = rows.filter(names == dataset)
        reasons = None
        for name in criteria:
            n = int(np.count_nonzero(np.isnan(np.asarray(own[name].to_numpy(), np.float64))))
            if n:
                reasons = reasons or reasons_by_measure(
                    own["undefined"].to_pylist(), cell.table.labels
                )
                why = [reason for reason, _ in reasons[name].most_common()]
                features = max(own["n_features"].to_pylist())
                yield [dataset, features, name.upper(), n, own.num_rows, some_of(why, 1) or None]


def _add_goix(draft: Draft, results: StudyResults) -> None:
    """Add the counts of goix's own protocol."""
    goix = results.study.goix
    if not goix.num_rows:
        draft.lacks("Goix's own protocol", "the study has no rows of it")
        return
    benchmark = GoixBenchmark(GoixRow.from_dict(row) for row in goix.to_pylist())
    header = ("setting", "criterion", "pairs", "as ROC", "as PR", "as both", "labels")
    rows = []
    for setting in SETTINGS:
        if all(row.setting != setting for row in benchmark.rows):
            draft.lacks(f"Goix's own protocol, setting {setting}", "the study has no rows of it")
            continue
        for name in get_args(CriterionName):
            for pairs, words in _PAIRS.items():
                found = benchmark.agreement(name, setting=setting, pairs=pairs)
                counts = [_text(one) for one in (found.roc, found.pr, found.both, found.labels)]
                rows.append([setting, name.upper(), words, *counts])
    notes = [
        f"{name.upper()} is undefined for {row.detector} on {row.dataset}, {row.setting}: {reason}"
        for row in benchmark.rows
        for name in get_args(CriterionName)
        if (reason := getattr(row, name).reason)
    ]
    if len(notes) > _NAMED:
        notes = [*notes[:_NAMED], f"and {len(notes) - _NAMED} more are undefined"]
    title = "Pairs ordered alike by goix's own protocol: default parameters, features drawn"
    draft.table("unlabelled-goix", title, Plain(header, rows, notes))


def _text(found: PairAgreement | LabelAgreement | None) -> str:
    if found is None:
        return DASH
    if isinstance(found, PairAgreement):
        return count_text(found.n_agreeing, found.n_pairs)
    return count_text(found.n_recovered, found.n_labels)
