"""Runs random histories of the BigQuery sink: tasks that poll, land, die, freeze and lose partitions, by the README.

The model is the log, the offsets that were committed and the letters; all else is read from the service's tables.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from bigquery_history_checks import check_budget, check_views
from bigquery_history_log import Sent, Topics, batches
from bigquery_history_member import Member
from bigquery_history_readers import Readers
from bigquery_history_settings import DAYS_A_SECOND, MANY, MODES, Drawn
from bigquery_history_tries import tries
from histories import History
from plain_bigquery import PlainBigQuery
from plain_bigquery_client import PlainClient, ProcessDiedError

from connect.api.errors import ConfigError, RejectedRowsError, RetriableError
from connect.api.records import Batch, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.sink import BigQuerySinkTask

SETTLE_S: Final = 90.0
"""Within this time, with nothing in the way, something is committed."""


class BigQueryHistory:
    """One history. Its settings are drawn once."""

    def __init__(self, service: PlainBigQuery, clients: list[PlainClient], history: History) -> None:
        """`clients`: the next one that a task opens is put there."""
        draw = history.draw
        self._service, self._clients, self._history, self._draw = service, clients, history, draw
        drawn = self._drawn = Drawn.of(draw)
        names, self._promise, self._tasks = drawn.names, drawn.promise, drawn.tasks
        self._topics, self._settings = Topics(draw, names), dict(drawn.settings)
        service.now_s = self._wall_s
        self._table_of = {name: "t" if "topic2TableMap" in self._settings else name for name in names}
        self._grows_most = 12 if len(names) < MANY else 120
        self._topic_ids: dict[str, str | None] = {}
        self._committed = dict.fromkeys(self._topics.logs, 0)
        self._changed_at = dict(self._committed)
        self._letters: set[tuple[str, str, int, int]] = set()
        self._readers = Readers(
            service, self._settings, self._topics, self._table_of, self._promise, self._letters, self._committed,
            self._changed_at,
        )  # fmt: skip
        self._clock_s, self._may_die = 100.0, True
        self._members: list[Member] = []
        self._frozen: list[Member] = []
        self._learn_ids()
        history.note("settings", forms=self._topics.forms, topics=names, **self._settings)

    def run(self, steps: int) -> None:
        """Do random steps, then let everybody end with nothing in the way."""
        self._rebalance()
        for topic in self._table_of:
            self._topics.plain(TopicPartition(topic, 0))
        self._drain()
        doings = [self._grow] * 3 + [self._poll] * 6 + [self._flush] * 8 + [self._faults, self._thaw] * 2 + [
            self._freeze, self._kill, self._rebalance, self._rewind, self._anew, self._stream]  # fmt: skip
        doings += [self._change_mode] * 2 if self._drawn.may_log else []
        for number in range(steps // 3 if self._drawn.comes_to_view else steps):
            if self._drawn.comes_to_view and number == steps // 6:
                self._stand_behind(lambda: self._go_on_with("view"))
            self._clock_s += self._draw.choice([0.0, 0.1, 1.0])
            self._draw.choice(doings)()
        self._finish()

    def close(self) -> None:
        for member in [*self._members, *self._frozen]:
            self._end(member)

    # The group.

    def _wall_s(self) -> float:
        return (20_000 + self._clock_s * DAYS_A_SECOND) * 86_400

    def _born(self, number: int) -> Member:
        with tries(self._service, self._history.note) as each:
            for _ in each:
                client = PlainClient(self._service)
                self._clients.append(client)
                task = BigQuerySinkTask(BigQuerySinkConfig.parse(self._settings), lambda: self._clock_s, self._wall_s)
                context = FakeSinkContext(task=number, topic_ids=self._topic_ids, records=self._topics.has)
                try:
                    task.open(context)
                except RetriableError:
                    task.close()
                    continue
                return Member(number, task, client, context, self._settings.get("dedup.mode", ""))
        raise AssertionError("a task never opens")

    def _rebalance(self) -> None:
        self._history.note("rebalance")
        numbers = {member.number for member in self._members}
        self._members += [self._born(number) for number in range(self._tasks) if number not in numbers]
        owners = {partition: self._draw.choice(self._members) for partition in self._topics.logs}
        for member in self._members:
            gone = [p for p in member.reads if owners[p] is not member]
            member.task.revoked(gone)
            member.reads = {p: at for p, at in member.reads.items() if p not in gone}
        for partition, member in owners.items():
            if partition not in member.reads:
                member.task.assigned([partition])
                member.reads[partition] = self._committed[partition]

    def _end(self, member: Member) -> None:
        """The process is gone, whatever its threads do."""
        member.client.calls_left = 0
        member.client.awake.set()
        with suppress(ProcessDiedError):
            member.task.close()

    def _bury(self, member: Member) -> None:
        self._history.note("dead", task=member.number)
        self._end(member)
        if member in self._frozen:
            self._frozen.remove(member)
        else:
            self._members.remove(member)
            self._rebalance()

    # Steps.

    def _grow(self) -> None:
        self._topics.grow(self._draw.randint(1, self._grows_most))

    def _poll(self) -> None:
        member = self._draw.choice(self._members)
        if member.reads:
            partition = self._draw.choice(list(member.reads))
            self._mortally(member, lambda: self._read(member, partition, self._draw.randint(1, 15)))

    def _read(self, member: Member, partition: TopicPartition, count: int) -> None:
        start = member.reads[partition]
        rows = self._topics.read(partition, start, count)
        if not rows:
            return
        end = rows[-1].offset + 1
        self._history.note("poll", task=member.number, partition=str(partition), start=start, end=end)
        member.known.update({(partition, row.offset): row for row in rows})
        for batch in batches(rows, end):
            self._put(member, batch)
        member.puts.add((partition, self._topics.id_of(partition.topic)))
        member.reads[partition] = end

    def _put(self, member: Member, batch: Batch) -> None:
        """As the worker does: the same batch until it is taken, refused rows to the dead letters."""
        assert batch.consumed is not None
        with tries(self._service, self._history.note) as each:
            for _ in each:
                try:
                    member.task.put(batch, Deadline.after(10))
                except RetriableError:
                    self._clock_s += 1
                    continue
                except RejectedRowsError as error:
                    for row, why in error.rows.items():
                        offset = batch.consumed.offsets[row].as_py()
                        self._letter(member.known[batch.consumed.topic_partition, offset], why)
                self._read_letters(member)
                return
        raise AssertionError("the sink takes a batch never again, though the service is well")

    def _read_letters(self, member: Member) -> None:
        """Note the records that the task gave up after their put."""
        for record, why in member.context.rejected:
            assert record.partition is not None
            assert record.offset is not None
            self._letter(member.known[TopicPartition(record.topic, record.partition), record.offset], why)
        member.context.rejected.clear()

    def _letter(self, sent: Sent, why: object) -> None:
        assert self._promise.is_bad(sent), f"a good record is refused: {sent}: {why}"
        self._letters.add(sent.place)

    def _flush(self) -> None:
        member = self._draw.choice(self._members)
        self._mortally(member, lambda: self._commit(member, is_lost=self._draw.random() < 0.2))

    def _commit(self, member: Member, *, is_lost: bool = False) -> None:
        try:
            durable = member.task.flush(Deadline.after(10))
        except RetriableError as error:
            self._history.note("flush", task=member.number, waits=str(error)[:160])
            self._read_letters(member)
            return
        self._read_letters(member)
        if is_lost or member not in self._members:
            return
        for partition, offset in durable.items():
            is_of_now = (partition, self._topics.id_of(partition.topic)) in member.puts
            if is_of_now and partition in member.reads and offset > self._committed[partition]:
                self._history.note("commit", task=member.number, partition=str(partition), offset=offset)
                self._committed[partition] = offset

    def _mortally(self, member: Member, act: Any) -> None:
        """Now and then the process dies at a request, of whatever thread."""
        if self._may_die and member.client.calls_left is None and self._draw.random() < 0.08:
            member.client.calls_left = self._draw.randrange(40)
        try:
            act()
        except ProcessDiedError:
            self._bury(member)
        except ConfigError as error:
            if not self._readers.see_views:
                raise
            if member in self._frozen and member.mode != "view":
                self._bury(member)  # of a mode that merged, it may not go on
                return
            if "was given another dedup.mode while" in error.message:
                self._bury(member)  # a process that was frozen did so, and a restart goes on
                return
            self._merge_alone()

    def _kill(self) -> None:
        self._bury(self._draw.choice(self._members))

    def _freeze(self) -> None:
        """A process stands still in the midst of its requests, and another has its place."""
        if len(self._frozen) < 2:
            member = self._members.pop(self._draw.randrange(len(self._members)))
            self._history.note("freeze", task=member.number)
            member.client.awake.clear()
            self._frozen.insert(0, member)
            self._rebalance()

    def _thaw(self, flushes: int = 4) -> None:
        """It goes on as if nothing had happened; its commits are refused. After so many `flushes` it may be dead."""
        if not self._frozen:
            return
        member = self._frozen[0]
        self._history.note("thaw", task=member.number)
        member.client.awake.set()
        for partition in list(member.reads):
            if member in self._frozen and (partition, self._topics.id_of(partition.topic)) in member.puts:
                self._mortally(member, lambda partition=partition: self._read(member, partition, 10))
            for _ in range(flushes):
                if member in self._frozen:
                    self._clock_s += 1
                    self._mortally(member, lambda: self._commit(member))
                    Deadline.after(1).wait(0.005)  # its threads write meanwhile
        if member in self._frozen and self._draw.random() < 0.5:
            self._bury(member)

    def _rewind(self) -> None:
        """Offsets are reset, which needs a group without members."""
        self._history.note("rewind")
        for member in self._members:
            self._end(member)
        self._members = []
        for partition, offset in self._committed.items():
            first = self._topics.begins.get(partition, 0)
            self._committed[partition] = self._draw.choice([first, self._draw.randint(first, offset)])
        self._rebalance()

    def _anew(self) -> None:
        """All is written; then the topic is made anew. Consumers begin anew or, if it is full at once, go on."""
        topic, is_seen = self._draw.choice(list(self._table_of)), self._draw.random() < 0.5
        self._drain()
        self._history.note("anew", topic=topic, is_seen=is_seen)
        self._topics.anew(topic, {} if is_seen else self._committed)
        self._learn_ids()
        for partition in [one for one in self._topics.logs if one.topic == topic]:
            if is_seen:
                self._committed[partition] = self._changed_at[partition] = 0
                for member in self._members:
                    member.begin_anew(partition)
            if self._draw.random() < 0.9:
                self._topics.grow(1)

    def _change_mode(self) -> None:
        """Rows are merged at once from now on, or by way of the log, with what the other mode has written there."""
        if not self._readers.see_views and self._draw.random() < 0.5:
            self._stand_behind(self._change)
        else:
            self._change()

    def _stand_behind(self, change: Callable[[], None]) -> None:
        """Somebody finds the number behind its own statement free when it goes on."""
        for member in list(self._frozen):
            self._bury(member)
        self._topics.grow(self._grows_most)
        self._drain()
        self._freeze()
        self._topics.grow(self._grows_most)
        change()
        self._drain()
        self._service.faults, self._may_die = 0.0, False
        self._thaw(flushes=40)
        self._may_die = True

    def _change(self) -> None:
        self._service.rest()
        logs = [name for name in self._service.tables if name.endswith("_log")]  # they are merged before
        has_no_view = self._drawn.budget_bytes or any(map(self._service.rows, logs))
        others = [mode for mode in MODES if mode != self._settings["dedup.mode"]]
        if not has_no_view:
            others += ["view", "view"]
        self._go_on_with("view" if self._readers.see_views else self._draw.choice(others))  # views stay as they are

    def _go_on_with(self, mode: str) -> None:
        """Stop all processes of the group, and start them with another mode."""
        self._history.note("change", mode=mode)
        for member in self._members:
            self._end(member)
        self._members = []
        self._settings["dedup.mode"] = mode
        self._changed_at.update(self._committed)
        self._rebalance()

    def _merge_alone(self) -> None:
        """A process that was frozen has written to logs before the view took their tables over, which refuses now.

        Do as it says: merge each table by a connector of its own, which reads all, and start the view again.
        """
        tables = self._readers.held_back()
        assert tables, "a view is refused, though no log has rows"
        faults, self._service.faults, self._may_die = self._service.faults, 0.0, False
        for member in self._members:
            self._end(member)
        self._settings["dedup.mode"] = "merge"
        for table in tables:
            self._history.note("merge alone", table=table)
            self._members = [member] = [self._born(0)]
            member.reads = {p: 0 for p in self._topics.logs if self._table_of[p.topic] == table}
            member.task.assigned(list(member.reads))
            for partition in list(member.reads):
                self._read(member, partition, 1 << 30)
            self._settle(member)
        self._settings["dedup.mode"], self._service.faults, self._may_die = "view", faults, True
        self._members = []
        self._rebalance()

    def _settle(self, member: Member) -> None:
        """Flush until a process has written all that it has read, and end it."""
        deadline, written = Deadline.after(SETTLE_S), dict.fromkeys(member.reads, 0)
        while any(written[p] < self._topics.end(p) for p in member.reads):
            assert deadline.wait(0.002), f"stood still: {member.context.explained}"
            self._clock_s += 1
            with suppress(RetriableError):
                written.update(member.task.flush(Deadline.after(10)))
            self._read_letters(member)
        self._end(member)

    def _learn_ids(self) -> None:
        self._topic_ids.update({topic: self._topics.id_of(topic) for topic in self._table_of})

    def _stream(self) -> None:
        """Somebody streams rows into a table: it takes nothing but new rows for a while."""
        self._service.streamed[self._draw.choice(list(self._table_of.values()))] = self._draw.randint(5, 60)

    def _faults(self) -> None:
        self._service.faults = self._draw.choice([0.0, 0.05, 0.3])

    def _drain(self) -> None:
        """Everything is read and committed, with nothing in the way."""
        before, self._service.faults, self._may_die = self._service.faults, 0.0, False
        for member in self._frozen:
            member.client.awake.set()
        deadline, committed = Deadline.after(SETTLE_S), 0
        while any(self._committed[p] < self._topics.end(p) for p in self._topics.logs):
            if sum(self._committed.values()) != committed:
                deadline, committed = Deadline.after(SETTLE_S), sum(self._committed.values())
            assert not deadline.expired, f"stood still: {[m.context.explained for m in self._members]}"
            for number in range(self._tasks):
                member = next(one for one in self._members if one.number == number)
                for partition in list(member.reads):
                    if member in self._members:
                        self._mortally(member, lambda p=partition, m=member: self._read(m, p, 1000))
                if member in self._members:
                    self._mortally(member, lambda m=member: self._commit(m))
            self._clock_s += 1
            # Who looks all the time takes the threads that write their turn.
            deadline.wait(0.02 if sum(self._committed.values()) == committed else 0.002)
        self._service.faults, self._may_die = before, True
        self._readers.look(is_settled=not self._frozen)

    def _finish(self) -> None:
        self._history.note("the end")
        while self._frozen:
            self._thaw()
        self._service.streamed.clear()
        self._drain()
        for member in self._members:
            member.client.calls_left = None
            member.task.close()
        self._members = [self._born(number) for number in range(self._tasks)]
        left = [name for name in self._service.tables if "_tmp_" in name]
        assert not left, f"staging tables that nobody drops: {left}"
        self._readers.look(is_settled=True)
        check_budget(self._service.billed, self._drawn.budget_bytes)
        check_views(self._service.changed_by)
