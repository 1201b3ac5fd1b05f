"""Says that a source's poll ends at once when it is asked to, so that an idle task may wait in it for longer."""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class PromptPolls(Protocol):
    """Is what a source task offers whose `poll` waits by `Deadline.wait` alone, or in slices of a tenth of a second.

    An idle task of that kind is asked to poll with 10 s of time; others with 3 s at most, as a stop waits for their
    poll to end. Data that come by themselves end the wait by `SourceContext.wake`.
    """

    polls_end_at_once: bool
    """It is true; a task for which it is not true has no such attribute."""
