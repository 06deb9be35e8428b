"""Lines below printed tables: what is undefined or left out, and doubts about scores."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from fastad._core.text_tables import count_text, some_of
from fastad.measures.roc import is_far_below_chance
from fastad.uncertainty.results import Interval

# Before a value for which the samples are too few.
UNRESOLVED = "†"
_MAX_NAMES = 8
_MAX_REASONS = 2

# Two values among fewer samples are no sign of decisions.
_FEWEST_FOR_DECISIONS = 10
_CONSTANT = "are equal and order nothing"
_DECISIONS = "have two values and look like decisions, as predict returns"
_LABELS = "have two values and separate the classes exactly, as the labels themselves do"
_REVERSED = (
    "is far below 0.5: the orientation of the scores may be reversed "
    "(higher must be more anomalous; scikit-learn's decision_function is higher for normals)"
)


def short_reason(reason: str) -> str:
    """Return a reason without the function that gave it, so that measures can share it."""
    _, undefined, rest = reason.partition(" is undefined ")
    return f"undefined {rest}" if undefined else reason


def lines_of_reasons(
    kind: str, reasons: Iterable[tuple[str, Mapping[str, str]]], keys: Sequence[str]
) -> list[str]:
    """Return a line for each reason, with the measures and the detectors that it concerns.

    ``kind`` begins the lines; ``reasons`` has each detector with the reasons by the keys of its
    undefined measures. A reason that concerns all measures names none.
    """
    detectors: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for detector, by_key in reasons:
        measures: dict[str, list[str]] = {}
        for key, reason in by_key.items():
            measures.setdefault(short_reason(reason), []).append(key)
        for reason, concerned in measures.items():
            detectors.setdefault((reason, tuple(concerned)), []).append(detector)
    return [
        f"{kind}: {_measures(concerned, keys)} of {some_of(names, _MAX_NAMES)}: {reason}"
        for (reason, concerned), names in detectors.items()
    ]


def lines_of_runs(kind: str, runs: Sequence[Mapping[str, str]], keys: Sequence[str]) -> list[str]:
    """Return in how many runs measures are undefined, and why.

    ``kind`` begins the lines; ``runs`` has the reasons of each run by the keys of its undefined
    measures. A line that concerns all measures names none.
    """
    lines: dict[str, list[str]] = {}
    for key in keys:
        reasons = Counter(short_reason(run[key]) for run in runs if key in run)
        if reasons:
            n_runs = count_text(len(runs), "run")
            text = f"in {reasons.total()} of {n_runs}: {_reasons(reasons)}"
            lines.setdefault(text, []).append(key)
    return [f"{kind}: {_measures(concerned, keys)} {text}" for text, concerned in lines.items()]


def split_keys(
    runs: Sequence[Mapping[str, str]], keys: Sequence[str]
) -> tuple[list[str], list[str]]:
    """Return the measures that a table shows, and those that are undefined in all its runs.

    If all measures are undefined, the table shows them all.
    """
    nowhere = [key for key in keys if all(key in run for run in runs)]
    if len(nowhere) == len(keys):
        return list(keys), []
    return [key for key in keys if key not in nowhere], nowhere


def line_left_out(
    runs: Sequence[Mapping[str, str]], left_out: Sequence[str], where: str
) -> list[str]:
    """Return a line with the undefined measures that a table leaves out, and the reasons."""
    if not left_out:
        return []
    reasons = Counter(short_reason(run[key]) for key in left_out for run in runs)
    return [f"not shown: {', '.join(left_out)} of {where}: {_reasons(reasons)}"]


def line_of_omitted(counts: Sequence[str]) -> list[str]:
    """Return a line with the numbers of rows that were left out, if there are any."""
    return [f"note: rows whose score is NaN are left out: {', '.join(counts)}"] if counts else []


def line_of_unresolved(
    unresolved: Iterable[Mapping[str, str]], *, is_exact: bool = False
) -> list[str]:
    """Return a line with the meaning of the mark of values with too few samples, if there are any.

    ``is_exact`` says that exact intervals stand beside some of them.
    """
    notes = dict.fromkeys(note for by_key in unresolved for note in by_key.values())
    if is_exact:
        notes["in brackets, the exact 95 % interval"] = None
    return [f"{UNRESOLVED}: {'; '.join(notes)}"] if notes else []


def line_of_contamination(contamination: float) -> list[str]:
    """Return a line about the correction for hidden anomalies, if there is one."""
    if not contamination:
        return []
    return [
        f"note: values are corrected for a fraction {contamination:g} of anomalies among normals"
    ]


def line_of_thresholds(keys: Sequence[str]) -> list[str]:
    """Return a line with the measures whose thresholds were chosen on other samples."""
    if not keys:
        return []
    return [f"note: thresholds chosen on the samples of threshold_from: {', '.join(keys)}"]


def lines_of_sampling(intervals: Iterable[tuple[str, Mapping[str, Interval]]]) -> list[str]:
    """Return the effective sample size of each detector whose samples are not independent."""
    effects = [
        (name, next(iter(of_detector.values())).sampling)
        for name, of_detector in intervals
        if of_detector
    ]
    return [f"sampling: {name}: {effect}" for name, effect in effects if effect is not None]


def lines_of_sampled_runs(intervals: Iterable[tuple[str, Mapping[str, Interval]]]) -> list[str]:
    """Return the design effects of each detector over its runs, where samples have one."""
    by_detector: dict[str, list[float]] = {}
    for name, of_run in intervals:
        effect = next(iter(of_run.values())).sampling if of_run else None
        if effect is not None:
            by_detector.setdefault(name, []).append(effect.design_effect)
    return [
        f"sampling: {name}: design effects {min(effects):.3g} to {max(effects):.3g} in "
        f"{count_text(len(effects), 'run')}"
        for name, effects in by_detector.items()
    ]


def _measures(concerned: Sequence[str], keys: Sequence[str]) -> str:
    if len(concerned) == len(keys) > 1:
        return "all measures"
    return ", ".join(concerned)


def _reasons(reasons: Counter[str]) -> str:
    if len(reasons) == 1:
        return next(iter(reasons))
    first = [f"{reason} ({n})" for reason, n in reasons.most_common(_MAX_REASONS)]
    more = len(reasons) - _MAX_REASONS
    rest = [f"and {count_text(more, 'more reason')}"] if more > 0 else []
    return ", ".join([*first, *rest])


class ScoredRun(NamedTuple):
    """Facts behind the notes on the scores of one detector on one data set."""

    detector: str
    n_distinct: int | None  # number of distinct scores; None where it is not known
    # Numbers of samples; of real weights, numbers that do not depend on the unit of the weights.
    n_anomalies: float
    n_normals: float
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
