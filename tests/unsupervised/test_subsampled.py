"""``emmv_subsampled``: algorithm 1 of Goix 2016, its draws, and what it trains."""

import importlib
import json
import math
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from itertools import combinations
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt
import pytest
from scipy.optimize import brentq
from scipy.stats import binom, chisquare
from sklearn.covariance import EllipticEnvelope
from sklearn.decomposition import PCA
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

import fastad
from fastad.errors import BatchScorerWarning, InvalidInputError, MissingExtraError

Matrix = npt.NDArray[np.float64]
Score = Callable[[Matrix], Matrix]

_RNG = np.random.default_rng(7)
TRAIN, TEST = _RNG.normal(size=(2, 200, 6))
FEW: dict[str, Any] = {
    **{"n_subspaces": 4, "n_features": 2, "n_uniform": 2000, "n_resamples": 50, "rng": 0}
}


def squared(X: Matrix) -> Score:
    """Learn the distance to the mean, squared."""
    centre = X.mean(axis=0)
    return lambda rows: ((rows - centre) ** 2).sum(axis=1)


def oblong(X: Matrix) -> Score:
    """Learn to heed the first feature alone."""
    centre = X[:, 0].mean()
    return lambda rows: abs(rows[:, 0] - centre)


def by_heart(X: Matrix) -> Score:
    """Learn to know the test rows again, which meet no uniform point."""
    return lambda rows: np.where(np.isin(rows[:, 0], TEST), 0.0, 1.0)


def evaluate(detectors: Any, X_train: Any = TRAIN, X_test: Any = TEST, **options: Any) -> Any:
    return fastad.unsupervised.emmv_subsampled(detectors, X_train, X_test, **{**FEW, **options})


def bits(found: Any) -> Any:
    """All that was found; NaN is compared by its text."""
    return (
        found.to_json(),
        found.features.tolist(),
        {k: v.tobytes() for k, v in found.draws.items()},
    )


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


# --- algorithm 1


def literal(found: Any, X_train: Matrix, X_test: Matrix, factory: Any, n_uniform: int) -> Any:
    """Return means of both criteria over draws, in a loop with uniform points of its own."""
    rng = np.random.default_rng(99)
    em, mv = [], []
    for features in found.features:
        train, test = X_train[:, features], X_test[:, features]
        score = factory(train)
        low, high = test.min(axis=0), test.max(axis=0)
        points = rng.uniform(low, high, size=(n_uniform, len(features)))
        scores = score(test), score(points), float(np.prod(high - low))
        em.append(fastad.excess_mass_curve(*scores).area(0.9))
        mv.append(fastad.mass_volume_curve(*scores).area(0.9, 0.999))
    return em, mv


@pytest.mark.parametrize("n_features", [1, 3])
def test_algorithm_1_is_a_loop_over_draws(n_features: int) -> None:
    scales = np.arange(1, 7)
    train, test = TRAIN * scales, TEST * scales
    found = evaluate({"it": squared}, train, test, n_features=n_features, n_uniform=200_000)
    em, mv = literal(found, train, test, squared, 200_000)
    # Of 2e5 uniform points some thousands fall inside: an error of 2 % in each of both.
    assert np.exp(found.draws["it"]) == pytest.approx(np.transpose([em, mv]), rel=0.06)
    assert found["it"].em.value == pytest.approx(np.mean(em), rel=0.04)
    assert found["it"].mv.value == pytest.approx(np.mean(mv), rel=0.04)


def test_a_detector_of_scikit_learn_is_trained_in_each_subspace() -> None:
    found = evaluate({"it": NearestNeighbors()}, n_uniform=100_000)

    def nearest(X: Matrix) -> Score:
        fitted = NearestNeighbors().fit(X)
        return lambda rows: fitted.kneighbors(rows)[0][:, -1]

    em, mv = literal(found, TRAIN, TEST, nearest, 100_000)
    assert np.exp(found.draws["it"]) == pytest.approx(np.transpose([em, mv]), rel=0.06)


