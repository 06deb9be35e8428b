"""Volumes of decision regions: the fraction of a box that a detector classifies as normal."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.regions.at_fpr import Volumes as Volumes
    from fastad.regions.at_fpr import volume_at_fpr as volume_at_fpr
    from fastad.regions.at_fpr import volumes as volumes
    from fastad.regions.box import Box as Box
    from fastad.regions.curve import VolumeCurve as VolumeCurve
    from fastad.regions.curve import volume_curve as volume_curve
    from fastad.regions.reference import Normal as Normal
    from fastad.regions.results import VolumeEstimate as VolumeEstimate
    from fastad.regions.volume_estimation import volume as volume

__getattr__, __dir__, __all__ = lazy_names()
