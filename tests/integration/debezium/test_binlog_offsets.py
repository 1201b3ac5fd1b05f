"""Goes on from offsets as Debezium writes them: in the midst of a transaction the rows that it delivered do not come
again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from binlog_servers import binlog_server
from debezium_ours import OurRun

pytestmark = pytest.mark.timeout(300)
PARTITION = '{"server": "half"}'


@pytest.mark.parametrize("kind", ["mariadb", "mysql"])
@pytest.mark.parametrize(("event", "row", "left"), [(2, 2, [3, 4, 5, 6]), (2, 3, [4, 5, 6]), (4, 1, [5, 6])])
def test_an_offset_within_a_transaction_goes_on_behind_its_row(
    kind: str, event: int, row: int, left: list[int]
) -> None:
    """The event that begins the transaction counts, and so do those of the table's map before each event of rows."""
    with binlog_server(kind) as server:
        server.run("CREATE DATABASE shop", "CREATE TABLE shop.orders (id int PRIMARY KEY)")
        config = server.config("half", **{"database.include.list": "shop"})
        before = OurRun(config)
        before.until_true(lambda _: PARTITION in before.offsets and "snapshot" not in before.offsets[PARTITION])
        before.close()
        place = before.offsets[PARTITION]
        kept = {name: place[name] for name in ("file", "pos", "gtids") if name in place}
        offset = {**kept, "event": event, "row": row, "server_id": 1, "ts_sec": 1}
        server.run(
            *("BEGIN", "INSERT INTO shop.orders VALUES (1), (2), (3)", "INSERT INTO shop.orders VALUES (4), (5), (6)"),
            *("COMMIT", "INSERT INTO shop.orders VALUES (7)"),
        )
        run = OurRun(config, {PARTITION: offset})
        found = run.until_true(lambda found: 7 in _ids(found))
        run.close()
    assert _ids(found) == [*left, 7]


def _ids(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[int]:
    return [record["value"]["payload"]["after"]["id"] for record in found.get("shop.orders", ())]
