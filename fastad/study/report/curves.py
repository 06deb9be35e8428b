"""Sections of curves: a picture for each data set, with the best configuration of each detector."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastad._core.text_tables import some_of
from fastad.study.report.curve_pictures import DetectorCurves, draw_curves, draw_scores
from fastad.study.report.sections import Picture, Section
from fastad.study.report.study_results import file_names, reasons_by_measure
from fastad.study.results import CURVES, KEYS, StudyTables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PROBLEM = ("collection", "dataset", "anomaly_class")
_SHOWN = ("auc", "auc_pr", "mv", "em")
_NONE_KEPT = "The study has no curves."
_BEST = (
    "Each line is the configuration of its detector that has the highest AUC on the data set, "
    "at the first contamination and the first repeat. A detector has the same colour and dashes "
    "in all pictures."
)


class _Best(NamedTuple):
    """A detector's best configuration on a data set: its rows in the two tables."""

    curve: int
    task: Mapping[str, Any]


class _Dataset(NamedTuple):
    """A data set with curves: the best tasks, and the detectors that have rows but no curves."""

    title: str
    name: str
    collection: str
    best: Sequence[_Best]
    failed: Sequence[str]


def curves_section(study: StudyTables) -> Section:
    """Return the ROC, precision-recall, mass-volume and excess-mass curves of each data set."""
    paragraphs = [
        "Curves with labels and without them, in the manner of goix (2016): a detector whose "
        "level sets have much mass in little volume is to have a high ROC curve too. Mass is that "
        "of the normal test points, and volumes are fractions of the box. MV is the area under the "
        "mass-volume curve, EM that under the excess-mass curve. The dotted lines are chance.",
        _BEST,
    ]

    def draw(dataset: _Dataset) -> "Figure":
        task = dataset.best[0].task
        n_test = task.get("n_test")
        fraction = float(task["n_test_anomalies"] / n_test) if n_test else math.nan
        return draw_curves(_read(study, dataset), f"{dataset.title}: curves", fraction)

    return _section(study, "curves", "Curves", paragraphs, draw)


def scores_section(study: StudyTables) -> Section:
    """Return the distributions of scores and their RP distances on each data set."""
    paragraphs = [
        "Distances from scores of normal points up to scores of anomalies, after balabit (2017). "
        "A bar reaches from the 25th to the 75th percentile, its line from the 10th to the 90th, "
        "the thin one from the lowest to the highest score, and the dot is the median. RP@p is "
        "the (100 - p)th percentile of the anomalies less the pth of the normal points; the mark "
        "is RP@90, and zero the first whole percentile at which the distance is not positive. "
        "Scores are scaled to [0, 1] by the range of all test scores of their detector, so that "
        "one far score squeezes all others. RP-AUC is 0.5 and half the mean distance; it is "
        "computed from whole percentiles.",
        _BEST,
    ]

    def draw(dataset: _Dataset) -> "Figure":
        return draw_scores(_read(study, dataset), f"{dataset.title}: scores")

    return _section(study, "scores", "Scores and RP distances", paragraphs, draw)


def _section(
    study: StudyTables,
    name: str,
    title: str,
    paragraphs: Sequence[str],
    draw: "Callable[[_Dataset], Figure]",
) -> Section:
    datasets = _with_curves(study)
    if not datasets:
        return Section(name, title, [_NONE_KEPT])
    parts = []
    for dataset in datasets:
        failed = some_of(dataset.failed, 5)
        notes = [f"There are no curves of {failed}: see the failures."] if failed else []
        stem, make = f"{name}-{dataset.name}", partial(draw, dataset)
        parts.append(Picture(stem, dataset.title, make, notes, dataset.collection))
    return Section(name, title, paragraphs, parts)


def _with_curves(study: StudyTables) -> list[_Dataset]:
    """Return the data sets that have curves, with the best configuration of each detector."""
    if not study.curves.num_rows:
        return []
    tasks = _first_tasks(study)
    by_key = {tuple(task[key] for key in KEYS): task for task in tasks}
    best: dict[tuple[Any, ...], dict[str, _Best]] = {}
    columns = (study.curves[name].to_pylist() for name in KEYS)
    for i, key in enumerate(zip(*columns, strict=True)):
        task = by_key.get(key, {})
        detector = key[KEYS.index("detector")]
        selected = best.setdefault(key[: len(_PROBLEM)], {})
        # Among equally good tasks the first in the plan of the study.
        if detector not in selected or _auc(task) > _auc(selected[detector].task):
            selected[detector] = _Best(i, task)
    order = _positions(study)
    tried: dict[tuple[Any, ...], set[str]] = {}
    for task in tasks:
        tried.setdefault(tuple(task[key] for key in _PROBLEM), set()).add(task["detector"])
    names = file_names(f"{collection}-{dataset}" for collection, dataset, *_ in best)
    return [
        _Dataset(
            _title(problem),
            name,
            problem[0],
            [selected[detector] for detector in sorted(selected, key=order.__getitem__)],
            sorted(tried.get(problem, set()) - selected.keys(), key=order.__getitem__),
        )
        for (problem, selected), name in zip(best.items(), names, strict=True)
    ]


def _first_tasks(study: StudyTables) -> list[dict[str, Any]]:
    """Return the tasks of repeats and contaminations that have curves."""
    import pyarrow as pa
    from pyarrow import compute

    kept = compute.and_(
        *(
            compute.is_in(study.tasks[name], value_set=pa.array(study.curves[name].unique()))
            for name in ("repeat", "contamination")
        )
    )
    extra = ("n_test", "n_test_anomalies", "undefined", *_SHOWN)
    columns = [*KEYS, *(name for name in extra if name in study.tasks.column_names)]
    rows: list[dict[str, Any]] = study.tasks.select(columns).filter(kept).to_pylist()
    return rows


def _auc(task: Mapping[str, Any]) -> float:
    value = task.get("auc")
    return -math.inf if value is None or math.isnan(value) else value


def _positions(study: StudyTables) -> dict[str, int]:
    """Return the positions of the detectors in the study: they have the same colours everywhere."""
    names = [
        name
        for table in (study.tasks, study.curves)
        for name in table["detector"].unique().to_pylist()
    ]
    return {name: i for i, name in enumerate(dict.fromkeys(names))}


def _read(study: StudyTables, dataset: _Dataset) -> list[DetectorCurves]:
    """Return the curves of a data set."""
    rows = study.curves.take([best.curve for best in dataset.best]).to_pylist()
    order = _positions(study)
    labels = [name for name in study.tasks.column_names if name not in KEYS]
    undefined = [
        reasons_by_measure([best.task.get("undefined", "")], labels) for best in dataset.best
    ]
    return [
        DetectorCurves(
            row["detector"],
            row["params"],
            order[row["detector"]],
            {name: np.array(row[name] or [], np.float64) for name in CURVES},
            {name: best.task.get(name, math.nan) for name in _SHOWN},
            {key: reason for key, own in reasons.items() for reason in own},
        )
        for row, best, reasons in zip(rows, dataset.best, undefined, strict=True)
    ]


def _title(problem: tuple[Any, ...]) -> str:
    collection, dataset, anomaly_class = problem
    text = f"{dataset} ({collection})"
    return text if anomaly_class is None else f"{text}, anomalies of class {anomaly_class}"
