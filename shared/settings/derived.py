"""What follows from the settings, such as who may write documents where no setting says it."""

from typing import Literal

from shared.runtime.features import is_there
from shared.settings.fields import PlatformFields, SettingsFields


def callers_named(setting: str | None) -> frozenset[str]:
    """Return the names of API keys and ids of groups in a setting that says who may do what; `all` is everybody."""
    return frozenset(name.strip() for name in (setting or "nobody").split(",")) - {"nobody"}


class AllFields(SettingsFields, PlatformFields):
    """The settings and the platform's variables, and what follows from them."""

    @property
    def messages_for(self) -> frozenset[str]:
        """Protocols in which an error is sent as a message of the assistant."""
        return frozenset(self.errors_as_messages)

    @property
    def model_name(self) -> str:
        """Name of the model that answers, for the safety service."""
        return self.openai_chat_model or self.azure_openai_chat_deployment or "extractive"

    @property
    def citation_links(self) -> str | None:
        """URL of the documents, for clients that show a citation only as a link; None if a browser opens none there."""
        is_open = self.auth_mode in ("none", "easy-auth")
        return f"{self.public_url.rstrip('/')}/content" if self.public_url and is_open else None

    @property
    def longest_prompt(self) -> int:
        """Maximum length of one prompt, in tokens of four bytes: of agents too, with what their tools return."""
        return 88_000 + max(12_000, self.chat_source_tokens or 0)

    @property
    def in_azure(self) -> bool:
        """Whether the platform runs the app, and writes the headers that only it may write."""
        return bool(self.website_site_name)

    @property
    def address_header(self) -> str | None:
        """The header that names the address of a caller; None: none does."""
        return self.client_address_header or ("X-Forwarded-For" if self.in_azure else None)

    @property
    def writers(self) -> frozenset[str]:
        """Names of API keys and ids of groups that may write documents; `all` is everybody."""
        if self.documents_writers:
            return callers_named(self.documents_writers)
        return frozenset({"all"}) if self.auth_mode == "none" and not self.in_azure else frozenset()

    @property
    def link_hosts_named(self) -> frozenset[str]:
        """Hosts to which every answer may link, in lower case."""
        return frozenset(name.strip().lower() for name in (self.link_hosts or "").split(",") if name)

    @property
    def takes_uploads(self) -> bool:
        """Whether people may add documents that only they see."""
        writes_index = self.azure_search_endpoint is None or self.has_container
        return (
            self.user_uploads != "off"
            and self.auth_mode != "none"
            and is_there("readers")
            and (writes_index or self.user_uploads == "on")
        )

    @property
    def batches(self) -> Literal["folder", "queue", "off"]:
        """Where batches run that outlive their request."""
        return self.batch_backend or ("queue" if self.has_own_storage else "folder")

    @property
    def has_own_storage(self) -> bool:
        """Whether blobs and queues of the app's own storage account can be used."""
        return bool(
            self.azure_web_jobs_storage or (self.azure_web_jobs_storage_blobs and self.azure_web_jobs_storage_queues)
        )

    @property
    def has_container(self) -> bool:
        """Whether the documents are in a blob container, and not in `DATA_DIR`."""
        return bool(self.content_storage or self.content_storage_blobs)

    @property
    def watches_container(self) -> bool:
        """Whether a trigger can watch the container of documents."""
        return bool(self.content_storage or self.content_storage_queues)

    @property
    def events_queue(self) -> str:
        """The queue of the events of the container of documents."""
        return f"{self.content_container}-events"

    @property
    def has_embedding_service(self) -> bool:
        """Whether vectors come from another service than the answers."""
        return bool(self.openai_embedding_base_url or self.openai_embedding_api_key)

    @property
    def makes_vectors(self) -> bool:
        """Whether the app makes vectors of texts."""
        return bool(self.embeddings == "local" or self.openai_embedding_model or self.azure_openai_embedding_deployment)

    @property
    def enforces_rights(self) -> bool:
        """Whether callers see only what the rights of documents allow, whatever a request asks for."""
        return self.access_control != "on-request"

    @property
    def callers_may_prompt(self) -> bool:
        """Whether a request may bring a system prompt."""
        if self.chat_caller_prompts is not None:
            return self.chat_caller_prompts
        return not (self.in_azure and self.auth_mode == "none")

    @property
    def page(self) -> Literal["on", "chat", "off"]:
        """Which page is there: as `PLAYGROUND` says, else the workbench everywhere but in Azure."""
        return self.playground or ("off" if self.in_azure else "on")

    @property
    def has_limits(self) -> bool:
        """Whether requests or tokens are counted."""
        per_caller = self.limit_caller_requests_per_minute or self.limit_caller_tokens_per_day
        return bool(per_caller or self.limit_requests_per_minute or self.limit_tokens_per_day)
