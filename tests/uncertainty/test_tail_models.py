"""Thresholds and true positive rates by a model of the normals' tail."""

import json
import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats
from scipy.optimize import minimize_scalar

import fastad
from bench.tail_models import model_coverage, plain_coverage
from fastad.uncertainty import tail_model
from fastad.uncertainty.rates import generalized_pareto

Floats = npt.NDArray[np.float64]


def sample(
    n_normals: int = 4000, seed: int = 0, n_anomalies: int = 60
) -> tuple[npt.NDArray[np.int64], Floats]:
    rng = np.random.default_rng(seed)
    labels = np.repeat([0, 1], [n_normals, n_anomalies])
    return labels, rng.normal(size=labels.shape[0]) + 4 * labels


@pytest.mark.parametrize("shape", [-0.4, -0.1, 0.0, 0.2, 0.7, 1.5])
@pytest.mark.parametrize("n", [50, 100, 2000])
def test_fits_are_those_of_the_highest_likelihood(shape: float, n: int) -> None:
    excesses = stats.genpareto(shape, scale=3).rvs(n, random_state=np.random.default_rng(n))
    fitted = generalized_pareto.fit(excesses)
    value = stats.genpareto.logpdf(excesses, fitted.shape, scale=fitted.scale).sum()
    start = stats.genpareto.fit(excesses, floc=0)
    best = stats.genpareto.logpdf(excesses, start[0], scale=start[2]).sum()
    assert value >= best - 1e-6 * abs(best)
    assert fitted.log_likelihood - n * math.log(fitted.unit) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ratio", [2.0, 30.0, 1000.0])
def test_bounds_are_those_of_the_profile_likelihood(seed: int, ratio: float) -> None:
    """At each end, the best likelihood with this quantile is as far below the best of all."""
    rng = np.random.default_rng(seed)
    excesses = stats.genpareto(rng.uniform(-0.2, 0.5)).rvs(80, random_state=rng)
    fitted = generalized_pareto.fit(excesses)
    best = stats.genpareto.logpdf(excesses, fitted.shape, scale=fitted.scale).sum()

    def deficit(quantile: float) -> float:
        def cost(shape: float) -> float:
            scale = quantile / stats.genpareto.isf(1 / ratio, shape)
            value = -stats.genpareto.logpdf(excesses, shape, scale=scale).sum()
            return float(value) if np.isfinite(value) else 1e9

        grid = np.linspace(-0.5, 2, 300)[:, None]
        scales = quantile / stats.genpareto.isf(1 / ratio, grid)
        likelihoods = np.sum(stats.genpareto.logpdf(excesses, grid, scale=scales), axis=1)
        start = grid[np.argmax(likelihoods), 0]
        bounds = max(-0.5, start - 0.02), min(2.0, start + 0.02)
        return float(best + minimize_scalar(cost, bounds=bounds, method="bounded").fun)

    low, high = generalized_pareto.quantile_bounds(excesses, fitted, ratio, 0.05)
    expected = 1.2 * stats.chi2.isf(0.05, 1) / 2
    assert deficit(low) == pytest.approx(expected, rel=0.02)
    assert deficit(high) == pytest.approx(expected, rel=0.02)
    assert low < fitted.scale * stats.genpareto.isf(1 / ratio, fitted.shape) < high


@pytest.mark.parametrize("shape", [-0.3, 0.0, 0.6])
def test_the_statistic_is_that_of_anderson_and_darling(shape: float) -> None:
    x = np.sort(stats.genpareto(shape).rvs(40, random_state=np.random.default_rng(1)))
    below = stats.genpareto.cdf(x, shape, scale=1.3)
    i = np.arange(1, 41)
    expected = -40 - np.mean((2 * i - 1) * (np.log(below) + np.log(1 - below[::-1])))
    result = generalized_pareto.anderson_darling(x[None], np.array([shape]), np.array([1.3]))
    assert result[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("n_normals", "n_excesses"), [(1000, 50), (1500, 75), (4000, 100)])
