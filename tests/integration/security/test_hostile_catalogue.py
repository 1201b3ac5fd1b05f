"""An Iceberg catalogue that never ends, or is none, gets an error that shows nothing of its answer."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hostile_http import ENDLESS, Answer, Handler, hostile, nested, say

from connect.api.errors import RetriableError
from connectors.s3.iceberg import catalog, closed_catalog
from connectors.s3.settings.config import S3SinkConfig

pytestmark = pytest.mark.attacks

KEY = "Kx7-vended-9Qz"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(closed_catalog, "_WHOLE_S", 1.0)


def loaded(url: str) -> Any:
    return catalog.load(S3SinkConfig.parse({
        "topics": "t", "s3.bucket.name": "b", "table.format": "iceberg", "iceberg.catalog.type": "rest",
        "iceberg.catalog.uri": url, "iceberg.table": "n.t", "flush.size": "1",
        "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
    }))  # fmt: skip


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_answer_is_given_up(name: str) -> None:
    with hostile(ENDLESS[name]) as server, pytest.raises(RetriableError, match="is away") as given_up:
        loaded(server.url)
    # Whatever fails is "away": only the limits' own words tell that they were what ended it.
    assert re.search(r"The answer (is longer than 64 MiB|took longer than 1 s)", repr(given_up.value.__cause__))


WRONG: dict[str, Answer] = {
    "null": say(None), "list": say([]), "deep": nested(),
    "keys in the wrong place": say({"defaults": [{"s3.secret-access-key": KEY}], "overrides": {}}),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_of_other_types_is_no_catalogues(name: str) -> None:
    with hostile(WRONG[name]) as server, pytest.raises(RetriableError, match="what no catalogue does") as refused:
        loaded(server.url)
    assert KEY not in str(refused.value)


def test_one_that_is_slow_for_tables_alone_is_given_up() -> None:
    def slow_tables(to: Handler) -> None:
        (say({"defaults": {}, "overrides": {}}) if to.path.startswith("/v1/config") else ENDLESS["slow body"])(to)

    with hostile(slow_tables) as server:
        found = loaded(server.url)
        with pytest.raises(Exception, match="took longer than 1 s"):
            found.load_table(("n", "t"))
