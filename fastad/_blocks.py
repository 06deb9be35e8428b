"""How many points are treated together."""

# Coordinates: as much as a core's own memory holds, and some more, because two threads that ask
# for the interpreter's lock every few microseconds wait for one another.
_COORDINATES = 2**18
# Fewer points cost more to call for than to treat; more do not pay.
_FEWEST, MOST = 256, 2**15


def points_at_once(n_features: int) -> int:
    """Return how many points of so many features are treated together, a power of two."""
    fitting = max(_COORDINATES // n_features, 1)
    return min(max(1 << (fitting.bit_length() - 1), _FEWEST), MOST)
