"""`host.json` and `local.settings.json`."""

from pathlib import Path

import pytest

from local import HostError
from local.settings_file import (
    Cors,
    LocalSettings,
    Throttle,
    TriggerOptions,
    apply_local_settings,
    read_host_file,
    read_local_settings,
)


def write(directory: Path, name: str, text: str) -> Path:
    (directory / name).write_text(text, "utf-8")
    return directory


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ('{"version": "2.0"}', "api"),
        ('{"version": "2.0", "extensions": {"http": {"routePrefix": ""}}}', ""),
        ('{"version": "2.0", "extensions": {"http": {"routePrefix": "/v1/chat/"}}}', "v1/chat"),
        ('\ufeff{"version": "2.0" /* Functions 4 */, // and no more\n"extensions": {}}', "api"),
    ],
)
def test_the_route_prefix_is_read_with_comments_and_a_byte_order_mark(tmp_path: Path, text: str, prefix: str) -> None:
    assert read_host_file(write(tmp_path, "host.json", text), {}).route_prefix == prefix


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"version": "1.0"}', '"version": "2.0"'),
        ("[]", "JSON object"),
        ('{"version": "2.0",\n "extensions": }', "line 2, column 16"),
        ('{"version": "2.0", "extensions": 5}', "extensions must be an object"),
        ('{"version": "2.0", "extensions": {"http": {"routePrefix": 5}}}', "routePrefix must be a string"),
        ("[" * 100_000, "nested"),
    ],
)
def test_a_wrong_host_file_is_named_with_the_place(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(HostError) as refused:
        read_host_file(write(tmp_path, "host.json", text), {})
    assert str(tmp_path / "host.json") in str(refused.value)
    assert complaint in str(refused.value)


def test_a_missing_host_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"host\.json is missing"):
        read_host_file(tmp_path, {})


QUEUES = """{"version": "2.0", "extensions": {
    "queues": {"batchSize": 2, "maxDequeueCount": 3, "visibilityTimeout": "00:02:30", "messageEncoding": "none"}
}}"""


def test_what_the_host_file_says_of_queues_is_read_and_the_environment_goes_before_it(tmp_path: Path) -> None:
    write(tmp_path, "host.json", QUEUES)
    assert read_host_file(tmp_path, {}).triggers == TriggerOptions(2, 3, 150, base64=False)
    sooner = {
        "AzureFunctionsJobHost__extensions__queues__visibilityTimeout": "00:00:01",
        "AzureFunctionsJobHost__extensions__queues__maxDequeueCount": "7",
    }
    assert read_host_file(tmp_path, sooner).triggers == TriggerOptions(2, 7, 1, base64=False)


def test_how_many_requests_are_taken_is_what_the_host_file_or_the_environment_says(tmp_path: Path) -> None:
    write(tmp_path, "host.json", '{"version": "2.0", "extensions": {"http": {"maxConcurrentRequests": 500}}}')
    assert read_host_file(tmp_path, {}).throttle == Throttle(concurrent=500)
    fewer = {"AzureFunctionsJobHost__extensions__http__maxConcurrentRequests": "5"}
    assert read_host_file(tmp_path, fewer).throttle == Throttle(concurrent=5)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("batchSize", wrong) for wrong in ("0", "33", '"many"', "true", "1.5", "-1")),
        *(("maxDequeueCount", wrong) for wrong in ("0", "[]")),
        *(("visibilityTimeout", wrong) for wrong in ('"30"', "30", '"1:2:3"', '"00:00:01x"')),
        *(("messageEncoding", wrong) for wrong in ('"utf-8"', "false")),
    ],
)
def test_what_the_host_file_says_wrongly_of_queues_is_named(tmp_path: Path, name: str, value: str) -> None:
    write(tmp_path, "host.json", f'{{"version": "2.0", "extensions": {{"queues": {{"{name}": {value}}}}}}}')
    with pytest.raises(HostError, match=rf"extensions\.queues\.{name} must be"):
        read_host_file(tmp_path, {})


def test_without_local_settings_the_defaults_hold(tmp_path: Path) -> None:
    assert read_local_settings(tmp_path) == LocalSettings(values={}, port=7071, cors=Cors())


def test_values_port_and_cors_are_read(tmp_path: Path) -> None:
    text = """{
        "Values": {"URL": "https://example.org//x", "TEXT": "/* kept */", "FLAG": true, "COUNT": 3},
        "Host": {"LocalHttpPort": 7075, "CORS": "http://localhost:5173/, https://example.org", "CORSCredentials": true}
    }"""
    settings = read_local_settings(write(tmp_path, "local.settings.json", text))
    assert settings.values == {"URL": "https://example.org//x", "TEXT": "/* kept */", "FLAG": "true", "COUNT": "3"}
    assert settings.port == 7075
    assert settings.cors == Cors(("http://localhost:5173", "https://example.org"), credentials=True)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"IsEncrypted": true}', "encrypted"),
        ('{"Values": {"A": {}}}', "Values.A"),
        ('{"Values": {"A": null}}', "Values.A"),
        ('{"Host": {"LocalHttpPort": "7071"}}', "LocalHttpPort"),
        ('{"Host": {"LocalHttpPort": 70710}}', "LocalHttpPort"),
        ('{"Host": {"CORS": ["*"]}}', "Host.CORS"),
        ('{"OPENAI_CHAT_MODEL": "llama3.2"}', "OPENAI_CHAT_MODEL stands outside of Values"),
        ('{"Host": {"CORS": "*", "CORSCredentials": true}}', "CORSCredentials"),
        ('{"Host": {"CORSCredentials": "yes"}}', "CORSCredentials"),
        ('// nothing\n{"Values": {,}}', "line 2, column 13"),
    ],
)
def test_a_wrong_settings_file_is_named_with_the_reason(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(HostError) as refused:
        read_local_settings(write(tmp_path, "local.settings.json", text))
    assert str(tmp_path / "local.settings.json") in str(refused.value)
    assert complaint in str(refused.value)


def test_an_origin_without_a_scheme_is_refused_with_the_one_that_is_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORS", "http://localhost:5173,localhost:3000")
    with pytest.raises(HostError, match="such as http://localhost:3000"):
        read_local_settings(tmp_path)


def test_a_file_that_nothing_reads_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, ".env", "OPENAI_CHAT_MODEL=llama3.2")
    apply_local_settings(tmp_path)
    assert capsys.readouterr().err.endswith("/.env is not read: put settings into Values of local.settings.json.\n")


@pytest.mark.parametrize("values", ['{"A=B": "x"}', '{"": "x"}', '{"SOME": "a\\u0000b"}', '{"SOME": "\\ud800"}'])
def test_a_value_that_no_environment_can_hold_is_refused(tmp_path: Path, values: str) -> None:
    with pytest.raises(HostError, match=r"local\.settings\.json: Values\."):
        apply_local_settings(write(tmp_path, "local.settings.json", f'{{"Values": {values}}}'))


def test_a_settings_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "local.settings.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(HostError, match="not UTF-8"):
        read_local_settings(tmp_path)
