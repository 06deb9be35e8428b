"""`RateMonitor`: an alarm when a rate leaves what is expected, valid at every look."""

import json
import math
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from fastad._core.floats import exp
from fastad._core.interrupts import StateLock, uninterrupted
from fastad._core.parameters import check_choice, check_inside, check_threshold, short_repr
from fastad._core.types import ArrayLike, Label, Point, Threshold
from fastad.errors import InvalidInputError, InvalidTypeError
from fastad.measures.flagged import flags
from fastad.measures.rates import PROPORTIONS, RATES, TRIALS
from fastad.measures.results import Confusion
from fastad.streaming.sketches.cells import ANOMALY
from fastad.streaming.sketches.checks import check_points
from fastad.streaming.sketches.serialization import SealedFormat
from fastad.uncertainty.rates.rate_evidence import Alternative, RateBets, RateEvidence
from fastad.uncertainty.rates.sequences import ALTERNATIVES, MOST, check_counts, rate_bounds
from fastad.uncertainty.results import Interval
from fastad.uncertainty.samples.closed_forms import clopper_pearson

# The rate that needs no labels.
FLAGGED_RATE = "flagged_rate"
MONITORED = (FLAGGED_RATE, *PROPORTIONS)
Counts: TypeAlias = tuple[int, int]
_FORMAT = SealedFormat(b"fastad rate monitor\n", 1, "a RateMonitor")


@dataclass(frozen=True, slots=True)
class RateAlarm:
    """Time of the alarm of a monitor.

    Attributes
    ----------
    n_updates : int
        The update, counted from 1 at the last reset.
    n_samples, n_events : int
        Counts at the time of the alarm.
    e_value : float
        Evidence then: at least 1 / (1 - confidence level).
    """

    n_updates: int
    n_samples: int
    n_events: int
    e_value: float


