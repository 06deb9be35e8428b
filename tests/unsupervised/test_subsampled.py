"""``evaluate_unsupervised`` in random subspaces: Goix 2016, algorithm 1; seeds, processes."""

import math
from collections import Counter
from itertools import combinations
from typing import Any

import joblib
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import chisquare
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import fastad
from fastad.errors import InvalidInputError
from tests.support.subsampled import TEST, TRAIN, Matrix, Score, bits, evaluate, oblong, squared

# Algorithm 1.


def literal(result: Any, X_train: Matrix, X_test: Matrix, factory: Any, n_draws: int) -> Any:
    """Return means of both criteria over draws, in a loop with uniform points of its own."""
    rng = np.random.default_rng(99)
    em, mv = [], []
    for features in result.features:
        train, test = X_train[:, features], X_test[:, features]
        score = factory(train)
        low, high = test.min(axis=0), test.max(axis=0)
        points = rng.uniform(low, high, size=(n_draws, len(features)))
        scores = score(test), score(points), float(np.prod(high - low))
        em.append(fastad.excess_mass_curve(*scores).area(0.9))
        mv.append(fastad.mass_volume_curve(*scores).area(0.9, 0.999))
    return em, mv


@pytest.mark.parametrize("n_features", [1, 3])
def test_algorithm_1_is_a_loop_over_draws(n_features: int) -> None:
    scales = np.arange(1, 7)
    train, test = TRAIN * scales, TEST * scales
    result = evaluate({"it": squared}, train, test, n_features=n_features, n_draws=200_000)
    em, mv = literal(result, train, test, squared, 200_000)
    # Of 2e5 uniform points some thousands fall inside: an error of 2 % in each of both.
    assert np.exp(result.draws["it"]) == pytest.approx(np.transpose([em, mv]), rel=0.06)
    assert result["it"].em.value == pytest.approx(np.mean(em), rel=0.04)
    assert result["it"].mv.value == pytest.approx(np.mean(mv), rel=0.04)


@pytest.mark.slow
def test_a_detector_of_scikit_learn_is_trained_in_each_subspace() -> None:
    result = evaluate({"it": NearestNeighbors()}, n_draws=100_000)

    def nearest(X: Matrix) -> Score:
        fitted = NearestNeighbors().fit(X)
        return lambda rows: fitted.kneighbors(rows)[0][:, -1]

    em, mv = literal(result, TRAIN, TEST, nearest, 100_000)
    assert np.exp(result.draws["it"]) == pytest.approx(np.transpose([em, mv]), rel=0.06)


def test_the_density_of_gaussian_data_has_a_closed_form() -> None:
    """The level set of mass a of two normal features has the area -2 pi log(1 - a)."""
    scales = np.array([1.0, 2.0, 5.0])
    X = np.random.default_rng(1).normal(size=(20_000, 3)) * scales

    def density(rows: Matrix) -> Score:
        deviation = rows.std(axis=0)
        return lambda points: ((points / deviation) ** 2).sum(axis=1)

    result = evaluate({"it": density}, X[:10_000], X[10_000:], n_subspaces=6, n_draws=200_000)

    def antiderivative(a: float) -> float:  # of -log(1 - a)
        return (1 - a) * math.log(1 - a) + a

    mv = 2 * math.pi * (antiderivative(0.999) - antiderivative(0.9))
    # EM(t) = 1 - u + u log u at u = 2 pi t.
    u = brentq(lambda u: 0.1 - u + u * math.log(u), 1e-9, 1)
    em = (u - 0.75 * u**2 + u**2 * math.log(u) / 2) / (2 * math.pi)
    units = scales[result.features].prod(axis=1)
    assert len(set(units)) > 1
    # 10^4 test points have 10 beyond the mass 0.999: the tail of MV is seen to 3 %.
    expected = np.column_stack([em / units, mv * units])
    assert np.exp(result.draws["it"]) == pytest.approx(expected, rel=0.1)
    assert result["it"].em.value == pytest.approx(np.mean(em / units), rel=0.06)
    assert result["it"].mv.value == pytest.approx(np.mean(mv * units), rel=0.06)


def test_values_are_means_of_the_draws() -> None:
    result = evaluate({"a": squared, "b": oblong}, n_subspaces=9)
    for name, criteria in result.items():
        assert result.draws[name].shape == (9, 2)
        for c, one in enumerate(criteria):
            mean = np.exp(result.draws[name][:, c]).mean()
            assert one.value == pytest.approx(mean, rel=1e-12)
            assert one.log_value == pytest.approx(math.log(mean), abs=1e-12)
            assert one.low < one.value < one.high
            assert (one.n_test, one.n_uniform, one.n_undefined) == (200, 2000, 0)


