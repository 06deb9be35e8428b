"""How soon MAPIE's risk monitoring notices a doubled false positive rate.

It needs NumPy and MAPIE (``pip install mapie``), and not fastad: ``python -m
bench.monitoring_peer`` adds its rows to ``docs/evidence/monitoring.csv``, in seven minutes, after
``python -m bench.monitoring`` has written those of fastad on the same streams.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from bench.pages import EVIDENCE, read_rows, write_rows

TABLE = EVIDENCE / "monitoring.csv"
HEAD = [
    "question", "method", "n_streams", "n_looks", "points_a_look", "change", "false_alarms",
    "missed", "mean_delay", "median_delay", "delay_90",
]  # fmt: skip
RATE, FACTOR = 0.01, 2
# Points before the change, and points that are waited for after it.
CHANGES = {0: 30_000, 10_000: 30_000, 100_000: 20_000}
# MAPIE takes 70 microseconds a point.
PEER_CHANGES = {0: 30_000, 10_000: 30_000}
N_PEER_STREAMS = 100


def outcomes(stream: int, change: int, n_after: int) -> npt.NDArray[np.bool_]:
    """Return which normal samples are flagged: at 1 %, and at 2 % from the change on."""
    rng = np.random.default_rng([stream, change])
    drawn = rng.random(change + n_after)
    drawn[change:] /= FACTOR
    flagged: npt.NDArray[np.bool_] = drawn < RATE
    return flagged


def delays(first: npt.NDArray[np.int64], change: int) -> dict[str, Any]:
    """Return what is written of the points at which alarms came; -1 where none came."""
    false = (first >= 0) & (first <= change)
    noticed = first[first > change] - change
    return {
        "change": change,
        "false_alarms": round(float(false.mean()), 4),
        "missed": round(float((first < 0).mean()), 4),
        "mean_delay": round(float(noticed.mean())) if noticed.size else "",
        "median_delay": round(float(np.median(noticed))) if noticed.size else "",
        "delay_90": round(float(np.quantile(noticed, 0.9))) if noticed.size else "",
    }


def first_alarm(flagged: npt.NDArray[np.bool_], n_first: int) -> int:
    """Return the point at which MAPIE raises its alarm, -1 for none; it looks at every point.

    Its bounds depend on the points before alone: a few thousand are tried first.
    """
    from mapie.exchangeability_testing import RiskMonitoring

    for n in (n_first, flagged.shape[0]):
        monitor = RiskMonitoring(risk="fpr", test_level=0.05, threshold=RATE, warn=False)
        monitor.update(np.zeros(n, np.int64), flagged[:n].astype(np.int64))
        above = monitor.online_risk_lower_bound_sequence_history > RATE
        if above.any():
            return int(np.argmax(above)) + 1
    return -1


def main() -> None:
    """Add the rows of MAPIE."""
    for change, n_after in PEER_CHANGES.items():
        streams = (outcomes(i, change, n_after) for i in range(N_PEER_STREAMS))
        n_first = (change + n_after) // 4 + change // 2
        first = np.array([first_alarm(flagged, n_first) for flagged in streams])
        row = {
            "question": "doubled rate",
            "method": "MAPIE RiskMonitoring",
            "n_streams": N_PEER_STREAMS,
            "points_a_look": 1,
            **delays(first, change),
        }
        print(row, flush=True)
        write_rows(TABLE, [*read_rows(TABLE), row], HEAD)


if __name__ == "__main__":
    main()
