"""What so many normal samples can tell of a false positive rate."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

import fastad
from fastad.uncertainty import resolution


@pytest.mark.parametrize("n_normals", [1, 4, 5, 99, 500, 100_000])
@pytest.mark.parametrize("fpr", ["0.000001", "0.01", "0.29", "0.5", "0.999"])
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_the_interval_is_that_of_clopper_and_pearson(
    n_normals: int, fpr: str, level: float
) -> None:
    """From its definition: the rates at which as many, or as few, have probability alpha / 2."""
    result = resolution(np.zeros(n_normals), fpr=float(fpr), confidence_level=level)
    k, half = math.floor(Fraction(fpr) * n_normals), (1 - level) / 2
    low = brentq(lambda p: binom.sf(k - 1, n_normals, p) - half, 0, 1, xtol=1e-15) if k else 0
    high = brentq(lambda p: binom.cdf(k, n_normals, p) - half, 0, 1, xtol=1e-15)
    assert result.fpr_low == pytest.approx(low, rel=1e-6)
    assert result.fpr_high == pytest.approx(high, rel=1e-6)
    assert result.n_expected == pytest.approx(float(fpr) * n_normals)
    assert result.is_resolved == (Fraction(fpr) * n_normals >= 5)
    assert (
        Fraction(fpr) * result.required_normals >= 5 > Fraction(fpr) * (result.required_normals - 1)
    )
    assert result.lowest_fpr == min(5 / n_normals, 1)


@pytest.mark.parametrize("fpr", [0.003, 0.02, 0.1])
def test_it_marks_what_tables_mark(fpr: float) -> None:
    labels = np.repeat([0, 1], [250, 20])
    table = fastad.evaluate(labels, np.arange(270), measures=[f"tpr@{fpr}"])["score"]
    assert bool(table.unresolved) == (not resolution(labels, fpr=fpr).is_resolved)


def test_it_counts_and_says_what_it_found() -> None:
    result = resolution(["bad", "good", "good", "good"], fpr=0.5, pos_label="bad")
    assert (result.n_anomalies, result.n_normals, result.required_normals) == (1, 3, 10)
    assert str(result).startswith(
        "FPR 0.5 of 3 normals rests on 1.5 of them, fewer than 5; it takes 10."
    )
    assert result.to_dict()["summary"] == result.summary
    enough = resolution(np.zeros(1000), fpr=0.01)
    assert str(enough).startswith("FPR 0.01 of 1000 normals rests on 10 of them, at least 5. ")


def test_the_rate_of_a_threshold_on_new_samples_lies_in_the_interval() -> None:
    """Of uniform scores the rate beyond a threshold is result."""
    rng, n_runs, missed = np.random.default_rng(3), 1000, 0
    result = resolution(np.zeros(130), fpr=0.02, confidence_level=0.9)
    for _ in range(n_runs):
        threshold = fastad.measures.threshold_at_rate(rng.uniform(size=130), rate=0.02)
        missed += not result.fpr_low <= 1 - threshold <= result.fpr_high
    assert missed <= n_runs * 0.1 + 3 * math.sqrt(n_runs * 0.1 * 0.9)


@pytest.mark.parametrize(
    "options",
    [{"fpr": 0}, {"fpr": 1}, {"fpr": math.nan}, {"fpr": "x"}, {"confidence_level": 1.0}],
    ids=str,
)
def test_refusals(options: dict[str, Any]) -> None:
    (name,) = options
    with pytest.raises((ValueError, TypeError), match=f"^{name} must"):
        resolution([0, 1], **{"fpr": 0.1, **options})
    with pytest.raises(fastad.UndefinedMeasureError, match="without normal samples"):
        resolution([1, 1], fpr=0.1)
    with pytest.raises(fastad.InvalidInputError, match=r"^y_true must"):
        resolution([0, 2], fpr=0.1)
