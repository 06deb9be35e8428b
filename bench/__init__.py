"""Benchmarks of fastad against other libraries, outside the default test run.

From the root of a checkout, with the extra ``bench`` installed::

    python -m bench.speed
    python -m pytest bench

The first measures what the page of benchmarks and the README show; the second everything else,
and prints it. Each output is compared with another library's before it is timed. With
``--benchmark-disable`` outputs are compared and nothing is timed.
"""