def test_the_model_is_of_the_highest_normals(n_normals: int, n_excesses: int) -> None:
    labels, scores = sample(n_normals)
    model = tail_model(labels, scores, fpr=[0.001, 2 / n_normals])
    normals = np.sort(scores[labels == 0])[::-1]
    assert (model.n_excesses, model.location) == (n_excesses, normals[n_excesses])
    excesses = normals[:n_excesses] - normals[n_excesses]
    fitted = stats.genpareto(model.shape, loc=model.location, scale=model.scale)
    for fpr, interval in zip(model.fpr, model.thresholds, strict=True):
        value = fitted.isf(fpr * n_normals / n_excesses)
        assert interval.value == pytest.approx(value, rel=1e-9)
        assert interval.low < value < interval.high
    assert model.tprs is not None
    for threshold, interval in zip(model.thresholds, model.tprs, strict=True):
        anomalies = scores[labels == 1]
        assert interval.value == np.mean(anomalies >= threshold.value)
        n_low, n_high = np.sum(anomalies >= threshold.high), np.sum(anomalies >= threshold.low)
        assert interval.low <= stats.beta.ppf(0.0125, n_low, 61 - n_low)
        assert interval.high >= stats.beta.ppf(0.9875, n_high + 1, 60 - n_high)
    assert excesses.min() > 0


@pytest.mark.parametrize("factor", [1e-200, 1e-3, 1e9, 1e200])
def test_the_unit_of_the_scores_does_not_matter(factor: float) -> None:
    labels, scores = sample()
    plain = tail_model(labels, scores, fpr=1e-4)
    scaled = tail_model(labels, scores * factor, fpr=1e-4)
    assert scaled.tprs is not None
    assert plain.tprs is not None
    assert scaled.shape == pytest.approx(plain.shape, rel=1e-6)
    assert scaled.p_value == pytest.approx(plain.p_value, abs=0.01)
    for name in ("value", "low", "high"):
        result, expected = getattr(scaled.thresholds[0], name), getattr(plain.thresholds[0], name)
        assert result == pytest.approx(factor * expected, rel=1e-6)
    assert scaled.tprs[0].value == plain.tprs[0].value


def test_the_order_of_rows_and_a_second_call_do_not_matter() -> None:
    labels, scores = sample()
    order = np.random.default_rng(1).permutation(labels.shape[0])
    first = tail_model(labels, scores, fpr=1e-4).to_json()
    assert tail_model(labels[order], scores[order], fpr=1e-4).to_json() == first
    names = np.where(labels == 1, "bad", "good")
    assert tail_model(names, scores, fpr=1e-4, pos_label="bad").to_json() == first


def test_intervals_have_the_level_that_was_given() -> None:
    model = tail_model(*sample(), fpr=1e-4, confidence_level=0.001)
    assert model.tprs is not None
    assert model.thresholds[0].confidence_level == model.tprs[0].confidence_level == 0.001


def test_it_is_marked_as_a_model_wherever_it_appears() -> None:
    labels, scores = sample()
    model = tail_model(labels, scores, fpr=[1e-4, 1e-3])
    assert model.tprs is not None
    assert {x.method for x in (*model.thresholds, *model.tprs)} == {"gpd"}
    assert model.text_table().header == ["fpr", "threshold (gpd model)", "tpr (gpd model)"]
    for text in (str(model), model.to_markdown(), model.to_latex(), model._repr_html_()):
        assert "gpd model" in text
        assert "generalised Pareto distribution of the 100 highest of 4000 normals" in text
    content = json.loads(model.to_json())
    assert content["model"] == "gpd"
    assert [point["tpr"]["method"] for point in content["points"]] == ["gpd", "gpd"]
    assert model.to_columns()["model"] == ["gpd", "gpd"]
    assert "n_excesses=" in repr(model)


def test_without_anomalies_there_is_a_threshold_only() -> None:
    scores = sample()[1][:4000]
    model = tail_model(np.zeros(4000), scores, fpr=1e-4)
    assert model.tprs is None
    assert math.isnan(model.to_columns()["tpr"][0])
    assert json.loads(model.to_json())["points"][0]["tpr"] is None


