"""Why measures are undefined."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence


def reasons_by_measure(texts: Iterable[str], labels: Sequence[str]) -> dict[str, Counter[str]]:
    """Return how often each measure is undefined for each reason.

    Parameters
    ----------
    texts : iterable of str
        Column ``undefined`` of tasks: label and reason of each measure, such as
        ``"auc: no anomaly; em: no volume"``.
    labels : sequence of str
        All measures that may occur in them.

    Returns
    -------
    dict of str to Counter
        By label; empty where a measure is defined.
    """
    known = "|".join(re.escape(label) for label in sorted(labels, key=len, reverse=True))
    # A reason may have a semicolon of its own, but behind it no label.
    start = re.compile(rf"(?:^|; )({known}): ")
    found: dict[str, Counter[str]] = {label: Counter() for label in labels}
    for text, n in Counter(texts).items():
        parts = start.split(text)
        for label, reason in zip(parts[1::2], parts[2::2], strict=True):
            found[label][reason] += n
    return found
