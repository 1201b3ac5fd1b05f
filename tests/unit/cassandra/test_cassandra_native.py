"""Native code makes of a commit log what its twin in Python makes of it, or leaves it to the twin."""

from __future__ import annotations

import random
import resource
from collections.abc import Iterator, Sequence
from uuid import UUID

import numpy as np
import pytest
from cdc_fixtures import KINDS, all_frames, sections, segment_bytes, tables
from drawn_changes import DrawnChanges
from hypothesis import given, settings
from hypothesis import strategies as st
from mutation_writer import frames_of, mutation

from connect.api.errors import ConnectError
from connect.api.records import Batch
from connectors.cassandra.cql.cql_types import CqlType, parse_type, user_types_of
from connectors.cassandra.cql.schema_reader import Schemas
from connectors.cassandra.cql.tables import Table, TableColumn
from connectors.cassandra.log.events import event_batches
from connectors.cassandra.log.events.decode import MutationDecoder
from connectors.cassandra.log.events.event_columns import Node
from connectors.cassandra.log.events.mutation import Cell, Liveness, PartitionUpdate, Row
from connectors.cassandra.log.events.native_events import Plan, gather
from connectors.cassandra.log.events.watched_tables import Watched
from connectors.cassandra.log.segments.segment import Frames, joined
from connectors.cassandra.native import module

pytestmark = pytest.mark.skipif(
    module() is None, reason="NOT CHECKED: connectors.cassandra.native was not built; it needs a C++17 compiler"
)
NODE = Node("c", "d", "n")
TYPES = user_types_of("ks", {"place": (("street", "number"), ("text", "int"))})


AGAIN = ("s", "i", "t", "l", "se", "m", "pl", "c007")
"""Columns that were dropped and added again."""


def table(number: int, columns: dict[str, str], static: str = "int", keys: Sequence[str] = ("int", "text")) -> Table:
    return Table(
        UUID(int=number), "ks", f"t{number}",
        [TableColumn(f"k{i}", CqlType(name)) for i, name in enumerate(keys)],
        [TableColumn("a", CqlType("int")), TableColumn("b", CqlType("text"), descending=True)],
        [TableColumn("s", parse_type(static, TYPES))],
        [TableColumn(name, parse_type(text, TYPES)) for name, text in columns.items()],
        dropped={"gone": CqlType("double"), "lost": parse_type("list<int>", {})}, cdc=True,
        dropped_us=dict.fromkeys(AGAIN, 1_700_000_000_000_000 + (1 << 39)),
    )  # fmt: skip


EACH = table(
    1,
    {
        "i": "int", "bo": "boolean", "ti": "tinyint", "si": "smallint", "bi": "bigint", "f": "float", "do": "double",
        "t": "text", "b": "blob", "u": "uuid", "ts": "timestamp", "d": "date", "time": "time", "de": "decimal",
        "v": "varint", "n": "inet", "du": "duration", "fl": "frozen<list<int>>", "ve": "vector<float, 2>",
        "l": "list<int>", "se": "set<text>", "m": "map<text, int>", "pl": "place", "Z": "int",
    },
)  # fmt: skip
WIDE = table(2, {f"c{i:03}": "int" for i in range(70)}, static="set<int>", keys=("uuid",))
OF_BOTH = {found.id: found for found in (EACH, WIDE)}


def made(frames: Frames, known: Sequence[Table]) -> tuple[dict[str, Batch], list[str]]:
    """The batches by topic, and what cannot be read."""
    kept: list[str] = []
    watched = Watched(lambda: Schemas(known, {}), (), "")
    return {batch.topic: batch for batch in event_batches.batches(frames, watched, NODE, kept.append)}, kept


def by_the_twin(frames: Frames, known: Sequence[Table]) -> tuple[dict[str, Batch], list[str]]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(event_batches, "module", lambda: None)
        return made(frames, known)


def check_equal(frames: Frames, known: Sequence[Table]) -> None:
    (ours, kept), (twins, left) = made(frames, known), by_the_twin(frames, known)
    assert kept == left
    assert ours.keys() == twins.keys()
    for topic, batch in ours.items():
        twin = twins[topic]
        for mine, other in ((batch.keys, twin.keys), (batch.values, twin.values)):
            assert mine is not None
            assert other is not None
            mine.arrow().validate(full=True)
            assert mine.arrow().equals(other.arrow())
            assert mine.schema == other.schema


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**64 - 1), st.sampled_from([7, 8]))
def test_any_changes_become_the_same_events(seed: int, version: int) -> None:
    draw = DrawnChanges(random.Random(seed))
    found = [draw.updates([EACH, WIDE]) for _ in range(12)]
    bodies = [mutation(some, draw.base()) for some in found]
    decoder = MutationDecoder(OF_BOTH, version)
    assert [decoder.decode(body).updates for body in bodies] == found
    frames = frames_of(bodies, version)
    for begin in range(0, 12, 6):
        check_equal(frames.part(begin, begin + 6), list(OF_BOTH.values()))
    assert not len(gather(module(), frames, Plan.of(OF_BOTH.values(), [])).odd)


@pytest.mark.parametrize("kind", KINDS)
def test_recorded_segments_become_the_same_events(kind: str) -> None:
    frames = joined(list(sections(segment_bytes(kind))))
    check_equal(frames, list(tables().values()))
    gathered = gather(module(), frames, Plan.of([t for t in tables().values() if t.name != "cnt"], []))
    left = [frames.body(number) for number in gathered.odd]
    known = {found.id.bytes for found in tables().values() if found.name != "cnt"}
    assert not [body for body in left if body[0] == 1 and body[1:17] in known]
    assert sum(len(events) for events in gathered.events.values()) > 3


