"""Who signed in, by the header of App Service Authentication."""

import json
from base64 import b64encode, urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from shared.chat_types import Caller
from shared.errors import NotSignedIn
from shared.identity.easy_auth import EasyAuth
from tests.stand_ins.easy_auth import OBJECT_ID, TENANT_ID, encoded, principal
from tests.stand_ins.entra import ADA, BEN, OTHER_TENANT, STAFF, TENANT

IDENTITY = EasyAuth(TENANT)


def header(*claims: tuple[str, str | None]) -> dict[str, str]:
    return {"x-ms-client-principal": encoded([*claims])}


def raw(document: bytes) -> dict[str, str]:
    return {"x-ms-client-principal": b64encode(document).decode()}


@pytest.mark.parametrize("name", ["X-MS-CLIENT-PRINCIPAL", "x-ms-client-principal", "X-Ms-Client-Principal"])
async def test_the_headers_name_may_have_any_case(name: str) -> None:
    value = principal(ADA, STAFF)["X-MS-CLIENT-PRINCIPAL"]
    assert await IDENTITY.caller({name: value}) == Caller(ADA, (STAFF,), TENANT)


@pytest.mark.parametrize(
    "claims",
    [
        [("oid", ADA), ("tid", TENANT), ("groups", STAFF), ("groups", "b")],
        [(OBJECT_ID, ADA), (TENANT_ID, TENANT.upper()), ("groups", STAFF), ("groups", "b")],
        [
            ("preferred_username", "ada@example.com"),
            (OBJECT_ID, ADA),
            ("oid", ADA),
            ("tid", TENANT),
            ("http://schemas.microsoft.com/ws/2008/06/identity/claims/groups", STAFF),
            ("groups", "b"),
            ("groups", STAFF),
            ("groups", ""),
            ("groups", None),
        ],
    ],
)
async def test_claims_may_be_short_or_uris_and_come_often(claims: list[tuple[str, str | None]]) -> None:
    caller = await IDENTITY.caller(header(*claims))
    assert (caller.oid, caller.groups) == (ADA, (STAFF, "b"))


async def test_base64_may_be_of_either_alphabet_padded_or_not() -> None:
    for name in ("Ada", "Ada?", "Ada?>", "Ädä ÿ?>~"):
        document = {"auth_typ": "aad", "claims": [{"typ": "oid", "val": ADA}, {"typ": "name", "val": name}]}
        text = json.dumps(document, ensure_ascii=False).encode()
        for encode in (b64encode, urlsafe_b64encode):
            for value in (encode(text), encode(text).rstrip(b"=")):
                caller = await EasyAuth().caller({"x-ms-client-principal": value.decode()})
                assert caller == Caller(ADA)


@pytest.mark.parametrize(
    "claim",
    [
        ("_claim_names", '{"groups":"src1"}'),
        ("hasgroups", "true"),
        ("_claim_names", "groups"),
        ("http://schemas.microsoft.com/claims/groups.link", "https://graph.example/getMemberObjects"),
    ],
)
async def test_who_is_in_too_many_groups_has_groups_that_are_not_known(claim: tuple[str, str]) -> None:
    caller = await IDENTITY.caller(header(("oid", ADA), ("tid", TENANT), claim))
    assert caller.groups is None
    caller = await IDENTITY.caller(header(("oid", ADA), ("tid", TENANT), ("groups", STAFF), claim))
    assert caller.groups is None


async def test_other_claims_that_are_elsewhere_leave_the_groups_known() -> None:
    elsewhere = ("_claim_names", '{"photo":"src1"}')
    assert (await IDENTITY.caller(header(("oid", ADA), ("tid", TENANT), elsewhere))).groups == ()


async def test_without_the_header_nobody_is_signed_in() -> None:
    for headers in (
        {},
        {"x-ms-client-principal": ""},
        {"X-MS-CLIENT-PRINCIPAL-ID": ADA},
        {"Authorization": "Bearer a.b.c"},
    ):
        with pytest.raises(NotSignedIn, match="Sign in") as refusal:
            await IDENTITY.caller(headers)
        assert not refusal.value.refused


