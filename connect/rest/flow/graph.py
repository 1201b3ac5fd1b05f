"""Builds the graph of a cluster's flow: which connectors, topics and backfills lead to which. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from connect.backfill.job.states import JobState
from connect.client.overview import Line
from connect.rest.figures.sample_window import Pace

_STILL: Final = Pace()


class Kind(StrEnum):
    """Tells what a node stands for."""

    SOURCE = "source"
    SINK = "sink"
    TOPIC = "topic"
    BACKFILL = "backfill"


class Does(StrEnum):
    """Tells what moves along an edge."""

    WRITES = "writes"
    READS = "reads"
    DEAD_LETTERS = "dead letters"
    COPIES = "copies"


@dataclass(frozen=True, slots=True)
class Node:
    """Stands for a connector, a topic or a backfill.

    `state` is empty for a topic. `is_there` is False for a topic that Kafka does not have, and None if Kafka did not
    tell.
    """

    kind: Kind
    name: str
    state: str = ""
    is_there: bool | None = True
    pace: Pace = _STILL

    @property
    def id(self) -> str:
        """Return the unique id of the node; it has the kind in it, as a topic may have a connector's name."""
        kind = "connector" if self.kind in {Kind.SOURCE, Kind.SINK} else self.kind
        return f"{kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Edge:
    """Describes a way on which rows go from one node to another; the nodes are named by their ids.

    `declared` is True if a configuration names it, `seen` if rows went along it since the connector's topics were
    reset. `pace` is unknown if a connector has several topics, as its tasks count all of them together: see `Bundle`.
    """

    start: str
    end: str
    does: Does
    declared: bool
    seen: bool
    pace: Pace = _STILL


@dataclass(frozen=True, slots=True)
class Bundle:
    """Stands for the edges of a connector or backfill with several topics, whose rows are counted together."""

    node: str
    does: Does
    topics: int
    pace: Pace


@dataclass(frozen=True, slots=True)
class ConnectorFlow:
    """Describes a connector. `letters` is the topic of its dead letters; empty if it has none."""

    line: Line
    declared: Sequence[str]
    seen: Sequence[str]
    letters: str
    pace: Pace
    letters_per_s: float | None


@dataclass(frozen=True, slots=True)
class Flow:
    """Holds nodes and edges; both nodes of each edge are among the nodes."""

    nodes: Sequence[Node]
    edges: Sequence[Edge]

    def bundles(self) -> list[Bundle]:
        """Return what the edges of each connector or backfill with several topics come to together."""
        topics = Counter(key for edge in self.edges if (key := bundle_of(edge)) is not None)
        paces = {node.id: node.pace for node in self.nodes}
        return [Bundle(node, does, count, paces[node]) for (node, does), count in topics.items() if count > 1]


def bundle_of(edge: Edge) -> tuple[str, Does] | None:
    """Return the connector or backfill whose rows go along an edge to or from a topic, and what it does there."""
    if edge.does is Does.WRITES:
        return edge.start, edge.does
    return (edge.end, edge.does) if edge.does is Does.READS else None


def flow(
    connectors: Sequence[ConnectorFlow], jobs: Sequence[Mapping[str, Any]], topics: Mapping[str, int] | None
) -> Flow:
    """Return the graph. `jobs` are those of `GET /backfills`; `topics` are Kafka's, None if it did not tell."""
    nodes = {node.id: node for node in (_connector(one) for one in connectors)}
    edges = [edge for one in connectors for edge in _edges(one)]
    by_name = {one.line.name: one for one in connectors}
    for job in jobs:
        if "spec" in job and not JobState(job["state"]).is_over:
            node = _backfill(job)
            nodes[node.id] = node
            edges += _of_job(node, job["spec"], by_name)
    for name in sorted({id_.removeprefix("topic ") for edge in edges for id_ in (edge.start, edge.end)
                        if id_.startswith("topic ")}):  # fmt: skip
        node = Node(Kind.TOPIC, name, is_there=None if topics is None else name in topics)
        nodes[node.id] = node
    return Flow(list(nodes.values()), edges)


def _connector(one: ConnectorFlow) -> Node:
    kind = Kind.SINK if one.line.type == Kind.SINK else Kind.SOURCE
    return Node(kind, one.line.name, one.line.state, pace=one.pace)


def _edges(one: ConnectorFlow) -> Iterator[Edge]:
    node = _connector(one).id
    is_sink = one.line.type == Kind.SINK
    topics = _topics(one)
    for topic in topics:
        declared, seen = topic in one.declared, topic in one.seen
        pace = one.pace if len(topics) == 1 else _STILL
        ends = (f"topic {topic}", node) if is_sink else (node, f"topic {topic}")
        yield Edge(*ends, Does.READS if is_sink else Does.WRITES, declared, seen, pace)
    if one.letters:
        seen = bool(one.letters_per_s) or one.letters in one.seen
        yield Edge(node, f"topic {one.letters}", Does.DEAD_LETTERS, True, seen, Pace(one.letters_per_s))


def _topics(one: ConnectorFlow) -> list[str]:
    return [topic for topic in dict.fromkeys([*one.declared, *one.seen]) if topic != one.letters]


def _backfill(job: Mapping[str, Any]) -> Node:
    pace = Pace(job.get("progress", {}).get("rows_per_second")) if job["state"] == JobState.RUNNING else _STILL
    return Node(Kind.BACKFILL, job["name"], str(job["state"]), pace=pace)


def _of_job(node: Node, spec: Mapping[str, Any], by_name: Mapping[str, ConnectorFlow]) -> Iterator[Edge]:
    """Yield a job's edges: between it and its connector's topics or, for a copy, from one connector to it and on to
    another.
    """
    source, target = (by_name.get(str((spec.get(part) or {}).get("connector"))) for part in ("source", "target"))
    kind = spec.get("kind", "source")
    if kind == "copy":
        if source is not None:
            yield Edge(_connector(source).id, node.id, Does.COPIES, True, True, node.pace)
        if target is not None:
            yield Edge(node.id, _connector(target).id, Does.COPIES, True, True, node.pace)
        return
    one = target if kind == "sink" else source
    if one is None:
        return
    topics = _topics(one)
    pace = node.pace if len(topics) == 1 else _STILL
    for topic in topics:
        ends = (f"topic {topic}", node.id) if kind == "sink" else (node.id, f"topic {topic}")
        yield Edge(*ends, Does.READS if kind == "sink" else Does.WRITES, True, True, pace)
