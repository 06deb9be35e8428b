"""How narrow the bounds of a sketch are, beside what KLL and REQ sketches of as many bytes say.

``python -m bench.sketch_accuracy [N_SCORES]`` prints a line of CSV for each distribution of the
scores. Bounds are certain; the peers' errors are those of one run each, whose guarantee is random.
"""

import sys
from collections.abc import Callable, Mapping

import datasketches
import numpy as np
import numpy.typing as npt

import fastad
from fastad.streaming import ScoreSketch

_BATCH = 10_000_000
_MEMORY = 8_000_000
_FPR = 0.001
_LOWEST = 1e-5

# A standard normal variable, for normals, or shifted, for anomalies, as a score.
_SHAPES: Mapping[str, Callable[[npt.NDArray[np.float64]], npt.NDArray[np.float64]]] = {
    "normal": lambda z: z,
    "exponential": lambda z: np.logaddexp(0, 2 * z),
    # Thirty orders of magnitude between five standard deviations on both sides.
    "log-normal": lambda z: np.exp(z * (30 * np.log(10) / 10)),
}


def draw(shape: str, n_scores: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Draw labels and scores, one anomaly in a hundred."""
    rng = np.random.default_rng(0)
    labels = rng.random(n_scores) < 0.01
    return labels, _SHAPES[shape](rng.standard_normal(n_scores) + 2.0 * labels)


def widest_fpr(sketch: ScoreSketch) -> float:
    """Return how far off the FPR of a threshold may be, relative to it, from 1e-5 up."""
    cells = sketch.score_cells()
    below = np.cumsum(cells.normals)
    rates = below / below[-1]
    # Within a cell the rate lies between those of its edges; its value is that of one of them.
    middle = (rates + np.concatenate([[0.0], rates[:-1]])) / 2
    half = cells.normals / below[-1] / 2
    left_out = cells.ties | (rates < _LOWEST)
    return float(np.max(np.where(left_out, 0.0, half / np.maximum(middle, _LOWEST))))


def peers(
    labels: npt.NDArray[np.bool_], scores: npt.NDArray[np.float64]
) -> tuple[float, float, int]:
    """Return the relative errors of FPRs by KLL and REQ at 50 thresholds, and the bytes of REQ."""
    normals = np.sort(scores[~labels])
    ranks = np.unique(np.geomspace(_LOWEST, 0.5, 50) * normals.shape[0]).astype(int)
    thresholds = normals[-ranks]
    kll = datasketches.kll_doubles_sketch(65_535)
    req = datasketches.req_floats_sketch(1000, True)
    for start in range(0, normals.shape[0], _BATCH):
        batch = np.random.default_rng(start).permutation(normals[start : start + _BATCH])
        kll.update(batch)
        req.update(batch.astype(np.float32))
    exact = ranks / normals.shape[0]
    errors = []
    for sketch in (kll, req):
        estimates = np.array([1 - sketch.get_rank(float(t), False) for t in thresholds])
        errors.append(float(np.max(np.abs(estimates / exact - 1))))
    return errors[0], errors[1], len(req.serialize())


def main(n_scores: int) -> None:
    print(
        "scores,n,resolution,auc_bound,auc_error,tpr_bound,tpr_error,fpr_bound,fpr_error_kll,"
        "fpr_error_req,bytes_req"
    )
    for shape in _SHAPES:
        labels, scores = draw(shape, n_scores)
        sketch = ScoreSketch(_MEMORY)
        for start in range(0, n_scores, _BATCH):
            sketch.update(labels[start : start + _BATCH], scores[start : start + _BATCH])
        auc, tpr = sketch.roc_auc(), sketch.tpr_at_fpr(fpr=_FPR)
        errors = [
            abs(auc.value - fastad.roc_auc(labels, scores)),
            abs(tpr.value - fastad.tpr_at_fpr(labels, scores, fpr=_FPR)),
        ]
        numbers = [auc.error, errors[0], tpr.error, errors[1], widest_fpr(sketch)]
        kll, req, n_bytes = peers(labels, scores)
        cells = [f"{number:.2g}" for number in (*numbers, kll, req)]
        print(f"{shape},{n_scores:.0g},{sketch.resolution},{','.join(cells)},{n_bytes}", flush=True)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10**8)