class RateMonitor:
    """Watch a rate at a threshold, and raise an alarm when it is no longer the expected one.

    It may be looked at after every batch, for ever: the probability that an alarm is ever raised
    while the rate is as expected is at most 1 - ``confidence_level``, in all looks together. The
    batches may have any sizes. An alarm stays until `reset`. Threads may share a monitor.

    Parameters
    ----------
    rate : str
        ``"flagged_rate"``, the fraction of all points whose score is at least the threshold, needs
        no labels. ``"fpr"``, ``"tpr"``, ``"precision"`` and other rates of `fastad.confusion_at`
        (``"tnr"``, ``"fnr"``, ``"recall"``, ``"npv"``, ``"fdr"``, ``"fomr"``, ``"accuracy"``) do.
    expected_rate : float, optional
        What the rate should be, in (0, 1): the rate for which the threshold was set.
    reference : tuple of two ints, optional
        Instead, the events and the points of a sample in which the rate was estimated, such as
        ``(103, 10_000)``: 103 of 10 000 were flagged. The sample's own error is allowed for: half
        of 1 - ``confidence_level`` is the probability that the rate lies beyond its exact bound
        (Clopper and Pearson), and against this bound the other half is watched for.
    threshold : float, optional
        Points that score at least as much are flagged. Without it, counts are given.
    alternative : {"greater", "less", "two-sided"}, optional
        Which rates raise an alarm; by default worse ones, and for the flagged rate greater ones.
    confidence_level : float, default 0.95
        Probability of no false alarm at any time before the next reset, at least; in (0, 1).

    Attributes
    ----------
    rate, threshold, alternative, confidence_level
        As given.
    expected_range : tuple of two floats
        Rates that raise no alarm lie in between, or beyond on the side that raises none.

    Notes
    -----
    Assumed is only that, whatever happened before, the next point is an event with at most the
    expected probability (at least, for ``"less"``): no distribution of scores, and no independence.
    Labels must not come sooner for some scores than for others of the same class.

    The evidence is the capital of bets on rates from slightly above the expected one to far above
    it, most on doubled odds, placed at the first look and anew at each later look. So the delay
    until a change is noticed grows with the logarithm of the time before it alone. Betting is
    described by Waudby-Smith and Ramdas, section 4; bets from all times on by Shin, Ramdas and
    Rinaldo, here with weights that add up to 1.

    An update takes time and memory that do not depend on how much was counted before. Monitors of
    several workers are not merged, as bets depend on the order in time: give the sums of their
    counts to one monitor. The interval is a function of the counts alone.

    References
    ----------
    .. [1] I. Waudby-Smith and A. Ramdas, "Estimating means of bounded random variables by betting",
       2024.
    .. [2] J. Shin, A. Ramdas and A. Rinaldo, "E-detectors: a nonparametric framework for
       sequential change detection", 2023.

    Examples
    --------
    >>> from fastad.streaming import RateMonitor
    >>> monitor = RateMonitor("flagged_rate", expected_rate=0.01)
    >>> monitor.update_counts(12, 1000)
    >>> monitor.is_alarm
    False
    >>> for _ in range(5):
    ...     monitor.update_counts(25, 1000)
    >>> monitor.alarm.n_updates, monitor.alarm.n_samples
    (2, 2000)
    """

    __slots__ = (
        "_alarm",
        "_alpha",
        "_evidence",
        "_expected_rate",
        "_lock",
        "_log_most",
        "_n_events",
        "_n_samples",
        "_n_updates",
        "_of_reference",
        "_reference",
        "alternative",
        "confidence_level",
        "expected_range",
        "rate",
        "threshold",
    )

    def __init__(
        self,
        rate: str,
        *,
        expected_rate: Point | None = None,
        reference: Counts | None = None,
        threshold: float | None = None,
        alternative: Alternative | None = None,
        confidence_level: Point = 0.95,
    ) -> None:
        self.rate = check_choice(rate, MONITORED, "rate")
        if alternative is None:
            is_good = rate != FLAGGED_RATE and RATES[rate].higher_is_better
            alternative = "less" if is_good else "greater"
        self.alternative: Alternative = check_choice(alternative, ALTERNATIVES, "alternative")
        self.confidence_level = check_inside(confidence_level, "confidence_level")
        if (expected_rate is None) == (reference is None):
            raise InvalidInputError(
                "expected_rate must be given, or reference, and not both; found "
                f"expected_rate={short_repr(expected_rate)} and reference={short_repr(reference)}"
            )
        self._alpha = float(1 - self.confidence_level)
        self._expected_rate: Fraction | None = None
        self._reference: Counts | None = None
        # Part of alpha for the error of the reference.
        self._of_reference = 0.0
        if expected_rate is not None:
            self._expected_rate = check_inside(expected_rate, "expected_rate")
            self.expected_range = float(self._expected_rate), float(self._expected_rate)
        else:
            assert reference is not None
            self._reference = _check_reference(reference, alternative)
            self._of_reference = self._alpha / 2
            self.expected_range = self._range_of_reference(*self._reference)
        self.threshold: Threshold | None = None if threshold is None else check_threshold(threshold)
        self._lock = StateLock("RateMonitor")
        self._begin()

    def __repr__(self) -> str:
        low, high = self.expected_range
        expected = f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
        state = "" if self.alarm is None else f", {self.alarm}"
        return (
            f"RateMonitor({self.rate!r}, {self.alternative} than {expected}, "
            f"n_events={self._n_events}, n_samples={self._n_samples}{state})"
        )

    @property
    def n_events(self) -> int:
        """Number of events since the last reset: what the rate counts."""
        self._lock.checked()
        return self._n_events

    @property
    def n_samples(self) -> int:
        """Number of points since the last reset that the rate is a fraction of."""
        self._lock.checked()
        return self._n_samples

    @property
    def n_updates(self) -> int:
        """Number of updates since the last reset."""
        self._lock.checked()
        return self._n_updates

    @property
    def value(self) -> float:
        """The rate since the last reset; NaN where nothing was counted."""
        with self._lock.checked():
            return self._n_events / self._n_samples if self._n_samples else math.nan

    @property
    def interval(self) -> Interval:
        """The rate since the last reset with an interval that is valid at all looks at once.

        It covers the true rate, where that is constant, with probability ``confidence_level``.
        After a change it is an interval of a mean; the alarm looks at later points by themselves.
        """
        with self._lock.checked():
            k, n = self._n_events, self._n_samples
        level = float(self.confidence_level)
        counts = np.array([float(k)]), np.array([float(n)])
        low, high = rate_bounds(*counts, self._alpha, "two-sided")
        value = k / n if n else math.nan
        return Interval(
            value, float(low[0]), float(high[0]), math.nan, level, "confidence sequence"
        )

    @property
    def e_value(self) -> float:
        """Evidence against the expected rate now: the capital of bets, which began as 1."""
        with self._lock.checked():
            return exp(float(self._evidence.log_value))

    @property
    def p_value(self) -> float:
        """1 / the largest e-value so far: a p-value that is valid at every look.

        With a reference, half of 1 - ``confidence_level`` is added to it: the probability that the
        rate lies beyond the bound that bets are made against.
        """
        with self._lock.checked():
            return min(1.0, self._of_reference + math.exp(-self._log_most))

    @property
    def is_alarm(self) -> bool:
        """True if the alarm was raised since the last reset."""
        return self.alarm is not None

    @property
    def alarm(self) -> RateAlarm | None:
        """Time of the alarm, or None."""
        self._lock.checked()
        return self._alarm

    def update(
        self,
        y_true: ArrayLike | None = None,
        y_score: ArrayLike | None = None,
        *,
        pos_label: Label | None = None,
    ) -> None:
        """Count a batch of points, and look.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,), optional
            1 for an anomaly, 0 for a normal sample; not needed for the flagged rate.
        y_score : array-like of shape (n_samples,)
            Anomaly score, higher is more anomalous; infinities are scores, NaN is not.
        pos_label : label, optional
            Label of the anomalies where labels are not 0 and 1.

        Raises
        ------
        InvalidInputError
            If the monitor has no threshold, or an argument is invalid; nothing is counted then.
        """
        if self.threshold is None:
            raise InvalidInputError(
                "threshold must be given to the monitor for scores; found None, with which "
                "update_counts takes counts"
            )
        if y_true is None and self.rate != FLAGGED_RATE:
            raise InvalidInputError(f"y_true must be given for {self.rate!r}; found None")
        points = check_points(y_true, y_score, None, pos_label)
        if points is None:
            self._count(0, 0)
            return
        scores = points.raw.scores
        flagged = flags(scores, self.threshold)
        n_flagged = int(np.count_nonzero(flagged))
        if self.rate == FLAGGED_RATE:
            self._count(n_flagged, scores.shape[0])
            return
        anomalous = points.kinds == ANOMALY
        n_anomalies = int(np.count_nonzero(anomalous))
        tp = int(np.count_nonzero(flagged & anomalous))
        fp, fn = n_flagged - tp, n_anomalies - tp
        confusion = Confusion(tp, fp, scores.shape[0] - n_anomalies - fp, fn)
        events, samples = TRIALS[self.rate](confusion)
        self._count(int(events), int(samples))

    def update_counts(self, n_events: int, n_samples: int) -> None:
        """Count a batch whose events have been counted, and look.

        Parameters
        ----------
        n_events : int
            New events: flagged points for the flagged rate, flagged normal samples for the FPR.
        n_samples : int
            New points that the rate is a fraction of: all of them, or normal samples.

        Raises
        ------
        InvalidInputError
            If a count is negative, or there are more events than points; nothing is counted then.
        """
        self._count(*check_counts(n_events, n_samples))

    def reset(self) -> None:
        """Begin anew, as after an alarm that was acknowledged: with no counts and no evidence.

        From then on, the confidence level applies again: in r resets, r times as many false
        alarms are to be expected at most.
        """
        with self._lock.checked():
            uninterrupted(self._begin)

    def to_bytes(self) -> bytes:
        """Return the monitor as bytes, versioned and with a checksum."""
        with self._lock.checked():
            expected, threshold = self._expected_rate, self.threshold
            state = {
                "rate": self.rate,
                "expected_rate": None if expected is None else str(expected),
                "reference": self._reference,
                # With its type: NumPy compares its own floats in another precision.
                "threshold": None
                if threshold is None
                else [
                    type(threshold).__name__,
                    str(threshold) if isinstance(threshold, Fraction) else threshold,
                ],
                "alternative": self.alternative,
                "confidence_level": str(self.confidence_level),
                "counts": [self._n_events, self._n_samples, self._n_updates],
                "n_before": float(self._evidence.n),
                "kept": self._evidence.kept.tolist(),
                "log_stakes": self._evidence.log_stakes.tolist(),
                "log_most": self._log_most,
                "alarm": None if self._alarm is None else asdict(self._alarm),
            }
        return _FORMAT.seal(json.dumps(state, separators=(",", ":")).encode())

    @classmethod
    def from_bytes(cls, data: bytes) -> "RateMonitor":
        """Return the monitor of which `to_bytes` returned the bytes; refuse anything else."""
        content = _FORMAT.unseal(data)
        try:
            return cls._from_state(json.loads(content))
        except (LookupError, TypeError, ValueError) as error:
            raise _FORMAT.unfit("a state that no monitor has") from error

    def __reduce__(self) -> tuple[Any, ...]:
        return RateMonitor.from_bytes, (self.to_bytes(),)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "RateMonitor":
        expected, reference = state["expected_rate"], state["reference"]
        threshold = state["threshold"]
        kinds = (bool, int, float, np.float64, Fraction)
        types: dict[str, Any] = {kind.__name__: kind for kind in kinds}
        monitor = cls(
            state["rate"],
            expected_rate=None if expected is None else Fraction(expected),
            reference=None if reference is None else (reference[0], reference[1]),
            threshold=None if threshold is None else types[threshold[0]](threshold[1]),
            alternative=state["alternative"],
            confidence_level=Fraction(state["confidence_level"]),
        )
        n_events, n_samples, n_updates = state["counts"]
        monitor._n_events, monitor._n_samples = check_counts(n_events, n_samples)
        monitor._n_updates = int(n_updates)
        evidence = monitor._evidence
        kept, log_stakes = (np.array(state[name], float) for name in ("kept", "log_stakes"))
        if kept.shape != evidence.kept.shape or log_stakes.shape != kept.shape:
            raise ValueError
        evidence.n = np.array(float(state["n_before"]))
        evidence.kept, evidence.log_stakes = kept, log_stakes
        monitor._log_most = float(state["log_most"])
        alarm = state["alarm"]
        monitor._alarm = None if alarm is None else RateAlarm(**alarm)
        return monitor

    def _range_of_reference(self, n_events: int, n_samples: int) -> tuple[float, float]:
        """Return the rates against which bets are made: below the first, above the second."""
        # A bound on one side alone takes all of this part.
        both = self._of_reference * (1 if self.alternative == "two-sided" else 2)
        low, high = clopper_pearson(n_events, n_samples, both)
        value = n_events / n_samples
        return (
            low if self.alternative != "greater" else value,
            high if self.alternative != "less" else value,
        )

    def _begin(self) -> None:
        self._evidence = RateEvidence(RateBets.against(*self.expected_range, self.alternative))
        self._n_events = self._n_samples = self._n_updates = 0
        self._log_most = 0.0
        self._alarm: RateAlarm | None = None

    def _count(self, n_events: int, n_samples: int) -> None:
        with self._lock.checked():
            if self._n_samples + n_samples > MOST:
                raise InvalidInputError(
                    f"n_samples must leave at most 2^53 points in all; found "
                    f"{self._n_samples + n_samples}"
                )
            uninterrupted(lambda: self._add(n_events, n_samples))

    def _add(self, n_events: int, n_samples: int) -> None:
        self._n_updates += 1
        self._n_events += n_events
        self._n_samples += n_samples
        self._evidence.update(n_events, n_samples)
        log_value = float(self._evidence.log_value)
        self._log_most = max(self._log_most, log_value)
        limit = 1 / (self._alpha - self._of_reference)
        if self._alarm is None and log_value >= math.log(limit):
            self._alarm = RateAlarm(
                self._n_updates, self._n_samples, self._n_events, exp(log_value)
            )


def _check_reference(reference: Counts, alternative: Alternative) -> Counts:
    if not isinstance(reference, tuple | list) or len(reference) != 2:
        raise InvalidTypeError(
            "reference must be a pair of counts, the events and the points; found "
            f"{short_repr(reference)}"
        )
    n_events, n_samples = check_counts(*reference, names=("reference[0]", "reference[1]"))
    missing = []
    if n_events == 0 and alternative != "greater":
        missing.append("events")
    if n_events == n_samples and alternative != "less":
        missing.append("points that are no events")
    if missing or n_samples == 0:
        raise InvalidInputError(
            f"reference must contain {' and '.join(missing or ['points'])}; found {n_events} "
            f"events in {n_samples} points"
        )
    return n_events, n_samples
