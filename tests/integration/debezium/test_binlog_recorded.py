"""Our records are those that Debezium's own MySQL connector wrote when it was recorded, in each mode of values."""

from __future__ import annotations

import pytest
from binlog_differences import KNOWN, OF_MARIADB, unexplained
from binlog_modes import MODES
from binlog_servers import binlog_server
from binlog_tables import changes, has_all_rows, is_at_end, setup
from debezium_differences import differences
from debezium_ours import OurRun
from debezium_recordings import FOLDER, NAME, read, shortened

pytestmark = pytest.mark.timeout(600)


@pytest.mark.parametrize(
    ("kind", "metadata"), [("mariadb", "FULL"), ("mariadb", "NO_LOG"), ("mysql", "FULL"), ("mysql", "MINIMAL")]
)
def test_records_are_those_that_debezium_wrote(kind: str, metadata: str) -> None:
    """Servers log what FULL means only where somebody set it; else the columns are known by their history."""
    known = KNOWN if kind == "mysql" else {**KNOWN, **OF_MARIADB}
    with binlog_server(kind, metadata) as server:
        server.run(*setup(kind))
        include = {"database.include.list": "inventory"}
        runs = {mode: OurRun(server.config(NAME, **{**include, **MODES[mode]})) for mode in MODES}
        for run in runs.values():
            run.until_true(has_all_rows)
        server.run(*changes(kind))
        found = set()
        for mode, run in runs.items():
            run.until_true(is_at_end)
            run.close()
            recorded = read(FOLDER / f"mysql-{mode}.json")
            places = differences(recorded, shortened(run.found), ("", ""), of_one_log=False)
            found |= {f"{mode}: {place}" for place in places}
    assert unexplained(found, known) == []
    assert [reason for name, reason in known.items() if not any(name in place for place in found)] == []
