"""Measures of several services together: their sketches are merged, and the order is no matter.

    python docs/examples/service/merged.py "?window=24h" http://shard-0:8000 http://shard-1:8000

With `end` in the query, all shards answer for the same window, also while points come.
"""

import sys
import urllib.request

from fastad.streaming import ScoreSketch


def merged(query: str, urls: list[str]) -> ScoreSketch:
    """Return one sketch of the points of all shards."""
    sketches = []
    for url in urls:
        with urllib.request.urlopen(f"{url}/sketch{query}", timeout=60) as answer:
            sketches.append(ScoreSketch.from_bytes(answer.read()))
    whole, *others = sketches
    for each in others:
        whole.merge(each)
    return whole


if __name__ == "__main__":
    print(merged(sys.argv[1], sys.argv[2:]).evaluate(["auc", "ap"]))