def test_what_native_code_reads_needs_no_twin(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = joined(list(sections(segment_bytes("lz4"))))
    known = list(tables().values())
    odd = set(gather(module(), frames, Plan.of(known, [])).odd.tolist())
    bodies = [frames.body(number) for number in range(len(frames)) if number not in odd]
    monkeypatch.delattr(Watched, "updates")
    (batch,) = made(frames_of(bodies, 7), known)[0].values()
    assert len(batch) == 3811


def damaged(bodies: Sequence[bytes], count: int) -> Iterator[bytes]:
    """Mutations with a few bytes that are others, are gone or came in between."""
    chance = random.Random(7)
    for _ in range(count):
        body = bytearray(chance.choice(bodies))
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(body))
            match chance.randrange(4):
                case 0:
                    body[at] ^= 1 << chance.randrange(8)
                case 1:
                    body[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
                case 2:
                    del body[at : at + chance.randint(1, 9)]
                case 3:
                    body[at:at] = chance.randbytes(chance.randint(1, 9))
        yield bytes(body) or b"\0"


def test_damaged_mutations_are_decoded_as_by_the_twin_or_left_to_it() -> None:
    known = {number: found for number, found in tables().items() if found.name != "cnt"}
    bodies = [frame.body for kind in KINDS for frame in all_frames(segment_bytes(kind))]
    bodies = [body for body in bodies if body[1:17] in {number.bytes for number in known}]
    bodies = sorted(bodies, key=len)[-60:] + bodies[:100]
    some = list(damaged(bodies, 1000))
    frames = frames_of(some, 7)
    gathered = gather(module(), frames, Plan.of(known.values(), []))
    odd = set(gathered.odd.tolist())
    assert 0 < len(odd) < len(some)
    decoder = MutationDecoder(known, 7)
    for number in set(range(len(some))) - odd:
        decoder.decode(some[number])
    # In parts: a value that is none of its type sends all that come with it to the twin.
    for begin in range(0, 120, 5):
        check_equal(frames.part(begin, begin + 5), list(known.values()))


def test_bytes_of_anything_are_never_read_behind_their_end() -> None:
    chance = random.Random(8)
    plan = Plan.of(OF_BOTH.values(), [])
    bodies = [b"\x01" + EACH.id.bytes + chance.randbytes(size) for size in range(300)]
    bodies += [b"\x01" + EACH.id.bytes[:size] for size in range(16)] + [b"\xff" * 20, b"\x02" + EACH.id.bytes + b"\0\1"]
    gathered = gather(module(), frames_of(bodies), plan)
    assert len(gathered.odd) > 250


@pytest.mark.parametrize(
    ("starts", "sizes"), [([0], [11]), ([-1], [1]), ([11], [0]), ([0], [-1]), ([2**62], [2**62]), ([0, 0], [1])]
)
def test_mutations_outside_of_the_data_are_refused(starts: list[int], sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="outside of the data"):
        module().gather(bytes(10), np.array(starts, np.int64), np.array(sizes, np.int64), 8, Plan.of([], []).data)


def test_what_is_no_plan_is_refused() -> None:
    whole = Plan.of(OF_BOTH.values(), [UUID(int=9)]).data
    for cut in (whole[:-1], whole + b"\0", whole[:30], b""):
        with pytest.raises(ValueError, match="plan"):
            module().gather(b"", np.array([], np.int64), np.array([], np.int64), 8, cut)


@pytest.mark.parametrize("count", [3, 0x000F_FFFF, 0xFFFF_FFFF])
def test_a_plan_with_more_tables_than_its_bytes_hold_is_refused(count: int) -> None:
    plan = count.to_bytes(4) + Plan.of(OF_BOTH.values(), []).data[4:]
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="plan"):
        module().gather(b"", np.array([], np.int64), np.array([], np.int64), 8, plan)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 16_384


def test_a_table_that_is_left_out_is_no_work_for_the_twin() -> None:
    body = mutation([PartitionUpdate(WIDE, bytes(16), None, None, [])])
    gathered = gather(module(), frames_of([body, body]), Plan.of([EACH], [WIDE.id]))
    assert (gathered.events, len(gathered.odd)) == ({}, 0)
    assert len(gather(module(), frames_of([body]), Plan.of([EACH], [])).odd) == 1


def test_a_cell_with_the_times_of_a_row_that_has_none_is_an_error() -> None:
    row = Row((bytes(4), b"x"), Liveness(9), None, {"i": Cell(9, bytes(4))})
    body = mutation([PartitionUpdate(EACH, b"\0\4" + bytes(5) + b"\0\1x\0", None, None, [row])])
    flags, cell = b"\x24\x00" + bytes(4) + b"\x01x", b"\x08" + bytes(4) + b"\x01"
    assert body.count(flags) == 1
    assert body.endswith(cell)
    without = body[: body.index(flags)] + b"\x20" + flags[1:] + cell
    frames = frames_of([body, without])
    assert gather(module(), frames, Plan.of(OF_BOTH.values(), [])).odd.tolist() == [1]
    with pytest.raises(ConnectError, match="A cell of column 'i' has the times of its row"):
        MutationDecoder(OF_BOTH, 8).decode(without)
