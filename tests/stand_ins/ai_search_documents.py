"""The documents of one index of the stand-in for Azure AI Search.

Source: Search Service REST API 2026-04-01, 'Documents - Index'; 'Service limits'.
"""

import json
import re
import time
from dataclasses import dataclass, field

from shared.chat_types import Json
from tests.stand_ins.ai_search_definitions import IndexDefinition, IndexField
from tests.stand_ins.ai_search_refusals import Refusal, invalid

_KEY = re.compile(r"(?!_)[A-Za-z0-9_\-=]{1,1024}")
_LONGEST_TERM = 32_766
"""Bytes of UTF-8 that a filterable, sortable or facetable string may have."""
_ACTIONS = 1000
"""Of a batch at most."""

type Document = dict[str, Json]


@dataclass(slots=True)
class Index:
    """An index with its documents."""

    definition: IndexDefinition
    documents: dict[str, Document] = field(default_factory=dict[str, Document])
    """By key, in the order in which they came."""
    lag: float = 0
    """Seconds until searches show what was written."""
    _before: list[tuple[float, dict[str, Document]]] = field(default_factory=list[tuple[float, dict[str, Document]]])
    """When something was written, and what there was before."""

    @property
    def searched(self) -> "Index":
        """The index as searches see it."""
        since = time.monotonic() - self.lag
        documents = next((before for when, before in self._before if when > since), self.documents)
        return Index(self.definition, documents)

    def update(self, definition: IndexDefinition) -> None:
        """Take a new definition: fields may come, and none may change or go.

        Raises:
            Refusal: one did.
        """
        for old in self.definition.fields:
            new = definition.field(old.name)
            if new is None or new.whole() != old.whole():
                raise Refusal(400, f"Existing field '{old.name}' cannot be changed.", "OperationNotAllowed")
        self.definition = definition

    def write(self, actions: Json, failing: dict[str, int]) -> tuple[int, dict[str, Json]]:
        """Do a batch of actions; those on the keys in `failing` fail with their status.

        Returns:
            The status and the body of the answer.

        Raises:
            Refusal: the batch as a whole is wrong.
        """
        if not isinstance(actions, list) or not actions:
            raise invalid("The request is invalid. Details: actions : No indexing actions found in the request.")
        if len(actions) > _ACTIONS:
            raise invalid(f"Only {_ACTIONS} indexing actions are allowed in one request; {len(actions)} were sent.")
        checked = [self._checked(position, action) for position, action in enumerate(actions)]
        if self.lag:
            self._before.append((time.monotonic(), dict(self.documents)))
        results: list[Json] = []
        for kind, document in checked:
            key = str(document[self.definition.key])
            status = failing.get(key) or self._do(kind, key, document)
            done = status < 300
            message = None if done else "The document could not be indexed."
            results.append({"key": key, "status": done, "errorMessage": message, "statusCode": status})
        failed = any(isinstance(result, dict) and not result["status"] for result in results)
        return 207 if failed else 200, {"value": results}

    def _checked(self, position: int, action: Json) -> tuple[str, Document]:
        if not isinstance(action, dict):
            raise _wrong_action(position, "An action is an object.")
        document = dict(action)
        kind = document.pop("@search.action", "upload")
        if kind not in {"upload", "merge", "mergeOrUpload", "delete"}:
            raise _wrong_action(position, f"Unknown action '{kind}'.")
        key = document.get(self.definition.key)
        if not isinstance(key, str) or not key:
            raise _wrong_action(position, "Document key cannot be missing or empty.")
        if not _KEY.fullmatch(key):
            raise _wrong_action(
                position,
                f"Invalid document key: '{key}'. Keys can only contain letters, digits, underscore (_), dash (-), or "
                "equal sign (=), and cannot start with an underscore.",
            )
        for name, value in document.items():
            self._check_value(position, name, value)
        return str(kind), document

    def _check_value(self, position: int, name: str, value: Json) -> None:
        found = self.definition.field(name)
        if found is None:
            raise invalid(
                f"The request is invalid. Details: parameters : The property '{name}' does not exist on type "
                "'search.documentFields' or is not present in the API version '2026-04-01'. Make sure to only use "
                "property names that are defined by the type."
            )
        if value is None and found.type.startswith("Collection") and not found.is_vector:
            raise _wrong_action(position, f"The collection '{name}' cannot be null.")
        if value is not None and not _fits(found, value):
            raise _wrong_action(position, f"The value of '{name}' is no {found.type}.")
        if found.is_vector and isinstance(value, list) and len(value) != found.dimensions:
            raise _wrong_action(
                position,
                f"There's a mismatch in vector dimensions. The vector field '{name}', with dimension of "
                f"'{found.dimensions}', expects a length of '{found.dimensions}'. However, the provided vector has a "
                f"length of '{len(value)}'.",
            )
        terms = value if isinstance(value, list) else [value]
        if found.allows("filterable") and any(
            isinstance(term, str) and len(term.encode()) > _LONGEST_TERM for term in terms
        ):
            raise _wrong_action(position, f"Field '{name}' contains a term that is too large to process.")

    def _do(self, kind: str, key: str, document: Document) -> int:
        old = self.documents.get(key)
        match kind:
            case "delete":
                self.documents.pop(key, None)
                return 200
            case "merge" if old is None:
                return 404
            case "merge" | "mergeOrUpload" if old is not None:
                kept = {name: value for name, value in old.items() if self._survives_merge(name)}
                self.documents[key] = {**kept, **document}
                return 200
            case _:
                self.documents[key] = document
                return 200 if old is not None else 201

    def _survives_merge(self, name: str) -> bool:
        """A vector that is not stored cannot be written again with the rest of its document."""
        found = self.definition.field(name)
        return found is not None and found.stored

    def shown(self, document: Document, select: list[str] | None = None) -> Document:
        """A document's fields as an answer has them: null where there is nothing."""
        names = [one.name for one in self.definition.fields if one.retrievable and (not select or one.name in select)]
        empty: dict[str, Json] = {name: [] for name in names if self._is_collection(name)}
        return {name: document.get(name, empty.get(name)) for name in names}

    def _is_collection(self, name: str) -> bool:
        found = self.definition.field(name)
        return found is not None and found.type == "Collection(Edm.String)"


def _fits(found: IndexField, value: Json) -> bool:
    match found.type:
        case "Edm.String" | "Edm.DateTimeOffset":
            return isinstance(value, str)
        case "Edm.Boolean":
            return isinstance(value, bool)
        case "Edm.Int32" | "Edm.Int64":
            return isinstance(value, int) and not isinstance(value, bool)
        case "Edm.Double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "Collection(Edm.String)":
            return isinstance(value, list) and all(isinstance(part, str) for part in value)
        case "Collection(Edm.Single)":
            return isinstance(value, list) and all(
                isinstance(part, int | float) and not isinstance(part, bool) for part in value
            )


def _wrong_action(position: int, message: str) -> Refusal:
    return Refusal(400, f"The request is invalid. Details: actions : {position}: {message}", "OperationNotAllowed")


def read_object(raw: bytes) -> dict[str, Json]:
    """A body that must be a JSON object.

    Raises:
        Refusal: it is none.
    """
    try:
        body: Json = json.loads(raw, parse_constant=_no_constant)
    except ValueError as wrong:
        raise invalid("The request is invalid. Details: The body is no JSON.") from wrong
    if not isinstance(body, dict):
        raise invalid("The request is invalid. Details: The body is no JSON object.")
    return body


def _no_constant(name: str) -> Json:
    raise ValueError(name)