def test_the_density_of_gaussian_data_has_a_closed_form() -> None:
    """The level set of mass a of two normal features has the area -2 pi log(1 - a)."""
    scales = np.array([1.0, 2.0, 5.0])
    X = np.random.default_rng(1).normal(size=(20_000, 3)) * scales

    def density(rows: Matrix) -> Score:
        own = rows.std(axis=0)
        return lambda points: ((points / own) ** 2).sum(axis=1)

    found = evaluate({"it": density}, X[:10_000], X[10_000:], n_subspaces=6, n_uniform=200_000)

    def antiderivative(a: float) -> float:  # of -log(1 - a)
        return (1 - a) * math.log(1 - a) + a

    mv = 2 * math.pi * (antiderivative(0.999) - antiderivative(0.9))
    # EM(t) = 1 - u + u log u at u = 2 pi t.
    u = brentq(lambda u: 0.1 - u + u * math.log(u), 1e-9, 1)
    em = (u - 0.75 * u**2 + u**2 * math.log(u) / 2) / (2 * math.pi)
    units = scales[found.features].prod(axis=1)
    assert len(set(units)) > 1
    # 10^4 test points have 10 beyond the mass 0.999: the tail of MV is seen to 3 %.
    truth = np.column_stack([em / units, mv * units])
    assert np.exp(found.draws["it"]) == pytest.approx(truth, rel=0.1)
    assert found["it"].em.value == pytest.approx(np.mean(em / units), rel=0.06)
    assert found["it"].mv.value == pytest.approx(np.mean(mv * units), rel=0.06)


def test_values_are_means_of_the_draws() -> None:
    found = evaluate({"a": squared, "b": oblong}, n_subspaces=9)
    for name, criteria in found.items():
        assert found.draws[name].shape == (9, 2)
        for c, one in enumerate(criteria):
            mean = np.exp(found.draws[name][:, c]).mean()
            assert one.value == pytest.approx(mean, rel=1e-12)
            assert one.log_value == pytest.approx(math.log(mean), abs=1e-12)
            assert one.low < one.value < one.high
            assert (one.n_test, one.n_uniform, one.n_undefined) == (200, 2000, 0)


def test_masses_are_passed_on() -> None:
    found = evaluate({"it": squared}, mass=(0.2, 0.6), excess_mass=0.5, n_uniform=50_000)
    wide = evaluate({"it": squared}, mass=(0.2, 0.6), excess_mass=0.4, n_uniform=50_000)
    usual = evaluate({"it": squared}, n_uniform=50_000)
    assert (wide.draws["it"][:, 0] > found.draws["it"][:, 0]).all()
    assert (wide.draws["it"][:, 1] == found.draws["it"][:, 1]).all()
    assert (found.draws["it"] != usual.draws["it"]).all()


def test_the_box_is_that_of_the_test_rows_and_whole_numbers_have_a_width() -> None:
    """Two values only: the box reaches from one to the other, and no value is a unit."""
    X = np.repeat([[0.0, 0.0], [0.0, 4.0], [3.0, 0.0], [3.0, 4.0]], 25, axis=0)
    flat = {"flat": lambda _: lambda rows: np.zeros(len(rows))}
    found = evaluate(flat, X * 100, X, n_features=2)
    assert found["flat"].mv.value == pytest.approx(0.099 * 12)
    assert found["flat"].em.value == pytest.approx(0.095 / 12)


# --- draws of features


def test_features_are_drawn_without_replacement_and_rise() -> None:
    found = evaluate({"it": squared}, n_subspaces=40, n_features=3, n_uniform=200)
    assert found.features.shape == (40, 3)
    assert (np.diff(found.features, axis=1) > 0).all()
    assert found.features.min() >= 0
    assert found.features.max() <= 5


def test_all_subsets_are_drawn_equally_often() -> None:
    flat = {"flat": lambda _: lambda rows: np.zeros(len(rows))}
    found = evaluate(flat, TRAIN[:3], TEST[:3], n_subspaces=1500, n_uniform=2)
    counts = Counter(tuple(features) for features in found.features.tolist())
    assert set(counts) == set(combinations(range(6), 2))
    assert chisquare(list(counts.values())).pvalue > 1e-3


