"""The signals that ask a process to end, heard at once whatever its main thread is doing."""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

STOPPING: Final = (signal.SIGTERM, signal.SIGINT)
_AGAIN_S: Final = 0.05
_logger = logging.getLogger(__name__)


class StopSignals:
    """Calls `on_stop` when SIGTERM or SIGINT comes; a second SIGINT ends the process at once.

    Python runs a signal's handler on the main thread only, and only when that one is back from the call it is in, which
    may be a C library's wait for a broker. So the interpreter writes the signal to a pipe, which a thread reads.
    """

    def __init__(self, on_stop: Callable[[], None]) -> None:
        self._on_stop = on_stop
        self._incoming, self._outgoing = socket.socketpair()
        self._outgoing.setblocking(False)
        self._interrupts = 0

    def listen(self) -> None:
        """Begin. On the main thread, once per process. SIGUSR2 then prints the stack of every thread to stderr."""
        for number in STOPPING:
            signal.signal(number, _passed_over)
        signal.set_wakeup_fd(self._outgoing.fileno(), warn_on_full_buffer=False)
        faulthandler.register(signal.SIGUSR2, all_threads=True)
        threading.Thread(target=self._read, name="stop-signals", daemon=True).start()

    def _read(self) -> None:
        while numbers := self._incoming.recv(64):
            for number in numbers:
                if number in STOPPING:
                    self._take(signal.Signals(number))

    def _take(self, number: signal.Signals) -> None:
        self._interrupts += number == signal.SIGINT
        if self._interrupts > 1:
            sys.stderr.write("Interrupted again: ending without waiting for tasks.\n")
            os._exit(128 + number)
        # Asked first: a log that blocks must not keep the process from ending.
        self._on_stop()
        _logger.info("worker_stopping", extra={"signal": number.name})


def _passed_over(number: int, frame: FrameType | None) -> None:
    """Do nothing: this is only there so that the signal is noticed, and does not end the process."""


def hear_lost_interrupts() -> None:
    """Have a KeyboardInterrupt raised anew that came in a callback of the garbage collector: Python drops it there."""
    if not isinstance(sys.unraisablehook, _LostInterrupts):
        sys.unraisablehook = _LostInterrupts(sys.unraisablehook)


class _LostInterrupts:
    """Takes what Python cannot raise; all but an interrupt is passed on."""

    def __init__(self, tell: Callable[[sys.UnraisableHookArgs], Any]) -> None:
        self._tell = tell

    def __call__(self, dropped: sys.UnraisableHookArgs, /) -> None:
        if dropped.exc_type is not KeyboardInterrupt:
            self._tell(dropped)
            return
        try:
            if signal.getsignal(signal.SIGINT) is _passed_over:
                interrupt_once()
            _interrupt_soon()
        except KeyboardInterrupt:  # it came before this was left, and would be dropped with it
            self(dropped)


def _interrupt_soon() -> None:
    """Interrupt the main thread a moment later, as it would be dropped now: in C, too, where that thread may wait."""
    main = threading.main_thread().ident
    threading.Timer(_AGAIN_S, signal.pthread_kill, (main, signal.SIGINT)).start()


def interrupt_once() -> None:
    """Let the first SIGTERM or SIGINT raise KeyboardInterrupt; pass over those that come while that one is obeyed."""
    for number in STOPPING:
        signal.signal(number, _interrupt)


def _interrupt(number: int, frame: FrameType | None) -> None:
    for stopping in STOPPING:
        # No SIG_IGN: programs that are started while cleaning up would inherit it.
        signal.signal(stopping, _passed_over)
    signal.default_int_handler(number, frame)
