"""Google's own parser reads each statement that the sink sends, and each that its errors advise to run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from bigquery_history_run import one_history
from google.api_core import exceptions as api
from google_parser import kinds
from histories import History
from plain_bigquery import PlainBigQuery
from plain_bigquery_client import PlainClient
from test_bigquery_changed_keys import Tables
from test_bigquery_compaction import Life, Prompt, runs_of

from connect.api.errors import ConnectError
from connectors.bigquery.dedup.side_tables import MODE_LABEL
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.tables.preflight import missing_roles
from connectors.bigquery.warehouse import jobs
from connectors.bigquery.warehouse.errors import RefusedAccessError, translated

pytestmark = [pytest.mark.thorough, pytest.mark.chaos, pytest.mark.timeout(3600)]
SENT = {"Merge", "Delete", "Query", "CreateView"}


def sent_in_histories(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return one statement of each shape that some histories send."""
    found: dict[str, str] = {}
    query = PlainClient.query

    def noted(client: PlainClient, sql: str, **others: Any) -> Any:
        found.setdefault(re.sub(r"[0-9a-f]{6,}|\d+", "#", sql), sql)
        return query(client, sql, **others)

    monkeypatch.setattr(PlainClient, "query", noted)
    run = one_history(monkeypatch)
    for seed in range(1, 13):
        run(History("bigquery", seed))
    return list(found.values())


def said(act: Callable[[], object]) -> str:
    with pytest.raises(ConnectError) as refused:
        act()
    return str(refused.value)


def advised(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return the statements that errors advise, by what they are for."""
    monkeypatch.setattr(jobs, "_FIRST_LOOK_S", 0.0001)
    service, runs = PlainBigQuery(Prompt(1)), runs_of(9)
    Life(service, **{"dedup.mode": "view"}).load(runs[0])
    of_view = said(lambda: Life(service, **{"dedup.mode": "merge"}).load(runs[1]))
    service.tables["orders"].resource["labels"] = {MODE_LABEL: "cdc"}
    of_cdc = said(lambda: Life(service, **{"dedup.mode": "merge"}).load(runs[1]))
    unkeyed = Tables()
    unkeyed.prepare("", {"dedup.mode": "none"})
    unkeyed.add_row()
    of_key = said(lambda: unkeyed.prepare("place.a"))

    def denied(*_: Any) -> None:
        with translated("merging", project="p", dataset="d"):
            raise api.Forbidden("DML on table data:d.t with row access policies needs access to all rows")

    def refused(*_: Any) -> None:
        raise RefusedAccessError("It may not.")

    config = BigQuerySinkConfig.parse({"project": "p", "defaultDataset": "d"})
    warehouse: Any = SimpleNamespace(look=refused, scanned_bytes=refused)
    grants = [finding.remedy for finding in missing_roles(config, warehouse, "me@p.iam.gserviceaccount.com")]
    guide = (Path(__file__).parents[3] / "docs/guides/bigquery.md").read_text(encoding="utf-8")
    return {
        "a copy of a view": found(r"CREATE TABLE `\S+` AS SELECT \* FROM `\S+`", of_view),
        "no staleness": found(r"ALTER TABLE `\S+` SET OPTIONS \(max_staleness = NULL\)", of_cdc),
        "a copy of changes": found(r"CREATE TABLE `\S+` AS SELECT \* FROM `\S+`", of_cdc),
        "a key's column": found(r"ALTER TABLE .* TYPE(?=;)", of_key).replace(" TYPE", " INT64"),
        "its values": found(r"UPDATE .* WHERE TRUE", of_key),
        "a policy": found(r"CREATE ROW ACCESS POLICY .* \(TRUE\)", said(denied)),
        "a role": found(r"GRANT .*;", grants[0] or ""),
        "a role in the guide": found(r"(?<=')GRANT .*(?=')", guide),
    }


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match, text
    return match[0]


def test_google_reads_what_the_sink_sends_and_what_it_advises(monkeypatch, tmp_path):
    sent, advice = sent_in_histories(monkeypatch), advised(monkeypatch)
    broken = advice["a role"].replace(" TO ", " ")
    read = kinds([*sent, *advice.values(), broken], tmp_path / "google")
    assert read.pop().startswith("refused: "), "it reads anything"
    assert len(sent) > 50
    assert Counter(read[: len(sent)]).keys() <= SENT, [kind for kind in read if kind not in SENT]
    assert dict(zip(advice, read[len(sent) :], strict=True)) == {
        "a copy of a view": "CreateTable", "no staleness": "AlterTable", "a copy of changes": "CreateTable",
        "a key's column": "AlterTable", "its values": "Update", "a policy": "CreateRowAccessPolicy", "a role": "Grant",
        "a role in the guide": "Grant",
    }  # fmt: skip
