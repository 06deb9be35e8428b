"""The definitions that are tried; a new one is added to the list of its file."""

from fastad.evaluation.definitions.averages import AVERAGES
from fastad.evaluation.definitions.definition import Definition
from fastad.evaluation.definitions.hard_labels import HARD_LABELS
from fastad.evaluation.definitions.thresholds import THRESHOLDS
from fastad.evaluation.definitions.time_order import TIME_ORDER
from fastad.evaluation.definitions.whole_curve import WHOLE_CURVE

DEFINITIONS: tuple[Definition, ...] = (
    *WHOLE_CURVE,
    *THRESHOLDS,
    *HARD_LABELS,
    *TIME_ORDER,
    *AVERAGES,
)
