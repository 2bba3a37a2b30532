"""Where spans go and what they say of who sends them, by OpenTelemetry's own variables and ours."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from shared.errors import NotConfigured
from shared.settings import Settings
from shared.telemetry.otel import OtelTracing
from tests.telemetry.spans import EXTRACTIVE

ROOT = Path(__file__).parents[2]
KEY = "11111111-2222-4333-8444-555555555555"
COLLECTOR = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
AZURE = {"FUNCTIONS_WORKER_RUNTIME": "python", "WEBSITE_SITE_NAME": "contoso-chat", "REGION_NAME": "westeurope"}

MADE = """
import json, os, threading
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from shared.settings import Settings
from shared.telemetry.exporting import providers
provider, _ = providers(Settings.read(os.environ))
parent = trace.SpanContext(1, 1, is_remote=True, trace_flags=trace.TraceFlags(0))
context = trace.set_span_in_context(trace.NonRecordingSpan(parent))
span = provider.get_tracer("tests").start_span("a", context)
threads = sorted(thread.name for thread in threading.enumerate())
print(json.dumps({
    "resource": dict(provider.resource.attributes),
    "recorded": span.is_recording(),
    "everybodys": isinstance(trace.get_tracer_provider(), TracerProvider),
    "senders": sum("SpanRecordProcessor" in name for name in threads),
    "threads": len(threads),
}))
"""


def made(**environment: str) -> dict[str, object]:
    """What a process makes of its environment; it has nothing to send."""
    command = [sys.executable, "-W", "error", "-c", MADE]
    done = subprocess.run(
        command, cwd=ROOT, env=COLLECTOR | environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_a_span_is_recorded_even_where_its_caller_does_not_and_nobody_else_can_send_any() -> None:
    found = made()
    assert found["recorded"] is True
    assert found["everybodys"] is False
    assert found["senders"] == 1


def test_operators_can_have_fewer() -> None:
    assert made(OTEL_TRACES_SAMPLER="always_off")["recorded"] is False


@pytest.mark.parametrize(
    ("environment", "name"),
    [
        ({}, "switchboard"),
        (AZURE, "contoso-chat"),
        (AZURE | {"OTEL_SERVICE_NAME": "helpdesk"}, "helpdesk"),
        (AZURE | {"OTEL_RESOURCE_ATTRIBUTES": "service.name=helpdesk,team=it"}, "helpdesk"),
    ],
)
def test_who_sends_is_what_the_operator_says_or_azure_or_the_apps_name(environment: dict[str, str], name: str) -> None:
    resource = made(**environment)["resource"]
    assert isinstance(resource, dict)
    assert resource["service.name"] == name
    assert ("team" in resource) == ("OTEL_RESOURCE_ATTRIBUTES" in environment)


def test_both_receivers_can_be_had_and_the_exporters_own_telemetry_stays_off() -> None:
    found = made(
        APPLICATIONINSIGHTS_CONNECTION_STRING=f"InstrumentationKey={KEY};IngestionEndpoint=https://127.0.0.1:9/"
    )
    assert found["senders"] == 2
    assert found["threads"] == 5  # two for each, and the main one: no statistics, no switches from elsewhere, no files


def test_a_variable_that_makes_no_sense_is_told_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "0")
    with pytest.raises(NotConfigured, match="OTEL_"):
        OtelTracing.from_settings(Settings.read(COLLECTOR), EXTRACTIVE)


def test_a_connection_string_that_makes_no_sense_is_told_at_the_start() -> None:
    connection = f"InstrumentationKey={KEY};sk-secret"
    with pytest.raises(NotConfigured, match="APPLICATIONINSIGHTS_CONNECTION_STRING") as raised:
        OtelTracing.from_settings(Settings.read({"APPLICATIONINSIGHTS_CONNECTION_STRING": connection}), EXTRACTIVE)
    assert "sk-secret" not in raised.value.message
