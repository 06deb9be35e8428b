"""``recommend``: which measure to select models by where one measure counts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import N_RESAMPLES, check_flag
from fastad._core.results import Column, TableResult
from fastad._core.suggestions import suggests_arguments
from fastad._core.text_tables import (
    best_three,
    count_text,
    estimate_text,
    level_text,
    number_text,
    some_of,
)
from fastad._core.types import Point
from fastad.benchmarking.columns import MeasureColumn, tpr_column
from fastad.benchmarking.matrix import kendall_by_problem
from fastad.benchmarking.means import defined_mean
from fastad.benchmarking.reading import problems_text
from fastad.benchmarking.resampling import Means, check_resampling
from fastad.benchmarking.result_table import Results, ResultTable, as_results
from fastad.benchmarking.selection import (
    best_models,
    class_losses,
    highest,
    loss_of,
    shortfall,
    shortfalls,
)
from fastad.errors import InvalidInputError, UndefinedMeasureError
from fastad.uncertainty.comparisons.corrections import significantly_larger

# Data on which measures are evaluated, the strongest evidence first, and each in words.
_EVIDENCE = {
    "other classes": "on anomalies of other classes",
    "other folds": "on folds that did not select",
    "same folds": "on the data that selected",
}

# Fraction of the data sets that a measure must have a loss on, of those that any has.
_MIN_COVERAGE = 0.8
_MAX_NAMES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Recommendation(TableResult):
    """Which measure to select models by, with the evidence.

    Frames have a row for each candidate: ``measure``, ``recommended``, ``not_worse``, ``tau`` with
    its interval, and for each kind of evidence ``loss_other_folds``, …, with its interval and
    number of data sets.

    Attributes
    ----------
    measure : str
        The measure to select by: the measure of the least loss on ``evidence``.
    target_measure : str
        The measure that counts.
    evidence : {"other classes", "other folds", "same folds"}
        Loss that decides.
    not_worse : sequence of str
        Measures whose loss is not significantly larger, in the order of their loss.
    worse : sequence of str
        Measures whose loss is significantly larger.
    not_evaluated : sequence of str
        Measures that have no loss on some of the data sets, and cannot be compared.
    measures : sequence of str
        All candidates, in the order of their loss.
    losses : mapping of str to Means
        For each kind of evidence that the table has the mean relative losses of the candidates in
        the target measure, with their intervals; of ``evidence`` over the data sets on which all
        that are evaluated have one.
    tau : Means
        Rank correlation of each candidate with the target measure.
    data : str
        Number of data sets that they are evaluated on, in words.
    confidence_level : float
        Confidence level of each interval and each comparison.
    missing : sequence of str
        Missing rows of the table, in words.
    """

    measure: str
    target_measure: str
    evidence: str
    not_worse: Sequence[str]
    worse: Sequence[str]
    not_evaluated: Sequence[str]
    measures: Sequence[str]
    losses: Mapping[str, Means]
    tau: Means
    data: str
    confidence_level: float
    missing: Sequence[str]

    def __repr__(self) -> str:
        return f"<Recommendation of {self.measure} for {self.target_measure}>"

    def _text_above(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """The recommendation in words."""
        loss = self.losses[self.evidence]
        sentences = [
            f"To select models for {self.target_measure}, select them by {self.measure}: it loses "
            f"{_texts(loss, '.1%')[list(self.measures).index(self.measure)]} "
            f"{_EVIDENCE[self.evidence]}, over {self.data}."
        ]
        if self.not_worse:
            # Without an interval there is one data set, and nothing was tested.
            tested = not np.isnan(loss.low[list(self.measures).index(self.measure)])
            level = f"At {level_text(self.confidence_level)} not significantly worse"
            others = level if tested else "Others, not tested"
            sentences.append(f"{others}: {self._named(self.not_worse)}.")
        if self.worse:
            sentences.append(f"Worse: {self._named(self.worse)}.")
        if self.not_evaluated:
            names = some_of(self.not_evaluated, _MAX_NAMES)
            sentences.append(f"Not evaluated, because undefined on some of them: {names}.")
        if self.evidence == "same folds":
            sentences.append(
                "Models were selected and evaluated on the same data, where "
                f"{self.target_measure} itself loses nothing: results of several folds would tell "
                "how much it owes to noise."
            )
        return " ".join(sentences)

    @property
    def notes(self) -> list[str]:
        """Notes of the rows that the table lacks."""
        return list(self.missing)

    def _declare_columns(self) -> Iterator[Column]:
        yield Column("measure", self.measures, str, "select by")
        yield Column("recommended", [name == self.measure for name in self.measures])
        yield Column("not_worse", [name in self.not_worse for name in self.measures])
        evaluated = np.array([name not in self.not_evaluated for name in self.measures])
        losses = [
            (f"loss_{kind.replace(' ', '_')}", f"loss {_EVIDENCE[kind]}", loss, ".1%", -1)
            for kind, loss in self.losses.items()
        ]
        tau = ("tau", f"tau with {self.target_measure}", self.tau, ".2f", 1)
        for name, head, means, form, sign in (*losses, tau):
            # Others are means over other data sets.
            comparable = evaluated & (means.n == means.n[evaluated].max())
            merits = np.where(comparable, sign * means.value, np.nan)
            marks = best_three(merits[:, np.newaxis])[:, 0].tolist()
            yield Column(name, means.value)
            yield Column(f"{name}_low", means.low)
            yield Column(f"{name}_high", means.high)
            yield Column(f"{name}_datasets", means.n)
            yield Column(None, _texts(means, form), str, head, marks)

    def _named(self, names: Sequence[str]) -> str:
        values = self.losses[self.evidence].value
        losses = values[[list(self.measures).index(name) for name in names]]
        parts = [f"{name} ({number_text(x, '.1%')})" for name, x in zip(names, losses, strict=True)]
        return some_of(parts, _MAX_NAMES)


@suggests_arguments
def recommend(
    results: Results,
    *,
    operating_fpr: Point | None = None,
    target_measure: str | None = None,
    measures: Sequence[str] | None = None,
    unseen_anomaly_classes: bool = False,
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    rng: int | np.random.Generator | None = None,
) -> Recommendation:
    """Recommend the measure to select models by where one measure counts.

    Parameters
    ----------
    results : ResultTable, or input of `ResultTable.from_table`
        Measures of models on data sets like the application's.
    operating_fpr : float, optional
        False positive rate at which the detector will work: the fraction of anomalies found there
        counts, the measure ``tpr@`` of the table.
    target_measure : str, optional
        Key of the measure that counts, where it is another: either of the two must be given.
    measures : sequence of str, optional
        Keys of the candidates; by default all of the table.
    unseen_anomaly_classes : bool, default False
        Whether anomalies of other classes are to be detected than those in the table. The table
        must then have a column of anomaly classes.
    confidence_level : float, default 0.95
        Confidence level of each interval and each comparison, in (0, 1).
    n_resamples : int, default 2000
        Number of times that data sets are drawn again.
    rng : int or numpy.random.Generator, optional
        Seed of the intervals.

    Returns
    -------
    Recommendation
        The measure, the evidence, and which others are not worse; prints as text and table.

    Raises
    ------
    InvalidInputError
        If the table lacks the target measure.
    UndefinedMeasureError
        If no candidate has a loss on any data set.

    Notes
    -----
    The cost of a measure is the relative loss of `selection_loss` in the target measure.
    Selected and evaluated on the same data the target measure itself loses nothing, although a
    noisy measure selects badly. Where the table has folds each candidate therefore selects by its
    mean over all folds but one, and the target measure on that one evaluates, as a fraction
    of the best model's mean; averaged over folds, then over data sets. With
    ``unseen_anomaly_classes`` it selects on one class of anomalies and is evaluated on the others,
    as in `class_sensitivity`.

    Candidates are compared on the data sets where all have a loss; one that lacks it on more than
    a fifth of them is not evaluated. Of equal losses the first in the table is recommended. A
    candidate is worse where it is so with the confidence level for all pairs at once, by the
    largest studentized difference over resampled data sets: the best is chosen from the same data.
    Below five data sets nothing is significantly worse.

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
    check_flag(unseen_anomaly_classes, "unseen_anomaly_classes")
    if (operating_fpr is None) == (target_measure is None):
        raise InvalidInputError(
            "target_measure must be given, or operating_fpr, and not both; found "
            f"{'neither' if target_measure is None else 'both'}"
        )
    table = as_results(results, None)
    if operating_fpr is not None:
        target = tpr_column(table.measures, operating_fpr)
    else:
        assert target_measure is not None
        target = table.measure(target_measure, "target_measure")
    candidates = table.measures if measures is None else table.select(measures, "measures")
    if unseen_anomaly_classes and table.anomaly_classes is None:
        raise InvalidInputError(
            "unseen_anomaly_classes must be False without the column anomaly_class of the classes "
            "of anomalies; found True"
        )
    resampling = check_resampling(table.clusters, confidence_level, n_resamples, rng)
    best = best_models(table.merits(candidates))
    short = shortfalls(table.merits([target]))
    losses = {}
    if table.anomaly_classes is not None:
        # Each data set's losses are at one of its problems, for the clusters to be drawn.
        losses["other classes"] = np.full((table.n_datasets, best.shape[2]), np.nan)
        for classes, of_classes in class_losses(table, best, short):
            losses["other classes"][classes[0]] = of_classes[:, 0]
    if len(table.folds) > 1:
        losses["other folds"] = _on_other_folds(table, candidates, target)
    losses["same folds"] = loss_of(best, short)[:, :, 0]
    kinds = ["other classes"] if unseen_anomaly_classes else ["other folds", "same folds"]
    defined = [name for name in kinds if name in losses and not np.isnan(losses[name]).all()]
    if not defined:
        reason = (
            "no data set has two classes of anomalies on which it has one"
            if unseen_anomaly_classes
            else "its best value is 0 or undefined"
        )
        raise UndefinedMeasureError(
            f"recommend is undefined: {target.key} has no loss on any of {table.n_datasets} data "
            f"sets; {reason}"
        )
    evidence = defined[0]
    counted, evaluated = _comparable(losses[evidence])
    comparison = resampling.among(counted)
    loss = comparison.average(losses[evidence][counted])
    order = np.argsort(np.where(evaluated, loss.value, np.inf), kind="stable")
    first = int(order[0])
    n_clusters = int(comparison.clusters.max()) + 1
    worse = significantly_larger(
        -np.where(evaluated, loss.value, np.nan),
        -loss.replicates,
        np.full(len(candidates), n_clusters - 1.0),
        resampling.confidence_level,
    )[first]
    others = [i for i in order[1:].tolist() if evaluated[i]]
    names = [candidate.key for candidate in candidates]
    losses[evidence] = np.where(counted[:, np.newaxis] | ~evaluated, losses[evidence], np.nan)
    tau = [kendall_by_problem(table.merits([each, target]))[:, 0, 1] for each in candidates]
    return Recommendation(
        measure=names[first],
        target_measure=target.key,
        evidence=evidence,
        not_worse=[names[i] for i in others if not worse[i]],
        worse=[names[i] for i in others if worse[i]],
        not_evaluated=[name for name, kept in zip(names, evaluated, strict=True) if not kept],
        measures=[names[i] for i in order],
        losses={name: resampling.means(values[:, order]) for name, values in losses.items()},
        tau=resampling.means(np.stack(tau, axis=1)[:, order]),
        # The losses on other classes of a data set are one.
        data=(
            count_text(n_clusters, "data set")
            if evidence == "other classes"
            else problems_text(table.clusters[counted])
        ),
        confidence_level=resampling.confidence_level,
        missing=table.omissions(),
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
    evaluated: npt.NDArray[np.bool_] = sizes >= _MIN_COVERAGE * sizes.max()
    while not np.all(defined[:, evaluated], axis=1).any():
        evaluated &= sizes > sizes[evaluated].min()
        if not evaluated.any():
            raise UndefinedMeasureError(
                "recommend is undefined: there is no data set on which two measures have a loss"
            )
    counted: npt.NDArray[np.bool_] = np.all(defined[:, evaluated], axis=1)
    return counted, evaluated


def _on_other_folds(
    table: ResultTable, candidates: Sequence[MeasureColumn], target: MeasureColumn
) -> npt.NDArray[np.float64]:
    """Select by the mean over all folds but one, evaluate on that one; average over folds.

    As fractions of the best model's mean over all folds: the best value on a single fold owes more
    to noise.
    """
    best = highest(table.merits([target]))
    short = shortfall(best[:, :, None], target.sign * table.by_fold(target.key))
    losses = np.empty((table.n_datasets, len(candidates)))
    for i, candidate in enumerate(candidates):
        values = candidate.sign * table.by_fold(candidate.key)
        by_fold = []
        for fold in range(len(table.folds)):
            others = defined_mean(np.delete(values, fold, axis=2), axis=2)
            selected = best_models(others[:, :, None])
            by_fold.append(loss_of(selected, short[:, :, fold, None])[:, 0, 0])
        losses[:, i] = defined_mean(np.stack(by_fold, axis=1), axis=1)
    return losses


def _texts(means: Means, form: str) -> list[str]:
    ends = zip(means.value, means.low, means.high, strict=True)
    return [estimate_text(*estimate, form) for estimate in ends]
