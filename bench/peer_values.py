"""Values of other libraries at low false positive rates, for the tests.

Writes tests/golden/low_fpr.json: labels and scores of 20 data sets, and what each library that can
be imported computes of them; values of the others stay as they are. No environment has them all:

    python -m bench.peer_values

Half of the data sets have tied scores. RDKit takes an order: of tied scores the values here are
means over orders in which each sample of a tie is equally often at each of its positions, which
for a sum over the anomalies is the mean over all orders.
"""

import json
import math
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

TABLE = Path(__file__).parent.parent / "tests" / "golden" / "low_fpr.json"
N_SETS = 20
# Ends of ranges of the FPR, of which the first is the usual one.
RANGES = ((0.001, 0.1), (0.03, 0.7))
ALPHAS = (5.0, 20.0, 80.5)
FRACTIONS = (0.01, 0.05, 0.25)
THRESHOLDS = (0.05, 0.1, 0.25, 0.5, 0.75)
# Every number up to it divides their product.
TIE_SIZES = (1, 2, 3, 4)


def data_set(seed: int) -> tuple[list[int], list[float]]:
    """Return labels and scores of 200 samples: multiples of 1 / 1024, the odd sets with ties."""
    rng = np.random.default_rng(seed)
    y = (rng.random(200) < 0.1 + 0.02 * seed).astype(int)
    order = np.argsort(rng.normal(size=200) + (0.5 + seed % 3) * y)
    y = y[order]
    sizes = rng.choice(TIE_SIZES, 200) if seed % 2 else np.ones(200, int)
    ranks = np.repeat(np.arange(200), sizes)[:200]
    return y.tolist(), ((5 * ranks + 12) / 1024).tolist()


def orders(y: list[int], s: list[float]) -> Iterator[list[tuple[int, ...]]]:
    """Yield rows of labels from the highest score down, ties rotated."""
    falling = sorted(set(s), reverse=True)
    groups = [[label for label, score in zip(y, s, strict=True) if score == x] for x in falling]
    for turn in range(math.lcm(*TIE_SIZES)):
        yield [(group[(i + turn) % len(group)],) for group in groups for i in range(len(group))]


def torchmetrics_values(y: list[int], s: list[float]) -> dict[str, Any]:
    """Return LogAUC, in doubles."""
    import torch
    from torchmetrics.functional.classification import binary_logauc

    torch.set_default_dtype(torch.float64)
    data = torch.tensor(s, dtype=torch.float64), torch.tensor(y)
    return {"log_auc": [float(binary_logauc(*data, fpr_range=ends)) for ends in RANGES]}


def tdc_values(y: list[int], s: list[float]) -> dict[str, Any]:
    """Return the area over the logarithm of the FPR."""
    from tdc.evaluator import range_logAUC

    return {"log_auc": [float(range_logAUC(y, s, FPR_range=ends)) for ends in RANGES]}


def rdkit_values(y: list[int], s: list[float]) -> dict[str, Any]:
    """Return the measures of early recognition."""
    from rdkit.ML.Scoring import Scoring

    def mean(function: Callable[..., Any], *options: Any) -> float:
        values = [function(rows, 0, *options) for rows in orders(y, s)]
        return float(np.mean(values))

    return {
        "bedroc": [mean(Scoring.CalcBEDROC, alpha) for alpha in ALPHAS],
        "robust_initial_enhancement": [mean(Scoring.CalcRIE, alpha) for alpha in ALPHAS],
        "enrichment_factor": [mean(Scoring.CalcEnrichment, [x]) for x in FRACTIONS],
    }


def dcurves_values(y: list[int], s: list[float]) -> dict[str, Any]:
    """Return the net benefit of scores as probabilities, and of flagging everything."""
    import pandas as pd
    from dcurves import dca

    table = dca(
        data=pd.DataFrame({"y": y, "p": s}),
        outcome="y",
        modelnames=["p"],
        thresholds=np.array(THRESHOLDS),
    )
    return {
        f"net_benefit_{model}": table[table["model"] == model]["net_benefit"].tolist()
        for model in ("p", "all")
    }


LIBRARIES: dict[str, tuple[str, Callable[[list[int], list[float]], dict[str, Any]]]] = {
    "torchmetrics": ("torchmetrics", torchmetrics_values),
    "TDC": ("pytdc", tdc_values),
    "RDKit": ("rdkit", rdkit_values),
    "dcurves": ("dcurves", dcurves_values),
}


def main() -> None:
    """Compute the values of the libraries that are installed, and write them down."""
    values = json.loads(TABLE.read_text("utf-8"))["values"] if TABLE.exists() else {}
    sets = [data_set(seed) for seed in range(N_SETS)]
    for name, (package, function) in LIBRARIES.items():
        try:
            installed = version(package)
        except PackageNotFoundError:
            continue
        values[name] = {"version": installed, "sets": [function(*each) for each in sets]}
    table = {
        "script": "bench/peer_values.py",
        "ranges": RANGES,
        "alphas": ALPHAS,
        "fractions": FRACTIONS,
        "thresholds": THRESHOLDS,
        "y": [y for y, _ in sets],
        "s": [s for _, s in sets],
        "values": dict(sorted(values.items())),
    }
    TABLE.write_text(json.dumps(table, separators=(",", ":")) + "\n", "utf-8")


if __name__ == "__main__":
    main()