def test_plain_measures_do_not_change() -> None:
    labels, scores = sample()
    before = (
        fastad.tpr_at_fpr(labels, scores, fpr=1e-4),
        fastad.threshold_at_fpr(labels, scores, fpr=1e-4),
    )
    tail_model(labels, scores, fpr=1e-4)
    after = (
        fastad.tpr_at_fpr(labels, scores, fpr=1e-4),
        fastad.threshold_at_fpr(labels, scores, fpr=1e-4),
    )
    assert before == after


@pytest.mark.parametrize(
    ("options", "argument"),
    [
        ({"fpr": 2e-5}, "fpr"),
        ({"fpr": 0.03}, "fpr"),
        ({"fpr": [1e-3, 0.0]}, "fpr"),
        ({"fpr": math.nan}, "fpr"),
        ({"confidence_level": 1}, "confidence_level"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(options: dict[str, Any], argument: str) -> None:
    labels, scores = sample()
    with pytest.raises(fastad.InvalidInputError, match=f"^{argument} must") as caught:
        tail_model(labels, scores, **{"fpr": 1e-4, **options})
    assert caught.value.argument == argument


def _cluster(rng: np.random.Generator) -> Floats:
    """A third of the tail lies above the rest, at one place."""
    return np.concatenate([rng.normal(size=3970), rng.normal(5, 0.01, size=30)])


@pytest.mark.parametrize(
    ("normals", "reason"),
    [
        (lambda rng: rng.normal(size=999), "at least 1000 normals; found 999"),
        (lambda rng: rng.normal(size=4000).round(1), "ties among the 101 highest normals"),
        (lambda rng: np.zeros(4000), "ties among the 101 highest normals"),
        (lambda rng: np.r_[rng.normal(size=3999), math.inf], "infinite scores; found 1"),
        (lambda rng: rng.uniform(size=4000), r"shape must lie within \(-0.5, 2\); found -0.5"),
        (lambda rng: np.exp(np.exp(2 * rng.exponential(size=4000)).clip(0, 700)), "ties|shape|fit"),
        (_cluster, "do not fit a generalised Pareto distribution .* p = 0.00"),
    ],
    ids=["few", "rounded", "one score", "infinite", "bounded", "superheavy", "cluster"],
)
def test_what_the_model_does_not_describe_is_refused(normals: Any, reason: str) -> None:
    scores = normals(np.random.default_rng(0))
    with pytest.raises(fastad.UndefinedMeasureError, match=reason):
        tail_model(np.zeros(scores.shape[0]), scores, fpr=1e-3)


@pytest.mark.evidence
def test_what_it_describes_is_refused_as_rarely_as_the_test_says() -> None:
    rng, n_runs, refused = np.random.default_rng(5), 20, 0
    for _ in range(n_runs):
        scores = stats.genpareto(0.5).rvs(1000, random_state=rng)
        try:
            tail_model(np.zeros(1000), scores, fpr=1e-3)
        except fastad.UndefinedMeasureError:
            refused += 1
    assert refused <= n_runs * 0.05 + 3 * math.sqrt(n_runs * 0.05 * 0.95) + 1


@pytest.mark.evidence
def test_intervals_at_a_tenth_of_a_normal_cover_the_true_values() -> None:
    """A row of the table in docs/evidence/tail_models.md."""
    coverage = model_coverage("t with 3 degrees of freedom", 2000, 0.1, 30, seed=11)
    assert coverage.n_refused <= 6
    n = coverage.n_kept
    # Three standard deviations of a binomial number below 92 %.
    least = 0.92 - 3 * math.sqrt(0.92 * 0.08 / n)
    assert coverage.threshold >= least
    assert coverage.tpr >= least


@pytest.mark.evidence
@pytest.mark.parametrize("family", ["normal", "t with 3 degrees of freedom", "lognormal"])
def test_plain_intervals_at_five_normals_cover_the_true_values(family: str) -> None:
    coverage, _ = plain_coverage(family, 1000, 5.0, 30, seed=12)
    assert coverage >= 0.92 - 3 * math.sqrt(0.92 * 0.08 / 30)
