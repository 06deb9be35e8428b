"""``recommend``: which measure to select models by, for one application."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import N_RESAMPLES, check_flag
from fastad._core.results import TableResult
from fastad._core.text_tables import (
    TextTable,
    best_three,
    count_text,
    interval_text,
    number_text,
    some_of,
)
from fastad._core.types import Point
from fastad.benchmarking.columns import MeasureColumn
from fastad.benchmarking.correlation import kendall_by_problem
from fastad.benchmarking.operating_points import tpr_column
from fastad.benchmarking.resampling import Means, check_resampling, defined_mean
from fastad.benchmarking.result_table import Results, ResultTable, as_results
from fastad.benchmarking.selection import (
    best_models,
    class_losses,
    highest,
    loss_of,
    merits_of,
    shortfall,
    shortfalls,
)
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.uncertainty.simultaneous import significantly_larger

# Grounds on which measures may be judged, the strongest first, and what each is in words.
_GROUNDS = {
    "other classes": "on anomalies of other classes",
    "other folds": "on folds that did not choose",
    "same folds": "on the data that chose",
}

# Share of the data sets that a measure must have a loss on, of those that any has.
_MOST = 0.8
# So many measures are named in a sentence.
_NAMED = 5


@dataclass(frozen=True, slots=True, eq=False)
class Recommendation(TableResult):
    """Which measure to select models by, with the evidence.

    Attributes
    ----------
    measure : str
        The measure to select by: that of the least loss on ``grounds``.
    application : str
        The measure that counts in the application.
    grounds : {"other classes", "other folds", "same folds"}
        Which loss decides.
    as_good : sequence of str
        Measures whose loss is not shown to be larger, in the order of their loss.
    worse : sequence of str
        Measures whose loss is shown to be larger.
    not_judged : sequence of str
        Measures that have no loss on some of the data sets, and cannot be compared.
    measures : sequence of str
        All candidates, in the order of their loss.
    losses : mapping of str to Means
        For each ground that the table allows the mean relative losses of the candidates in the
        application's measure, with their intervals.
    tau : Means
        Rank correlation of each candidate with the application's measure.
    data : str
        How many data sets they are judged on.
    confidence_level : float
        Of each interval and each comparison.
    missing : sequence of str
        In words, which rows the table lacks.
    """

    measure: str
    application: str
    grounds: str
    as_good: Sequence[str]
    worse: Sequence[str]
    not_judged: Sequence[str]
    measures: Sequence[str]
    losses: Mapping[str, Means]
    tau: Means
    data: str
    confidence_level: float
    missing: Sequence[str]

    def __repr__(self) -> str:
        return f"<Recommendation of {self.measure} for {self.application}>"

    def __str__(self) -> str:
        return "\n".join([self.text, "", self.text_table().plain(), *self.notes])

    @property
    def text(self) -> str:
        """The recommendation in words."""
        sentences = [
            f"To select models for {self.application}, select them by {self.measure}: it loses "
            f"{self._loss(self.measure)} {_GROUNDS[self.grounds]}, over {self.data}."
        ]
        if self.as_good:
            sentences.append(
                f"At {100 * self.confidence_level:g} % not shown to be worse: "
                f"{self._named(self.as_good)}."
            )
        if self.worse:
            sentences.append(f"Worse: {self._named(self.worse)}.")
        if self.not_judged:
            names = some_of(self.not_judged, _NAMED)
            sentences.append(f"Not judged, because undefined on some of them: {names}.")
        if self.grounds == "same folds":
            sentences.append(
                f"Models were chosen and judged on the same data, where {self.application} itself "
                "loses nothing: results of several folds would tell how much it owes to noise."
            )
        return " ".join(sentences)

    def text_table(self) -> TextTable:
        """Return the evidence as text, with the best three of each column marked."""
        columns = [(f"loss {_GROUNDS[name]}", found, ".1%") for name, found in self.losses.items()]
        columns.append((f"tau with {self.application}", self.tau, ".2f"))
        merits = np.column_stack([*(-found.value for _, found, _ in columns[:-1]), self.tau.value])
        merits[[name in self.not_judged for name in self.measures]] = np.nan
        rows = [
            [name, *(_cell(found, i, form) for _, found, form in columns)]
            for i, name in enumerate(self.measures)
        ]
        return TextTable(
            ["select by", *(head for head, _, _ in columns)],
            rows,
            best_three(merits).tolist(),
        )

    @property
    def notes(self) -> list[str]:
        """Which rows the table lacks."""
        return list(self.missing)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists: a row for each candidate.

        ``measure``, ``recommended``, ``as_good``, ``tau`` with its interval, and for each ground
        ``loss_other_folds``, …, with its interval and number of data sets.
        """
        found = {
            **{f"loss_{name.replace(' ', '_')}": one for name, one in self.losses.items()},
            "tau": self.tau,
        }
        columns: dict[str, list[Any]] = {
            "measure": list(self.measures),
            "recommended": [name == self.measure for name in self.measures],
            "as_good": [name in self.as_good for name in self.measures],
        }
        for name, one in found.items():
            columns |= {
                name: one.value.tolist(),
                f"{name}_low": one.low.tolist(),
                f"{name}_high": one.high.tolist(),
                f"{name}_datasets": one.n.tolist(),
            }
        return columns

    def _loss(self, name: str) -> str:
        return _cell(self.losses[self.grounds], list(self.measures).index(name), ".1%")

    def _named(self, names: Sequence[str]) -> str:
        losses = self.losses[self.grounds].value[[list(self.measures).index(n) for n in names]]
        parts = [f"{name} ({number_text(x, '.1%')})" for name, x in zip(names, losses, strict=True)]
        return some_of(parts, _NAMED)


