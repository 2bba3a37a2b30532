"""What an index calls its fields, as the settings have it."""

from dataclasses import astuple

from shared.retrieval.azure_search.fields import IndexFields
from shared.settings_rules import INDEX_FIELDS


def test_every_field_can_be_called_otherwise() -> None:
    fields = IndexFields.called({name: f"my_{name}" for name in INDEX_FIELDS})
    assert set(astuple(fields)) == {f"my_{name}" for name in INDEX_FIELDS}
