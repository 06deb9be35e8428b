"""``evaluate_unsupervised`` in random subspaces: detectors, undefined criteria, validation."""

import importlib
import json
import math
import re
import sys
import warnings
from typing import Any

import joblib
import numpy as np
import pytest
from scipy.stats import binom
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDOneClassSVM
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PowerTransformer, StandardScaler
from sklearn.svm import OneClassSVM

import fastad
from fastad.errors import BatchScorerWarning, InvalidInputError, MissingExtraError
from tests.support.subsampled import (
    TEST,
    TRAIN,
    Matrix,
    Score,
    bits,
    by_heart,
    evaluate,
    oblong,
    squared,
)

# Kinds of detectors.


def pyod(name: str, **options: Any) -> Any:
    return getattr(importlib.import_module(f"pyod.models.{name.lower()}"), name)(**options)


@pytest.mark.slow
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
        pyod("KNN"),
        pyod("IForest", n_estimators=10),
        lambda X: fastad.compile_scorer(OneClassSVM().fit(X)),
        squared,
    ],
    ids=lambda one: type(one).__name__,
)
def test_many_kinds_of_detectors_are_trained(detector: Any) -> None:
    result = evaluate({"it": detector}, n_subspaces=2, n_draws=5000)
    values = np.exp(result.draws["it"])
    # Of a standard normal distribution in two features these are 0.0031 and 2.05.
    assert (abs(np.log(values[:, 0] / 0.0037)) < 0.5).all()
    assert (abs(np.log(values[:, 1] / 2.0)) < 0.5).all()


def test_a_detector_that_has_no_compiled_form_is_asked_with_a_warning() -> None:
    with pytest.warns(BatchScorerWarning, match="SGDOneClassSVM has no compiled form"):
        result = evaluate({"it": SGDOneClassSVM()}, n_draws=200)
    assert np.isfinite(result.draws["it"][:, 1]).all()
    with pytest.warns(BatchScorerWarning, match="no compiled form"):
        evaluate(
            {"it": make_pipeline(PowerTransformer(), OneClassSVM())}, n_subspaces=1, n_draws=200
        )


# Undefined criteria.


def forgetful(X: Matrix) -> Score:
    """Learn by heart where the first feature, which alone lies about 100, was drawn."""
    return by_heart_of(X) if X[:, 0].mean() > 50 else squared(X)


def by_heart_of(X: Matrix) -> Score:
    return lambda rows: np.where(np.isin(rows[:, 0], SHIFTED), 0.0, 1.0)


SHIFT = np.array([100, 0, 0, 0, 0, 0])
SHIFTED = TEST + SHIFT


def test_draws_in_which_em_is_undefined_are_counted_and_left_out() -> None:
    result = evaluate(
        {"some": forgetful, "none": squared},
        TRAIN + SHIFT,
        SHIFTED,
        n_subspaces=20,
        n_resamples=200,
    )
    undefined = (result.features == 0).any(axis=1)
    assert 0 < undefined.sum() < 20
    logs = result.draws["some"]
    assert (np.isnan(logs[:, 0]) == undefined).all()
    assert (logs[undefined, 1] == -math.inf).all()  # no uniform point is inside: a volume of 0
    em, mv = result["some"]
    assert (em.n_undefined, mv.n_undefined) == (undefined.sum(), 0)
    assert (em.reason, mv.reason) == ("", "")
    assert em.value == pytest.approx(np.exp(logs[~undefined, 0]).mean())
    assert mv.value == pytest.approx(np.exp(logs[:, 1]).mean())
    assert em.low < em.value < em.high
    assert result["none"].em.n_undefined == 0
    json.loads(result.to_json())
    assert "some" in str(result)


def test_em_that_is_undefined_in_all_draws_has_a_reason() -> None:
    result = evaluate({"by heart": by_heart, "squared": squared})
    em, mv = result["by heart"]
    assert math.isnan(em.value)
    assert em.n_undefined == 4
    assert "200 of 200" in em.reason
    assert mv.value == 0
    assert mv.reason == ""
    assert [place.detector for place in result.ranking("em")] == ["squared"]
    assert [place.detector for place in result.ranking("mv")] == ["by heart", "squared"]
    assert json.loads(result.to_json())["detectors"][0]["em"]["value"] is None


