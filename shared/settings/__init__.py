"""The app's settings: the fields of `fields.py`, read from the environment into one frozen object.

An empty variable counts as unset. Wrong settings raise `NotConfigured` with a sentence for each problem, so that
`/health` and the start-up log can list them all.
"""

from collections.abc import Iterator, Mapping
from functools import cache

from pydantic import ValidationError

from shared.errors import NotConfigured
from shared.settings.derived import AllFields
from shared.settings.fields import variable
from shared.settings.rules import half_configured


class Settings(AllFields):
    """The settings of an app. `Settings.read` makes them and checks how they fit together."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings from environment variables.

        Raises:
            NotConfigured: a value is not accepted, or a setting is missing for another; names the variables.
        """
        if problems := [*misspelt(environment)]:
            raise NotConfigured(" ".join(problems))
        values = {name: value for name in cls.model_fields if (value := environment.get(variable(name), "").strip())}
        try:
            settings = cls.model_validate(values)
        except ValidationError as invalid:
            problems = [
                f"{variable(field := str(error['loc'][0]))}: "
                f"{_PROBLEMS_OF.get(field) or _PROBLEMS.get(error['type'], error['msg'].removeprefix('Input '))}."
                for error in invalid.errors()
            ]
            raise NotConfigured(" ".join(problems)) from None
        if problems := half_configured(settings):
            raise NotConfigured(" ".join(problems))
        return settings


_PROBLEMS = {
    "bool_parsing": "should be true or false",
    "float_parsing": "should be a number",
    "int_parsing": "should be a whole number",
    "string_pattern_mismatch": "should be a URL with its scheme and without a user, such as https://example.com",
}
"""Messages by pydantic's error type, where its own message does not help; most patterns are of URLs."""

_PROBLEMS_OF = {
    "public_url": "should be a URL without user, query and fragment, such as https://chat.contoso.com/api",
    "rai_endpoint": "should be https://…, host:port or http://host:port",
    "link_hosts": "should be names of hosts with commas between, such as intranet.contoso.com, *.contoso.com",
    "client_address_header": "should be the name of one header, such as X-Azure-SocketIP",
    "approvers": "should be nobody, or ids of groups or users and names of API keys with commas between",
    **dict.fromkeys(
        ("documents_writers", "feedback_readers", "operators"),
        "should be nobody, all, or ids of groups or users and names of API keys with commas between",
    ),
    **dict.fromkeys(("auth_tenant_id", "auth_client_id", "bot_id", "bot_tenant_id"), "should be a UUID"),
    "bot_sso_resource": "should be the Application ID URI of an app registration, such as api://botid-…",
    "content_container": "should be a container's name: 3 to 49 lower-case letters, digits and single hyphens",
    **dict.fromkeys(
        ("batch_queue", "chat_requests_queue", "chat_answers_queue"),
        "should be a queue's name: 3 to 57 lower-case letters, digits and single hyphens",
    ),
}
"""Messages by field, for fields with another pattern."""

_OF_OTHERS = frozenset({"API_KEY", "RAG_MODE"})
"""Names that look misspelt and are in use elsewhere: in a shell that serves other programs too they are no mistake."""
_LIMITS = ("CHAT_MAX_", "LIMIT_", "TRUSTED_PROXIES")
"""Beginnings of names that only this app uses. One that is no setting is an error: a limit is never ignored."""
_SHORT = 8
"""Names of up to so many characters are taken for misspelt with one mistake only."""
_NUMBER = "_0123456789"


def misspelt(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each variable that is set and meant for the app, but is no setting.

    Otherwise `RAI_MOD=enforce` would run the app without safety checks. Names of the platform and of other programs
    must not count, so only few mistakes do: another case, and one or two letters that are missing, added, changed or
    swapped after the first one, but not a number at the end. An unknown limit counts as well.
    """
    for name, value in environment.items():
        folded = name.upper()
        spellings = {} if name in _OF_OTHERS else _spellings(folded[:1])
        if not spellings or name in spellings.values() or not value.strip() or folded.startswith("WEBSITE_"):
            continue
        for ours, spelling in spellings.items():
            numbered = folded != ours == folded.rstrip(_NUMBER)
            if not numbered and _within(1 if len(ours) <= _SHORT else 2, ours, folded):
                yield f"{name} is no setting: did you mean {spelling}?"
                break
        else:
            if folded.startswith(_LIMITS):
                yield f"{name} is no setting: unset it. docs/settings.md has the limits that there are."


@cache
def _spellings(letter: str) -> dict[str, str]:
    """The names of the settings that begin with a letter, each by itself in capitals."""
    names = [variable(field) for field in AllFields.model_fields]
    return {name.upper(): name for name in names if name[:1] == letter}


def _within(limit: int, one: str, other: str) -> bool:
    """Whether at most `limit` mistakes make one text of the other."""
    # A mistake makes at most two characters differ: this spares most pairs the comparison, at each start of the app.
    if abs(len(one) - len(other)) > limit or len(set(one) ^ set(other)) > 2 * limit:
        return False
    at = next((place for place, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs), None)
    if at is None or limit == 0:
        return at is None
    swapped = one[at : at + 2] == other[at : at + 2][::-1]
    skipped = [(1, 0), (0, 1), (1, 1), *([(2, 2)] if swapped else [])]
    return any(_within(limit - 1, one[at + mine :], other[at + theirs :]) for mine, theirs in skipped)
