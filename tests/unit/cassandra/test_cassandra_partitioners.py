"""Only clusters whose tokens are Murmur3's numbers are read by ranges of tokens."""

from __future__ import annotations

import pytest

from connect.api.errors import ConfigError
from connectors.cassandra.source.table_choice import require_numbered_tokens


class Told:
    """Answers with the name of a partitioner."""

    def __init__(self, name: str) -> None:
        self._name = name

    def rows(self, query: str, parameters: object = (), *, doing: str) -> list[tuple[str]]:
        return [(self._name,)]


@pytest.mark.parametrize("name", ["RandomPartitioner", "ByteOrderedPartitioner"])
def test_other_tokens_are_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=name):
        require_numbered_tokens(Told(f"org.apache.cassandra.dht.{name}"))


@pytest.mark.parametrize(
    "name", ["org.apache.cassandra.dht.Murmur3Partitioner", "com.amazonaws.cassandra.DefaultPartitioner"]
)
def test_tokens_of_murmur3_are_read(name: str) -> None:
    require_numbered_tokens(Told(name))
