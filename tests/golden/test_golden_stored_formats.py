"""What version 0.1.0 stored is read, and written again byte for byte; what a newer version stored is refused."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from connect.api.errors import ConnectError
from connect.api.state import FORMAT_MEMBER, NewerFormatError, StateEntry
from connect.backfill.job.job import Jobs, JobSignal
from connect.backfill.job.markers import HandoverMarker, driver_state, markers
from connect.backfill.job.states import JobStateError
from connect.cluster.model import config_records, status_records
from connect.cluster.model.cluster_claim import ClusterClaim
from connect.runtime.source.offset_records import OffsetTable, decode_key, encode_value
from connect.runtime.source.offset_store import OffsetStore, SourceOffsets
from connectors.bigquery.merge.staging import StagedFacts, staging_name, target_of
from connectors.bigquery.spending.ledger import Ledger
from connectors.cassandra.dedup.cell_merge import CellMerge
from connectors.cassandra.dedup.seen_ids import SeenIds
from connectors.cassandra.log.segments.place import Place
from connectors.jdbc.follow import offsets
from connectors.jdbc.follow.stored_offsets import broken_members
from connectors.jdbc.log.binlog.position import read_binlog_offset
from connectors.jdbc.log.shared.position import read_offset
from connectors.s3.iceberg.progress import TableProgress
from connectors.s3.paths.layout import Extent

STORED = json.loads((Path(__file__).parent / "stored_formats.json").read_text())
IDS_NAME = b"ids t 0 "


def _config(key: bytes, value: bytes | None) -> object:
    return config_records.encode(config_records.decode(key, value))


def _status(key: bytes, value: bytes | None) -> object:
    return status_records.encode(status_records.decode(key, value))


def _claim(key: bytes, value: bytes) -> object:
    claim = ClusterClaim.parse(value)
    claim.require_known_form()
    return key, claim.as_bytes()


def _offset(key: bytes, value: bytes) -> dict[str, object]:
    """The offset as a task gets it."""
    table = OffsetTable()
    assert table.apply(key, value)
    connector, partition = decode_key(key)
    found = SourceOffsets(connector, OffsetStore(None, table, "connect-offsets")).get(partition)
    assert found is not None
    return found


def _position(read: Callable[[dict[str, object]], object]) -> Callable[[bytes, bytes], object]:
    def again(key: bytes, value: bytes) -> object:
        position = read(_offset(key, value)).offset
        return key, encode_value("orders", position() if callable(position) else position)

    return again


def _table_offset(key: bytes, value: bytes) -> object:
    found = _offset(key, value)
    assert broken_members(found, of_range=b'"range"' in key) == {}
    if tie := offsets.tie_of(found):
        made = offsets.timestamp_with_tie(offsets.instant_us_of(found), *tie)
    elif b'"range"' in key:
        made = offsets.range_progress({"incrementing": 900}, offsets.range_progress_of(found, {"incrementing": 900}))
    elif first := offsets.initial_read_of(found):
        made = offsets.initial_read(*first)
    elif (ended := offsets.safe_pass_of(found)) != (None, None, None):
        server, table = offsets.safe_server_of(found), offsets.safe_table_of(found)
        made = offsets.safe_pass(offsets.mark_of(found), *ended, server=server, table=table)
    else:
        made = offsets.bulk_progress(offsets.bulk_key_of(found), offsets.bulk_rows_of(found))
    return key, encode_value("orders", made)


def _job(key: bytes, value: bytes) -> object:
    read = Jobs([(key, value)])
    name = json.loads(key)["job"]
    job = read.known(name)
    return JobSignal(name, read.signals[name]).record if job is None else job.record


def _marker(key: bytes, value: bytes) -> object:
    if b'"chunk"' in key:
        (marker,) = markers([(key, value)])
        return marker.record
    state = driver_state([(key, value)])
    handover = state.handover
    return state.owner.record if handover is None else HandoverMarker(handover.following, handover.written_ms).record


class _Memory(dict):
    def put(self, key: bytes, value: bytes) -> None:
        self[key] = value

    def forget(self, key: bytes) -> None:
        del self[key]


def _cells(key: bytes, value: bytes) -> object:
    memory = _Memory({key: value})
    merge = CellMerge(memory, ["rows", "t", 0], lambda: 1_764_000_000.0)
    *ids, _, _ = json.loads(key)[3:]
    source = {"table_id": ids[0] if ids else None}
    older = {"op": "update", "source": source, "key": {"id": 1}, "deletion": None, "liveness": None,
             "columns": {"a": {"value": 2, "writetime_us": 4, "ttl_s": None, "expires_s": None}}}  # fmt: skip
    assert merge.newer({"id": 1}, older) is None, "an older write of a cell than the stored one is new"
    return key, memory[key]


def _ids(key: bytes, value: bytes) -> object:
    seen = SeenIds(IDS_NAME, 5000)
    seen.load([StateEntry(key, base64.b64decode(value))])
    assert bytes([2]) * 16 in seen
    seen.add(bytes([9]) * 16)
    (entry,) = seen.take_changes()
    return entry.key, base64.b64encode(entry.value[:-16])


def _staged(key: bytes, value: bytes) -> object:
    assert target_of(key.decode(), "staging") == "orders"
    name = staging_name("orders", "staging", key.decode().rpartition("_")[2])
    return name.encode(), StagedFacts.parse(value.decode()).text().encode()


def _object(key: bytes, value: bytes) -> object:
    return key, json.dumps(Extent.of(json.loads(value)).metadata()).encode()


def _iceberg(key: bytes, value: bytes) -> object:
    return key, TableProgress.parsed(value.decode()).text.encode()


def _ledger(key: bytes, value: bytes) -> object:
    return key, Ledger.parse(value.decode()).text().encode()


AGAIN: dict[str, Callable[[bytes, bytes], object]] = {
    "config topic": _config,
    "status topic": _status,
    "slots topic": _claim,
    "offsets of PostgreSQL's log": _position(read_offset),
    "offsets of MariaDB's and MySQL's log": _position(read_binlog_offset),
    "offsets of tables": _table_offset,
    "offsets of Cassandra's log": _position(Place.of),
    "jobs": _job,
    "markers": _marker,
    "state of the deduplication": _cells,
    "event ids of the deduplication": _ids,
    "staging tables": _staged,
    "objects of S3": _object,
    "progress of Iceberg tables": _iceberg,
    "ledger of BigQuery": _ledger,
}
"""Each function reads a stored record of the kind that its key names, and writes it again."""
JOB = '{"job":"orders-2026"}'
BY_CLAIM = {"config topic", "status topic", "event ids of the deduplication", "objects of S3"}
"""Records without a number of their own: the claim in the slots topic has that of a cluster's topics; ids and objects
have no members.
"""


def _named(case: dict[str, str]) -> str:
    return f"{case['kind']}: {case['key'][:50]}"


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else text.encode()


def test_every_kind_has_a_golden_record():
    assert {case["kind"] for case in STORED} == set(AGAIN)


@pytest.mark.parametrize("case", STORED, ids=_named)
def test_what_the_first_release_stored_is_written_again_byte_for_byte(case):
    again = AGAIN[case["kind"]](_bytes(case["key"]), _bytes(case["value"]))
    assert tuple(again) == (_bytes(case["key"]), _bytes(case.get("now", case["value"])))


@pytest.mark.parametrize("case", [case for case in STORED if case["kind"] not in BY_CLAIM], ids=_named)
def test_what_a_newer_version_stored_is_refused_with_a_sentence(case):
    # A job's record has its id since the second; facts of wide tables name no columns since theirs.
    known = 2 if case["key"] == JOB or case["kind"] == "staging tables" else 1
    newer = json.dumps({**json.loads(case["value"]), FORMAT_MEMBER: known + 1}).encode()
    with pytest.raises(ConnectError) as refused:
        AGAIN[case["kind"]](_bytes(case["key"]), newer)
    assert isinstance(refused.value, NewerFormatError | JobStateError)
    told = f"{FORMAT_MEMBER}={known + 1}, and this version knows {FORMAT_MEMBER}={known} and older"
    assert told in str(refused.value)
    assert "Run the newer version again" in str(refused.value)


def test_a_lane_leaves_a_job_that_a_newer_version_took():
    (case,) = [case for case in STORED if case["key"] == JOB]
    told = json.loads(case["value"])
    jobs = Jobs([(case["key"].encode(), case["value"].encode())])
    before = jobs.signal("orders-2026", told["run"])
    jobs.apply(case["key"].encode(), json.dumps({**told, FORMAT_MEMBER: 3}).encode())
    assert SimpleNamespace(before=before.name, after=jobs.signal("orders-2026", told["run"]).name) == SimpleNamespace(
        before="GO_ON", after="SUPERSEDED"
    )
