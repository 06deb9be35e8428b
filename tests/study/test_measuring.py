"""What a study measures of scores, and machines that share their distances."""

import math

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.metrics import precision_recall_curve
from sklearn.svm import OneClassSVM

import fastad
from fastad.detectors.support import SupportGroup, compile_one_class_svm
from fastad.study.config import check_measures
from fastad.study.measuring import Measured, measure_scores
from fastad.study.papers.grids import RATES, paper_measures
from fastad.study.results import CURVES

Matrix = npt.NDArray[np.float64]


def scores(
    seed: int = 0, n: int = 40, m: int = 200
) -> tuple[npt.NDArray[np.uint8], Matrix, Matrix]:
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [n, m]).astype(np.uint8)
    return y, rng.normal(size=n + m) + y, rng.normal(1, 2, size=3000)


def measured(seed: int = 0, *, with_curves: bool = False) -> Measured:
    return measure_scores(
        *scores(seed), keys=paper_measures(), rates=(0.01, 0.05), with_curves=with_curves
    )


def test_measures_with_labels_are_those_of_evaluate() -> None:
    y, s, _ = scores()
    result = measured().values
    direct = fastad.evaluate(y, s, measures=paper_measures())["score"]
    assert all(result[label] == direct[label] for label in paper_measures())
    assert result["auc"] == fastad.roc_auc(y, s)
    assert result["tpr@0.4"] == fastad.tpr_at_fpr(y, s, fpr=0.4)
    assert result["lf_auc@0.8"] == fastad.measures.lf_auc(y, s, alpha=0.8)


def test_all_labels_of_the_papers_are_known() -> None:
    labels = paper_measures()
    assert len(set(labels)) == len(labels)
    assert {f"auc@{rate:g}" for rate in RATES} <= set(labels)
    assert {"auc", "auc_w", "precision@p0.01", "f1@0.05", "ht_auc@0.4", "cost_auc@1.25"} <= set(
        labels
    )
    assert check_measures(labels, []) == labels


@pytest.mark.parametrize("seed", range(3))
def test_volumes_are_shares_of_uniform_points(seed: int) -> None:
    y, s, uniform = scores(seed)
    result = measured(seed).values
    for rate in (0.01, 0.05):
        threshold = fastad.threshold_at_fpr(y, s, fpr=rate)
        n_outside = sum(1 for one in uniform.tolist() if one >= threshold)
        assert result[f"cvol@{rate:g}"] == n_outside / uniform.shape[0]


def test_criteria_are_those_of_the_normal_rows_in_a_box_of_volume_one() -> None:
    y, s, uniform = scores()
    criteria = fastad.unsupervised.emmv(
        {"own": s[y == 0]}, {"own": uniform}, 1.0, n_resamples=10, rng=0
    )["own"]
    result = measured().values
    assert result["em"] == pytest.approx(criteria.em.value, rel=1e-12)
    assert result["mv"] == pytest.approx(criteria.mv.value, rel=1e-12)


def test_what_is_undefined_is_nan_with_its_reason() -> None:
    y, s, _ = scores(n=1)
    # No uniform point is as normal as any test row.
    result = measure_scores(
        *(y, s, np.full(100, 50.0)),
        keys=("auc", "precision@p0.05"),
        rates=(0.05,),
        with_curves=True,
    )
    assert result.values["cvol@0.05"] == 1
    assert math.isnan(result.values["em"])
    assert "uniform" in result.undefined["em"]
    assert math.isnan(result.values["precision@p0.05"])
    assert result.curves["em_level"] == []
    assert result.values["mv"] == 0


def test_curves_are_kept_only_where_they_are_requested() -> None:
    assert measured().curves == {}
    assert tuple(measured(with_curves=True).curves) == CURVES
    assert measured(with_curves=True).values == measured().values


def test_curves_are_read_from_those_of_the_scores() -> None:
    y, s, uniform = scores()
    curves = measured(with_curves=True).curves
    rates = np.arange(101) / 100
    # Curves are kept in single precision.
    expected = [fastad.tpr_at_fpr(y, s, fpr=rate) for rate in rates]
    np.testing.assert_allclose(curves["roc"], expected, rtol=1e-7)
    precision, recall, _ = precision_recall_curve(y, s)
    for wanted, own in zip(rates[1:], curves["pr"], strict=True):
        # Of the points that find so many anomalies, the one that flags the fewest.
        first = max(
            range(len(recall)), key=lambda i: (recall[i] >= wanted, -recall[i], precision[i])
        )
        assert own == pytest.approx(precision[first], rel=1e-6)
    volumes = fastad.mass_volume_curve(s[y == 0], uniform, 1.0)
    np.testing.assert_allclose(
        curves["mv_volume"], volumes(np.array(curves["mv_mass"])), rtol=1e-6, atol=2e-3
    )
    masses = fastad.excess_mass_curve(s[y == 0], uniform, 1.0)
    assert curves["em_mass"][-1] == pytest.approx(0.9, rel=1e-6)
    np.testing.assert_allclose(curves["em_mass"], masses(np.array(curves["em_level"])), rtol=1e-5)
    for p in (0, 37, 90, 100):
        distance = curves["anomaly_percentiles"][100 - p] - curves["normal_percentiles"][p]
        assert distance == pytest.approx(fastad.measures.rp_distance(y, s, p=p), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_machines_that_share_distances_score_to_the_bit_as_alone(d: int) -> None:
    rng = np.random.default_rng(d)
    X = rng.normal(size=(150, d))
    machines = [OneClassSVM(gamma=gamma, nu=0.5).fit(X) for gamma in (0.01, 1, 100, "scale")]
    points = np.ascontiguousarray(rng.uniform(-4, 4, size=(700, d)).T)
    together = np.empty((len(machines), 700))
    SupportGroup([compile_one_class_svm(machine) for machine in machines]).write(points, together)
    for own, machine in zip(together, machines, strict=True):
        alone = fastad.compile_scorer(machine).score_samples(points.T)
        assert np.array_equal(own, alone)
        np.testing.assert_allclose(own, -machine.score_samples(points.T), rtol=1e-9, atol=1e-9)
