"""`RateMonitor`: counts, alarms that stay, state as bytes, refusals."""

import math
import pickle
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

import fastad
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.streaming import RateMonitor
from fastad.streaming.monitors.rate_monitor import MONITORED
from fastad.uncertainty import rate_confidence_sequence
from tests.support import oracles
from tests.support.strategies import Sample, samples

FPR: dict[str, Any] = {"rate": "fpr", "expected_rate": 0.1}
BATCHES = [(12, 1000), (9, 900), (0, 0), (31, 1000), (28, 1100), (35, 1000), (8, 1000)]


def watch(batches: Any = BATCHES, **options: Any) -> RateMonitor:
    monitor = RateMonitor("flagged_rate", **({"expected_rate": 0.01} | options))
    for batch in batches:
        monitor.update_counts(*batch)
    return monitor


@pytest.mark.parametrize("rate", MONITORED)
@given(sample=samples(max_size=30), position=st.floats(0, 1), whole=st.booleans())
def test_scores_are_counted_as_at_the_threshold(
    rate: str, sample: Sample, position: float, whole: bool
) -> None:
    threshold = sample.s[int(position * (len(sample.s) - 1))]
    threshold = int(threshold) if whole and np.isfinite(threshold) else threshold
    confusion = fastad.confusion_at(sample.y, sample.s, threshold=threshold)
    monitor = RateMonitor(rate, expected_rate=0.3, threshold=threshold)
    monitor.update(sample.y, sample.s)
    tp, fp, tn, fn = confusion.tp, confusion.fp, confusion.tn, confusion.fn
    assert (monitor.n_events, monitor.n_samples) == oracles.trials(rate, tp, fp, tn, fn)
    if rate == "flagged_rate":
        monitor.update(y_score=sample.s)
        assert monitor.n_events == 2 * (confusion.tp + confusion.fp)


def test_the_alarm_is_raised_once_and_stays() -> None:
    monitor = RateMonitor("flagged_rate", expected_rate=0.01)
    seen, evidence = [], []
    for batch in [*BATCHES, (0, 100_000)]:
        monitor.update_counts(*batch)
        seen.append(monitor.alarm)
        evidence.append(monitor.e_value)
    first = next(i for i, e in enumerate(evidence) if e >= 20)
    alarm = seen[first]
    assert alarm is not None
    assert seen == [None] * first + [alarm] * (len(seen) - first)
    assert (alarm.n_updates, alarm.e_value) == (first + 1, evidence[first])
    assert alarm.n_samples == sum(n for _, n in BATCHES[: first + 1])
    assert alarm.n_events == sum(k for k, _ in BATCHES[: first + 1])
    # The last batch had no event, and took the evidence away.
    assert evidence[-1] < 20
    assert monitor.is_alarm
    assert monitor.p_value == pytest.approx(1 / max(evidence))


def test_worse_rates_raise_an_alarm_and_better_ones_do_not() -> None:
    worse = {"flagged_rate", "fpr", "fnr", "fdr", "fomr"}
    for rate in MONITORED:
        for events in (0, 1000):
            monitor = RateMonitor(rate, expected_rate=0.5)
            monitor.update_counts(events, 1000)
            assert monitor.is_alarm == ((events == 1000) == (rate in worse))
    for events in (0, 1000):
        both = RateMonitor("tpr", expected_rate=0.5, alternative="two-sided")
        both.update_counts(events, 1000)
        assert both.is_alarm


def test_nothing_counted_is_no_evidence() -> None:
    monitor = watch([])
    assert (monitor.e_value, monitor.p_value, monitor.is_alarm) == (1, 1, False)
    assert math.isnan(monitor.value)
    assert (monitor.interval.low, monitor.interval.high) == (0, 1)
    monitor.update_counts(0, 0)
    assert monitor.e_value == pytest.approx(1, abs=1e-15)
    assert monitor.n_updates == 1


