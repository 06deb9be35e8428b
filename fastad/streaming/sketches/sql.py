"""Queries that count scores in bins, in the dialects of databases."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from fastad._core.parameters import check_choice, check_column_names, check_count, check_type
from fastad.errors import InvalidInputError
from fastad.ordering.groups import refuse_taken

Dialect: TypeAlias = Literal["duckdb", "clickhouse", "postgres", "spark", "bigquery"]
N_BINS = 4096
_LARGEST = sys.float_info.max


class _Syntax(NamedTuple):
    """How a dialect quotes names, and casts to floats and to text."""

    quote: str
    to_float: str
    to_text: str


_SYNTAX: dict[str, _Syntax] = {
    "duckdb": _Syntax('"', "CAST({} AS DOUBLE)", "CAST({} AS VARCHAR)"),
    # Its CAST refuses NULL.
    "clickhouse": _Syntax('"', "toFloat64({})", "toString({})"),
    "postgres": _Syntax('"', "CAST({} AS DOUBLE PRECISION)", "CAST({} AS TEXT)"),
    "spark": _Syntax("`", "CAST({} AS DOUBLE)", "CAST({} AS STRING)"),
    "bigquery": _Syntax("`", "CAST({} AS FLOAT64)", "CAST({} AS STRING)"),
}
DIALECTS = tuple(_SYNTAX)
# Columns of the result beside the groups.
_COLUMNS = ("low", "high", "normals", "anomalies", "others")


def counts_query(
    sql: Dialect,
    *,
    table: str,
    score_column: str,
    label_column: str,
    group_columns: str | Sequence[str] = (),
    bins: int = N_BINS,
) -> str:
    """Return the query by which a database counts scores in bins.

    It counts equal bins between the lowest and the highest finite score, and says of each the
    lowest and the highest score in it: so nothing depends on how the database rounds. Its result,
    saved as a file, is a table for `fastad.streaming.evaluate`, or in memory the counts for
    `ScoreSketch.from_counts` with ``closed="both"``.

    Parameters
    ----------
    sql : {"duckdb", "clickhouse", "postgres", "spark", "bigquery"}
        Dialect.
    table : str
        Name of the table, or what else stands behind FROM, as it is written there.
    score_column, label_column : str
        Columns of the scores, and of the labels 0 and 1, or booleans. The names are quoted.
    group_columns : str or sequence of str, optional
        Columns whose values divide the rows into groups.
    bins : int, default 4096
        Number of bins.

    Returns
    -------
    str
        Columns of the result: the groups, ``low``, ``high``, ``normals``, ``anomalies``, and
        ``others``, the rows of the bin with another label.

    Raises
    ------
    InvalidInputError
        If the dialect is not known, a name is empty, or a group is called as another column.

    Examples
    --------
    >>> from fastad.streaming import counts_query
    >>> query = counts_query("duckdb", table="scores", score_column="s", label_column="y")
    >>> print(query.splitlines()[2])
      FROM (SELECT CAST("s" AS DOUBLE) AS fastad_score FROM scores) AS fastad_scores
    """
    return CountsQuery(sql, table, score_column, label_column, group_columns, bins).write()


class CountsQuery(NamedTuple):
    """Arguments of `counts_query`, and the query that also splits ranges of scores."""

    sql: Dialect
    table: str
    score_column: str
    label_column: str
    group_columns: str | Sequence[str]
    bins: int

    def write(self, ranges: Sequence[tuple[float, float]] = (), n_parts: int = 1) -> str:
        """Write the query, with rising ranges split in equal parts, 0 for single values."""
        bins = check_count(self.bins, "bins")
        keys = {"fastad_bin": f"floor((fastad_score - fastad_lowest) * fastad_scale * {bins})"}
        return self._write({**keys, **(_keys_within(ranges, n_parts) if ranges else {})})

    def write_single_values(self) -> str:
        """Write the query that counts each score by itself."""
        return self._write({"fastad_bin": "fastad_score"})

    def _write(self, keys: Mapping[str, str]) -> str:
        syntax = _SYNTAX[check_choice(self.sql, DIALECTS, "sql")]
        for name in ("table", "score_column", "label_column"):
            text = getattr(self, name)
            check_type(text, str, name, "a string")
            if not text.strip():
                raise InvalidInputError(f"{name} must be a name; found {text!r}", argument=name)

        def quoted(name: str) -> str:
            return syntax.quote + name.replace(syntax.quote, 2 * syntax.quote) + syntax.quote

        groups = dict.fromkeys(check_column_names(self.group_columns, "group_columns"))
        refuse_taken(groups, _COLUMNS, "group_columns")
        grouping = "".join(f"{quoted(name)}, " for name in groups)
        key = ", ".join(keys)
        selected = ", ".join(f"{expression} AS {name}" for name, expression in keys.items())
        score = f"{syntax.to_float.format(quoted(self.score_column))} AS fastad_score"
        label = f"{quoted(self.label_column)} AS fastad_label"
        # Integers would round labels, and some dialects cast booleans to no float. Text of the
        # distinct labels of a bin costs nothing.
        text = syntax.to_text.format("fastad_label")
        number = syntax.to_float.format(f"replace(replace({text}, 'true', '1'), 'false', '0')")
        # Where no score is finite, infinities must not share the bin of scores that are NULL.
        # Some databases would copy a common subquery of all rows. Samples of one label are counted
        # in half the time of sums of conditions.
        return f"""\
