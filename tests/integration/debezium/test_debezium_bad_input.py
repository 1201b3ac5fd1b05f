"""What keeps Debezium's PostgreSQL connector from reading is told, each with what to do, and nothing is lost by it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from debezium_ours import _Context
from debezium_shop import Shop

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.deadline import Deadline

pytestmark = pytest.mark.timeout(300)
PARTITION = json.dumps({"server": "reading"})


@pytest.fixture
def shop() -> Iterator[Shop]:
    with ExitStack() as stack:
        yield Shop("postgres", stack)


def _ids(found: object) -> list[int]:
    assert isinstance(found, dict)
    return [record["value"]["payload"]["after"]["id"] for record in found.get("shop.orders", ())]


def test_a_slot_that_another_reader_holds_is_told_and_taken_once_it_is_free(shop: Shop) -> None:
    holder = shop.connector()
    holder.until_true(lambda found: _ids(found) == [1])
    shop.run("INSERT INTO shop.orders VALUES (2)")
    holder.until_true(lambda found: _ids(found) == [1, 2])
    waiting = shop.connector(holder.offsets)
    with pytest.raises(RetriableError, match='slot "reading" is active'):
        waiting.poll_once(Deadline.after(60))
    shop.run("INSERT INTO shop.orders VALUES (3)")
    holder.until_true(lambda found: 3 in _ids(found))
    holder.close()
    found = waiting.until_true(lambda found: _ids(found) == [3])
    waiting.close()
    assert _ids(found) == [3]


def test_a_publication_that_lacks_tables_is_refused_before_it_is_read(shop: Shop) -> None:
    shop.run("CREATE TABLE shop.items (id int PRIMARY KEY)", "CREATE PUBLICATION reading FOR TABLE shop.items")
    with pytest.raises(ConfigError, match=r"Publication reading lacks shop\.orders") as caught:
        shop.connector(**{"publication.autocreate.mode": "disabled"})
    assert [problem.key for problem in caught.value.problems] == ["publication.name"]


def test_a_server_that_makes_no_failover_slots_makes_another_one(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    makes_them = shop.rows("SELECT current_setting('server_version_num')::int >= 170000")[0][0]
    run = shop.connector(**{"slot.failover": "true"})
    run.until_true(lambda found: _ids(found) == [1])
    run.close()
    told = "slot.failover has no effect: standbys keep slots from PostgreSQL 17 on"
    assert (told in "".join(run.notes or ()), told in caplog.text) == (not makes_them, not makes_them)


def test_an_offset_ahead_of_the_servers_log_is_told(shop: Shop) -> None:
    first = shop.connector()
    first.until_true(lambda found: _ids(found) == [1])
    first.until_true(lambda _: not first.offsets[PARTITION].get("snapshot"))
    first.close()
    far = dict.fromkeys(("lsn", "lsn_proc", "lsn_commit"), 1 << 60)
    other = shop.connector({PARTITION: {**first.offsets[PARTITION], **far}})
    with pytest.raises(ConnectError, match="ahead of the server's log") as caught:
        other.until_true(lambda found: bool(_ids(found)))
    other.close()
    assert "eset the connector's offsets" in (caught.value.fix or "")
    anew = shop.connector({PARTITION: {**first.offsets[PARTITION], **far}}, **{"snapshot.mode": "when_needed"})
    anew.until_true(lambda found: _ids(found) == [1])
    anew.close()


def test_a_row_that_no_record_can_hold_shows_no_more_than_events_do(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected: list[dict[str, object]] = []
    monkeypatch.setattr(_Context, "reject", lambda _, batch, __: rejected.extend(batch.values.rows()))
    shop.run(
        "CREATE TABLE shop.people (id int PRIMARY KEY, amount numeric(9,2), out text, mask text, cut text)",
        "INSERT INTO shop.people VALUES (1, 'NaN', 'canary', 'canary', 'cut off')",
    )
    run = shop.connector(**{
        "column.exclude.list": "shop.people.out", "column.mask.with.3.chars": "shop.people.mask",
        "column.truncate.to.3.chars": "shop.people.cut", "table.include.list": "shop.people",
    })  # fmt: skip
    run.until_true(lambda _: len(rejected) == 1)
    shop.run("INSERT INTO shop.people VALUES (2, 'NaN', 'canary', NULL, NULL)")
    run.until_true(lambda _: len(rejected) == 2)
    run.close()
    assert rejected == [
        {"id": "1", "amount": "NaN", "mask": "***", "cut": "cut"},
        {"id": "2", "amount": "NaN", "mask": "***", "cut": None},
    ]
