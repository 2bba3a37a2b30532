"""A secret is in no sentence and no log, whichever setting it was put into and whatever form it has."""

import asyncio
import sys
from asyncio.subprocess import PIPE

import pytest

from tests.secrets_told import BESIDE, forms

MARK = "hunter2Zanzibar"


@pytest.mark.nightly
async def test_a_secret_in_any_setting_and_any_form_is_told_to_nobody() -> None:
    asking = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.secrets_told", MARK, stdout=PIPE, stderr=PIPE
    )
    said, log = (text.decode() for text in await asking.communicate())
    assert asking.returncode == 0, log[-2000:].replace(MARK, "…")
    assert len(said.splitlines()) == len(BESIDE) * len(forms(MARK))
    assert MARK not in said
    assert MARK not in log