WITH fastad_ends AS (
  SELECT coalesce(min(fastad_score), 0) AS fastad_lowest, max(fastad_score) AS fastad_highest
  FROM (SELECT {score} FROM {self.table}) AS fastad_scores
  WHERE abs(fastad_score) <= {_LARGEST!r}
), fastad_range AS (
  SELECT fastad_lowest, CASE WHEN fastad_highest > fastad_lowest
    THEN 1 / (fastad_highest - fastad_lowest) ELSE 1 END AS fastad_scale
  FROM fastad_ends
), fastad_counts AS (
  SELECT {grouping}{key},
    {number} AS fastad_number,
    min(fastad_score) AS fastad_low, max(fastad_score) AS fastad_high, count(*) AS fastad_n
  FROM (
    SELECT {grouping}{selected}, fastad_score, fastad_label
    FROM (SELECT {grouping}{score}, {label} FROM {self.table}) AS fastad_scores
    CROSS JOIN fastad_range
  ) AS fastad_binned
  GROUP BY {grouping}{key}, fastad_label
)
SELECT {grouping}min(fastad_low) AS low, max(fastad_high) AS high,
  sum(CASE WHEN fastad_number = 0 THEN fastad_n ELSE 0 END) AS normals,
  sum(CASE WHEN fastad_number = 1 THEN fastad_n ELSE 0 END) AS anomalies,
  sum(CASE WHEN fastad_number IN (0, 1) THEN 0 ELSE fastad_n END) AS others
FROM fastad_counts GROUP BY {grouping}{key}
ORDER BY {grouping}low
"""


def _by_range(ranges: Sequence[tuple[float, float]], leaf: Callable[[int, str, str], str]) -> str:
    """Return an expression by the nearest range: a leaf of its number and its ends."""

    def branch(first: int, stop: int) -> str:
        if stop - first == 1:
            return leaf(first, *map(_literal, ranges[first]))
        middle = (first + stop) // 2
        below, above = branch(first, middle), branch(middle, stop)
        edge = _literal(ranges[middle][0])
        return f"CASE WHEN fastad_score < {edge} THEN {below}\n    ELSE {above} END"

    return branch(0, len(ranges))


def _keys_within(ranges: Sequence[tuple[float, float]], n_parts: int) -> dict[str, str]:
    """Return the keys by which ranges, and the scores between them, are counted apart.

    Keys rise with the score: ranges have odd numbers, to which parts add a fraction.
    """

    def number(i: int, low: str, high: str) -> str:
        width = ranges[i][1] - ranges[i][0]
        part = f" + floor((fastad_score - {low}) * {_literal(n_parts / width)}) / {n_parts + 1}"
        return (
            f"CASE WHEN fastad_score < {low} THEN {2 * i} WHEN fastad_score <= {high} "
            f"THEN {2 * i + 1}{part if n_parts and width < _LARGEST else ''} ELSE {2 * i + 2} END"
        )

    def value(_: int, low: str, high: str) -> str:
        return f"CASE WHEN fastad_score BETWEEN {low} AND {high} THEN fastad_score END"

    keys = {"fastad_part": _by_range(ranges, number)}
    return keys if n_parts else {**keys, "fastad_value": _by_range(ranges, value)}


def _literal(number: float) -> str:
    """Return a number as every dialect reads a float: with an exponent, as others are decimals."""
    text = repr(min(max(float(number), -_LARGEST), _LARGEST))
    return f"({text if 'e' in text else text + 'e0'})"
