"""Section ``distance``: whether a measure ranks detectors as an application would."""

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fastad.benchmarking.distance import RankDistances, rank_distance
from fastad.study.report.parts import Picture, Section
from fastad.study.report.sections.draft import Draft
from fastad.study.report.sections.study_results import StudyResults, plain_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# By figure of the paper, what the application asks for, and the measures that are compared.
_USUAL = ("auc_pr", "ap", "auc", "cost_auc@1.25", "cost_auc@0.8")
_FIGURES = {
    "Figure 3": ("tpr@0.4", ("ht_auc@0.4", *_USUAL)),
    "Figure 4": ("fpr@tpr0.8", ("lf_auc@0.8", *_USUAL)),
}
# Inches: of the picture's height, of its least and greatest width, and of each data set.
_HEIGHT, _LEAST, _MOST, _EACH = 3.8, 6.4, 18.0, 0.26


def distance_section(results: StudyResults) -> Section:
    """Return distances of rankings from those that two applications ask for."""
    draft = Draft(
        "distance",
        "Distance of rankings from what an application asks for",
        "Euclidean distance between the ranks of detectors by a measure and by a reference, each "
        "detector with the parameters that are best on the data set by the measure: from TPR at "
        "FPR 0.4, where anomalies must not be missed (Figure 3 of Ning et al., 2020), and from FPR "
        "at TPR 0.8, where alarms must not be false (Figure 4). At the lowest contamination.",
    )
    for cell in results.cells(draft):
        for figure, (reference, wanted) in _FIGURES.items():
            if reference not in cell.table.labels:
                draft.lacks(f"{figure} for {cell.where}", f"the study has not measured {reference}")
                continue
            what = f"{figure} for {cell.where}"
            make = partial(
                rank_distance,
                cell.table,
                reference=reference,
                measures=cell.present(wanted, draft),
                **results.options,
            )
            found = draft.attempt(what, make)
            if found is not None:
                name = f"rank-distance-{plain_name(reference)}-{cell.key}"
                title = f"Distance from the ranking by {reference}, {cell.where} ({figure})"
                draft.table(name, title, found)
                picture = Picture(f"{name}-by-data-set", title, partial(draw_distances, found))
                draft.parts.append(picture)
    return draft.section()


def draw_distances(found: RankDistances) -> "Figure":
    """Draw the distance of each measure on each data set.

    Parameters
    ----------
    found : RankDistances
        What `fastad.benchmarking.rank_distance` returns.

    Returns
    -------
    matplotlib.figure.Figure
        pyplot does not know of it, and need not close it.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    """
    from fastad.plot import drawing

    drawing.need_matplotlib()
    from matplotlib.figure import Figure

    places = np.arange(len(found.datasets))
    width = min(max(_LEAST, _EACH * len(places) + 3), _MOST)
    figure = Figure(figsize=(width, _HEIGHT), layout="constrained")
    axes = figure.subplots()
    for i, label in enumerate(found.measures):
        style = {**drawing.line_style(i), "linewidth": 1.0}
        axes.plot(places, found.distances[:, i], marker="o", markersize=4, label=label, **style)
    names = [drawing.plain_text(name) for name in found.datasets]
    axes.set_xticks(places, names, rotation=90, fontsize="small")
    axes.set_ylabel(f"Distance from {found.reference}")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize="small")
    return figure