def test_what_has_no_interval_is_shown() -> None:
    """A volume of 0 in all draws, and replicates of which most are undefined."""
    assert "undefined" in str(evaluate({"by heart": by_heart}))
    assert "it" in str(evaluate({"it": squared}, n_resamples=1))


# Significant pairs.


def test_clearly_different_detectors_are_ranked() -> None:
    result = evaluate({"oblong": oblong, "squared": squared}, n_subspaces=30, n_resamples=500)
    for criterion in ("em", "mv"):
        assert [place.detector for place in result.ranking(criterion)] == ["squared", "oblong"]
        assert result.significant_pairs(criterion) == [("squared", "oblong")]
        assert f"the best by {criterion.upper()} is squared" in result.summary(criterion)


def test_detectors_that_are_alike_are_not_significantly_different() -> None:
    result = evaluate({"one": squared, "two": squared}, n_subspaces=10)
    assert result.significant_pairs("em") == result.significant_pairs("mv") == []
    assert "no two detectors differ" in result.summary()


def test_one_draw_says_nothing_of_what_others_would_give() -> None:
    for one in evaluate({"it": squared}, n_subspaces=1)["it"]:
        assert math.isfinite(one.value)
        assert math.isnan(one.low)
        assert math.isnan(one.high)


@pytest.mark.evidence
@pytest.mark.parametrize("n_subspaces", [2, 5])
def test_chance_finds_significant_pairs_as_seldom_as_promised(n_subspaces: int) -> None:
    """Two detectors that differ by chance alone: at 95 % one of 20 results is wrong."""
    rng = np.random.default_rng(3)

    def lopsided(X: Matrix) -> Score:
        # No seed of the draw, but a choice of its own.
        weight = rng.uniform(0, 3)
        return lambda rows: rows[:, 0] ** 2 + weight * rows[:, 1] ** 2

    n, wrong = 100, 0
    for seed in range(n):
        result = evaluate(
            {"a": lopsided, "b": lopsided}, n_subspaces=n_subspaces, n_draws=500, rng=seed
        )
        wrong += bool(result.significant_pairs("em"))
    # So many at most, where 5 % are expected, but in one of 10^4.
    assert wrong <= binom.ppf(1 - 1e-4, n, 0.05)


# Progress.


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


# Results.


def test_results_are_those_of_an_evaluation() -> None:
    result = evaluate({"a": squared, "b": oblong})
    assert isinstance(result, fastad.unsupervised.UnsupervisedEvaluation)
    assert list(result) == ["a", "b"]
    assert repr(result) == "<UnsupervisedEvaluation of 2 detectors, 4 subspaces>"
    assert result.to_frame().shape[0] == 2
    plain = json.loads(result.to_json())
    assert [one["detector"] for one in plain["detectors"]] == ["a", "b"]
    assert plain["confidence_level"] == 0.95
    assert str(result).splitlines()[0].startswith("detector")


def test_what_draws_gave_cannot_be_changed() -> None:
    result = evaluate({"it": squared})
    assert not result.features.flags.writeable
    assert not result.draws["it"].flags.writeable


@pytest.mark.parametrize("scale", [1e-150, 1e-300, 1e150, 1e300])
def test_volumes_beyond_all_floats_are_logarithms(scale: float) -> None:
    def own(X: Matrix) -> Score:
        return lambda rows: (abs(rows) / scale).sum(axis=1)

    result = evaluate({"it": own}, TRAIN * scale, TEST * scale, n_features=4)
    plain = evaluate({"it": lambda _: lambda rows: abs(rows).sum(axis=1)}, n_features=4)
    shift = 4 * math.log(scale)
    moved = plain.draws["it"] + [-shift, shift]
    assert result.draws["it"] == pytest.approx(moved, rel=1e-9)
    assert result["it"].mv.log_low < result["it"].mv.log_value < result["it"].mv.log_high
    json.loads(result.to_json())


