"""Uniform draws: the quality of their random numbers."""

import math

import numpy as np
import pytest
from scipy import stats

from fastad.regions.box import Box
from tests.support.volumes import Array, drawn

SEEDS = range(24)
SOURCES = ("fastad", "philox")


def unit_points(source: str, n: int, d: int, seed: int) -> Array:
    """Points of the unit cube; those of Philox show that a test is fair."""
    if source == "philox":
        return np.random.Generator(np.random.Philox(seed)).random((n, d))
    return drawn(Box([0] * d, [1] * d), n, seed)


def check_uniform(p_values: list[float]) -> None:
    """p-values of what is random are uniform themselves."""
    assert min(p_values) > 1e-3 / len(p_values)
    assert stats.kstest(p_values, "uniform").pvalue > 1e-3


def chi_square(cells: Array, n_cells: int) -> float:
    return float(stats.chisquare(np.bincount(cells, minlength=n_cells)).pvalue)


@pytest.mark.parametrize("source", SOURCES)
def test_numbers_are_uniform_in_each_coordinate(source: str) -> None:
    p_values = []
    for seed in SEEDS:
        points = unit_points(source, 10_000, 3, seed)
        assert points.min() >= 0
        assert points.max() < 1
        p_values += [chi_square((x * 100).astype(int), 100) for x in points.T]
    check_uniform(p_values)


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("bits", [8, 20, 32, 45])
def test_low_bits_are_as_random_as_high_ones(source: str, bits: int) -> None:
    p_values = []
    for seed in SEEDS:
        numbers = unit_points(source, 10_000, 1, seed)[:, 0]
        p_values.append(chi_square((numbers * 2.0**bits % 1 * 2**8).astype(int), 2**8))
    check_uniform(p_values)


@pytest.mark.parametrize("source", SOURCES)
def test_pairs_and_triples_fill_the_cube_evenly(source: str) -> None:
    """Of coordinates of a point, of neighbours among the points, and of both."""
    p_values = []
    for seed in SEEDS:
        cells = (unit_points(source, 20_000, 4, seed) * 8).astype(int)
        p_values.append(chi_square(cells[:, 0] * 8 + cells[:, 3], 64))
        p_values.append(chi_square(cells[::2, 2] * 8 + cells[1::2, 2], 64))
        p_values.append(chi_square((cells[:, 0] * 8 + cells[:, 1]) * 8 + cells[:, 2], 512))
    check_uniform(p_values)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("d", [1, 2, 8])
def test_numbers_are_correlated_neither_serially_nor_across_coordinates(
    source: str, d: int
) -> None:
    n, scores = 5000, []
    for seed in SEEDS:
        points = unit_points(source, n, d, seed) - 0.5
        for lag in (0, 1, 2, 64):
            products = points[: n - lag].T @ points[lag:] * 12 / math.sqrt(n - lag)
            scores += products[np.triu_indices(d, k=1 if lag == 0 else 0)].tolist()
    check_uniform([math.erfc(abs(z) / math.sqrt(2)) for z in scores])


@pytest.mark.parametrize("source", SOURCES)
def test_distances_between_neighbours_follow_their_distribution(source: str) -> None:
    """The smallest of many is exponential, the largest as of so many exponential numbers."""
    n, smallest, largest = 2000, [], []
    for seed in range(150):
        gaps = np.diff(np.sort(unit_points(source, n, 1, seed)[:, 0]), prepend=0, append=1)
        smallest.append(gaps.min() * n * (n + 1))
        largest.append(gaps.max() * (n + 1) - math.log(n + 1))
    assert stats.kstest(smallest, "expon").pvalue > 1e-3
    assert stats.kstest(largest, "gumbel_r").pvalue > 1e-3


def test_no_number_comes_twice() -> None:
    """Half a million of 2**53: the chance of any pair is 1e-5."""
    points = drawn(Box([0] * 5, [1] * 5), 100_000, 9)
    assert len(np.unique(points)) == points.size


def test_streams_of_neighbouring_seeds_have_nothing_in_common() -> None:
    n = 4000
    streams = np.array([drawn(Box([0], [1]), n, seed)[:, 0] for seed in range(40)]) - 0.5
    products = streams @ streams.T * 12 / math.sqrt(n)
    check_uniform([math.erfc(abs(z) / math.sqrt(2)) for z in products[np.triu_indices(40, k=1)]])
    assert len(np.unique(streams)) == streams.size
