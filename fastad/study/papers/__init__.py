"""Protocols of the papers: their grids, goix's benchmark, and their tables and figures.

Built on the public parts of `fastad.study`, which takes the grids as its defaults and runs goix's
protocol where a configuration asks for it. `goix_benchmark` is that protocol alone.
"""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.study.papers.goix import goix_benchmark as goix_benchmark
    from fastad.study.papers.goix import goix_cell as goix_cell
    from fastad.study.papers.goix_data import GoixProtocol as GoixProtocol
    from fastad.study.papers.goix_data import load_goix as load_goix
    from fastad.study.papers.goix_plan import GoixPlan as GoixPlan
    from fastad.study.papers.goix_results import GoixAgreement as GoixAgreement
    from fastad.study.papers.goix_results import GoixBenchmark as GoixBenchmark
    from fastad.study.papers.goix_results import GoixRow as GoixRow
    from fastad.study.papers.grids import paper_detectors as paper_detectors
    from fastad.study.papers.grids import paper_measures as paper_measures

__getattr__, __dir__, __all__ = lazy_names()
