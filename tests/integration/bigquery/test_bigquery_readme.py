"""Runs the ten lines of the connector's README as they stand there: from nothing to a table without doubles."""

from __future__ import annotations

import json
import re
import urllib.request
from pathlib import Path

import pytest
from e2e_worker import wait_for
from terminals import WAIT_S, Terminals

pytestmark = pytest.mark.integration

README = Path(__file__).parents[3] / "connectors/bigquery/README.md"


def blocks():
    """The two blocks: what stays up, and what follows in a second terminal."""
    section = README.read_text(encoding="utf-8").partition("## A table without doubles in ten lines")[2]
    found = re.findall(r"^```sh\n(.*?)^```$", section.partition("\n## ")[0], re.MULTILINE | re.DOTALL)
    first, second = (block.strip().splitlines() for block in found)
    return first, second


@pytest.fixture
def terminals(tmp_path):
    made = Terminals(tmp_path)
    yield made
    made.ctrl_c()


def rows(answer):
    return [tuple(cell["v"] for cell in row["f"]) for row in json.loads(answer)["rows"]]


def consumed(url):
    """How many records of the topic are in the table, by the sink's offsets."""
    with urllib.request.urlopen(f"{url}/connectors/dev-bigquery/offsets", timeout=30) as answer:
        return sum(one["offset"]["kafka_offset"] for one in json.load(answer)["offsets"])


def test_the_ten_lines_of_the_readme_end_with_one_row_of_each_key(terminals, bigquery_service):
    del bigquery_service  # skips where the emulator cannot run
    first, second = blocks()
    assert len(first) + len(second) == 10
    terminals.stays_up(*first)
    env, *does, asks = second
    terminals.output_of([env, *does])
    url = terminals.output_of([env, "echo $CONNECT_URL"]).strip()
    wait_for(lambda: consumed(url) == 4, WAIT_S, "four merged records")
    assert rows(terminals.output_of([env, asks])) == [("1", "paid"), ("2", "new")]
    assert '"dedup.fields": "id"' in terminals.said()
    assert terminals.ctrl_c() == 0, terminals.said()

    terminals.stays_up(*first)
    assert rows(terminals.output_of([env, asks])) == [("1", "paid"), ("2", "new")], "rows are there at the next start"
