"""Who sends activities: a token that neither Azure Bot Service nor an application of the tenant has is refused."""

import base64
import hmac
import json
import time
from collections.abc import AsyncGenerator, Callable
from copy import replace
from hashlib import sha256
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from shared.chat_types import Caller
from shared.errors import NotAllowed, NotSignedIn
from shared.identity.bearer import BearerTokens
from shared.identity.bot_tokens import BotTokens
from shared.settings import Settings
from shared.triggers.activity_messages import caller_of
from shared.wire.activity import Account, Activity, Conversation
from tests.stand_ins.bot_service import ISSUER, RESOURCE, BotService
from tests.stand_ins.entra import ADA, BEN, CLIENT, OTHER_TENANT, STAFF, TENANT, rsa_key

FOREIGN = 7
"""A key that nobody publishes."""


@pytest.fixture
async def service() -> AsyncGenerator[BotService]:
    async with BotService() as service:
        yield service


@pytest.fixture
def settings(service: BotService) -> Settings:
    return Settings.read(service.settings)


@pytest.fixture
async def tokens(settings: Settings) -> AsyncGenerator[BotTokens]:
    tokens = bot_tokens(settings)
    yield tokens
    await tokens.aclose()


def bot_tokens(settings: Settings) -> BotTokens:
    users = BearerTokens(settings, for_bot=True)
    return BotTokens(settings, users.keys, users.issuers, users.user if settings.bot_sso_resource else None)


async def caller(tokens: BotTokens, service: BotService, headers: dict[str, str], **changed: Any) -> Caller:
    return caller_of(named(service, **changed), await tokens.signed(headers), Settings.read(service.settings))


def named(service: BotService, **changed: Any) -> Activity:
    """An activity of a user in Teams, or of somebody else."""
    claimed: dict[str, Any] = {
        "channel": "msteams",
        "service_url": service.endpoint + "/",
        "tenants": (TENANT,),
        "user": ADA,
        "sender": f"29:{ADA}",
    }
    said = claimed | changed
    first, *more = said["tenants"] or [None]
    return Activity(
        type="message",
        channel_id=said["channel"],
        service_url=said["service_url"],
        sender=Account(said["sender"], aad_object_id=said["user"], tenant_id=more[0] if more else None),
        conversation=Conversation("a:1", tenant_id=first),
    )


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def of_tenant(service: BotService, **changed: Any) -> dict[str, str]:
    """A token that the directory gives to an application of the tenant."""
    usual = {"iss": f"{service.endpoint}/{TENANT}/v2.0", "tid": TENANT, "azp": CLIENT, "serviceurl": None}
    claims = service.claims(**(usual | changed))
    return bearer(jwt.encode(claims, rsa_key(9), "RS256", headers={"kid": "tenant-key"}))


def unsigned(service: BotService) -> dict[str, str]:
    return bearer(jwt.encode(service.claims(), "", "none", headers={"kid": "bot-0"}))


def by_public_key(service: BotService) -> dict[str, str]:
    """HS256, whose secret is the key that everybody knows."""
    public = rsa_key(0).public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head, body = (_part(one) for one in ({"alg": "HS256", "typ": "JWT", "kid": "bot-0"}, service.claims()))
    mark = hmac.new(public, f"{head}.{body}".encode(), sha256).digest()
    return bearer(f"{head}.{body}.{base64.urlsafe_b64encode(mark).rstrip(b'=').decode()}")


