"""Checks references among a registry's schemas: what the registry says is followed only so far."""

from __future__ import annotations

import pytest

from connect.api.errors import SchemaError
from connect.convert.avro.config import AvroConfig
from connect.convert.registry.client import Reference, Registered
from connect.convert.registry.schemas import REFERENCES_DEEP, Schemas


class Answers:
    """A registry whose schema of each subject is known."""

    def __init__(self, refers: dict[str, list[str]]) -> None:
        self.refers = refers
        self.asked = 0

    def by_version(self, reference: Reference) -> Registered:
        self.asked += 1
        return schema(*self.refers.get(reference.subject, []))


def schema(*names: str) -> Registered:
    return Registered("text", "AVRO", tuple(Reference(name, name, 1) for name in names))


def schemas(client: Answers) -> Schemas:
    return Schemas(AvroConfig.parse({"schema.registry.url": "http://registry"}), client, is_key=False)


def test_each_schema_comes_behind_what_it_refers_to_and_is_asked_for_once() -> None:
    client = Answers({"order": ["line", "place"], "line": ["place"]})
    found = schemas(client).references(schema("order", "place"))
    assert [name for name, _ in found] == ["place", "line", "order"]
    assert client.asked == 3


@pytest.mark.parametrize("refers", [{"a": ["a"]}, {"a": ["b"], "b": ["c"], "c": ["a"]}])
def test_references_in_a_circle_are_refused(refers: dict[str, list[str]]) -> None:
    with pytest.raises(SchemaError, match="refer to each other without an end"):
        schemas(Answers(refers)).references(schema("a"))


def test_references_one_behind_the_other_are_followed_only_so_far() -> None:
    client = Answers({f"s{number}": [f"s{number + 1}"] for number in range(5000)})
    with pytest.raises(SchemaError, match="more than 100 deep"):
        schemas(client).references(schema("s0"))
    assert client.asked <= REFERENCES_DEEP + 1
