"""An exactly-once source goes from Apache Kafka Connect's worker to ours and back, offsets in a topic of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from interop_cluster import Rest, append, java_worker, lines_in, our_worker, records_in, source, wait_for_lines

from connect.tools.services import KafkaEndpoint

pytestmark = pytest.mark.timeout(600)
ENABLED = {"exactly.once.source.support": "enabled"}


def test_an_exactly_once_source_moves_from_java_to_ours_and_back(
    kafka: KafkaEndpoint, tmp_path: Path, unique: str
) -> None:
    topic, own, file = f"{unique}-lines", f"{unique}-own", tmp_path / "lines.txt"
    written: list[str] = []

    def add(text: str) -> None:
        lines = [f"{text} {n}" for n in range(5)]
        append(file, lines)
        written.extend(lines)

    def read_all(rest: Rest) -> None:
        wait_for_lines(kafka, topic, len(written))
        rest.wait_for_offset("s", {"position": file.stat().st_size})

    def one_more_configuration(rest: Rest, config: dict[str, str], note: str) -> dict[str, str]:
        changed = {**config, "note": note}
        rest.put("/s/config", changed)
        add(note)
        read_all(rest)
        return changed

    fenced: dict[str, list[tuple[bytes, bytes | None]]] = {}

    def note_fencing(who: str) -> None:
        found = records_in(kafka, f"{unique}-configs")
        fenced[who] = [record for record in found if record[0].startswith(b"tasks-fencing-")]

    config = {**source(file, topic), "exactly.once.support": "required", "offsets.storage.topic": own}
    add("first")
    with java_worker(kafka, unique, tmp_path / "java-1", **ENABLED) as java:
        rest = Rest(java.endpoint.url)
        rest.create("s", config)
        read_all(rest)
        config = one_more_configuration(rest, config, "changed in Java")
    note_fencing("Java")
    add("to ours")
    ours = our_worker(kafka, unique, tmp_path / "ours")
    ours.start()
    try:
        rest = Rest(ours.url)
        read_all(rest)
        config = one_more_configuration(rest, config, "changed in ours")
        rest.put("/s/stop")
        rest.wait_for_states({"s": "STOPPED"})
        rest.patch("/s/offsets", {"offsets": [{"partition": {"filename": str(file)}, "offset": {"position": 0}}]})
        written.extend(tuple(written))
        rest.put("/s/resume")
        read_all(rest)
    finally:
        ours.stop()
    note_fencing("ours")
    add("back to Java")
    with java_worker(kafka, unique, tmp_path / "java-2", **ENABLED) as java:
        rest = Rest(java.endpoint.url)
        read_all(rest)
        one_more_configuration(rest, config, "changed in Java again")

    assert lines_in(kafka, topic) == written
    # Key and value as Java writes them; ours are those of a change, of altered offsets and of the start after that.
    one, none = (b"tasks-fencing-s", b'{"task-count":1}'), (b"tasks-fencing-s", b'{"task-count":0}')
    assert set(fenced["Java"]) == {one}
    assert fenced["ours"] == [*fenced["Java"], one, none, one]
    keys = {key for offsets in (own, f"{unique}-offsets") for key, _ in records_in(kafka, offsets)}
    assert keys == {json.dumps(["s", {"filename": str(file)}], separators=(",", ":")).encode()}
