"""What once went wrong with volumes and boxes."""

import math
import pickle
from fractions import Fraction
from typing import Any

import numba
import numpy as np
import numpy.typing as npt
import pytest
from sklearn.ensemble import IsolationForest

import fastad
from fastad.regions.results import format_exp
from fastad.regions.scores import into_cube

Floats = npt.NDArray[np.float64]

SQUARE = fastad.Box([-1, -1], [1, 1])


def first(X: Floats) -> Floats:
    return X[:, 0]


@numba.njit
def sixth(x: Floats) -> float:
    return x[5]  # type: ignore[no-any-return]


class Nowhere(fastad.detectors.CompiledScorer):
    """Scores that are no numbers."""

    n_features, name = 2, "nowhere"

    def score_block(self, points: Floats, scores: Floats) -> None:
        scores[:] = np.where(points[0] > 0, np.nan, 1.0)


def test_a_table_needs_a_box_of_its_features() -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    score = fastad.compile_scorer(IsolationForest(random_state=0).fit(X))
    with pytest.raises(fastad.InvalidInputError, match="box must have 3 features as X; found 1"):
        fastad.volumes({"a": score}, X, np.zeros(300), box=fastad.Box([-3], [3]), rng=0)


NARROW = [(-1e-310, 1e-310), (0.0, 2e-323), (1e-300, 1e-300 + 8e-316), (0.0, 1e-291)]


@pytest.mark.parametrize("method", ["uniform", "sobol"])
@pytest.mark.parametrize(("low", "high"), NARROW)
def test_narrow_ranges_are_filled(low: float, high: float, method: Any) -> None:
    middle = low + (high - low) / 2
    result = fastad.volume(first, middle, fastad.Box([low], [high]), method=method, rng=0)
    assert 0.2 < result.value < 0.8


@pytest.mark.parametrize(
    ("low", "high"), [*NARROW, (0.0, 5e-324), (-3.0, 5.0), (-1.7e308, 1.7e308)]
)
def test_data_are_at_their_fraction_of_any_range(low: float, high: float) -> None:
    middle = float((Fraction(low) + Fraction(high)) / 2)
    expected = [
        float((Fraction(x) - Fraction(low)) / (Fraction(high) - Fraction(low)))
        for x in (low, middle)
    ]
    samples = np.array([[low], [middle]])
    result = into_cube(fastad.Box([low], [high]), samples, np.random.default_rng(0))
    np.testing.assert_allclose(result[0], np.minimum(expected, np.nextafter(1, 0)), rtol=1e-15)


@pytest.mark.parametrize("options", [{}, {"rtol": 0.1}, {"method": "sobol"}])
def test_nan_of_a_compiled_score_is_an_error(options: dict[str, Any]) -> None:
    with pytest.raises(fastad.InvalidInputError, match="detector must not return NaN; found"):
        fastad.volume(Nowhere(), 0.5, SQUARE, rng=0, **options)


@pytest.mark.evidence
def test_few_hits_among_sobol_points_cover_the_true_value() -> None:
    """A corner of the unit cube in four dimensions, with five hits on average."""
    fraction = 5 / 1024
    box, threshold = fastad.Box([0] * 4, [1] * 4), fraction ** (1 / 4)
    covered = 0
    for seed in range(200):
        result = fastad.volume(
            lambda X: X.max(axis=1), threshold, box, method="sobol", n_draws=1024, rng=seed
        )
        covered += result.low <= fraction <= result.high
    assert covered >= 177  # four deviations below 190


def test_parallel_functions_are_called_by_one_thread() -> None:
    from fastad.regions.scores import block_score

    @numba.njit(parallel=True)
    def loop(x: Floats) -> float:
        return x[0]  # type: ignore[no-any-return]

    assert not block_score(loop, 2).on_threads
    assert block_score(numba.njit(loop.py_func), 2).on_threads


def test_estimates_go_to_other_processes() -> None:
    result = fastad.volume(first, 0.0, SQUARE, method="uniform", n_draws=1000, rng=0)
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()
    with pytest.raises(fastad.InvalidInputError, match="by the process that drew"):
        again.extend(10)
    table = fastad.volumes({"a": first}, np.eye(2), [0, 0], fpr=0.5, n_draws=2000, rng=0)
    assert pickle.loads(pickle.dumps(table)).to_dict() == table.to_dict()


@pytest.mark.parametrize(
    ("widths", "volume"),
    [
        ([1e300, 1e300, 1e-300, 1e-300], 1.0),
        ([1e-300, 1e-300, 1e300, 1e300], 1.0),
        ([1e-200, 1e-200, 1e300], 1e-100),
        ([1e-200, 1e-120, 1e300], 1e-20),
        ([1e300, 1e300], math.inf),
        ([1e-300, 1e-300], 0.0),
    ],
)
def test_volumes_survive_what_overflows_on_the_way(widths: list[float], volume: float) -> None:
    result = fastad.Box([0.0] * len(widths), widths)
    assert result.volume == pytest.approx(volume, rel=1e-9, abs=0)


def test_a_box_may_span_more_than_the_largest_number() -> None:
    box = fastad.Box.from_data([[-1e308], [1e308], [3.0]])
    assert box.log_volume == pytest.approx(math.log(2) + 308 * math.log(10))
    assert fastad.volume(first, 0.0, box, rng=0).value == pytest.approx(0.5, abs=0.01)
    with pytest.raises(fastad.InvalidInputError, match="margin must leave"):
        fastad.Box.from_data([[-1e308], [1e308], [3.0]], margin=1)


def test_rates_that_print_alike_are_refused() -> None:
    with pytest.raises(fastad.InvalidInputError, match="differ in six digits"):
        fastad.volumes({"a": first}, np.eye(2), [0, 0], fpr=[0.01, 0.010000001], rng=0)


def test_a_function_of_more_features_is_refused() -> None:
    with pytest.raises(fastad.InvalidInputError, match="a point of 2 features"):
        fastad.volume(sixth, 0.5, SQUARE, rng=0)


def test_a_wished_error_asks_for_few_points() -> None:
    n_scored = 0

    def score(X: Floats) -> Floats:
        nonlocal n_scored
        n_scored += X.shape[0]
        return X[:, 0]

    result = fastad.volume(score, 2.0, SQUARE, rtol=0.3, rng=0)
    assert result.n_drawn == 14
    assert n_scored <= 100


@pytest.mark.parametrize(
    ("digits", "text"), [(1, "1e-867"), (3, "1e-867"), (4, "9.996e-868"), (5, "9.996e-868")]
)
def test_digits_that_round_up_to_ten_are_those_of_one(digits: int, text: str) -> None:
    assert format_exp(math.log(9.996) - 868 * math.log(10), digits) == text


def test_a_box_can_be_changed_by_parts() -> None:
    import dataclasses

    wider = dataclasses.replace(fastad.Box([0, 0], [1, 1]), low=np.array([-1.0, 0.0]))
    assert wider.volume == 2
