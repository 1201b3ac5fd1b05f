"""A worker installs only what it runs: SQLite needs no other driver, and MariaDB none of PostgreSQL."""

import subprocess
import sys

import pytest

OF_POSTGRESQL = {"adbc_driver_manager", "adbc_driver_postgresql", "psycopg"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("missing", "modules"),
    [
        (OF_POSTGRESQL | {"pymysql"}, "connectors.jdbc.source.connector"),
        (OF_POSTGRESQL, "connectors.jdbc.log.task, connectors.jdbc.log.mysql.reader"),
    ],
)
def test_it_can_be_imported_without_the_drivers_of_other_databases(missing, modules):
    program = f"import sys; sys.modules.update(dict.fromkeys({sorted(missing)!r})); import {modules}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.thorough
def test_a_task_over_postgresql_needs_no_driver_that_native_code_stands_in_for():
    pytest.importorskip("connectors.jdbc.native._rows", reason="native code was not built")
    program = (
        "import sys\n"
        "sys.modules.update(dict.fromkeys(['adbc_driver_manager', 'adbc_driver_postgresql']))\n"
        "from connectors.jdbc.settings.config import JdbcSourceConfig\n"
        "from connectors.jdbc.connection.connection import Database\n"
        "config = JdbcSourceConfig.parse({'name': 'c', 'connector.class': 'JdbcSourceConnector', 'mode': 'bulk',"
        " 'connection.url': 'jdbc:postgresql://localhost:1/d', 'topic.prefix': 't-', 'table.whitelist': 'a'})\n"
        "database = Database(config)\n"
        "assert type(database._reader._arrow).__name__ == 'PostgresCopy', database._reader\n"
        "database.close()\n"
        "assert 'polars' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
