"""`make api-key`: what it prints is all that the app and a caller need, and nothing else is kept."""

import re
import subprocess

import pytest

from shared.chat_types import Caller
from shared.identity.api_keys import ApiKeys
from shared.settings import Settings
from tests.local.running_host import HOSTS, REPOSITORY


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return HOSTS.run("local.api_key_command", *arguments, env={}, folder=REPOSITORY)


async def test_the_key_that_it_prints_opens_an_app_that_has_the_entry_that_it_prints() -> None:
    done = run("nightly-report")
    assert (done.returncode, done.stderr) == (0, "")
    (key,) = re.findall(r"(?m)^(switchboard_[\w-]{43})$", done.stdout)
    (entry,) = re.findall(r"(?m)^(nightly-report:[0-9a-f]{64})$", done.stdout)
    identity = ApiKeys.from_settings(Settings.read({"AUTH_MODE": "api-key", "API_KEYS": entry}))
    assert await identity.caller({"Authorization": f"Bearer {key}"}) == Caller(key="nightly-report")


@pytest.mark.parametrize(
    "arguments",
    [(), ("",), ("Report",), ("a b",), ("-a",), ("a-",), ("a_b",), ("a:b",), ("a,b",), ("x" * 33,), ("a\n",)],
)
def test_a_name_that_the_setting_would_not_take_makes_no_key(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "make api-key NAME=" in done.stderr