def test_masses_are_passed_on() -> None:
    result = evaluate({"it": squared}, mass=(0.2, 0.6), excess_mass=0.5, n_draws=50_000)
    wide = evaluate({"it": squared}, mass=(0.2, 0.6), excess_mass=0.4, n_draws=50_000)
    usual = evaluate({"it": squared}, n_draws=50_000)
    assert (wide.draws["it"][:, 0] > result.draws["it"][:, 0]).all()
    assert (wide.draws["it"][:, 1] == result.draws["it"][:, 1]).all()
    assert (result.draws["it"] != usual.draws["it"]).all()


def test_the_box_is_that_of_the_test_rows_and_integers_have_a_width() -> None:
    """Two values only: the box reaches from one to the other, and no value is a unit."""
    X = np.repeat([[0.0, 0.0], [0.0, 4.0], [3.0, 0.0], [3.0, 4.0]], 25, axis=0)
    flat = {"flat": lambda _: lambda rows: np.zeros(len(rows))}
    result = evaluate(flat, X * 100, X, n_features=2)
    assert result["flat"].mv.value == pytest.approx(0.099 * 12)
    assert result["flat"].em.value == pytest.approx(0.095 / 12)


# Draws of features.


def test_features_are_drawn_without_replacement_and_rise() -> None:
    result = evaluate({"it": squared}, n_subspaces=40, n_features=3, n_draws=200)
    assert result.features.shape == (40, 3)
    assert (np.diff(result.features, axis=1) > 0).all()
    assert result.features.min() >= 0
    assert result.features.max() <= 5


def test_all_subsets_are_drawn_equally_often() -> None:
    flat = {"flat": lambda _: lambda rows: np.zeros(len(rows))}
    result = evaluate(flat, TRAIN[:3], TEST[:3], n_subspaces=750, n_draws=2)
    counts = Counter(tuple(features) for features in result.features.tolist())
    assert set(counts) == set(combinations(range(6), 2))
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_constant_features_are_never_drawn() -> None:
    X = TEST.copy()
    X[:, [0, 3]] = 5.0
    result = evaluate({"it": squared}, TRAIN, X, n_subspaces=30, n_draws=200)
    assert set(result.features.ravel().tolist()) == {1, 2, 4, 5}
    assert np.isfinite(result.draws["it"]).all()


def test_what_is_constant_in_training_alone_is_drawn() -> None:
    X = TRAIN.copy()
    X[:, :5] = 1.0
    assert np.isfinite(
        evaluate({"forest": IsolationForest(n_estimators=5)}, X).draws["forest"]
    ).all()


def test_all_features_may_be_drawn() -> None:
    assert evaluate({"it": squared}, n_features=6).features.tolist() == [list(range(6))] * 4


# Seeds, processes and threads.


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, Matrix]]:
    """Forests, and the rows that they are fitted to from here on."""
    seen: list[tuple[Any, Matrix]] = []
    fit = IsolationForest.fit

    def spy(self: Any, X: Matrix, *rest: Any, **more: Any) -> Any:
        seen.append((self, X))
        return fit(self, X, *rest, **more)

    monkeypatch.setattr(IsolationForest, "fit", spy)
    return seen


SEVERAL = {
    "forest": IsolationForest(n_estimators=5),
    "knn": NearestNeighbors(),
    "scaled": make_pipeline(StandardScaler(), OneClassSVM()),
    "squared": squared,
}


@pytest.mark.system
def test_the_number_of_processes_changes_no_bit() -> None:
    one = evaluate(SEVERAL, n_draws=30_000)
    assert bits(evaluate(SEVERAL, n_draws=30_000, n_jobs=1)) == bits(one)
    assert bits(evaluate(SEVERAL, n_draws=30_000, n_jobs=2)) == bits(one)


@pytest.mark.slow
def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    one = evaluate(SEVERAL, n_draws=30_000)
    with joblib.parallel_config(backend="threading"):
        assert bits(evaluate(SEVERAL, n_draws=30_000, n_jobs=2)) == bits(one)
    for n_threads in ("1", "3"):
        monkeypatch.setenv("FASTAD_NUM_THREADS", n_threads)
        assert bits(evaluate(SEVERAL, n_draws=30_000)) == bits(one)


