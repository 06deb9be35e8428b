"""How far an empirical distribution may be from the true one."""

import math

import numpy as np
import pytest
from scipy.stats import kstwo

from fastad.uncertainty.rates.sequences import radius_at_all_times, radius_at_one_time

ALPHAS = [0.5, 0.05, 0.025, 1e-3, 1e-9]


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("n", [1, 10, 1000, 20_000])
def test_at_one_time_it_is_not_below_the_exact_quantile(n: int, alpha: float) -> None:
    """Of continuous distributions; of others the distance is smaller."""
    radius = radius_at_one_time(n, alpha)
    assert kstwo.sf(radius, n) <= alpha * (1 + 1e-9)
    if 100 < n <= 1000 and alpha < 0.1:
        assert kstwo.sf(0.97 * radius, n) > alpha


@pytest.mark.parametrize("alpha", ALPHAS)
def test_at_all_times_it_is_a_case_of_the_theorem(alpha: float) -> None:
    """The probability that theorem 2 of Howard and Ramdas bounds, over its free parameter eta."""
    a, c = 0.85, 0.8 * math.log(1620 / alpha)
    eta = np.linspace(1.0001, 2 * a * a, 10_000)
    slack = a - np.sqrt(2 * (eta - 1) / c)
    gamma = 2 / eta * slack**2
    possible = (slack > 0) & (gamma > 1)
    error = 4 * np.exp(-gamma * c) * (1 + 1 / ((gamma - 1) * np.log(eta)))
    assert error[possible].min() <= alpha
    for n in (100, 10_000):
        expected = a * math.sqrt((math.log(math.log(math.e * n)) + c) / n)
        assert radius_at_all_times(n, alpha) == pytest.approx(min(1, expected))


def test_without_samples_nothing_is_known() -> None:
    assert radius_at_one_time(0, 0.05) == radius_at_all_times(0, 0.05) == 1
    assert radius_at_all_times(1, 0.05) == 1
