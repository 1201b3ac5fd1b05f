"""Draw the modes of the BigQuery sink side by side: `python docs/site/bigquery_modes.py > docs/bigquery-modes.svg`.

The costs are those that `connect bigquery plan` counts for the example of the connector's README.
"""

from __future__ import annotations

import math
from typing import Final
from xml.etree import ElementTree as ET

from connectors.bigquery.cost.plan import TableSize, Traffic, plan
from connectors.bigquery.cost.prices import Prices

GIB: Final = 2**30
SIZE: Final = TableSize(rows=104_857_600, total_bytes=100 * GIB, partitions=30)
TRAFFIC: Final = Traffic(rows_per_day=20 * 2**20, row_bytes=1024, interval_s=60.0, batch_rows=500_000)
ROWS: Final = (
    ("merge, every 1 min", "merge", "1 minute", "reads the table each time"),
    ("merge, every 10 min", "merge, each 10 minutes", "10 minutes", "the same, less often"),
    ("merge, window of 1d", "merge, dedup.window=1d", "1 minute", "keys within the window"),
    ("merge, keep=first", "merge, dedup.keep=first", "1 minute", "the first record of a key"),
    ("compact, once a day", "compact", "15 minutes, in the view", "1,500 loads a day, table"),
    (
        "compact, window of 1d",
        "compact, dedup.window=1d",
        "15 minutes, in the view",
        "the same; keys within the window",
    ),
    ("cdc", "cdc", "seconds to 10 minutes", "slots on top; its table for ever"),
    ("view", "view", "seconds", "all records stay; queries on top"),
    ("none, insertAll", "none", "seconds", "no dedup: a crash repeats rows"),
    ("none, load jobs", "none, enableBatchMode", "1 minute", "no dedup; 1,500 loads a day, table"),
)
"""Each mode as the plan calls it, as a reader does, how fresh its rows are, and what limits it."""
COLUMNS_X: Final = (10, 200, 430, 600)
BAR_PX: Final = 150
ROW_PX: Final = 24
WIDTH_PX: Final = 860


def picture() -> str:
    """Return the SVG."""
    usd = {cost.mode: cost.usd_per_day for cost in plan(SIZE, TRAFFIC, Prices())}
    height = ROW_PX * len(ROWS) + 2 * ROW_PX
    svg = ET.Element(
        "svg", xmlns="http://www.w3.org/2000/svg", width=str(WIDTH_PX), height=str(height), role="img",
        **{"font-family": "sans-serif", "font-size": "13"},
    )  # fmt: skip
    ET.SubElement(svg, "title").text = "Cost a day, freshness and limits of each dedup.mode"
    ET.SubElement(svg, "rect", width="100%", height="100%", fill="#ffffff")
    for x, text in zip(COLUMNS_X, ("dedup.mode", "USD a day (logarithmic)", "how fresh", "limits"), strict=True):
        write(svg, x, ROW_PX, text, **{"font-weight": "bold"})
    for number, (mode, name, freshness, limits) in enumerate(ROWS, 2):
        y, cost = number * ROW_PX, usd[mode]
        length = BAR_PX * math.log10(1 + cost) / math.log10(1 + max(usd.values()))
        bar = {"x": str(COLUMNS_X[1]), "y": str(y - 12), "width": f"{max(1.0, length):.1f}", "height": "15"}
        ET.SubElement(svg, "rect", bar, fill="#4a7ebb")
        write(svg, COLUMNS_X[0], y, name)
        write(svg, COLUMNS_X[1] + round(length) + 8, y, f"{cost:,.2f}")
        write(svg, COLUMNS_X[2], y, freshness)
        write(svg, COLUMNS_X[3], y, limits)
    ET.indent(svg, " ")
    return ET.tostring(svg, encoding="unicode") + "\n"


def write(svg: ET.Element, x: int, y: int, text: str, **look: str) -> None:
    ET.SubElement(svg, "text", x=str(x), y=str(y), fill="#222222", **look).text = text


if __name__ == "__main__":
    print(picture(), end="")
