"""Benchmarks of fastad against other libraries, outside the default test run.

From the root of a checkout, with the extra ``bench`` installed (about five minutes on two cores;
``--large`` adds the AUC of 10^7 points)::

    python -m pytest bench --benchmark-json=bench.json && python -m bench.table bench.json

Each output is compared with scikit-learn's before it is timed. Every library gets its own
containers, made outside of the timer, and is called as its documentation shows. With
``--benchmark-disable`` in place of the file, outputs are compared and nothing is timed.
"""
