"""Plain-text tables."""

from collections.abc import Sequence


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return columns of text under their heads: the first to the left, the others to the right."""
    lines = [list(header), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
