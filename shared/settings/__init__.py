"""The app's settings: the fields of `fields.py`, read from the environment into one frozen object.

An empty variable counts as unset. Wrong settings raise `NotConfigured` with a sentence for each problem, so that
`/health` and the start-up log can list them all.
"""

from collections.abc import Iterator, Mapping
from functools import cache

from pydantic import ValidationError

from shared.errors import NotConfigured
from shared.settings.derived import AllFields
from shared.settings.rules import half_configured


class Settings(AllFields):
    """The settings of an app. `Settings.read` makes them and checks how they fit together."""

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings from environment variables.

        Raises:
            NotConfigured: a value is not accepted, or a setting is missing for another; names the variables.
        """
        if removed := [name for name in REMOVED if environment.get(name, "").strip()]:
            raise NotConfigured(" ".join(f"{name} is no longer a setting: {REMOVED[name]}." for name in removed))
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


REMOVED = {
    "ACCESS_CONTROL_OPEN_DOCUMENTS": "if it is true, set ACCESS_CONTROL to enforced-or-open. Unset it",
    "AGENTS_CONCURRENT_CALLS": "unset it. A team makes at most 8 model calls at the same time",
    "AZURE_SEARCH_KNOWLEDGE_BASE": "unset it. The app searches the index that AZURE_SEARCH_INDEX names",
    "AZURE_SEARCH_KNOWLEDGE_SOURCE": "unset it. The app searches the index that AZURE_SEARCH_INDEX names",
    "CONTENT_EVENTS_QUEUE": "unset it. The queue has the name of CONTENT_CONTAINER and -events behind it",
    "CONTENT_TRIGGER": "unset it. Without Event Grid, let CONTENT_SYNC_SCHEDULE compare the container more often",
    "HISTORY_TABLE_ENDPOINT": "set AzureWebJobsStorage__tableServiceUri to it, and unset it",
    "LIMIT_TABLE_ENDPOINT": "set AzureWebJobsStorage__tableServiceUri to it, and unset it",
    "RAI_ALLOW_PLAINTEXT": "if it is true, write http:// before the host in RAI_ENDPOINT. Unset it",
}
"""Settings of earlier versions, each with what to do instead."""

_PLATFORMS_OWN = {
    "azure_web_jobs_storage": "AzureWebJobsStorage",
    "azure_web_jobs_storage_blobs": "AzureWebJobsStorage__blobServiceUri",
    "azure_web_jobs_storage_queues": "AzureWebJobsStorage__queueServiceUri",
    "azure_web_jobs_storage_tables": "AzureWebJobsStorage__tableServiceUri",
    "content_storage_blobs": "CONTENT_STORAGE__blobServiceUri",
    "content_storage_queues": "CONTENT_STORAGE__queueServiceUri",
}
"""Variables whose names the Functions platform has fixed; its triggers read them too."""

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
    "approvers": "should be nobody, or ids of groups and names of API keys with commas between",
    "documents_writers": "should be nobody, all, or ids of groups and names of API keys with commas between",
    "feedback_readers": "should be nobody, all, or ids of groups and names of API keys with commas between",
    "auth_tenant_id": "should be a UUID",
    "auth_client_id": "should be a UUID",
    "content_container": "should be a container's name: 3 to 49 lower-case letters, digits and single hyphens",
    "batch_queue": "should be a queue's name: 3 to 57 lower-case letters, digits and single hyphens",
    "chat_requests_queue": "should be a queue's name: 3 to 57 lower-case letters, digits and single hyphens",
    "chat_answers_queue": "should be a queue's name: 3 to 57 lower-case letters, digits and single hyphens",
    "content_sync_schedule": "should be off, or six fields such as 0 30 2 * * *, every day at 2:30 UTC",
}
"""Messages by field, for fields with another pattern."""


def misspelt(environment: Mapping[str, str]) -> Iterator[str]:
    """Yield a sentence for each variable that is set and whose name is nearly that of a setting.

    Otherwise `RAI_MOD=enforce` would run the app without safety checks. Names of the platform and of other programs
    must not count, so only few mistakes do: another case, and one or two letters that are missing, added, changed or
    swapped after the first one, but not a number at the end.
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


_OF_OTHERS = frozenset({"API_KEY", "RAG_MODE"})
"""Names that look misspelt and are in use elsewhere: in a shell that serves other programs too they are no mistake."""
_SHORT = 8
"""Names of up to so many characters are taken for misspelt with one mistake only."""
_NUMBER = "_0123456789"


@cache
def _spellings(letter: str) -> dict[str, str]:
    """The names of the settings that begin with a letter, each by itself in capitals."""
    names = [variable(field) for field in AllFields.model_fields]
    return {name.upper(): name for name in names if name[:1] == letter}


def _within(limit: int, one: str, other: str) -> bool:
    """Whether at most `limit` mistakes are between two texts (optimal string alignment distance)."""
    # A mistake makes at most two characters differ; this spares most pairs the table below.
    if abs(len(one) - len(other)) > limit or len(set(one) ^ set(other)) > 2 * limit:
        return False
    before, row = [0], list(range(len(other) + 1))
    for i, mine in enumerate(one, 1):
        earlier, before, row = before, row, [i]
        for j, theirs in enumerate(other, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (mine != theirs))
            if i > 1 and j > 1 and (mine, one[i - 2]) == (other[j - 2], theirs):
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1] <= limit


def variable(field: str) -> str:
    """The name of a field's environment variable."""
    return _PLATFORMS_OWN.get(field, field.upper())
