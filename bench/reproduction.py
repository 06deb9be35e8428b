"""The papers' tables beside those of the study ``medium``: docs/evidence/reproduction.

    python -m bench.reproduction FOLDER    keeps the results of a finished study beside the page
    python -m bench.reproduction           writes what they say into the page

The study itself: ``python -m bench.papers_f1 FOLDER_OF_DATA FOLDER``, which is ``fastad study run
docs/evidence/reproduction/medium.toml`` with the F1 scores of the papers' code as further columns.
"""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import fastad
from bench.pages import EVIDENCE, fill, table
from bench.papers_f1 import PAPERS_F1 as PAPERS_F1_MEASURE
from fastad._core.files import written_aside
from fastad.benchmarking.columns import ONE_CLASS
from fastad.benchmarking.matrix import RowMeans
from fastad.benchmarking.operating_points import LEVEL_MEASURES, CriterionName, discriminate
from fastad.benchmarking.resampling import check_resampling
from fastad.benchmarking.selected_fpr import loss_at_rates
from fastad.benchmarking.selection import LossMatrix
from fastad.study import read_study
from fastad.study.papers.criteria_section import count_pairs
from fastad.study.papers.goix_data import SETTINGS
from fastad.study.papers.goix_results import GoixBenchmark, GoixRow
from fastad.study.results import KEYS, StudyTables

HERE = EVIDENCE / "reproduction"
PAGE, RESULTS, GOIX = HERE / "index.md", HERE / "results.parquet", HERE / "goix.parquet"
# The splits of the multi-class data sets without contamination, at all rates.
SPLITS = HERE / "splits.parquet"
GOLDEN = Path(__file__).parent.parent / "tests" / "golden" / "skvara_tables.json"
OPTIONS: Mapping[str, Any] = {"rng": 0, "n_resamples": 2000}

# The measures of the papers' tables, in the order of the first.
MEASURES = (
    *("auc", "auc_w", "auc@0.05", "auc@0.01", "precision@p0.05", "precision@p0.01"),
    *("tpr@0.05", "tpr@0.01", "f1@0.05", "f1@0.01", "cvol@0.05", "cvol@0.01"),
)
OTHERS = (
    *("ap", "auc_pr", "tpr@0.4", "fpr@tpr0.8", "ht_auc@0.4", "lf_auc@0.8"),
    *("cost_auc@1.25", "cost_auc@0.8", "em", "mv"),
)
# F1 scores as the papers' code has them, and which of the measures they stand for.
PAPERS_F1 = {f"{PAPERS_F1_MEASURE.key}{rate}": f"f1@{rate}" for rate in ("0.05", "0.01")}
CLASS_MEASURES = tuple(label for label in MEASURES if not label.endswith("0.01"))
# Labels that an anomaly shares with a normal row: every one of this data set's.
CONTRADICTORY = "vertebral-column"
DETECTORS = ("kNN", "LOF", "IForest", "OCSVM")
# Of these the table of F1 scores shows the losses.
F1_ROWS = ("f1@0.01", "f1@0.05", "tpr@0.01")
CRITERIA: Sequence[CriterionName] = (
    *("tukey-mean", "tukey-median", "tukey-q"),
    *("welch-mean", "welch-median"),
)
CONTAMINATIONS = (0.0, 0.01, 0.05)


def keep(folder: Path) -> None:
    """Keep what the page needs of a finished study: means over repeats, and some single splits."""
    study = read_study(folder)
    if study.n_done < study.n_batches:
        raise SystemExit(f"{folder}: {study.n_done} of {study.n_batches} batches are done")
    at_rates = [name for name in study.tasks.column_names if re.match(r"(auc|tpr)@", name)]
    well = study.tasks.filter(pc.equal(study.tasks["reason"], ""))
    chosen = (np.asarray(well["contamination"]) == 0) & in_group(well, "full")
    splits = well.filter(chosen).select(list(dict.fromkeys([*KEYS, *MEASURES, *at_rates])))
    for path, kept in ((RESULTS, means_of(study)), (SPLITS, splits), (GOIX, study.extra["goix"])):
        with written_aside(path) as aside:
            pq.write_table(kept, aside, compression="zstd", compression_level=19)


