"""The studies of the papers: run on any data and detectors, resumed, and reported.

`read_config` reads what a study runs, `run_study` runs it or goes on with it, and `make_report`
makes tables, figures and a page of it. `goix_benchmark` is the experiment of one paper alone.
Needs the extra ``study``.
"""

from fastad.study.config import GoixPlan as GoixPlan
from fastad.study.config import StudyConfig as StudyConfig
from fastad.study.config import VolumePlan as VolumePlan
from fastad.study.config import make_config as make_config
from fastad.study.config import read_config as read_config
from fastad.study.grid import Configuration as Configuration
from fastad.study.grid import paper_detectors as paper_detectors
from fastad.study.papers.goix import goix_benchmark as goix_benchmark
from fastad.study.papers.goix_data import GoixProtocol as GoixProtocol
from fastad.study.problems import DataSelection as DataSelection
from fastad.study.report.make import make_report as make_report
from fastad.study.runner import Progress as Progress
from fastad.study.runner import run_study as run_study
from fastad.study.saved import StudyStatus as StudyStatus
from fastad.study.saved import read_study as read_study
from fastad.study.saved import study_status as study_status
from fastad.study.split import Protocol as Protocol
from fastad.study.tables import StudyTables as StudyTables

__all__ = [
    "Configuration",
    "DataSelection",
    "GoixPlan",
    "GoixProtocol",
    "Progress",
    "Protocol",
    "StudyConfig",
    "StudyStatus",
    "StudyTables",
    "VolumePlan",
    "goix_benchmark",
    "make_config",
    "make_report",
    "paper_detectors",
    "read_config",
    "read_study",
    "run_study",
    "study_status",
]