def test_constant_features_are_never_drawn() -> None:
    X = TEST.copy()
    X[:, [0, 3]] = 5.0
    found = evaluate({"it": squared}, TRAIN, X, n_subspaces=30, n_uniform=200)
    assert set(found.features.ravel().tolist()) == {1, 2, 4, 5}
    assert np.isfinite(found.draws["it"]).all()


def test_what_is_constant_in_training_alone_is_drawn() -> None:
    X = TRAIN.copy()
    X[:, :5] = 1.0
    assert np.isfinite(
        evaluate({"forest": IsolationForest(n_estimators=5)}, X).draws["forest"]
    ).all()


def test_all_features_may_be_drawn() -> None:
    assert evaluate({"it": squared}, n_features=6).features.tolist() == [list(range(6))] * 4


# --- seeds, processes and threads

SEVERAL = {
    "forest": IsolationForest(n_estimators=5),
    "knn": NearestNeighbors(),
    "scaled": make_pipeline(StandardScaler(), OneClassSVM()),
    "squared": squared,
}


@pytest.mark.system
def test_the_number_of_processes_changes_no_bit() -> None:
    one = evaluate(SEVERAL, n_uniform=30_000)
    assert bits(evaluate(SEVERAL, n_uniform=30_000, n_jobs=1)) == bits(one)
    assert bits(evaluate(SEVERAL, n_uniform=30_000, n_jobs=2)) == bits(one)


def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    one = evaluate(SEVERAL, n_uniform=30_000)
    with joblib.parallel_config(backend="threading"):
        assert bits(evaluate(SEVERAL, n_uniform=30_000, n_jobs=2)) == bits(one)
    for n_threads in ("1", "3"):
        monkeypatch.setenv("FASTAD_NUM_THREADS", n_threads)
        assert bits(evaluate(SEVERAL, n_uniform=30_000)) == bits(one)


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
        assert alone[name] != together[name] or alone[name].em.low == together[name].em.low


def test_an_estimator_is_copied_and_seeded_in_each_draw(fits: list[tuple[Any, Matrix]]) -> None:
    own = IsolationForest(n_estimators=5)
    found = evaluate({"it": own}, n_subspaces=6)
    assert own.random_state is None
    assert not hasattr(own, "estimators_")
    assert own not in [forest for forest, _ in fits]
    seeds = [forest.random_state for forest, _ in fits]
    assert None not in seeds
    assert len(set(seeds)) == 6
    assert {forest.n_estimators for forest, _ in fits} == {5}
    for (_, X), features in zip(fits, found.features, strict=True):
        assert X.dtype == np.float64
        assert (TRAIN[:, features] == X).all()
    fits.clear()
    # A seed of the user's own, which would make all draws alike, is replaced.
    again = evaluate({"it": IsolationForest(n_estimators=5, random_state=3)}, n_subspaces=6)
    assert [forest.random_state for forest, _ in fits] == seeds
    assert bits(again) == bits(found)


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
    evaluate({"it": pipeline}, n_subspaces=5, n_uniform=200)
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
    class Own:
        fitted = False

        def fit(self, X: Matrix) -> "Own":
            self.fitted = True
            return self

    own = Own()
    with pytest.raises(InvalidInputError, match="must be a detector of scikit-learn or PyOD"):
        evaluate({"it": own})
    assert not own.fitted


def test_a_function_is_given_the_training_rows_once_in_each_draw() -> None:
    given = []

    def learn(X: Matrix) -> Score:
        given.append(X)
        return squared(X)

    found = evaluate({"it": learn})
    assert len(given) == 4
    for X, features in zip(given, found.features, strict=True):
        assert X.flags.c_contiguous
        assert (TRAIN[:, features] == X).all()


# --- kinds of detectors


def pyod(name: str, **options: Any) -> Any:
    return getattr(importlib.import_module(f"pyod.models.{name.lower()}"), name)(**options)


