"""Ordering group by group."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fastad._kernels.groups import bring_together, count_anomalies
from fastad._threads import current_threads, thread_map
from fastad._types import IntVector, KeyVector, ScoreVector
from fastad._validate import Labels, fixed
from fastad.ordering.packed import PackedOrder, Range, pack_values
from fastad.ordering.raw import KeyCodec, view_raw
from fastad.ordering.sorting import sort

# Blocks for each thread, so that none waits long for the last one.
_BLOCKS_A_THREAD = 4


@dataclass(frozen=True, slots=True, eq=False)
class GroupOrder:
    """Falling keys with the label in the lowest bit, group by group, sorted within each.

    Attributes
    ----------
    packed : numpy.ndarray of shape (n_points,)
        The keys.
    starts : numpy.ndarray of shape (n_groups + 1,)
        Where each group starts.
    anomalies : numpy.ndarray of shape (n_groups,)
        Number of anomalies in each group.
    centre : int
        Folded score whose packed key is 0, in all groups.
    codec : KeyCodec
        What keys without label and centre stand for.
    """

    packed: KeyVector
    starts: IntVector
    anomalies: IntVector
    centre: int
    codec: KeyCodec

    def group(self, group: int) -> PackedOrder:
        """Return the order of one group."""
        start, stop = self.starts[group : group + 2].tolist()
        size = stop - start
        whole = Range(0, size, self.centre, 0, 0)
        anomalies = int(self.anomalies[group])
        return PackedOrder(self.packed[start:stop], [whole], self.codec, size, anomalies)


def order_groups(
    scores: ScoreVector, labels: Labels, codes: IntVector | None, starts: IntVector, name: str
) -> GroupOrder | None:
    """Order scores group by group; None where keys have no free bit.

    Rows are packed where they are and brought together as keys, unless ``codes`` is None and
    they come group by group.
    """
    keyed = pack_values(view_raw(scores), labels, name)
    if keyed is None:
        return None
    packed, centre, codec = keyed
    if codes is not None:
        together = np.empty_like(packed)
        bring_together(codes, starts.copy(), fixed(packed), together)
        packed = together
    anomalies = np.empty(starts.shape[0] - 1, np.int64)

    def sort_block(block: slice) -> None:
        bounds = starts[block.start : block.stop + 1]
        for start, stop in pairwise(bounds.tolist()):
            sort(packed[start:stop])
        count_anomalies(fixed(packed), bounds, anomalies[block])

    thread_map(sort_block, group_blocks(starts))
    return GroupOrder(fixed(packed), starts, anomalies, centre, codec)


def group_blocks(starts: IntVector) -> list[slice]:
    """Cut groups into blocks of about as many points each, some blocks for each thread."""
    n_groups, n_points = starts.shape[0] - 1, int(starts[-1])
    n_threads = current_threads()
    n_blocks = 1 if n_threads == 1 else min(n_groups, _BLOCKS_A_THREAD * n_threads)
    places = np.arange(n_blocks + 1) * (n_points / n_blocks)
    edges = np.unique(np.searchsorted(starts, np.rint(places)))
    return [slice(first, last) for first, last in pairwise(edges.tolist())]
