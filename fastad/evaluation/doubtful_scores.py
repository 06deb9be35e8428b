"""Notes on scores that look like a mistake: all equal, decisions, or of the wrong orientation."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from fastad._core.text_tables import some_of
from fastad._core.types import Count
from fastad.measures.roc import is_far_below_chance

# Two values among fewer samples are no sign of decisions.
_FEWEST_FOR_DECISIONS = 10
_MAX_NAMES = 8
_CONSTANT = "are equal and order nothing"
_DECISIONS = "have two values and look like decisions, as predict returns"
_LABELS = "have two values and separate the classes exactly, as the labels themselves do"
_REVERSED = (
    "is far below 0.5: the orientation of the scores may be reversed "
    "(higher must be more anomalous; scikit-learn's decision_function is higher for normals)"
)


class ScoredRun(NamedTuple):
    """Facts behind the notes on the scores of one detector on one data set."""

    detector: str
    n_distinct: int | None  # number of distinct scores; None where it is not known
    # Numbers of samples, or total weights.
    n_anomalies: Count
    n_normals: Count
    auc: float  # area under the ROC curve; NaN where it is undefined or was not asked for


def lines_of_scores(runs: Iterable[ScoredRun]) -> list[str]:
    """Return a line for each doubt about scores, with the detectors that it concerns."""
    by_detector: dict[str, list[ScoredRun]] = {}
    for run in runs:
        by_detector.setdefault(run.detector, []).append(run)
    reversed_scores = [name for name, each in by_detector.items() if _is_far_below_chance(each)]
    below = f"note: the AUC of {some_of(reversed_scores, _MAX_NAMES)} {_REVERSED}"
    return [
        *_lines(by_detector, _is_constant, _CONSTANT),
        *_lines(by_detector, _are_labels, _LABELS),
        *_lines(by_detector, _are_decisions, _DECISIONS),
        *([below] if reversed_scores else []),
    ]


def doubts_about(run: ScoredRun) -> list[str]:
    """Return the doubts about scores of one detector on one data set, without its name."""
    return [
        text
        for is_so, text in (
            (_is_constant(run), f"all scores {_CONSTANT}"),
            (_are_labels(run), f"scores {_LABELS}"),
            (_are_decisions(run), f"scores {_DECISIONS}"),
            (_is_far_below_chance([run]), f"the AUC {_REVERSED}"),
        )
        if is_so
    ]


def _lines(
    by_detector: dict[str, list[ScoredRun]], is_so: Callable[[ScoredRun], bool], text: str
) -> list[str]:
    """Return a line with the detectors of whose runs some are so."""
    named = []
    for name, runs in by_detector.items():
        n = sum(map(is_so, runs))
        if n:
            named.append(name if len(runs) == 1 else f"{name} in {n} of {len(runs)} runs")
    return [f"note: scores of {some_of(named, _MAX_NAMES)} {text}"] if named else []


def _is_constant(run: ScoredRun) -> bool:
    return run.n_distinct == 1 and run.n_anomalies + run.n_normals > 1


def _are_labels(run: ScoredRun) -> bool:
    return _have_two_values(run) and run.auc == 1


def _are_decisions(run: ScoredRun) -> bool:
    return _have_two_values(run) and run.auc != 1


def _have_two_values(run: ScoredRun) -> bool:
    return run.n_distinct == 2 and run.n_anomalies + run.n_normals >= _FEWEST_FOR_DECISIONS


def _is_far_below_chance(runs: Iterable[ScoredRun]) -> bool:
    return is_far_below_chance((run.auc, run.n_anomalies, run.n_normals) for run in runs)