@pytest.mark.parametrize(
    "detector",
    [
        IsolationForest(n_estimators=10),
        LocalOutlierFactor(novelty=True),
        OneClassSVM(),
        EllipticEnvelope(),
        NearestNeighbors(),
        GaussianMixture(2),
        make_pipeline(StandardScaler(), IsolationForest(n_estimators=10)),
        pyod("HBOS"),
        pyod("KNN"),
        pyod("IForest", n_estimators=10),
        lambda X: fastad.compile_scorer(OneClassSVM().fit(X)),
        squared,
    ],
    ids=lambda one: type(one).__name__,
)
def test_many_kinds_of_detectors_are_trained(detector: Any) -> None:
    found = evaluate({"it": detector}, n_subspaces=2, n_uniform=5000)
    values = np.exp(found.draws["it"])
    # Of a standard normal distribution in two features these are 0.0031 and 2.05.
    assert (abs(np.log(values[:, 0] / 0.0037)) < 0.5).all()
    assert (abs(np.log(values[:, 1] / 2.0)) < 0.5).all()


def test_a_detector_that_has_no_compiled_form_is_asked_with_a_warning() -> None:
    with pytest.warns(BatchScorerWarning, match="SGDOneClassSVM has no compiled form"):
        found = evaluate({"it": SGDOneClassSVM()}, n_uniform=200)
    assert np.isfinite(found.draws["it"][:, 1]).all()
    with pytest.warns(BatchScorerWarning, match="no compiled form"):
        evaluate({"it": make_pipeline(PCA(1), OneClassSVM())}, n_subspaces=1, n_uniform=200)


# --- undefined criteria


def forgetful(X: Matrix) -> Score:
    """Learn by heart where the first feature, which alone lies about 100, was drawn."""
    return by_heart_of(X) if X[:, 0].mean() > 50 else squared(X)


def by_heart_of(X: Matrix) -> Score:
    return lambda rows: np.where(np.isin(rows[:, 0], SHIFTED), 0.0, 1.0)


SHIFT = np.array([100, 0, 0, 0, 0, 0])
SHIFTED = TEST + SHIFT


def test_draws_in_which_em_is_undefined_are_counted_and_left_out() -> None:
    found = evaluate(
        {"some": forgetful, "none": squared},
        TRAIN + SHIFT,
        SHIFTED,
        n_subspaces=20,
        n_resamples=200,
    )
    undefined = (found.features == 0).any(axis=1)
    assert 0 < undefined.sum() < 20
    logs = found.draws["some"]
    assert (np.isnan(logs[:, 0]) == undefined).all()
    assert (logs[undefined, 1] == -math.inf).all()  # no uniform point is inside: a volume of 0
    em, mv = found["some"]
    assert (em.n_undefined, mv.n_undefined) == (undefined.sum(), 0)
    assert (em.reason, mv.reason) == ("", "")
    assert em.value == pytest.approx(np.exp(logs[~undefined, 0]).mean())
    assert mv.value == pytest.approx(np.exp(logs[:, 1]).mean())
    assert em.low < em.value < em.high
    assert found["none"].em.n_undefined == 0
    json.loads(found.to_json())
    assert "some" in str(found)


def test_em_that_is_undefined_in_all_draws_has_a_reason() -> None:
    found = evaluate({"by heart": by_heart, "squared": squared})
    em, mv = found["by heart"]
    assert math.isnan(em.value)
    assert em.n_undefined == 4
    assert "200 of 200" in em.reason
    assert mv.value == 0
    assert mv.reason == ""
    assert [place.detector for place in found.ranking("em")] == ["squared"]
    assert [place.detector for place in found.ranking("mv")] == ["by heart", "squared"]
    assert json.loads(found.to_json())["detectors"][0]["em"]["value"] is None


def test_what_has_no_interval_is_shown() -> None:
    """A volume of 0 in all draws, and replicates of which most are undefined."""
    assert "undefined" in str(evaluate({"by heart": by_heart}))
    assert "it" in str(evaluate({"it": squared}, n_resamples=1))


# --- significant pairs


def test_clearly_different_detectors_are_ranked() -> None:
    found = evaluate({"oblong": oblong, "squared": squared}, n_subspaces=30, n_resamples=500)
    for criterion in ("em", "mv"):
        assert [place.detector for place in found.ranking(criterion)] == ["squared", "oblong"]
        assert found.significant_pairs(criterion) == [("squared", "oblong")]
        assert "squared is the best" in found.summary(criterion)


