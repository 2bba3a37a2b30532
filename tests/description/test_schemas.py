"""The schemas of Python types."""

from typing import TypedDict

import pytest

from tools.description.schemas import Schemas


def test_two_classes_of_one_name_are_refused_since_one_would_be_described_as_the_other() -> None:
    schemas = Schemas()
    schemas.of(TypedDict("Chat", {"id": str}))
    with pytest.raises(ValueError, match="Chat: two schemas have this name"):
        schemas.of(TypedDict("Chat", {"title": str}))
