"""Splitting in 100 features, on regions whose fraction is known in closed form.

Balls, an ellipsoid, a simplex and a shell; the reconstruction error of a fitted PCA, whose region
is a cylinder as the training data have exact principal axes; a fitted Gaussian mixture of two
components far apart, whose region is two ellipsoids; and the reconstruction error of a linear
autoencoder, trained by scikit-learn, under the normal distribution of its data, whose law is that
of a weighted sum of squares (J. P. Imhof, 1961).

    python -m bench.rare_hundred [SEEDS [REGION ...]]
"""

import math
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numba
import numpy as np
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.neural_network import MLPRegressor

import fastad
from bench.pages import EVIDENCE, fill, read_rows, table, write_rows
from tests.support import rare

D, N_TRAINING, N_DRAWS = 100, 2000, 10**6
N_COMPONENTS = 5
FPR = 0.05
TABLE, PAGE = EVIDENCE / "rare_hundred.csv", EVIDENCE / "rare.md"


class Case(NamedTuple):
    """A score, its threshold, where points are drawn, and the logarithm of the fraction."""

    score: Any
    threshold: float
    options: Mapping[str, Any]
    log_fraction: float


def _shape(name: str) -> Case:
    region = rare.SHAPES[name](D)
    return Case(region.jitted, region.threshold, {"box": region.box}, region.log_fraction)


def _pca() -> Case:
    """Return the region of PCA: a ball in the features that its components leave out."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(N_TRAINING, D))
    columns, _ = np.linalg.qr(normal - normal.mean(axis=0))
    columns -= columns.mean(axis=0)
    widths = np.where(np.arange(D) < N_COMPONENTS, 1.0, 0.05) * np.linspace(1.2, 1.0, D)
    X = columns * math.sqrt(N_TRAINING) * widths
    fitted = PCA(N_COMPONENTS).fit(X)
    mean, axes = fitted.mean_, fitted.components_
    assert np.abs(axes[:, N_COMPONENTS:]).max() < 1e-9

    @numba.njit
    def error(point: Any) -> Any:
        rest = point - mean
        total = (rest**2).sum()
        for k in range(axes.shape[0]):
            total -= (axes[k] * rest).sum() ** 2
        return total

    threshold = float(np.quantile([error(row) for row in X], 1 - FPR))
    ends = np.where(np.arange(D) < N_COMPONENTS, 4.0, 0.8)
    radius, m = math.sqrt(threshold), D - N_COMPONENTS
    assert radius < 0.8
    log_fraction = rare.log_ball_volume(m) + m * math.log(radius / 1.6)
    return Case(error, threshold, {"box": fastad.Box(-ends, ends)}, log_fraction)


def _mixture() -> Case:
    """Return the region of a Gaussian mixture: an ellipsoid around each mean."""
    rng = np.random.default_rng(0)
    centres = np.where(rng.random((2, D)) < 0.5, -0.5, 0.5)
    X = centres[rng.integers(2, size=N_TRAINING)] + 0.05 * rng.normal(size=(N_TRAINING, D))
    fitted = GaussianMixture(2, random_state=0).fit(X)
    threshold = float(np.quantile(-fitted.score_samples(X), 1 - FPR))
    logs = []
    for weight, mean, covariance in zip(
        fitted.weights_, fitted.means_, fitted.covariances_, strict=True
    ):
        log_root = 0.5 * np.linalg.slogdet(covariance)[1]
        square = 2 * (threshold + math.log(weight) - D / 2 * math.log(2 * math.pi) - log_root)
        assert (np.abs(mean) + math.sqrt(square) * np.sqrt(np.diag(covariance)) < 2).all()
        logs.append(rare.log_ball_volume(D) + D / 2 * math.log(square) + log_root)
    box = fastad.Box(np.full(D, -2.0), np.full(D, 2.0))
    log_fraction = float(np.logaddexp(*logs)) - D * math.log(4.0)
    return Case(fitted, threshold, {"box": box}, log_fraction)


def _autoencoder() -> Case:
    """Return the region of a linear autoencoder below a small error, and its mass."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_TRAINING, 10)) @ rng.normal(size=(10, D)) / 3
    X += 0.3 * rng.normal(size=(N_TRAINING, D))
    network = MLPRegressor(
        hidden_layer_sizes=(10,), activation="identity", max_iter=400, random_state=0
    ).fit(X, X)
    (first, second), (b, c) = network.coefs_, network.intercepts_
    rest, constant = np.eye(D) - first @ second, -(b @ second + c)
    residual, offset = np.ascontiguousarray(rest.T), np.ascontiguousarray(constant)

    @numba.njit
    def error(point: Any) -> Any:
        total = 0.0
        for k in range(residual.shape[0]):
            total += ((residual[k] * point).sum() + offset[k]) ** 2
        return total

    reference = fastad.regions.Normal.from_data(X)
    # The error is the square of a vector that is affine in standard normal numbers.
    matrix = residual @ reference.factor
    shift = residual @ reference.mean + offset
    values, vectors = np.linalg.eigh(matrix.T @ matrix)
    means = vectors.T @ (matrix.T @ shift) / values
    outside = shift @ shift - float(values @ means**2)
    low, high = outside, float(np.sum(values * (1 + means**2)))
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        below = weighted_squares(values, means, middle - outside) < 1e-6
        low, high = (middle, high) if below else (low, middle)
    mass = weighted_squares(values, means, high - outside)
    return Case(error, high, {"reference": reference}, math.log(mass))


