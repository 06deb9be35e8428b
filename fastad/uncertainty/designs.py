"""Sampling designs: clusters of rows, and blocks of rows in time."""

from dataclasses import dataclass
from typing import Any

from fastad._core.parameters import check_count, short_repr
from fastad._core.row_index import RowIndex
from fastad._core.types import Blocks, IntVector
from fastad.errors import InvalidInputError
from fastad.ordering.groups import factorize
from fastad.ordering.labels import Labels


@dataclass(frozen=True, slots=True, eq=False)
class SamplingDesign:
    """How the rows that a user gave were sampled, beside their weights.

    Attributes
    ----------
    clusters : numpy.ndarray of shape (n_rows,) or None
        Number of the cluster of each row.
    blocks : int, "auto" or None
        Mean length of the blocks of rows that follow each other in time.
    """

    clusters: IntVector | None = None
    blocks: Blocks | None = None

    @property
    def is_independent(self) -> bool:
        """Whether every row was sampled by itself."""
        return self.clusters is None and self.blocks is None


INDEPENDENT = SamplingDesign()


def check_design(clusters: Any, blocks: Any, rows: RowIndex) -> SamplingDesign:
    """Check the arguments that say how rows depend on each other."""
    if clusters is not None and blocks is not None:
        raise InvalidInputError(
            "blocks must not be given with clusters: rows come in clusters or in time; found both",
            argument="blocks",
        )
    if clusters is not None:
        codes, distinct = factorize(clusters, "clusters", rows)
        # A cluster for each row says nothing.
        return INDEPENDENT if len(distinct) == rows.n_rows else SamplingDesign(clusters=codes)
    if blocks is None:
        return INDEPENDENT
    if isinstance(blocks, str) and blocks == "auto":
        return SamplingDesign(blocks="auto")
    if isinstance(blocks, str):
        raise InvalidInputError(
            f"blocks must be an integer or 'auto'; found {short_repr(blocks)}", argument="blocks"
        )
    length = check_count(blocks, "blocks")
    if length > rows.n_rows:
        raise InvalidInputError(
            f"blocks must be at most the number of rows, {rows.n_rows}; found {length}",
            argument="blocks",
        )
    return SamplingDesign(blocks=length)


def needs_design(design: SamplingDesign, labels: Labels) -> bool:
    """Tell whether samples are anything but independent and counted in integers."""
    is_real = labels.weights is not None and labels.weights.dtype.kind == "f"
    return is_real or not design.is_independent
