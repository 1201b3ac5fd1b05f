"""Checks that the messages between worker and host survive the wire."""

import pytest

from connect.api.errors import ConfigProblem
from connect.runtime.task.messages import (
    Call,
    CallResult,
    Figures,
    Heartbeat,
    HostReady,
    LoggersKnown,
    SetLogLevel,
    SetPaused,
    StartTask,
    StopTask,
    TaskState,
    TellFigures,
    TopicsUsed,
    decode,
    encode,
)
from connect.runtime.task.state import State  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        StartTask("ü-1", 0, 3, "source", {"a": "b\n"}, {"c": "d"}, paused=True),
        StopTask("c", 1, 2, 5.0),
        SetPaused("c", 1, 2, True),
        Call(1, "check", {"k": "v"}, 10.0),
        Call(2, "alter_offsets", {"k": "v"}, 10.0, (({"f": "a"}, {"p": 1}), ({"f": "b"}, None))),
        SetLogLevel("connectors.file", "DEBUG"),
        LoggersKnown(["root", "connect"]),
        HostReady(42),
        TaskState("c", 0, 1, State.FAILED, "trace\nlines", True),
        TaskState("c", 0, 1, None),
        TopicsUsed("c", 0, ["t"]),
        CallResult(1, value=[{"a": "b"}]),
        CallResult(2, problems=(ConfigProblem("k", "bad"),), error="e", trace="t"),
        Figures({"c-0": {"rows_total": 1.5}}, {"pid": 1.0}, 7),
        Figures({"c-0": {"own_gauge": float("inf")}}),
        TellFigures(7),
        Heartbeat(),
    ],
)
def test_every_message_survives_the_wire(message):
    line = encode(message)
    assert line.count(b"\n") == 1
    assert decode(line) == message


def test_an_unknown_message_is_named():
    with pytest.raises(ValueError, match="Unknown message"):
        decode(b'{"kind":"Nonsense"}\n')