@pytest.mark.slow
def test_a_seed_or_a_generator_gives_the_same_and_another_seed_does_not() -> None:
    one = evaluate(SEVERAL)
    assert bits(evaluate(SEVERAL)) == bits(one)
    assert bits(evaluate(SEVERAL, rng=np.random.default_rng(0))) == bits(one)
    assert bits(evaluate(SEVERAL, rng=1)) != bits(one)
    generator = np.random.default_rng(0)
    assert bits(evaluate(SEVERAL, rng=generator)) == bits(one)
    assert bits(evaluate(SEVERAL, rng=generator)) != bits(one)  # which has gone on
    assert bits(evaluate(SEVERAL, rng=None)) != bits(evaluate(SEVERAL, rng=None))


def test_a_detector_s_result_does_not_hang_on_the_others() -> None:
    together = evaluate(SEVERAL)
    for name in ("knn", "forest"):
        alone = evaluate({name: SEVERAL[name]})
        assert alone.draws[name].tobytes() == together.draws[name].tobytes()
        for criterion, among_others in zip(alone[name], together[name], strict=True):
            assert (criterion.value, criterion.low, criterion.high) == (
                among_others.value,
                among_others.low,
                among_others.high,
            )


def test_an_estimator_is_copied_and_seeded_in_each_draw(fits: list[tuple[Any, Matrix]]) -> None:
    forest = IsolationForest(n_estimators=5)
    result = evaluate({"it": forest}, n_subspaces=6)
    assert forest.random_state is None
    assert not hasattr(forest, "estimators_")
    assert forest not in [copy for copy, _ in fits]
    seeds = [forest.random_state for forest, _ in fits]
    assert None not in seeds
    assert len(set(seeds)) == 6
    assert {forest.n_estimators for forest, _ in fits} == {5}
    for (_, X), features in zip(fits, result.features, strict=True):
        assert X.dtype == np.float64
        assert (TRAIN[:, features] == X).all()
    fits.clear()
    # A seed that the user gave, which would make all draws the same, is replaced.
    again = evaluate({"it": IsolationForest(n_estimators=5, random_state=3)}, n_subspaces=6)
    assert [forest.random_state for forest, _ in fits] == seeds
    assert bits(again) == bits(result)


@pytest.mark.filterwarnings("ignore::fastad.errors.BatchScorerWarning")
def test_the_steps_of_a_pipeline_get_seeds_of_their_own(
    fits: list[tuple[Any, Matrix]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds_of_pca: list[int | None] = []
    fit_transform = PCA.fit_transform

    def spy(self: Any, *rest: Any, **more: Any) -> Any:
        seeds_of_pca.append(self.random_state)
        return fit_transform(self, *rest, **more)

    monkeypatch.setattr(PCA, "fit_transform", spy)
    pipeline = make_pipeline(PCA(2), IsolationForest(n_estimators=5))
    evaluate({"it": pipeline}, n_subspaces=5, n_draws=200)
    assert len(seeds_of_pca) == len(fits) == 5
    assert len({*seeds_of_pca, *(forest.random_state for forest, _ in fits)} - {None}) == 10
    assert pipeline[0].random_state is pipeline[1].random_state is None
    assert not hasattr(pipeline[1], "estimators_")


def test_a_fitted_detector_stays_as_it_is() -> None:
    forest = IsolationForest(n_estimators=5, random_state=0).fit(TRAIN[:50])
    before = forest.score_samples(TEST)
    evaluate({"forest": forest})
    assert (forest.score_samples(TEST) == before).all()
    assert forest.random_state == 0
    assert forest.n_features_in_ == 6


def test_an_estimator_whose_orientation_is_unknown_is_copied_and_refused() -> None:
    class Unknown:
        fitted = False

        def fit(self, X: Matrix) -> "Unknown":
            self.fitted = True
            return self

    unknown = Unknown()
    with pytest.raises(InvalidInputError, match="must be a detector of scikit-learn or PyOD"):
        evaluate({"it": unknown})
    assert not unknown.fitted


def test_a_function_is_given_the_training_rows_once_in_each_draw() -> None:
    given = []

    def learn(X: Matrix) -> Score:
        given.append(X)
        return squared(X)

    result = evaluate({"it": learn})
    assert len(given) == 4
    for X, features in zip(given, result.features, strict=True):
        assert X.flags.c_contiguous
        assert (TRAIN[:, features] == X).all()
