"""Tokens of the directory: those that hold say who is calling, and nothing else does."""

import hashlib
import hmac
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator
from typing import Any

import jwt
import jwt.exceptions
import pytest
import pytest_asyncio
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from shared.chat_types import Caller
from shared.errors import NotSignedIn, Unavailable
from shared.identity.bearer import BearerTokens
from shared.identity.signing_keys import SENTENCES
from shared.settings import Settings
from tests.stand_ins.easy_auth import principal
from tests.stand_ins.entra import ADA, CLIENT, OTHER_TENANT, STAFF, TENANT, EntraStandIn, rsa_key

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def entra() -> AsyncGenerator[EntraStandIn]:
    async with EntraStandIn() as entra:
        yield entra


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def identity(entra: EntraStandIn) -> AsyncGenerator[BearerTokens]:
    identity = BearerTokens(Settings.read(entra.settings))
    yield identity
    await identity.aclose()


def sent(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def encoded(part: object) -> str:
    return urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode()


async def refusal(identity: BearerTokens, token: str) -> str:
    with pytest.raises(NotSignedIn) as refused:
        await identity.caller(sent(token))
    assert refused.value.refused
    assert refused.value.__cause__ is None
    return refused.value.message


def from_now(changed: dict[str, Any]) -> dict[str, Any]:
    """The claims, with whole seconds from now as the times that they are."""
    now = int(time.time())
    return {name: now + value if isinstance(value, int) else value for name, value in changed.items()}


@pytest.mark.parametrize("scheme", ["Bearer ", "bearer ", "BEARER  "])
@pytest.mark.parametrize("name", ["Authorization", "authorization", "AUTHORIZATION"])
async def test_a_token_says_who_is_calling(entra: EntraStandIn, identity: BearerTokens, scheme: str, name: str) -> None:
    token = entra.token(groups=[STAFF, "b"])
    assert await identity.caller({name: scheme + token}) == Caller(ADA, (STAFF, "b"), TENANT)


@pytest.mark.parametrize(
    "changed",
    [
        {
            "iss": f"https://sts.windows.net/{TENANT}/",
            "aud": f"api://{CLIENT}",
            "ver": "1.0",
            "appid": "a",
            "azp": None,
        },
        {"aud": [CLIENT, "another"]},
        {"scp": None, "roles": ["Chat.Ask"], "idtyp": "app"},
        {"exp": -30},
        {"nbf": 30, "iat": 30},
    ],
)
async def test_tokens_of_both_versions_hold_and_clocks_may_differ_a_little(
    entra: EntraStandIn, identity: BearerTokens, changed: dict[str, Any]
) -> None:
    assert await identity.caller(sent(entra.token(**from_now(changed)))) == Caller(ADA, (), TENANT)


@pytest.mark.parametrize("claim", [{"_claim_names": {"groups": "src1"}}, {"hasgroups": True}])
async def test_who_is_in_too_many_groups_has_groups_that_are_not_known(
    entra: EntraStandIn, identity: BearerTokens, claim: dict[str, Any]
) -> None:
    elsewhere = {"_claim_sources": {"src1": {"endpoint": "https://graph.example/me/getMemberObjects"}}}
    assert (await identity.caller(sent(entra.token(**claim, **elsewhere)))).groups is None


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"exp": -3600}, "has expired"),
        ({"nbf": 3600}, "not valid yet"),
        ({"iat": 3600}, "not valid yet"),
        ({"exp": "soon"}, "cannot be read"),
        ({"exp": float("inf")}, "cannot be read"),
        ({"aud": "00000003-0000-0000-c000-000000000000"}, "another application"),
        ({"aud": f"api://{CLIENT}/"}, "another application"),
        ({"aud": {CLIENT: 1}}, "another application"),
        ({"iss": f"https://sts.windows.net/{OTHER_TENANT}/"}, "another issuer"),
        ({"iss": f"https://login.microsoftonline.com/{TENANT}/v2.0"}, "another issuer"),
        ({"iss": TENANT}, "another issuer"),
        ({"tid": OTHER_TENANT}, "another tenant"),
        ({"tid": [TENANT]}, "tid is not one value"),
        ({"azp": None, "nonce": "n"}, "ID token"),
        ({"azp": None, "scp": None, "roles": ["Chat.Ask"]}, "ID token"),
        ({"oid": ""}, "oid is not one value"),
        ({"oid": {"a": 1}}, "oid is not one value"),
        *(({name: None}, "lacks a claim") for name in ("aud", "exp", "iat", "iss", "nbf", "oid", "tid")),
    ],
)
async def test_a_token_that_does_not_hold_is_refused_with_a_sentence(
    entra: EntraStandIn, identity: BearerTokens, changed: dict[str, Any], says: str
) -> None:
    assert says in await refusal(identity, entra.token(**from_now(changed)))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def with_id_tokens(entra: EntraStandIn) -> AsyncGenerator[BearerTokens]:
    identity = BearerTokens(Settings.read(entra.settings | {"AUTH_ID_TOKENS": "true"}))
    yield identity
    await identity.aclose()


