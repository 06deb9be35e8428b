"""Volumes of many detectors at once, against each of them alone on the same draws."""

from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

import fastad
from fastad.detectors import KNNDetector
from fastad.errors import InsufficientMixingWarning
from fastad.regions import at_fpr, uniform
from fastad.regions.at_fpr import BlockGroup, group_blocks
from fastad.regions.scores import block_score

FPR = [0.01, 0.05, 0.2, 0.5]


def _detectors(X: Any) -> dict[str, Any]:
    detectors: dict[str, Any] = {
        f"{kind}{k}": KNNDetector(k, kind=kind).fit(X)
        for kind in ("kappa", "gamma", "delta")
        for k in (3, 12)
    }
    detectors["lof"] = LocalOutlierFactor(n_neighbors=12, novelty=True).fit(X)
    detectors |= {f"svm{g}": OneClassSVM(gamma=g, nu=0.4).fit(X) for g in (0.1, 1.0)}
    return detectors | {"function": lambda rows: np.abs(rows).sum(axis=1)}


@pytest.mark.parametrize("is_discrete", [False, True])
def test_estimates_are_those_of_each_alone(
    is_discrete: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    if is_discrete:
        X = np.round(X)
    detectors, y = _detectors(X[:200]), np.zeros(400)
    options: Any = {"fpr": FPR, "method": "uniform", "n_draws": 8000, "rng": 3}
    result = fastad.volumes(detectors, X, y, **options)
    monkeypatch.setattr(at_fpr, "group_blocks", lambda scores: [])
    alone = fastad.volumes(detectors, X, y, **options)
    assert result.to_columns() == alone.to_columns()
    assert result["lof"]["vol@0.2"].n_scored == alone["lof"]["vol@0.2"].n_scored


def test_draws_of_a_group_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    detectors = _detectors(X)
    ranges: list[tuple[type, int, int]] = []
    own = uniform.Draws.count_here

    def count(self: Any, score: Any, thresholds: Any, first: int, n: int, *rest: Any) -> Any:
        ranges.append((type(score), first, n))
        return own(self, score, thresholds, first, n, *rest)

    monkeypatch.setattr(uniform.Draws, "count_here", count)
    options: Any = {"fpr": FPR, "method": "uniform", "n_draws": 5000, "rng": 3}
    result = fastad.volumes(detectors, X, np.zeros(300), **options)
    jointly = [n for kind, _, n in ranges if kind is BlockGroup]
    alone = [n for kind, _, n in ranges if kind is not BlockGroup and n > 0]
    assert jointly == [5000, 5000]  # by neighbours, and by support vectors
    assert alone == [5000]  # of the function
    ranges.clear()
    result["lof"]["vol@0.2"].extend(1000)
    assert [(first, n) for _, first, n in ranges] == [(5000, 1000)]


@pytest.mark.parametrize("numbers", [(3000, 3000), (3000, 2000), (2000, 3000)])
def test_members_that_need_other_numbers_of_draws(numbers: tuple[int, int]) -> None:
    """As they do where points were scored by other methods before."""
    X = np.random.default_rng(0).normal(size=(300, 3))
    detectors = [KNNDetector(k, kind="gamma").fit(X) for k in (3, 12)]
    members, apart = ([block_score(one, 3) for one in detectors] for _ in range(2))
    draws, at = uniform.Draws(fastad.Box.from_data(X), np.uint64(7)), np.array([0.5, 1.0, 1.5])
    (group,) = group_blocks(members)
    with group.counting_at([at.tolist(), [0.5, *at, 2.0]]):
        for member, other, n in zip(members, apart, numbers, strict=True):
            expected = draws.count(other, at, 100, n)
            np.testing.assert_array_equal(draws.count(member, at, 100, n), expected)
            # And at thresholds that nobody knew of.
            few = np.array([0.7, 1.0])
            np.testing.assert_array_equal(
                draws.count(member, few, 0, 50), draws.count(other, few, 0, 50)
            )


def test_members_count_for_themselves_after_an_error() -> None:
    X = np.random.default_rng(0).normal(size=(300, 3))
    members = [block_score(KNNDetector(k, kind="gamma").fit(X), 3) for k in (3, 12)]
    (group,) = group_blocks(members)
    with pytest.raises(KeyError), group.counting_at([[1.0], [1.0]]):
        raise KeyError
    assert [member.joint for member in members] == [None, None]


@pytest.mark.parametrize("function", ["volumes", "evaluate_unsupervised"])
def test_a_warning_of_splitting_names_its_detector(function: str) -> None:
    """Of twenty features ten thousand calls do not come down to a tenth of the range."""
    X = np.random.default_rng(0).uniform(-0.1, 0.1, size=(50, 20))
    X[0] = 1  # one level set must be reached: the whole box
    y = [np.zeros(50)] if function == "volumes" else []
    with pytest.warns(InsufficientMixingWarning, match=r"the region of detectors\['far'\]: "):
        getattr(fastad, function)(
            {"far": lambda rows: np.abs(rows).max(axis=1)},
            *(X, *y),
            box=fastad.Box([-1] * 20, [1] * 20),
            method="splitting",
            n_draws=10_000,
            rng=0,
        )
