"""Made-up tables of a study, as its runs and its report exchange them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from fastad.study.papers.goix_data import SETTINGS
from fastad.study.papers.goix_results import GoixRow
from fastad.study.results import StudyTables
from fastad.unsupervised.criteria import Criterion

# Those of the papers' tables and some others, at which all pairs of models are tested.
RATES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 1)
LOWER = ("fpr@tpr0.8", "mv")
MEASURES = (
    *("auc", "auc_w", "ap", "auc_pr"),
    *(f"{name}@{rate:g}" for name in ("auc", "tpr") for rate in RATES),
    *("precision@p0.01", "precision@p0.05", "f1@0.01", "f1@0.05", "fpr@tpr0.8", "ht_auc@0.4"),
    *("lf_auc@0.8", "cost_auc@1.25", "cost_auc@0.8", "cvol@0.01", "cvol@0.05", "em", "mv"),
)
# What identifies a row.
KEYS = (
    *("collection", "dataset", "anomaly_class", "contamination", "repeat"),
    *("detector", "params"),
)
CONFIGURATIONS = (
    *(("kNN", f"k={k}, score={score}") for k in (1, 5) for score in ("kappa", "gamma", "delta")),
    *(("LOF", f"n_neighbors={k}") for k in (10, 20, 50)),
    *(("IForest", f"n_estimators={n}") for n in (50, 100, 200)),
    *(("OCSVM", f"gamma={g}, nu=0.5") for g in (0.01, 0.1, 1.0)),
)
# Data sets of each collection with their classes of anomalies; None where the file has none.
PROBLEMS: Mapping[str, Mapping[str, Sequence[str | None]]] = {
    "uci": {"cardio": ("5", "8"), "iris": ("2", "3"), "wine": (None,), "yeast": ("ERL", "VAC")},
    "uci-umap": {"cardio": ("5", "8"), "iris": ("2", "3"), "yeast": ("ERL", "VAC")},
    "adbench": {"letter": (None,), "thyroid": (None,), "wide": (None,)},
}
# So many features a data set has, beside those of four.
FEATURES = {"wide": 120}
FAILURE = "the solver did not converge in 1000 steps"
NO_EM = "em: no level set of 120 features has a volume"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What a made-up study contains.

    Attributes
    ----------
    problems : mapping of str to mapping of str to sequence of str or None
        By collection and data set, the classes of anomalies.
    configurations : sequence of (str, str)
        Detectors and parameters.
    contaminations : sequence of float
    n_repeats : int
    failures : bool
        Whether one configuration of ``OCSVM`` fails on the first data set of each collection.
    n_missing : int
        So many rows at the end of each collection are not there, and a batch is not done.
    curves, goix : bool
        Whether there are any.
    seed : int
    """

    problems: Mapping[str, Mapping[str, Sequence[str | None]]]
    configurations: Sequence[tuple[str, str]] = CONFIGURATIONS
    contaminations: Sequence[float] = (0.0, 0.01, 0.05)
    n_repeats: int = 3
    failures: bool = True
    n_missing: int = 0
    curves: bool = True
    goix: bool = True
    seed: int = 0


DEFAULT = Shape(problems=PROBLEMS)


def make_study(shape: Shape = DEFAULT, **changes: Any) -> StudyTables:
    """Return the tables of a study of some shape; changes are fields of it."""
    shape = replace(shape, **changes)
    rng = np.random.default_rng(shape.seed)
    parts = [_tasks(shape, name, rng) for name in shape.problems]
    tasks = {name: [cell for part in parts for cell in part[name]] for name in parts[0]}
    n_splits = sum(
        len(classes) * len(shape.contaminations) * shape.n_repeats
        for datasets in shape.problems.values()
        for classes in datasets.values()
    )
    n_batches = n_splits * len({detector for detector, _ in shape.configurations})
    return StudyTables(
        tasks=as_table(tasks),
        curves=pa.Table.from_pylist(_curves(shape, rng) if shape.curves else [], CURVE_SCHEMA),
        extra={"goix": pa.Table.from_pylist(_goix(rng) if shape.goix else [])},
        manifest=_manifest(shape, n_batches),
        n_batches=n_batches,
        n_done=n_batches - bool(shape.n_missing),
    )