def _part(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def by_foreign_key(service: BotService) -> dict[str, str]:
    return bearer(jwt.encode(service.claims(), rsa_key(FOREIGN), "RS256", headers={"kid": "bot-0"}))


def with_changed_claim(service: BotService) -> dict[str, str]:
    head, _, mark = service.signed()["Authorization"].removeprefix("Bearer ").split(".")
    return bearer(f"{head}.{_part(service.claims(exp=int(time.time()) + 10**6))}.{mark}")


FORGED: dict[str, Callable[[BotService], dict[str, str]]] = {
    "no token": lambda _: {},
    "another scheme": lambda _: {"Authorization": "Basic YTpi"},
    "no JWT": lambda _: bearer("abc"),
    "alg none": unsigned,
    "HS256 with the public key": by_public_key,
    "RS512": lambda service: bearer(jwt.encode(service.claims(), rsa_key(0), "RS512", headers={"kid": "bot-0"})),
    "unknown kid": lambda service: service.signed({"kid": "other"}),
    "no kid": lambda service: bearer(jwt.encode(service.claims(), rsa_key(0), "RS256")),
    "brings its own key": lambda service: bearer(
        jwt.encode(
            service.claims(),
            rsa_key(FOREIGN),
            "RS256",
            headers={"kid": "mine", "jku": "https://evil.example/keys", "jwk": {"kty": "RSA"}},
        )
    ),
    "signed by a key that is not published": by_foreign_key,
    "changed after it was signed": with_changed_claim,
    "another audience": lambda service: service.signed(aud=CLIENT),
    "no audience": lambda service: service.signed(aud=None),
    "another issuer": lambda service: service.signed(iss="https://evil.example"),
    "the issuer with a slash": lambda service: service.signed(iss=ISSUER + "/"),
    "no issuer": lambda service: service.signed(iss=None),
    "expired six minutes ago": lambda service: service.signed(exp=int(time.time()) - 360),
    "no expiry": lambda service: service.signed(exp=None),
    "valid only in six minutes": lambda service: service.signed(nbf=int(time.time()) + 360),
    "the tenant's issuer by the service's key": lambda service: service.signed(
        iss=f"{service.endpoint}/{TENANT}/v2.0", tid=TENANT
    ),
    "the service's issuer by the tenant's key": lambda service: bearer(
        jwt.encode(service.claims(), rsa_key(9), "RS256", headers={"kid": "tenant-key"})
    ),
    "another tenant's issuer": lambda service: of_tenant(service, iss=f"{service.endpoint}/{OTHER_TENANT}/v2.0"),
    "of an application without its tenant": lambda service: of_tenant(service, tid=None),
    "twice": lambda service: {**service.signed(), "authorization": service.signed()["Authorization"]},
}
"""Requests that nobody has signed who may."""

NOT_ALLOWED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "another service URL than the token's": ({}, {"service_url": "https://evil.example/"}),
    "no service URL in the token": ({"serviceurl": None}, {}),
    "a service URL without TLS": ({"serviceurl": "http://smba.example/"}, {"service_url": "http://smba.example/"}),
    "a service URL with a user": ({"serviceurl": "https://a@b.example"}, {"service_url": "https://a@b.example"}),
    "a service URL of another kind": ({"serviceurl": "file:///etc"}, {"service_url": "file:///etc"}),
    "a channel that the key does not endorse": ({}, {"channel": "slack"}),
    "another tenant": ({}, {"tenants": [OTHER_TENANT]}),
    "a guest of another tenant": ({}, {"tenants": [TENANT, OTHER_TENANT]}),
    "no tenant in Teams": ({}, {"tenants": []}),
    "no user of the directory in Teams": ({}, {"user": ""}),
    "no sender": ({}, {"sender": ""}),
}
"""What a valid token says, and what the activity says that it does not allow."""


async def test_the_service_is_believed_whom_it_names(tokens: BotTokens, service: BotService) -> None:
    assert await caller(tokens, service, service.signed()) == Caller(oid=ADA, tenant=TENANT)
    late: dict[str, Any] = {
        "exp": int(time.time()) - 240,
        "nbf": int(time.time()) + 240,
    }  # clocks differ by up to five minutes
    assert (await caller(tokens, service, service.signed(**late))).oid == ADA
    assert service.keys_asked == 1


async def test_only_teams_names_a_user_of_the_directory(tokens: BotTokens, service: BotService) -> None:
    found = await caller(tokens, service, service.signed(), channel="webchat", tenants=[], sender="dl_1")
    assert found == Caller(key="webchat dl_1")
    copilot = await caller(tokens, service, service.signed(), channel="msteams:COPILOT")
    assert copilot == Caller(oid=ADA, tenant=TENANT)
    agent = await caller(tokens, service, of_tenant(service), service_url="https://evil.example")
    assert agent == Caller(key=f"agent {CLIENT} 29:{ADA}")


