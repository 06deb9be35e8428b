"""The option ``--large``, warnings of peers, and what is recorded about the machine."""

import warnings
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--large", action="store_true", help="add the AUC of 10^7 points")


def pytest_configure(config: pytest.Config) -> None:
    # Warnings are errors, but importing torcheval uses what torch has deprecated.
    config.addinivalue_line("filterwarnings", "ignore:`torch.jit:DeprecationWarning")


def pytest_benchmark_update_machine_info(
    config: pytest.Config, machine_info: dict[str, Any]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from bench.peers import threads, versions

    machine_info.update(versions=versions(), threads=threads())
