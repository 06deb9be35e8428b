"""Coverage of 95 % intervals where samples come in clusters, in time, or with weights.

``python -m bench.dependence [N_SAMPLES] [intervals|bands|guarantees] [DESIGNS]`` prints a line of
CSV for each design and measure: how often the intervals that allow for it cover the true value, and
how often those that take rows as independent and of equal weights do; the same of bands of the ROC
curve, at one FPR and of the whole curve; or how often thresholds with a guarantee have the rate,
and for how many data sets there is none. Of designs those whose names contain a text are tried.
"""

import sys
import warnings
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.signal import lfilter
from scipy.stats import norm

import fastad

MEASURES = ("auc", "auc@0.05", "tpr@0.01", "ap")
SHIFT, PREVALENCE = 2.0, 0.2


class Sample(NamedTuple):
    """Labels, scores, and the arguments that say how they were sampled."""

    y_true: Any
    y_score: Any
    design: dict[str, Any]


def in_clusters(rng: np.random.Generator, correlation: float, labels: str) -> Sample:
    """150 clusters of 20 points."""
    return of_sizes(rng, np.full(150, 20), correlation, labels)


def of_sizes(rng: np.random.Generator, sizes: Any, correlation: float, labels: str) -> Sample:
    """Clusters whose labels are those of the cluster, or of the points."""
    n_clusters = len(sizes)
    clusters = np.repeat(np.arange(n_clusters), sizes)
    if labels == "of clusters":
        y = (rng.random(n_clusters) < PREVALENCE)[clusters]
    else:
        y = rng.random(clusters.shape[0]) < PREVALENCE
    common, single = np.sqrt([correlation, 1 - correlation])
    noise = common * rng.normal(size=n_clusters)[clusters] + single * rng.normal(size=y.shape[0])
    return Sample(y, noise + SHIFT * y, {"clusters": clusters})


def with_shocks(rng: np.random.Generator, n_clusters: int, proportion: float) -> Sample:
    """Clusters of 20 points, of which few have normals far above the others'."""
    clusters = np.repeat(np.arange(n_clusters), 20)
    y = rng.random(clusters.shape[0]) < PREVALENCE
    shock = 3.0 * (rng.random(n_clusters) < proportion)[clusters]
    return Sample(y, rng.normal(size=y.shape[0]) + SHIFT * y + shock * ~y, {"clusters": clusters})


def in_time(rng: np.random.Generator, memory: float, n: int) -> Sample:
    """A series whose noise and whose anomalies last."""
    noise = lfilter([np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=n + 500))[500:]
    hidden = lfilter([np.sqrt(1 - memory**2)], [1, -memory], rng.normal(size=n + 500))[500:]
    y = hidden > np.quantile(rng.normal(size=10**6), 1 - PREVALENCE)
    return Sample(y, noise + SHIFT * y, {"blocks": "auto"})


def in_unequal_clusters(
    rng: np.random.Generator, correlation: float, labels: str, tail: float | None
) -> Sample:
    """150 clusters of Pareto's sizes, 3 to 400; or 100 of 20 rows, and one with as many as they."""
    if tail is None:
        sizes = np.append(np.full(100, 20), 2000)
    else:
        sizes = np.minimum(3 * (1 + rng.pareto(tail, 150)), 400).astype(np.int64)
    return of_sizes(rng, sizes, correlation, labels)


def with_weights(rng: np.random.Generator, n: int) -> Sample:
    """Rows of a larger population, those of high scores sampled more often."""
    y = rng.random(5 * n) < PREVALENCE
    s = rng.normal(size=5 * n) + SHIFT * y
    probability = np.clip(0.05 + 0.3 / (1 + np.exp(-2 * (s - 1))), 0, 1)
    chosen = rng.random(5 * n) < probability
    return Sample(y[chosen], s[chosen], {"sample_weight": 1 / probability[chosen]})


def with_rising_weights(rng: np.random.Generator, n: int, slope: float) -> Sample:
    """Rows of a larger population, those of low scores sampled more often."""
    y = rng.random(20 * n) < PREVALENCE
    s = rng.normal(size=20 * n) + SHIFT * y
    odds = np.exp(-slope * s)
    probability = np.minimum(odds / odds.mean() / 20, 1)
    chosen = rng.random(20 * n) < probability
    return Sample(y[chosen], s[chosen], {"sample_weight": 1 / probability[chosen]})


def with_rare_tail(rng: np.random.Generator, n: int) -> Sample:
    """Normals, of which the highest are sampled a seventh as often as the others."""
    s = rng.normal(size=n)
    probability = np.where(s > 1.8, 0.13, 0.9)
    chosen = rng.random(n) < probability
    return Sample(
        np.zeros(n, np.bool_)[chosen], s[chosen], {"sample_weight": 1 / probability[chosen]}
    )


DESIGNS: dict[str, partial[Sample]] = {
    **{
        f"clusters, labels {labels}, correlation {r}": partial(
            in_clusters, correlation=r, labels=labels
        )
        for labels in ("of clusters", "of points")
        for r in (0.2, 0.5, 0.8)
    },
    "series of 1000, memory 0.9": partial(in_time, memory=0.9, n=1000),
    "series of 3000, memory 0.9": partial(in_time, memory=0.9, n=3000),
    "series of 10^4, memory 0.9": partial(in_time, memory=0.9, n=10**4),
    "series of 10^5, memory 0.9": partial(in_time, memory=0.9, n=10**5),
    "weights": partial(with_weights, n=3000),
    **{
        f"{sizes}, labels {labels}, correlation {r}": partial(
            in_unequal_clusters, correlation=r, labels=labels, tail=tail
        )
        for sizes, tail in (("Pareto 1.5", 1.5), ("Pareto 2.5", 2.5), ("one with half", None))
        for labels in ("of clusters", "of points")
        for r in (0.2, 0.8)
    },
    **{
        f"{n} clusters, a shock in {p:.0%}": partial(with_shocks, n_clusters=n, proportion=p)
        for n in (30, 50, 100)
        for p in (0.05, 0.1)
    },
    **{
        f"weights that grow as exp({b} s)": partial(with_rising_weights, n=1000, slope=b)
        for b in (0.5, 1.0)
    },
}


