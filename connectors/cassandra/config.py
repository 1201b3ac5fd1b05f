"""The settings of the Cassandra source. No driver, no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from connect.api.config import Int, ListOf, String, between, key, non_empty
from connect.api.errors import ConfigProblem
from connectors.cassandra.contact import ContactKeys

READ = "Reading"


class CassandraSourceConfig(ContactKeys):
    """Everything a user may say about reading tables."""

    keyspace: Annotated[String, non_empty] = key(
        "keyspace", importance="high", group=READ, doc="The keyspace whose tables are read."
    )  # fmt: skip
    tables: ListOf = key(
        "tables", (), importance="high", group=READ, doc="The tables to read, by name; empty: all of the keyspace."
    )  # fmt: skip
    topic_prefix: String = key(
        "topic.prefix", "", importance="high", group=READ,
        doc="A table's topic is this prefix, the keyspace, a dot and the table.",
    )  # fmt: skip
    table_splits: Annotated[Int, between(1, 100_000)] = key(
        "table.splits", 60, group=READ,
        doc="Into how many token ranges a table is cut. Tasks share them, and each is resumed where it was. Keep the "
        "number while a table is being read: other ranges are read from their start.",
    )  # fmt: skip
    fetch_size: Annotated[Int, between(1, 100_000)] = key(
        "fetch.size", 5000, group=READ, doc="The most rows of one page."
    )  # fmt: skip
    fetch_max_bytes: Annotated[Int, between(1024, 2**30)] = key(
        "fetch.max.bytes", 4 << 20, group=READ,
        doc="How large a page should be: where rows are large it has fewer of them. A task holds a few pages.",
    )  # fmt: skip

    def problems(self) -> Iterable[ConfigProblem]:
        """The topics' names would not be Kafka's."""
        if len(self.topic_prefix) > 200 or not all(
            c.isascii() and (c.isalnum() or c in "._-") for c in self.topic_prefix
        ):
            yield ConfigProblem(
                "topic.prefix", "topic.prefix must be at most 200 characters of a-z, A-Z, 0-9, '.', '_' and '-'."
            )


class CassandraTaskConfig(CassandraSourceConfig):
    """A task's share: every `share.of`-th split of each table, from number `share` on."""

    share: Annotated[Int, between(0, 2**31 - 1)] = key("share", doc="The task's share.", internal=True)
    share_of: Annotated[Int, between(1, 2**31 - 1)] = key("share.of", doc="The number of shares.", internal=True)