def weighted_squares(values: Any, means: Any, x: float) -> float:
    """Return P(sum of values * (normal + means)**2 < x), by Imhof's integral."""
    u = (np.arange(20_000) + 0.5) * (40.0 / (values.max() * 20_000))
    angle, log_size, exponent = -x * u, np.log(u), np.zeros_like(u)
    for value, mean in zip(values, means, strict=True):
        square = (value * u) ** 2
        angle += np.arctan(value * u) + mean**2 * value * u / (1 + square)
        log_size += 0.25 * np.log1p(square)
        exponent += 0.5 * mean**2 * square / (1 + square)
    integral = float(np.sum(np.sin(angle / 2) * np.exp(-log_size - exponent)) * (u[1] - u[0]))
    return 0.5 - integral / math.pi


CASES: Mapping[str, Callable[[], Case]] = {
    **{name: (lambda name=name: _shape(name)) for name in rare.SHAPES},  # type: ignore[misc]
    "PCA": _pca,
    "Gaussian mixture": _mixture,
    "autoencoder": _autoencoder,
}


def measure(name: str, seed: int) -> dict[str, Any]:
    """Return a row of the table."""
    case = CASES[name]()
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = fastad.volume(
            *(case.score, case.threshold),
            **case.options,
            method="splitting",
            n_draws=N_DRAWS,
            rng=seed,
        )
    return {
        "region": name,
        "seed": str(seed),
        "log_fraction": f"{case.log_fraction:.4f}",
        "error": f"{result.log_value - case.log_fraction:.4f}",
        "half_width": f"{(result.log_high - result.log_low) / 2:.4f}",
        "n_scored": str(result.n_scored),
        "is_bound": "yes" if result.is_bound else "no",
        "warned": "yes" if caught else "no",
        "processor_seconds": f"{time.process_time() - begin:.1f}",
    }


def page(rows: Sequence[Mapping[str, str]]) -> None:
    """Put the table into the page."""
    lines = []
    for name in CASES:
        mine = [row for row in rows if row["region"] == name]
        if mine:
            errors = [float(row["error"]) for row in mine]
            widths = [float(row["half_width"]) for row in mine]
            covered = sum(abs(e) <= w for e, w in zip(errors, widths, strict=True))
            root = math.sqrt(float(np.mean(np.square(errors))))
            n_warned = sum(row["warned"] == "yes" for row in mine)
            numbers = f"{root:.3f}", f"{np.median(widths):.3f}", covered, n_warned, len(mine)
            lines.append([name, f"{float(mine[0]['log_fraction']):.1f}", *numbers])
    head = ["region", "log fraction", "error", "half-width", "covered", "warned", "of seeds"]
    fill(PAGE, {"hundred": table(head, lines)})


def main(arguments: Sequence[str]) -> None:
    """Measure what is lacking."""
    n_seeds = int(arguments[0]) if arguments else 5
    for seed in range(n_seeds):
        for name in arguments[1:] or CASES:
            rows = read_rows(TABLE) if TABLE.exists() else []
            if any((row["region"], row["seed"]) == (name, str(seed)) for row in rows):
                continue
            row = measure(name, seed)
            rows = [*(read_rows(TABLE) if TABLE.exists() else []), row]
            rows.sort(key=lambda row: (list(CASES).index(row["region"]), int(row["seed"])))
            write_rows(TABLE, rows)
            page(rows)


if __name__ == "__main__":
    main(sys.argv[1:])
