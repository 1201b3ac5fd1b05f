"""Crashes the task and BigQuery at every step of a merge: no row is doubled or missing."""

from __future__ import annotations

import random
import threading
from typing import Any

import pytest
from bigquery_oracle import Message, first, latest
from bigquery_run import Life, model_by_key, rows_by_key
from e2e_worker import wait_for

from connect.api.errors import RetriableError
from connectors.bigquery.dedup.rules import Keep

STEPS = ("before the load", "after the load", "after deletes are remembered", "after the merge", "after the drop")
SEEDS = range(4)


class Crash(BaseException):
    """The end of a process in the middle of a step: nothing behind it runs."""


def messages_of(seed: int, count: int = 40) -> list[list[Message]]:
    """Two partitions about few ids, with deletes and times out of order."""
    chance = random.Random(seed)
    found: list[list[Message]] = [[], []]
    for _ in range(count):
        partition = chance.randrange(2)
        offset = len(found[partition])
        text = None if chance.random() < 0.2 else f"{partition}@{offset}"
        found[partition].append(Message(partition, offset, chance.randrange(6), chance.randrange(20), text=text))
    return found


def crash_at(life: Life, step: str, nth: int) -> list[str]:
    """Let the thread that lands batches die at the nth time it reaches this step; says when it has."""
    warehouse: Any = life.task._opened.warehouse
    died: list[str] = []
    left = [nth]

    def dying(method: Any, *, first: bool, only: str = "") -> Any:
        def call(*args: Any, **named: Any) -> Any:
            is_due = only in str(args) and not died
            left[0] -= is_due
            if is_due and first and left[0] < 0:
                died.append(step)
                raise Crash
            answer = method(*args, **named)
            if is_due and not first and left[0] < 0:
                died.append(step)
                raise Crash
            return answer

        return call

    match STEPS.index(step):
        case 0:
            warehouse.fill = dying(warehouse.fill, first=True)
        case 1:
            warehouse.fill = dying(warehouse.fill, first=False)
        case 2:
            warehouse.run = dying(warehouse.run, first=False, only="remembering deletes")
        case 3:
            warehouse.run = dying(warehouse.run, first=False, only="merging into")
        case 4:
            warehouse.drop = dying(warehouse.drop, first=False)
    return died


def feed(life: Life, partitions: list[list[Message]], chance: random.Random) -> None:
    """Put the rest of each partition, cut anywhere, with flushes between."""
    for messages in partitions:
        start = 0
        while start < len(messages):
            stop = start + chance.randint(1, 9)
            life.put(messages[start:stop])
            start = stop
            life.flush()


def live_until_the_crash(
    life: Life, step: str, partitions: list[list[Message]], chance: random.Random, *, nth: int
) -> None:
    died = crash_at(life, step, nth)
    try:
        for messages in partitions:  # at least one merge for each
            feed(life, [messages], chance)
            life.settle()
    except Crash:
        pass
    life.task.close()
    assert died == [step]


def crash_and_go_on(dataset, step: str, seed: int, settings: dict[str, str], *, count: int = 40) -> None:
    """A life that ends at the step, and one that goes on from what was claimed; the table equals the model."""
    chance, table = random.Random(seed), f"seed{seed}"
    settings = {**settings, "topic2TableMap": f"orders:{table}"}
    partitions = messages_of(seed, count)
    first = Life(settings)
    live_until_the_crash(first, step, partitions, chance, nth=seed % 2)
    with Life(settings) as second:
        begin = {tp.partition: end for tp, end in first.claimed.items()}
        feed(second, [m[begin.get(p, 0) :] for p, m in enumerate(partitions)], chance)
        second.settle()
    rows = dataset.rows(table)
    assert rows_by_key(rows) == model_by_key(latest([m for p in partitions for m in p])), (step, seed)


def settings_of(dataset, most: int = 8) -> dict[str, str]:
    return dataset.settings(dedup__merge__max__records=str(most), dedup__merge__interval__ms="0")


@pytest.mark.parametrize("step", ["after the load", "after the merge"])
def test_a_crash_of_the_task_at_two_steps(dataset, step):
    crash_and_go_on(dataset, step, 0, settings_of(dataset, 20), count=16)


@pytest.mark.chaos
@pytest.mark.parametrize("step", STEPS)
def test_a_crash_of_the_task_at_any_step(dataset, step):
    for seed in SEEDS:
        crash_and_go_on(dataset, step, seed, settings_of(dataset))


