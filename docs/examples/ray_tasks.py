"""Measures of scores in Ray tasks: sketches of parts, merged two by two.

    python docs/examples/ray_tasks.py

needs what ``pip install . -r docs/examples/requirements-ray.txt`` installs.
"""

import numpy as np
import ray

import fastad
from fastad.streaming import ScoreSketch

MEMORY = "8MB"
PARTS, ROWS = 8, 250_000


def draw(part: int) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and scores of a part, as reading a file would."""
    rng = np.random.default_rng(part)
    labels = rng.random(ROWS) < 0.02
    return labels, rng.standard_normal(ROWS) + 2 * labels


@ray.remote
def count(part: int) -> ScoreSketch:
    """Map: one sketch for a part; sketches are pickled."""
    sketch = ScoreSketch(MEMORY)
    sketch.update(*draw(part))
    return sketch


@ray.remote
def merge(first: ScoreSketch, second: ScoreSketch) -> ScoreSketch:
    """Merge: what Ray passes to a task is not changed."""
    merged = first.copy()
    merged.merge(second)
    return merged


def main() -> None:
    """Map, merge along a tree, finish, and compare with all scores in memory."""
    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    sketches = [count.remote(part) for part in range(PARTS)]
    while len(sketches) > 1:
        pairs = zip(sketches[::2], sketches[1::2], strict=True)
        sketches = [merge.remote(first, second) for first, second in pairs]
    result = ray.get(sketches[0]).evaluate(["auc", "tpr@0.001"])
    print(result)
    parts = [draw(part) for part in range(PARTS)]
    exact = fastad.roc_auc(*map(np.concatenate, zip(*parts, strict=True)))
    within = result["auc"].low <= exact <= result["auc"].high
    print(f"exact AUC {exact:.6f}, within the bounds: {within}")
    ray.shutdown()


if __name__ == "__main__":
    main()