def with_reasons(study: StudyTables, reasons: Sequence[str]) -> StudyTables:
    """Return a study whose tasks failed for some reasons, or did not where these are empty."""
    index = study.tasks.schema.get_field_index("reason")
    return replace(study, tasks=study.tasks.set_column(index, "reason", pa.array(reasons)))


def _manifest(shape: Shape, n_batches: int) -> dict[str, Any]:
    """Return what ``study.json`` would hold."""
    problems = [
        {
            "name": f"{collection}/{dataset}" + (f" ({anomaly_class})" if anomaly_class else ""),
            "collection": collection,
            "dataset": dataset,
            "anomaly_class": anomaly_class,
            "n_features": FEATURES.get(dataset, 4),
            "digest": "0" * 64,
        }
        for collection, datasets in shape.problems.items()
        for dataset, classes in datasets.items()
        for anomaly_class in classes
    ]
    return {
        "schema_version": 1,
        "config": {
            "title": "Made up",
            "seed": shape.seed,
            "protocol": {"contaminations": list(shape.contaminations), "repeats": shape.n_repeats},
            "detectors": [
                f"<Configuration {name} {params}>" for name, params in shape.configurations
            ],
            "goix": None,
        },
        "problems": problems,
        "batches": [f"{i:04d}" for i in range(n_batches)],
        "versions": {"fastad": "0.0", "numpy": "2.0", "python": "3.11"},
        "created": "2020-01-01T00:00:00+00:00",
        "later_versions": [],
    }


def as_table(columns: Mapping[str, Sequence[Any]]) -> Any:
    """Return columns of tasks as a table, with the types of a study."""
    types = {
        **dict.fromkeys(("collection", "dataset", "anomaly_class"), pa.string()),
        **dict.fromkeys(("detector", "params", "reason", "undefined"), pa.string()),
        **dict.fromkeys((name for name in columns if name.startswith("n_")), pa.int64()),
        "repeat": pa.int64(),
    }
    return pa.table(
        {name: pa.array(cells, types.get(name, pa.float64())) for name, cells in columns.items()}
    )


def _tasks(shape: Shape, collection: str, rng: np.random.Generator) -> dict[str, list[Any]]:
    """Return the columns of a collection's rows."""
    datasets = shape.problems[collection]
    problems = [(name, label) for name, classes in datasets.items() for label in classes]
    n = (len(problems), len(shape.contaminations), shape.n_repeats, len(shape.configurations))
    problem, level, repeat, model = (index.ravel() for index in np.indices(n))
    features = np.array([FEATURES.get(name, 4) for name, _ in problems])[problem]
    columns: dict[str, npt.NDArray[Any] | list[Any]] = {
        "collection": [collection] * len(problem),
        "dataset": [problems[i][0] for i in problem],
        "anomaly_class": [problems[i][1] for i in problem],
        "contamination": np.array(shape.contaminations)[level],
        "repeat": repeat + 1,
        "detector": [shape.configurations[i][0] for i in model],
        "params": [shape.configurations[i][1] for i in model],
        "n_features": features,
        "n_train": np.full(len(problem), 200),
        "n_train_anomalies": (200 * np.array(shape.contaminations)[level]).astype(np.int64),
        "n_test": np.full(len(problem), 60),
        "n_test_anomalies": np.full(len(problem), 12),
    }
    first = next(iter(datasets))
    failed = np.array([problems[i][0] == first for i in problem]) & shape.failures
    failed &= model == len(shape.configurations) - 1
    quality = rng.uniform(0.35, 0.9, n[:1] + n[3:])[problem, model] - 0.1 * level / len(n)
    flat = features > 100
    for name in MEASURES:
        strength = rng.normal(0, 0.08, n[:1] + n[3:])[problem, model]
        values = np.clip(quality + strength + rng.normal(0, 0.03, len(problem)), 0.01, 1)
        if name in LOWER:
            values = 1.02 - values
        # Few test points give few values, and so ties.
        values = np.round(values, 2) if name.startswith("tpr@") else values
        values[failed | (flat & (name == "em"))] = np.nan
        columns[name] = values
    columns["fit_time_s"] = rng.exponential(0.01, len(problem))
    columns["score_time_s"] = rng.exponential(0.01, len(problem))
    columns["reason"] = np.where(failed, FAILURE, "").tolist()
    columns["undefined"] = np.where(flat & ~failed, NO_EM, "").tolist()
    kept = len(problem) - shape.n_missing
    return {
        name: (cells.tolist() if isinstance(cells, np.ndarray) else cells)[:kept]
        for name, cells in columns.items()
    }


