"""A key that a connector takes under another name, or hands on, is not told as one that nobody knows."""

from __future__ import annotations

import pytest

from connect.cluster.validation.notes import NO_EFFECT, notes
from connect.plugins.catalog import Catalog

AIVEN = {
    "connector.class": "io.aiven.kafka.connect.s3.AivenKafkaConnectS3SinkConnector", "topics": "t",
    "aws_access_key_id": "k", "aws_secret_access_key": "s", "aws_s3_bucket": "b", "aws_s3_region": "eu-central-1",
}  # fmt: skip
JDBC = {
    "connector.class": "JdbcSourceConnector", "connection.url": "jdbc:postgresql://h/d", "mode": "bulk",
    "topic.prefix": "p", "connection.ApplicationName": "orders",
}  # fmt: skip


def told(given: dict[str, str]) -> list[str]:
    return list(notes(Catalog.installed().connector(given["connector.class"]), given, ()))


@pytest.mark.parametrize("given", [AIVEN, JDBC])
def test_a_key_that_is_taken_is_not_told(given: dict[str, str]) -> None:
    assert [note for note in told(given) if NO_EFFECT in note] == []


@pytest.mark.parametrize(
    ("given", "key", "meant"),
    [
        (AIVEN, "aws_s3_regoin", ""),
        (JDBC, "connection.pasword", "Is connection.password"),
        (JDBC, "modes", "Is mode meant?"),
    ],
)
def test_a_misspelt_key_is_told(given: dict[str, str], key: str, meant: str) -> None:
    (note,) = [note for note in told({**given, key: "x"}) if NO_EFFECT in note]
    assert note.startswith(f"{key}: nobody knows this key")
    assert meant in note
