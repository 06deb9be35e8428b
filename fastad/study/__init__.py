"""Studies: many detectors on many data sets, resumed, and reported.

`read_config` reads the configuration of a study, `run_study` runs or resumes it, and `make_report`
makes tables, figures and a page of it. `fastad.study.papers` has the papers' protocols. Needs the
extra ``study``.
"""

from typing import TYPE_CHECKING

from fastad._core.lazy import lazy_names

if TYPE_CHECKING:
    from fastad.study.config import StudyConfig as StudyConfig
    from fastad.study.config import VolumePlan as VolumePlan
    from fastad.study.config import make_config as make_config
    from fastad.study.config import read_config as read_config
    from fastad.study.configurations import Configuration as Configuration
    from fastad.study.problems import DataSelection as DataSelection
    from fastad.study.report.make import make_report as make_report
    from fastad.study.results import StudyStatus as StudyStatus
    from fastad.study.results import StudyTables as StudyTables
    from fastad.study.results import read_study as read_study
    from fastad.study.results import study_status as study_status
    from fastad.study.runner import Progress as Progress
    from fastad.study.runner import run_study as run_study
    from fastad.study.split import Protocol as Protocol

__getattr__, __dir__, __all__ = lazy_names()
