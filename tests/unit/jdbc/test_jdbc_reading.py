"""A reader whose connection breaks at any step hands out every page, and none twice."""

from __future__ import annotations

from collections.abc import Callable
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from connect.api import schema as s
from connect.api.errors import RetriableError
from connectors.jdbc.connection.pages import Page, PageRules
from connectors.jdbc.database.query import table_source
from connectors.jdbc.follow.modes import Incrementing, Ordering
from connectors.jdbc.follow.reading import Connections, ReadingPlan, TableReader
from connectors.jdbc.settings.table_choice import TableName
from connectors.jdbc.values.columns import RowFormat, TimeRules
from connectors.jdbc.values.types import ColumnPlan, Raw

COLUMNS = [ColumnPlan("id", Raw.INTEGER, s.INT64)]
SOURCE = table_source(TableName(None, "t"), COLUMNS, quote=False)


class Breaks:
    """Counts the steps that touch the database, and fails at one of them."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.step = 0

    def may_fail(self) -> None:
        self.step += 1
        if self.step == self.at:
            raise RetriableError("lost")


class FakeDatabase:
    """Rows 1 to 10, in pages, over a connection that breaks."""

    dialect_name = "fake"
    wanted_as_text = frozenset()

    def __init__(self, breaks: Breaks) -> None:
        self._breaks = breaks

    def pages(self, statement: sa.Select, rules: PageRules, doing: str) -> FakePages:
        self._breaks.may_fail()
        after = next(iter(statement.compile().params.values()))
        return FakePages(list(range(after + 1, 11)), rules, self._breaks.may_fail)

    def end_transaction(self) -> None:
        self._breaks.may_fail()

    def close(self) -> None: ...


class FakePages:
    def __init__(self, ids: list[int], rules: PageRules, may_fail: Callable[[], None]) -> None:
        self._ids, self._rules, self._may_fail = ids, rules, may_fail

    def next(self) -> Page:
        self._may_fail()
        # Like the generic reader: a page, and the row after it.
        taken, self._ids = self._ids[: self._rules.rows], self._ids[self._rules.rows :]
        following = (self._ids[0],) if self._ids else None
        return Page(self._rules.format.build([taken]), (taken[-1],) if taken else None, following)

    def close(self) -> None:
        self._may_fail()


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("broken_step", range(1, 20))
def test_a_break_at_any_step_loses_and_repeats_nothing(broken_step, paged):
    breaks = Breaks(broken_step)
    plan = ReadingPlan(
        label="table t",
        topic="t",
        partition={},
        source=SOURCE,
        format=RowFormat("t", "t", COLUMNS, TimeRules(ZoneInfo("UTC"), "connect_logical")),
        mode=Incrementing(Ordering((SOURCE.column("id"),), (0,)), None, 0),
        page_rows=3,
        paged=paged,
        interval_s=0,
    )
    reader = TableReader(plan, Connections(lambda: FakeDatabase(breaks)))
    read, failures = [], 0
    for _ in range(12):
        try:
            batch = reader.read()
        except RetriableError:
            failures += 1
            assert failures < 2
            continue
        read += [row["id"] for row in batch.values.rows()] if batch is not None else []
    assert read == list(range(1, 11))
