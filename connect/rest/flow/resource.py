"""Serves `GET /flow`: the graph of sources, topics, sinks and backfills."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from aiohttp import web

from connect.rest.figures.sampler import SAMPLER
from connect.rest.flow.gathering import gathered
from connect.rest.flow.graph import Bundle, Edge, Node
from connect.rest.resources.own_shapes import Flow
from connect.rest.server.answers import json_answer
from connect.rest.server.routing import Route


async def get_flow(request: web.Request) -> web.Response:
    """What leads where, of the connectors that the sender may view; rates are known from the second request on."""
    look = await request.app[SAMPLER].look()
    found = await gathered(request, look)
    answer: dict[str, Any] = {
        "nodes": [_node(node) for node in found.flow.nodes],
        "edges": [_edge(edge) for edge in found.flow.edges],
        "bundles": [_bundle(bundle) for bundle in found.flow.bundles()],
        "not_told": found.not_told,
        "silent": look.silent,
    }
    return json_answer(answer)


def _node(node: Node) -> dict[str, Any]:
    return {
        "id": node.id, "kind": node.kind, "name": node.name, "state": node.state, "is_there": node.is_there,
        **asdict(node.pace),
    }  # fmt: skip


def _edge(edge: Edge) -> dict[str, Any]:
    return {
        "start": edge.start, "end": edge.end, "does": edge.does, "declared": edge.declared, "seen": edge.seen,
        **asdict(edge.pace),
    }  # fmt: skip


def _bundle(bundle: Bundle) -> dict[str, Any]:
    return {"node": bundle.node, "does": bundle.does, "topics": bundle.topics, **asdict(bundle.pace)}


ROUTES = (Route("GET", "/flow", get_flow, answers={200: Flow}),)
