"""Holds broken sources over a SQLite table that each break one promise."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

from kit_table import PARTITION, START, TableConfig, TableConnector, TableSource, reached

from connect.api.config import ConnectorConfig, Int, String, at_least, key
from connect.api.connector import SourceContext
from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.api.records import Batch, SourcePosition
from connect.api.url import Url, UrlText
from connect.lib.deadline import Deadline


class AcksEarlyTask(TableSource):
    """Prunes rows upstream when they are read, not when they are stored."""

    def query(self) -> list[dict[str, Any]]:
        found = self.select("SELECT * FROM rows WHERE NOT pruned ORDER BY tie, id LIMIT :most", {"most": 7})
        rows = self.of_one_topic(found)
        for row in rows:
            self.select("UPDATE rows SET pruned = 1 WHERE id = :id RETURNING id", row)
        return rows


class PrefetchesTask(AcksEarlyTask):
    """Reads, prunes and holds more batches than it gives away."""

    def __init__(self, config: TableConfig) -> None:
        super().__init__(config)
        self.held: list[dict[str, Any]] = []

    def query(self) -> list[dict[str, Any]]:
        while rows := super().query():
            self.held += rows
        given = self.of_one_topic(self.held[:7])
        self.held = self.held[len(given) :]
        return given


class KeepsOnlyTheTieTask(TableSource):
    def query(self) -> list[dict[str, Any]]:
        return self.select("SELECT * FROM rows WHERE tie > :tie ORDER BY tie, id LIMIT 7", dict(self.place))


class DropsNoneTask(TableSource):
    def value(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return {k: "" if k == "text" and v is None else v for k, v in super().value(row).items()}


class CastsIntToFloatTask(TableSource):
    def value(self, row: Mapping[str, Any]) -> dict[str, Any]:
        whole = row["whole"]
        return {**super().value(row), "whole": None if whole is None else min(int(float(whole)), 2**63 - 1024)}


class IgnoresTheDeadlineTask(TableSource):
    """Waits too long when it has no time."""

    def poll(self, deadline: Deadline) -> Batch | None:
        if deadline.expired:
            threading.Event().wait(2.0)
        return super().poll(deadline)


class IgnoresStopTask(TableSource):
    def wait(self, deadline: Deadline) -> bool:
        threading.Event().wait(min(2.0, max(0.0, deadline.at_s - time.monotonic())))
        return not deadline.expired


class SpinsTask(TableSource):
    def wait(self, deadline: Deadline) -> bool:
        return not deadline.expired


class LosesARowAtTheEdgeTask(TableSource):
    """Resumes one row too far."""

    def open(self, ctx: SourceContext) -> None:
        super().open(ctx)
        if self.place is not START:
            self.place = {name: place + 1 for name, place in self.place.items()}


class RepeatsAfterARestartTask(TableSource):
    """Resumes at the last row instead of after it."""

    def open(self, ctx: SourceContext) -> None:
        super().open(ctx)
        if self.place is not START:
            self.place = {**self.place, "id": self.place["id"] - 1}


class ForgetsTheOffsetTask(TableSource):
    def open(self, ctx: SourceContext) -> None:
        super().open(ctx)
        self.place = START


class ReversesTask(TableSource):
    def batch(self, rows: Sequence[dict[str, Any]]) -> Batch:
        return super().batch(rows[::-1])


class LeaksAThreadTask(TableSource):
    def open(self, ctx: SourceContext) -> None:
        super().open(ctx)
        threading.Thread(target=threading.Event().wait, daemon=True).start()


class LeaksAFileTask(TableSource):
    kept: list[object] = []  # noqa: RUF012 - the leak

    def open(self, ctx: SourceContext) -> None:
        super().open(ctx)
        self.kept.append(Path(self.config.database).open("rb"))  # noqa: SIM115 - the leak


class ClosesOnceTask(TableSource):
    closed = False

    def close(self) -> None:
        if self.closed:
            raise ConnectError("Closed already.")
        self.closed = True


class SwallowsDeletesTask(TableSource):
    def query(self) -> list[dict[str, Any]]:
        return [row for row in super().query() if not row["deleted"]]


class DiesOfALostConnectionTask(TableSource):
    """Goes on behind the rows although the query has failed."""

    def query(self) -> list[dict[str, Any]]:
        try:
            return super().query()
        except RetriableError:
            self.place = {name: place + 7 for name, place in self.place.items()}
            raise


class DropsUnreadableRowsTask(TableSource):
    def readable(self, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        return [row for row in rows if not isinstance(row["text"], bytes)]


class StaysAtUnreadableRowsTask(TableSource):
    """Takes the last row that it could read for its place."""

    def readable(self, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        good = super().readable(rows)
        if good and good[-1] is not rows[-1]:
            self.place = {"tie": good[-1]["tie"], "id": good[-1]["id"]}
        return good


class BadOffsetsTask(TableSource):
    def batch(self, rows: Sequence[dict[str, Any]]) -> Batch:
        batch = super().batch(rows)
        return Batch("rows", batch.values, batch.keys, position=SourcePosition(PARTITION, {"place": object()}))


class LeaksASecret(TableConnector):
    def check(self, deadline: Deadline) -> None:
        assert self.config.password is not None
        raise ConnectError(f"Login with {self.config.password.get_secret_value()} failed.")


class LogsASecret(TableConnector):
    def check(self, deadline: Deadline) -> None:
        import logging

        logging.getLogger("kit").debug("settings: %s", dict(self.config.originals))
        super().check(deadline)


class SecretlessConfig(ConnectorConfig):
    """Declares nothing as secret, although people put secrets into it."""

    database: String = key("database", doc="The file of the SQLite database.", importance="high")
    batch_max_rows: Annotated[Int, at_least(1)] = key("batch.max.rows", 7, doc="Rows per batch.")


class UrlConfig(SecretlessConfig):
    url: Url = key("url", UrlText(""), doc="Where a copy is.")


class LeaksAUrl(TableConnector):
    def check(self, deadline: Deadline) -> None:
        raise ConnectError(f"Nothing answers at {getattr(self.config, 'url', '')}.")


class SplitsWithoutAsking(TableConnector):
    """Looks for its place where the new split would have stored it."""

    def resume(self, stored: Sequence[SourcePosition]) -> None:
        pass


class LeavesItsReader(TableConnector):
    def clean_up(self, deadline: Deadline) -> str | None:
        with reached(self.config.database):
            return None


class CleansUpOnce(TableConnector):
    """Fails if the reader is gone already."""

    def clean_up(self, deadline: Deadline) -> str | None:
        with reached(self.config.database) as connection:
            if not connection.execute("DELETE FROM readers WHERE name = 'kit'").rowcount:
                raise ConnectError("There is no reader kit.")
        return None


class CleansUpInSilence(TableConnector):
    """Says that all is well while the database is away."""

    def clean_up(self, deadline: Deadline) -> str | None:
        with suppress(RetriableError):
            return super().clean_up(deadline)
        return None


class CopiesTheRows(TableConnector):
    """Gives all rows to each task."""

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [dict(self.config.originals)] * max_tasks


class PlansTooMany(TableConnector):
    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [dict(self.config.originals)] * max(max_tasks, 2)


class OddKeysConfig(TableConfig):
    camel: String = key("batchSize", "1", doc="A key in the wrong case.")


class UndocumentedConfig(TableConfig):
    silent: String = key("silent", "1", doc="")


class BadDefaultConfig(TableConfig):
    most: Annotated[Int, at_least(1)] = key("rows.most", 0, doc="The default is out of range.")


class AcksEarly(TableConnector):
    task_class = AcksEarlyTask


class Prefetches(TableConnector):
    task_class = PrefetchesTask


class KeepsOnlyTheTie(TableConnector):
    task_class = KeepsOnlyTheTieTask


class DropsNone(TableConnector):
    task_class = DropsNoneTask


class CastsIntToFloat(TableConnector):
    task_class = CastsIntToFloatTask


class IgnoresTheDeadline(TableConnector):
    task_class = IgnoresTheDeadlineTask


class IgnoresStop(TableConnector):
    task_class = IgnoresStopTask


class Spins(TableConnector):
    task_class = SpinsTask


class LosesARowAtTheEdge(TableConnector):
    task_class = LosesARowAtTheEdgeTask


class RepeatsAfterARestart(TableConnector):
    task_class = RepeatsAfterARestartTask


class ForgetsTheOffset(TableConnector):
    task_class = ForgetsTheOffsetTask


class Reverses(TableConnector):
    task_class = ReversesTask


class LeaksAThread(TableConnector):
    task_class = LeaksAThreadTask


class LeaksAFile(TableConnector):
    task_class = LeaksAFileTask


class ClosesOnce(TableConnector):
    task_class = ClosesOnceTask


class SwallowsDeletes(TableConnector):
    task_class = SwallowsDeletesTask


class DiesOfALostConnection(TableConnector):
    task_class = DiesOfALostConnectionTask


class DropsUnreadableRows(TableConnector):
    task_class = DropsUnreadableRowsTask


class StaysAtUnreadableRows(TableConnector):
    task_class = StaysAtUnreadableRowsTask


class BadOffsets(TableConnector):
    task_class = BadOffsetsTask


class ChecksNothing(TableConnector):
    def check(self, deadline: Deadline) -> None:
        pass


class RefusesItsExample(TableConnector):
    def check(self, deadline: Deadline) -> None:
        raise ConfigError("This configuration is wrong.", key="database")