def means_of(study: StudyTables) -> Any:
    """Return the means over repeats of all models on all problems."""
    parts = []
    for collection in sorted(set(study.tasks["collection"].to_pylist())):
        for contamination in CONTAMINATIONS:
            table = study.results(collection=collection, contamination=contamination)
            n_problems, n_models = table.n_datasets, len(table.models)
            names = [table.detectors[i] for i in table.detector_of]
            params = [
                model.removeprefix(name).strip()
                for model, name in zip(table.models, names, strict=True)
            ]
            classes = table.anomaly_classes or [None] * n_problems
            columns: dict[str, Any] = {
                "collection": [collection] * (n_problems * n_models),
                "dataset": np.repeat(table.datasets, n_models).tolist(),
                "anomaly_class": [name for name in classes for _ in range(n_models)],
                "contamination": [contamination] * (n_problems * n_models),
                "detector": names * n_problems,
                "params": params * n_problems,
            }
            columns |= {
                label: table.means(label).ravel() for label in (*MEASURES, *OTHERS, *PAPERS_F1)
            }
            result = pa.table(columns)
            defined = ~np.isnan([columns[label] for label in MEASURES]).all(axis=0)
            parts.append(result.filter(defined))
    return pa.concat_tables(parts, promote_options="default")


@lru_cache
def results(
    group: str, contamination: float, path: Path = RESULTS, papers_f1: bool = False
) -> fastad.ResultTable:
    """Return the results of a group of data sets at one contamination.

    With ``papers_f1``, the F1 scores are those of the papers' code.
    """
    table = pq.read_table(path)
    chosen = (np.asarray(table["contamination"]) == contamination) & in_group(table, group)
    rows = table.filter(chosen)
    columns = {name: rows[name] for name in rows.column_names if name not in PAPERS_F1}
    if papers_f1:
        columns |= {label: rows[name] for name, label in PAPERS_F1.items()}
    return fastad.ResultTable.from_table(columns)


@lru_cache
def selection(group: str, contamination: float, papers_f1: bool = False) -> LossMatrix:
    """Return the losses of selecting by each measure, as `results` has them."""
    return fastad.benchmarking.selection_loss(
        results(group, contamination, papers_f1=papers_f1), measures=MEASURES, **OPTIONS
    )


