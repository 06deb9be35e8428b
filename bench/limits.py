"""What bounds the time of a measure: copying the scores, and sorting them by NumPy or by digits.

``python -m bench.limits CASE`` prints the time of NumPy's sort alone, in milliseconds. A process
without AVX-512 is started so, because NumPy chooses its instructions once.
"""

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from timeit import repeat, timeit
from typing import Any

import numpy as np

from bench.data import Case, generate
from bench.processor import avx512_features
from fastad._core.types import KeyVector
from fastad._kernels.ordering.radix import radix_sort
from fastad.ordering.labels import check_labels
from fastad.ordering.orders import CACHED_KEYS, pack_values
from fastad.ordering.raw import view_raw

_SECONDS, _ROUNDS, _ROUNDS_IF_LONG, _MOST_ROUNDS = 0.5, 5, 3, 10_000


def milliseconds(call: Callable[[], Any]) -> float:
    """Return the median time of a call that ran before, of five rounds; of three if it is long."""
    once = timeit(call, number=1)
    fewest = _ROUNDS if once < _SECONDS else _ROUNDS_IF_LONG
    rounds = max(fewest, min(int(_SECONDS / once), _MOST_ROUNDS))
    return 1e3 * statistics.median(repeat(call, number=1, repeat=rounds))


def limits(case: Case) -> dict[str, float]:
    """Return milliseconds by name."""
    labels, scores = generate(case)
    keyed = pack_values(view_raw(scores), check_labels(labels), "y_score")
    times = {
        "copy": milliseconds(partial(np.copyto, np.empty_like(scores), scores)),
        "NumPy's sort": milliseconds(partial(np.sort, scores)),
    }
    if features := avx512_features():
        done = subprocess.run(
            [sys.executable, "-m", "bench.limits", json.dumps(asdict(case))],
            env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(features)},
            stdout=subprocess.PIPE,
            check=True,
        )
        times["NumPy's sort without AVX-512"] = float(done.stdout)
    if keyed is not None:
        times["fastad's sort by digits"] = milliseconds(partial(_sort_by_digits, keyed[0]))
    return times


def _sort_by_digits(keys: KeyVector) -> None:
    """Sort a copy, as `numpy.sort` does."""
    radix_sort(keys.copy(), np.empty_like(keys), CACHED_KEYS)


if __name__ == "__main__":
    print(milliseconds(partial(np.sort, generate(Case(**json.loads(sys.argv[1])))[1])))
