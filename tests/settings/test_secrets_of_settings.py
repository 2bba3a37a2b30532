"""Settings: keys of callers, and secrets, which no message repeats."""

import re

import pytest

from shared.errors import NotConfigured
from shared.settings import Settings
from shared.settings.fields import variable

HASH = "0123456789abcdef" * 4
OTHER_HASH = "f" * 64
PLAIN_KEY = "switchboard_SECRET-pK3Ck8uRkq0zWv4mM1x0Q6hG0a9bN2c"


@pytest.mark.parametrize(
    ("written", "says"),
    [
        (f"flows:{PLAIN_KEY}", "entry 1: has the key itself. Make a new key"),
        (PLAIN_KEY, "entry 1: has the key itself"),
        (f"{PLAIN_KEY}:flows", "entry 1: has the key itself"),
        (f"a:{HASH},{PLAIN_KEY}:{OTHER_HASH}", "entry 2: has the key itself"),
        (f"a:{HASH}:{PLAIN_KEY}", "entry 1: has the key itself"),
        ("flows:SECRET", "entry 1: should have the key's SHA-256 after the name: 64 hexadecimal digits, not the key"),
        ("mysecretkey", "entry 1: should have the key's SHA-256"),
        ("flows:", "entry 1: should have the key's SHA-256"),
        (f"flows:{HASH[:-1]}", "entry 1: should have the key's SHA-256"),
        (f"flows:{HASH}0", "entry 1: should have the key's SHA-256"),
        (f"flows:{HASH[:-1]}g", "entry 1: should have the key's SHA-256"),
        (f"a:{HASH}, flows:{HASH[:-1]}٠", "entry 2: should have the key's SHA-256"),
        (HASH, "entry 1: should be name:hash. A name has 1 to 32"),
        (f":{HASH}", "entry 1: should be name:hash"),
        (f"SECRET:{HASH}", "entry 1: should be name:hash"),
        (f"a:{HASH},SECRET SECRET:{OTHER_HASH}", "entry 2: should be name:hash"),
        (f"flows={HASH}", "entry 1: should be name:hash"),
        (f'{{"flows": "{HASH}"}}', "entry 1: should be name:hash"),
        ("@Microsoft.KeyVault(SecretUri=https://SECRET.vault.azure.net/secrets/keys/)", "entry 1: should be name:hash"),
        (f"a:{HASH}:", "entry 1: a group should be its id"),
        (f"a:{HASH}:SECRET SECRET", "entry 1: a group should be its id"),
        (f"a:{HASH},a:{OTHER_HASH}", "entry 2: has the name of an earlier one. Give each key a name of its own"),
        (f"a:{HASH},b:{HASH.upper()}", "entry 2: has the hash of entry 1. Make a key for each"),
    ],
)
def test_a_wrong_entry_of_the_keys_is_named_and_not_repeated(written: str, says: str) -> None:
    with pytest.raises(NotConfigured, match=f"^API_KEYS, {re.escape(says)}") as refused:
        Settings.read({"AUTH_MODE": "api-key", "API_KEYS": written})
    assert not re.search("SECRET|secretkey|[0-9a-fF]{20}", refused.value.message)


def test_every_wrong_entry_of_the_keys_is_named() -> None:
    with pytest.raises(NotConfigured, match=r"API_KEYS, entry 1: .* API_KEYS, entry 2: .* API_KEYS, entry 4: "):
        Settings.read({"AUTH_MODE": "api-key", "API_KEYS": f"a:x, b:y, c:{HASH}, D:{HASH}"})


@pytest.mark.parametrize(
    "written",
    [
        "hunter2",
        "hunter2,hunter2:x",
        "name:hunter2",
        "name=hunter2",
        "two words hunter2",
        "hunter2://host",
        "https://hunter2:x@host.example/v1?sig=hunter2",
        "Endpoint=https://host.example;AccountKey=hunter2",
    ],
)
def test_no_setting_repeats_a_secret_that_was_meant_for_another(written: str) -> None:
    told: list[str] = []
    for field in Settings.model_fields:
        for more in ({}, {"AUTH_MODE": "api-key"}, {"OPENAI_BASE_URL": "http://localhost:1/v1"}):
            try:
                Settings.read({**more, variable(field): written})
            except NotConfigured as refused:
                told.append(refused.message)
    assert len(told) > 100  # else none of these values is wrong anywhere
    assert not [message for message in told if "hunter2" in message]


def test_secrets_hide() -> None:
    settings = Settings.read({"OPENAI_API_KEY": "sk-secret", "OPENAI_CHAT_MODEL": "m"})
    assert "sk-secret" not in f"{settings!r} {settings}"


def test_hashes_of_keys_hide() -> None:
    keys = Settings.read({"AUTH_MODE": "api-key", "API_KEYS": f"a:{HASH}"})
    assert HASH not in f"{keys!r} {keys}"
