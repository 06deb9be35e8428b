"""Detectors that misbehave."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin

from tests.support.small_studies import TRIAL_ROWS, Matrix


class Centre(OutlierMixin, BaseEstimator):  # type: ignore[misc]
    """Scores by the distance to the centre, to a power."""

    def __init__(self, power: float = 2.0) -> None:
        self.power = power

    def fit(self, X: Matrix, y: object = None) -> "Centre":
        self.centre_ = X.mean(axis=0)
        self.n_features_in_ = X.shape[1]
        return self

    def score_samples(self, X: Matrix) -> Matrix:
        lengths: Matrix = np.linalg.norm(X - self.centre_, axis=1)
        return -(lengths**self.power)


GOOD = {"name": "good", "estimator": Centre}


class Misbehaves(Centre):
    """Does as it should on a few rows, and something else on more."""

    def fit(self, X: Matrix, y: object = None) -> "Centre":
        self.does_harm_ = X.shape[0] > TRIAL_ROWS
        if self.does_harm_:
            self.misbehave(X)
        return super().fit(X)

    def misbehave(self, X: Matrix) -> None:
        """Do something else than to fit."""

    def score_samples(self, X: Matrix) -> Matrix:
        scores = super().score_samples(X)
        return self.changed(scores) if self.does_harm_ else scores

    def changed(self, scores: Matrix) -> Matrix:
        """Return other scores."""
        return scores


class RaisesInFit(Misbehaves):
    def misbehave(self, X: Matrix) -> None:
        raise RuntimeError("singular\nmatrix")


class RaisesInScoring(Misbehaves):
    def changed(self, scores: Matrix) -> Matrix:
        raise KeyError("no such thing")


class NotNumbers(Misbehaves):
    def changed(self, scores: Matrix) -> Matrix:
        scores[0] = np.nan
        return scores


class AllInfinite(Misbehaves):
    def changed(self, scores: Matrix) -> Matrix:
        return np.full_like(scores, np.inf)


class WrongShape(Misbehaves):
    def changed(self, scores: Matrix) -> Matrix:
        return scores[:-1]


class NeedsRows(Centre):
    """Refuses to fit the few rows of a trial."""

    def fit(self, X: Matrix, y: object = None) -> "Centre":
        if X.shape[0] <= TRIAL_ROWS:
            raise ValueError("too few rows")
        return super().fit(X)


class FailsOnUniform(Misbehaves):
    """Has no scores of uniform points, of which there are more than rows."""

    def __init__(self, power: float = 2.0, *, raises: bool = False) -> None:
        super().__init__(power)
        self.raises = raises

    def changed(self, scores: Matrix) -> Matrix:
        if scores.shape[0] > 100:
            if self.raises:
                raise RuntimeError("too far away")
            scores[:3] = np.nan
        return scores


class Infinite(Centre):
    """Far points are infinitely anomalous, near ones infinitely normal."""

    def score_samples(self, X: Matrix) -> Matrix:
        scores = super().score_samples(X)
        scores[scores < np.quantile(scores, 0.1)] = -np.inf
        scores[scores > np.quantile(scores, 0.9)] = np.inf
        return scores


class Warns(Centre):
    def fit(self, X: Matrix, y: object = None) -> "Centre":
        warnings.warn("did not converge", UserWarning, stacklevel=2)
        return super().fit(X)

    def score_samples(self, X: Matrix) -> Matrix:
        warnings.warn("deprecated", FutureWarning, stacklevel=2)
        return super().score_samples(X)


class Overwrites(Centre):
    """Writes on what it is given."""

    def fit(self, X: Matrix, y: object = None) -> "Centre":
        super().fit(X)
        X[:] = 7.0
        return self

    def score_samples(self, X: Matrix) -> Matrix:
        scores = super().score_samples(X)
        X[:] = 7.0
        return scores
