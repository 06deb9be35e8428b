"""``compare_all``: every detector with every other one."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import N_RESAMPLES, check_choice
from fastad._core.results import TableResult, with_versions
from fastad._core.text_tables import TextTable
from fastad._core.threads import thread_limit
from fastad._core.types import ComparisonMethod, Correction, Label, Point
from fastad.errors import InvalidInputError
from fastad.measures.measure import BoundMeasure
from fastad.measures.requests import bind
from fastad.ordering.labels import check_labels
from fastad.ordering.named_scores import Table, named_scores, score_name
from fastad.uncertainty.bootstrap import too_few_points
from fastad.uncertainty.comparison import check_comparison, compare_pairs
from fastad.uncertainty.corrections import CORRECTIONS
from fastad.uncertainty.influence import INFLUENCES
from fastad.uncertainty.paired import Detectors, order_detectors, row_influences
from fastad.uncertainty.results import Comparison


class Comparisons(TableResult, Mapping[tuple[str, str], Comparison]):
    """Comparisons of every two detectors, by their names; prints as a table.

    Attributes
    ----------
    adjusted : mapping of (str, str) to float
        p-values that allow for the number of comparisons.
    correction : str
        How they were adjusted.
    """

    __slots__ = ("_comparisons", "adjusted", "correction")

    def __init__(self, comparisons: Sequence[Comparison], correction: str) -> None:
        self._comparisons = {one.names: one for one in comparisons}
        p_values = np.array([one.p_value for one in comparisons])
        adjusted = CORRECTIONS[correction](p_values).tolist()
        self.adjusted = dict(zip(self._comparisons, adjusted, strict=True))
        self.correction = correction

    def __getitem__(self, names: tuple[str, str]) -> Comparison:
        return self._comparisons[names]

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(self._comparisons)

    def __len__(self) -> int:
        return len(self._comparisons)

    def __repr__(self) -> str:
        return f"<Comparisons of {len(self)} pairs, {self.correction}>"

    def text_table(self) -> TextTable:
        """Return differences, intervals and p-values as strings."""
        one = next(iter(self._comparisons.values()))
        level = f"{100 * one.confidence_level:g} % interval"
        head = [one.measure, "difference", level, "p", f"p, {self.correction}", "better"]
        rows = [
            [
                " - ".join(names),
                f"{one.difference:.4f}",
                f"[{one.low:.4f}, {one.high:.4f}]",
                f"{one.p_value:.2g}",
                f"{self.adjusted[names]:.2g}",
                self._better(one) or "not shown",
            ]
            for names, one in self.items()
        ]
        return TextTable(head, rows)

    def _better(self, one: Comparison) -> str | None:
        """Return the name of the better detector, where that is shown."""
        if self.adjusted[one.names] > 1 - one.confidence_level:
            return None
        return one.names[0 if (one.difference > 0) == one.higher_is_better else 1]

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists: a row for each pair.

        Columns are ``first``, ``second``, ``difference``, ``low``, ``high``, ``p_value`` and
        ``adjusted_p_value``.
        """
        columns: dict[str, list[Any]] = {
            "first": [first for first, _ in self],
            "second": [second for _, second in self],
        }
        for field in ("difference", "low", "high", "p_value"):
            columns[field] = [getattr(one, field) for one in self.values()]
        columns["adjusted_p_value"] = list(self.adjusted.values())
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: versions, and for each pair what is known of it."""
        comparisons = [
            {**one.to_dict(), "adjusted_p_value": self.adjusted[names]}
            for names, one in self.items()
        ]
        return with_versions({"correction": self.correction, "comparisons": comparisons})


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """Values of several detectors on the same points, and how they vary together.

    Attributes
    ----------
    names : sequence of str
        Of the detectors.
    values : numpy.ndarray of shape (n_detectors,)
        The measure of each.
    matrix : numpy.ndarray of shape (n_detectors, n_detectors)
        Their covariance over samples like this one.
    """

    names: Sequence[str]
    values: npt.NDArray[np.float64]
    matrix: npt.NDArray[np.float64]


def compare_all(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike | Mapping[str, npt.ArrayLike] | Table,
    *,
    measure: str,
    method: ComparisonMethod = "auto",
    correction: Correction = "holm",
    confidence_level: Point = 0.95,
    n_resamples: int = N_RESAMPLES,
    stratified: bool = True,
    rng: int | np.random.Generator | None = None,
    min_difference: Point | None = None,
    power: Point = 0.8,
    pos_label: Label | None = None,
    n_threads: int | None = None,
    **operating_point: Any,
) -> Comparisons:
    """Compare every two of many detectors on the same points.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_detectors, n_samples), mapping, or table
        Anomaly scores, higher is more anomalous, of each detector; as for `evaluate`.
    measure : str
        What to compare: a label, or a name with its operating point, as for `interval`.
    method : {"auto", "delong", "bootstrap", "permutation"}, default "auto"
        As for `compare`; all pairs share the replicates.
    correction : {"holm", "benjamini-hochberg", "bonferroni", "none"}, default "holm"
        How p-values allow for the number of comparisons: Holm's and Bonferroni's bound the
        probability of any false verdict, Benjamini's and Hochberg's their share.
    confidence_level : float, default 0.95
        Of each interval by itself, in (0, 1).
    n_resamples : int, default 2000
        Replicates or permutations.
    stratified : bool, default True
        Whether the bootstrap draws from each class by itself.
    rng : int or numpy.random.Generator, optional
        Seed or generator of replicates and permutations.
    min_difference : float, optional
        The smallest difference that matters to you, as for `compare`.
    power : float, default 0.8
        How probable it is to be to see that difference, in (0, 1).
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over detectors and replicates; the same seed gives the same result for any number.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    Comparisons
        ``result["a", "b"]`` is the `Comparison` of two detectors, ``result.adjusted["a", "b"]``
        its adjusted p-value.

    Raises
    ------
    InvalidInputError
        If an argument is not as described; the message says which and where.
    UndefinedMeasureError
        If the measure is undefined for a detector, or a class has fewer than two points.

    Notes
    -----
    O(n log n) time for each detector, then O(n) for each pair or replicate.

    References
    ----------
    .. [1] S. Holm, "A simple sequentially rejective multiple test procedure", 1979.
    .. [2] Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate", 1995.

    Examples
    --------
    >>> import fastad
    >>> labels = [0] * 50 + [1] * 50
    >>> scores = {"good": range(100), "bad": [x * 7 % 100 for x in range(100)]}
    >>> found = fastad.compare_all(labels, scores, measure="auc")
    >>> found.adjusted["good", "bad"] < 0.001
    True
    """
    asked = bind(measure, operating_point)
    check_choice(correction, tuple(CORRECTIONS), "correction")
    wanted = check_comparison(
        asked,
        method,
        confidence_level,
        n_resamples,
        rng,
        stratified=stratified,
        min_difference=min_difference,
        power=power,
    )
    with thread_limit(n_threads):
        detectors = _order(y_true, y_score, pos_label)
        if len(detectors.names) < 2:
            raise InvalidInputError(
                "y_score must hold at least two detectors; found one", argument="y_score"
            )
        return Comparisons(compare_pairs(detectors, asked, wanted), correction)


def delong_covariance(
    y_true: npt.ArrayLike,
    y_score: npt.ArrayLike | Mapping[str, npt.ArrayLike] | Table,
    *,
    measure: str = "roc_auc",
    pos_label: Label | None = None,
    n_threads: int | None = None,
    **operating_point: Any,
) -> Covariance:
    """Covariance of a measure of several detectors on the same points.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        1 for an anomaly, 0 for a normal point, or booleans.
    y_score : array-like of shape (n_detectors, n_samples), mapping, or table
        Anomaly scores, higher is more anomalous, of each detector; as for `evaluate`.
    measure : str, default "roc_auc"
        A smooth measure: the area under the ROC or a part of it, average precision, ….
    pos_label : label, optional
        Label of the anomalies where labels are not 0 and 1.
    n_threads : int, optional
        Threads over detectors.
    **operating_point
        Operating point and options of the measure: ``fpr=0.01``, ….

    Returns
    -------
    Covariance
        ``names``, ``values``, and the ``matrix``.

    Raises
    ------
    InvalidInputError
        If an argument is not as described, or the measure is not smooth.
    UndefinedMeasureError
        If the measure is undefined for a detector, or a class has fewer than two points.

    Notes
    -----
    O(n log n) time and O(n) memory for each detector.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the areas under two or
       more correlated receiver operating characteristic curves", Biometrics 44, 1988, equation (6).

    Examples
    --------
    >>> import fastad
    >>> scores = [[1, 3, 2, 4], [1, 2, 3, 4]]
    >>> fastad.uncertainty.delong_covariance([0, 0, 1, 1], scores).matrix
    array([[0.125, 0.   ],
           [0.   , 0.   ]])
    """
    asked = bind(measure, operating_point)
    if asked.measure.name not in INFLUENCES:
        raise InvalidInputError(
            f"measure must be smooth, one of {', '.join(INFLUENCES)}; found {measure!r}",
            argument="measure",
        )
    with thread_limit(n_threads):
        return _covariance(_order(y_true, y_score, pos_label), asked)


def _order(y_true: npt.ArrayLike, y_score: Any, pos_label: Label | None) -> Detectors:
    labels = check_labels(y_true, pos_label=pos_label)
    named = named_scores(y_score, labels.n_rows)
    return order_detectors(labels, [(name, score_name(name), scores) for name, scores in named])


def _covariance(detectors: Detectors, asked: BoundMeasure) -> Covariance:
    few = too_few_points(
        f"the covariance of {asked.key}", detectors.n_anomalies, detectors.n_normals
    )
    if few is not None:
        raise few
    values = np.array([asked.value(ranking.counts) for ranking in detectors.rankings])
    influences = [row_influences(ranking, asked) for ranking in detectors.rankings]
    by_class = [
        np.atleast_2d(np.cov(rows)) / len(rows[0]) for rows in zip(*influences, strict=True)
    ]
    return Covariance(detectors.names, values, by_class[0] + by_class[1])
