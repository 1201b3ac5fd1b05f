"""Runs a random history of a backfill: a table that is written to, a job that is run and harmed, and its handover."""

from __future__ import annotations

import json
import os
import re
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from backfill_bed import COMMAND_S, Bed, Command, connector, event
from backfill_harm import THEMES_OF_FAULTS, Fault, begin
from backfill_truth import Event, Promise, PromiseError
from backfill_writers import ChangedTable, Writers
from histories import STANDSTILL, History

_CAUGHT_UP_S: Final = float(os.environ.get(STANDSTILL, "90"))
_RUNS: Final = 4
"""After all faults are healed a job may need this many runs, as a run may notice a fault late, or a pause."""
_FIRST_ROWS_S: Final = 15.0
_ROWS_OF_THEME_S: Final = 45.0
"""A theme needs rows before its fault, also on a busy machine. A transaction of a frozen run is open for longer."""
_SOME_ROWS: Final = re.compile(r"RUNNING: \d+%, [1-9]")
_ROWS_DONE: Final = re.compile(r"([\d,]+) of about [\d,]+ row")
_SHAPES: Final = {
    "incrementing": ("key", "key", "text", "none"), "timestamp+incrementing": ("key", "text"),
    "log": ("key", "key", "text", "none"),
}  # fmt: skip
_THEMES: Final = {
    "any": 5, "run again": 1, "killed in transactions": 1, "taken over": 1, "open transaction": 1, "changes": 1
}  # fmt: skip
"""Maps what a history may be about to how often it is drawn. "any" draws from all steps and faults."""
_MODE_OF_THEME: Final = {"open transaction": "incrementing", "changes": "log"}
_LONG_OPEN_S: Final = 60.0
_KINDS: Final = {"incrementing": "c", "timestamp+incrementing": "cuu", "log": "cuud"}


