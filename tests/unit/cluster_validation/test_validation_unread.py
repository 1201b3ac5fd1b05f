"""A sink whose converter reads nothing is refused: with errors.tolerance=all it would skip every row."""

from __future__ import annotations

import pytest
from sample_plugins import worker_config

from connect.api.errors import ConfigError
from connect.cluster.validation.check import Validator
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_converters

WRITES = "io.debezium.converters.CloudEventsConverter"
SINK = {"connector.class": "FileStreamSink", "name": "k", "topics": "a", "errors.tolerance": "all"}
SOURCE = {"connector.class": "FileStreamSource", "name": "k", "topic": "a"}
TOLD = "writes records and reads none, so no sink can have it. Use JsonConverter with schemas.enable=false for events"
READS = dict.fromkeys(("key.converter", "value.converter"), "org.apache.kafka.connect.storage.StringConverter")


def errors(config: dict[str, str], **worker: str) -> dict[str, str]:
    infos = Validator(Catalog.installed(), worker_config(**worker)).validate(dict(config))
    return {info.value.name: " ".join(info.value.errors) for info in infos.configs if info.value.errors}


@pytest.mark.parametrize("key", ["key.converter", "value.converter", "header.converter"])
@pytest.mark.parametrize("name", [WRITES, "CloudEventsConverter", f" {WRITES} "])
def test_a_sink_cannot_have_a_converter_that_reads_nothing_and_a_source_can(key: str, name: str) -> None:
    found = errors(SINK | {key: name})
    assert list(found) == [key]
    assert TOLD in found[key]
    assert errors(SOURCE | {key: name}) == {}


def test_a_sink_cannot_have_the_workers_either() -> None:
    found = errors(SINK, **{"value.converter": WRITES})
    assert list(found) == ["value.converter"]
    assert TOLD in found["value.converter"]
    assert errors(SINK | READS, **{"value.converter": WRITES}) == errors(SOURCE, **{"value.converter": WRITES}) == {}


def test_no_task_of_a_sink_starts_where_the_worker_has_got_one_since() -> None:
    catalog, worker = Catalog.installed(), {**READS, "value.converter": WRITES}
    with pytest.raises(ConfigError, match="reads none") as caught:
        build_converters(catalog, SINK, worker)
    assert [problem.key for problem in caught.value.problems] == ["value.converter"]
    assert build_converters(catalog, SOURCE, worker).value_name == WRITES
