"""Finds topics whose tables have the names of other topics' views, or of tables beside theirs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from connect.api.errors import ConfigProblem, ConnectError
from connectors.bigquery.dedup.side_tables import cleared_table, deletes_table, log_table, merges_table
from connectors.bigquery.rows.names import TableNames


def taken_names(
    topics: Sequence[str], names: TableNames, suffix: str, *, only: str | None = None
) -> Iterator[ConfigProblem]:
    """Yield a problem for each table that has the name of another table's view: a dataset can hold one of the two.

    With `only` the view of this table alone is looked at. Topics that BigQuery has no table for are left out, as they
    are told elsewhere.
    """
    topic_of = _topics_by_table(topics, names)
    for table, topic in topic_of.items():
        other = topic_of.get(f"{table}{suffix}")
        if other is not None and only in {None, table}:
            yield ConfigProblem(
                "dedup.view.suffix",
                f"The view of topic {topic} is {table}{suffix}, which is the table of topic {other}. Set "
                f"dedup.view.suffix to another ending, or give a topic another table by topic2TableMap.",
            )


def is_view_taken(target: str, topics: Sequence[str], names: TableNames, suffix: str) -> bool:
    """Return True if the view of a table would have the name of a topic's table."""
    return f"{target}{suffix}" in _topics_by_table(topics, names)


def taken_beside(topics: Sequence[str], names: TableNames) -> Iterator[str]:
    """Yield a sentence for each topic's table that has the name of a table that the sink keeps beside another one."""
    topic_of = _topics_by_table(topics, names)
    for table, topic in topic_of.items():
        for beside in (merges_table, deletes_table, cleared_table, log_table):
            other = topic_of.get(beside(table))
            if other is not None:
                yield (
                    f"{beside(table)} is where the sink keeps notes or rows of topic {topic}, and it is the table of "
                    f"topic {other}, too: a table cannot be both. Give one of them another table by topic2TableMap."
                )


def _topics_by_table(topics: Sequence[str], names: TableNames) -> Mapping[str, str]:
    found = {}
    for topic in topics:
        with suppress(ConnectError):
            found[names.table(topic)] = topic
    return found