@pytest.mark.parametrize("name", FORGED)
async def test_a_token_that_nobody_has_signed_who_may_is_refused(
    name: str, tokens: BotTokens, service: BotService
) -> None:
    with pytest.raises(NotSignedIn):
        await caller(tokens, service, FORGED[name](service))


@pytest.mark.parametrize("name", NOT_ALLOWED)
async def test_a_valid_token_allows_only_its_own_activities(name: str, tokens: BotTokens, service: BotService) -> None:
    claims, changed = NOT_ALLOWED[name]
    with pytest.raises(NotAllowed):
        await caller(tokens, service, service.signed(**claims), **changed)


@pytest.mark.parametrize("claims", [{"tid": OTHER_TENANT}, {"azp": None}], ids=["another tenant", "no application"])
async def test_only_an_application_of_the_tenant_is_one(
    claims: dict[str, Any], tokens: BotTokens, service: BotService
) -> None:
    with pytest.raises(NotAllowed, match="application"):
        await caller(tokens, service, of_tenant(service, **claims))


async def test_a_key_without_endorsements_signs_for_no_channel(tokens: BotTokens, service: BotService) -> None:
    service.endorsements = []
    with pytest.raises(NotAllowed, match="endorsed"):
        await caller(tokens, service, service.signed())


USERS: dict[str, Callable[[BotService], str]] = {
    "another user's": lambda service: service.user_token(oid=BEN),
    "of another tenant": lambda service: service.user_token(tid=OTHER_TENANT),
    "another issuer": lambda service: service.user_token(iss=f"{service.endpoint}/{OTHER_TENANT}/v2.0"),
    "for another application": lambda service: service.user_token(aud="api://another"),
    "for the bot itself": lambda service: service.user_token(aud=service.claims()["aud"]),
    "expired": lambda service: service.user_token(exp=int(time.time()) - 61),
    "not valid yet": lambda service: service.user_token(nbf=int(time.time()) + 120),
    "signed by nobody": lambda service: service.user_token(FOREIGN),
    "an ID token": lambda service: service.user_token(azp=None),
    "without a permission": lambda service: service.user_token(scp=None),
    "of an application": lambda service: service.user_token(oid="an-application", scp=None, roles=["all"]),
    "of nobody": lambda service: service.user_token(oid=None),
    "with too many groups": lambda service: service.user_token(hasgroups=True),
    "the service's own": lambda service: service.signed()["Authorization"].removeprefix("Bearer "),
    "no token": lambda _: "",
}


@pytest.fixture
async def with_users(service: BotService) -> AsyncGenerator[BotTokens]:
    settings = Settings.read(service.settings | service.single_sign_on)
    tokens = bot_tokens(settings)
    yield tokens
    await tokens.aclose()


@pytest.mark.parametrize("aud", [CLIENT, RESOURCE])
async def test_a_user_s_own_token_says_the_groups(aud: str, with_users: BotTokens, service: BotService) -> None:
    token = service.user_token(aud=aud, groups=[STAFF], exp=9_999_999_999)
    assert await with_users.groups(token, Caller(oid=ADA, tenant=TENANT)) == ((STAFF,), 9_999_999_999)


@pytest.mark.parametrize("name", USERS)
async def test_no_other_token_says_groups(
    name: str, tokens: BotTokens, with_users: BotTokens, service: BotService
) -> None:
    ada = Caller(oid=ADA, tenant=TENANT)
    with pytest.raises(NotSignedIn):
        await with_users.groups(USERS[name](service), ada)
    with pytest.raises(NotSignedIn, match="BOT_SSO_RESOURCE"):
        await tokens.groups(service.user_token(), ada)


async def test_a_service_on_this_machine_is_believed_only_with_its_metadata_here(
    settings: Settings, tokens: BotTokens, service: BotService
) -> None:
    real = replace(settings, bot_openid_metadata="https://login.botframework.com/v1/.well-known/x")
    with pytest.raises(NotAllowed, match="TLS"):
        caller_of(named(service), await tokens.signed(service.signed()), real)
