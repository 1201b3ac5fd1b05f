"""Selects a part of the flow for a page: the connectors and backfills that were searched for, with their topics.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect.client.overview import rank
from connect.rest.flow.graph import Bundle, Edge, Flow, Kind, Node, bundle_of
from connect.rest.ui.views.flow_picture import Picture, picture

MOVERS: Final = 40
"""A page has at most this many connectors and backfills, so that browsers draw it quickly."""
EDGES: Final = 150


@dataclass(frozen=True, slots=True)
class FlowQuery:
    """Holds what a reader wants to see: a text in names of connectors, backfills or topics, and the number of a page,
    from 1.
    """

    text: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class Way:
    """Holds a line of the table: an edge with its two nodes, a node without edges, or a node with what its edges come
    to together.
    """

    start: Node
    edge: Edge | None = None
    end: Node | None = None
    bundle: Bundle | None = None


@dataclass(frozen=True, slots=True)
class FlowPage:
    """Describes a page of the flow. `found` of all `movers` (connectors and backfills) match; `more` edges are not
    shown.
    """

    asked: FlowQuery
    picture: Picture
    ways: Sequence[Way]
    found: int
    movers: int
    pages: int
    more: int


def flow_page(flow: Flow, asked: FlowQuery) -> FlowPage:
    """Return the page that was asked for. Connectors and backfills that share topics are on the same page if they fit
    there.
    """
    nodes = {node.id: node for node in flow.nodes}
    ends: dict[str, list[Edge]] = {id_: [] for id_ in nodes}
    for edge in flow.edges:
        ends[edge.start].append(edge)
        ends[edge.end].append(edge)
    movers = _sorted([node for node in flow.nodes if node.kind is not Kind.TOPIC], nodes, ends)
    fitting = [node for node in movers if _fits(node, ends[node.id], nodes, asked.text.strip().lower())]
    pages = max(1, -(-len(fitting) // MOVERS))
    page = min(max(1, asked.page), pages)
    shown = {node.id for node in fitting[(page - 1) * MOVERS : page * MOVERS]}
    edges = [edge for edge in flow.edges if all(_is_shown(nodes[id_], shown) for id_ in (edge.start, edge.end))]
    # A topic is shown only beside a connector or a backfill of this page.
    edges = [edge for edge in edges if edge.start in shown or edge.end in shown]
    kept = edges[:EDGES]
    used = shown | {id_ for edge in kept for id_ in (edge.start, edge.end)}
    part = Flow([node for node in flow.nodes if node.id in used], kept)
    return FlowPage(
        FlowQuery(asked.text, page), picture(part), _ways(part, flow.bundles()), len(fitting), len(movers), pages,
        len(edges) - len(kept),
    )  # fmt: skip


def _is_shown(node: Node, shown: set[str]) -> bool:
    return node.kind is Kind.TOPIC or node.id in shown


def _fits(node: Node, edges: Sequence[Edge], nodes: Mapping[str, Node], text: str) -> bool:
    names = [node.name, *(nodes[id_].name for edge in edges for id_ in (edge.start, edge.end))]
    return not text or any(text in name.lower() for name in names)


def _sorted(movers: Sequence[Node], nodes: Mapping[str, Node], ends: Mapping[str, Sequence[Edge]]) -> list[Node]:
    """Return the connectors and backfills so that those that share topics follow each other, first those with
    trouble.
    """
    part: dict[str, int] = {}
    for number, first in enumerate(nodes):
        waiting = [first]
        while waiting:
            id_ = waiting.pop()
            if id_ not in part:
                part[id_] = number
                waiting += [end for edge in ends[id_] for end in (edge.start, edge.end)]
    worst: dict[int, int] = {}
    for node in movers:
        worst[part[node.id]] = min(worst.get(part[node.id], 99), rank(node.state))
    return sorted(movers, key=lambda node: (worst[part[node.id]], part[node.id], rank(node.state), node.name))


def _ways(flow: Flow, bundles: Sequence[Bundle]) -> list[Way]:
    nodes = {node.id: node for node in flow.nodes}
    tied = {id_ for edge in flow.edges for id_ in (edge.start, edge.end)}
    left = {(bundle.node, bundle.does): bundle for bundle in bundles}
    last = {key: edge for edge in flow.edges if (key := bundle_of(edge)) in left}
    ways = []
    for edge in flow.edges:
        ways.append(Way(nodes[edge.start], edge, nodes[edge.end]))
        key = bundle_of(edge)
        if key is not None and last.get(key) is edge:
            ways.append(Way(nodes[key[0]], bundle=left[key]))
    return [*ways, *(Way(node) for node in flow.nodes if node.id not in tied)]