def test_detectors_that_are_alike_are_not_significantly_different() -> None:
    found = evaluate({"one": squared, "two": squared}, n_subspaces=10)
    assert found.significant_pairs("em") == found.significant_pairs("mv") == []
    assert "no two detectors differ" in found.summary()


def test_one_draw_says_nothing_of_what_others_would_give() -> None:
    for one in evaluate({"it": squared}, n_subspaces=1)["it"]:
        assert math.isfinite(one.value)
        assert one.low != pytest.approx(one.high)


@pytest.mark.evidence
@pytest.mark.parametrize("n_subspaces", [2, 5])
def test_chance_finds_significant_pairs_as_seldom_as_promised(n_subspaces: int) -> None:
    """Two detectors that differ by chance alone: at 95 % one verdict of 20 is wrong."""
    rng = np.random.default_rng(3)

    def lopsided(X: Matrix) -> Score:
        # No seed of the draw, but a choice of its own.
        weight = rng.uniform(0, 3)
        return lambda rows: rows[:, 0] ** 2 + weight * rows[:, 1] ** 2

    n, wrong = 200, 0
    for seed in range(n):
        found = evaluate(
            {"a": lopsided, "b": lopsided}, n_subspaces=n_subspaces, n_uniform=500, rng=seed
        )
        wrong += bool(found.significant_pairs("em"))
    # So many at most, where 5 % are expected, but in one of 10^4.
    assert wrong <= binom.ppf(1 - 1e-4, n, 0.05)


# --- progress


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_progress_counts_draws(n_jobs: int | None) -> None:
    calls: list[tuple[int, int | None]] = []
    with joblib.parallel_config(backend="threading"):
        evaluate({"it": squared}, n_jobs=n_jobs, progress=lambda *call: calls.append(call))
    assert calls == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_progress_may_end_it() -> None:
    def stop(done: int, total: int | None) -> None:
        if done == 2:
            raise KeyboardInterrupt

    fits = []

    def learn(X: Matrix) -> Score:
        fits.append(X)
        return squared(X)

    with pytest.raises(KeyboardInterrupt):
        evaluate({"it": learn}, n_subspaces=50, progress=stop)
    assert len(fits) == 2


# --- results


def test_results_are_those_of_an_evaluation() -> None:
    found = evaluate({"a": squared, "b": oblong})
    assert isinstance(found, fastad.unsupervised.UnsupervisedEvaluation)
    assert list(found) == ["a", "b"]
    assert repr(found) == "<SubsampledEvaluation of 2 detectors, 4 subspaces>"
    assert found.to_frame().shape[0] == 2
    told = json.loads(found.to_json())
    assert [one["detector"] for one in told["detectors"]] == ["a", "b"]
    assert told["confidence_level"] == 0.95
    assert str(found).splitlines()[0].startswith("detector")


def test_what_draws_gave_cannot_be_changed() -> None:
    found = evaluate({"it": squared})
    assert not found.features.flags.writeable
    assert not found.draws["it"].flags.writeable


@pytest.mark.parametrize("scale", [1e-150, 1e-300, 1e150, 1e300])
def test_volumes_beyond_all_floats_are_logarithms(scale: float) -> None:
    def own(X: Matrix) -> Score:
        return lambda rows: (abs(rows) / scale).sum(axis=1)

    found = evaluate({"it": own}, TRAIN * scale, TEST * scale, n_features=4)
    plain = evaluate({"it": lambda _: lambda rows: abs(rows).sum(axis=1)}, n_features=4)
    shift = 4 * math.log(scale)
    moved = plain.draws["it"] + [-shift, shift]
    assert found.draws["it"] == pytest.approx(moved, rel=1e-9)
    assert found["it"].mv.log_low < found["it"].mv.log_value < found["it"].mv.log_high
    json.loads(found.to_json())


