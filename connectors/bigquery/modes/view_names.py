"""Finds topics whose tables have the names of other topics' views. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from connect.api.errors import ConfigProblem, ConnectError
from connectors.bigquery.rows.names import TableNames


def taken_names(topics: Sequence[str], names: TableNames, suffix: str) -> Iterator[ConfigProblem]:
    """Yield a problem for each table that has the name of another table's view: a dataset can hold one of the two.

    Topics that BigQuery has no table for are left out, as they are told elsewhere.
    """
    topic_of = _topics_by_table(topics, names)
    for table, topic in topic_of.items():
        other = topic_of.get(f"{table}{suffix}")
        if other is not None:
            yield ConfigProblem(
                "dedup.view.suffix",
                f"The view of topic {topic} is {table}{suffix}, which is the table of topic {other}. Set "
                f"dedup.view.suffix to another ending, or give a topic another table by topic2TableMap.",
            )


def _topics_by_table(topics: Sequence[str], names: TableNames) -> Mapping[str, str]:
    found = {}
    for topic in topics:
        with suppress(ConnectError):
            found[names.table(topic)] = topic
    return found
