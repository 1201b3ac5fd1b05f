"""Our records are those that Debezium's own connector wrote when it was recorded, in each mode of values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import psycopg
import pytest
from debezium_bed import connected, server_of_many_slots
from debezium_differences import applies, differences, unexplained
from debezium_modes import MODES
from debezium_ours import OurRun
from debezium_peer import postgres_config
from debezium_recordings import FOLDER, read, shortened
from debezium_tables import changes, has_all_rows, is_at_end, setup

from connect.tools.services.sql import SqlEndpoint

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def server() -> Iterator[SqlEndpoint]:
    with server_of_many_slots() as endpoint:
        yield endpoint


def test_records_are_those_that_debezium_wrote(server: SqlEndpoint) -> None:
    with connected(server) as database:
        _run(database, setup("inventory"))
        runs = {mode: _run_of(server, mode) for mode in MODES}
        for mode, run in runs.items():
            run.until_true(partial(has_all_rows, settings=MODES[mode]))
        _run(database, changes())
        found = set()
        for mode, run in runs.items():
            run.until_true(partial(is_at_end, settings=MODES[mode]))
            run.close()
            recorded = read(FOLDER / f"postgres-{mode}.json")
            places = differences(recorded, shortened(run.found), ("", ""), of_one_log=False)
            found |= {f"{mode}: {place}" for place in places}
    assert unexplained(found) == []
    assert applies(".c_name streamed", found), "What Debezium loses is not lost here."


def _run(database: psycopg.Connection[tuple[object, ...]], statements: list[str]) -> None:
    for statement in statements:
        database.execute(statement.encode())


def _run_of(server: SqlEndpoint, mode: str) -> OurRun:
    settings = {"schema.include.list": "inventory", "skipped.operations": "none", "slot.name": f"recorded_{mode}"}
    config = postgres_config(server, "recorded", **{**settings, "publication.name": f"p_{mode}", **MODES[mode]})
    return OurRun(config)
