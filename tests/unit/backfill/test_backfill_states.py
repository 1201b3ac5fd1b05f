"""Checks what may be done with a job in each state, and what is said where it may not."""

from __future__ import annotations

import pytest

from connect.backfill.job.states import JobAction, JobState, JobStateError, changes, require_allowed

ALLOWED = {
    JobState.PLANNED: {"run", "resumed", "paused", "limited", "cancelled"},
    JobState.RUNNING: {"run", "resumed", "paused", "limited", "cancelled"},
    JobState.PAUSED: {"run", "resumed", "limited", "cancelled"},
    JobState.FAILED: {"run", "resumed", "limited", "cancelled"},
    JobState.CANCELLED: set(),
    JobState.COPIED: {"run", "handed over"},
    JobState.DONE: {"run"},
}
ALREADY = {(JobState.PAUSED, "paused"), (JobState.CANCELLED, "cancelled"), (JobState.DONE, "handed over")}


@pytest.mark.parametrize("state", JobState)
def test_an_action_is_carried_out_where_the_state_allows_it_and_told_with_a_way_on_where_not(state: JobState) -> None:
    assert {action for action in JobAction if changes(action, state)} == ALLOWED[state]
    for action in JobAction:
        if action in ALLOWED[state] or (state, action) in ALREADY:
            require_allowed(action, "orders", state)
            continue
        with pytest.raises(JobStateError, match=rf"Backfill orders is {state}: .* It cannot be {action}\.") as refused:
            require_allowed(action, "orders", state)
        assert refused.value.fix
        assert "{0}" not in str(refused.value)


def test_states_are_told_apart_by_what_is_left_to_do() -> None:
    assert {state for state in JobState if state.is_running} == {"PLANNED", "RUNNING"}
    assert {state for state in JobState if state.is_copied} == {"COPIED", "DONE"}
    assert {state for state in JobState if state.is_over} == {"CANCELLED", "DONE"}