class BackfillHistory:
    """Drives a job and the services around it."""

    def __init__(self, bed: Bed, history: History) -> None:
        self._bed, self._history, self._draw = bed, history, history.draw
        draw = self._draw
        self._name = f"h{history.seed}"
        self._theme = history.theme(_THEMES)
        drawn = draw.choice(sorted(_SHAPES))
        self._mode = _MODE_OF_THEME.get(self._theme, drawn)
        shape = draw.choice(_SHAPES[self._mode]) if self._theme == "any" else "key"
        self._promise = Promise(self._mode, shape != "none")
        # Rows without the log's keys are only ordered within a partition.
        self._partitions = draw.choice((1, 3)) if self._mode == "incrementing" or shape == "key" else 1
        self._partitions = 1 if self._mode == "timestamp+incrementing" else self._partitions
        self._log = bed.folder / f"{self._name}.log"
        self._table = ChangedTable(bed.database, self._name, shape)
        self._command: Command | None = None
        self._left: list[Command] = []
        self._spec: dict[str, Any] = {}
        self._faults: list[Fault] = []

    @property
    def log(self) -> Path:
        """Return the file with the output of its commands."""
        return self._log

    @property
    def worker_log(self) -> Path:
        """Return the log of the worker that goes on after the job."""
        return self._bed.worker.log_path

    def run(self, *, is_short: bool) -> None:
        """Carry out the whole history. PromiseError: a promise is broken."""
        draw = self._draw
        self._set_up(draw.randint(200, 400) if is_short else draw.randint(500, 4000), is_short=is_short)
        writers = Writers(self._table, f"{self._history.seed}", _KINDS[self._mode])
        try:
            if self._theme == "open transaction":
                self._start_beside_open_transaction()
            for _ in range(self._rounds(is_short=is_short)):
                self._round()
                if self._command is not None and self._command.process.poll() == 0:
                    break  # all is copied
            self._heal(len(self._faults))
            if draw.random() < 0.1 and self._theme == "any":
                self._cancel()
                return
            self._finish()
            threading.Event().wait(1)
            writers.end()
            self._caught_up()
            self._bed.client.delete(self._name)
        finally:
            self._heal(len(self._faults))
            for command in (self._command, *self._left):
                if command is not None:
                    command.end()
            writers.end()
            self._drop()

    def _rounds(self, *, is_short: bool) -> int:
        drawn = self._draw.randint(4, 14)
        return 2 if is_short else drawn if self._theme == "any" else min(drawn, 6)

    # These methods set the history up.

    def _set_up(self, rows: int, *, is_short: bool) -> None:
        draw = self._draw
        first = draw.choice((1, 1, -rows // 3))
        step = draw.choice((1, 1, 7, 1000))
        bend = draw.randrange(rows)  # from this id on there are gaps between ids, or they are close together
        ids = [first + i if i < bend else first + bend + (i - bend) * step for i in range(rows)]
        self._table.fill(ids, known=draw.choice((rows, rows, rows // 5, rows * 4 // 5)))
        chunking: dict[str, Any] = {"rows": draw.choice((40, 100, 250)), "lanes": draw.choice((1, 2, 3, 4))}
        if draw.random() < 0.3:
            chunking["max_bytes"] = "16KiB"
        lasts_s = 4 if is_short else draw.choice((5, 10, 20))
        if self._theme in THEMES_OF_FAULTS:
            chunking["rows"], lasts_s = 40, max(lasts_s, 8)  # lanes are in transactions most of the time
        elif self._theme == "open transaction":
            lasts_s = 4  # a run that does not wait copies all meanwhile
        mode = {"mode": "global_snapshot"} if self._mode == "log" and draw.random() < 0.3 else {}
        spec = {
            "apiVersion": "backfill/v1", "name": self._name, "source": {"connector": self._name},
            "engine": {"type": "local", "processes": draw.randint(1, 2 if is_short else 3)}, "chunking": chunking,
            "limits": {
                "max_rows_per_second": rows // lasts_s, "max_chunk_retries": draw.choice((2, 8)),
                # Who takes over has to come before a transaction of the frozen run is aborted by its time-out.
                "chunk_timeout": "60s" if self._theme == "taken over" else "20s",
            },
            "handover": mode,
        }  # fmt: skip
        self._spec = spec
        self._write_spec()
        config = connector(self._bed, self._name, self._mode, self._partitions)
        table = {"shape": self._table.shape, "rows": rows, "first": first, "bend": bend, "gap": step}
        self._history.note("set up", theme=self._theme, mode=self._mode, table=table, spec=spec)
        self._bed.client.create(self._name, config, "STOPPED")

    def _write_spec(self) -> None:
        (self._bed.folder / f"{self._name}.yaml").write_text(json.dumps(self._spec))

    def _drop(self) -> None:
        if self._name in self._bed.client.connectors():
            self._bed.client.delete(self._name)
        self._table.drop()

    # These methods are the steps.

    def _round(self) -> None:
        draw, has_theme = self._draw, self._theme in THEMES_OF_FAULTS
        if self._command is None or not self._command.runs or draw.random() < 0.1:
            self._start()
        if draw.random() < 0.7 or has_theme:
            self._wait_for_rows()
        threading.Event().wait(0.2 if has_theme else draw.choice((0.0, 0.2, 1.0, 2.5)))
        done = draw.random()
        if done < 0.6 or has_theme:
            self._harm()
        elif done < 0.7:
            self._say("pause", self._name)
        elif done < 0.8:
            self._say("limit", self._name, "--max-rows-per-second", str(draw.choice((0, 100, 400))))
        elif done < 0.9:
            self._say("status", self._name)
        else:
            self._say("verify", f"{self._name}.yaml")
        threading.Event().wait(draw.choice((0.0, 0.5, 3.0)))
        if self._faults and draw.random() < 0.6:
            self._heal(1)
        if not any(fault.service for fault in self._faults):
            self._look()

    def _harm(self) -> None:
        fault = begin(self._bed, self._draw, self._command, self._faults, self._theme)
        if fault is not None:
            self._history.note("fault", fault=fault.name)
            self._faults.append(fault)
        if self._theme == "taken over":
            self._take_over()

    def _take_over(self) -> None:
        """Let another run write what the frozen one has open, and then let that one go on."""
        before = self._rows_done()
        self._start()
        until_s = time.monotonic() + _ROWS_OF_THEME_S
        assert self._command is not None
        while self._command.runs and self._rows_done() <= before and time.monotonic() < until_s:
            threading.Event().wait(0.1)
        self._heal(len(self._faults))

    def _rows_done(self) -> int:
        """Return how many rows are in Kafka by the last line of the run."""
        assert self._command is not None
        told = _ROWS_DONE.findall(self._command.said)
        return int(told[-1].replace(",", "")) if told else 0

    def _start_beside_open_transaction(self) -> None:
        """Run the job while a transaction has taken an id; it ends once the run waits for it, or has copied all."""
        with self._table.held_row():
            self._start()
            command = self._command
            assert command is not None
            until_s = time.monotonic() + _LONG_OPEN_S
            while command.runs and "waits for the open transactions" not in command.said:
                if time.monotonic() > until_s:
                    break
                threading.Event().wait(0.1)
            self._history.note("open transaction ends", runs=command.runs)

    def _start(self) -> None:
        """Run the job, even if a run of it has not ended: that one is frozen, or the new run takes over from it."""
        if self._command is not None:
            self._left.append(self._command)
        how = self._draw.choice((("run", f"{self._name}.yaml"), ("resume", f"{self._name}.yaml")))
        words = (*how, "--url", self._bed.worker.url) if how[0] == "run" else how
        self._history.note("start", words=words)
        self._command = Command(self._bed, self._log, *words)

    def _wait_for_rows(self) -> None:
        """Wait until the run says that it has written rows, or has ended. The wait has a limit, as a service may be
        away.
        """
        assert self._command is not None
        until_s = time.monotonic() + (_ROWS_OF_THEME_S if self._theme in THEMES_OF_FAULTS else _FIRST_ROWS_S)
        while self._command.runs and not _SOME_ROWS.search(self._command.said) and time.monotonic() < until_s:
            threading.Event().wait(0.1)

    def _say(self, *words: str) -> Command:
        """Run one more command to its end. The wait is as long as a person would wait."""
        command = Command(self._bed, self._log, *words)
        began_s = time.monotonic()
        while command.runs and time.monotonic() < began_s + COMMAND_S:
            if self._faults and time.monotonic() > began_s + 5:
                self._heal(len(self._faults))
            threading.Event().wait(0.1)
        code = command.process.poll()
        self._history.note("said", words=words, code=code)
        if code is None:
            command.end()
            raise PromiseError(f"{words} has not ended within {COMMAND_S} s: {command.said[-1000:]}")
        if "Traceback (most recent call last)" in command.said:
            raise PromiseError(f"{words} ended by a traceback: {command.said[-3000:]}")
        return command

    def _heal(self, count: int) -> None:
        for fault in self._faults[:count]:
            self._history.note("heal", fault=fault.name)
            fault.heal()
        del self._faults[:count]

    # These methods look at the outcome.

    def _events(self) -> Sequence[Event]:
        found = (event(message) for message in self._bed.records(f"bf-{self._name}"))
        return [one for one in found if one is not None]

    def _look(self) -> None:
        events = self._events()
        self._promise.check_so_far(events, self._table.changes())
        self._history.note("look", records=len(events))

    def _finish(self) -> None:
        """Bring the job to its end when no fault is open, verify it and hand it over."""
        del self._spec["limits"]["max_rows_per_second"]
        self._write_spec()
        if self._command is not None and self._command.runs:
            self._say("limit", self._name, "--max-rows-per-second", "0")
        for _ in range(_RUNS):
            if self._command is None or not self._command.runs:
                self._start()
            command = self._command
            assert command is not None
            if self._ended(command) == 0:
                break
        else:
            raise PromiseError(f"{_RUNS} runs have not ended the job: {command.said[-2000:]}")
        verdict = self._say("verify", f"{self._name}.yaml")
        if verdict.process.returncode != 0 or "good" not in verdict.said:
            raise PromiseError(f"The verdict on a job that was copied is {verdict.said}")
        self._look()
        words = ("handover", f"{self._name}.yaml", "--url", self._bed.worker.url)
        if self._history.seed >= 1000 and self._draw.random() < 0.3:
            broken = Command(self._bed, self._log, *words)
            threading.Event().wait(self._draw.random() * 3)
            broken.end()
            self._history.note("handover broken off", code=broken.process.returncode)
        handed = self._say(*words)
        if handed.process.returncode != 0:
            raise PromiseError(f"The handover failed: {handed.said}")

    def _ended(self, command: Command) -> int:
        until_s = time.monotonic() + COMMAND_S
        while command.runs:
            if time.monotonic() > until_s:
                raise PromiseError(f"The job stands still without a fault: {command.said[-2000:]}")
            threading.Event().wait(0.1)
        code = command.process.poll()
        assert code is not None
        self._history.note("ended", code=code, said=command.said[-400:])
        if "Traceback (most recent call last)" in command.said:
            raise PromiseError(f"A run ended by a traceback: {command.said[-3000:]}")
        return code

    def _cancel(self) -> None:
        """Cancel the job, and check that no run writes anything once the command has ended."""
        known = "There is no backfill" not in self._say("status", self._name).said
        cancelled = self._say("cancel", self._name)
        if (cancelled.process.returncode == 0) is not known and "is COPIED" not in cancelled.said:
            raise PromiseError(f"A cancellation said: {cancelled.said}")
        before = len(self._events())
        threading.Event().wait(3)
        after = len(self._events())
        if known and before != after:
            raise PromiseError(f"{after - before} records came behind a cancellation.")
        self._look()

    def _caught_up(self) -> None:
        changes = self._table.changes()
        until_s = time.monotonic() + _CAUGHT_UP_S
        while True:
            try:
                self._promise.check(self._events(), changes)
                break
            except PromiseError:
                if time.monotonic() > until_s:
                    raise
                threading.Event().wait(0.5)
        threading.Event().wait(1)
        events = self._events()
        self._promise.check(events, changes)
        self._history.note("caught up", records=len(events), changes=len(changes))
