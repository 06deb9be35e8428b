"""The protocol of a study through scikit-learn's scores and NumPy's uniform points."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score, roc_auc_score, roc_curve
from sklearn.neighbors import LocalOutlierFactor, NearestNeighbors

from fastad.study.config import OPERATING_RATES
from fastad.study.papers.grids import RATES

Floats = npt.NDArray[np.float64]

N_REPEATS = 10
MASSES = np.arange(0.9, 0.999, 0.001)


class Distances:
    """One of the scores of k nearest neighbours."""

    def __init__(self, X_train: Floats, kind: str, k: int) -> None:
        self._training, self._kind = X_train, kind
        self._search = NearestNeighbors(n_neighbors=k).fit(X_train)

    def scores(self, X: Floats) -> Floats:
        distances, rows = self._search.kneighbors(X)
        return summary(self._kind, X, self._training, distances, rows)


class Estimator:
    """A detector of scikit-learn."""

    def __init__(self, fitted: Any) -> None:
        self._fitted = fitted

    def scores(self, X: Floats) -> Floats:
        return -np.asarray(self._fitted.score_samples(X))


def summary(kind: str, X: Floats, training: Floats, distances: Floats, rows: Any) -> Floats:
    """Return what the neighbours of each row come to, block by block to save memory."""
    if kind == "kappa":
        return np.asarray(distances[:, -1])
    if kind == "gamma":
        return np.asarray(distances.mean(axis=1))
    results = [
        np.linalg.norm((training[rows[i : i + 2000]] - X[i : i + 2000, None]).mean(axis=1), axis=1)
        for i in range(0, X.shape[0], 2000)
    ]
    return np.concatenate(results)


def detectors(configurations: Sequence[Any], X_train: Floats, seeds: Sequence[int]) -> list[Any]:
    """Fit the detectors of a study one by one."""
    results: list[Any] = []
    for configuration, seed in zip(configurations, seeds, strict=True):
        rule = configuration.rule
        if rule is None:
            results.append(Estimator(configuration.fit(X_train, seed)))
        elif rule.kind == "lof":
            factor = LocalOutlierFactor(n_neighbors=rule.k, novelty=True)
            results.append(Estimator(factor.fit(X_train)))
        else:
            results.append(Distances(X_train, rule.kind, rule.k))
    return results


class Together:
    """Scores of nearest neighbours for several k, by one search for the largest."""

    def __init__(self, rules: Sequence[Any], X_train: Floats) -> None:
        self._rules, self._training = rules, X_train
        self._search = NearestNeighbors(n_neighbors=max(rule.k for rule in rules)).fit(X_train)

    def scores(self, X: Floats) -> list[Floats]:
        distances, rows = self._search.kneighbors(X)
        return [
            summary(rule.kind, X, self._training, distances[:, : rule.k], rows[:, : rule.k])
            for rule in self._rules
        ]


def measured(y: Any, scores: Floats, uniform: Floats, rng: np.random.Generator) -> dict[str, float]:
    """Return what a study measures, each curve made once."""
    fpr, tpr, thresholds = roc_curve(y, scores, drop_intermediate=False)
    results = {
        "auc": float(roc_auc_score(y, scores)),
        "ap": float(average_precision_score(y, scores)),
    }
    started = fpr[1:] > 0
    weights = ((tpr[1:] + tpr[:-1]) / 2 * np.diff(fpr))[started] / fpr[1:][started]
    results["auc_w"] = float(weights.sum())
    for rate in RATES:
        before = fpr <= rate
        height = float(np.interp(rate, fpr, tpr))
        heights = np.append(tpr[before], height)
        results[f"auc@{rate:g}"] = float(np.trapezoid(heights, np.append(fpr[before], rate)) / rate)
        results[f"tpr@{rate:g}"] = height
    anomalies, normals = scores[y == 1], scores[y == 0]
    for rate in OPERATING_RATES:
        k = int(normals.shape[0] * rate / (1 - rate))
        precisions = []
        for _ in range(N_REPEATS if 0 < k <= anomalies.shape[0] else 0):
            chosen = rng.choice(anomalies, k, replace=False)
            together = np.concatenate([chosen, normals])
            precisions.append(np.mean(np.argpartition(-together, k)[:k] < k))
        results[f"precision@p{rate:g}"] = float(np.mean(precisions)) if precisions else np.nan
        threshold = float(np.interp(rate, fpr, thresholds))
        tp, fp = np.sum(anomalies >= threshold), np.sum(normals >= threshold)
        results[f"f1@{rate:g}"] = float(2 * tp / (tp + fp + anomalies.shape[0]))
        results[f"cvol@{rate:g}"] = float(np.mean(uniform >= threshold))
    return results | criteria(normals, uniform)


def criteria(normals: Floats, uniform: Floats) -> dict[str, float]:
    """Return EM on a grid of levels and MV on one of masses, in a box of volume 1."""
    normals, uniform = np.sort(normals), np.sort(uniform)
    indices = np.ceil(MASSES * normals.shape[0]).astype(int) - 1
    volumes = np.searchsorted(uniform, normals[indices], side="right") / uniform.shape[0]
    mass = np.arange(1, normals.shape[0] + 1) / normals.shape[0]
    volume = np.searchsorted(uniform, normals, side="right") / uniform.shape[0]
    levels = np.linspace(0, 100, 1000)
    heights = np.array([np.max(mass - level * volume) for level in levels])
    above = heights > 0.9
    area = float(np.trapezoid(heights[above], levels[above]))
    return {"mv": float(np.trapezoid(volumes, MASSES)), "em": area}


def uniform_points(rows: Floats, n_draws: int, rng: np.random.Generator) -> Floats:
    """Draw points in the box of some rows."""
    return rng.uniform(rows.min(axis=0), rows.max(axis=0), size=(n_draws, rows.shape[1]))


def run(
    fitted: Sequence[Any],
    X_test: Floats,
    y_test: Any,
    rows: Floats,
    n_draws: int,
    together: Together | None = None,
) -> Iterator[dict[str, float]]:
    """Score and measure, by one search for all distances if given, then detectors one by one."""
    rng = np.random.default_rng(0)
    uniform = uniform_points(rows, n_draws, rng)
    if together is not None:
        for tested, drawn in zip(together.scores(X_test), together.scores(uniform), strict=True):
            yield measured(y_test, tested, drawn, rng)
    for detector in fitted:
        yield measured(y_test, detector.scores(X_test), detector.scores(uniform), rng)