OF_AN_ID_TOKEN: dict[str, Any] = {"azp": None, "scp": None, "nonce": "n"}


@pytest.mark.parametrize(
    "changed", [{}, {"nonce": None}, {"ver": "1.0", "iss": f"https://sts.windows.net/{TENANT}/"}, {"groups": [STAFF]}]
)
async def test_an_id_token_says_who_is_calling_where_the_settings_take_one(
    entra: EntraStandIn, with_id_tokens: BearerTokens, changed: dict[str, Any]
) -> None:
    token = entra.token(**OF_AN_ID_TOKEN | changed)
    assert await with_id_tokens.caller(sent(token)) == Caller(ADA, tuple(changed.get("groups", ())), TENANT)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"exp": -3600}, "has expired"),
        ({"aud": "00000003-0000-0000-c000-000000000000"}, "another application"),
        ({"aud": f"api://{CLIENT}"}, "another application"),
        ({"aud": [CLIENT, "another"]}, "another application"),
        ({"iss": f"https://sts.windows.net/{OTHER_TENANT}/"}, "another issuer"),
        ({"tid": OTHER_TENANT}, "another tenant"),
        ({"oid": None}, "lacks a claim"),
        ({"azp": "the-front-end"}, "no permission"),  # an access token, which needs one as ever
    ],
)
async def test_an_id_token_is_checked_like_any_other(
    entra: EntraStandIn, with_id_tokens: BearerTokens, changed: dict[str, Any], says: str
) -> None:
    assert says in await refusal(with_id_tokens, entra.token(**from_now(OF_AN_ID_TOKEN | changed)))
    forged = jwt.encode(entra.claims(**OF_AN_ID_TOKEN), rsa_key(99), "RS256", headers={"kid": entra.kid})
    assert "signature does not hold" in await refusal(with_id_tokens, forged)


@pytest.mark.parametrize("scopes", [None, "", " "])
@pytest.mark.parametrize("roles", [None, [], [""], [7], {"Chat.Ask": 1}, True])
async def test_a_token_without_a_permission_is_refused_as_every_application_of_the_tenant_has_one(
    entra: EntraStandIn, identity: BearerTokens, scopes: object, roles: object
) -> None:
    assert "no permission" in await refusal(identity, entra.token(scp=scopes, roles=roles, idtyp="app"))


async def test_only_the_tenants_own_keys_sign(entra: EntraStandIn, identity: BearerTokens) -> None:
    forged = jwt.encode(entra.claims(), rsa_key(99), "RS256", headers={"kid": entra.kid})
    assert "signature does not hold" in await refusal(identity, forged)
    assert "a key that the tenant does not have" in await refusal(identity, entra.token({"kid": "another"}))
    assert "a key that the tenant does not have" in await refusal(identity, entra.token({"kid": None}))
    own = generate_private_key(public_exponent=65537, key_size=2048)
    brings_its_key = {"kid": "mine", "jku": "https://evil.example/keys", "jwk": {"kty": "RSA"}, "x5u": "https://evil"}
    assert "does not have" in await refusal(identity, jwt.encode(entra.claims(), own, "RS256", headers=brings_its_key))


async def test_what_was_said_cannot_be_changed(entra: EntraStandIn, identity: BearerTokens) -> None:
    header, _, signature = entra.token().split(".")
    assert "signature" in await refusal(identity, f"{header}.{encoded(entra.claims(oid='another'))}.{signature}")
    assert "signature" in await refusal(identity, f"{header}.{encoded(entra.claims())}.")


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "RS384", "PS256", "ES256", "EdDSA", 1, None])
async def test_another_algorithm_or_none_signs_nothing(
    entra: EntraStandIn, identity: BearerTokens, algorithm: object
) -> None:
    header = encoded({"alg": algorithm, "typ": "JWT", "kid": entra.kid})
    for signature in ("", entra.token().split(".")[2]):
        assert "not signed as" in await refusal(identity, f"{header}.{encoded(entra.claims())}.{signature}")


async def test_a_token_that_cannot_hold_is_not_worth_a_request(entra: EntraStandIn) -> None:
    identity = BearerTokens(Settings.read(entra.settings))
    before = entra.requests
    assert "not signed as" in await refusal(identity, jwt.encode(entra.claims(), "k" * 32, headers={"kid": "key-0"}))
    assert "cannot be read" in await refusal(identity, "a.b.c")
    assert entra.requests == before
    await identity.aclose()


