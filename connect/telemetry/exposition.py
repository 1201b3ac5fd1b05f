"""Writes families of metrics in Prometheus' text format, as `prometheus_client.generate_latest` does, for many tasks.

The library escapes and joins the labels of each sample anew, which is most of a scrape's time with hundreds of tasks
whose labels come again in every family.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final

from prometheus_client.metrics_core import Metric as Family
from prometheus_client.utils import floatToGoString

_LABEL_SETS: Final = 65_536


def exposition(families: Iterable[Family]) -> bytes:
    """Return the text, format 0.0.4."""
    return "".join(_lines(families)).encode()


def _lines(families: Iterable[Family]) -> Iterator[str]:
    for family in families:
        name = f"{family.name}_total" if family.type == "counter" else family.name
        doc = family.documentation.replace("\\", r"\\").replace("\n", r"\n")
        yield f"# HELP {name} {doc}\n# TYPE {name} {family.type}\n"
        for sample in family.samples:
            yield f"{sample.name}{_labels(*sample.labels.items())} {_number(sample.value)}\n"


def _number(value: float) -> str:
    return str(floatToGoString(value))  # type: ignore[no-untyped-call]  # the library has no types there


@lru_cache(_LABEL_SETS)
def _labels(*labels: tuple[str, str]) -> str:
    """Return the labels of a sample in braces, sorted; nothing where there are none."""
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in sorted(labels)) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")
