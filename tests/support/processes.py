"""Programs that the tests run in processes of their own."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

MEASURES = [
    *("auc", "auc_w", "ap", "auc@0.05", "tpr@0.01", "precision@p0.05", "f1@0.05"),
    *("precision@fpr0.05", "fpr@tpr0.9", "auc@tpr0.9", "precision@n", "recall@k100"),
]

# All kinds of scores that the kernels see, small enough to run without compilation.
EVERYTHING = f"""
import json, sys
import numpy as np
import fastad
MEASURES = {MEASURES!r}
rng = np.random.default_rng(0)
y = rng.random(40) < 0.4
f = rng.normal(size=40)
f[::7] = f[0]
f[[3, 4, 8]] = [-0.0, 0.0, 5e-324]
scores = {{"f64": f, "f32": f.astype(np.float32), "f16": f.astype(np.float16), "bool": f > 0}}
infinite = f.copy()
infinite[[5, 6]] = [np.inf, -np.inf]
scores["infinite"] = infinite
scores["infinite32"] = infinite.astype(np.float32)
scores["wide64"] = np.where(np.arange(40) % 2, 1e308, -1e-308) * rng.random(40)
scores["wide32"] = (np.where(np.arange(40) % 2, 1e38, -1e-38) * rng.random(40)).astype(np.float32)
for name in "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split():
    info = np.iinfo(name)
    scores[name] = rng.integers(0, 5, 40).astype(name)
    scores[name + " full"] = rng.integers(info.min, info.max, 40, dtype=name, endpoint=True)
    scores[name + " full"][:2] = info.min, info.max
values = {{}}
for name, s in scores.items():
    for kind, weights in [("none", None), ("integer", np.arange(40) % 4), ("real", f * f)]:
        result = fastad.evaluate(y, s, measures=MEASURES, sample_weight=weights)["score"]
        ranked = fastad.rank_scores(y, s, sample_weight=weights)
        curve, pr = ranked.roc_curve(drop_collinear=True), ranked.precision_recall_curve()
        values[name + " " + kind] = [
            *map(float.hex, result.values()),
            *map(str, result.operating_points),
            str([curve.fpr.tolist(), curve.tpr.tolist(), curve.thresholds.tolist()]),
            str(pr.precision.tolist()),
            str([ranked.threshold_at_rate(rate=rate) for rate in (0.1, 0.5)]),
            str(ranked.confusion_at(k=7)),
        ]
    values[name] = [fastad.roc_auc(y, s).hex(), fastad.weighted_auc(y, s, quadrature="exact").hex()]
"""
# Intervals, comparisons and chance levels, of resamples with a seed.
CERTAINTY = f"""
import json, warnings
import numpy as np
import fastad
# Few samples take little time without compilation.
warnings.simplefilter("ignore", fastad.errors.LowCoverageWarning)
rng = np.random.default_rng(0)
y = np.arange(60) < 20
scores = {{"a": rng.normal(size=60) + y, "b": (rng.normal(size=60) + y).round(1)}}
options = dict(n_resamples=50, rng=3)
values = {{}}
for name, s in scores.items():
    for measure in {MEASURES[:5]!r}:
        for method in ("bootstrap", "basic"):
            values[name + measure + method] = str([
                fastad.interval(y, s, measure=measure, method=method, stratified=stratified,
                                **options)
                if not (measure.startswith("tpr") and not stratified) else None
                for stratified in (True, False)])
        values[name + measure] = str(fastad.chance_level(y, s, measure=measure, **options))
for measure in ("auc", "ap", "eer"):
    for method in ("auto", "bootstrap", "permutation"):
        values[measure + method] = str(fastad.compare(y, *scores.values(), measure=measure,
                                                      method=method, **options).to_dict())
"""
SHOW = "print(json.dumps(values))\n"
COUNT_MISSES = """
import importlib, pkgutil
import fastad._kernels
misses, hits = {}, 0
for module in pkgutil.walk_packages(fastad._kernels.__path__, "fastad._kernels."):
    for name, kernel in vars(importlib.import_module(module.name)).items():
        if hasattr(kernel, "stats"):
            hits += sum(kernel.stats.cache_hits.values())
            if kernel.stats.cache_misses:
                key = module.name.removeprefix("fastad._kernels.") + "." + name
                misses[key] = sum(kernel.stats.cache_misses.values())
print(json.dumps([misses, hits]))
"""


def environment(**env: str) -> dict[str, str]:
    """What this process has in its environment, but for what changes the package's behaviour."""
    ours = ("FASTAD_", "NUMBA_")
    return {k: v for k, v in os.environ.items() if not k.startswith(ours)} | env


def run(
    code: str, *options: str, cwd: Path | None = None, by: Sequence[str] = (), **env: str
) -> str:
    """Run code in a new process, warnings being errors; return its stdout and stderr.

    The command ``by`` starts the process, with fewer rights for example.
    """
    result = subprocess.run(
        [*by, sys.executable, *(options or ("-W", "error")), "-c", code],
        env=environment(**env),
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def files_below(folder: Path) -> set[Path]:
    """Return the files in a folder from which another process may remove folders meanwhile."""
    return {Path(path, name) for path, _, names in os.walk(folder) for name in names}


def in_forked_child(function: Callable[[], str], seconds: int = 60) -> str:
    """Return what a function returns in a forked child; "" where it raises or takes longer."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            os.write(sender, function().encode())
        finally:
            os._exit(0)
    os.close(sender)
    with open(receiver, encoding="utf-8") as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    return answer
