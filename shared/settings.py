"""The app's settings: the fields of `settings_fields.py`, read from the environment into one frozen object.

An empty variable counts as unset. Wrong settings raise `NotConfigured` with a sentence for each problem, so that
`/health` and the start-up log can list them all.
"""

from collections.abc import Mapping

from pydantic import ValidationError

from shared.errors import NotConfigured
from shared.settings_fields import SettingsFields
from shared.settings_rules import half_configured


class Settings(SettingsFields):
    """The settings of an app. `Settings.read` makes them and checks how they fit together."""

    @property
    def in_azure(self) -> bool:
        """Whether the platform runs the app, and writes the headers that only it may write."""
        return bool(self.website_site_name)

    @property
    def callers_may_prompt(self) -> bool:
        """Whether a request may bring a system prompt."""
        if self.chat_caller_prompts is not None:
            return self.chat_caller_prompts
        return not (self.in_azure and self.auth_mode == "none")

    @property
    def has_limits(self) -> bool:
        """Whether requests or tokens are counted."""
        per_caller = self.limit_caller_requests_per_minute or self.limit_caller_tokens_per_day
        return bool(per_caller or self.limit_requests_per_minute or self.limit_tokens_per_day)

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> "Settings":
        """Read the settings from environment variables.

        Raises:
            NotConfigured: a value is not accepted, or a setting is missing for another; names the variables.
        """
        if removed := [name for name in REMOVED if environment.get(name, "").strip()]:
            raise NotConfigured(" ".join(f"{name} is no longer a setting: {REMOVED[name]}." for name in removed))
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
    "AGENTS_CONCURRENT_CALLS": "unset it. A team makes at most 8 model calls at the same time",
}
"""Settings of earlier versions, each with what to do instead."""

_PLATFORMS_OWN = {
    "azure_web_jobs_storage": "AzureWebJobsStorage",
    "content_storage_blobs": "CONTENT_STORAGE__blobServiceUri",
    "content_storage_queues": "CONTENT_STORAGE__queueServiceUri",
}
"""Variables whose names the Functions platform has fixed; its triggers read them too."""

_PROBLEMS = {
    "bool_parsing": "should be true or false",
    "float_parsing": "should be a number",
    "string_pattern_mismatch": "should be a URL with its scheme, such as https://example.com",
}
"""Messages by pydantic's error type, where its own message does not help; most patterns are of URLs."""

_PROBLEMS_OF = {
    "rai_endpoint": "should be https://… or host:port",
    "auth_tenant_id": "should be a UUID",
    "auth_client_id": "should be a UUID",
    "content_container": "should be a container's name: 3 to 57 lower-case letters, digits and single hyphens",
    "content_events_queue": "should be a queue's name: 3 to 57 lower-case letters, digits and single hyphens",
}
"""Messages by field, for fields with another pattern."""


def variable(field: str) -> str:
    """The name of a field's environment variable."""
    return _PLATFORMS_OWN.get(field, field.upper())
