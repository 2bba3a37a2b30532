"""By which names the local host may be called, with `ALLOWED_HOSTS`; without it, see `test_front.py`."""

from pathlib import Path

import pytest

from local import HostError
from local.origins import find_fault
from local.settings_file import Cors, read_local_settings


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cors:
    monkeypatch.setenv("ALLOWED_HOSTS", "host.docker.internal, MyPc.Local")
    return read_local_settings(tmp_path).cors


@pytest.mark.parametrize("name", ["host.docker.internal:7071", "HOST.docker.internal", "mypc.local:80", "localhost:1"])
def test_a_name_that_is_allowed_reaches_the_host_and_its_pages_may_send(allowed: Cors, name: str) -> None:
    assert find_fault("POST", {"Host": name}, allowed) is None
    assert find_fault("POST", {"Host": name, "Origin": f"http://{name}"}, allowed) is None


@pytest.mark.parametrize("name", ["evil.example", "host.docker.internal.evil.example", "x.mypc.local", "mypc.local:"])
def test_any_other_name_does_not(allowed: Cors, name: str) -> None:
    assert "ALLOWED_HOSTS=NAME" in (find_fault("GET", {"Host": name}, allowed) or "")
    assert find_fault("POST", {"Host": "mypc.local", "Origin": f"http://{name}"}, allowed)


@pytest.mark.parametrize("name", ["*", "*.internal", "http://pc", "pc:7071", "a b", "-", "[::2]"])
def test_what_is_no_name_is_an_error_at_the_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", f"good.example,{name}")
    with pytest.raises(HostError, match=r"ALLOWED_HOSTS: .* should be a name without a port"):
        read_local_settings(tmp_path)
