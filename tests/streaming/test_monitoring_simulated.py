"""Alarms in many looks, simulated: `python -m bench.monitoring` has more streams."""

import numpy as np
import pytest
from scipy.stats import binom

from bench import monitoring
from bench.monitoring_peer import RATE, outcomes
from fastad.streaming import DriftMonitor, RateMonitor, ScoreSketch

# Of 300 streams with false alarms in 5 % of them, more than this are alarmed in one of 10^6 runs.
N_STREAMS = 300
MOST = int(binom.isf(1e-6, N_STREAMS, monitoring.ALPHA))


def test_the_simulation_has_the_power_to_tell() -> None:
    """False alarms in 15 % of the streams would be noticed nearly always."""
    assert MOST / N_STREAMS < 0.13
    assert binom.sf(MOST, N_STREAMS, 0.15) > 0.9


@pytest.mark.evidence
def test_rates_as_expected_raise_few_alarms() -> None:
    result = monitoring.false_alarms_of_rates(N_STREAMS, 1000)
    valid = [name for name in result if "interval" not in name]
    assert len(valid) == 3
    assert all(result[name] * N_STREAMS <= MOST for name in valid)
    assert result["95 % interval of a week"] == 1
    assert result["95 % interval of all points"] > 0.3


@pytest.mark.evidence
@pytest.mark.parametrize("window", [None, 1000])
def test_scores_as_before_raise_few_alarms(window: int | None) -> None:
    result = monitoring.alarms_of_normal_scores(N_STREAMS, 400, 400, window=window)
    # The table has 0.2 %; bounds of one look would alarm 11 and 5 streams.
    assert np.sum(result["DriftMonitor"] >= 0) <= binom.isf(1e-6, N_STREAMS, 0.002)
    assert np.all(result["Kolmogorov-Smirnov test of a week"] >= 0)


@pytest.mark.evidence
@pytest.mark.parametrize(("change", "most"), [(0, 1500), (100_000, 3600)])
def test_a_doubled_rate_is_noticed_soon_also_late(change: int, most: int) -> None:
    result = monitoring.delays_of_rates(100, change, 15_000)["RateMonitor"]
    assert result["missed"] == 0
    assert result["mean_delay"] < most


@pytest.mark.parametrize("window", [None, 1000])
def test_the_simulated_distances_are_those_of_the_monitor(window: int | None) -> None:
    n_streams, n_looks, cells = 5, 60, np.arange(20)
    rng = np.random.default_rng(0)
    before, after = (np.exp(slope * cells) for slope in (0, 0.08))
    reference = rng.multinomial(5000, before / before.sum(), n_streams)
    counts = np.array(
        [
            rng.multinomial(monitoring.BATCH, weights / weights.sum(), n_streams)
            for weights in [before] * 25 + [after] * (n_looks - 25)
        ]
    )
    first = monitoring.drift_alarms(reference, n_looks, counts.__getitem__, window)["DriftMonitor"]
    for stream in range(n_streams):
        sketch = ScoreSketch("64kB")
        sketch.update(y_score=np.repeat(cells, reference[stream]))
        monitor = DriftMonitor(sketch, window=window)
        for look in range(n_looks):
            monitor.update(np.repeat(cells, counts[look, stream]))
        raised = -1 if monitor.alarm is None else monitor.alarm.n_updates - 1
        assert raised == first[stream]
    assert np.any(first >= 0)


def test_the_simulation_is_of_the_monitor() -> None:
    """The first alarms of the vectorised streams are those of `RateMonitor`."""
    n_streams, n_looks = 10, 250
    flagged = np.array([outcomes(i, 10_000, 15_000) for i in range(n_streams)])
    counts = flagged.reshape(n_streams, n_looks, monitoring.BATCH).sum(axis=2)
    first = monitoring.rate_alarms(n_streams, n_looks, lambda look: counts[:, look])["RateMonitor"]
    for stream in range(n_streams):
        monitor = RateMonitor("fpr", expected_rate=RATE)
        for events in counts[stream].tolist():
            monitor.update_counts(events, monitoring.BATCH)
        raised = -1 if monitor.alarm is None else monitor.alarm.n_updates - 1
        assert raised == first[stream]
