import numpy as np
import pytest
from scipy.stats import truncnorm

from fastad.regions.importance_sampling.marginals import fit_marginals


def _fitted(mean: float, spread: float) -> tuple[float, float]:
    """Return the mean and deviation, by SciPy, of the distribution fitted to two moments."""
    points = np.array([[mean - spread, mean + spread]])
    (other,) = fit_marginals(points, np.array([0.5, 0.5]), [0]).others
    centre, width = float(other.centres[0, 0]), float(other.widths[0, 0])  # type: ignore[union-attr]
    law = truncnorm(-centre / width, (1 - centre) / width, loc=centre, scale=width)
    return float(law.mean()), float(law.std())


@pytest.mark.parametrize("mean", [0.05, 0.2, 0.4, 0.45, 0.4999, 0.5, 0.5001, 0.55, 0.6, 0.8, 0.95])
@pytest.mark.parametrize("excess", [1.0, 1.001, 1.02, 1.2])
def test_margins_without_a_peak_keep_their_mean(mean: float, excess: float) -> None:
    # As wide as the uniform one, or the exponential one near a side, or wider: the fit is bounded.
    spread = excess * min(12**-0.5, mean, 1 - mean)
    assert _fitted(mean, spread)[0] == pytest.approx(mean, abs=5e-3)
