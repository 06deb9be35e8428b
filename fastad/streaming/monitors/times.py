"""Times of events, and lengths of time, as users write them; both in microseconds."""

import re
from datetime import date, datetime, timedelta, timezone
from fractions import Fraction
from numbers import Real
from typing import Any, TypeAlias

import numpy as np

from fastad._core.parameters import exact_number, short_repr
from fastad._core.types import AnyVector, IntVector
from fastad.errors import InvalidInputError, InvalidTypeError

Duration: TypeAlias = str | float | timedelta | np.timedelta64
Time: TypeAlias = float | str | date | np.datetime64

_SECOND = 10**6
_UNITS = {
    **dict.fromkeys(("us",), 1),
    **dict.fromkeys(("ms",), 1000),
    **dict.fromkeys(("s", "sec"), _SECOND),
    **dict.fromkeys(("min",), 60 * _SECOND),
    **dict.fromkeys(("h", "hour"), 3600 * _SECOND),
    **dict.fromkeys(("d", "day"), 86_400 * _SECOND),
    **dict.fromkeys(("w", "week"), 7 * 86_400 * _SECOND),
}
_LENGTH = re.compile(rf"\s*(\d{{1,30}}(?:\.\d{{1,30}})?)\s*({'|'.join(_UNITS)})s?\s*")
# Between the years -6060 and 10000: milliseconds that are taken for seconds are beyond.
_MOST_SECONDS = 253_402_300_800
_MOST_YEARS = 8000
# NumPy reads dates with a zone, but warns.
_ZONE = re.compile(r"(\d.*[T ]\d\d.*?) ?(?:Z|([+-])(\d\d):?(\d\d)?)", re.IGNORECASE)


def check_duration(value: Duration, name: str) -> int:
    """Return the microseconds of a length of time: "1h", "30min", a timedelta, or seconds."""
    length = None
    if isinstance(value, str) and (match := _LENGTH.fullmatch(value)):
        length = Fraction(match[1]) * _UNITS[match[2]]
    elif isinstance(value, timedelta | np.timedelta64):
        with_unit = np.timedelta64(value)
        # A duration of months has no length.
        if np.datetime_data(with_unit.dtype)[0] not in ("Y", "M", "generic"):
            # Exactly: NumPy itself drops nanoseconds, and wraps what is too long.
            unit = float(np.array(1, with_unit.dtype) / np.timedelta64(1, "us"))
            length = int(with_unit.astype(np.int64)) * exact_number(unit, name)
    elif isinstance(value, Real) and not isinstance(value, bool):
        length = exact_number(value, name) * _SECOND
    most = _MOST_YEARS * 365 * _UNITS["d"]
    if length is None or not 1 <= length <= most or length.denominator != 1:
        raise InvalidInputError(
            f"{name} must be a positive length of whole microseconds up to {_MOST_YEARS} years, "
            f"such as '1h', '30min', '7d' or a number of seconds; found {short_repr(value)}"
        )
    return int(length)


def check_times(value: Any, n_samples: int, name: str = "time") -> IntVector | int:
    """Return the microseconds since 1970 of one time for all samples, or of one for each."""
    times = _as_array(value, name)
    if times.ndim > 1 or (times.ndim == 1 and times.shape[0] != n_samples):
        raise InvalidInputError(
            f"{name} must be one time, or one for each of the {n_samples} samples; found shape "
            f"{times.shape}"
        )
    if times.dtype.kind == "M":
        _refuse(np.isnat(times), times, name)
        micros = times.astype("datetime64[us]").astype(np.int64)
        seconds = times.astype("datetime64[s]").astype(np.int64)
        _refuse(np.abs(seconds) >= _MOST_SECONDS, times, name)
    elif times.dtype.kind in "iu":
        _refuse((times >= _MOST_SECONDS) | (times <= -_MOST_SECONDS), times, name)
        micros = times.astype(np.int64) * _SECOND
    else:
        _refuse(~(np.abs(times) < _MOST_SECONDS), times, name)
        whole = np.floor(times)
        # The fraction by itself, so that no digit of it is lost, and rounded within the second: a
        # number of seconds lies a little below or above its microsecond.
        fraction = np.minimum(np.round((times - whole) * 1e6), _SECOND - 1)
        micros = whole.astype(np.int64) * _SECOND + fraction.astype(np.int64)
    return int(micros) if micros.ndim == 0 else micros


def check_time(value: Time, name: str) -> int:
    """Return the microseconds since 1970 of one time."""
    # With 0 samples, an array of times is refused.
    micros = None if isinstance(value, np.ndarray | list | tuple) else check_times(value, 0, name)
    if not isinstance(micros, int):
        raise InvalidTypeError(f"{name} must be one time; found {short_repr(value)}")
    return micros


def shown_time(micros: int) -> str:
    """Return a time as ISO 8601, in UTC."""
    return str(np.datetime64(micros, "us").astype("datetime64[ms]")) + "Z"


def _as_array(value: Any, name: str) -> AnyVector:
    """Return times as numbers of seconds, or as dates in UTC."""
    times = np.asarray(_in_utc(value) if isinstance(value, date) else value)
    if times.dtype == object and all(isinstance(each, str) for each in times.flat):
        # Series of pandas have strings as objects.
        times = times.astype(np.str_)
    if times.dtype == object:
        if not all(isinstance(each, date) for each in times.flat):
            raise _no_times(value, name)
        times = np.array([_in_utc(each) for each in times.flat], "datetime64[us]")
    elif times.dtype.kind == "U":
        try:
            dates = [_from_text(str(each)) for each in times.flat]
        except ValueError:
            raise _no_times(value, name) from None
        times = np.array(dates, "datetime64[us]").reshape(times.shape)
    if times.dtype.kind not in "Miuf":
        raise _no_times(value, name)
    return times


def _in_utc(time: date) -> np.datetime64:
    """Return a date of any time zone; without one, it is taken as UTC."""
    # In pandas, a date may be none.
    if time != time:
        return np.datetime64("NaT", "us")
    if isinstance(time, datetime) and time.tzinfo is not None:
        time = time.astimezone(timezone.utc).replace(tzinfo=None)
    return np.datetime64(time, "us")


def _from_text(text: str) -> np.datetime64:
    """Return a date in ISO 8601 of any time zone; without one, it is taken as UTC."""
    ahead = 0
    if match := _ZONE.fullmatch(text):
        text, sign, hours, minutes = match.groups()
        ahead = (60 * int(hours or 0) + int(minutes or 0)) * (-1 if sign == "-" else 1)
    elif not text[:1].isdigit():
        # "now" is a date for NumPy.
        raise ValueError(text)
    return np.datetime64(text, "us") - np.timedelta64(ahead, "m")


def _no_times(value: object, name: str) -> InvalidTypeError:
    return InvalidTypeError(
        f"{name} must contain numbers of seconds since 1970, or dates; found {short_repr(value)}"
    )


def _refuse(bad: Any, times: AnyVector, name: str) -> None:
    if np.any(bad):
        first = int(np.argmax(bad))
        raise InvalidInputError(
            f"{name} must contain finite times before the year 10000, as dates or in seconds; "
            f"found {times.reshape(-1)[first]}, the first at index {first}"
        )