def recommend(
    results: Results,
    *,
    operating_fpr: Point | None = None,
    application: str | None = None,
    measures: Sequence[str] | None = None,
    new_anomalies: bool = False,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> Recommendation:
    """Recommend the measure to select models by, for one application.

    Parameters
    ----------
    results : ResultTable, or what `ResultTable.from_table` reads
        Measures of models on data sets like those of the application.
    operating_fpr : float, optional
        False positive rate at which the detector will work: what counts is then the share of
        anomalies found there, the measure ``tpr@`` of the table.
    application : str, optional
        Label of the measure that counts, where it is another: either of the two must be given.
    measures : sequence of str, optional
        Labels of the candidates; by default all of the table.
    new_anomalies : bool, default False
        Whether anomalies of other classes are to be found than those that are known. The table
        must then have a column of anomaly classes.
    confidence_level : float, default 0.95
        Of intervals and comparisons, in (0, 1).
    n_resamples : int, default 2000
        Number of times that data sets are drawn again.
    rng : int or numpy.random.Generator, optional
        Seed of the intervals.

    Returns
    -------
    Recommendation
        The measure, what speaks for it, and which others are as good; prints as both.

    Raises
    ------
    InvalidInputError
        If an argument is not as described, or the table lacks the application's measure.
    UndefinedMeasureError
        If no candidate has a loss on any data set.

    Notes
    -----
    What a measure costs is the relative loss of `selection_loss` in the application's measure.
    Chosen and judged on the same data the application's own measure loses nothing, although a
    noisy measure chooses badly. Where the table has folds each candidate therefore chooses by its
    mean over all folds but one, and the application's measure on that one judges, as a share of
    the best model's mean; averaged over folds, then over data sets. With ``new_anomalies`` it
    chooses on one class of anomalies and is judged on the others, as in `class_sensitivity`.

    Candidates are compared on the data sets where all have a loss; one that lacks it on more than
    a fifth of them is not judged. Of equal losses the first in the table is recommended. A
    candidate is worse where it is so with the confidence level for all pairs at once, by the
    largest studentized difference over resampled data sets: the best is chosen from the same data.
    Below five data sets nothing is shown to be worse.

    O(n_datasets n_folds n_models n_measures) time.

    References
    ----------
    .. [1] V. Škvára, T. Pevný and V. Šmídl, "Is AUC the best measure for practical comparison of
       anomaly detectors?", 2019, sections 5.3 and 5.4.

    Examples
    --------
    >>> import fastad, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> quality = rng.uniform(0.4, 0.9, (30, 8, 1))  # of 8 models on 30 data sets
    >>> results = fastad.ResultTable.from_arrays(
    ...     {
    ...         "auc@0.05": quality + rng.normal(0, 0.02, (30, 8, 5)),
    ...         "tpr@0.05": quality + rng.normal(0, 0.20, (30, 8, 5)),
    ...     }
    ... )
    >>> fastad.benchmarking.recommend(results, operating_fpr=0.05, rng=0).measure
    'auc@0.05'
    """
    check_flag(new_anomalies, "new_anomalies")
    if (operating_fpr is None) == (application is None):
        raise InvalidInputError(
            "recommend takes either operating_fpr or application; found "
            f"{'neither' if application is None else 'both'}",
            argument="recommend",
        )
    table = as_results(results, None)
    if application is not None:
        judge = table.measure(application, "application")
    else:
        assert operating_fpr is not None
        judge = tpr_column(table, operating_fpr)
    candidates = table.measures if measures is None else table.select(measures, "measures")
    if new_anomalies and table.anomaly_classes is None:
        raise InvalidInputError(
            "new_anomalies needs a column of the classes of anomalies, anomaly_class; found none",
            argument="new_anomalies",
        )
    resampling = check_resampling(table.clusters, confidence_level, n_resamples, rng)
    best = best_models(merits_of(table, candidates))
    short = shortfalls(merits_of(table, [judge]))
    losses = {}
    if table.anomaly_classes is not None:
        losses["other classes"] = _on_other_classes(table, best, short)
    if len(table.folds) > 1:
        losses["other folds"] = _on_other_folds(table, candidates, judge)
    losses["same folds"] = loss_of(best, short)[:, :, 0]
    order = ["other classes"] if new_anomalies else ["other folds", "same folds"]
    defined = [name for name in order if name in losses and not np.isnan(losses[name]).all()]
    if not defined:
        why = (
            "no data set has two classes of anomalies on which it has one"
            if new_anomalies
            else "its best value is 0 or undefined"
        )
        raise UndefinedMeasureError(
            f"recommend is undefined: {judge.name} has no loss on any of {table.n_datasets} data "
            f"sets; {why}"
        )
    grounds = defined[0]
    counted, judged = _comparable(losses[grounds])
    own = resampling.among(counted)
    found = own.average(losses[grounds][counted])
    places = np.argsort(np.where(judged, found.value, np.inf), kind="stable")
    first = int(places[0])
    freedom = np.full(len(candidates), len(np.unique(own.clusters)) - 1.0)
    worse = significantly_larger(
        -np.where(judged, found.value, np.nan),
        -found.replicates,
        freedom,
        resampling.confidence_level,
    )[first]
    others = [i for i in places[1:].tolist() if judged[i]]
    tau = _tau_with(table, candidates, judge)
    n_clusters = int(own.clusters.max()) + 1
    n_judged = int(np.count_nonzero(counted))
    return Recommendation(
        measure=candidates[first].name,
        application=judge.name,
        grounds=grounds,
        as_good=[candidates[i].name for i in others if not worse[i]],
        worse=[candidates[i].name for i in others if worse[i]],
        not_judged=[one.name for one, kept in zip(candidates, judged, strict=True) if not kept],
        measures=[candidates[i].name for i in places],
        losses={name: resampling.means(one[:, places]) for name, one in losses.items()},
        tau=resampling.means(tau[:, places]),
        data=(
            count_text(n_judged, "data set")
            if n_judged == n_clusters or grounds == "other classes"
            else f"{n_judged} problems of {count_text(n_clusters, 'data set')}"
        ),
        confidence_level=resampling.confidence_level,
        missing=table.missing_rows(),
    )


def _comparable(
    losses: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return the data sets to compare candidates on, and which candidates have losses on all.

    Candidates that lack a loss on more than a fifth of the data sets are left out, so that the
    others are compared on most; then those with the fewest, until there is a data set for all.
    """
    defined = ~np.isnan(losses)
    sizes = defined.sum(axis=0)
    judged: npt.NDArray[np.bool_] = sizes >= _MOST * sizes.max()
    while not np.all(defined[:, judged], axis=1).any():
        judged &= sizes > sizes[judged].min()
        if not judged.any():
            raise UndefinedMeasureError(
                "recommend is undefined: there is no data set on which two measures have a loss"
            )
    counted: npt.NDArray[np.bool_] = np.all(defined[:, judged], axis=1)
    return counted, judged


def _on_other_classes(
    table: ResultTable, best: npt.NDArray[np.bool_], short: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the losses of each data set at one of its problems, for the clusters to be drawn."""
    losses = np.full((table.n_datasets, best.shape[2]), np.nan)
    for classes, loss in class_losses(table, best, short):
        losses[classes[0]] = loss[:, 0]
    return losses


def _on_other_folds(
    table: ResultTable, candidates: Sequence[MeasureColumn], judge: MeasureColumn
) -> npt.NDArray[np.float64]:
    """Choose by the mean over all folds but one, judge on that one; average over folds.

    As shares of the best model's mean over all folds: the best value on a single fold owes more to
    noise.
    """
    judged = judge.sign * table.by_fold(judge.name)
    best = highest(merits_of(table, [judge]))
    short = shortfall(best[:, :, None], judged)
    losses = np.empty((table.n_datasets, len(candidates)))
    for i, one in enumerate(candidates):
        values = one.sign * table.by_fold(one.name)
        by_fold = []
        for fold in range(len(table.folds)):
            others = defined_mean(np.delete(values, fold, axis=2), axis=2)
            chosen = best_models(others[:, :, None])
            by_fold.append(loss_of(chosen, short[:, :, fold, None])[:, 0, 0])
        losses[:, i] = defined_mean(np.stack(by_fold, axis=1), axis=1)
    return losses


def _tau_with(
    table: ResultTable, candidates: Sequence[MeasureColumn], judge: MeasureColumn
) -> npt.NDArray[np.float64]:
    tau = [kendall_by_problem(merits_of(table, [one, judge]))[:, 0, 1] for one in candidates]
    return np.stack(tau, axis=1)


def _cell(found: Means, place: int, form: str) -> str:
    value = number_text(float(found.value[place]), form)
    if np.isnan(found.low[place]):
        return value
    return f"{value} {interval_text(float(found.low[place]), float(found.high[place]), form)}"
