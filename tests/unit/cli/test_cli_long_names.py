"""Names as long as Kafka allows fit on a terminal of 60 columns or more, and are whole for machines."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from typing import Any

import pytest
from click import unstyle
from click.testing import CliRunner
from rich.cells import cell_len

from connect.cli import main
from connect.cli.shared.table import print_table, shortened
from connect.cli.shared.terminal import coloured
from connect.cli.status import _commands as status_commands
from connect.cli.top import show
from connect.client.task_lines import TaskLine

LONG = f"begin-{'x' * 238}-ends"
WIDE = "注文" * 120 + "-konec"
REASON = "It waits for rows of a topic that does not exist: see connect doctor."
COLUMNS = ("NAME", "TYPE", "STATE", "TASKS", "REASON")
ROWS = [(LONG, "sink", "UNASSIGNED", "0/12", REASON), (WIDE, "source", "RUNNING", "1/1", ""),
        ("orders", "source", "RUNNING", "1/1", "")]  # fmt: skip


class Terminal(io.StringIO):
    """Says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(params=[60, 80, 100, 200])
def width(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setenv("COLUMNS", str(request.param))
    return int(request.param)


def on_a_terminal(call: Any) -> list[str]:
    with redirect_stdout(Terminal()) as written:
        call()
    return unstyle(written.getvalue()).splitlines()


def test_a_table_has_each_connector_on_lines_of_the_terminal(width: int) -> None:
    lines = on_a_terminal(lambda: print_table(COLUMNS, ROWS))
    assert max(map(cell_len, lines)) <= width
    (long,) = [line for line in lines if line.startswith("begin")]
    assert "…" in long
    assert long.split()[0].endswith("ends"), "its end is shown, too"
    assert long.split()[1:4] == ["sink", "UNASSIGNED", "0/12"], "nothing else is cut into pieces"
    assert [line.split()[:4] for line in lines if line.startswith("orders")] == [["orders", "source", "RUNNING", "1/1"]]
    assert any(line.startswith("注文") and "konec" in line for line in lines)
    assert "--json" in lines[-1]


def test_reasons_are_folded_and_whole(width: int) -> None:
    lines = on_a_terminal(lambda: print_table(COLUMNS, ROWS[:1]))
    told = " ".join(line.split("0/12")[-1].strip() for line in lines[1:-1])
    assert told.replace(" ", "") == REASON.replace(" ", "")


@pytest.mark.parametrize("once", [True, False])
def test_top_fits_the_terminal(width: int, once: bool) -> None:
    task = TaskLine(LONG, "11", "sink", "RUNNING", "127.0.0.1:8083", 1.0, 12_345_678.0, 120.5, 3.0, 2.0**27, REASON)
    lines = on_a_terminal(lambda: show([task], None, width, is_terminal=True))
    assert max(map(len, lines)) <= width
    assert lines[1].split()[:3] == [lines[1].split()[0], "11", "RUNNING"]
    assert lines[1].startswith("begin")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer as a cluster of one failed connector does, whatever address is asked."""
    state = {"state": "FAILED", "worker_id": "w:1", "trace": REASON}
    found = {LONG: {"status": {"connector": state, "tasks": [{"id": 0, **state}]}, "info": {"tasks": [0]}}}
    monkeypatch.setattr("connect.client.rest.ConnectClient.connectors", lambda _: found)
    monkeypatch.setattr("connect.client.rest.ConnectClient.server", lambda _: {"version": "1", "kafka_cluster_id": "k"})


def test_status_has_reasons_below_the_table_of_a_narrow_terminal(width: int, cluster: None) -> None:
    context = status_commands.commands["status"].make_context("status", ["--url", "http://127.0.0.1:1"])
    lines = on_a_terminal(lambda: status_commands.commands["status"].invoke(context))
    assert ("REASON" in lines[1]) == (width >= 100)
    assert max(map(cell_len, lines)) <= width
    if width < 100:
        assert " ".join(lines[2:]).endswith(f": {REASON}"), lines


def test_ctrl_c_ends_what_is_watched_and_is_no_error(cluster: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object, timeout: float) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr("threading.Event.wait", interrupted)
    done = CliRunner().invoke(status_commands, ["status", "--watch", "--url", "http://127.0.0.1:1"])
    assert (done.exit_code, "Aborted" in done.output) == (0, False)
    assert "begin-" in done.output


def test_a_step_of_a_path_is_no_name() -> None:
    done = CliRunner().invoke(main, ["connectors", "why", "--url", "http://127.0.0.1:1", "--", ".."])
    assert done.exit_code == 1
    assert "cannot be asked for" in done.output


def test_no_colour_is_written_where_somebody_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert coloured("error", "red") != "error"
    monkeypatch.setenv("NO_COLOR", "1")
    assert coloured("error", "red") == "error"


def test_a_pipe_has_all_of_a_name_on_its_line() -> None:
    with redirect_stdout(io.StringIO()) as written:
        print_table(COLUMNS, [(LONG, "sink", "FAILED", "0/1", REASON * 10)])
    lines = written.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[1].split(None, 4) == [LONG, "sink", "FAILED", "0/1", (REASON * 10).rstrip()]


def test_json_has_the_whole_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    state = {"state": "RUNNING", "worker_id": "w:1"}
    found = {LONG: {"status": {"connector": state, "tasks": [{"id": 0, **state}]}, "info": {"tasks": [0]}}}
    monkeypatch.setattr("connect.client.rest.ConnectClient.connectors", lambda _: found)
    done = CliRunner().invoke(status_commands, ["status", "--json", "--url", "http://127.0.0.1:1"])
    assert [line["name"] for line in json.loads(done.output)] == [LONG]


@pytest.mark.parametrize("room", range(5, 30))
def test_a_shortened_name_has_no_more_columns_than_there_are(room: int) -> None:
    assert cell_len(shortened(LONG, room)) <= room
    assert cell_len(shortened(WIDE, room)) <= room
    assert shortened("abc", 3) == "abc"
