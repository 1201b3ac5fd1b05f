"""Runs a random history of tables with change data capture and their agent: statements, and faults meanwhile.

The model only knows the README: the time of each statement has to be in the topic of each table that it wrote (once if
the agent writes in transactions), and the newest writes of all cells have to give the table.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from cassandra_agent import AgentProcess
from cassandra_node import Node
from cassandra_state import TableState
from e2e_worker import wait_for
from histories import History
from topic_reading import json_records

from connect.tools.services import KafkaEndpoint

KINDS: Final = {"s": "cell", "v": "cell", "d": "cell", "l": "list", "m": "map", "st": "set"}
TABLES: Final = ("t0", "t1")
_COLUMNS = "k int, c int, s text static, v text, d text, l list<int>, m map<text, int>, st set<int>, PRIMARY KEY (k, c)"
ENDED: Final = (0, -15)
"""An agent that is told to end has one of these exit codes; the second one if it did not yet handle signals."""
_SETTLE_S = 120
_SEGMENT_TEXT = "x" * 100_000


class CassandraHistory:
    """Writes to the tables of one keyspace, and harms what is around the agent."""

    def __init__(self, history: History, node: Node, kafka: KafkaEndpoint, agent: AgentProcess, keyspace: str) -> None:
        """Take the node and its agent. `agent` writes into topics that begin with the keyspace's name; nobody else uses
        them.
        """
        self._history, self._draw = history, history.draw
        self._node, self._kafka, self._agent = node, kafka, agent
        self._keyspace = keyspace
        self._written: dict[str, set[int]] = {table: set() for table in TABLES}
        self._with_d = set(TABLES)
        self._doomed: list[str] = []
        self._number = 0
        self._last_us = 0
        self._is_index_broken = False

    def run(self, rounds: int) -> None:
        """Do a number of rounds of statements with a fault each, and then check that everything is as promised."""
        self._node.keyspace(self._keyspace)
        for table in TABLES:
            self._node.run(f"CREATE TABLE {table} ({_COLUMNS}) WITH cdc = true")
        self._agent.start()
        for _ in range(rounds):
            for _ in range(self._draw.randint(5, 40)):
                self._write()
            self._fault()
        self._end_segments()

    def check(self, *, once: bool) -> None:
        """Wait until the topics have all that was written. Then check the tables and, if `once`, that no change came
        twice.
        """
        for table in TABLES:
            log = f"the agent's log is {self._agent.log_path}"
            wait_for(lambda table=table: not self._missing(table), _SETTLE_S, f"all changes of {table}; {log}")
            wait_for(lambda table=table: self._merged(table) == self._read(table), 30, f"the rows of {table}; {log}")
            ids = Counter(event["event_id"] for event in self._events(table))
            twice = [event_id for event_id, count in ids.items() if count > 1]
            assert not (once and twice), f"{len(twice)} changes of {table} came twice"

    # These methods write.

    def _write(self) -> None:
        draw, at_us = self._draw, self._now_us()
        table, k, c, n = draw.choice(TABLES), draw.randrange(8), draw.randrange(6), draw.randrange(1000)
        using, row = f"USING TIMESTAMP {at_us}", f"k = {k} AND c = {c}"
        ttl = f"{using} AND TTL {draw.choice([2, 86_400])}"
        insert = "INSERT INTO {} (k, c, s, v, l, m, st) VALUES"
        choices = [
            f"{insert} ({k}, {c}, 's{n}', '{n}', [{n}, 1], {{{{'a': {n}, 'b': 1}}}}, {{{{{n % 7}, 8}}}}) {using}",
            f"INSERT INTO {{}} (k, c, v) VALUES ({k}, {c}, 'ttl') {ttl}",
            f"UPDATE {{}} {using} SET l = l + [{n}], st = st + {{{{{n % 7}}}}} WHERE {row}",
            f"UPDATE {{}} {using} SET l = [{n}] + l, m['c'] = {n} WHERE {row}",
            f"UPDATE {{}} {using} SET l = [{n}] WHERE {row}",
            f"UPDATE {{}} {using} SET st = st - {{{{{n % 7}}}}}, s = '{n}' WHERE {row}",
            f"UPDATE {{}} {ttl} SET m['t'] = {n}, v = 'short' WHERE {row}",
            f"DELETE m['a'], v FROM {{}} {using} WHERE {row}",
            f"DELETE FROM {{}} {using} WHERE {row}",
            f"DELETE FROM {{}} {using} WHERE k = {k} AND c > {c}",
            f"DELETE FROM {{}} {using} WHERE k = {k} AND c >= {c} AND c < {c + 2}",
            f"DELETE FROM {{}} {using} WHERE k = {k}",
        ]
        if table in self._with_d:
            choices += [f"UPDATE {{}} {using} SET d = '{n}' WHERE {row}"] * 2
        statement = draw.choice(choices)
        if draw.random() < 0.3:
            self._batch(table, k, c, n, at_us)
            return
        self._written[table].add(at_us)
        self._node.run(statement.format(table))

    def _batch(self, table: str, k: int, c: int, n: int, at_us: int) -> None:
        """Apply one batch to several tables, some of which are dropped later."""
        tables = {table, *self._draw.sample([*TABLES, *self._doomed], 1)}
        inserts = [f"INSERT INTO {one} (k, c, v) VALUES ({k}, {c}, 'batch{n}');" for one in sorted(tables)]
        self._draw.shuffle(inserts)
        for one in tables & self._written.keys():
            self._written[one].add(at_us)
        self._node.run(f"BEGIN UNLOGGED BATCH USING TIMESTAMP {at_us} {' '.join(inserts)} APPLY BATCH")

    def _now_us(self) -> int:
        """Return a time in microseconds that no other statement has."""
        self._last_us = max(self._last_us + 1, time.time_ns() // 1000)
        return self._last_us

    # These methods are the faults.

    def _fault(self) -> None:
        faults = ["none", "kill", "restart", "make table", "drop table", "column", "broken index", "missing index"]
        fault = self._draw.choice(faults)
        self._history.note(fault)
        match fault:
            case "kill":
                self._agent.kill()
                self._agent.start()
            case "restart":
                assert self._agent.stop() in ENDED, self._agent.log_tail()
                self._agent.start()
            case "make table":
                self._number += 1
                self._doomed.append(f"doomed{self._number}")
                cdc = self._draw.choice(["true", "false"])
                self._node.run(f"CREATE TABLE doomed{self._number} ({_COLUMNS}) WITH cdc = {cdc}")
            case "drop table" if self._doomed:
                self._node.run(f"DROP TABLE {self._doomed.pop(self._draw.randrange(len(self._doomed)))}")
            case "column":
                self._column(self._draw.choice(TABLES))
            case "broken index" | "missing index":
                self._break_index(is_missing=fault == "missing index")

    def _column(self, table: str) -> None:
        if table in self._with_d:
            self._with_d.remove(table)
            self._node.run(f"ALTER TABLE {table} DROP d")
        else:
            self._node.run(f"ALTER TABLE {table} ADD d text")
            self._with_d.add(table)

    def _break_index(self, *, is_missing: bool) -> None:
        """Break an index file while the agent is away, and run statements behind it that the agent has not seen."""
        self._agent.kill()
        for _ in range(self._draw.randint(1, 10)):
            self._write()
        if self._draw.random() < 0.5:
            self._end_segments(force=True)
        found = sorted(self._node.endpoint.cdc_raw_folder.glob("*_cdc.idx"))
        if found:
            index = self._draw.choice(found)
            self._is_index_broken = True
            index.unlink() if is_missing else index.write_bytes(self._draw.choice([b"", b"\0\0\0\0", b"12x"]))
        self._agent.start()

    def _end_segments(self, *, force: bool = False) -> None:
        """Have the node begin a new segment: only then it is known how a broken index file ends."""
        if not (force or self._is_index_broken):
            return
        for c in range(24):
            at_us = self._now_us()
            self._written["t1"].add(at_us)
            self._node.run(f"INSERT INTO t1 (k, c, v) VALUES (100, {c}, '{_SEGMENT_TEXT}') USING TIMESTAMP {at_us}")

    # These methods read what the topics and the tables hold.

    def _events(self, table: str) -> list[Mapping[str, Any]]:
        return [record.value for record in json_records(self._kafka, f"{self._keyspace}.{self._keyspace}.{table}")]

    def _missing(self, table: str) -> set[int]:
        return self._written[table] - {event["writetime_us"] for event in self._events(table)}

    def _merged(self, table: str) -> dict[str, Any]:
        """Return the rows by the events, without the values of a dropped column: no event tells that it is gone."""
        dropped_us = self._dropped_us(table)
        state = TableState(["k"], ["c"], {name: kind for name, kind in KINDS.items() if self._has(table, name)}, {"s"})
        for event in self._events(table):
            columns = dict(event["columns"] or {})
            cell = columns.pop("d", None)
            if self._has(table, "d"):
                columns["d"] = cell if cell is not None and cell["writetime_us"] > dropped_us else None
            state.apply([{**event, "columns": columns}])
        return {key: _comparable(row) for key, row in state.rows().items()}

    def _read(self, table: str) -> dict[str, Any]:
        rows = self._node.json_rows(f"SELECT * FROM {self._keyspace}.{table}")
        return {json.dumps({"k": row["k"], "c": row["c"]}, sort_keys=True): _comparable(row) for row in rows}

    def _has(self, table: str, column: str) -> bool:
        return column != "d" or table in self._with_d

    def _dropped_us(self, table: str) -> int:
        query = (
            "SELECT toUnixTimestamp(dropped_time) AS ms FROM system_schema.dropped_columns WHERE keyspace_name = %s "
        )
        found = self._node.session.execute(
            f"{query} AND table_name = %s AND column_name = 'd'", (self._keyspace, table)
        )
        return max((1000 * row["ms"] for row in found), default=0)


def _comparable(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row in a form that can be compared: an empty collection becomes None, and a set has no order."""
    return {name: sorted(v) if name == "st" and v else v if v or v == 0 else None for name, v in row.items()}
