"""The framework's own telemetry: a process that answers for days keeps nothing of a turn, and tells nobody of it."""

import gc
import os
import subprocess
import sys
from pathlib import Path

from opentelemetry.metrics import Meter

from shared.agents.definitions import Pattern
from tests.agents.teams import Office, agent, agents

TEAM = agents(Pattern.HANDOFF, agent("Ada", ("search",)), agent("Ben", ("search",)))


def meters() -> int:
    gc.collect()
    return sum(issubclass(type(each), Meter) for each in gc.get_objects())


async def test_turns_leave_no_meters_behind(office: Office) -> None:
    await office.messages(TEAM)
    before = meters()
    await office.messages(TEAM)
    assert meters() <= before


ALL_ON = {"ENABLE_INSTRUMENTATION": "true", "ENABLE_SENSITIVE_DATA": "true", "ENABLE_MESSAGE_EVENTS": "true"}
TEAM_OF_A_HOST_THAT_TRACES = """
import asyncio
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, numbers, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([numbers]))

from shared.agents.definitions import Pattern
from tests.agents.teams import Office, agents
from bench.timed_parts import InstantRetriever, TimedModel

async def main():
    office = Office(None, TimedModel(["Hello."], first=0), InstantRetriever())
    print(len(await office.messages(agents(Pattern.CONCURRENT, "Ada", "Ben"))))

asyncio.run(main())
print(spans.get_finished_spans(), numbers.get_metrics_data())
"""


def test_the_framework_tells_nobody_what_was_said_even_if_its_variables_ask_for_it() -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", TEAM_OF_A_HOST_THAT_TRACES]
    env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(root), **ALL_ON}
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout.splitlines() == ["2", "() None"], done.stderr
