"""Power before it is run: what is drawn, and what the numbers reach."""

from typing import Any

import numpy as np
import pytest
from scipy.special import betaincinv
from scipy.stats import binom

import fastad
from fastad.errors import InvalidInputError
from fastad.uncertainty import gate_power, noninferiority
from fastad.uncertainty.comparisons.planned_power import ScorePool

Y = np.repeat([0, 1], [1000, 60])
OLD = np.random.default_rng(0).normal(size=1060) + 2 * Y
POOL = ScorePool(OLD[Y == 1], OLD[Y == 0])


def test_drawn_detectors_are_equally_good_but_for_the_part_that_is_missed() -> None:
    area = fastad.roc_auc(Y, OLD)
    for part in (0.0, 0.3):
        labels, (new, old) = POOL.draw(np.random.default_rng(1), (20_000, 20_000), 0.8, part)
        assert fastad.roc_auc(labels, old) == pytest.approx(area, abs=0.01)
        # Missed anomalies are like normal samples.
        expected = (1 - part) * area + part * 0.5
        assert fastad.roc_auc(labels, new) == pytest.approx(expected, abs=0.01)
    labels, (new, old) = POOL.draw(np.random.default_rng(1), (2, 20_000), 0.8, 0.0)
    ranks = [np.argsort(np.argsort(each[2:])) for each in (new, old)]
    # Spearman's correlation of normal scores is 6 / pi arcsin(r / 2).
    spearman = 6 / np.pi * np.arcsin(0.8 / 2)
    assert np.asarray(np.corrcoef(ranks))[0, 1] == pytest.approx(spearman, abs=0.01)


@pytest.mark.slow
def test_power_is_how_often_the_test_passes() -> None:
    options: dict[str, Any] = {"measure": "auc", "margin": 0.05}
    planned = gate_power(Y, OLD, loss=0.02, rng=3, n_draws=60, **options)
    rng = np.random.default_rng(9)
    parts = np.linspace(0, 0.2, 41)
    losses = []
    for part in parts:
        labels, (new, old) = POOL.draw(np.random.default_rng(2), (30_000, 30_000), 0.8, part)
        losses.append(fastad.roc_auc(labels, old) - fastad.roc_auc(labels, new))
    part = float(np.interp(0.02, losses, parts))
    passed = []
    for _ in range(60):
        labels, (new, old) = POOL.draw(rng, (60, 1000), 0.8, part)
        passed.append(noninferiority(labels, new, old, **options).verdict == "pass")
    assert planned.power == pytest.approx(np.mean(passed), abs=0.25)
    assert gate_power(Y, OLD, loss=0.0, rng=3, n_draws=60, **options).power > planned.power


@pytest.mark.slow
def test_power_of_a_limit_is_how_often_the_binomial_bound_passes() -> None:
    """TPR at a threshold is a binomial count, which Clopper and Pearson's bound tests.

    With a bound of 97.5 % the power would be lower by 0.125.
    """
    threshold = float(np.quantile(OLD[Y == 1], 0.2))
    rate = float(np.mean(OLD[Y == 1] >= threshold))
    options: dict[str, Any] = {"measure": "tpr", "threshold": threshold, "value": 0.7}
    counts = np.arange(61)
    passes = betaincinv(np.maximum(counts, 1), 61 - counts, 0.05) > 0.7
    expected = float(binom.pmf(counts, 60, rate)[passes & (counts > 0)].sum())
    # The sizes have the wanted power, so that no others are tried.
    planned = gate_power(Y, OLD, rng=1, n_draws=150, power=expected, **options)
    assert planned.power == pytest.approx(expected, abs=0.12)
    assert (planned.margin, planned.value) == (None, 0.7)
    assert "passes a limit of 0.7" in str(planned)
    assert "margin" not in planned.to_dict()
    # The loss is taken from the power: nearer to the limit fewer pass.
    assert gate_power(Y, OLD, rng=1, n_draws=20, loss=0.05, **options).power < planned.power


@pytest.mark.evidence
@pytest.mark.parametrize("measure", ["auc", "ap"])
def test_the_required_numbers_reach_the_power(measure: str) -> None:
    planned = gate_power(Y, OLD, measure=measure, margin=0.08, rng=0)
    again = gate_power(
        Y,
        OLD,
        measure=measure,
        margin=0.08,
        n_anomalies=planned.required_anomalies,
        n_normals=planned.required_normals,
        rng=1,
        n_draws=200,
    )
    assert again.power == pytest.approx(0.8, abs=0.1)


@pytest.mark.slow
def test_what_has_no_numbers() -> None:
    options: dict[str, Any] = {"rng": 0, "n_draws": 10, "n_resamples": 50}
    beyond = gate_power(Y, OLD, measure="auc", margin=0.01, loss=0.05, **options)
    assert beyond.required_anomalies is None
    assert "takes about" not in str(beyond)
    # Among more samples the highest 20 are others.
    of_k = gate_power(Y, OLD, measure="precision@k20", margin=0.3, **options)
    assert (of_k.required_anomalies, of_k.required_normals) == (None, None)
    of_rate = gate_power(Y, OLD, measure="fpr", threshold=1.5, margin=0.05, loss=0.01, **options)
    assert of_rate.required_normals is not None
    # Of three anomalies nothing is known, and the area under the gain curve has no lowest value.
    labels, equal = np.arange(40) < 3, np.zeros(40)
    of_gain = gate_power(labels, equal, measure="auc_prg", margin=0.1, n_draws=3, rng=0)
    assert (of_gain.power, of_gain.required_anomalies) == (0, None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": -0.1}, "loss must not be negative; found -0.1"),
        ({"loss": 0.9}, "loss must be possible: a detector that scores all alike loses"),
        ({"n_anomalies": 1}, "n_anomalies must be at least 2; found 1"),
        ({"n_normals": 1}, "n_normals must be at least 2; found 1"),
        ({"correlation": 1.5}, r"correlation must lie in \[0, 1\]"),
        ({"margin": 2}, "margin must be below 1, the largest difference in auc"),
        ({"margin": None}, "margin or value must be given, and not both; found neither"),
        ({"value": 0.8}, "margin or value must be given, and not both; found both"),
        ({"margin": None, "value": 3}, r"value must lie in \[0, 1\], the range of auc"),
    ],
)
def test_refusals(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        gate_power(Y, OLD, **{"measure": "auc", "margin": 0.1, **options})
