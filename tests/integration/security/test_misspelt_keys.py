"""A misspelt key is told by validate as it is of a connector that was PUT, on a real worker."""

from __future__ import annotations

import pytest
import requests
from attacked import Target

SOURCE = {"connector.class": "FileStreamSource", "topic": "misspelt"}
SINK = {"connector.class": "FileStreamSink", "topics": "misspelt"}
KAFKA = "org.apache.kafka.connect"
JSON = {"value.converter": f"{KAFKA}.json.JsonConverter"}
ADDED = {
    "transforms": "t", "transforms.t.type": f"{KAFKA}.transforms.InsertField$Value", "predicates": "p",
    "transforms.t.static.field": "f", "transforms.t.static.value": "v", "predicates.p.pattern": "a",
    "predicates.p.type": f"{KAFKA}.transforms.predicates.TopicNameMatches",
}  # fmt: skip
MISSPELT = [
    pytest.param({**SOURCE, "batch.siez": "10"}, "batch.siez", "batch.size", id="connector"),
    pytest.param({**SOURCE, "error.tolerance": "all"}, "error.tolerance", "errors.tolerance", id="framework"),
    pytest.param(
        {**SOURCE, **JSON, "value.converter.schemas.enabel": "false"},
        "value.converter.schemas.enabel", "value.converter.schemas.enable", id="converter",
    ),
    pytest.param(
        {**SOURCE, **ADDED, "transforms.t.static.feild": "x"},
        "transforms.t.static.feild", "transforms.t.static.field", id="transform",
    ),
    pytest.param(
        {**SOURCE, **ADDED, "predicates.p.patern": "b"}, "predicates.p.patern", "predicates.p.pattern", id="predicate"
    ),
    pytest.param(
        {**SOURCE, "producer.override.linger.msx": "5"},
        "producer.override.linger.msx", "producer.override.linger.ms", id="override",
    ),
    pytest.param(
        {**SINK, "consumer.override.fetch.min.byts": "5"},
        "consumer.override.fetch.min.byts", "consumer.override.fetch.min.bytes", id="sink's override",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("config", "wrong", "right"), MISSPELT)
def test_validate_tells_of_a_misspelt_key_as_put_does(
    target: Target, unique: str, config: dict[str, str], wrong: str, right: str
) -> None:
    validated = requests.put(
        f"{target.url}/connector-plugins/{config['connector.class']}/config/validate?notes=true",
        json={"name": unique, **config}, timeout=60,
    )  # fmt: skip
    before = validated.json()
    put = requests.put(f"{target.url}/connectors/{unique}/config", json=config, timeout=60)
    try:
        assert (validated.status_code, before["error_count"], put.status_code) == (200, 0, 201), put.text
        status = target.worker.wait_for_tasks(unique, "RUNNING")
        why = requests.get(f"{target.url}/connectors/{unique}/why", timeout=60).text
        told = [note for note in before.get("notes", []) if note.startswith(f"{wrong}: ")]
        assert len(told) == 1, f"validate tells {before.get('notes')}"
        assert told[0].endswith(f"no effect. Is {right} meant?")
        assert told[0] in status["notes"]
        assert told[0] in why
        assert told[0] in validated.headers["X-Connect-Notes"]
    finally:
        target.delete(unique)


def test_validate_refuses_a_misspelt_value_as_put_does(target: Target, unique: str) -> None:
    config = {**SOURCE, "name": unique, "errors.tolerance": "al"}
    validated = requests.put(
        f"{target.url}/connector-plugins/FileStreamSource/config/validate", json=config, timeout=60
    ).json()
    put = requests.put(f"{target.url}/connectors/{unique}/config", json=config, timeout=60)
    assert (validated["error_count"], put.status_code) == (1, 400)
    (error,) = [text for info in validated["configs"] for text in info["value"]["errors"]]
    assert "errors.tolerance" in error
    assert error in put.json()["message"]
