"""Draws a part of the flow in layers from left to right: it computes the places of nodes and the curves between them.
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from connect.rest.flow.graph import Edge, Flow, Node

NODE_WIDTH: Final = 220
NODE_HEIGHT: Final = 40
_ACROSS: Final = 380
_DOWN: Final = 58
_MARGIN: Final = 12
_SWEEPS: Final = 4
_CHARS: Final = 26


@dataclass(frozen=True, slots=True)
class Box:
    """Holds a node at its place; x and y are its upper left corner. `label` is its name, cut so that it fits."""

    node: Node
    x: int
    y: int
    label: str


@dataclass(frozen=True, slots=True)
class Curve:
    """Holds an edge as a path of SVG, and the point of its label."""

    edge: Edge
    path: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Picture:
    """Holds boxes and curves, and the size of the picture that they need."""

    width: int
    height: int
    boxes: Sequence[Box]
    curves: Sequence[Curve]


def picture(flow: Flow) -> Picture:
    """Return where everything stands: each node to the right of those that lead to it, and near those that it has edges
    with.
    """
    layers = _layers(flow)
    _untangle(layers, flow)
    boxes = {
        node.id: Box(node, _MARGIN + column * _ACROSS, _MARGIN + row * _DOWN, _cut(node.name))
        for column, layer in enumerate(layers)
        for row, node in enumerate(layer)
    }
    curves = [_curve(edge, boxes[edge.start], boxes[edge.end]) for edge in flow.edges]
    return Picture(
        2 * _MARGIN + max(0, len(layers) - 1) * _ACROSS + NODE_WIDTH,
        2 * _MARGIN + max((len(layer) for layer in layers), default=0) * _DOWN,
        list(boxes.values()),
        curves,
    )


def _layers(flow: Flow) -> list[list[Node]]:
    """Return the nodes in layers by the longest way that leads to each; an edge that closes a circle does not count."""
    after: dict[str, list[str]] = {node.id: [] for node in flow.nodes}
    for edge in flow.edges:
        after[edge.start].append(edge.end)
    order = _order(after)
    place = {id_: number for number, id_ in enumerate(order)}
    depth = dict.fromkeys(after, 0)
    for id_ in order:
        for end in after[id_]:
            if place[end] > place[id_]:
                depth[end] = max(depth[end], depth[id_] + 1)
    layers: list[list[Node]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for node in flow.nodes:
        layers[depth[node.id]].append(node)
    return layers


def _order(after: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the nodes in an order in which each comes before those that it leads to; in a circle this cannot hold for
    all.
    """
    done: list[str] = []
    seen: set[str] = set()
    for first in after:
        waiting = [(first, iter(after[first]))] if first not in seen else []
        seen.add(first)
        while waiting:
            id_, ends = waiting[-1]
            end = next((end for end in ends if end not in seen), None)
            if end is None:
                done.append(id_)
                waiting.pop()
            else:
                seen.add(end)
                waiting.append((end, iter(after[end])))
    return done[::-1]


def _untangle(layers: list[list[Node]], flow: Flow) -> None:
    """Sort each layer by the mean place of the nodes that its nodes have edges with, several times, so that few edges
    cross.
    """
    tied: dict[str, list[str]] = {node.id: [] for node in flow.nodes}
    for edge in flow.edges:
        tied[edge.start].append(edge.end)
        tied[edge.end].append(edge.start)
    row = {node.id: float(number) for layer in layers for number, node in enumerate(layer)}

    def middle(node: Node) -> float:
        found = [row[id_] for id_ in tied[node.id]]
        return sum(found) / len(found) if found else row[node.id]

    for sweep in range(_SWEEPS):
        for layer in layers if sweep % 2 == 0 else layers[::-1]:
            layer.sort(key=middle)
            row.update({node.id: float(number) for number, node in enumerate(layer)})


def _curve(edge: Edge, start: Box, end: Box) -> Curve:
    x1, y1 = start.x + NODE_WIDTH, start.y + NODE_HEIGHT / 2
    x2, y2 = end.x, end.y + NODE_HEIGHT / 2
    bend = max(40.0, abs(x2 - x1) / 2)
    path = f"M{x1} {y1:.0f}C{x1 + bend:.0f} {y1:.0f} {x2 - bend:.0f} {y2:.0f} {x2} {y2:.0f}"
    return Curve(edge, path, (x1 + x2) / 2, (y1 + y2) / 2 - 5)


def _cut(name: str) -> str:
    return name if len(name) <= _CHARS else f"{name[: _CHARS - 1]}…"