def test_volumes_beyond_all_floats_are_shown() -> None:
    found = evaluate({"it": lambda _: lambda rows: abs(rows).sum(axis=1)}, TRAIN, TEST * 1e200)
    assert re.search(r"e\+?40\d", str(found))


# --- what is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_subspaces": 0}, "n_subspaces must be at least 1; found 0"),
        ({"n_features": 0}, "n_features must be at least 1; found 0"),
        ({"n_uniform": 0}, "n_uniform must be at least 1; found 0"),
        ({"n_resamples": 0}, "n_resamples must be at least 1; found 0"),
        ({"n_features": 7}, "n_features must be at most the number of features .* 6; found 7"),
        ({"mass": (0.9, 0.9)}, "mass must be a pair of rising masses"),
        ({"excess_mass": 1}, "excess_mass must lie strictly between 0 and 1"),
        ({"confidence_level": 1}, "confidence_level must lie strictly between 0 and 1"),
        ({"X_train": TRAIN[:0]}, "X_train must contain at least one row"),
        ({"X_test": TEST[:0]}, "X_test must contain at least one row"),
        ({"X_test": TEST[:1]}, "features that vary in X_test, 0; found 2"),
        ({"X_test": TEST[:, :5]}, r"X_test must have the shape \(n_samples, 6\)"),
        ({"X_train": TRAIN[0]}, r"X_train must have the shape \(n_samples, n_features\)"),
        ({"X_train": np.where(TRAIN > 2, np.nan, TRAIN)}, "X_train must contain finite numbers"),
        ({"X_test": np.where(TEST > 2, np.inf, TEST)}, "X_test must contain finite numbers"),
        ({"X_test": TEST.astype(str)}, "X_test must contain numbers"),
        ({"n_jobs": 0}, "n_jobs"),
    ],
)
def test_bad_values_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        evaluate({"it": squared}, **options)


@pytest.mark.parametrize(
    ("detectors", "message"),
    [
        ({}, "detectors must name at least one detector; found dict without any"),
        ([squared], "detectors must name at least one detector; found list"),
        ({"odd": 3}, r"detectors\['odd'\] must have a method fit, or be a function"),
        ({"odd": "forest"}, r"detectors\['odd'\] must have a method fit"),
    ],
)
def test_detectors_must_be_named_and_learn(detectors: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        evaluate(detectors)


@pytest.mark.parametrize("wrong", [{"n_jobs": "two"}, {"n_jobs": 1.5}, {"n_subspaces": 2.5}])
def test_numbers_must_be_whole(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(wrong))):
        evaluate({"it": squared}, **wrong)


@pytest.mark.parametrize(
    ("factory", "kind", "message"),
    [
        (lambda X: None, TypeError, "found None"),
        (lambda X: IsolationForest(n_estimators=5).fit(X), TypeError, "found IsolationForest"),
        (lambda X: lambda rows: np.full(len(rows), np.nan), InvalidInputError, "NaN"),
        (lambda X: lambda rows: rows, InvalidInputError, "one number for each"),
        (LocalOutlierFactor(), InvalidInputError, "novelty"),
        (pyod("ECOD"), InvalidInputError, "ECOD scores a batch together"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(factory: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        evaluate({"it": factory})


def test_an_error_of_training_names_the_detector() -> None:
    """Of several detectors, and of draws that nobody chose."""
    with pytest.raises(ValueError, match="odd"):
        evaluate({"fine": squared, "odd": NearestNeighbors(n_neighbors=500)})


def test_numbers_of_any_kind_are_data() -> None:
    whole = (10 * TRAIN).astype(np.int16), (10 * TEST).astype(np.int16)
    found = evaluate({"it": squared}, *whole)
    assert bits(evaluate({"it": squared}, *(X.astype(float) for X in whole))) == bits(found)
    assert bits(evaluate({"it": squared}, *(X.tolist() for X in whole))) == bits(found)
    assert bits(evaluate({"it": squared}, *(np.asfortranarray(X) for X in whole))) == bits(found)


def test_processes_need_joblib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(MissingExtraError, match=r"n_jobs needs joblib: pip install 'fastad"):
        evaluate({"it": squared}, n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate({"it": squared}, n_jobs=1)
