"""Keeps the framework's own telemetry out: ours tells of agents, and its meters would pile up."""

from agent_framework.observability import disable_instrumentation
from opentelemetry import metrics


def no_telemetry_of_its_own() -> None:
    """Turn the framework's traces and metrics off, whatever its variables say: they can carry what users said.

    The framework makes meters all the same, some in each turn. Until somebody says who reads them, OpenTelemetry keeps
    each for ever, so here it is said that nobody does; where the host has set up who does, that stays.
    """
    disable_instrumentation()
    metrics.set_meter_provider(metrics.NoOpMeterProvider())
