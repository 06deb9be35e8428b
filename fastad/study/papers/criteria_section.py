"""Section ``unsupervised``: how many pairs of models EM and MV order as labels do."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from fastad._core.text_tables import DASH, interval_text, some_of
from fastad._core.types import FloatMatrix, FloatVector, IntVector
from fastad.benchmarking.agreement import (
    LabelAgreement,
    PairAgreement,
    pairwise_agreement,
    rank_label_agreement,
)
from fastad.benchmarking.resampling import Resampling, check_resampling
from fastad.benchmarking.result_table import ResultTable
from fastad.errors import UndefinedMeasureError
from fastad.study.papers.goix_data import SETTINGS
from fastad.study.papers.goix_results import GoixBenchmark, GoixRow, WhichPairs
from fastad.study.report.sections import Section, SectionBuilder, SimpleTable
from fastad.study.report.study_results import Cell, StudyResults, undefined_measures
from fastad.study.results import rows_with
from fastad.unsupervised.criteria import CRITERIA, CriterionName

_ROC, _PR = "auc", "auc_pr"
# Measures that the order by a criterion is compared with.
_REFERENCES: Mapping[str, tuple[str, ...]] = {"ROC": (_ROC,), "PR": (_PR,), "both": (_ROC, _PR)}
# Pairs of goix's protocol that count.
_PAIRS: Mapping[WhichPairs, str] = {
    "all": "all",
    "significant": "significantly different by the criterion",
}
_ALL, _ONE = "all", "one each"
_MAX_NOTES = 8


class PairCounts(NamedTuple):
    """Pairs of models of different detectors that two criteria order the same way."""

    # A tie in one of the two is one half.
    n_agreeing: float
    n_pairs: int
    # Pairs that do not count, because a value is undefined.
    n_left_out: int
    fraction: float  # NaN where no pair counts
    # Interval of the fraction, from data sets drawn again; NaN of fewer than two that count.
    low: float
    high: float


def proportion_text(n: float, total: int) -> str:
    """Return a number of a total with its percentage, such as 123 of 170 (72.4 %)."""
    if not total:
        return "0 of 0"
    return f"{f'{n:.1f}'.removesuffix('.0')} of {total} ({100 * n / total:.1f} %)"


def count_pairs(
    criterion: FloatMatrix,
    references: Sequence[FloatMatrix],
    detector_of: IntVector,
    resampling: Resampling,
) -> PairCounts:
    """Count pairs of models of different detectors on each problem.

    Arrays have the shape (n_problems, n_models), higher is better. Of two references the pairs
    count that both strictly order the same way. Data sets of the problems are drawn again.
    """
    missing: npt.NDArray[np.bool_] = np.any(np.isnan([criterion, *references]), axis=0)
    counts = [
        _count([row, *values], detector_of)
        for row, *values in zip(criterion, *references, strict=True)
    ]
    agreeing, counted = map(np.array, zip(*counts, strict=True))
    left_out = _n_different(np.zeros_like(missing), detector_of)
    left_out -= _n_different(missing, detector_of)
    n_agreeing, n_pairs = float(agreeing.sum()), int(counted.sum())
    fraction = n_agreeing / n_pairs if n_pairs else float("nan")
    ends = _interval(agreeing, counted, resampling)
    return PairCounts(n_agreeing, n_pairs, int(left_out.sum()), fraction, *ends)


def _count(values: Sequence[FloatVector], detector_of: IntVector) -> tuple[float, int]:
    """Return how many pairs of models of different detectors agree, and how many count."""
    agreeing, counted = _count_all(values)
    for detector in np.unique(detector_of):
        same = _count_all([row[detector_of == detector] for row in values])
        agreeing, counted = agreeing - same[0], counted - same[1]
    return agreeing, counted


def _count_all(values: Sequence[FloatVector]) -> tuple[float, int]:
    criterion, *references = values
    if len(criterion) < 2:
        return 0.0, 0
    both = (references[0], references[1]) if len(references) > 1 else None
    try:
        agreement = pairwise_agreement(criterion, references[0], references=both)
    except UndefinedMeasureError:  # no pair counts
        return 0.0, 0
    return agreement.n_agreeing, agreement.n_pairs


def _n_different(missing: npt.NDArray[np.bool_], detector_of: IntVector) -> IntVector:
    """Return the number of pairs of models of different detectors that have all values."""
    sizes = np.stack(
        [(~missing[:, detector_of == detector]).sum(axis=1) for detector in np.unique(detector_of)]
    )
    pairs: IntVector = (sizes.sum(axis=0) ** 2 - (sizes**2).sum(axis=0)) // 2
    return pairs


def _interval(
    agreeing: FloatVector, counted: IntVector, resampling: Resampling
) -> tuple[float, float]:
    """Return the interval of the fraction of all pairs, drawing data sets again."""
    sums = np.zeros((resampling.counts.shape[1], 2))
    np.add.at(sums, resampling.clusters, np.column_stack([agreeing, counted]))
    # Not by BLAS, whose sums depend on the number of its threads.
    drawn = np.einsum("rc,cx->rx", resampling.counts, sums)
    with np.errstate(invalid="ignore"):
        replicates = drawn[:, :1] / drawn[:, 1:]
        value = agreeing.sum(keepdims=True) / counted.sum()
    n_counted = np.array([np.count_nonzero(sums[:, 1])])
    low, high = resampling.interval(value, replicates, n_counted)
    return float(low[0]), float(high[0])


def criteria_section(results: StudyResults) -> Section:
    """Return how many pairs of models EM and MV order as the areas under both curves do."""
    builder = SectionBuilder(
        "unsupervised",
        "Criteria without labels: EM and MV",
        "Pairs of models of different detectors on one data set that excess mass (EM) and mass "
        "volume (MV) order as the area under the ROC curve, as that under the precision-recall "
        "curve (PR), and, of the pairs that these two order the same way, as both: the counts of "
        "Goix, 2016, section Benchmarks. By all models of a study, and by one of each detector, in "
        "the middle of its grid; labels are best, between and worst. At the lowest contamination, "
        "over the means of all repeats; intervals are from data sets drawn again.",
    )
    for cell in results.cells(builder):
        present = cell.present([*CRITERIA, _ROC, _PR], builder)
        if not {_ROC, _PR} <= set(present):
            continue
        criteria = [name for name in get_args(CriterionName) if name in present]
        table = (
            builder.attempt(cell.where, _agreement, cell.table, criteria, results.options)
            if criteria
            else None
        )
        if table is not None:
            builder.table(
                f"unsupervised-{cell.key}", f"Pairs ordered the same way, {cell.where}", table
            )
        undefined = list(_undefined(cell, criteria, results))
        if undefined:
            header = ("data set", "features", "criterion", "undefined", "tasks", "reason")
            builder.table(
                f"unsupervised-undefined-{cell.key}",
                f"Where criteria are undefined, {cell.where}",
                SimpleTable(header, undefined),
                folded=True,
            )
    _add_goix(builder, results)
    return builder.section()


def _agreement(table: ResultTable, criteria: list[CriterionName], options: Any) -> SimpleTable:
    """Count for each criterion the pairs, and the labels of one model of each detector."""
    resampling = check_resampling(table.clusters, 0.95, **options)
    header = ["criterion", "models"]
    header += [head for name in _REFERENCES for head in (f"as {name}", "interval")]
    rows: list[list[Any]] = []
    # The rows of `to_frame`.
    counted: list[tuple[Any, ...]] = []
    selected = {_ALL: np.arange(len(table.models)), _ONE: middle_models(table)}
    for name in criteria:
        for which, models in selected.items():
            row = [name.upper(), which]
            for reference, references in _REFERENCES.items():
                merits = [table.measure(key).sign * table.means(key) for key in (name, *references)]
                criterion, *others = (merit[:, models] for merit in merits)
                counts = count_pairs(criterion, others, table.detector_of[models], resampling)
                row.append(proportion_text(counts.n_agreeing, counts.n_pairs))
                row.append(interval_text(100 * counts.low, 100 * counts.high, ".1f"))
                counted.append((name, which, reference, *counts))
            recovered = _labels(table, name, models) if which == _ONE else None
            rows.append([*row, DASH if recovered is None else _text(recovered)])
    named = ", ".join(table.models[i] for i in selected[_ONE])
    notes = [f"{_ONE}: {named}", "intervals at 95 %, of the proportion in %"]
    for name, which, reference, _, _, n, *_ in counted:
        if n and (which, reference) == (_ALL, "ROC"):
            notes.append(f"left out: {n} pairs where {name.upper()} or ROC is undefined")
    columns = ("criterion", "models", "reference", *PairCounts._fields)
    values = dict(zip(columns, map(list, zip(*counted, strict=True)), strict=True))
    return SimpleTable([*header, "labels"], rows, notes, values)


def middle_models(table: ResultTable) -> IntVector:
    """Return one model of each detector: in the middle, ordered by the numbers in its name."""

    def by_numbers(model: int) -> tuple[list[float], str]:
        name = table.models[model]
        params = name[len(table.detectors[table.detector_of[model]]) :]
        return [float(number) for number in re.findall(r"-?\d+\.?\d*(?:e-?\d+)?", params)], params

    middle = []
    for detector in range(len(table.detectors)):
        models = sorted(np.flatnonzero(table.detector_of == detector).tolist(), key=by_numbers)
        middle.append(models[(len(models) - 1) // 2])
    return np.array(middle)


def _labels(table: ResultTable, name: CriterionName, models: IntVector) -> LabelAgreement | None:
    def values(key: str) -> FloatMatrix:
        return table.means(key)[:, models]

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
    rows = rows_with(rows, "reason", "")
    for dataset in dict.fromkeys(rows["dataset"].to_pylist()):
        of_dataset = rows_with(rows, "dataset", dataset)
        undefined = undefined_measures(of_dataset, criteria, cell.table.measure_keys)
        for name, is_undefined, why in undefined:
            features = max(of_dataset["n_features"].to_pylist())
            n = int(np.count_nonzero(is_undefined))
            reason = some_of(why, 1) or None
            yield [dataset, features, name.upper(), n, of_dataset.num_rows, reason]


def _add_goix(builder: SectionBuilder, results: StudyResults) -> None:
    """Add the counts of goix's own protocol."""
    goix = results.study.extra.get("goix")
    if goix is None:
        return  # it is not in the plan
    if not goix.num_rows:
        builder.lacks("Goix's own protocol", "the study has no rows of it")
        return
    benchmark = GoixBenchmark(GoixRow.from_dict(row) for row in goix.to_pylist())
    header = ("setting", "criterion", "pairs", "as ROC", "as PR", "as both", "labels")
    rows = []
    for setting in SETTINGS:
        if all(row.setting != setting for row in benchmark.rows):
            builder.lacks(f"Goix's own protocol, setting {setting}", "the study has no rows of it")
            continue
        for name in get_args(CriterionName):
            for pairs, description in _PAIRS.items():
                agreement = benchmark.agreement(name, setting=setting, pairs=pairs)
                parts = (agreement.roc, agreement.pr, agreement.both, agreement.labels)
                counts = [_text(part) for part in parts]
                rows.append([setting, name.upper(), description, *counts])
    notes = [
        f"{name.upper()} is undefined for {row.detector} on {row.dataset}, {row.setting}: {reason}"
        for row in benchmark.rows
        for name in get_args(CriterionName)
        if (reason := getattr(row, name).reason)
    ]
    if len(notes) > _MAX_NOTES:
        notes = [*notes[:_MAX_NOTES], f"and {len(notes) - _MAX_NOTES} more are undefined"]
    title = "Pairs ordered the same way by goix's own protocol: default parameters, features drawn"
    builder.table("unsupervised-goix", title, SimpleTable(header, rows, notes))


def _text(agreement: PairAgreement | LabelAgreement | None) -> str:
    if agreement is None:
        return DASH
    if isinstance(agreement, PairAgreement):
        return proportion_text(agreement.n_agreeing, agreement.n_pairs)
    return proportion_text(agreement.n_recovered, agreement.n_labels)
