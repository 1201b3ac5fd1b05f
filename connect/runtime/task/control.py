"""Holds what others ask of a running task: stop, pause, resume. The host's reading thread asks, the task's obeys."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Control:
    """Holds the wishes to stop and to pause, and a bell. The task waits on it, so a wish ends its wait at once."""

    def __init__(self, *, paused: bool = False) -> None:
        self.stop = threading.Event()
        self.bell = threading.Event()
        self.wake: Callable[[], None] = lambda: None
        """Is called after the bell was rung, for a task that waits on something else, too."""
        self._paused = paused

    def ask_to_stop(self) -> None:
        """Ask the task to end."""
        self.stop.set()
        self.ring()

    def ask_to_pause(self, paused: bool) -> None:
        """Pause the task, or let it go on."""
        self._paused = paused
        self.ring()

    def ring(self) -> None:
        """Have the task look at the wishes again."""
        self.bell.set()
        self.wake()

    @property
    def stopping(self) -> bool:
        """Tell if the task is asked to end."""
        return self.stop.is_set()

    @property
    def paused(self) -> bool:
        """Tell if the task is asked to rest."""
        return self._paused

    def heard(self) -> None:
        """Take note that the bell was heard. Look at the wishes after this call, or one may be missed."""
        self.bell.clear()
