"""The URL of the app's routes: what the settings say, else the platform, else the request."""

import pytest

from shared.errors import NotConfigured
from shared.settings import Settings
from shared.web.public_url import base_url, known_url, lacks_url


@pytest.fixture(autouse=True)
def unnamed(monkeypatch: pytest.MonkeyPatch) -> None:
    """No name of the platform."""
    monkeypatch.delenv("WEBSITE_HOSTNAME", raising=False)


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("https://chat.contoso.com/api", "https://chat.contoso.com/api"),
        ("https://chat.contoso.com/api/", "https://chat.contoso.com/api"),
        ("https://gateway.contoso.com:8443/a-b/v1.0/", "https://gateway.contoso.com:8443/a-b/v1.0"),
        ("https://chat.contoso.com", "https://chat.contoso.com"),
        ("http://[::1]:7071/api", "http://[::1]:7071/api"),
    ],
)
def test_the_setting_goes_before_everything(monkeypatch: pytest.MonkeyPatch, written: str, url: str) -> None:
    monkeypatch.setenv("WEBSITE_HOSTNAME", "switchboard.azurewebsites.net")
    public_url = Settings.read({"PUBLIC_URL": written}).public_url
    assert known_url(public_url) == base_url(public_url, "http", "evil.example") == url


@pytest.mark.parametrize(
    "written",
    [
        "chat.contoso.com/api",
        "ftp://chat.contoso.com/api",
        "javascript:alert(1)",
        "https://",
        "https:///api",
        "https://user:secret@chat.contoso.com/api",
        "https://user@chat.contoso.com",
        "https://chat.contoso.com/api?code=secret",
        "https://chat.contoso.com/api#top",
        "https://chat.contoso.com//api",
        "https://chat.contoso.com:port/api",
        "https://chat.contoso.com:99999/api",
        "https://[::1/api",
        "https://[::::]/api",
        "https://chat.contoso.com/a b",
        'https://chat.contoso.com/"><script>',
        "https://chät.example/api",
        "https://chat.contoso.com/\u0660",
        f"https://{'a' * 254}/api",
    ],
)
def test_what_is_no_plain_url_is_refused_and_not_repeated(written: str) -> None:
    with pytest.raises(
        NotConfigured, match=r"PUBLIC_URL: should be a URL.*such as https://chat.contoso.com/api"
    ) as told:
        Settings.read({"PUBLIC_URL": written})
    assert "secret" not in str(told.value)


@pytest.mark.parametrize(
    ("named", "url"),
    [
        ("switchboard.azurewebsites.net", "https://switchboard.azurewebsites.net/api"),
        ("localhost:7071", "http://localhost:7071/api"),
        ("127.0.0.1:7071", "http://127.0.0.1:7071/api"),
        ("[::1]:7071", "http://[::1]:7071/api"),
    ],
)
def test_the_platforms_name_goes_before_the_requests(monkeypatch: pytest.MonkeyPatch, named: str, url: str) -> None:
    monkeypatch.setenv("WEBSITE_HOSTNAME", named)
    assert known_url(None) == base_url(None, "http", "evil.example") == url


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1:7071", "http://127.0.0.1:7071/api"),
        ("[::1]:7071", "http://[::1]:7071/api"),
        ("app.example", "http://app.example/api"),
        ("", "/api"),
        ("evil.example/path", "/api"),
        ("user@evil.example", "/api"),
        ("evil.example:80:80", "/api"),
        ('"><script>', "/api"),
        ("a" * 300, "/api"),
        ("app.example\n", "/api"),
    ],
)
def test_else_it_is_where_the_request_was_sent(host: str, url: str) -> None:
    assert known_url(None) is None
    assert base_url(None, "http", host) == url


@pytest.mark.parametrize(
    ("variables", "lacks"),
    [
        ({}, True),
        ({"AZURE_FUNCTIONS_ENVIRONMENT": "Development"}, False),
        ({"WEBSITE_HOSTNAME": "func.azurewebsites.net"}, False),
    ],
)
def test_an_own_container_of_the_host_lacks_its_url(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], *, lacks: bool
) -> None:
    for name in ("AZURE_FUNCTIONS_ENVIRONMENT", "WEBSITE_HOSTNAME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert lacks_url(None) is lacks
    assert not lacks_url("https://chat.contoso.com/api")
