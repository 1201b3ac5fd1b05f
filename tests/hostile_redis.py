"""Runs a server that speaks Redis's protocol, and answers each command as an attacker likes."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from running_server import running

Command = tuple[bytes, ...]


class Handler(socketserver.StreamRequestHandler):
    """Answers the commands of one connection."""

    server: HostileRedis

    def handle(self) -> None:
        try:
            while command := self._command():
                self.server.asked.append(command)
                self.server.answers(self, command)
        except OSError:
            return

    def _command(self) -> Command:
        begin = self.rfile.readline(100)
        if not begin.startswith(b"*"):
            return ()
        parts = []
        for _ in range(int(begin[1:])):
            size = int(self.rfile.readline(100)[1:])
            parts.append(self.rfile.read(size + 2)[:-2])
        return tuple(parts)


Answer = Callable[[Handler, Command], None]


class HostileRedis(socketserver.ThreadingTCPServer):
    """Keeps the commands that it gets."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, answers: Answer, host: str = "127.0.0.1", port: int = 0) -> None:
        super().__init__((host, port), Handler)
        self.answers = answers
        self.asked: list[Command] = []
        self.over = threading.Event()
        self.port = self.server_address[1]


def hostile_redis(answers: Answer) -> AbstractContextManager[HostileRedis]:
    """Run a server that gives these answers."""
    server = HostileRedis(answers)
    return running(server, server.over)
