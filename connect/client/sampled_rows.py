"""Prints live rows before and after each transform, as `GET /connectors/{name}/sample` tells them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any


def sample_lines(sample: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a sample, a paragraph for each row."""
    for row in sample["rows"]:
        yield row["place"]
        for before, step in pairwise([None, *row["steps"]]):
            yield from _step_lines(step, before)
        yield ""
    yield from sample["notes"]


def _step_lines(step: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[str]:
    name = f"  {step['name']}" + (f" ({step['plugin'].rpartition('.')[2]})" if step["plugin"] else "")
    if step["error"] is not None:
        yield f"{name} refuses it: {step['error']}"
    elif not step["records"]:
        yield f"{name} drops it"
    elif is_same(step, before):
        yield f"{name} leaves it as it is"
    else:
        yield name
        for record in step["records"]:
            yield f"    {record['topic']}  key {record['key']}  value {record['value']}"
        if step["more"]:
            yield f"    and {step['more']} more records"


def is_same(step: Mapping[str, Any], before: Mapping[str, Any] | None) -> bool:
    """Return True if a step left the records as the step before it made them."""
    return before is not None and step["records"] == before["records"] and step["more"] == before["more"]
