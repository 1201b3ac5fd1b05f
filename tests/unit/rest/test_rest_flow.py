"""Shows the flow of a cluster: as a graph, over REST, on a page, and in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from click.testing import CliRunner
from rest_client import Rest, ServerMaker
from sample_plugins import FILE_SINK, FILE_SOURCE
from test_rest_ui import HOSTILE
from ui_reader import Reader

from connect.cli import main
from connect.cli.flow import End, Line, show
from connect.client import overview
from connect.rest.figures.sample_window import Pace
from connect.rest.flow.graph import Bundle, ConnectorFlow, Does, Flow, flow
from connect.rest.ui.views.flow import EDGES, MOVERS, FlowQuery, flow_page
from connect.rest.ui.views.flow_picture import NODE_HEIGHT, NODE_WIDTH, Box, picture

PACE = Pace(12.0, 5, 1.5)
LETTERS = "errors.deadletterqueue.topic.name"


class Kafka:
    """Answers in place of Kafka what the flow asks of it."""

    def __init__(self) -> None:
        self.topics: Mapping[str, int] = {"t": 1}
        self.jobs: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def kafka(monkeypatch: pytest.MonkeyPatch) -> Kafka:
    told = Kafka()
    monkeypatch.setattr("connect.kafka.admin.topics.TopicAdmin.topics", lambda *_: told.topics)
    monkeypatch.setattr("connect.rest.resources.backfills._Service.jobs", lambda _: told.jobs)
    return told


def source(name: str, *topics: str, state: str = "RUNNING", seen: Sequence[str] = ()) -> ConnectorFlow:
    return ConnectorFlow(overview.Line(name, "source", state, "1/1", "Plugin", ""), topics, seen, "", PACE, None)


def sink(name: str, *topics: str, letters: str = "", seen: Sequence[str] = ()) -> ConnectorFlow:
    return ConnectorFlow(overview.Line(name, "sink", "RUNNING", "1/1", "Plugin", ""), topics, seen, letters, PACE, 2.0)


def job(name: str, kind: str, state: str = "RUNNING", **spec: Any) -> dict[str, Any]:
    return {"name": name, "state": state, "spec": {"kind": kind, **spec}, "progress": {"rows_per_second": 900.0}}


def ways(found: Flow) -> set[tuple[str, str, str]]:
    return {(edge.start, str(edge.does), edge.end) for edge in found.edges}


def test_what_is_declared_and_what_rows_have_gone_along_become_one_graph() -> None:
    connectors = [source("s", "t", seen=["t", "u"]), sink("k", "t", "never", letters="dead", seen=["t", "dead"])]
    found = flow(connectors, [], {"t": 3, "u": 1, "dead": 1})
    assert ways(found) == {
        ("connector s", "writes", "topic t"), ("connector s", "writes", "topic u"),
        ("topic t", "reads", "connector k"), ("topic never", "reads", "connector k"),
        ("connector k", "dead letters", "topic dead"),
    }  # fmt: skip
    known = {(edge.start, edge.end): (edge.declared, edge.seen) for edge in found.edges}
    assert known["connector s", "topic t"] == (True, True)
    assert known["connector s", "topic u"] == (False, True)
    assert known["topic never", "connector k"] == (True, False)
    there = {node.name: node.is_there for node in found.nodes if node.kind == "topic"}
    assert there == {"t": True, "u": True, "dead": True, "never": False}
    (letters,) = [edge for edge in found.edges if edge.does is Does.DEAD_LETTERS]
    assert letters.pace == Pace(2.0)


def test_an_edge_has_rate_and_lag_where_they_are_its_own_alone() -> None:
    one, two = flow([source("s", "t"), sink("k", "t", "u")], [], None), flow([sink("k", "t")], [], None)
    assert [edge.pace for edge in one.edges] == [PACE, Pace(), Pace()]
    assert [edge.pace for edge in two.edges] == [PACE]
    assert {node.is_there for node in one.nodes if node.kind == "topic"} == {None}, "Kafka did not tell"


def test_edges_that_are_counted_together_have_one_sum() -> None:
    jobs = [job("in", "source", source={"connector": "s"})]
    found = flow([source("s", "t", "u", "v"), sink("k", "t", "u"), sink("one", "t")], jobs, None)
    assert found.bundles() == [
        Bundle("connector s", Does.WRITES, 3, PACE), Bundle("connector k", Does.READS, 2, PACE),
        Bundle("backfill in", Does.WRITES, 3, Pace(900.0)),
    ]  # fmt: skip
    lines = flow_page(found, FlowQuery()).ways
    told = [(way.start.name, way.bundle.topics) for way in lines if way.bundle]
    assert told == [("s", 3), ("k", 2), ("in", 3)]
    at = next(number for number, way in enumerate(lines) if way.bundle and way.start.name == "k")
    assert lines[at - 1].end is not None
    assert lines[at - 1].end.name == "k", "it stands behind the edges that it is the sum of"


def test_the_page_and_the_command_say_the_same_of_a_sink_of_several_topics(
    rest: Rest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connect.rest.figures.sample_window.SampleWindow.pace", lambda *_: PACE)
    rest.create("several", **{"connector.class": FILE_SINK, "topics": "t, u", "file": "f"})
    rest.create("other", **{"connector.class": FILE_SINK, "topics": "t", "file": "f"})
    typed = CliRunner().invoke(main, ["flow", "--once", "--url", rest.url]).output
    lines = [line.split() for line in typed.splitlines()]
    together = next(line for line in lines if "together" in line)
    assert together[:5] == ["all", "2", "topics", "together", "reads"]
    assert together[6] == "several"
    assert together[-5:] == ["12.0", "5", "rows,", "1.5", "s"]
    page = Reader(rest.url).open("/ui/flow").text
    assert "all 2 topics together are read by several" in " ".join(page.split())
    assert " ".join(page.split()).count("5 rows, 1.5 s") == typed.count("5 rows, 1.5 s") == 2
    assert rest.get("/flow")["bundles"] == [
        {"node": "connector several", "does": "reads", "topics": 2, "rows_per_s": 12.0, "lag_rows": 5, "lag_s": 1.5}
    ]


def test_backfills_stand_where_they_read_and_write_until_they_are_over() -> None:
    jobs = [
        job("in", "source", source={"connector": "s"}), job("out", "sink", target={"connector": "k"}),
        job("past", "copy", source={"connector": "s"}, target={"connector": "k"}),
        job("done", "source", "DONE", source={"connector": "s"}), job("lost", "source", source={"connector": "gone"}),
        {"name": "unreadable", "unreadable": "of a later release"},
    ]  # fmt: skip
    found = flow([source("s", "t"), sink("k", "t")], jobs, {"t": 1})
    assert ways(found) >= {
        ("backfill in", "writes", "topic t"), ("topic t", "reads", "backfill out"),
        ("connector s", "copies", "backfill past"), ("backfill past", "copies", "connector k"),
    }  # fmt: skip
    assert {node.name for node in found.nodes if node.kind == "backfill"} == {"in", "out", "past", "lost"}
    assert next(edge.pace for edge in found.edges if edge.start == "backfill in") == Pace(900.0)


def overlap(one: Box, other: Box) -> bool:
    return abs(one.x - other.x) < NODE_WIDTH and abs(one.y - other.y) < NODE_HEIGHT


def test_the_picture_goes_from_left_to_right_and_nothing_covers_anything() -> None:
    found = flow([*(source(f"s{n}", f"t{n % 3}") for n in range(9)), *(sink(f"k{n}", "t0", "t1") for n in range(5))],
                 [], None)  # fmt: skip
    drawn = picture(found)
    boxes = {box.node.id: box for box in drawn.boxes}
    assert all(boxes[edge.start].x < boxes[edge.end].x for edge in found.edges)
    assert not any(overlap(a, b) for at, a in enumerate(drawn.boxes) for b in drawn.boxes[at + 1 :])
    assert all(box.x + NODE_WIDTH <= drawn.width and box.y + NODE_HEIGHT <= drawn.height for box in drawn.boxes)


def test_a_circle_of_connectors_and_topics_is_drawn_too() -> None:
    found = flow([sink("k", "t", letters="d"), sink("again", "d", letters="t")], [], None)
    drawn = picture(found)
    assert len(drawn.boxes) == 4
    assert len(drawn.curves) == 4
    assert picture(Flow([], [])).boxes == []


def test_ties_are_drawn_with_few_crossings() -> None:
    """Pairs whose topics come in the opposite order stand side by side."""
    pairs = [source(f"s{n}", f"t{n}") for n in range(6)] + [sink(f"k{n}", f"t{n}") for n in reversed(range(6))]
    rows = {box.node.id: box.y for box in picture(flow(pairs, [], None)).boxes}
    assert all(rows[f"connector s{n}"] == rows[f"topic t{n}"] == rows[f"connector k{n}"] for n in range(6))


def test_a_page_has_what_is_tied_together_and_what_needs_a_person_first() -> None:
    many = [source(f"s{n:03}", f"t{n % 100}") for n in range(200)] + [source("bad", "x", state="FAILED")]
    found = flow_page(flow(many, [], None), FlowQuery())
    assert (found.found, found.movers, found.pages) == (201, 201, 6)
    assert found.ways[0].start.name == "bad" or "bad" in {way.start.name for way in found.ways}
    shown = {way.start.name for way in found.ways}
    assert {"s000", "s100"} <= shown, "they write one topic"
    assert len(shown) == MOVERS
    last = flow_page(flow(many, [], None), FlowQuery(page=99))
    assert last.asked.page == 6
    searched = flow_page(flow(many, [], None), FlowQuery("T7"))
    assert {way.end.name for way in searched.ways if way.end} == {"t7", *(f"t7{n}" for n in range(10))}
    wide = flow_page(flow([source("s", *(f"t{n}" for n in range(1000)))], [], None), FlowQuery())
    assert (len(wide.ways), wide.more) == (EDGES + 1, 1000 - EDGES)
    assert wide.ways[-1].bundle == Bundle("connector s", Does.WRITES, 1000, PACE), "the sum is that of all edges"


def test_rest_tells_the_graph_and_shows_nobody_more_than_they_may_view(
    serve: ServerMaker, kafka: Kafka, tmp_path: Any
) -> None:
    (tmp_path / "users").write_text("ada=x\nroot=x\n")
    roles = {"rest.roles.viewer": "ada on orders-*", "rest.roles.admin": "root"}
    rest = serve(worker={"rest.basic.auth.file": str(tmp_path / "users"), "rest.ui": "off", **roles})
    rest.session.auth = ("root", "x")
    rest.create("orders-in")
    rest.create("bills-out", **{"connector.class": FILE_SINK, "topics": "t, u", LETTERS: "dead", "file": "f"})
    rest.operations.cluster.topics["orders-in"] = ["t"]
    kafka.jobs = [
        job("in", "source", "PAUSED", source={"connector": "orders-in"}),
        job("x", "sink", "PAUSED", target={"connector": "b"}),
    ]
    whole = rest.get("/flow")
    assert {node["id"] for node in whole["nodes"]} >= {"connector bills-out", "backfill x", "topic dead"}
    assert {node["id"] for node in whole["nodes"] if node["is_there"] is False} == {"topic u", "topic dead"}
    assert whole["not_told"] == []
    rest.session.auth = ("ada", "x")
    seen = rest.get("/flow")
    assert {node["id"] for node in seen["nodes"]} == {"connector orders-in", "topic t", "backfill in"}
    assert "bills" not in str(seen)


def test_what_kafka_does_not_tell_is_named(serve: ServerMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    from connect.api.errors import ConnectError

    def away(*_: Any) -> Any:
        raise ConnectError("No broker answers.")

    monkeypatch.setattr("connect.kafka.admin.topics.TopicAdmin.topics", away)
    monkeypatch.setattr("connect.rest.resources.backfills._Service.jobs", away)
    rest = serve()
    rest.create("a")
    assert rest.get("/flow")["not_told"] == ["topics", "backfills"]
    page = Reader(rest.url).open("/ui/flow")
    assert "does not say which topics are missing" in page.text


def test_the_page_is_a_picture_and_a_table_and_is_light_with_200_connectors(rest: Rest, kafka: Kafka) -> None:
    for number in range(200):
        rest.create(f"connector-{number}-of-a-team-that-likes-names", topic=f"topic-of-the-team-{number % 70}")
    reader = Reader(rest.url)
    page = reader.open("/ui/flow")
    assert (page.status, page.unclosed) == (200, [])
    assert len(page.html) < 150_000
    assert "200 of 200 connectors and backfills" in page.text
    assert [link for link in page.links() if "/ui/connector?" in link]
    assert reader.open("/ui/flow?q=no-such").text.count("Nothing fits") == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text_in_picture_and_table(rest: Rest, name: str) -> None:
    config = {"connector.class": FILE_SOURCE, "name": name, "topic": name}
    rest.operations.connectors.create(name, config, None)  # a stored one may have a name that REST refuses
    page = Reader(rest.url).open("/ui/flow")
    assert (page.status, page.unclosed) == (200, [])
    assert not [tag for tag, values in page.elements if tag == "script" and "src" not in values]
    assert not [values for _, values in page.elements if "onerror" in values]
    assert "49" not in page.texts
    assert "\u202e" not in page.html


def test_the_command_prints_what_rest_tells(rest: Rest, kafka: Kafka) -> None:
    rest.create("orders-in")
    rest.create("alone", **{"connector.class": FILE_SINK, "topics.regex": "x.*", "topics": "", "file": "f"})
    printed = CliRunner().invoke(main, ["flow", "--once", "--url", rest.url])
    assert printed.exit_code == 0, printed.output
    assert "source orders-in (RUNNING)" in printed.output
    assert "topic t" in printed.output
    assert "sink alone (RUNNING)" in printed.output
    machine = CliRunner().invoke(main, ["flow", "--json", "--once", "--url", rest.url])
    assert '"does": "writes"' in machine.output


LONG = "inventory-production.public.customer_order_lines"
LINES = [
    Line(End("source", LONG, "(RUNNING)"), "writes", End("topic", LONG), "configuration, rows", "1,234.5",
         "120 rows, 1.5 s"),
    Line(End("sink", "alone", "(PAUSED)"), "–", End(), "–", "–", "–"),
]  # fmt: skip


@pytest.mark.parametrize(("width", "as_table"), [(None, True), (200, True), (80, False)])
def test_long_names_are_whole_on_a_narrow_terminal(
    width: int | None, as_table: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    show(LINES, width)
    printed = capsys.readouterr().out
    assert printed.count(LONG) == 2
    assert printed.startswith("FROM ") == as_table
    if not as_table:
        assert printed == (
            f"source {LONG} (RUNNING)\n"
            f"  writes topic {LONG}\n"
            "    1,234.5 rows/s; lag 120 rows, 1.5 s; known by configuration, rows\n"
            "sink alone (PAUSED)\n"
        )


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_a_name_of_249_characters_is_shortened_to_the_terminal(width: int, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"begin{'-' * 239}endof"
    line = Line(End("source", name, "(RUNNING)"), "writes", End("topic", name), "rows", "1.0", "–")
    show([line, Line(End("sink", name, "(PAUSED)"), "–", End(), "–", "–", "–")], width)
    printed = capsys.readouterr().out.splitlines()
    assert max(map(len, printed)) <= width
    assert [line.partition("-")[0] for line in printed if "endof" in line] == [
        "source begin", "  writes topic begin", "sink begin",
    ]  # fmt: skip
