"""Draws statements by seed that change tables of MariaDB: all that its grammar has for columns, in many spellings."""

from __future__ import annotations

import random
from collections.abc import Sequence

TYPES = (
    "INT", "int(5) unsigned zerofill", "TINYINT UNSIGNED", "tinyint(1)", "BOOL", "SMALLINT", "MEDIUMINT UNSIGNED",
    "BIGINT UNSIGNED", "BIGINT SIGNED", "INTEGER", "DECIMAL(10,2) UNSIGNED", "NUMERIC(5)", "FLOAT(7,3)", "FLOAT",
    "REAL", "DOUBLE PRECISION", "DATE", "DATETIME(3)", "TIMESTAMP(6) NULL", "TIME(2)", "YEAR", "BIT(3)", "CHAR(5)",
    "CHARACTER VARYING(9)", "VARCHAR(9) CHARACTER SET latin1", "VARCHAR(9) CHARSET utf8mb3 COLLATE utf8mb3_bin",
    "VARCHAR(9) COLLATE latin2_general_ci", "CHAR(3) BINARY", "CHAR(3) BYTE", "VARCHAR(4) ASCII", "VARCHAR(4) UNICODE",
    "NATIONAL VARCHAR(4)", "NCHAR(3)", "LONG", "LONG VARBINARY", "LONG VARCHAR", "TEXT",
    "TINYTEXT CHARACTER SET binary", "MEDIUMTEXT", "LONGTEXT CHARSET koi8r", "JSON", "BLOB", "BINARY(4)",
    "VARBINARY(5)", "ENUM('a','b')", "ENUM('x','it''s','a,b','c)') CHARACTER SET latin1",
    "enum('ü','é ') collate utf8mb4_bin", "SET('a','b','c')", "SET('1','2','3','4','5','6','7','8','9') ASCII",
    "UUID", "INET6", "INET4", "GEOMETRY", "POINT", "VARCHAR(9) CHARACTER SET 'latin1'", 'ENUM("q","w\\"e")',
    "DEC(4,1)", "INT4", "INT8 UNSIGNED", "MIDDLEINT", "VARCHAR(10) CHARACTER SET binary",
    "ENUM('a','b') CHARACTER SET binary", "INT1 UNSIGNED", "Fixed(5,2)",
)  # fmt: skip
ATTRIBUTES = (
    *("", "", "", "NOT NULL", "NULL DEFAULT NULL", "INVISIBLE", "NULL"),
    *("COMMENT 'x, FIRST y AFTER z'", "COMMENT 'it''s; UNSIGNED'", "/* UNSIGNED */", "-- c\n", "/*!50000 NULL */"),
)
OPTIONS = (
    *("DEFAULT CHARACTER SET latin1", "DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin", "COLLATE koi8r_general_ci"),
    *("COMMENT='x'", "ENGINE=InnoDB ROW_FORMAT=DYNAMIC", "FORCE", "ALGORITHM=COPY", "PAGE_CHECKSUM=1"),
)
HEADS = (
    *("ALTER TABLE", "alter ignore table", "ALTER ONLINE TABLE", "/* h */ ALTER TABLE"),
    "SET STATEMENT max_statement_time=9 FOR ALTER TABLE",
)


class StatementDraw:
    """Draws statements for a few tables of one database; the server refuses some of them."""

    def __init__(self, seed: int, schema: str, names: Sequence[str]) -> None:
        self._random = random.Random(seed)
        self._schema = schema
        self._names = names
        self._count = 0

    def next(self, present: dict[str, list[str]]) -> str:
        """Return a statement. `present` has the columns of the tables that exist."""
        draw = self._random
        free = [name for name in self._names if name not in present]
        if not present or (free and draw.random() < 0.1):
            return self._made(draw.choice(free), sorted(present))
        table = draw.choice(sorted(present))
        if len(present) > 1 and draw.random() < 0.05:
            return f"DROP TABLE {draw.choice(['', 'IF EXISTS '])}`{table}`"
        parts = ", ".join(self._part(present[table]) for _ in range(draw.choice([1, 1, 1, 2, 3])))
        name = draw.choice([table, f"`{table}`", f"{self._schema}.{table}", f"`{self._schema}` . `{table}`"])
        tail = draw.choice(["", "", ", ALGORITHM=DEFAULT", " -- bye"])
        return f"{draw.choice(HEADS)} {name} {draw.choice(['', '', 'WAIT 5 ', 'NOWAIT '])}{parts}{tail}"

    def _made(self, name: str, present: Sequence[str]) -> str:
        draw = self._random
        options = draw.choice(
            ["", "DEFAULT CHARSET=latin1", "ENGINE=InnoDB COLLATE utf8mb4_bin", "CHARACTER SET = ucs2"]
        )
        made = [
            f"CREATE TABLE {name} (id INT, {self._column()}, {self._column()}, PRIMARY KEY (id)) {options}",
            f"CREATE TABLE IF NOT EXISTS {self._schema}.{name} (`id` SERIAL, {self._column()}, KEY (id))",
        ]
        if present:
            other = draw.choice(present)
            made += [f"CREATE TABLE {name} LIKE {other}", f"RENAME TABLE {self._schema}.{other} TO {name}"]
        return draw.choice(made)

    def _column(self, name: str = "") -> str:
        draw = self._random
        self._count += 1
        name = name or f"c{self._count}"
        return f"{draw.choice([f'`{name}`', name, name.upper()])} {draw.choice(TYPES)} {draw.choice(ATTRIBUTES)}"

    def _part(self, columns: Sequence[str]) -> str:
        draw = self._random
        column = draw.choice(columns)
        place = draw.choice(["", "", "", " FIRST", f" AFTER `{draw.choice(columns)}`"])
        word = draw.choice(["", "COLUMN "])
        self._count += 1
        return draw.choice(
            [
                f"ADD {word}{draw.choice(['', 'IF NOT EXISTS '])}{self._column()}{place}",
                f"ADD COLUMN ({self._column()}, {self._column()})",
                f"MODIFY {word}{self._column(column)}{place}",
                f"CHANGE {word}`{column}` {self._column()}{place}",
                f"DROP {word}{draw.choice(['', 'IF EXISTS '])}`{column}`",
                f"RENAME COLUMN `{column}` TO r{self._count}",
                f"CONVERT TO CHARACTER SET {draw.choice(['latin1', 'utf8mb4', 'utf8', 'ucs2'])}",
                draw.choice(OPTIONS),
                f"ADD INDEX i{self._count} (`{columns[0]}`)",
                f"ADD UNIQUE KEY u{self._count} (`{columns[0]}`)",
                "DROP PRIMARY KEY" + draw.choice(["", f", ADD PRIMARY KEY (`{columns[-1]}`)"]),
                f"ALTER `{column}` SET DEFAULT 1",
            ]
        )
