"""What Azure's tables say is not there. Imports `azure.data.tables`: import it late."""

from azure.core.exceptions import AzureError, ResourceNotFoundError
from azure.data.tables import TableEntity
from azure.data.tables.aio import TableClient


async def found(table: TableClient, partition: str, row: str) -> TableEntity | None:
    """Read an entity; None if there is none."""
    try:
        return await table.get_entity(partition, row)
    except ResourceNotFoundError as error:
        if is_without_table(error):
            raise
        return None


def is_without_table(error: AzureError) -> bool:
    """Whether an error says that the table is missing, not an entity in it."""
    return getattr(error, "error_code", None) == "TableNotFound"