def test_the_interval_is_that_of_all_counts() -> None:
    monitor = watch(confidence_level=0.9)
    k, n = (sum(column) for column in zip(*BATCHES, strict=True))
    sequence = rate_confidence_sequence([k], [n], confidence_level=0.9)
    interval = monitor.interval
    assert (interval.value, interval.low, interval.high) == (
        sequence.value[0],
        sequence.low[0],
        sequence.high[0],
    )
    assert interval.confidence_level == 0.9
    assert watch([(k, n)], confidence_level=0.9).interval.to_dict() == interval.to_dict()


def test_a_reset_begins_anew() -> None:
    monitor = watch()
    assert monitor.is_alarm
    monitor.reset()
    assert monitor.to_bytes() == watch([]).to_bytes()
    assert not monitor.is_alarm


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
def test_a_reference_counts_with_its_exact_bounds(alternative: Any) -> None:
    monitor = RateMonitor("fpr", reference=(30, 1000), alternative=alternative)
    level = 0.975 if alternative == "two-sided" else 0.95
    bounds = binomtest(30, 1000).proportion_ci(level, method="exact")
    low, high = monitor.expected_range
    assert low == pytest.approx(0.03 if alternative == "greater" else bounds.low)
    assert high == pytest.approx(0.03 if alternative == "less" else bounds.high)
    # Half of 1 - confidence_level is left.
    expected = RateMonitor("fpr", expected_rate=high, alternative="greater")
    both = RateMonitor("fpr", reference=(30, 1000))
    for _ in range(40):
        for each in (expected, both):
            each.update_counts(60, 1000)
    assert both.alarm is not None
    assert both.alarm.e_value >= 40
    # The reference may be wrong with probability 0.025, however strong the evidence.
    assert 0.025 <= both.p_value <= 0.0250001
    assert expected.p_value < 1e-7


@pytest.mark.parametrize("n_batches", range(len(BATCHES)))
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alternative": "two-sided", "threshold": np.float64(0.1)},
        {"reference": (10, 1000), "expected_rate": None, "threshold": -math.inf},
        {"expected_rate": Fraction(1, 3), "threshold": 2**70, "confidence_level": 0.999},
    ],
)
def test_bytes_give_the_same_monitor(n_batches: int, options: Any) -> None:
    monitor = watch(BATCHES[:n_batches], **options)
    restored = RateMonitor.from_bytes(monitor.to_bytes())
    assert restored.to_bytes() == monitor.to_bytes()
    assert repr(restored) == repr(monitor)
    assert restored.threshold == monitor.threshold
    assert type(restored.threshold) is type(monitor.threshold)
    pickled = pickle.loads(pickle.dumps(monitor))
    for each in (monitor, restored, pickled):
        for batch in BATCHES[n_batches:]:
            each.update_counts(*batch)
    assert restored.to_bytes() == monitor.to_bytes() == pickled.to_bytes()
    assert restored.alarm == monitor.alarm
    assert restored.p_value == monitor.p_value


