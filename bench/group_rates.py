"""How often intervals of the rates of many unequal groups cover, and tests reject: the docs' table.

``python -m bench.group_rates`` writes ``docs/evidence/group_rates.csv``, in some five minutes, and
prints the table of ``docs/evidence/group_rates.md``.

Groups are of normal scores. The threshold is fixed beforehand, so that numbers of flagged samples
are binomial, or chosen on the same samples, so that their sum is fixed.
"""

import math
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2_contingency, norm

from bench.pages import EVIDENCE, table, write_rows
from fastad.uncertainty import RateComparison, compare_rates

TABLE = EVIDENCE / "group_rates.csv"
N_SAMPLES = 1000
LEVEL = 0.95
Floats = npt.NDArray[np.float64]


class Case(NamedTuple):
    """Sizes of groups and their mean scores."""

    name: str
    n_groups: int
    largest: int  # sizes are logarithmically spaced from 1
    rate: float
    spread: float  # standard deviation of the means of groups


CASES = [
    Case(name, n_groups, largest, rate, spread)
    for (name, rate), (n_groups, largest), spread in product(
        [("recall", 0.8), ("false alarms", 0.01)],
        [(200, 5000), (5, 2000), (2, 300)],
        [0.0, 0.5],
    )
]


def sizes(case: Case) -> npt.NDArray[np.int64]:
    return np.geomspace(1, case.largest, case.n_groups).astype(np.int64)


def one_sample(
    case: Case, means: Floats, rng: np.random.Generator, *, chosen: bool
) -> tuple[RateComparison, Floats]:
    """Draw a sample; return what is said of it, and the true rates of the groups."""
    n = sizes(case)
    total = int(n.sum())
    scores = rng.normal(size=total) + np.repeat(means, n)
    threshold = norm.isf(case.rate)
    if chosen:
        # The conservative threshold: above the first sample that must not be flagged.
        n_flagged = math.floor(case.rate * total)
        threshold = np.partition(scores, total - n_flagged - 1)[total - n_flagged - 1]
    flagged = np.add.reduceat(scores > threshold, np.concatenate([[0], np.cumsum(n)[:-1]]))
    true: Floats = norm.sf(threshold - means)
    return compare_rates(flagged, n, higher_is_better=case.rate > 0.5), true


def measure(case: Case, *, chosen: bool) -> dict[str, Any]:
    """Return how often intervals cover, and how often equal rates are rejected at 5 %."""
    rng = np.random.default_rng([CASES.index(case), chosen])
    means = rng.normal(size=case.n_groups) * case.spread
    hits = dict.fromkeys(["all", "worst", "difference", "ratio"], 0)
    rejected = pearson = 0
    for _ in range(N_SAMPLES):
        rates, true = one_sample(case, means, rng, chosen=chosen)
        worst: Callable[[Floats], Any] = np.min if rates.higher_is_better else np.max
        hits["all"] += bool(np.all((rates.low <= true) & (true <= rates.high)))
        for name, value in (
            ("worst", worst(true)),
            ("difference", true.max() - true.min()),
            ("ratio", true.min() / true.max()),
        ):
            interval = getattr(rates, name)
            hits[name] += bool(interval.low <= value <= interval.high)
        rejected += rates.p_value <= 1 - LEVEL
        events = rates.n_events
        if 0 < events.sum() < rates.n_samples.sum():
            found = chi2_contingency([events, rates.n_samples - events], correction=False)
            pearson += found.pvalue <= 1 - LEVEL
    threshold = "chosen" if chosen else "fixed"
    head = {"case": case.name, "n_groups": case.n_groups, "largest": case.largest}
    head |= {"rate": case.rate, "spread": case.spread, "threshold": threshold}
    covered = {f"covers_{name}": f"{n / N_SAMPLES:.3f}" for name, n in hits.items()}
    tests = {"rejected": rejected, "rejected_by_pearson": pearson}
    return head | covered | {name: f"{n / N_SAMPLES:.3f}" for name, n in tests.items()}


def main() -> None:
    """Measure all cases, write them, and print the table."""
    rows = [measure(case, chosen=chosen) for case in CASES for chosen in (False, True)]
    write_rows(TABLE, rows)
    print(table(list(rows[0]), [list(row.values()) for row in rows]))


if __name__ == "__main__":
    main()
