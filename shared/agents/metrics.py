"""Keeps the framework's metrics from piling up where nobody reads them."""

from opentelemetry import metrics
from opentelemetry.metrics._internal import _ProxyMeterProvider  # pyright: ignore[reportPrivateUsage] (no public sign)


def drop_unread_metrics() -> None:
    """Say that nobody reads metrics, unless the host has set up who does.

    Until somebody says so, OpenTelemetry keeps every meter ever made, and the framework makes some in each turn.
    """
    if isinstance(metrics.get_meter_provider(), _ProxyMeterProvider):
        metrics.set_meter_provider(metrics.NoOpMeterProvider())