def test_threads_share_a_monitor() -> None:
    monitor = watch([])
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: monitor.update_counts(1, 100), range(2000)))
    assert (monitor.n_events, monitor.n_samples, monitor.n_updates) == (2000, 200_000, 2000)
    one = watch([(1, 100)] * 2000)
    assert monitor.to_bytes() == one.to_bytes()


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ((-1, 5), InvalidInputError, "n_events must lie between 0 and 2^53; found -1"),
        ((0, -5), InvalidInputError, "n_samples must lie between 0 and 2^53; found -5"),
        ((6, 5), InvalidInputError, "n_events must not exceed n_samples; found 6 of 5"),
        ((0, 2**60), InvalidInputError, "n_samples must lie between 0 and 2^53"),
        ((0, 2**53), InvalidInputError, "n_samples must leave at most 2^53 points in all"),
        ((1.0, 5), InvalidTypeError, "n_events must be an integer; found float"),
        ((True, 5), InvalidTypeError, "n_events must be an integer; found bool"),
        ((1, "5"), InvalidTypeError, "n_samples must be an integer; found str"),
    ],
)
def test_other_counts_are_refused_and_change_nothing(counts: Any, error: Any, message: str) -> None:
    monitor = watch()
    before = monitor.to_bytes()
    with pytest.raises(error) as raised:
        monitor.update_counts(*counts)
    assert message in str(raised.value)
    assert monitor.to_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], [1.0, math.nan]), "y_score must not contain NaN; found 1, the first at index 1"),
        (([0, 2], [1.0, 2.0]), "y_true must"),
        (([0, 1, 1], [1.0, 2.0]), "y_score must have one score for each label"),
        ((None, [1.0, 2.0]), "y_true must be given for 'fpr'; found None"),
        (([0, 1], None), "y_score must be given; found None"),
    ],
)
def test_other_points_are_refused_and_change_nothing(arguments: Any, message: str) -> None:
    monitor = RateMonitor("fpr", expected_rate=0.1, threshold=1.5)
    before = monitor.to_bytes()
    with pytest.raises(InvalidInputError, match=message):
        monitor.update(*arguments)
    assert monitor.to_bytes() == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": "auc"}, "rate must be one of 'flagged_rate', 'tpr'"),
        ({"rate": "f1"}, "rate must be one of"),
        ({"expected_rate": 0}, "expected_rate must lie strictly between 0 and 1"),
        ({"expected_rate": 1}, "expected_rate must lie strictly between 0 and 1"),
        ({"expected_rate": 1.5}, "expected_rate must lie in"),
        ({"expected_rate": None}, "expected_rate must be given, or reference, and not both"),
        ({"reference": (1, 10)}, "expected_rate must be given, or reference, and not both"),
        ({"confidence_level": 0}, "confidence_level must lie strictly between"),
        ({"alternative": "up"}, "alternative must be one of"),
        ({"threshold": math.nan}, "threshold must be a number; found NaN"),
        ({"expected_rate": None, "reference": 7}, "reference must be a pair of counts"),
        ({"expected_rate": None, "reference": (7, 5)}, r"reference\[0\] must not exceed"),
        ({"expected_rate": None, "reference": (-1, 5)}, r"reference\[0\] must lie between 0"),
        ({"expected_rate": None, "reference": (5, 5)}, "reference must contain points that are no"),
        ({"expected_rate": None, "reference": (0, 0)}, "reference must contain"),
        (
            {"expected_rate": None, "reference": (0, 5), "alternative": "less"},
            "reference must contain events; found 0 events in 5 points",
        ),
    ],
)
def test_other_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, InvalidTypeError), match=message):
        RateMonitor(**(FPR | options))


def test_scores_need_a_threshold() -> None:
    with pytest.raises(InvalidInputError, match="threshold must be given to the monitor"):
        watch().update(y_score=[1.0])


def test_a_batch_without_points_is_a_look() -> None:
    monitor = RateMonitor("flagged_rate", expected_rate=0.1, threshold=0.5)
    monitor.update(y_score=[])
    assert (monitor.n_updates, monitor.n_samples) == (1, 0)


@pytest.mark.parametrize(
    ("threshold", "score", "is_flagged"),
    [
        (Fraction(7, 10), np.float32(0.7), False),
        (Fraction(3, 10), np.float64(0.3), False),
        (np.longdouble("0.3"), np.float64(0.3), False),
        (Fraction(2**54 + 1, 2), np.int64(2**53 + 1), True),
    ],
)
def test_a_monitor_flags_what_reaches_an_exact_threshold(
    threshold: Any, score: Any, is_flagged: bool
) -> None:
    """0.3 as float64 and 0.7 as float32 lie below it."""
    monitor = RateMonitor("tpr", expected_rate=0.3, threshold=threshold)
    for each in (monitor, RateMonitor.from_bytes(monitor.to_bytes())):
        each.update([1, 0], np.array([score, score]))
        assert each.n_events == is_flagged