def test_volumes_beyond_all_floats_are_shown() -> None:
    result = evaluate({"it": lambda _: lambda rows: abs(rows).sum(axis=1)}, TRAIN, TEST * 1e200)
    assert re.search(r"e\+?40\d", str(result))


# What is refused.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_subspaces": 0}, "n_subspaces must be at least 1; found 0"),
        ({"n_features": 0}, "n_features must be at least 1; found 0"),
        ({"n_draws": 0}, "n_draws must be at least 1; found 0"),
        ({"n_resamples": 0}, "n_resamples must be at least 1; found 0"),
        ({"n_features": 7}, "n_features must be at most the number of features .* 6; found 7"),
        ({"mass": (0.9, 0.9)}, "mass must be a pair of rising masses"),
        ({"excess_mass": 1}, "excess_mass must lie strictly between 0 and 1"),
        ({"confidence_level": 1}, "confidence_level must lie strictly between 0 and 1"),
        ({"X_train": TRAIN[:0]}, "X_train must contain at least one row"),
        ({"X_test": TEST[:0]}, "X must contain at least one row"),
        ({"X_test": TEST[:1]}, "features that vary in X, 0; found 2"),
        ({"X_test": TEST[:, :5]}, r"X must have the shape \(n_samples, 6\)"),
        ({"X_train": TRAIN[0]}, r"X_train must have the shape \(n_samples, n_features\)"),
        ({"X_train": np.where(TRAIN > 2, np.nan, TRAIN)}, "X_train must contain finite numbers"),
        ({"X_test": np.where(TEST > 2, np.inf, TEST)}, "X must contain finite numbers"),
        ({"X_test": TEST.astype(str)}, "X must contain numbers"),
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
        (lambda X: IsolationForest(n_estimators=5).fit(X).predict, InvalidInputError, "is lower"),
        (lambda X: lambda rows: np.full(len(rows), np.nan), InvalidInputError, "NaN"),
        (lambda X: lambda rows: rows, InvalidInputError, "one number for each"),
        (LocalOutlierFactor(), InvalidInputError, "novelty"),
        (pyod("ECOD"), InvalidInputError, "ECOD scores a batch together"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(factory: Any, kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        evaluate({"it": factory})


def test_a_score_that_fails_in_splitting_alone_is_refused() -> None:
    """No uniform point falls inside, and splitting scores others."""
    wide = np.append(TEST, [[50.0] * 6, [-50.0] * 6], axis=0)

    def learn(X: Matrix) -> Score:
        score, n_scored = squared(X), [0]

        def scored(rows: Matrix) -> Matrix:
            n_scored[0] += len(rows)
            return score(rows) if n_scored[0] <= len(wide) + 2000 else np.full(len(rows), np.nan)

        return scored

    with pytest.raises(InvalidInputError, match=r"detectors\['it'\] must learn .* NaN"):
        evaluate({"it": learn}, X_test=wide, n_features=6)


def test_an_error_of_training_names_the_detector() -> None:
    """Of several detectors, and of draws that nobody chose."""
    with pytest.raises(ValueError, match="odd"):
        evaluate({"fine": squared, "odd": NearestNeighbors(n_neighbors=500)})


def test_numbers_of_any_kind_are_data() -> None:
    whole = (10 * TRAIN).astype(np.int16), (10 * TEST).astype(np.int16)
    result = evaluate({"it": squared}, *whole)
    assert bits(evaluate({"it": squared}, *(X.astype(float) for X in whole))) == bits(result)
    assert bits(evaluate({"it": squared}, *(X.tolist() for X in whole))) == bits(result)
    assert bits(evaluate({"it": squared}, *(np.asfortranarray(X) for X in whole))) == bits(result)


def test_processes_need_joblib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(MissingExtraError, match="n_jobs needs joblib: pip install joblib"):
        evaluate({"it": squared}, n_jobs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        evaluate({"it": squared}, n_jobs=1)
