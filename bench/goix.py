"""Measure goix's benchmark: nine of its twelve data sets, in both settings.

Rows of the table are kept as they come: a run that was stopped goes on.

    python -m bench.goix FOLDER    measures, where FOLDER has the folders adbench and goix
    python -m bench.goix           puts what the table says into the page

At most 10 000 rows train and 20 000 test, the first ones of each shuffled half, because the
one-class SVM needs a time of the square of its training rows.
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.pages import EVIDENCE, fill, read_finished, read_rows, table, write_rows
from fastad.benchmarking.agreement import LabelAgreement, PairAgreement
from fastad.study.papers.goix import goix_cell
from fastad.study.papers.goix_data import FILES, SETTINGS, GoixProtocol, Setting, load_goix
from fastad.study.papers.goix_results import GoixBenchmark, GoixRow
from fastad.unsupervised.criteria import CRITERIA

TABLE = EVIDENCE / "goix.csv"
PAGE = EVIDENCE.parent / "guide" / "unsupervised.md"
SEED = 0
# The fast ones first.
NAMES = (
    *("pima", "adult", "http", "ionosphere", "arrhythmia"),
    *("spambase", "pendigits", "shuttle", "forestcover"),
)


def run(
    folder: Path,
    path: Path = TABLE,
    names: Sequence[str] = NAMES,
    protocol: GoixProtocol | None = None,
    detectors: Any = None,
) -> None:
    """Measure the cells that are lacking, and write the table."""
    notes = path.with_suffix(".partial")
    done: dict[tuple[str, Setting], list[GoixRow]] = {}
    for row in map(GoixRow.from_dict, read_finished(notes)):
        done.setdefault((row.dataset, row.setting), []).append(row)
    cells = [(name, setting) for name in names for setting in SETTINGS]
    with notes.open("a", encoding="utf-8") as file:
        for name, setting in cells:
            if (name, setting) in done:
                continue
            begin = time.perf_counter()
            X, y = load_goix(folder, [name])[name]
            result = goix_cell(
                *(X, y),
                dataset=name,
                setting=setting,
                detectors=detectors,
                protocol=protocol or GoixProtocol(),
                rng=SEED,
            )
            done[name, setting] = list(result)
            file.write("".join(json.dumps(row.to_dict()) + "\n" for row in result))
            file.flush()
            print(
                GoixBenchmark(result), f"{time.perf_counter() - begin:.1f} s", sep="\n", flush=True
            )
    ordered = [(name, setting) for setting in SETTINGS for name in FILES if name in names]
    write(GoixBenchmark(row for cell in ordered for row in done[cell]), path)
    notes.unlink()


def write(benchmark: GoixBenchmark, path: Path = TABLE) -> None:
    """Write the table."""
    columns = benchmark.to_columns()
    rows = zip(*columns.values(), strict=True)
    write_rows(path, [dict(zip(columns, row, strict=True)) for row in rows])


def read(path: Path = TABLE) -> GoixBenchmark:
    """Return what the table holds."""
    return GoixBenchmark(map(GoixRow.from_dict, read_rows(path)))


def lines(benchmark: GoixBenchmark) -> str:
    """Return how far EM and MV agree with labels, as a table of a page."""
    head = ["setting", "criterion", "pairs", "as ROC", "as PR", "as both", "labels"]
    results = []
    for setting in (*SETTINGS, None):
        for criterion in CRITERIA:
            for pairs in ("all", "significant", "not_significant"):
                counts = benchmark.agreement(criterion, setting=setting, pairs=pairs)
                cells = [_cell(pair) for pair in (counts.roc, counts.pr, counts.both)]
                labels = _cell(counts.labels) if pairs == "all" else ""
                which = pairs.replace("_", " ")
                results.append([setting or "both", criterion.upper(), which, *cells, labels])
    return table(head, results)


def _cell(result: PairAgreement | LabelAgreement | None) -> str:
    if result is None:
        return "none"
    counts = (
        (result.n_agreeing, result.n_pairs)
        if isinstance(result, PairAgreement)
        else (result.n_recovered, result.n_labels)
    )
    return f"{counts[0]:.4g} of {counts[1]} ({result.fraction:.0%})"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(Path(sys.argv[1]))
    fill(PAGE, {"agreement": lines(read())})
