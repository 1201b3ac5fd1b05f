"""Checks what a cluster's facts make to tell, as plain values: each change once, whatever comes in between."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connect.alerts.changes import SETTLED_MS, ToldAlert, changes
from connect.alerts.facts import Facts, Kind, Subject, Thresholds
from connect.alerts.recent_letters import HOUR_MS, RecentLetters
from connect.cluster.model.statuses import OverdueTask
from connect.runtime.task.task_id import TaskId

LIMITS = Thresholds(lag_rows=100, stalled_ms=60_000, dead_letters=10, budget_percent=80)
T0 = 1_700_000_000_000
SINCE = "2023-11-14T22:13:20.000Z"
FAILED = {"state": "FAILED", "reason": "boom", "since": SINCE, "waiting_for": "person"}
WELL = {"state": "RUNNING"}
TASK = Subject(Kind.TASK_FAILED, "c-1", 0)


def status(task: dict[str, Any], connector: dict[str, Any] | None = None, name: str = "c-1") -> dict[str, Any]:
    return {"name": name, "connector": connector or WELL, "tasks": [{"id": 0, **task}]}


def facts(now_ms: int = T0, task: dict[str, Any] | None = None, **others: Any) -> Facts:
    return Facts(now_ms, **{"statuses": {"c-1": status(task or WELL)}, **others})


def told(known: dict[Subject, ToldAlert], *looks: Facts) -> tuple[dict[Subject, ToldAlert], list[tuple[Kind, bool]]]:
    found = []
    for look in looks:
        known, events = changes(known, look, LIMITS)
        found += [(event.alert.subject.kind, event.is_over) for event in events]
    return known, found


def test_a_failed_task_is_told_once_in_the_words_of_why_and_once_when_it_is_healed():
    known, (event,) = changes({}, facts(task=FAILED), LIMITS)
    assert event.alert.subject == TASK
    assert event.alert.since_ms == T0
    assert event.reason.startswith("FAILED: boom (since 2023-11-14T22:13:20.000Z) Nothing happens by itself")
    later = T0 + SETTLED_MS
    known, found = told(known, facts(T0 + 1, FAILED), facts(T0 + 2), facts(later))
    assert found == []
    _, (healed,) = changes(known, facts(later + 2), LIMITS)
    assert healed.is_over
    assert healed.alert.since_ms == T0
    assert healed.reason.startswith("RUNNING; rows move")


def test_a_task_that_fails_again_at_once_never_healed():
    looks = [facts(T0 + at * 10_000, FAILED if at % 2 else WELL) for at in range(1, 20)]
    assert told({}, *looks)[1] == [(Kind.TASK_FAILED, False)]


@pytest.mark.parametrize("state", ["UNASSIGNED", "RESTARTING"])
def test_nothing_is_healed_while_it_is_between_two_workers(state):
    known, _ = told({}, facts(task=FAILED))
    assert told(known, *(facts(T0 + at * SETTLED_MS, {"state": state}) for at in range(5)))[1] == []


def test_nothing_is_healed_of_which_nobody_has_said_anything_yet():
    known, _ = told({}, facts(task=FAILED))
    assert told(known, *(facts(T0 + at * SETTLED_MS, statuses={"c-1": None}) for at in range(5)))[1] == []


def test_what_is_deleted_is_over():
    known, _ = told({}, facts(task=FAILED))
    assert told(known, *(facts(T0 + at * SETTLED_MS, statuses={}) for at in range(2)))[1] == [(Kind.TASK_FAILED, True)]


def test_a_failed_connector_is_another_subject_than_its_task():
    look = facts(statuses={"c-1": status(FAILED, FAILED)})
    assert told({}, look)[1] == [(Kind.CONNECTOR_FAILED, False), (Kind.TASK_FAILED, False)]


def test_a_task_that_is_held_up_stands_still_after_the_threshold_and_one_that_waits_for_rows_or_a_budget_never():
    held = {"state": "RUNNING", "reason": "refused", "since": SINCE, "waiting_for": "sink"}
    assert told({}, facts(T0 + 59_999, held))[1] == []
    assert told({}, facts(T0 + 60_000, held))[1] == [(Kind.STALLED, False)]
    for waiting_for in ("rows", "budget"):
        assert told({}, facts(T0 + 90_000, {**held, "waiting_for": waiting_for}))[1] == []


def test_a_task_that_no_worker_runs_stands_still():
    overdue = OverdueTask(TaskId("c-1", 0), "No worker owns its slot 3.", T0)
    assert told({}, facts(T0 + 59_999, overdue=[overdue]))[1] == []
    (event,) = changes({}, facts(T0 + 60_000, overdue=[overdue]), LIMITS)[1]
    assert (event.alert.subject.kind, event.reason) == (Kind.STALLED, "No worker owns its slot 3.")


def test_lag_counts_all_tasks_and_is_over_only_when_all_of_them_say_so():
    two = {"c-1": {"name": "c-1", "connector": WELL, "tasks": [{"id": 0, **WELL}, {"id": 1, **WELL}]}}

    def look(at: int, **rows: float) -> Facts:
        figures = {f"c-1-{task[1:]}": {"lag_rows": lag} for task, lag in rows.items()}
        return facts(T0 + at * SETTLED_MS, statuses=two, figures=figures)

    known, found = told({}, look(0, t0=50, t1=50), look(1, t0=60, t1=41))
    assert found == [(Kind.LAG, False)]
    known, found = told(known, look(2, t0=1), look(3, t0=1), look(4, t0=1, t1=1))
    assert found == []
    assert told(known, look(5, t0=1, t1=1))[1] == [(Kind.LAG, True)]


@pytest.mark.parametrize(("rows", "said"), [(1234.0, "1,234 rows were not read"), (0.0, "made anew or cut")])
def test_rows_that_a_sink_never_reads_are_told_for_an_hour(rows, said):
    def look(after_ms: int, *, is_heard: bool = True) -> Facts:
        figures = {"missed_rows_total": rows, "offset_resets_total": 1.0, "last_missed_epoch_s": T0 / 1000}
        return facts(T0 + after_ms, figures={"c-1-0": figures} if is_heard else {})

    known, (event,) = changes({}, look(5_000), LIMITS)
    assert (event.alert.subject, event.alert.since_ms) == (Subject(Kind.MISSED_ROWS, "c-1"), T0)
    assert said in event.reason
    assert told(known, look(HOUR_MS - 1))[1] == []
    assert told(known, *(look(HOUR_MS + at, is_heard=False) for at in (0, 90_000)))[1] == []
    assert told(known, *(look(HOUR_MS + at) for at in (0, SETTLED_MS)))[1] == [(Kind.MISSED_ROWS, True)]


def test_dead_letters_are_over_only_when_a_whole_hour_is_known():
    known, found = told({}, facts(dead_letters={"c-1": 10.0}), facts(dead_letters={"c-1": 11.0}))
    assert found == [(Kind.DEAD_LETTERS, False)]
    known, found = told(known, *(facts(T0 + at * SETTLED_MS, knows_whole_hour=False) for at in range(3)))
    assert found == []
    assert told(known, *(facts(T0 + at * SETTLED_MS) for at in range(3, 5)))[1] == [(Kind.DEAD_LETTERS, True)]


def test_a_budget_is_told_once_before_it_is_used_up_and_is_over_on_the_next_day():
    def look(at: int, used_percent: float) -> Facts:
        return facts(T0 + at * SETTLED_MS, figures={"c-1-0": {"budget_used_percent": used_percent}})

    known, found = told({}, look(0, 79.9), look(1, 80.0), look(2, 101.0))
    assert found == [(Kind.BUDGET, False)]
    known, found = told(known, *(facts(T0 + at * SETTLED_MS) for at in range(3, 5)))
    assert found == [], "nobody has said anything of it"
    assert told(known, look(5, 0.0), look(6, 0.0))[1] == [(Kind.BUDGET, True)]


def test_zero_turns_a_threshold_off():
    held = {"state": "RUNNING", "reason": "refused", "since": SINCE, "waiting_for": "sink"}
    figures = {"c-1-0": {"lag_rows": 1e9, "budget_used_percent": 100.0}}
    look = facts(T0 + 10**9, held, figures=figures, dead_letters={"c-1": 1e9},
                 overdue=[OverdueTask(TaskId("c-1", 0), "idle", T0)])  # fmt: skip
    assert changes({}, look, Thresholds(0, 0, 0))[1] == []


@pytest.mark.parametrize(
    ("state", "kind", "reason"),
    [
        ("COPIED", Kind.BACKFILL_COPIED, "It is copied: 1,000 rows."),
        ("DONE", Kind.BACKFILL_COPIED, "It is copied: 1,000 rows."),
        ("FAILED", Kind.BACKFILL_FAILED, "It failed: no such table"),
        ("CANCELLED", Kind.BACKFILL_CANCELLED, "It was cancelled."),
    ],
)
def test_a_backfill_that_ended_is_told_unless_that_was_before_alerts_began(state, kind, reason):
    job = {"name": "b", "state": state, "rows": 1000, "updated_ms": T0, "error": "no such table"}
    (event,) = changes({}, facts(jobs=[job], jobs_since_ms=T0), LIMITS)[1]
    assert (event.alert.subject, event.reason, event.is_over) == (Subject(kind, "b"), reason, False)
    assert told({}, facts(jobs=[job], jobs_since_ms=T0 + 1))[1] == []


def test_a_backfill_is_not_told_again_while_jobs_are_not_read_or_when_it_is_handed_over():
    jobs = [{"name": "b", "state": "COPIED", "rows": 1, "updated_ms": T0}]
    handed_over = [{**jobs[0], "state": "DONE", "updated_ms": T0 + 5}]
    looks = [facts(T0 + at * SETTLED_MS, jobs=found) for at, found in enumerate([jobs, None, None, handed_over, None])]
    assert told({}, *looks)[1] == [(Kind.BACKFILL_COPIED, False)]


def test_a_job_that_cannot_be_read_tells_nothing():
    assert told({}, facts(jobs=[{"name": "b", "unreadable": "why"}]))[1] == []


@pytest.mark.parametrize("subject", [TASK, Subject(Kind.LAG, "a-b-0"), Subject(Kind.STALLED, "-", 7)])
def test_a_subject_is_known_again_by_its_key(subject):
    assert Subject.parse(subject.key) == subject


STATES = st.sampled_from(["RUNNING", "FAILED", "UNASSIGNED", "RESTARTING", "PAUSED", "gone", "unheard"])
LOOKS = st.lists(
    st.tuples(
        st.integers(1, 2 * SETTLED_MS), STATES, STATES,
        st.none() | st.floats(0, 200), st.none() | st.sampled_from(["RUNNING", "COPIED", "FAILED", "CANCELLED"]),
        st.booleans(),
    ),
    max_size=60,
)  # fmt: skip


def seen(now_ms: int, connector: str, task: str, lag: float | None, job: str | None) -> Facts:
    statuses: dict[str, Any] = {"c-1": status({"state": task}, {"state": connector})}
    if "gone" in {connector, task}:
        statuses = {}
    elif "unheard" in {connector, task}:
        statuses = {"c-1": None}
    jobs = None if job is None else [{"name": "b", "state": job, "rows": 1, "updated_ms": T0}]
    figures = {} if lag is None else {"c-1-0": {"lag_rows": lag}}
    return facts(now_ms, statuses=statuses, figures=figures, jobs=jobs)


@given(LOOKS)
def test_of_each_subject_beginnings_and_ends_alternate_in_any_order(looks):
    """A new leader (the last of each tuple) knows what was told, and nothing else."""
    known: dict[Subject, ToldAlert] = {}
    open_now: set[Subject] = set()
    now_ms = T0
    for passed_ms, connector, task, lag, job, is_new_leader in looks:
        now_ms += passed_ms
        if is_new_leader:
            known = {subject: ToldAlert(standing.alert) for subject, standing in known.items()}
        known, events = changes(known, seen(now_ms, connector, task, lag, job), LIMITS)
        for event in events:
            subject = event.alert.subject
            assert event.is_over == (subject in open_now)
            open_now ^= {subject}
        assert open_now == set(known)
        if task == "FAILED" and connector not in {"gone", "unheard"}:
            assert TASK in open_now


def test_dead_letters_of_an_hour_count_runs_that_begin_anew():
    letters = RecentLetters()

    def look(total: float, at_ms: int) -> float:
        return letters.look({"c-1-0": {"dead_letters_total": total}}, at_ms, heard_all=True).get("c-1", 0.0)

    assert [look(50, 0), look(53, 1), look(2, 2), look(2, HOUR_MS), look(2, HOUR_MS + 1), look(2, HOUR_MS + 2)] == [
        0, 3, 5, 5, 2, 0,
    ]  # fmt: skip


def test_dead_letters_of_a_task_that_is_seen_first_are_new_when_every_worker_was_heard_before():
    for heard_all, count in ((True, 7.0), (False, 0.0)):
        letters = RecentLetters()
        letters.look({}, 0, heard_all=heard_all)
        found = letters.look({"c-1-0": {"dead_letters_total": 7.0}}, 1, heard_all=True)
        assert found.get("c-1", 0.0) == count
        assert not letters.knows_whole_hour(HOUR_MS - 1)
        assert letters.knows_whole_hour(HOUR_MS)
