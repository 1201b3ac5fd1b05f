"""Replays dead letters, each once: a letter's records and the mark of its replay are written in one transaction.

If a replay is killed, nobody reads its open transaction, and the next replay begins behind what was committed. If two
replays of a topic run at a time, Kafka fences the older one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Protocol

from connect.api.errors import ConnectError, RetriableError
from connect.dlq.letter import Identity, Letter, Place
from connect.dlq.letters import LetterTopic
from connect.dlq.selection import Selection
from connect.kafka.produce.producer import BatchProducer
from connect.kafka.raw import RawBatch
from connect.lib.deadline import Deadline
from connect.runtime.settings.internal_topics import ReservedTopics

LETTERS_AT_ONCE: Final = 500
"""So many letters at most are replayed in one transaction."""


class Connectors(Protocol):
    """Converts letters to records."""

    def convert(self, letter: Letter, deadline: Deadline) -> list[RawBatch]:
        """Return the records to produce. ConnectError: the letter cannot be replayed now."""


class FixedTopic:
    """Sends every record to the same topic as it is, whatever the letters say."""

    def __init__(self, topic: str) -> None:
        self._topic = topic

    def convert(self, letter: Letter, deadline: Deadline) -> list[RawBatch]:
        """Return the letter's record, with nothing changed but its topic."""
        del deadline
        headers = [list(letter.headers)] if letter.headers else None
        return [replace(letter.raw, topic=self._topic, partition=None, offsets=None, next_offset=None, headers=headers)]


@dataclass
class Outcome:
    """Tells what became of the selected letters."""

    replayed: int = 0
    records: int = 0
    before: int = 0
    """Counts the selected letters that an earlier replay has done."""
    refused: list[tuple[Letter, str]] = field(default_factory=list)
    missing: list[Place] = field(default_factory=list)
    """Holds the places that were named, and at which the selection finds no letter."""


@dataclass(frozen=True, slots=True)
class _Ready:
    letter: Letter
    records: list[RawBatch]


class Replay:
    """Carries out one replay. Owned by the thread that runs it."""

    def __init__(
        self, topic: LetterTopic, selection: Selection, connectors: Connectors, reserved: ReservedTopics
    ) -> None:
        """Take the letters' topic, the selection, and the converter of letters. `reserved` topics get no record."""
        self._reserved = reserved
        self._topic = topic
        self._selection = selection
        self._connectors = connectors
        self.outcome = Outcome()
        self._found: set[Place] = set()

    def dry_run(self, deadline: Deadline) -> Outcome:
        """Return what `run` would do now, without writing anything."""
        for ready in self._ready(self._topic.replayed(deadline), deadline):
            self._count(ready)
        return self._ended()

    def run(self, producer: BatchProducer, deadline: Deadline, on_committed: Callable[[Outcome], None]) -> Outcome:
        """Replay the letters. `producer` has the transactional id of this dead-letter topic.

        `on_committed` is called after each transaction. FencedError: another replay of this topic was started.
        """
        self._topic.make_marks_topic(deadline)
        # Other replays are fenced first; only then is it certain which letters were replayed.
        producer.init_transactions(deadline)
        ready = self._ready(self._topic.replayed(deadline), deadline)
        while group := list(islice(ready, LETTERS_AT_ONCE)):
            self._commit(producer, group, deadline)
            for one in group:
                self._count(one)
            on_committed(self.outcome)
        return self._ended()

    def _ended(self) -> Outcome:
        self.outcome.missing = sorted((self._selection.places or frozenset()) - self._found)
        return self.outcome

    def _commit(self, producer: BatchProducer, group: list[_Ready], deadline: Deadline) -> None:
        producer.begin()
        try:
            for raw in (raw for one in group for raw in one.records):
                producer.send(raw, deadline)
            producer.send(self._topic.marks(one.letter for one in group), deadline)
            producer.commit(deadline)
        except RetriableError as error:
            raise ConnectError(
                f"{error} All of the last {len(group)} letters were replayed, or none of them.",
                fix="Run the same command again: it knows which, and leaves out what was replayed.",
            ) from error

    def _ready(self, done: frozenset[Identity], deadline: Deadline) -> Iterator[_Ready]:
        for letter in self._topic.letters(self._selection, deadline):
            self._found.add(letter.place)
            if letter.identity in done:
                self.outcome.before += 1
                continue
            try:
                records = self._connectors.convert(letter, deadline)
                for raw in records:
                    self._reserved.require_free(raw.topic, "topic")
            except RetriableError:
                raise
            except ConnectError as error:
                self.outcome.refused.append((letter, str(error)))
            else:
                yield _Ready(letter, records)

    def _count(self, ready: _Ready) -> None:
        self.outcome.replayed += 1
        self.outcome.records += sum(len(raw) for raw in ready.records)


def transactional_id(topic: str) -> str:
    """Return the transactional id that makes replays of one dead-letter topic exclude each other."""
    return f"connect-dlq-replay-{topic}"


def errors_of(letters: Iterable[Letter]) -> dict[tuple[str, str, str], list[Letter]]:
    """Return the letters grouped by connector, stage and error class."""
    found: dict[tuple[str, str, str], list[Letter]] = {}
    for letter in letters:
        found.setdefault((letter.connector, letter.stage, letter.error_class), []).append(letter)
    return found
