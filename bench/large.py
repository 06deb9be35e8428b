"""A hundred million scores: values against one another, time, and memory beyond the input.

From the root of a checkout, on Linux with eight gigabytes of memory (about a minute)::

    python -m bench.large

Each measure runs in a process of its own, whose largest resident size is read from the system.
"""

import json
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from bench.processor import describe, processor

N_POINTS = 10**8
MEASURES = {
    "nothing": "None",
    "roc_auc": "fastad.roc_auc(y, s)",
    "average_precision": "fastad.average_precision(y, s)",
    "tpr_at_fpr": "fastad.tpr_at_fpr(y, s, fpr=0.05)",
    "auc_at_fpr": "fastad.auc_at_fpr(y, s, fpr=0.05)",
    "threshold_at_fpr": "fastad.threshold_at_fpr(y, s, fpr=0.05)",
    "f1_at_fpr": "fastad.f1_at_fpr(y, s, fpr=0.05)",
    "evaluate": "values(fastad.evaluate(y, s, fpr=[0.05])['score'])",
}


def run(expression: str) -> dict[str, Any]:
    """Evaluate an expression on labels ``y`` and scores ``s`` in a new process."""
    process = subprocess.run(
        [sys.executable, "-m", "bench.large", expression],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    result: dict[str, Any] = json.loads(process.stdout)
    return result


def measure(expression: str) -> dict[str, Any]:
    """Evaluate here; the input is made piece by piece, so that making it takes no more memory."""
    import fastad

    rng = np.random.default_rng(0)
    y, s = np.empty(N_POINTS, np.uint8), np.empty(N_POINTS)
    for start in range(0, N_POINTS, 10**6):
        piece = slice(start, start + 10**6)
        y[piece] = rng.random(10**6) < 0.01
        s[piece] = rng.normal(size=10**6) + 1.5 * y[piece]
    for name in MEASURES:  # compile, or load what was compiled
        eval(MEASURES[name], {"fastad": fastad, "y": y[:1000], "s": s[:1000], "values": dict})
    start_time = time.perf_counter()
    value = eval(expression, {"fastad": fastad, "y": y, "s": s, "values": dict})
    seconds = time.perf_counter() - start_time
    kilobytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"value": value, "seconds": seconds, "bytes": 1024 * kilobytes}


def main() -> None:
    print(describe(processor()))
    before = run(MEASURES["nothing"])["bytes"]
    print(f"{'measure':20}{'s':>8}{'bytes a score':>15}  value")
    for name, expression in MEASURES.items():
        if name != "nothing":
            result = run(expression)
            more = (result["bytes"] - before) / N_POINTS
            print(f"{name:20}{result['seconds']:8.2f}{more:15.1f}  {result['value']}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(sys.argv[1])))
    else:
        main()
