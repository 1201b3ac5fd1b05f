"""Every column type of each database against a table a reviewer can read."""

from __future__ import annotations

from pathlib import Path

from jdbc_golden import MARIADB, POSTGRES, SQLITE, observed, observed_sqlite
from jdbc_server import Server

GOLDEN = Path(__file__).parent / "golden"
CASES = {"postgres": POSTGRES, "mariadb": MARIADB}


def _compare(name: str, lines: list[str], tmp_path: Path) -> None:
    # The file to look at, and to take over when a change is wanted.
    seen = tmp_path / f"{name}.md"
    seen.write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected = (GOLDEN / seen.name).read_text(encoding="utf-8").splitlines()
    different = [line for line in (*lines, *expected) if (line in lines) != (line in expected)]
    assert not different, f"{seen} differs"
    assert lines == expected


def test_each_type_becomes_what_the_golden_table_says(server: Server, tmp_path: Path) -> None:
    _compare(server.name, observed(server, CASES[server.name]), tmp_path)


def test_each_type_of_sqlite_becomes_what_the_golden_table_says(tmp_path: Path) -> None:
    _compare("sqlite", observed_sqlite(tmp_path / "types.db", SQLITE), tmp_path)
