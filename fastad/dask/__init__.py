"""Evaluation and volumes on Dask: the same numbers as on one machine, to the last bit."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.dask.evaluation import evaluate as evaluate
    from fastad.dask.evaluation import sketch as sketch
    from fastad.dask.regions import volume as volume
    from fastad.dask.regions import volume_at_fpr as volume_at_fpr
    from fastad.dask.regions import volume_curve as volume_curve
    from fastad.dask.regions import volumes as volumes
    from fastad.dask.replicates import interval as interval

__getattr__, __dir__, __all__ = lazy_names()
