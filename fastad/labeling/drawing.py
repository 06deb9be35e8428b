"""``draw``: which rows are labelled."""

from pathlib import Path

import numpy as np

from fastad._core.arrays import set_all_readonly, set_readonly
from fastad._core.parameters import check_type
from fastad._core.random import numbered_generator, random_key
from fastad._core.suggestions import suggests_arguments
from fastad.errors import InvalidInputError
from fastad.labeling.drawn_rows import DrawnRows, read_drawn
from fastad.labeling.plans import LabelingDesign
from fastad.labeling.score_orders import digest_of


@suggests_arguments
def draw(
    design: LabelingDesign,
    *,
    path: str | Path | None = None,
    rng: int | np.random.Generator | None = None,
) -> DrawnRows:
    """Draw the rows to label, and save them.

    Parameters
    ----------
    design : LabelingDesign
        Probabilities of the rows.
    path : str or path, optional
        File to save the rows to, completely or not at all: .csv, .parquet, .arrow or .feather. If
        it has rows that were drawn by the same design, these are returned, with their labels,
        and none are drawn.
    rng : int, numpy.random.Generator or None
        Seed, or source of one.

    Returns
    -------
    DrawnRows
        As many rows as the budget has, none of which has been drawn in an earlier round.

    Raises
    ------
    InvalidInputError
        If the file has other rows.

    Examples
    --------
    >>> import numpy as np
    >>> import fastad
    >>> scores = np.random.default_rng(0).normal(size=1000)
    >>> plan = fastad.labeling.design(scores, budget=50, target="tpr@0.01")
    >>> drawn = fastad.labeling.draw(plan, rng=0)
    >>> drawn.row.shape
    (50,)
    """
    check_type(design, LabelingDesign, "design", "a LabelingDesign")
    if path is not None and Path(path).exists():
        return _resumed(design, path)
    generator = numbered_generator(random_key(rng), design.round)
    sizes = design._sizes
    with np.errstate(divide="ignore"):
        # Rows with a label have the size 0, and are drawn last.
        priority = (1 - generator.random(sizes.shape[0])) / sizes
    n = design.budget
    next_priority = np.inf
    if n < sizes.shape[0]:
        lowest = np.argpartition(priority, n)
        next_priority = priority[lowest[n]]
        lowest = lowest[:n]
    else:
        lowest = np.arange(n)
    row = lowest[np.argsort(priority[lowest])].astype(np.int64)
    # Where no row is left, each was certain.
    limit = next_priority if np.isfinite(next_priority) else float(np.max(1 / sizes[row])) * 2
    size = sizes[row] * limit
    least = float(np.min(sizes, where=sizes > 0, initial=np.inf)) * limit
    result = DrawnRows(
        row,
        np.full(n, np.nan),
        np.minimum(size, 1.0),
        size,
        priority[row] / limit,
        least,
        design.round,
        digest_of(design._scores),
        {name: set_readonly(values[row]) for name, values in design._scores.items()},
    )
    set_all_readonly(row, result.label, result.probability, size, result.priority)
    if path is not None:
        result.save(path)
    return result


def _resumed(design: LabelingDesign, path: str | Path) -> DrawnRows:
    """Return the rows of a file that were drawn by a design."""
    drawn = read_drawn(path)
    found = (drawn.population, drawn.round, drawn.row.shape[0])
    if found == (digest_of(design._scores), design.round, design.budget):
        # Sizes have units of their own.
        ratio = drawn.size / np.maximum(design._sizes[drawn.row], 1e-300)
        if np.allclose(ratio, ratio[0]):
            return drawn
    raise InvalidInputError(
        f"path must be a new file, or one of this design; found in {path} round {drawn.round} of "
        f"another, with {drawn.row.shape[0]} rows",
        argument="path",
    )
