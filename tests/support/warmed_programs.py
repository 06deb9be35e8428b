"""Programs that use what ``fastad warmup`` compiles, beside those in ``processes``."""

VOLUMES = """
import json, warnings
import numpy as np, fastad
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.svm import OneClassSVM

X = np.random.default_rng(1).normal(size=(200, 3))
box = fastad.Box([-3] * 3, [3] * 3, values=[None, [-1, 0, 2], None])
for detector in (IsolationForest(), LocalOutlierFactor(novelty=True), OneClassSVM()):
    scorer = fastad.compile_scorer(detector.fit(X))
    middle = np.median(scorer.score_samples(X))
    for method in ("uniform", "sobol", "splitting"):
        fastad.volume(scorer, middle, box, method=method, n_draws=10_000)
options = {"method": "splitting", "n_draws": 50_000, "data": X / 3}
fastad.volume(lambda rows: (rows**2).sum(axis=1), 0.1, box, **options)
"""
UNSUPERVISED = """
import json
import numpy as np, fastad
rng = np.random.default_rng(1)
for dtype in (np.float64, np.float32, np.int64, np.int32):
    y_score, uniform_score = (100 * rng.normal(size=50)).astype(dtype), np.arange(70, dtype=dtype)
    for scores in (y_score, np.repeat(y_score, 2)):
        fastad.mass_volume_curve(scores, uniform_score, 1.0).area()
        fastad.excess_mass_curve(scores, uniform_score, 1.0)
    fastad.unsupervised.emmv({"it": y_score}, {"it": uniform_score}, 1.0, n_resamples=3, rng=0)
fastad.mass_volume_curve(rng.normal(size=200), 9 * rng.normal(size=250_000), 1.0).area()
X = rng.normal(size=(80, 3))
scores = {"it": lambda rows: (rows**2).sum(axis=1)}
for method in ("auto", "uniform", "splitting"):
    how = {"method": method, "n_draws": 20_000, "n_resamples": 3, "rng": 0}
    fastad.evaluate_unsupervised(scores, X, **how)
levels = fastad.unsupervised.level_sets(scores["it"], X, method="uniform", n_draws=9000, rng=0)
fastad.unsupervised.emmv({"it": levels}, n_resamples=2)
"""
COMPARISON = """
import json
import numpy as np, fastad
rng = np.random.default_rng(1)
curves = {f"tpr@{p}": rng.uniform(size=(3, 40, 7)) for p in (0.1, 0.2, 0.3)}
results = fastad.ResultTable.from_arrays(curves)
fastad.benchmarking.average_ranks(results, n_resamples=3, rng=0)
fastad.benchmarking.rank_intervals(results, measure="tpr@0.1", n_resamples=3, rng=0)
skewed = rng.lognormal(size=(30, 8)) * np.tile([1, 9], 4)
skewed = fastad.ResultTable.from_arrays({"auc": skewed})
notes = fastad.benchmarking.rank_intervals(skewed, n_resamples=3, rng=0).notes
assert "skewed" in notes[-1]
fastad.benchmarking.bayesian_signed_rank(results, measure="tpr@0.1", n_draws=3, rng=0)
fastad.benchmarking.kendall_matrix(results, n_resamples=3, rng=0)
fastad.benchmarking.selection_loss(results, n_resamples=3, rng=0)
result = fastad.benchmarking.discriminability(results, n_resamples=3, rng=0)
for correction in ("none", "shaffer"):
    result.p_values("0", fpr=0.1, correction=correction)
steps = np.round(rng.uniform(size=(2, 2, 3)), 1)
for values in (steps, np.ones((1, 4, 3)), rng.uniform(size=(1, 2000, 3))):
    table = fastad.ResultTable.from_arrays({"tpr@0.1": values})
    fastad.benchmarking.discriminability(table, n_resamples=3, rng=0)
"""
NEIGHBOURS = """
import json
import numpy as np
from fastad.detectors.neighbours import Neighbourhood, Rule
rules = [Rule(kind, k) for kind in ("kappa", "gamma", "delta", "lof") for k in (1, 4)]
for n, d in ((2500, 2), (300, 7)):
    X = np.random.default_rng(1).normal(size=(n, d))
    for k in (1, 8):
        neighbourhood = Neighbourhood(X, rules[:k])
        neighbourhood.score_rows(X)
        points = X.T[:, :300].copy()
        scores = np.empty((8, 900))
        neighbourhood.write(points, scores[:k, 7:307])
        points.flags.writeable = False
        neighbourhood.write(points, scores[:k, :300])
"""
STREAMS = """
import json
import numpy as np
from fastad.streaming import ScoreSketch
rng = np.random.default_rng(1)
y_true = np.arange(300) % 3 == 0
for dtype in (np.float64, np.float32, np.int64, np.int32):
    y_score = (100 * rng.normal(size=300)).astype(dtype)
    sketch, other = ScoreSketch("64kB"), ScoreSketch("64kB")
    sketch.update(y_true, y_score, sample_weight=np.arange(300))
    other.update(None, y_score)
    other.label(y_score[:100], y_true[:100])
    sketch.merge(ScoreSketch.from_bytes(other.to_bytes()))
    sketch.evaluate()
    sketch.copy().roc_auc()
ScoreSketch.from_counts([0, 2, 3, 5], [1, 2.5, 7], [3, 0.25, 1]).evaluate()
import fastad
fastad.roc_curve(y_true, rng.normal(size=300)).simplify(50)
y_true = np.arange(20_000) % 9 == 0
fastad.roc_curve(y_true, rng.normal(size=20_000)).simplify()
"""
FILES = """
import json, tempfile
from pathlib import Path
import numpy as np
import pyarrow as pa
from pyarrow import parquet
from fastad.streaming import evaluate
rng = np.random.default_rng(1)
y = np.arange(20_000) % 9 == 0
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "scores.parquet")
    for dtype in (np.float64, np.float32, np.int64, np.int32):
        scores = (100 * rng.normal(size=20_000)).astype(dtype)
        parquet.write_table(pa.table({"y": y, "s": scores, "g": y * 0}), path)
        for exact in (False, True):
            for memory in ("1MB", "64kB"):
                for groups in (None, "g"):
                    options = {"score_columns": "s", "group_columns": groups}
                    evaluate(path, exact=exact, memory=memory, **options)
"""

WARMED = (VOLUMES, UNSUPERVISED, COMPARISON, NEIGHBOURS, STREAMS, FILES)
