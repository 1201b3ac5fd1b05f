"""A BigQuery that never ends, or sends a worker elsewhere, gets neither its token nor its rows."""

from __future__ import annotations

import io
from typing import Any

import pytest
from google.cloud import bigquery
from google.oauth2.credentials import Credentials
from hostile_http import ENDLESS, Answer, hostile, redirect, say
from hostile_texts import MIB

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connectors.bigquery.warehouse import client
from connectors.bigquery.warehouse.warehouse import Warehouse

pytestmark = pytest.mark.attacks

TOKEN = "Kx7-bigquery-9Qz"


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Opens the warehouse at an address, with a token in place of a key, which would be asked for one at Google's."""
    monkeypatch.setattr(client, "credentials_of", lambda _: Credentials(TOKEN))  # type: ignore[no-untyped-call]  # no types

    def open_at(url: str) -> tuple[Any, Warehouse]:
        from connectors.bigquery.settings.config import BigQuerySinkConfig

        config = BigQuerySinkConfig.parse(
            {"project": "p", "defaultDataset": "d", "topics": "t", "bigquery.endpoint": url, "keySource": "JSON",
             "keyfile": "{}", "bigquery.request.timeout.ms": "1000"}
        )  # fmt: skip
        google = client.open_client(config)
        return google, Warehouse(google, "p", "d", timeout_s=1)

    return open_at


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_answer_is_given_up(name: str, opened: Any) -> None:
    with (
        hostile(ENDLESS[name]) as server,
        pytest.raises(RetriableError, match=r"The answer (is longer than 64 MiB|took longer than 1 s)"),
    ):
        opened(server.url)[1].look()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(status: int, opened: Any) -> None:
    with hostile(say({})) as other, hostile(redirect(f"{other.url}/x", status)) as server:
        with pytest.raises(ConnectError):
            opened(server.url)[1].look()
        assert TOKEN in server.asked[0][2]["authorization"]
        assert other.asked == []


def test_an_upload_goes_on_at_bigquery_alone(opened: Any) -> None:
    job = bigquery.LoadJobConfig(source_format="NEWLINE_DELIMITED_JSON")
    with hostile(say({})) as other, hostile(say(b"", Location=f"{other.url}/upload")) as server:
        google, _ = opened(server.url)
        with pytest.raises(ConfigError, match="sends the worker's token elsewhere"):
            google.load_table_from_file(io.BytesIO(b"x" * MIB), "p.d.t", job_config=job, num_retries=0, timeout=5)
        assert TOKEN in server.asked[0][2]["authorization"]
        assert other.asked == []


WRONG: dict[str, Answer] = {
    "list": say([]), "null": say(None), "deep": say(b"[" * 100_000), "nothing": say({}),
    "an error that is a list": say({"error": ["x"]}, 400),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_of_other_types_is_no_bigquerys(name: str, opened: Any) -> None:
    with hostile(WRONG[name]) as server, pytest.raises(ConnectError, match="what answers is no BigQuery"):
        opened(server.url)[1].look()
