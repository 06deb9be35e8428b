"""Evaluation and volumes on Dask: the same numbers as on one machine, to the last bit."""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.dask.evaluation import evaluate as evaluate
    from fastad.dask.uniform_draws import volume as volume
    from fastad.dask.uniform_draws import volume_at_fpr as volume_at_fpr
    from fastad.dask.uniform_draws import volumes as volumes

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "fastad.dask.evaluation": ("evaluate",),
        "fastad.dask.uniform_draws": (
            "volume",
            "volume_at_fpr",
            "volumes",
        ),
    },
)
