"""EM and MV of several detectors: ranks, and which of them differ significantly."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fastad._core.parameters import check_choice
from fastad._core.results import Column, NamedParts, TableResult, estimate_columns
from fastad._core.text_tables import DASH, count_text, level_text
from fastad._core.types import FloatMatrix, IntMatrix
from fastad.uncertainty.comparisons.corrections import significantly_larger
from fastad.unsupervised.criteria import CRITERIA, SIGNS, Criteria, Criterion, CriterionName
from fastad.unsupervised.criteria_estimation import CriterionEstimates


class Place(NamedTuple):
    """The place of a detector by a criterion.

    Attributes
    ----------
    detector : str
        Name of the detector.
    rank : float
        1 for the best; ties share the mean of their ranks.
    best, worst : int
        Ranks that the evidence leaves open: one more than the detectors that are significantly
        better, and all but those that are significantly worse.
    """

    detector: str
    rank: float
    best: int
    worst: int


class UnsupervisedEvaluation(TableResult, NamedParts[str, Criteria]):
    """EM and MV of several detectors on the same points: detector, then both; prints as a table.

    ``result["forest"].em`` is a `Criterion` with its interval. Frames have a row for each detector:
    ``detector``, and for both criteria ``em``, ``em_low``, ``em_high``, the ranks that stay open
    ``em_best`` and ``em_worst``, and likewise ``mv``.

    Attributes
    ----------
    confidence_level : float
        Confidence level of each interval; simultaneous for the significant pairs of a ranking.
    features : numpy.ndarray of int64 of shape (n_subspaces, n_features)
        Features of each random subspace over which criteria are means; no rows without subspaces.
    draws : mapping of str to numpy.ndarray of shape (n_subspaces, 2)
        Natural logarithms of EM and MV in each subspace, by detector; NaN where undefined.
    """

    def __init__(
        self,
        estimates: Mapping[str, CriterionEstimates],
        confidence_level: float,
        features: IntMatrix | None = None,
        draws: Mapping[str, FloatMatrix] | None = None,
    ) -> None:
        self._parts: Mapping[str, CriterionEstimates] = dict(estimates)
        self.confidence_level = confidence_level
        self.features = np.empty((0, 0), np.int64) if features is None else features
        self.draws = dict(draws or {})

    def __getitem__(self, detector: str) -> Criteria:
        return self._parts[detector].criteria

    def __repr__(self) -> str:
        more = f", {len(self.features)} subspaces" if len(self.features) else ""
        return f"<UnsupervisedEvaluation of {len(self)} detectors{more}>"

    @property
    def notes(self) -> list[str]:
        """Summary of the detectors by both criteria."""
        return [self.summary()]

    def ranking(self, criterion: CriterionName = "em") -> list[Place]:
        """Return the detectors from the best to the worst, and the ranks that stay open.

        Parameters
        ----------
        criterion : {"em", "mv"}, default "em"
            Criterion to rank by.

        Returns
        -------
        list of Place
            Places of the detectors whose criterion is defined, by rank.
        """
        check_choice(criterion, CRITERIA, "criterion")
        names, better = list(self), self._better[criterion]
        logs = [SIGNS[criterion] * self._of(name, criterion).log_value for name in names]
        values = np.array(logs)
        defined = np.flatnonzero(~np.isnan(values))
        places = []
        for i in defined.tolist():
            rank = 1 + np.count_nonzero(values[defined] > values[i])
            n_tied = np.count_nonzero(values[defined] == values[i]) - 1
            best = 1 + int(np.count_nonzero(better[defined, i]))
            worst = defined.shape[0] - int(np.count_nonzero(better[i, defined]))
            places.append(Place(names[i], float(rank + n_tied / 2), best, worst))
        return sorted(places, key=lambda place: place.rank)

    def significant_pairs(self, criterion: CriterionName = "em") -> list[tuple[str, str]]:
        """Return the pairs of detectors of which the first is significantly better.

        All pairs at once are true with the confidence level: differences of the logarithms are
        compared with the differences of replicates that share their points.

        Parameters
        ----------
        criterion : {"em", "mv"}, default "em"
            Criterion to rank by.

        Returns
        -------
        list of (str, str)
            Names; none where no difference is significant.
        """
        check_choice(criterion, CRITERIA, "criterion")
        names = list(self)
        return [(names[i], names[j]) for i, j in np.argwhere(self._better[criterion]).tolist()]

    def best_by_both(self) -> list[str]:
        """Return the detectors that none is significantly better than, by EM or by MV.

        Returns
        -------
        list of str
            Detectors in the order of the ranking by EM; none where the criteria disagree.
        """
        em, mv = (self._leaders(criterion) for criterion in CRITERIA)
        return [name for name in em if name in mv]

    def contradictions(self) -> list[tuple[str, str]]:
        """Return the pairs of which the first is significantly better by EM, the second by MV.

        Returns
        -------
        list of (str, str)
            Names; none where the criteria nowhere contradict each other.
        """
        em, mv = (self.significant_pairs(criterion) for criterion in CRITERIA)
        return [(first, second) for first, second in em if (second, first) in mv]

    def summary(self, criterion: CriterionName | None = None) -> str:
        """Return in a sentence which detectors differ significantly, and which is the best.

        Parameters
        ----------
        criterion : {"em", "mv"}, optional
            The only criterion; by default both together.

        Returns
        -------
        str
        """
        if criterion is not None:
            check_choice(criterion, CRITERIA, "criterion")
            return self._summary_of(criterion)
        em, mv = (self._n_pairs(criterion) for criterion in CRITERIA)
        if not em or not mv:
            if em or mv:
                return "; ".join(self._summary_of(name) for name in CRITERIA)
            return "EM and MV: fewer than two detectors to compare"
        n_em, n_mv = (len(self.significant_pairs(name)) for name in CRITERIA)
        level = level_text(self.confidence_level)
        if not n_em and not n_mv:
            return f"EM and MV: at {level} each, {self._no_pair(*CRITERIA)}"
        n_pairs = f"{n_em} and {n_mv} of {em}" if em == mv else f"{n_em} of {em} and {n_mv} of {mv}"
        text = f"EM and MV: at {level} each, {n_pairs} pairs differ significantly; {self._best()}"
        if against := len(self.contradictions()):
            text += f"; they contradict each other on {count_text(against, 'pair')}"
        return text

    def _best(self) -> str:
        """Return a sentence on the best detector by both criteria together."""
        em, mv = (self._leaders(criterion) for criterion in CRITERIA)
        both = self.best_by_both()
        if not both:
            return f"the best is {_one_of(em)} by EM, but {_one_of(mv)} by MV"
        if len(em) == len(mv) == 1:
            return f"{both[0]} is the best by both"
        # Each that is left out is significantly worse than another, by one of them.
        return f"the best by both can only be {' or '.join(both)}"

    def _summary_of(self, criterion: CriterionName) -> str:
        n_pairs, pairs = self._n_pairs(criterion), self.significant_pairs(criterion)
        name, level = criterion.upper(), f"{level_text(self.confidence_level)}"
        if not n_pairs:
            return f"{name}: fewer than two detectors to compare"
        if not pairs:
            return f"{name}: at {level} {self._no_pair(criterion)}"
        return (
            f"{name}: at {level} {len(pairs)} of {n_pairs} pairs differ significantly; "
            f"the best by {name} is {_one_of(self._leaders(criterion))}"
        )

    def _no_pair(self, *criteria: CriterionName) -> str:
        """Return why no pair of detectors differs."""
        of_all = [self._of(name, criterion) for criterion in criteria for name in self]
        if any(math.isnan(each.low) for each in of_all if not math.isnan(each.value)):
            return "nothing is known of differences: too few test points or resamples"
        return "no two detectors differ significantly"

    def _leaders(self, criterion: CriterionName) -> list[str]:
        """Return the detectors that none is significantly better than."""
        return [place.detector for place in self.ranking(criterion) if place.best == 1]

    def _n_pairs(self, criterion: CriterionName) -> int:
        """Return the number of pairs of detectors of which a criterion is defined."""
        return math.comb(len(self.ranking(criterion)), 2)

    def _declare_columns(self) -> Iterator[Column]:
        yield Column("detector", self, str)
        for criterion, good in zip(CRITERIA, ("high", "low"), strict=True):
            results = [self._of(name, criterion) for name in self]
            by_name = {place.detector: place for place in self.ranking(criterion)}
            places = [by_name.get(name) for name in self]
            head = f"{criterion.upper()} [{level_text(self.confidence_level)}], {good} is good"
            open_ranks = [DASH if x is None else f"{x.best}-{x.worst}" for x in places]
            yield from estimate_columns(criterion, results)
            yield Column(f"{criterion}_best", [None if x is None else x.best for x in places])
            yield Column(f"{criterion}_worst", [None if x is None else x.worst for x in places])
            yield Column(None, results, str, head)
            yield Column(None, open_ranks, str, "ranks")

    def _content(self) -> dict[str, Any]:
        """Return the content of `to_dict`: with subspaces also these, and the criteria in each."""
        subspaces = {
            "n_subspaces": len(self.features),
            "features": self.features,
            "log_criteria_of_draws": self.draws,
        }
        return {
            "confidence_level": self.confidence_level,
            "detectors": [{"detector": name, **both._asdict()} for name, both in self.items()],
            "rankings": {c: self.ranking(c) for c in CRITERIA},
            "significant_pairs": {c: self.significant_pairs(c) for c in CRITERIA},
            "best_by_both": self.best_by_both(),
            "contradictions": self.contradictions(),
            **(subspaces if len(self.features) else {}),
        }

    @cached_property
    def _better(self) -> dict[str, npt.NDArray[np.bool_]]:
        """Significantly better detectors of each pair, by each criterion."""
        better: dict[str, npt.NDArray[np.bool_]] = {}
        estimates = self._parts.values()
        for k, name in enumerate(CRITERIA):
            # Without an interval nothing is known of how much a criterion varies.
            is_known = [not math.isnan(self._of(detector, name).low) for detector in self]
            logs = np.where(is_known, [estimate.logs[k] for estimate in estimates], np.nan)
            replicates = np.array([estimate.replicates[:, k] for estimate in estimates]).T
            df = np.array([estimate.degrees_of_freedom[k] for estimate in estimates])
            sign = SIGNS[name]
            better[name] = significantly_larger(
                sign * logs, sign * replicates, df, self.confidence_level
            )
        return better

    def _of(self, detector: str, criterion: CriterionName) -> Criterion:
        result: Criterion = getattr(self[detector], criterion)
        return result


def _one_of(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"one of {', '.join(names)}"
