"""``fastad study``: run a study, see how far it is, and make its report."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from fastad._core.text_tables import TextTable
from fastad.cli._console import DataError, ends_cleanly, say, show, show_table
from fastad.errors import InvalidInputError

if TYPE_CHECKING:
    from fastad.study.config import StudyConfig
    from fastad.study.runner import Progress

app = typer.Typer(
    name="study",
    help="Run the studies of the papers again: many detectors on many data sets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

StudyFolder: TypeAlias = Annotated[Path, typer.Argument(metavar="FOLDER", help="Of the study.")]

# Seconds between two lines about how far a study is, where there is no terminal.
_A_WHILE = 30.0


@app.command()
@ends_cleanly
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
            help="Folder of the results, which a later run goes on with. By default named as the "
            "configuration."
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(help="Processes; by default one for each processor, -1 too."),
    ] = None,
) -> None:
    """Run a study, or go on with one that was stopped."""
    from fastad._core.cpus import available_processors
    from fastad.cli.detectors import remarks
    from fastad.study.runner import run_study

    study = _config(config, profile, data or [])
    folder = output or Path(f"study-{profile}" if config is None else config.stem)
    with _plainly(), remarks(), _shown() as progress:
        found = run_study(
            study,
            folder,
            n_jobs=available_processors() if jobs is None else jobs,
            progress=progress,
        )
    n_failed = sum(reason != "" for reason in found.tasks["reason"].to_pylist())
    say(f"{found.tasks.num_rows} tasks are done; {n_failed} of them failed.")
    show(f"{folder / 'results.parquet'}")
    say(f"Tables and figures: fastad study report {folder}")


@app.command()
@ends_cleanly
def status(*, folder: StudyFolder) -> None:
    """Print how far a study is, and which tasks failed."""
    from fastad.study.saved import study_status

    with _plainly():
        found = study_status(folder)
    at_work = f"a runner is at work ({found.runner})" if found.runner else "no runner is at work"
    show(f"{found.n_done} of {found.n_batches} batches are done; {at_work}.")
    if found.failures:
        rows = [[reason, str(n)] for reason, n in found.failures.items()]
        show_table(TextTable(["reason", "failed tasks"], rows))


@app.command()
@ends_cleanly
def report(
    *,
    folder: StudyFolder,
    output: Annotated[
        Path | None, typer.Option(help="Folder of the report; by default in that of the study.")
    ] = None,
    n_resamples: Annotated[
        int, typer.Option(min=1, help="Number of times that data sets are drawn again.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="Of the intervals.")] = 0,
) -> None:
    """Make tables and figures of what is done so far, and a page of all."""
    from fastad.study.report.make import make_report

    with _plainly():
        page = make_report(folder, output, n_resamples=n_resamples, rng=seed, progress=say)
    show(str(page))


def _config(path: Path | None, profile: str, data: Sequence[Path]) -> "StudyConfig":
    from fastad.study.config import make_config, read_config

    with _plainly():
        if path is None:
            bundled = {"paths": [str(one) for one in data], "bundled": not data}
            return make_config({"profile": profile, "data": bundled})
        found = read_config(path)
        if not data:
            return found
        paths = tuple(str(one.resolve()) for one in data)
        return replace(found, data=replace(found.data, paths=paths))


@contextmanager
def _plainly() -> Iterator[None]:
    """Turn what is wrong with a study into a message, without a traceback."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        yield
    except BrokenProcessPool:
        raise DataError(
            "a worker process was ended from outside, for example as memory ran out; what is done "
            "is saved, and the same command goes on with the rest, or with fewer --jobs"
        ) from None
    except (InvalidInputError, TypeError) as error:
        raise DataError(str(error)) from None
    except KeyboardInterrupt:
        raise DataError(
            "interrupted; what is done is saved, and the same command goes on with the rest"
        ) from None


@contextmanager
def _shown() -> Iterator[Callable[["Progress"], object]]:
    """Show how far a study is: a bar on a terminal, else a line now and then."""
    from rich.console import Console
    from rich.progress import BarColumn, TaskProgressColumn, TextColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn())
    with Bar(*columns, TextColumn("{task.fields[words]}"), console=console) as bar:
        task = bar.add_task("batches", total=None, words="")

        def update(found: "Progress") -> None:
            bar.update(task, completed=found.done, total=found.total, words=_words(found))

        yield update


class _Lines:
    """Says how far a study is, first at once and then every now and then."""

    def __init__(self) -> None:
        self._next = 0.0

    def __call__(self, found: "Progress") -> None:
        now = time.monotonic()
        if now >= self._next or found.done == found.total:
            self._next = now + _A_WHILE
            say(f"{found.done}/{found.total} batches, {_words(found)}")


def _words(found: "Progress") -> str:
    failed = f"{found.n_failed} tasks failed, " if found.n_failed else ""
    return f"{failed}about {_duration(found.seconds_left)} left"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min" if minutes else f"{rest} s"
