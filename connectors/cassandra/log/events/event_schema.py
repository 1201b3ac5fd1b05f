"""Makes the schema of a table's change events. Pure.

| field | meaning |
| --- | --- |
| op | insert, update, delete (a row), static, partition_delete, range_delete; snapshot: a row read from its table |
| writetime_us | the newest writetime in the event, microseconds |
| key | the primary key; clustering columns are null where the event is of the whole partition or a range |
| columns | the columns the statement wrote, null for all others |
| liveness | the mark an INSERT leaves on its row, with its time to live |
| deletion | what was deleted: everything of the row, range or partition written until `writetime_us` |
| range | of a range_delete: its ends in the natural order of values; null: no bound on that side |
| event_id | equal for the copies of one change on all replicas |
| source | cluster, data centre and node, and where in the node's commit log |

A column of one cell: value, writetime_us, ttl_s, local_deletion_s (when it expires, or was removed, in seconds since
1970), deleted. A collection: `cleared_us` (everything in it written until then is gone), `set` and `removed` elements,
each with its own writetime. A user-defined type that is not frozen: `cleared_us` and `fields`, each like a column.
"""

from __future__ import annotations

from connect.api import schema as s
from connectors.cassandra.cql.cql_types import CqlType
from connectors.cassandra.cql.schemas import columns_schema, connect_schema
from connectors.cassandra.cql.tables import Table

_TIMES = {
    "writetime_us": s.INT64, "ttl_s": s.INT32.as_optional(), "local_deletion_s": s.INT64.as_optional(),
}  # fmt: skip
LIVENESS = s.struct(
    {"writetime_us": s.INT64, "ttl_s": s.INT32.as_optional(), "expires_s": s.INT64.as_optional()},
    name="connect.cassandra.Liveness",
    optional=True,
)
DELETION = s.struct({"writetime_us": s.INT64, "local_s": s.INT64}, name="connect.cassandra.Deletion", optional=True)
SOURCE = s.struct(
    {
        "cluster": s.STRING, "datacenter": s.STRING, "node": s.STRING, "table_id": s.STRING,
        "segment": s.INT64, "position": s.INT64,
    },
    name="connect.cassandra.Source",
)  # fmt: skip


def partition_key_schema(table: Table) -> s.Schema:
    """Return the schema of records' keys: the partition key, so that changes of a partition stay in order."""
    return columns_schema(table.partition_key, f"{table.title}.PartitionKey")


def event_schema(table: Table) -> s.Schema:
    """Return the schema of the values of a table's records."""
    columns = {
        column.name: _change(column.type, f"{table.title}.{column.name}") for column in (*table.static, *table.regular)
    }
    bound = columns_schema(table.clustering, f"{table.title}.Bound").as_optional()
    deleted_range = s.struct(
        {"start": bound, "start_inclusive": s.BOOLEAN, "end": bound, "end_inclusive": s.BOOLEAN},
        name=f"{table.title}.Range",
        optional=True,
    )
    return s.struct(
        {
            "op": s.STRING,
            "writetime_us": s.INT64,
            "key": columns_schema(table.primary_key, f"{table.title}.Key"),
            "columns": s.struct(columns, name=f"{table.title}.Columns", optional=True),
            "liveness": LIVENESS,
            "deletion": DELETION,
            "range": deleted_range,
            "event_id": s.STRING,
            "source": SOURCE,
        },
        name=f"{table.title}.Event",
    )


def _change(cql: CqlType, name: str) -> s.Schema:
    if not cql.is_multicell:
        return _cell(connect_schema(cql), f"{name}.Cell")
    cleared = {"cleared_us": s.INT64.as_optional()}
    if cql.name == "udt":
        fields = {
            field: _cell(connect_schema(parameter), f"{name}.{field}.Cell")
            for field, parameter in zip(cql.fields, cql.parameters, strict=True)
        }
        inner = s.struct(fields, name=f"{name}.Fields")
        return s.struct({**cleared, "fields": inner}, name=f"{name}.Change", optional=True)
    path, element = element_schema(cql)
    written = s.struct({**path, **element, **_TIMES}, name=f"{name}.Element")
    removed = s.struct(
        {**path, "writetime_us": s.INT64, "local_deletion_s": s.INT64.as_optional()}, name=f"{name}.Removed"
    )
    return s.struct(
        {**cleared, "set": s.array(written), "removed": s.array(removed)}, name=f"{name}.Change", optional=True
    )


def element_schema(cql: CqlType) -> tuple[dict[str, s.Schema], dict[str, s.Schema]]:
    """Return two schemas for the elements of a collection: of what identifies one (position, key or itself), and of its
    value.
    """
    match cql.name:
        case "list":
            return {"position": s.STRING}, {"value": connect_schema(cql.parameters[0])}
        case "map":
            return {"key": connect_schema(cql.parameters[0])}, {"value": connect_schema(cql.parameters[1])}
    return {"element": connect_schema(cql.parameters[0])}, {}


def _cell(value: s.Schema, name: str) -> s.Schema:
    return s.struct({"value": value, **_TIMES, "deleted": s.BOOLEAN}, name=name, optional=True)
