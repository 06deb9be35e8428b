"""``fastad study``: run a study, show its progress, and make its report."""

# Commands import what does their work in their own functions, so that each starts fast.

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from fastad._core.text_tables import TextTable
from fastad.cli._console import (
    DataError,
    data_from,
    handle_errors,
    print_message,
    print_result,
    print_table,
)
from fastad.cli._option_rules import CheckedCommand
from fastad.cli._options import SectionedGroup, count_option

if TYPE_CHECKING:
    from fastad.study.config import StudyConfig
    from fastad.study.runner import Progress

app = typer.Typer(
    name="study",
    cls=SectionedGroup,
    help="Run studies as in the papers: many detectors on many data sets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

StudyFolder: TypeAlias = Annotated[
    Path, typer.Argument(metavar="FOLDER", help="Folder of the study.")
]

# Without a terminal.
_SECONDS_BETWEEN_LINES = 30.0
# Seconds after which a task at work is named.
_LONG_S = 10.0


@app.command(cls=CheckedCommand)
@handle_errors
def run(
    *,
    config: Annotated[
        Path | None,
        typer.Argument(
            metavar="CONFIG.toml",
            help="What to run. By default the profile on the data sets that come with "
            "scikit-learn.",
        ),
    ] = None,
    profile: Annotated[
        str, typer.Option(help="Without CONFIG.toml: quick, medium or full.")
    ] = "quick",
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder or file of data, in place of those that CONFIG.toml names; may be "
            "repeated."
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the results, which a later run continues. By default named as the "
            "configuration."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(help="Processes; by default one for each processor, -1 too.")
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            help="Seconds that a detector may take on a split; if it takes longer, it has failed."
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run tasks again that failed in an earlier run.")
    ] = False,
) -> None:
    """Run a study, or continue one that was stopped."""
    from fastad._core.threads import available_processors
    from fastad.study.results import is_failure, reasons_of
    from fastad.study.runner import run_study

    study = _config(config, profile, data or [])
    folder = output or Path(f"study-{profile}" if config is None else config.stem)
    with _study_errors(), _progress() as progress:
        tables = run_study(
            study,
            folder,
            n_jobs=available_processors() if jobs is None else jobs,
            progress=progress,
            timeout=timeout,
            retry_failed=retry_failed,
        )
    reasons = reasons_of((tables.tasks, *tables.extra.values()))
    n_failed = sum(map(is_failure, reasons))
    print_message(f"{len(reasons)} tasks are done; {n_failed} of them failed.")
    print_result(f"{folder / 'results.parquet'}")
    print_message(f"Tables and figures: fastad study report {folder}")
    if n_failed:
        print_message(f"Why: fastad study status {folder}; again: --retry-failed")
    always_failed = tables.failed_detectors()
    if always_failed:
        raise DataError(
            f"every task of {', '.join(map(repr, always_failed))} failed; all results are saved"
        )


@app.command(cls=CheckedCommand)
@handle_errors
def status(*, folder: StudyFolder) -> None:
    """Print the progress of a study, what is at work, and which tasks failed."""
    from fastad.study.results import study_status

    with _study_errors():
        state = study_status(folder)
    runner = f"a runner is at work ({state.runner})" if state.runner else "no runner is at work"
    print_result(f"{state.n_done} of {state.n_batches} batches are done; {runner}.")
    if state.at_work:
        header = "at work" if state.runner else "at work when the last runner ended"
        print_table(TextTable([header, "since"], [list(row) for row in state.at_work.items()]))
    for header, reasons in (
        ("failed tasks", state.failures),
        ("tasks without result", state.not_applicable),
    ):
        if reasons:
            rows = [[reason, str(n)] for reason, n in reasons.items()]
            print_table(TextTable(["reason", header], rows))


@app.command(cls=CheckedCommand)
@handle_errors
def report(
    *,
    folder: StudyFolder,
    output: Annotated[
        Path | None, typer.Option(help="Folder of the report; by default in the study's.")
    ] = None,
    n_resamples: Annotated[int, count_option("Bootstrap resamples of the data sets.")] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the intervals.")] = 0,
) -> None:
    """Make tables and figures of what is done so far, and a page of all."""
    from fastad.study.report.make import make_report

    with _study_errors():
        page = make_report(
            folder, output, n_resamples=n_resamples, rng=seed, progress=print_message
        )
    print_result(str(page))


def _config(path: Path | None, profile: str, data: Sequence[Path]) -> "StudyConfig":
    from fastad.study.config import make_config, read_config

    with _study_errors():
        if path is None:
            bundled = {"paths": [str(item) for item in data], "bundled": not data}
            return make_config({"profile": profile, "data": bundled})
        config = read_config(path)
        if not data:
            return config
        paths = tuple(str(item.resolve()) for item in data)
        return replace(config, data=replace(config.data, paths=paths, bundled=False))


@contextmanager
def _study_errors() -> Iterator[None]:
    """Turn the ends of a study that are no errors of fastad into messages."""
    try:
        with data_from(""):
            yield
    except KeyboardInterrupt:
        print_message("Error: interrupted; what is done is saved, and the same command continues")
        raise


@contextmanager
def _progress() -> Iterator[Callable[["Progress"], object]]:
    """Show the progress of a study: a bar on a terminal, else a line every half minute."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Bar(*columns, TextColumn("{task.fields[text]}"), console=console) as bar:
        task = bar.add_task("batches", total=None, text="")

        def update(state: "Progress") -> None:
            bar.update(task, completed=state.done, total=state.total, text=_text_of(state))

        yield update


class _Lines:
    """Prints the progress of a study, first at once and then every half minute."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, state: "Progress") -> None:
        now = time.monotonic()
        if now >= self._next or state.done == state.total:
            self._next = now + _SECONDS_BETWEEN_LINES
            print_message(f"{state.done}/{state.total} batches, {_text_of(state)}")


def _text_of(state: "Progress") -> str:
    failed = f"{state.n_failed} tasks failed, " if state.n_failed else ""
    title, seconds = max(state.at_work, key=lambda work: work[1], default=("", 0.0))
    longest = f"; {title} for {_duration(seconds)}" if seconds >= _LONG_S else ""
    return f"{failed}about {_duration(state.seconds_left)} left{longest}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min" if minutes else f"{rest} s"
