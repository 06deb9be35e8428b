"""Coverage of 95 % intervals where samples come in clusters, in time, or with weights.

``python -m bench.dependence [N_SAMPLES]`` prints a line of CSV for each design and measure: how
often the intervals that allow for it cover the true value, and how often those that take rows as
independent and of equal weights do.
"""

import sys
import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter

import fastad

MEASURES = ("auc", "auc@0.05", "tpr@0.01", "ap")
SHIFT, PREVALENCE = 2.0, 0.2


class Sample(NamedTuple):
    """Labels, scores, and the arguments that say how they were sampled."""

    y_true: Any
    y_score: Any
    design: dict[str, Any]


def in_clusters(rng: np.random.Generator, correlation: float, labels: str) -> Sample:
    """150 clusters of 20 points, whose labels are those of the cluster, or of the points."""
    n_clusters, size = 150, 20
    clusters = np.repeat(np.arange(n_clusters), size)
    if labels == "of clusters":
        y = (rng.random(n_clusters) < PREVALENCE)[clusters]
    else:
        y = rng.random(clusters.shape[0]) < PREVALENCE
    common, own = np.sqrt([correlation, 1 - correlation])
    noise = common * rng.normal(size=n_clusters)[clusters] + own * rng.normal(size=y.shape[0])
    return Sample(y, noise + SHIFT * y, {"clusters": clusters})


def in_time(rng: np.random.Generator, memory: float, n: int) -> Sample:
    """A series whose noise and whose anomalies last."""
    noise = lfilter([np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=n + 500))[500:]
    hidden = lfilter([np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=n + 500))[500:]
    y = hidden > np.quantile(rng.normal(size=10**6), 1 - PREVALENCE)
    return Sample(y, noise + SHIFT * y, {"blocks": "auto"})


def with_weights(rng: np.random.Generator, n: int) -> Sample:
    """Rows of a larger population, those of high scores sampled more often."""
    y = rng.random(5 * n) < PREVALENCE
    s = rng.normal(size=5 * n) + SHIFT * y
    probability = np.clip(0.05 + 0.3 / (1 + np.exp(-2 * (s - 1))), 0, 1)
    chosen = rng.random(5 * n) < probability
    return Sample(y[chosen], s[chosen], {"sample_weight": 1 / probability[chosen]})


DESIGNS: dict[str, Callable[[np.random.Generator], Sample]] = {
    **{
        f"clusters, labels {labels}, correlation {r}": partial(
            in_clusters, correlation=r, labels=labels
        )
        for labels in ("of clusters", "of points")
        for r in (0.2, 0.5, 0.8)
    },
    "series of 10^4, memory 0.9": partial(in_time, memory=0.9, n=10**4),
    "series of 10^5, memory 0.9": partial(in_time, memory=0.9, n=10**5),
    "weights": partial(with_weights, n=3000),
}


@cache
def truth(measure: str) -> float:
    """The value of a measure on the population, to three and a half digits."""
    rng = np.random.default_rng(0)
    y = rng.random(10**7) < PREVALENCE
    ranked = fastad.evaluate(y, rng.normal(size=10**7) + SHIFT * y, measures=[measure])
    return float(ranked["score"][measure])


def covers(sample: Sample, measure: str, *, plain: bool, seed: int) -> bool:
    options = {} if plain else sample.design
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = fastad.interval(
            sample.y_true, sample.y_score, measure=measure, rng=seed, n_resamples=500, **options
        )
    return bool(found.low <= truth(measure) <= found.high)


def main(n_samples: int) -> None:
    print("design,measure,coverage,as_if_independent")
    for name, draw in DESIGNS.items():
        few = max(n_samples // 4, 20) if "10^5" in name else n_samples
        hits = np.zeros((len(MEASURES), 2))
        for seed in range(few):
            sample = draw(np.random.default_rng([seed, len(name)]))
            for i, measure in enumerate(MEASURES):
                hits[i] += [
                    covers(sample, measure, plain=plain, seed=seed) for plain in (False, True)
                ]
        for measure, (found, plain) in zip(MEASURES, hits / few, strict=True):
            print(f'"{name}",{measure},{found:.3f},{plain:.3f}', flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