def in_group(table: Any, group: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell which rows belong to a group of data sets.

    ``full`` are the multi-class data sets at full dimension, as in the authors' code; ``umap``
    all in two dimensions; ``adbench`` the other classical ones.
    """
    collections = np.asarray(table["collection"])
    names = np.asarray(table["dataset"])
    if group == "full":
        names_of_classes = table["anomaly_class"].to_pylist()
        has_classes = np.array([name not in (None, ONE_CLASS) for name in names_of_classes])
        return np.asarray((collections == "uci") & has_classes)
    collection = {"umap": "uci-umap", "adbench": "adbench"}[group]
    return np.asarray((collections == collection) & (names != CONTRADICTORY))


def sizes() -> str:
    """Return the numbers of data sets, problems and models of each group."""
    body = []
    for group in ("full", "umap", "adbench"):
        here = results(group, 0.0)
        counts = (len(set(here.datasets)), here.n_datasets, len(here.models))
        body.append([group, *map(str, counts)])
    return table(["group", "data sets", "problems", "configurations"], body)


def ranks() -> str:
    """Return mean ranks beside the papers'."""
    printed = json.loads((HERE / "papers.json").read_text("utf-8"))
    body = []
    for group, key in (("full", "2019-3"), ("umap", "2019-4")):
        result = fastad.benchmarking.average_ranks(
            results(group, 0.0), measures=MEASURES, **OPTIONS
        )
        paper = lower(printed[key])
        for i, label in enumerate(result.measures):
            cells = []
            for j, detector in enumerate(DETECTORS):
                column = result.detectors.index(detector)
                ends = f"[{result.low[i, column]:.2f}, {result.high[i, column]:.2f}]"
                cells.append(f"{paper[label][j][0]:.2f} / {result.mean[i, column]:.2f} {ends}")
            body.append([f"{group} {label}", *cells])
    return table(["group, measure", *DETECTORS], body)


def lower(rows_of: Mapping[str, Any]) -> dict[str, Any]:
    """Return rows by fastad's keys."""
    return {key_of(name): value for name, value in rows_of.items()}


def key_of(printed: str) -> str:
    """Return the key of a measure that the papers print, such as PRECISION@0.05."""
    return printed.lower().replace("precision@0", "precision@p0")


def correlation() -> str:
    """Return the mean of each row of Kendall's matrix beside the paper's."""
    printed = printed_means("2019-5", 1.0)
    result = fastad.benchmarking.kendall_matrix(results("full", 0.0), measures=MEASURES, **OPTIONS)
    means = result.means["mean"]
    body = [
        [label, f"{printed[label]:.2f}", f"{means.value[i]:.2f}", ends(means, i, ".2f")]
        for i, label in enumerate(result.rows)
    ]
    return table(["measure", "paper", "here", "95 % interval"], body)


def printed_means(key: str, unit: float) -> dict[str, float]:
    """Return the column "mean" of a printed table."""
    golden = json.loads(GOLDEN.read_text("utf-8"))[key]["rows"]
    return {
        key_of(name): float(row["means"]["mean"].rstrip("%")) * unit for name, row in golden.items()
    }


def ends(means: RowMeans, i: int, form: str) -> str:
    return f"[{format(means.low[i], form)}, {format(means.high[i], form)}]"


def losses() -> str:
    """Return the mean loss of each selecting measure by contamination, beside the papers'."""
    columns = []
    for contamination, key in zip(CONTAMINATIONS, ("2019-6", "2019-7", "2019-8"), strict=True):
        printed = printed_means(key, 1.0)
        for group in ("full", "umap", "adbench"):
            result = selection(group, contamination)
            means = result.means["mean"]
            columns.append(
                [
                    (f"{printed[label]:.1f} / " if group == "full" else "")
                    + f"{100 * means.value[i]:.1f} "
                    + f"[{100 * means.low[i]:.1f}, {100 * means.high[i]:.1f}]"
                    for i, label in enumerate(result.rows)
                ]
            )
    header = ["selected by"]
    for contamination in CONTAMINATIONS:
        header += [f"{group} {100 * contamination:g} %" for group in ("full", "umap", "adbench")]
    return table(
        header, [[label, *cells] for label, *cells in zip(MEASURES, *columns, strict=True)]
    )


def f1() -> str:
    """Return losses and ranks at full dimension with either F1 score beside the papers'."""
    body = []
    for contamination, key in zip(CONTAMINATIONS, ("2019-6", "2019-7", "2019-8"), strict=True):
        printed = printed_means(key, 1.0)
        for label in F1_ROWS:
            cells = [f"{printed[label]:.1f}"]
            for papers_f1 in (False, True):
                result = selection("full", contamination, papers_f1)
                means, i = result.means["mean"], list(result.rows).index(label)
                cells.append(
                    f"{100 * means.value[i]:.1f} "
                    f"[{100 * means.low[i]:.1f}, {100 * means.high[i]:.1f}]"
                )
            body.append([f"mean loss, {label}, {100 * contamination:g} %", *cells])
    rows = lower(json.loads((HERE / "papers.json").read_text("utf-8"))["2019-3"])
    for label in F1_ROWS[:2]:
        by_score = [
            fastad.benchmarking.average_ranks(
                results("full", 0.0, papers_f1=papers_f1), measures=[label], **OPTIONS
            )
            for papers_f1 in (False, True)
        ]
        for j, detector in enumerate(DETECTORS):
            cells = [f"{rows[label][j][0]:.2f}"]
            for ranked in by_score:
                column = ranked.detectors.index(detector)
                low, high = ranked.low[0, column], ranked.high[0, column]
                cells.append(f"{ranked.mean[0, column]:.2f} [{low:.2f}, {high:.2f}]")
            body.append([f"mean rank of {detector}, {label}", *cells])
    return table(["", "paper", "`f1_at_fpr`", "the papers' code"], body)


def classes() -> str:
    """Return the mean loss on other classes of anomalies beside the papers'."""
    printed = json.loads((HERE / "papers.json").read_text("utf-8"))
    columns = []
    for group, key in (("umap", "2019-10"), ("full", "2019-11")):
        paper = lower(printed[key]["rows"])
        loss = fastad.benchmarking.class_sensitivity(
            results(group, 0.0), measures=CLASS_MEASURES, **OPTIONS
        )
        means = loss.means["mean"]
        columns.append(
            [
                f"{np.mean(paper[label]):.1f} / {100 * means.value[i]:.1f} "
                f"[{100 * means.low[i]:.1f}, {100 * means.high[i]:.1f}]"
                for i, label in enumerate(loss.rows)
            ]
        )
    body = [[label, *cells] for label, *cells in zip(CLASS_MEASURES, *columns, strict=True)]
    return table(["selected by", "umap", "full"], body)


def operating() -> str:
    """Return the mean loss of AUC and TPR at the rate that each criterion chooses."""
    body = []
    for number, (criterion, result) in enumerate(criteria().items(), 2):
        printed = printed_means(f"2020-{number}", 1.0)
        means = result.means["mean"]
        cells = []
        for kind in ("auc", "tpr"):
            label = f"{kind}@{criterion}"
            i = list(result.rows).index(label)
            value = f"{printed[label]:.1f} / {100 * means.value[i]:.1f}"
            cells.append(f"{value} [{100 * means.low[i]:.1f}, {100 * means.high[i]:.1f}]")
        body.append([criterion, *cells])
    return table(["criterion", "AUC at its rate", "TPR at its rate"], body)


@lru_cache
def criteria() -> dict[CriterionName, LossMatrix]:
    """Return `loss_at_selected_fpr` by each criterion, with one test of all pairs of models."""
    here = results("full", 0.0, SPLITS)
    measures = here.select([label for label in MEASURES if not label.startswith("cvol")], "")
    resampling = check_resampling(here.clusters, 0.95, **OPTIONS)
    curves = {name: discriminate(here, name, resampling) for name in LEVEL_MEASURES}
    return {
        criterion: loss_at_rates(here, measures, curves, criterion, "optimal", resampling)
        for criterion in CRITERIA
    }


def agreement() -> str:
    """Return how often EM and MV order detectors as labels do."""
    body = []
    for group in ("full", "umap", "adbench"):
        here = results(group, 0.0)
        resampling = check_resampling(here.clusters, 0.95, **OPTIONS)
        for name in ("em", "mv"):
            sides = [here.measure(x).sign * here.means(x) for x in (name, "auc", "auc_pr")]
            cells = []
            for references in ([sides[1]], [sides[2]], [sides[1], sides[2]]):
                result = count_pairs(sides[0], references, here.detector_of, resampling)
                interval = f"[{100 * result.low:.0f}, {100 * result.high:.0f}]"
                cells.append(f"{100 * result.fraction:.0f} % {interval}")
            body.append([f"{group}, all models, {name.upper()}", *cells])
    benchmark = GoixBenchmark(GoixRow.from_dict(row) for row in pq.read_table(GOIX).to_pylist())
    for setting in SETTINGS:
        for criterion in ("em", "mv"):
            counts = benchmark.agreement(criterion, setting=setting)
            cells = [
                "-" if x is None else f"{x.n_agreeing:g} of {x.n_pairs} ({x.fraction:.0%})"
                for x in (counts.roc, counts.pr, counts.both)
            ]
            body.append([f"goix's protocol, {setting}, {criterion.upper()}", *cells])
    return table(["pairs ordered identically", "as ROC", "as PR", "as both"], body)


def distances() -> str:
    """Return the mean distance of rankings from those by a reference."""
    body = []
    for reference, related in (("tpr@0.4", "ht_auc@0.4"), ("fpr@tpr0.8", "lf_auc@0.8")):
        measures = (related, "auc_pr", "auc", "cost_auc@1.25", "cost_auc@0.8")
        by_group = [
            fastad.benchmarking.rank_distance(
                results(group, 0.0), reference=reference, measures=measures, **OPTIONS
            )
            for group in ("full", "adbench")
        ]
        for i, label in enumerate(measures):
            cells = [
                f"{x.means.value[i]:.2f} [{x.means.low[i]:.2f}, {x.means.high[i]:.2f}]"
                for x in by_group
            ]
            body.append([f"{reference}: {label}", *cells])
    return table(["reference: measure", "full", "adbench"], body)


TABLES: Sequence[Callable[[], str]] = (
    *(sizes, ranks, correlation, losses, f1),
    *(classes, operating, agreement, distances),
)


def tables() -> dict[str, str]:
    """Return the tables of the page."""
    return {make.__name__: make() for make in TABLES}


def main() -> None:
    """Keep results, or write the page."""
    if len(sys.argv) > 1:
        keep(Path(sys.argv[1]))
    else:
        fill(PAGE, tables())


if __name__ == "__main__":
    main()
