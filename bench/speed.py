"""Times of the measures on this processor, beside other libraries and beside their limits.

From the root of a checkout, with the extra ``bench`` installed::

    python -m bench.speed [MEASURE ...]

Each row, by default of all measures, is a set of labels and scores. All libraries take it in
turn, in containers made outside of the timer, and outputs are compared with scikit-learn's
first. Finished rows are in the file of the processor in ``docs/evidence/speed/``: a run that was
stopped continues, and rows are measured anew where their lines, or the file, are removed. Once
it has all rows, the pages are filled.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.integrate import cumulative_trapezoid

from bench.data import CONTINUOUS, KINDS, Case, generate
from bench.limits import limits, milliseconds
from bench.pages import line
from bench.peers import LIBRARIES, REFERENCE, Output, threads, versions
from bench.processor import describe, processor
from bench.speed_page import FOLDER, Row, cell, fill_pages, read_run

_MEASURES = ("AUC@5%", "TPR@5%", "AP", "ROC curve", "evaluate")
# Numbers of scores and proportions of anomalies of one measure, and those of the others.
_OF_AUC = (
    *((10**3, 0.01), (10**3, 0.5), (10**5, 0.001), (10**5, 0.01), (10**5, 0.5)),
    *((10**6, 0.001), (10**6, 0.01), (10**6, 0.5), (10**7, 0.01), (10**7, 0.5)),
)
_OF_OTHERS = ((10**3, 0.5), (10**5, 0.5), (10**6, 0.01), (10**6, 0.5))
_NARROW = (("float16", CONTINUOUS), ("int16", CONTINUOUS), ("uint8", CONTINUOUS))


def rows() -> Iterator[Row]:
    """Yield what is measured, in the order of the table."""
    for n, proportion in _OF_AUC:
        yield Row("AUC", Case(n, proportion))
    for kind in KINDS:
        dtype = "float32" if kind == CONTINUOUS else "float64"
        for proportion in (0.01, 0.5):
            yield Row("AUC", Case(10**6, proportion, dtype, kind))
    for dtype, kind in (*_NARROW, ("float64", "few values")):
        yield Row("AUC", Case(10**7, 0.01, dtype, kind))
    for measure in _MEASURES:
        for n, proportion in _OF_OTHERS:
            yield Row(measure, Case(n, proportion))
    yield Row("interval of TPR@5%", Case(400, 0.5))


def measure(row: Row) -> dict[str, float]:
    """Return milliseconds of each library that has the measure, and of the limits of an AUC."""
    times = {}
    for library in LIBRARIES:
        function = library.measures.get(row.measure)
        if function is None or {row.case.kind, row.case.dtype} & library.left_out:
            continue
        call = partial(function, *library.container(*generate(row.case)))
        # The first call, which may compile, is compared and not timed.
        result = _comparable(call())
        np.testing.assert_allclose(result, _expected(row), rtol=0, atol=library.tolerance)
        times[library.name] = milliseconds(call)
    return {**times, **(limits(row.case) if row.measure == "AUC" else {})}


@lru_cache(maxsize=1)
def _expected(row: Row) -> npt.NDArray[np.float64]:
    """Return what scikit-learn has, else fastad: then it is compared with itself."""
    reference = REFERENCE if row.measure in REFERENCE.measures else LIBRARIES[0]
    return _comparable(reference.measures[row.measure](*generate(row.case)))


def _comparable(output: Output) -> npt.NDArray[np.float64]:
    """Return a number as it is, and of a curve the area up to many false positive rates.

    Curves may leave out points on straight pieces, or differ by rounding on upright ones; their
    areas agree all the same.
    """
    if not isinstance(output, tuple):
        return np.asarray(output, np.float64)
    fpr, tpr = (np.asarray(rates, np.float64) for rates in output[:2])
    area = cumulative_trapezoid(tpr, fpr, initial=0)
    return np.interp(np.linspace(0, 1, 1001), fpr, area)


def main(*measures: str) -> None:
    """Measure what is missing."""
    facts = {**processor(), "date": date.today().isoformat()}
    words = (facts["name"].lower().replace(" ", "-"), facts.get("family"), facts.get("model"))
    path = FOLDER / f"{'-'.join(str(word) for word in words if word is not None)}.jsonl"
    print(f"{describe(facts)}: {path.name}")
    if not path.exists():
        _append(path, {**facts, "threads": threads(), "versions": versions()})
    done = read_run(path).rows
    for row in rows():
        if row not in done and (not measures or row.measure in measures):
            times = {name: float(f"{time:.4g}") for name, time in measure(row).items()}
            _append(path, {"measure": row.measure, **asdict(row.case), "ms": times})
            print(line([*row.cells(), *(f"{x} {cell(times, x)}" for x in times)]), flush=True)
    if read_run(path).rows.keys() >= set(rows()):
        fill_pages()


def _append(path: Path, content: dict[str, Any]) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(content) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
