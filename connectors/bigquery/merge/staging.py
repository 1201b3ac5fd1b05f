"""Describes staging tables: their names, the facts that their description holds, and the Parquet that fills them. Pure.

A staging table holds one batch of rows for one table, from its load job to its merge. Its description says what the
merge needs to know, so that the one task that merges a table can merge the batches that other tasks staged.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from connect.api.state import FORMAT_MEMBER, require_known
from connectors.bigquery.dedup.key_bounds import KeyBound, key_bounds
from connectors.bigquery.dedup.rules import IS_DELETE
from connectors.bigquery.dedup.sealed_batch import SealedBatch
from connectors.bigquery.rows.table_schema import Columns
from connectors.bigquery.tables.key_changes import keys_hash

if TYPE_CHECKING:
    import pyarrow as pa

EXPIRES_AFTER_S: Final = 86_400
"""BigQuery drops a staging table after so many seconds if nobody else does."""
CONNECTOR_LABEL: Final = "kafka-connect"
TASK_LABEL: Final = "kafka-connect-task"
STATE_LABEL: Final = "kafka-connect-state"
_ID: Final = re.compile(r"[0-9a-f]{24}")
DESCRIPTION_CHARS: Final = 16_384
"""BigQuery takes so many characters as the description of a table."""
_WITHOUT_COLUMNS: Final = 2
"""The format of facts that do not name the columns, as there are too many: the staging table itself has them."""


@dataclass(frozen=True, slots=True)
class StagedFacts:
    """Holds the facts that the description of a staging table has as JSON.

    `bound` is SQL of the first partition that the merge searches. `order` has the columns of the order that the rows
    have, and `whole_order` all, also those that the table may get; it is noted where it has more.
    `clears` counts deletes without an order; it is None if the rows have no such mark, as those that an earlier
    version staged. `key_bounds` bounds the keys of all rows, and `keys_hash` says by which fields rows are told apart;
    each is empty if it is not known.
    """

    target: str
    keys: tuple[str, ...]
    order: tuple[str, ...]
    columns: tuple[str, ...]
    rows: int
    deletes: int
    appends: int
    bound: str | None
    clears: int | None = None
    key_bounds: tuple[KeyBound, ...] = ()
    keys_hash: str = ""
    whole_order: tuple[str, ...] = ()

    @classmethod
    def of(cls, batch: SealedBatch) -> StagedFacts:
        """Return the facts that the merge of a batch needs."""
        present = {name for table in batch.tables for name in table.column_names}
        columns = tuple(column.name for column in batch.columns if column.name in present)
        dedup = batch.dedup.as_in(batch.columns)
        return cls(
            target=batch.target,
            keys=tuple(placed.column for placed in dedup.keys),
            # A table that has had nothing but deletes may lack a column that orders values.
            order=tuple(placed.column for placed in dedup.order if placed.column in columns),
            columns=columns,
            rows=len(batch),
            deletes=batch.deletes,
            appends=batch.appends,
            bound=batch.bound,
            clears=batch.clears,
            key_bounds=key_bounds(batch.tables, batch.columns, (placed.column for placed in dedup.keys)),
            keys_hash=keys_hash(batch.dedup),
            whole_order=tuple(placed.column for placed in dedup.order),
        )

    def text(self) -> str:
        """Return the facts as the text of a description. Where they are too long, the columns are left out, and then
        those bounds of keys that have no room.
        """
        found = {name: getattr(self, name) for name in self.__slots__}
        if self.whole_order in {(), self.order}:
            del found["whole_order"]
        text = json.dumps(found)
        if len(text) <= DESCRIPTION_CHARS:
            return text
        del found["columns"]
        found |= {FORMAT_MEMBER: _WITHOUT_COLUMNS, "key_bounds": ()}
        room = DESCRIPTION_CHARS - len(json.dumps(found))
        return json.dumps(found | {"key_bounds": _that_fit(self.key_bounds, room)})

    @classmethod
    def parse(cls, text: str, table: Columns = ()) -> StagedFacts:
        """Return the facts in the description of a staging table that has the columns `table`.

        Raise ValueError or KeyError if it holds none, or NewerFormatError.
        """
        found = json.loads(text)
        require_known(found, "What is noted on a staging table", _WITHOUT_COLUMNS)
        return cls(
            target=found["target"],
            keys=tuple(found["keys"]),
            order=tuple(found["order"]),
            columns=tuple(found["columns"] if "columns" in found else _staged_names(table)),
            rows=int(found["rows"]),
            deletes=int(found["deletes"]),
            appends=int(found["appends"]),
            bound=found["bound"],
            clears=found.get("clears"),
            key_bounds=tuple(KeyBound(*bound) for bound in found.get("key_bounds", ())),
            keys_hash=found.get("keys_hash", ""),
            whole_order=tuple(found.get("whole_order", found["order"])),
        )


def _that_fit(bounds: Sequence[KeyBound], room_chars: int) -> Sequence[KeyBound]:
    """Return those bounds of keys whose texts together have at most so many characters, the shortest ones first."""
    found = []
    for bound in sorted(bounds, key=lambda bound: len(json.dumps(bound))):
        room_chars -= len(json.dumps(bound)) + len(", ")
        if room_chars < 0:
            break
        found.append(bound)
    return found


def _staged_names(table: Columns) -> Sequence[str]:
    """Return the columns of a staging table but for the marks, which stand last."""
    names = [column.name for column in table]
    return names[: names.index(IS_DELETE)] if IS_DELETE in names else names


def connector_label(connector: str) -> str:
    """Return the value of CONNECTOR_LABEL for a connector, which is a hash of its name.

    Labels hold 63 characters of a small alphabet, names of connectors anything.
    """
    return hashlib.sha256(connector.encode()).hexdigest()[:32]


class _Digest(io.RawIOBase):
    """Takes bytes for a hash, and keeps none."""

    def __init__(self) -> None:
        self.sha256 = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self.sha256.update(data)
        return len(data)


def digest_of(tables: Sequence[pa.Table]) -> bytes:
    """Return a hash of rows and their columns. It takes a third of the time that a Parquet file does."""
    import pyarrow as pa

    rows, digest = pa.concat_tables(tables, promote_options="default"), _Digest()
    with pa.ipc.new_stream(pa.PythonFile(digest, "w"), rows.schema) as stream:
        stream.write_table(rows)
    return digest.sha256.digest()


def batch_id(owner: str, batch: SealedBatch, content: bytes | memoryview) -> str:
    """Return the id of an owner's batch. The same rows in the same form have the same id; any other batch has another
    id. `content` is a file of the rows, or a hash of them.

    A batch without rows has another id each time, as nothing tells it from others.
    """
    places = [[tp.topic, tp.partition, *found] for tp, found in sorted(batch.ranges.items())]
    topic_ids = sorted({(piece.partition.topic, piece.topic_id or "") for piece in batch.pieces})
    own = "" if places else secrets.token_hex(8)
    digest = hashlib.sha256(json.dumps([owner, batch.target, places, topic_ids, own]).encode())
    digest.update(content)
    return digest.hexdigest()[:24]


def staging_name(target: str, suffix: str, batch: str) -> str:
    """Return the name of the staging table of a batch. Its leading underscore hides it in Google's console."""
    return f"_{target}_{suffix}_{batch}"


def target_of(name: str, suffix: str) -> str | None:
    """Return the table whose rows a staging table holds; None if the name is not that of a staging table."""
    rest, _, batch = name.rpartition("_")
    if not _ID.fullmatch(batch) or not rest.startswith("_") or not rest.endswith(f"_{suffix}"):
        return None
    return rest[1 : -len(suffix) - 1]


def parquet_of(tables: Sequence[pa.Table]) -> pa.Buffer:
    """Return the rows as one Parquet file; a column that a table lacks is null there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    rows = pa.concat_tables(tables, promote_options="default")
    # Timestamps in microseconds are what BigQuery reads; lists by the three-level form that it infers arrays from.
    pq.write_table(rows, sink, compression="zstd", coerce_timestamps="us", use_compliant_nested_type=True)
    return sink.getvalue()
