"""``UnsupervisedEvaluation``: EM and MV of several detectors, and what they tell apart."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_choice
from fastad._core.results import TableResult, with_versions
from fastad._core.text_tables import TextTable
from fastad._core.types import FloatVector
from fastad.uncertainty.simultaneous import significantly_larger
from fastad.unsupervised.criteria import (
    CRITERIA,
    SIGNS,
    Criteria,
    Criterion,
    CriterionName,
    Judged,
)


class Place(NamedTuple):
    """The place of a detector by a criterion.

    Attributes
    ----------
    detector : str
        Its name.
    rank : float
        1 for the best; ties share the mean of their ranks.
    best, worst : int
        Ranks that the evidence leaves open: one more than the detectors that are shown to be
        better, and all but those that are shown to be worse.
    """

    detector: str
    rank: float
    best: int
    worst: int


class UnsupervisedEvaluation(TableResult, Mapping[str, Criteria]):
    """EM and MV of several detectors on the same points: detector, then both; prints as a table.

    ``result["forest"].em`` is a `Criterion` with its interval.

    Attributes
    ----------
    confidence_level : float
        Of each interval, and of all verdicts of a ranking at once.
    """

    def __init__(self, judged: Mapping[str, Judged], confidence_level: float) -> None:
        self._judged = dict(judged)
        self.confidence_level = confidence_level

    def __getitem__(self, detector: str) -> Criteria:
        return self._judged[detector].criteria

    def __iter__(self) -> Iterator[str]:
        return iter(self._judged)

    def __len__(self) -> int:
        return len(self._judged)

    def __repr__(self) -> str:
        return f"<UnsupervisedEvaluation of {len(self)} detectors>"

    @property
    def notes(self) -> list[str]:
        """What each criterion tells of the detectors."""
        return [self.verdict(name) for name in CRITERIA]

    def ranking(self, criterion: CriterionName = "em") -> list[Place]:
        """Return the detectors from the best to the worst, and the ranks that stay open.

        Parameters
        ----------
        criterion : {"em", "mv"}, default "em"
            By which criterion.

        Returns
        -------
        list of Place
            Those of which the criterion is undefined are left out.
        """
        check_choice(criterion, CRITERIA, "criterion")
        values = [SIGNS[criterion] * self._of(name, criterion).log_value for name in self]
        return _places(list(self), np.array(values), self._better[criterion])

    def separated(self, criterion: CriterionName = "em") -> list[tuple[str, str]]:
        """Return the pairs of detectors of which the first is shown to be better.

        All pairs at once are right with the confidence level: differences of the logarithms are
        compared with those of replicates that share their points.

        Parameters
        ----------
        criterion : {"em", "mv"}, default "em"
            By which criterion.

        Returns
        -------
        list of (str, str)
            Names; none where the evidence separates nothing.
        """
        check_choice(criterion, CRITERIA, "criterion")
        names = list(self)
        return [(names[i], names[j]) for i, j in np.argwhere(self._better[criterion]).tolist()]

    def verdict(self, criterion: CriterionName = "em") -> str:
        """Return in a sentence what a criterion tells apart.

        Parameters
        ----------
        criterion : {"em", "mv"}, default "em"
            By which criterion.

        Returns
        -------
        str
        """
        ranking, pairs = self.ranking(criterion), self.separated(criterion)
        n_pairs = len(ranking) * (len(ranking) - 1) // 2
        name, level = criterion.upper(), f"{100 * self.confidence_level:g} %"
        if not n_pairs:
            return f"{name}: fewer than two detectors to compare"
        if not pairs:
            return f"{name}: at {level} the evidence separates no two detectors"
        leaders = [place.detector for place in ranking if place.best == 1]
        told = f"{name}: at {level} {len(pairs)} of {n_pairs} pairs are told apart"
        if len(leaders) == 1:
            return f"{told}; {leaders[0]} is the best"
        return f"{told}; the best is one of {', '.join(leaders)}"

    def text_table(self) -> TextTable:
        """Return the criteria and the ranks that stay open as strings."""
        level = f"{100 * self.confidence_level:g} %"
        rows = []
        ranks = {c: {place.detector: place for place in self.ranking(c)} for c in CRITERIA}
        for name in self:
            row = [name]
            for criterion in CRITERIA:
                place = ranks[criterion].get(name)
                open_ranks = "-" if place is None else f"{place.best}-{place.worst}"
                row += [str(self._of(name, criterion)), open_ranks]
            rows.append(row)
        head = ["detector", f"EM [{level}], high is good", "ranks"]
        return TextTable([*head, f"MV [{level}], low is good", "ranks"], rows)

    def to_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `to_frame` as lists.

        ``detector``, and for both criteria ``em``, ``em_low``, ``em_high``, the ranks that stay
        open ``em_best`` and ``em_worst``, and likewise ``mv``.
        """
        columns: dict[str, list[Any]] = {"detector": list(self)}
        for criterion in CRITERIA:
            found = [self._of(name, criterion) for name in self]
            ranks = {place.detector: place for place in self.ranking(criterion)}
            columns[criterion] = [one.value for one in found]
            columns[f"{criterion}_low"] = [one.low for one in found]
            columns[f"{criterion}_high"] = [one.high for one in found]
            for end in ("best", "worst"):
                columns[f"{criterion}_{end}"] = [
                    getattr(ranks[name], end) if name in ranks else None for name in self
                ]
        return columns

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: versions, detectors with their criteria, and what is told apart."""
        return with_versions(
            {
                "confidence_level": self.confidence_level,
                "detectors": [
                    {"detector": name, "em": one.em.to_dict(), "mv": one.mv.to_dict()}
                    for name, one in self.items()
                ],
                "rankings": {c: [place._asdict() for place in self.ranking(c)] for c in CRITERIA},
                "separated": {c: [list(pair) for pair in self.separated(c)] for c in CRITERIA},
            }
        )

    @cached_property
    def _better(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Which detectors are shown to be better than which, by each criterion."""
        found: dict[str, npt.NDArray[np.bool_]] = {}
        for place, name in enumerate(CRITERIA):
            logs = np.array([one.logs[place] for one in self._judged.values()])
            replicates = np.array([one.replicates[:, place] for one in self._judged.values()]).T
            freedom = np.array([one.freedom[place] for one in self._judged.values()])
            sign = SIGNS[name]
            found[name] = significantly_larger(
                sign * logs, sign * replicates, freedom, self.confidence_level
            )
        return found

    def _of(self, detector: str, criterion: CriterionName) -> Criterion:
        found: Criterion = getattr(self[detector], criterion)
        return found


def _places(
    names: Sequence[str], values: FloatVector, is_better: npt.NDArray[np.bool_]
) -> list[Place]:
    """Return the places of detectors, the best first; those without a value are left out.

    Parameters
    ----------
    names : sequence of str
        The detectors.
    values : numpy.ndarray of shape (k,)
        Larger is better.
    is_better : numpy.ndarray of bool of shape (k, k)
        Which are shown to be better than which.
    """
    known = np.flatnonzero(~np.isnan(values))
    found = []
    for i in known.tolist():
        rank = 1 + np.count_nonzero(values[known] > values[i])
        tied = np.count_nonzero(values[known] == values[i]) - 1
        best = 1 + int(np.count_nonzero(is_better[known, i]))
        worst = known.shape[0] - int(np.count_nonzero(is_better[i, known]))
        found.append(Place(names[i], float(rank + tied / 2), best, worst))
    return sorted(found, key=lambda place: place.rank)
