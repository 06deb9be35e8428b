"""Ordering scores: packed values (fast), keys with their rows (weights), and group by group."""

from fastad.ordering.cuts import CurvePart as CurvePart
from fastad.ordering.groups import GroupOrder as GroupOrder
from fastad.ordering.groups import group_blocks as group_blocks
from fastad.ordering.groups import order_groups as order_groups
from fastad.ordering.packed import PackedOrder as PackedOrder
from fastad.ordering.packed import Range as Range
from fastad.ordering.packed import order_values as order_values
from fastad.ordering.raw import KeyCodec as KeyCodec
from fastad.ordering.rows import RowOrder as RowOrder
from fastad.ordering.rows import order_rows as order_rows
