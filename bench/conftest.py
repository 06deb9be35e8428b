"""What the tables of pytest-benchmark are about: the processor, and parts of a work."""

from typing import Any

import pytest

from bench.pages import number, table
from bench.processor import describe, processor


def pytest_configure(config: pytest.Config) -> None:
    # Warnings are errors, but importing torcheval uses what torch has deprecated.
    config.addinivalue_line("filterwarnings", "ignore:`torch.jit:DeprecationWarning")
    config.option.benchmark_quiet = True


def pytest_benchmark_update_machine_info(
    config: pytest.Config, machine_info: dict[str, Any]
) -> None:
    machine_info.update(processor=processor())


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """Print all medians; a benchmark that ran a part of its work tells the ``fraction``."""
    rows = []
    for benchmark in config._benchmarksession.benchmarks:
        time = 1e3 * benchmark.stats.median / benchmark.extra_info.get("fraction", 1)
        told = [f"{name} {value}" for name, value in benchmark.extra_info.items()]
        of = "; ".join([*([benchmark.group] if benchmark.group else []), *told])
        rows.append([benchmark.name, of, number(time, 3)])
    if rows:
        lines = table(["test", "of", "ms"], rows)
        terminalreporter.write_line(f"{describe(processor())}\n{lines}")
