"""Measures of a window as metrics of OpenTelemetry, read whenever the exporter asks.

    python docs/examples/opentelemetry_metrics.py

needs what ``pip install . opentelemetry-sdk`` installs.
"""

import contextlib
from collections.abc import Iterable

import numpy as np
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

import fastad
from fastad.errors import UndefinedMeasureError
from fastad.streaming import SlidingEvaluation

MEASURES = ["auc", "ap"]


def observe(meter: Meter, window: SlidingEvaluation) -> None:
    """Make a gauge of the measures of each group, with their bounds."""

    def read(_: CallbackOptions) -> Iterable[Observation]:
        for group in window.groups:
            with contextlib.suppress(UndefinedMeasureError):
                for measure, value in window.evaluate(MEASURES, group=group).items():
                    for bound in ("value", "low", "high"):
                        attributes = {"group": str(group), "measure": measure, "bound": bound}
                        yield Observation(getattr(value, bound), attributes)

    meter.create_observable_gauge("fastad.measure", [read])


def main() -> None:
    """Count made-up scores of two groups, and read what is exported."""
    # In a service: PeriodicExportingMetricReader(OTLPMetricExporter()).
    reader = InMemoryMetricReader()
    meter = MeterProvider([reader]).get_meter("example")
    window = SlidingEvaluation(pane="1h", window="7d")
    points = meter.create_counter("fastad.points")
    observe(meter, window)
    rng = np.random.default_rng(0)
    exact = {}
    for group in ("acme", "other"):
        labels = rng.random(2000) < 0.1
        scores = rng.standard_normal(2000) + 2 * labels
        window.update(labels, scores, time="2026-03-02T10:00", group=group)
        points.add(labels.size, {"group": group})
        exact[group] = fastad.roc_auc(labels, scores)
    (resource,) = reader.get_metrics_data().resource_metrics
    (scope,) = resource.scope_metrics
    exported = {
        tuple(point.attributes.values()): point.value
        for metric in scope.metrics
        for point in metric.data.data_points
    }
    print("points:", exported["acme",])
    same = all(exported[group, "auc", "value"] == value for group, value in exact.items())
    print("same:", same)


if __name__ == "__main__":
    main()
