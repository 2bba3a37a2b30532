import pytest

from tests.telemetry.spans import Spans


@pytest.fixture
def spans() -> Spans:
    return Spans()