@pytest.mark.parametrize("algorithm", ["HS256", "RS256"])
async def test_the_public_key_is_no_secret_to_sign_with(
    entra: EntraStandIn, identity: BearerTokens, algorithm: str
) -> None:
    signed = f"{encoded({'alg': algorithm, 'typ': 'JWT', 'kid': entra.kid})}.{encoded(entra.claims())}"
    digest = hmac.new(entra.public_pem, signed.encode(), hashlib.sha256).digest()
    await refusal(identity, f"{signed}.{urlsafe_b64encode(digest).rstrip(b'=').decode()}")


async def test_extensions_that_must_be_understood_are_refused(entra: EntraStandIn, identity: BearerTokens) -> None:
    await refusal(identity, entra.token({"crit": ["exp2"], "exp2": 1}))


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "a.b.c.d.e",
        "token, Bearer token",
        "Bearer",
        "ä.ö.ü",
        f"{encoded([])}.{encoded({})}.",
        f"{encoded({'alg': 'RS256', 'kid': 1})}.{encoded({})}.",
        f"{encoded({'alg': 'RS256', 'kid': []})}.{encoded({})}.",
        f"{urlsafe_b64encode(b'[' * 40_000).decode()}.e30.",
        f"{urlsafe_b64encode(bytes([0xFF, 0xFE, 0])).decode()}.e30.",
        "A" * (64 * 1024),
    ],
)
async def test_garbage_is_refused(identity: BearerTokens, token: str) -> None:
    await refusal(identity, token)


async def test_a_header_of_more_than_one_token_is_refused(entra: EntraStandIn, identity: BearerTokens) -> None:
    value = f"Bearer {entra.token()}".encode()
    twice = Headers(raw=[(b"authorization", value), (b"authorization", value)])
    with pytest.raises(NotSignedIn, match="more than once"):
        await identity.caller(twice)


async def test_ten_thousand_groups_are_more_than_any_token_has(entra: EntraStandIn, identity: BearerTokens) -> None:
    two_hundred = [f"{number:08}-0000-4000-8000-000000000000" for number in range(200)]
    assert (await identity.caller(sent(entra.token(groups=two_hundred)))).groups == tuple(two_hundred)
    assert "longer than any sign-in" in await refusal(identity, entra.token(groups=[*map(str, range(10_000))]))


@pytest.mark.parametrize(
    "headers", [{}, {"Authorization": ""}, {"Authorization": "Basic YTpi"}, {"Cookie": "token=a.b.c"}, principal(ADA)]
)
async def test_without_a_token_nobody_is_signed_in(identity: BearerTokens, headers: dict[str, str]) -> None:
    with pytest.raises(NotSignedIn, match="Sign in: send an access token") as refused:
        await identity.caller(headers)
    assert not refused.value.refused


async def test_the_settings_may_be_written_in_any_case_and_with_a_slash(entra: EntraStandIn) -> None:
    settings = entra.settings | {
        "AUTH_TENANT_ID": TENANT.upper(),
        "AUTH_CLIENT_ID": CLIENT.upper(),
        "AUTH_AUTHORITY": entra.authority + "/",
    }
    identity = BearerTokens(Settings.read(settings))
    assert (await identity.caller(sent(entra.token()))).oid == ADA
    await identity.aclose()


async def test_a_directory_that_is_down_is_not_the_callers_fault() -> None:
    async with EntraStandIn() as down:
        down.go_down()
        identity = BearerTokens(Settings.read(down.settings))
        with pytest.raises(Unavailable):
            await identity.caller(sent(down.token()))
        await identity.aclose()


async def test_every_error_of_the_library_has_a_sentence() -> None:
    kinds = [kind for kind in vars(jwt.exceptions).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert all(issubclass(kind, jwt.PyJWTError) for kind in kinds)
    assert jwt.PyJWTError in SENTENCES


segments = st.binary(max_size=60).map(lambda data: urlsafe_b64encode(data).rstrip(b"=").decode())
values: st.SearchStrategy[object] = st.sampled_from(["RS256", "key-0", None, True, 1, "[]", "{}"])
headers_of_tokens = st.dictionaries(st.sampled_from(["alg", "kid", "crit", "b64", "typ"]), values).map(encoded)


@given(token=st.text() | st.tuples(segments | headers_of_tokens, segments, segments).map(".".join))
async def test_no_garbage_signs_anybody_in(identity: BearerTokens, token: str) -> None:
    with pytest.raises(NotSignedIn):
        await identity.caller(sent(token))
