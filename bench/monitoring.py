"""False alarms of monitors in many looks, and how soon they notice a change.

``python -m bench.monitoring`` writes ``docs/evidence/monitoring.csv``, in five minutes;
``python -m bench.monitoring_peer`` adds MAPIE.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import bdtrc, betaincinv, ndtr, ndtri

from bench.monitoring_peer import CHANGES, HEAD, RATE, TABLE, delays, outcomes
from bench.pages import write_rows
from fastad.uncertainty.rates.rate_evidence import RateBets, RateEvidence
from fastad.uncertainty.rates.sequences import log_mixture, radius_at_all_times, radius_at_one_time

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

ALPHA = 0.05
N_STREAMS, N_LOOKS, BATCH = 2000, 10_000, 100
# Naive intervals are of the last seven looks.
WEEK = 7
N_REFERENCE = 10_000
# Of the distribution of scores: fewer streams, cells with equal parts of the reference's.
N_DRIFTING, N_CELLS, N_OF_REFERENCE = 500, 64, 20_000
SHIFT = 0.2
# Value of Kolmogorov's distribution at 95 %.
KOLMOGOROV = 1.358


class Alarms:
    """At which look each stream had its first alarm; -1 for none."""

    def __init__(self, n_streams: int) -> None:
        self.first: Ints = np.full(n_streams, -1)

    def add(self, look: int, raised: Bools) -> None:
        self.first[raised & (self.first < 0)] = look


def rate_alarms(
    n_streams: int, n_looks: int, counts_at: Callable[[int], Ints], seed: int = 0
) -> dict[str, Ints]:
    """Return the first alarms of monitors of a rate that is expected to be 1 %, and of naive ones.

    The reference of each stream has the expected rate, of 10 000 samples.
    """
    rng = np.random.default_rng([seed, 1])
    reference = rng.binomial(N_REFERENCE, RATE, n_streams)
    bounds = betaincinv(reference + 1, N_REFERENCE - reference, 1 - ALPHA / 2)
    given = RateEvidence(RateBets.against(RATE, RATE, "greater"), (n_streams,))
    estimated = RateEvidence(RateBets.against(bounds, bounds, "greater"), (n_streams,))
    names = (
        *("RateMonitor", "RateMonitor, reference of 10 000", "confidence sequence of all points"),
        *("95 % interval of a week", "95 % interval of all points"),
    )
    alarms = {name: Alarms(n_streams) for name in names}
    weeks = np.zeros((WEEK, n_streams), np.int64)
    total = np.zeros(n_streams, np.int64)
    for look in range(n_looks):
        events = counts_at(look)
        for evidence in (given, estimated):
            evidence.update(events, BATCH)
        weeks[look % WEEK] = events
        total += events
        n_week, n = BATCH * min(look + 1, WEEK), BATCH * (look + 1)
        sizes, rates = np.full(n_streams, 1.0 * n), np.full(n_streams, RATE)
        raised = (
            given.log_value >= -math.log(ALPHA),
            estimated.log_value >= math.log(2 / ALPHA),
            (total > n * RATE)
            & (log_mixture(total.astype(float), sizes, rates) >= -math.log(ALPHA)),
            # The lower end of Clopper and Pearson's interval at 95 % is above the expected rate.
            bdtrc(weeks.sum(axis=0) - 1.0, n_week, RATE) < ALPHA,
            bdtrc(total - 1.0, n, RATE) < ALPHA,
        )
        for name, each in zip(names, raised, strict=True):
            alarms[name].add(look, each)
    return {name: each.first for name, each in alarms.items()}


def false_alarms_of_rates(n_streams: int = N_STREAMS, n_looks: int = N_LOOKS) -> dict[str, float]:
    """Return the fractions of streams with an alarm, of a rate that stays as expected."""
    rng = np.random.default_rng(0)
    first = rate_alarms(n_streams, n_looks, lambda look: rng.binomial(BATCH, RATE, n_streams))
    return {name: float(np.mean(each >= 0)) for name, each in first.items()}


def delays_of_rates(n_streams: int, change: int, n_after: int) -> dict[str, dict[str, Any]]:
    """Return how many points pass until a doubled rate is noticed, on the streams of the peer."""
    flagged = np.array([outcomes(i, change, n_after) for i in range(n_streams)])
    counts = flagged.reshape(n_streams, -1, BATCH).sum(axis=2)
    first = rate_alarms(n_streams, counts.shape[1], lambda look: counts[:, look])
    return {
        name: delays(np.where(looks < 0, -1, BATCH * (looks + 1)), change)
        for name, looks in first.items()
        if "interval" not in name
    }


def drift_alarms(
    reference_counts: Ints, n_looks: int, counts_at: Callable[[int], Ints], window: int | None
) -> dict[str, Ints]:
    """Return the first alarms of monitors of the scores' distribution, and of naive ones.

    Counts are those of streams (rows) in cells. The naive one tests the last seven looks.
    """
    n_streams = reference_counts.shape[0]
    n_reference = int(reference_counts[0].sum())
    reference = np.cumsum(reference_counts, axis=1) / n_reference
    of_reference = radius_at_one_time(n_reference, ALPHA / 2)
    current = np.zeros_like(reference_counts)
    weeks = np.zeros((WEEK, *current.shape), np.int64)
    valid, naive = Alarms(n_streams), Alarms(n_streams)
    n_windows, n = 1, 0

    def distances(counts: Ints, size: int) -> npt.NDArray[np.float64]:
        gaps: npt.NDArray[np.float64] = np.abs(np.cumsum(counts, axis=1) / size - reference)
        return np.asarray(gaps.max(axis=1))

    for look in range(n_looks):
        if window is not None and n >= window:
            current[:] = 0
            n, n_windows = 0, n_windows + 1
        new = counts_at(look)
        current += new
        n += BATCH
        divisor = 1 if window is None else n_windows * (n_windows + 1)
        radius = of_reference + radius_at_all_times(n, ALPHA / (2 * divisor))
        valid.add(look, distances(current, n) > radius)
        weeks[look % WEEK] = new
        size = BATCH * min(look + 1, WEEK)
        limit = KOLMOGOROV * math.sqrt(1 / size + 1 / n_reference)
        naive.add(look, distances(weeks.sum(axis=0), size) > limit)
    return {"DriftMonitor": valid.first, "Kolmogorov-Smirnov test of a week": naive.first}


def alarms_of_normal_scores(
    n_streams: int, n_looks: int, change: int, *, window: int | None
) -> dict[str, Ints]:
    """Return the first alarms for normal scores whose mean is higher from a look on.

    Scores are counted in cells that hold equal parts of the distribution.
    """
    rng = np.random.default_rng([0, 2, change, window or 0])
    edges = ndtri(np.arange(1, N_CELLS) / N_CELLS)
    before, after = (np.diff([0, *ndtr(edges - mean), 1]) for mean in (0, SHIFT))
    return drift_alarms(
        rng.multinomial(N_OF_REFERENCE, before, n_streams),
        n_looks,
        lambda look: rng.multinomial(BATCH, before if look < change else after, n_streams),
        window,
    )


def main() -> None:
    """Measure all, and write the table."""
    rows: list[dict[str, Any]] = []
    sizes = {"n_streams": N_STREAMS, "n_looks": N_LOOKS, "points_a_look": BATCH}

    def add(question: str, method: str, **values: Any) -> None:
        rows.append({"question": question, "method": method, **values})
        print(rows[-1], flush=True)

    for method, fraction in false_alarms_of_rates().items():
        add("rate as expected", method, **sizes, false_alarms=round(fraction, 4))
    for change, n_after in CHANGES.items():
        n_looks = (change + n_after) // BATCH
        for method, values in delays_of_rates(N_STREAMS, change, n_after).items():
            add("doubled rate", method, **(sizes | {"n_looks": n_looks}), **values)
    sizes["n_streams"] = N_DRIFTING
    for window in (None, 10_000):
        kind = "" if window is None else f", windows of {window}"
        for method, first in alarms_of_normal_scores(
            N_DRIFTING, N_LOOKS, N_LOOKS, window=window
        ).items():
            if window is None or method == "DriftMonitor":
                fraction = float(np.mean(first >= 0))
                add("scores as before", method + kind, **sizes, false_alarms=round(fraction, 4))
        for change in (0, 1000):
            n_looks = change + 2000
            result = alarms_of_normal_scores(N_DRIFTING, n_looks, change, window=window)[
                "DriftMonitor"
            ]
            values = delays(np.where(result < 0, -1, BATCH * (result + 1)), BATCH * change)
            sized = sizes | {"n_looks": n_looks}
            add(f"scores higher by {SHIFT}", "DriftMonitor" + kind, **sized, **values)
    write_rows(TABLE, rows, HEAD)


if __name__ == "__main__":
    main()
