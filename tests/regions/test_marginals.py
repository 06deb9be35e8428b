"""Distributions of single coordinates, against SciPy's truncated normal ones, and uniform ones."""

import numpy as np
import pytest
from scipy.stats import norm, truncnorm

from fastad.regions.splitting.marginals import Steps, Truncated, fit_marginals


@pytest.mark.parametrize("low", [True, False])
@pytest.mark.parametrize(("mean", "spread"), [(0.5, 0.3), (0.1, 0.2), (0.01, 0.004), (0.3, 0.1)])
def test_truncated_normal_distributions(mean: float, spread: float, low: bool) -> None:
    side = 1.0 if low else -1.0
    rng = np.random.default_rng(0)
    ends = np.array([-mean, 1 - mean]) / spread
    drawn = truncnorm(*ends, mean, spread).rvs((2, 400), random_state=rng)
    points = np.clip(0.5 + side * (drawn - 0.5), 0.0, np.nextafter(1.0, 0.0))
    fitted = fit_marginals(points, np.full(400, 1 / 400), [0, 0])
    (cut,) = fitted.others
    assert isinstance(cut, Truncated)

    grid = np.linspace(0.001, 0.999, 200)
    normal, jacobian = fitted.to_normal(np.stack([grid, grid]))
    logs, least = np.zeros(200), -norm.ppf(1e-300)
    for j in range(2):
        centre, width = cut.centres[j, 0], cut.widths[j, 0]
        oracle = truncnorm(-centre / width, (1 - centre) / width, centre, width)
        # Of all such distributions the one with the moments of the points is the most likely.
        moments = points[j].mean(), points[j].std()
        assert (oracle.mean(), oracle.std()) == pytest.approx(moments, rel=1e-9)
        z = np.where(grid < centre, norm.ppf(oracle.cdf(grid)), -norm.ppf(oracle.sf(grid)))
        np.testing.assert_allclose(normal[j], np.clip(z, -least, least), rtol=1e-6, atol=1e-7)
        logs += oracle.logpdf(grid) - norm.logpdf(normal[j])
    inner = np.abs(normal).max(axis=0) < 37  # farther out is no number
    np.testing.assert_allclose(jacobian[inner], logs[inner], rtol=1e-6, atol=1e-6)
    inner = np.abs(normal).max(axis=0) < 8
    np.testing.assert_allclose(fitted.to_cube(normal)[:, inner], [grid[inner]] * 2, rtol=1e-7)
    # Views are as good as arrays.
    np.testing.assert_array_equal(
        fitted.to_normal(points[:, ::3])[0], fitted.to_normal(points)[0][:, ::3]
    )


def test_coordinates_of_a_box_are_uniform_between_ends() -> None:
    """With a rest outside; where they are few, or not those of a box, they stay as they were."""
    rng, d, n = np.random.default_rng(0), 12, 400
    even = np.full(n, 1 / n)
    low, high = np.linspace(0.0, 0.5, d)[:, None], np.linspace(0.2, 0.9, d)[:, None]
    points = low + (high - low) * rng.random((d, n))
    fitted = fit_marginals(points, even, [0] * d)
    assert all(isinstance(each, Steps) for each in fitted.others)
    assert [each.feature for each in fitted.others if isinstance(each, Steps)] == list(range(d))
    normal, jacobian = fitted.to_normal(points)
    logs = jacobian + norm.logpdf(normal).sum(axis=0)
    np.testing.assert_allclose(logs, -np.log(high - low).sum(), atol=0.5 + 3 * d / n)
    np.testing.assert_allclose(fitted.to_cube(normal), points, rtol=1e-9)
    # Half a coordinate of a draw lies outside, on average.
    drawn = fitted.to_cube(rng.standard_normal((d, 100_000)))
    outside = ((drawn < low) | (drawn > high)).sum(axis=0)
    assert outside.mean() == pytest.approx(0.5, abs=0.15)
    ball = rng.standard_normal((d, n))
    ball *= 0.3 * rng.random(n) ** (1 / d) / np.linalg.norm(ball, axis=0)
    for others in (points[:4], 0.5 + 0.05 * rng.standard_normal((d, n)), 0.5 + ball):
        fitted = fit_marginals(others, even, [0] * len(others))
        assert not any(isinstance(each, Steps) for each in fitted.others)