@pytest.mark.parametrize(
    ("headers", "says"),
    [
        (header(("name", "Ada")), "names no user"),
        (header(("tid", TENANT)), "names no user"),
        (header(("oid", ""), ("tid", TENANT)), "oid is not one value"),
        (header(("oid", None), ("tid", TENANT)), "oid is not one value"),
        (header(("oid", ADA), ("oid", BEN), ("tid", TENANT)), "oid is not one value"),
        (header(("oid", ADA), (OBJECT_ID, BEN), ("tid", TENANT)), "oid is not one value"),
        (header(("oid", ADA), ("tid", TENANT), (TENANT_ID, OTHER_TENANT)), "tid is not one value"),
        (header(("oid", ADA), ("tid", OTHER_TENANT)), "another tenant"),
        (header(("oid", ADA)), "another tenant"),
        ({"x-ms-client-principal": encoded([("oid", ADA), ("tid", TENANT)], "google")}, "Microsoft Entra ID"),
        ({"x-ms-client-principal": "A" * (64 * 1024 + 1)}, "longer than any sign-in"),
        ({"x-ms-client-principal": encoded([("groups", str(one)) for one in range(10_000)])}, "longer than any"),
        ({"x-ms-client-principal": "not base64!"}, "cannot be read"),
        ({"x-ms-client-principal": "ünï"}, "cannot be read"),
        ({"x-ms-client-principal": "!".join(encoded([("oid", ADA), ("tid", TENANT)]))}, "cannot be read"),
        ({"x-ms-client-principal": "A"}, "cannot be read"),
        (raw(b"\xff\xfe{}"), "cannot be read"),
        (raw(b"null"), "cannot be read"),
        (raw(b"[]"), "cannot be read"),
        (raw(b"{}"), "cannot be read"),
        (raw(b'{"auth_typ": "aad"}'), "cannot be read"),
        (raw(b'{"auth_typ": "aad", "claims": {}}'), "cannot be read"),
        (raw(b'{"auth_typ": "aad", "claims": [{"typ": 1, "val": "a"}]}'), "cannot be read"),
        (raw(b'{"auth_typ": "aad", "claims": [{"typ": "oid", "val": ["a"]}]}'), "cannot be read"),
        (raw(b'{"auth_typ": "aad", "claims": ' + b"[" * 40_000), "cannot be read"),
        (raw(b'{"x": ' + b"[" * 40_000), "cannot be read"),
        (raw(b'{"auth_typ": "aad", "claims": [{"typ": "oid", "val": "\\ud800"}]}'), "cannot be read"),
        (raw(b'{"identityProvider":"aad","userId":"d","userDetails":"ada","userRoles":["a"]}'), "cannot be read"),
    ],
)
async def test_a_header_that_does_not_hold_is_refused_with_a_sentence(headers: dict[str, str], says: str) -> None:
    with pytest.raises(NotSignedIn, match=says) as refusal:
        await IDENTITY.caller(headers)
    assert refusal.value.refused


async def test_a_header_that_is_repeated_is_refused() -> None:
    value = principal(ADA)["X-MS-CLIENT-PRINCIPAL"].encode()
    twice = Headers(raw=[(b"x-ms-client-principal", value), (b"x-ms-client-principal", value)])
    with pytest.raises(NotSignedIn, match="more than once"):
        await IDENTITY.caller(twice)
    with pytest.raises(NotSignedIn):
        await IDENTITY.caller({"x-ms-client-principal": f"{value.decode()}, {value.decode()}"})


async def test_without_a_tenant_of_its_own_the_app_takes_those_that_the_platform_lets_in() -> None:
    assert await EasyAuth().caller(principal(tenant=OTHER_TENANT)) == Caller(ADA, (), OTHER_TENANT)


@given(value=st.text() | st.binary().map(lambda data: b64encode(data).decode()))
async def test_no_garbage_signs_anybody_in(value: str) -> None:
    with pytest.raises(NotSignedIn):
        await IDENTITY.caller({"x-ms-client-principal": value})
