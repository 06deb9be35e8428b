"""Which rows to label, and measures from the labels of some rows with the scores of all."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.labeling.drawn_rows import DrawnRows as DrawnRows
    from fastad.labeling.drawn_rows import read_drawn as read_drawn
    from fastad.labeling.estimates import LabeledEstimate as LabeledEstimate
    from fastad.labeling.estimates import LabeledEstimates as LabeledEstimates
    from fastad.labeling.estimates import estimate as estimate
    from fastad.labeling.plans import LabelingDesign as LabelingDesign
    from fastad.labeling.plans import design as design
    from fastad.labeling.plans import draw as draw

__getattr__, __dir__, __all__ = lazy_names()