@cache
def truth(measure: str, shocks: float = 0.0) -> float:
    """Return a measure of the population, to three and a half digits; of clusters to three."""
    rng = np.random.default_rng(0)
    if shocks:
        y, scores, _ = with_shocks(rng, 10**5, shocks)
    else:
        y = rng.random(10**7) < PREVALENCE
        scores = rng.normal(size=10**7) + SHIFT * y
    return float(fastad.evaluate(y, scores, measures=[measure])["score"][measure])


def covers(
    sample: Sample, measure: str, true: float, *, plain: bool, seed: int
) -> tuple[bool, bool]:
    """Tell whether an interval covers the true value, and whether it came with a warning."""
    options = {} if plain else sample.design
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = fastad.interval(
            sample.y_true, sample.y_score, measure=measure, rng=seed, n_resamples=500, **options
        )
    return bool(result.low <= true <= result.high), bool(caught)


def band_covers(sample: Sample, *, simultaneous: bool, plain: bool) -> bool:
    """Tell whether the whole curve is in a simultaneous band, or TPR at FPR 5 % in another."""
    rates = np.array([0.05] if not simultaneous else [0.005, 0.01, 0.05, 0.1, 0.3, 0.5, 0.8])
    curve = norm.sf(norm.isf(rates) - SHIFT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        band = fastad.uncertainty.roc_band(
            sample.y_true,
            sample.y_score,
            fpr=rates,
            simultaneous=simultaneous,
            **({} if plain else sample.design),
        )
    return bool(np.all((band.low <= curve) & (curve <= band.high)))


def bands(n_samples: int, designs: str) -> None:
    print("design,band,coverage,as_if_independent")
    for name, draw in DESIGNS.items():
        if "10^5" in name or "shock" in name or designs not in name:
            continue
        hits = np.zeros((2, 2))
        for seed in range(n_samples):
            sample = draw(np.random.default_rng([seed, len(name)]))
            for i, simultaneous in enumerate((False, True)):
                hits[i, 0] += band_covers(sample, simultaneous=simultaneous, plain=False)
                hits[i, 1] += band_covers(sample, simultaneous=simultaneous, plain=True)
        for kind, (result, plain) in zip(
            ("pointwise", "simultaneous"), hits / n_samples, strict=True
        ):
            print(f'"{name}",{kind},{result:.3f},{plain:.3f}', flush=True)


# Designs whose normals are drawn alone, by what they are called here.
NORMALS = {
    **{
        f"clusters, correlation {r}": DESIGNS[f"clusters, labels of points, correlation {r}"]
        for r in (0.2, 0.5, 0.8)
    },
    "series of 10^4, memory 0.9": DESIGNS["series of 10^4, memory 0.9"],
    **{f"weights, a rare tail of {n}": partial(with_rare_tail, n=n) for n in (1000, 10_000)},
}


def guarantees(n_samples: int, designs: str) -> None:
    print("design,fpr,holds,as_if_independent,without_threshold")
    for name, draw in NORMALS.items():
        if designs not in name:
            continue
        for rate in (0.01, 0.05):
            holds, n_none = np.zeros(2), np.zeros(2)
            for seed in range(n_samples):
                sample = draw(np.random.default_rng([seed, len(name)]))
                normals = sample.y_score - SHIFT * sample.y_true
                for i, design in enumerate((sample.design, {})):
                    try:
                        limit = fastad.threshold_with_guarantee(normals, fpr=rate, **design)
                        holds[i] += norm.sf(limit.threshold) <= rate
                    except fastad.UndefinedMeasureError:
                        n_none[i] += 1
            result, plain = holds / np.maximum(n_samples - n_none, 1)
            print(
                f'"{name}",{rate:g},{result:.3f},{plain:.3f},{n_none[0] / n_samples:.3f}',
                flush=True,
            )


def intervals(n_samples: int, designs: str) -> None:
    print("design,measure,coverage,as_if_independent,warned,coverage_without_warning")
    for name, draw in DESIGNS.items():
        if designs not in name:
            continue
        shocks = draw.keywords.get("proportion", 0.0)
        few = max(n_samples // 4, 20) if "10^5" in name else n_samples
        # Covered, covered as if independent, warned, covered without a warning.
        hits = np.zeros((len(MEASURES), 4))
        for seed in range(few):
            sample = draw(np.random.default_rng([seed, len(name)]))
            for i, measure in enumerate(MEASURES):
                true = truth(measure, shocks)
                covered, warned = covers(sample, measure, true, plain=False, seed=seed)
                plain, _ = covers(sample, measure, true, plain=True, seed=seed)
                hits[i] += [covered, plain, warned, covered and not warned]
        for measure, (result, plain, warned, silent) in zip(MEASURES, hits / few, strict=True):
            without = silent / (1 - warned) if warned < 1 else np.nan
            print(
                f'"{name}",{measure},{result:.3f},{plain:.3f},{warned:.3f},{without:.3f}',
                flush=True,
            )


if __name__ == "__main__":
    of_what = {"intervals": intervals, "bands": bands, "guarantees": guarantees}
    of_what[sys.argv[2] if len(sys.argv) > 2 else "intervals"](
        int(sys.argv[1]) if len(sys.argv) > 1 else 400, sys.argv[3] if len(sys.argv) > 3 else ""
    )
