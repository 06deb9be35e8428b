"""How often the intervals of `compare_independent` cover the true difference.

``python -m bench.unpaired`` writes docs/evidence/unpaired.csv, in about ten minutes.
"""

import sys
import warnings
from collections import Counter
from itertools import product
from typing import Any

import numpy as np

import fastad
from bench.families import FAMILIES, RARELY_HIDDEN
from bench.pages import EVIDENCE, write_rows
from fastad.errors import LowCoverageWarning
from fastad.measures.requests import bind

TABLE = EVIDENCE / "unpaired.csv"
N_SETS = 200
N_RESAMPLES = 300
MEASURES: tuple[dict[str, Any], ...] = (
    {"measure": "auc"},
    {"measure": "auc@0.05"},
    {"measure": "ap"},
    {"measure": "tpr@0.05"},
    {"measure": "tpr", "threshold": 1.75},
    {"measure": "fpr", "threshold": 1.75},
)
# Of both samples: anomalies and normals.
SIZES = (((30, 300), (50, 200)), ((100, 1000), (150, 2000)), ((300, 5000), (200, 3000)))
PAIRS = (
    ("Gaussian", "Gaussian"),
    ("Gaussian", "half hidden"),
    ("heavy-tailed", "heavy-tailed"),
    tuple(RARELY_HIDDEN),
)


def run(
    options: dict[str, Any],
    pair: tuple[str, ...],
    sizes: tuple[tuple[int, int], tuple[int, int]],
    n_sets: int,
) -> dict[str, Any]:
    """Return one row of the table."""
    families = [{**FAMILIES, **RARELY_HIDDEN}[name] for name in pair]
    parameters = {name: value for name, value in options.items() if name != "measure"}
    bound = bind(options["measure"], parameters)
    truths = [
        bound.value(family.population(n, m, whole=False))
        for family, (n, m) in zip(families, sizes, strict=True)
    ]
    covered, noted, methods = 0, 0, Counter[str]()
    for seed in range(n_sets):
        rng = np.random.default_rng([seed, len(pair[1]), sizes[0][0]])
        samples = [family.sample(rng, n, m) for family, (n, m) in zip(families, sizes, strict=True)]
        result = fastad.compare_independent(
            samples[0], samples[1], **options, n_resamples=N_RESAMPLES, rng=seed
        )
        covered += result.low <= truths[0] - truths[1] <= result.high
        noted += result.reliability_note is not None
        methods[result.method] += 1
    return {
        "measure": bound.key,
        "first": pair[0],
        "second": pair[1],
        "sizes": " and ".join(f"{n}, {m}" for n, m in sizes),
        "methods": " ".join(sorted(methods)),
        "coverage": f"{covered / n_sets:.4f}",
        "noted": noted,
        "n_sets": n_sets,
    }


def main() -> None:
    """Write the table, and print it."""
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else N_SETS
    warnings.simplefilter("ignore", LowCoverageWarning)
    rows = []
    for options, pair, sizes in product(MEASURES, PAIRS, SIZES):
        rows.append(run(options, pair, sizes, n_sets))
        print(rows[-1], flush=True)
    if n_sets == N_SETS:
        write_rows(TABLE, rows)


if __name__ == "__main__":
    main()
