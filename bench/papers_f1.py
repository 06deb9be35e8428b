"""The study ``medium`` with the F1 scores of the papers' code, whose threshold may lie in a tie.

    python -m bench.papers_f1 FOLDER_OF_DATA OUTPUT [N_JOBS]

It runs ``docs/evidence/reproduction/medium.toml`` with two columns more. ``bench.reproduction``
then keeps what the page shows.

The published code (EvalCurves.jl) takes the samples by falling score, normal ones first among equal
ones, and interpolates the threshold between the last one that keeps the rate and the next one,
without regard to ties. Where both have one score, it is the threshold, and all samples with it are
flagged, whatever their FPR.
"""

import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from fastad._core.declared import Rate
from fastad.measures.flagged import confusion
from fastad.measures.measure import Measure
from fastad.measures.points import need_both
from fastad.ordering.counts import OrderedCounts
from fastad.study import read_config, run_study
from fastad.study.runner import Progress

CONFIG = Path(__file__).parent.parent / "docs" / "evidence" / "reproduction" / "medium.toml"


def flagged_point(counts: OrderedCounts, rate: Fraction) -> int:
    """Return the point of the curve that the threshold of the papers' code flags."""
    allowed = int(rate * counts.n_normals)
    # The first point beyond the rate; its distinct score has the normal sample that is the next.
    beyond = int(np.searchsorted(counts.fps, allowed, side="right"))
    if beyond == counts.fps.shape[0]:
        return beyond - 1
    # With a normal sample of the same score before it, the interpolation stays in the tie.
    return beyond if allowed > counts.fps[beyond - 1] else beyond - 1


def _papers_f1(counts: OrderedCounts, fpr: Fraction) -> float:
    """F1 score of what the papers' code flags at a false positive rate."""
    need_both(counts, "papers_f1")
    return confusion(counts, flagged_point(counts, fpr)).f1


PAPERS_F1 = Measure(
    name="papers_f1",
    title="F1 score at a threshold interpolated between samples",
    key="papers_f1@",
    compute=_papers_f1,
    parameters={"fpr": Rate()},
    operating_point="fpr",
)


def main() -> None:
    """Run the study, or go on with it."""
    folder, output = map(Path, sys.argv[1:3])
    n_jobs = int(sys.argv[3]) if len(sys.argv) > 3 else -1
    config = read_config(CONFIG)
    config = replace(
        config,
        data=replace(config.data, paths=(str(folder),)),
        measures=(*config.measures, PAPERS_F1),
    )
    run_study(config, output, n_jobs=n_jobs, progress=show)


def show(progress: Progress) -> None:
    """Write how far it is."""
    print(progress, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