_LISTS = (
    *("roc", "pr", "mv_mass", "mv_volume", "em_level", "em_mass"),
    *("normal_percentiles", "anomaly_percentiles"),
)
CURVE_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("collection", "dataset", "anomaly_class")),
        ("contamination", pa.float64()),
        ("repeat", pa.int64()),
        *((name, pa.string()) for name in ("detector", "params")),
        *((name, pa.list_(pa.float32())) for name in _LISTS),
    ]
)


def _curves(shape: Shape, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return curves of the first problem of each data set, at the first contamination."""
    rows: list[dict[str, Any]] = []
    for collection, datasets in shape.problems.items():
        for dataset, classes in datasets.items():
            keys = (collection, dataset, classes[0], shape.contaminations[0], 1)
            rows += [
                {**dict(zip(KEYS, (*keys, *configuration), strict=True)), **_curve(rng)}
                for configuration in shape.configurations
            ]
    return rows


def _curve(rng: np.random.Generator) -> dict[str, list[float]]:
    power = rng.uniform(0.1, 0.8)
    fpr, recall = np.arange(101) / 100, np.arange(1, 101) / 100
    mass = np.linspace(0.4, 1, 60)
    level = np.linspace(0, 5, 40)
    percentiles = np.sort(rng.normal(0, 1, (2, 101)), axis=1)
    results = {
        "roc": fpr**power,
        "pr": 1 - (1 - power) * recall,
        "mv_mass": mass,
        "mv_volume": mass ** (1 / power) / 3,
        "em_level": level,
        "em_mass": np.exp(-power * level),
        "normal_percentiles": percentiles[0],
        "anomaly_percentiles": percentiles[1] + 1 - power,
    }
    return {name: values.tolist() for name, values in results.items()}


def _goix(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Return rows of three detectors on four data sets in both settings."""
    detectors = ("iForest", "OCSVM", "LOF")
    rows = []
    for dataset in ("adult", "http", "shuttle", "wilt"):
        for setting in SETTINGS:
            for detector in detectors:
                quality = float(rng.uniform(0.4, 1))
                worse = tuple(name for name in detectors if name != detector)
                rows.append(
                    GoixRow(
                        dataset=dataset,
                        setting=setting,
                        detector=detector,
                        roc=quality,
                        pr=quality * float(rng.uniform(0.7, 1)),
                        em=_criterion(quality * float(rng.uniform(0.6, 1))),
                        mv=_criterion(2 - quality),
                        em_better_than=worse if quality > 0.9 else (),
                        mv_better_than=worse if quality > 0.8 else (),
                        n_train=500,
                        n_test=400,
                        n_anomalies=40,
                        n_evaluated=360,
                        n_features=6,
                        n_subspaces=10,
                    ).to_dict()
                )
    return rows


def _criterion(value: float) -> Criterion:
    low, high = 0.9 * value, 1.1 * value
    log_value, log_low, log_high = np.log([value, low, high]).tolist()
    return Criterion(
        value=value,
        low=low,
        high=high,
        log_value=log_value,
        log_low=log_low,
        log_high=log_high,
        sampling_error=0.02,
        monte_carlo_error=0.02,
        confidence_level=0.95,
        n_test=360,
        n_uniform=1000,
        n_resamples=200,
        n_undefined=0,
    )
