"""How often intervals of the rates of many unequal groups cover, and tests reject: the docs' table.

``python -m bench.group_rates`` writes ``docs/evidence/group_rates.csv`` and the tables of
``docs/evidence/group_rates.md``, in some five minutes.

Groups are of normal scores. The threshold is fixed beforehand, so that numbers of flagged samples
are binomial, or chosen on the same samples, so that their sum is fixed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.stats import chi2_contingency, norm

from bench.pages import EVIDENCE, fill, table, write_rows
from fastad.uncertainty import RateComparison, compare_rates

TABLE, PAGE = EVIDENCE / "group_rates.csv", EVIDENCE / "group_rates.md"
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
        [("recall", 0.8), ("false alarms", 0.01)], [(200, 5000), (5, 2000), (2, 300)], [0.0, 0.5]
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
            pearson += bool(found.pvalue <= 1 - LEVEL)
    threshold = "chosen" if chosen else "fixed"
    head = {"case": case.name, "n_groups": case.n_groups, "largest": case.largest}
    head |= {"rate": case.rate, "spread": case.spread, "threshold": threshold}
    covered = {f"covers_{name}": f"{n / N_SAMPLES:.3f}" for name, n in hits.items()}
    tests = {"rejected": rejected, "rejected_by_pearson": pearson}
    return head | covered | {name: f"{n / N_SAMPLES:.3f}" for name, n in tests.items()}


def coverage_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the lowest coverages in percent, by the groups and the threshold."""
    names = ("all", "worst", "difference", "ratio")
    cells = []
    for groups, of_groups in _by_groups(rows).items():
        for threshold in ("fixed", "chosen"):
            some = [row for row in of_groups if row["threshold"] == threshold]
            lowest = [min(float(row[f"covers_{name}"]) for row in some) for name in names]
            cells.append([*groups, threshold, *(f"{100 * x:.1f}" for x in lowest)])
    head = ["groups", "largest", "threshold", "all groups", "worst", "difference", "ratio"]
    return table(head, cells)


def level_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the highest percentages of rejections of equal rates."""
    cells = []
    for groups, of_groups in _by_groups(rows).items():
        equal = [row for row in of_groups if float(row["spread"]) == 0]
        highest = [
            max(float(row[name]) for row in equal) for name in ("rejected", "rejected_by_pearson")
        ]
        cells.append([*groups, *(f"{100 * x:.1f}" for x in highest)])
    return table(["groups", "largest", "exact", "Pearson's"], cells)


def _by_groups(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[Any]]:
    found: dict[tuple[str, str], list[Any]] = {}
    for row in rows:
        found.setdefault((str(row["n_groups"]), str(row["largest"])), []).append(row)
    return found


def main() -> None:
    """Measure all cases, and write them and the tables of the page."""
    rows = [measure(case, chosen=chosen) for case in CASES for chosen in (False, True)]
    write_rows(TABLE, rows)
    fill(PAGE, {"coverage": coverage_table(rows), "level": level_table(rows)})


if __name__ == "__main__":
    main()
