"""The tables of Application Insights, made of what the app sent, and queries over them.

`duckdb-kql` runs Kusto's language on DuckDB. How items become rows is Application Insights' data model: a span is a
row of `dependencies`, a point of a histogram one of `customMetrics`, and attributes are strings in `customDimensions`.

Source: Azure Monitor, 'Application Insights telemetry data model' and the tables' references.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import duckdb_kql
from duckdb import DuckDBPyConnection

COLUMNS = {
    "dependencies": {
        "timestamp": "TIMESTAMP",
        "name": "VARCHAR",
        "duration": "DOUBLE",
        "success": "BOOLEAN",
        "operation_Id": "VARCHAR",
        "user_AuthenticatedId": "VARCHAR",
        "customDimensions": "JSON",
    },
    "customMetrics": {
        "timestamp": "TIMESTAMP",
        "name": "VARCHAR",
        "valueCount": "BIGINT",
        "valueSum": "DOUBLE",
        "valueMin": "DOUBLE",
        "valueMax": "DOUBLE",
        "customDimensions": "JSON",
    },
    "requests": {"timestamp": "TIMESTAMP", "name": "VARCHAR", "resultCode": "VARCHAR", "operation_Id": "VARCHAR"},
    "exceptions": {
        "timestamp": "TIMESTAMP",
        "type": "VARCHAR",
        "outerMessage": "VARCHAR",
        "innermostMessage": "VARCHAR",
        "operation_Id": "VARCHAR",
    },
}
"""The columns that our queries use. Rows of `requests` and `exceptions` are the Functions host's."""


class HostRequest(NamedTuple):
    """A request as the Functions host records it."""

    time: str
    """When it came."""
    name: str
    """The name of the function."""
    status: str
    """The status of the answer."""
    failure: str = ""
    """The innermost message of its exception, if it had one."""


FAILED = "Microsoft.Azure.WebJobs.Host.FunctionInvocationException"
"""The type of exception that the host records of a function that failed."""


def tables_of(items: Iterable[Mapping[str, Any]], requests: Iterable[HostRequest] = ()) -> DuckDBPyConnection:
    """The tables with these items, and with these requests of the host."""
    tables = duckdb_kql.connect()
    for table, columns in COLUMNS.items():
        tables.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {kind}' for name, kind in columns.items())})")
    for item in items:
        data, tags, time = item["data"]["baseData"], item["tags"], item["time"]
        said = json.dumps(data["properties"])
        if item["data"]["baseType"] == "RemoteDependencyData":
            caller = tags.get("ai.user.authUserId", "")
            row = (
                time,
                data["name"],
                _milliseconds(data["duration"]),
                data["success"],
                tags["ai.operation.id"],
                caller,
                said,
            )
            tables.execute("INSERT INTO dependencies VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        for metric in data.get("metrics", ()):
            row = (time, metric["name"], metric["count"], metric["value"], metric["min"], metric["max"], said)
            tables.execute("INSERT INTO customMetrics VALUES (?, ?, ?, ?, ?, ?, ?)", row)
    for place, request in enumerate(requests):
        operation = f"operation-{place}"
        tables.execute(
            "INSERT INTO requests VALUES (?, ?, ?, ?)", (request.time, request.name, request.status, operation)
        )
        if request.failure:
            outer = f"Exception while executing function: Functions.{request.name}"
            row = (request.time, FAILED, outer, request.failure, operation)
            tables.execute("INSERT INTO exceptions VALUES (?, ?, ?, ?, ?)", row)
    return tables


def rows(tables: DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """What a query in Kusto's language gives."""
    result = duckdb_kql.kql(tables, query)
    return [dict(zip(result.columns, row, strict=True)) for row in result.fetchall()]


def _milliseconds(duration: str) -> float:
    """Of `days.hours:minutes:seconds`."""
    found = re.fullmatch(r"(?:(\d+)\.)?(\d\d):(\d\d):(\d\d(?:\.\d+)?)", duration)
    assert found, duration
    days, hours, minutes = (int(part or 0) for part in found.groups()[:3])
    return (((days * 24 + hours) * 60 + minutes) * 60 + float(found[4])) * 1000
