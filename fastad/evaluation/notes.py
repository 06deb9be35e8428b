"""Lines below printed tables: why values are undefined, and how many rows were left out."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from fastad._core.text_tables import count_text, some_of
from fastad.uncertainty.results import Interval

# Before a value for which the samples are too few.
UNRESOLVED = "†"
_MAX_NAMES = 8
_MAX_REASONS = 2


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
    """Return which measures a table leaves out as undefined, and why, in a line if any are."""
    if not left_out:
        return []
    reasons = Counter(short_reason(run[key]) for key in left_out for run in runs)
    return [f"not shown: {', '.join(left_out)} of {where}: {_reasons(reasons)}"]


def line_of_omitted(counts: Sequence[str]) -> list[str]:
    """Return how many rows were left out of what, in a line if any were."""
    return [f"note: rows whose score is NaN are left out: {', '.join(counts)}"] if counts else []


def line_of_unresolved(
    unresolved: Iterable[Mapping[str, str]], *, is_exact: bool = False
) -> list[str]:
    """Return what the mark of values means for which the samples are too few, if there are any.

    ``is_exact`` says that exact intervals stand beside some of them.
    """
    notes = dict.fromkeys(note for by_key in unresolved for note in by_key.values())
    if is_exact:
        notes["in brackets, the exact 95 % interval"] = None
    return [f"{UNRESOLVED}: {'; '.join(notes)}"] if notes else []


def line_of_contamination(contamination: float) -> list[str]:
    """Return that values are corrected for hidden anomalies, in a line if they are."""
    if not contamination:
        return []
    return [
        f"note: values are corrected for a fraction {contamination:g} of anomalies among normals"
    ]


def line_of_thresholds(keys: Sequence[str]) -> list[str]:
    """Return which measures have thresholds that were chosen on other samples, in a line."""
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
