"""Every column type of each database against a table a reviewer can read."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import md5
from pathlib import Path

import pytest
from jdbc_drive import OffsetStore, batches, rows
from jdbc_golden import MARIADB, POSTGRES, SQLITE, observed, observed_sqlite
from jdbc_server import Server

from connectors.jdbc import native

GOLDEN = Path(__file__).parent / "golden"
CASES = {"postgres": POSTGRES, "mariadb": MARIADB}


def _expected(name: str) -> list[str]:
    return (GOLDEN / f"{name}.md").read_text(encoding="utf-8").splitlines()


def _compare(name: str, lines: list[str], tmp_path: Path) -> None:
    # The file to look at, and to take over when a change is wanted.
    seen = tmp_path / f"{name}.md"
    seen.write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected = _expected(name)
    different = [line for line in (*lines, *expected) if (line in lines) != (line in expected)]
    assert not different, f"{seen} differs"
    assert lines == expected


@pytest.fixture(params=["on", pytest.param("off", marks=pytest.mark.chaos)])
def native_code(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The readers in C++, and those of ADBC and NumPy."""
    caches = native.module, native.libpq_module
    monkeypatch.setenv("CONNECT_NATIVE", request.param)
    for cached in caches:
        cached.cache_clear()
    if request.param == "on" and native.libpq_module() is None:
        pytest.skip("NOT CHECKED: connectors.jdbc.native was not built; it needs a C++17 compiler at install")
    yield
    for cached in caches:
        cached.cache_clear()


@pytest.mark.usefixtures("native_code")
def test_each_type_becomes_what_the_golden_table_says(server: Server, tmp_path: Path) -> None:
    _compare(server.name, observed(server, CASES[server.name], _expected(server.name)), tmp_path)


LONG_TEXT = {
    "postgres": "SELECT i, CASE WHEN mod(i, 7) > 0 THEN repeat(md5(i::text), mod(i, 400)) END "
    "FROM generate_series(1, 3000) i",
    "mariadb": "SELECT seq, CASE WHEN mod(seq, 7) > 0 THEN repeat(md5(seq), mod(seq, 400)) END FROM seq_1_to_3000",
}


@pytest.mark.usefixtures("native_code")
def test_rows_of_many_sizes_come_whole_through_many_chunks(server: Server) -> None:
    server.run("CREATE TABLE {t} (id BIGINT PRIMARY KEY, text TEXT)", f"INSERT INTO {{t}} {LONG_TEXT[server.name]}")
    store = OffsetStore()
    task = server.opened(store, mode="incrementing", incrementing__column__name="id", batch__max__rows=100_000)
    read = rows(batches(task, store))
    task.close()
    assert [row["id"] for row in read] == list(range(1, 3001))
    digests = [md5(str(i).encode(), usedforsecurity=False).hexdigest() for i in range(3001)]
    assert [row["text"] for row in read] == [digests[i] * (i % 400) if i % 7 else None for i in range(1, 3001)]


def test_each_type_of_sqlite_becomes_what_the_golden_table_says(tmp_path: Path) -> None:
    _compare("sqlite", observed_sqlite(tmp_path / "types.db", SQLITE, _expected("sqlite")), tmp_path)