POINTS = (
    r"^POST /upload/",
    r"^POST [^ ]*/jobs[ ?]",
    r"^POST [^ ]*/tables[ ?]",
    r"^DELETE ",
    r"^GET ",
)
HOW = ({"status": 503, "reason": "backendError"}, {"status": 429, "reason": "rateLimitExceeded"},
       {"status": 403, "reason": "quotaExceeded"}, {"lost": True})  # fmt: skip


@pytest.mark.chaos
@pytest.mark.parametrize("seed", SEEDS)
def test_crashes_amid_lost_replies_and_refusals_at_any_request(dataset, proxy, seed):
    """Each life meets faults at every kind of request; job ids are met again by the second as those of the first."""
    chance = random.Random(seed)
    # Not all of HOW: a batch that fails a dozen times waits a minute.
    for where in POINTS:
        proxy.add(where, after=chance.randrange(4), **chance.choice(HOW))
        proxy.add(where, after=chance.randrange(4), lost=True)
    settings = {**settings_of(dataset), "bigquery.endpoint": proxy.url}
    partitions = messages_of(seed)
    first = opened(settings)
    feed(first, partitions, chance)
    first.flush()
    first.task.close()
    begin = {tp.partition: end for tp, end in first.claimed.items()}
    second = opened(settings)
    with second:
        feed(second, [m[begin.get(p, 0) :] for p, m in enumerate(partitions)], chance)
        second.settle()
    assert len(proxy.met) >= len(POINTS)
    rows = dataset.rows("orders")
    assert rows_by_key(rows) == model_by_key(latest([m for p in partitions for m in p])), seed


def opened(settings: dict[str, str]) -> Life:
    """A life; as by the framework, `open` is tried again where it fails for now."""
    found: list[Life] = []

    def attempt() -> bool:
        try:
            found.append(Life(settings))
        except RetriableError:
            return False
        return True

    wait_for(attempt, 60, "a task that is open")
    return found[0]


MERGE = r'^POST [^ ]*/jobs[ ?](?!.*"dryRun": true).*MERGE INTO [^ ]+(?<!_deletes`) AS T'
"""Into a table itself, not into what remembers its deletes."""


@pytest.mark.parametrize("keep", list(Keep))
def test_merges_of_two_leaders_that_meet_are_one_job_to_bigquery(dataset, proxy, keep):
    """Of two jobs of one id BigQuery takes one. It would run others side by side, where the emulator does not."""
    met = proxy.add(MERGE, times=2, meets=threading.Barrier(2))
    settings = {**dataset.settings(dedup__keep=keep), "bigquery.endpoint": proxy.url}
    log = [Message(0, number, number % 50, number) for number in range(100)]
    with Life(settings) as zombie, Life(settings) as owner:
        zombie.put(log[:80])
        owner.put(log[:60])
        owner.put(log[60:])
        wait_for(lambda: zombie.flush() or owner.flush() or not met.times, 60, "two merges at once")
        owner.settle()
        zombie.settle()
    assert len(set(met.job_ids)) == 1
    model = latest(log) if keep is Keep.LATEST else first([log])
    assert rows_by_key(dataset.rows("orders")) == model_by_key(model)


@pytest.mark.chaos
@pytest.mark.parametrize("seed", SEEDS)
def test_two_leaders_of_one_table(dataset, seed):
    """A zombie goes on staging and merging the partitions that another task has; each drops what the other staged."""
    chance, partitions = random.Random(seed), messages_of(seed)
    with Life(settings_of(dataset)) as zombie:
        feed(zombie, [messages[: len(messages) // 2] for messages in partitions], chance)
        with Life(settings_of(dataset)) as owner:
            for number, messages in enumerate(partitions):
                begin = {tp.partition: end for tp, end in zombie.claimed.items()}.get(number, 0)
                for start in range(begin, len(messages), 4):
                    owner.put(messages[start : start + 4])
                    owner.flush()
                    zombie.flush()
            owner.settle()
        zombie.settle()
    rows = dataset.rows("orders")
    assert rows_by_key(rows) == model_by_key(latest([m for p in partitions for m in p])), seed


@pytest.mark.chaos
def test_an_emulator_that_is_killed_and_comes_back(dataset, emulator):
    partitions = messages_of(7, count=120)
    chance = random.Random(7)
    with Life(dataset.settings(dedup__merge__max__records="10", dedup__merge__interval__ms="0")) as life:
        for messages in partitions:
            feed(life, [messages[:20]], chance)
            emulator.kill()
            life.put(messages[20:24])
            life.warnings.clear()
            wait_for(lambda: life.flush() or life.warnings, 30, "word of the outage")
            emulator.start()
            feed(life, [messages[24:]], chance)
        life.settle()
    assert rows_by_key(dataset.rows("orders")) == model_by_key(latest([m for p in partitions for m in p]))
