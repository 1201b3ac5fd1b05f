"""Checks what the BigQuery sink sends for the keys of large sites, and which accounts it takes from a configuration."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import pytest
from google.oauth2.credentials import Credentials
from hostile_http import Handler, HostileServer, hostile, say

from connect.api.allowed_paths import ALLOWED_PATHS
from connect.api.errors import ConfigError
from connectors.bigquery.rows.table_schema import ColumnSchema, ColumnType
from connectors.bigquery.settings.config import BigQuerySinkConfig
from connectors.bigquery.spending.ledger import DAY_S, Ledger
from connectors.bigquery.spending.ledger_day import LedgerDay
from connectors.bigquery.warehouse import accounts
from connectors.bigquery.warehouse.accounts import credentials_of
from connectors.bigquery.warehouse.client import open_warehouse
from connectors.bigquery.warehouse.table_facts import NewTable
from connectors.bigquery.warehouse.warehouse import Warehouse

pytestmark = pytest.mark.attacks

KMS = "projects/keys/locations/eu/keyRings/r/cryptoKeys/k"
RESERVATION = "projects/admin/locations/EU/reservations/etl"
COLUMNS = (ColumnSchema("id", ColumnType.INTEGER),)
LOADER = "loader@p.iam.gserviceaccount.com"
STS, IAM = "https://sts.googleapis.com/v1/token", "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts"
FEDERATED = {
    "type": "external_account", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt", "token_url": STS,
    "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k8s",
}  # fmt: skip


def config_of(**settings: str) -> BigQuerySinkConfig:
    """Read settings, with _ for a dot in names that have none of their own."""
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return BigQuerySinkConfig.parse({"project": "data", "defaultDataset": "d", "topics": "t", **named})


def answer(to: Handler) -> None:
    """Answer as BigQuery: the dataset is in the EU, tables are made, jobs are done, queries have no rows."""
    path = to.path.partition("?")[0]
    if path.startswith("/upload"):
        load = {"load": {"destinationTable": {"projectId": "data", "datasetId": "d", "tableId": "t"}}}
        return say(_job(_reference(to), load))(to)
    if path.endswith("/datasets/d"):
        return say({"datasetReference": {"projectId": "data", "datasetId": "d"}, "location": "EU"})(to)
    if path.endswith("/jobs"):
        return say(_job(_reference(to)))(to)
    if "/queries/" in path:
        reference = {"jobId": "x", "projectId": "jobs", "location": "EU"}
        return say({"jobComplete": True, "schema": {"fields": []}, "totalRows": "0", "jobReference": reference})(to)
    if path.endswith("/tables"):
        return say(json.loads(to.server.asked[-1][3]))(to)
    return say(_job({"jobId": "x", "projectId": "jobs"}))(to)


def _reference(to: Handler) -> Any:
    found = re.search(rb'"jobReference": (\{[^}]*\})', to.server.asked[-1][3])
    return json.loads(found[1]) if found else {"jobId": "x", "projectId": "jobs"}


def _job(reference: Any, configuration: Any = None) -> Any:
    anonymous = {"projectId": "jobs", "datasetId": "_a", "tableId": "anon"}
    query = {"query": {"query": "", "statementType": "SELECT", "destinationTable": anonymous}}
    done = {"state": "DONE"}
    return {"jobReference": reference, "status": done, "configuration": configuration or query, "statistics": {}}


@pytest.fixture
def google() -> Iterator[HostileServer]:
    with hostile(answer) as server:
        yield server


@pytest.fixture
def open_at(google: HostileServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Opens the warehouse there, with a token in place of what a key gets from Google."""
    monkeypatch.setattr(accounts, "_own", lambda _: Credentials("token"))  # type: ignore[no-untyped-call]  # no types

    def opened(**settings: str) -> Warehouse:
        return open_warehouse(config_of(keySource="JSON", keyfile="{}", bigquery__endpoint=google.url, **settings))

    return opened


def bodies(server: HostileServer, path: str) -> list[Any]:
    """Return the JSON of each request to a path; of an upload, that of its first part."""
    found = [body for _, asked, _, body in server.asked if re.search(path, asked)]
    return [json.loads(re.search(rb"\{.*?\}(?=\r?\n--|$)", body, re.DOTALL)[0]) for body in found]  # type: ignore[index]


def all_jobs(warehouse: Warehouse) -> None:
    """Have the warehouse run a job of each kind."""
    warehouse.run("MERGE x", "mrg", "merging")
    warehouse.rows("SELECT 1", "reading")
    warehouse.define("v", f"CREATE OR REPLACE VIEW {warehouse.path('v')} AS SELECT 1")
    warehouse.scanned_bytes("SELECT 1")


@pytest.mark.parametrize("is_in_job", [False, True], ids=["request", "job"])
def test_a_merge_that_row_access_policies_refuse_names_the_policy_that_lets_it_run(
    google: HostileServer, open_at: Any, is_in_job: bool
) -> None:
    warehouse = open_at(bigquery__jobs__project="jobs")
    warehouse.look()
    said = "Access Denied: DML on table data:d.t with row access policies needs access to all rows"
    denied = {"reason": "accessDenied", "message": said}

    def refuse(to: Handler) -> None:
        if is_in_job:
            done = {"state": "DONE", "errorResult": denied, "errors": [denied]}
            return say({**_job(_reference(to)), "status": done})(to)
        return say({"error": {"code": 403, "message": said, "errors": [denied]}}, 403)(to)

    google.answers = refuse
    with pytest.raises(ConfigError, match=r"row access policies.*CREATE ROW ACCESS POLICY .* FILTER USING \(TRUE\)"):
        warehouse.run("MERGE x", "mrg", "merging into table t")
    assert len(bodies(google, r"/jobs/jobs|/projects/jobs/jobs")) == 1, "what stays refused is not asked again"


def test_every_job_has_labels_reservation_project_and_location(google: HostileServer, open_at: Any) -> None:
    warehouse = open_at(
        bigquery__jobs__labels="team:shop,cost:a1", bigquery__jobs__reservation=RESERVATION,
        bigquery__jobs__project="jobs", bigquery__location="eu",
    )  # fmt: skip
    warehouse.look()
    all_jobs(warehouse)
    warehouse.append("t", COLUMNS, b"PAR1", "load")
    assert {path.split("/projects/")[1].split("/")[0] for _, path, *_ in google.asked if "/jobs" in path} == {"jobs"}
    queries, loads = bodies(google, r"^/bigquery/v2/projects/jobs/jobs"), bodies(google, r"^/upload/.*/jobs/jobs")
    assert len(queries) == 4
    assert len(loads) == 1
    for job in (*queries, *loads):
        assert {"team": "shop", "cost": "a1"}.items() <= job["configuration"]["labels"].items()
        assert job["configuration"]["reservation"] == RESERVATION
        assert job["jobReference"]["location"] == "EU"
    assert "kafka-connect-life" in queries[0]["configuration"]["labels"], "by which lost answers are found"
    assert "/projects/data/datasets/d" in google.asked[0][1], "the dataset stays in its own project"


def test_tables_staging_and_answers_are_encrypted_by_the_key_and_what_is_added_to_others_is_not(
    google: HostileServer, open_at: Any
) -> None:
    warehouse = open_at(bigquery__kms__key=KMS)
    warehouse.create(NewTable("_t_tmp_1", COLUMNS))
    warehouse.fill("_t_tmp_1", COLUMNS, b"PAR1", "stg", is_new=True)
    warehouse.append("t", COLUMNS, b"PAR1", "load")
    all_jobs(warehouse)
    encrypted = {"kmsKeyName": KMS}
    assert bodies(google, "/tables")[0]["encryptionConfiguration"] == encrypted
    staged, added = (job["configuration"]["load"] for job in bodies(google, "^/upload/"))
    assert staged["destinationEncryptionConfiguration"] == encrypted
    assert "destinationEncryptionConfiguration" not in added
    merge, read, *_ = (job["configuration"]["query"] for job in bodies(google, "^/bigquery/v2/projects/data/jobs"))
    assert "destinationEncryptionConfiguration" not in merge
    assert read["destinationEncryptionConfiguration"] == encrypted


def test_the_quota_is_that_of_the_project_that_is_named(google: HostileServer, open_at: Any) -> None:
    open_at(bigquery__quota__project="quota").look()
    open_at().look()
    assert [headers.get("x-goog-user-project") for _, _, headers, _ in google.asked] == ["quota", None]


def test_a_dataset_elsewhere_is_refused(open_at: Any) -> None:
    with pytest.raises(ConfigError, match=r"data\.d is in EU, and jobs run where.*set bigquery\.location=EU"):
        open_at(bigquery__location="US").look()


class Google:
    """Gives tokens, and keeps what it was asked: URL, headers, body."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Any, Any]] = []

    def __call__(self, url: str, method: str, body: Any = None, headers: Any = None, **_: Any) -> Any:
        self.asked.append((url, headers, body))
        made = {"accessToken": "of-the-account", "expireTime": "2100-01-01T00:00:00Z"} if IAM in url else {
            "access_token": "federated", "expires_in": 3600, "token_type": "Bearer", "issued_token_type": "x"
        }  # fmt: skip

        return SimpleNamespace(status=200, headers={}, data=json.dumps(made).encode())


def write_key(folder: Path, **changed: Any) -> str:
    """Write a workload identity, and return its path."""
    path = folder / "key.json"
    path.write_text(json.dumps({**FEDERATED, "credential_source": {"file": str(folder / "token")}, **changed}))
    return str(path)


def test_workload_identity_trades_the_token_of_its_file_and_acts_as_the_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("first")
    given: dict[str, str] = {"keyfile": write_key(tmp_path), ALLOWED_PATHS.replace(".", "__"): str(tmp_path)}
    config = config_of(**given, bigquery__impersonate__service__account=LOADER)
    google = Google()
    credentials: Any = credentials_of(config)
    credentials.refresh(google)
    assert [url for url, *_ in google.asked] == [STS, f"{IAM}/{LOADER}:generateAccessToken"]
    assert parse_qs(google.asked[0][2].decode())["subject_token"] == ["first"]
    assert google.asked[1][1]["authorization"] == "Bearer federated"
    assert credentials.token == "of-the-account"
    (tmp_path / "token").write_text("second")
    credentials_of(config_of(**given)).refresh(google)  # type: ignore[no-untyped-call]  # google-auth has no types
    assert parse_qs(google.asked[2][2].decode())["subject_token"] == ["second"]


ATTACKS: dict[str, dict[str, Any]] = {
    "a command": {"credential_source": {"executable": {"command": "touch {canary}"}}},
    "a command beside the file": {"credential_source": {"file": "{token}", "executable": {"command": "true"}}},
    "an address": {"credential_source": {"url": "http://169.254.169.254/token"}},
    "an address beside the file": {"credential_source": {"file": "{token}", "url": "http://169.254.169.254/token"}},
    "AWS": {"credential_source": {"environment_id": "aws1", "region_url": "http://169.254.169.254/r"}},
    "a certificate": {"credential_source": {"certificate": {"use_default_certificate_config": True}}},
    "no source": {"credential_source": None},
    "the token's address": {"token_url": "https://evil.example/v1/token"},
    "the token's address in plain": {"token_url": "http://sts.googleapis.com/v1/token"},
    "a user before the host": {"token_url": "https://sts.googleapis.com@evil.example/"},
    "a backslash": {"token_url": "https://evil.example\\.googleapis.com/"},
    "the account's address": {"service_account_impersonation_url": "https://evil.example/x"},
    "the information's address": {"token_info_url": "https://evil.example/x"},
    "another universe": {"universe_domain": "evil.example"},
    "an address of a service account": {"type": "service_account", "token_uri": "http://127.0.0.1:8083/connectors"},
}


@pytest.mark.parametrize("form", ["FILE", "JSON"])
@pytest.mark.parametrize("name", ATTACKS)
def test_a_key_runs_no_command_and_asks_no_other_host(name: str, form: str, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x")
    path = write_key(tmp_path, **ATTACKS[name])
    keyfile = path if form == "FILE" else Path(path).read_text(encoding="utf-8")
    config = config_of(keySource=form, keyfile=keyfile, allowed__paths=str(tmp_path))
    with pytest.raises(ConfigError) as refused:
        credentials_of(config)
    assert [problem.key for problem in refused.value.problems] == ["keyfile"]
    assert "evil" not in str(refused.value)
    assert "169.254" not in str(refused.value)


@pytest.mark.parametrize("leads", ["straight", "by a link"])
def test_the_tokens_file_is_one_that_the_worker_allows(leads: str, tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.write_text("s3cr3t")
    (inside / "link").symlink_to(outside)
    source = {"file": str(inside / "link" if leads == "by a link" else outside)}
    path = write_key(inside, credential_source=source)
    with pytest.raises(ConfigError, match="this worker lets no configuration name that file"):
        credentials_of(config_of(keyfile=path, allowed__paths=str(inside)))
    with pytest.raises(ConfigError, match="this worker lets no configuration name that file"):
        config_of(keySource="JSON", keyfile=Path(path).read_text(encoding="utf-8"), allowed__paths=str(inside))


def test_a_token_of_the_workers_goes_to_google_alone() -> None:
    key = json.dumps({**FEDERATED, "credential_source": {"file": "/t"}})
    with pytest.raises(ConfigError, match="is no address of Google's"):
        config_of(keySource="JSON", keyfile=key, allowed__paths="/", bigquery__endpoint="https://evil.example")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("bigquery.jobs.labels", "Team:x"), ("bigquery.jobs.labels", "kafka-connect-life:x"),
        ("bigquery.jobs.reservation", "etl"), ("bigquery.kms.key", "k"), ("bigquery.location", "EU/x"),
        ("bigquery.impersonate.service.account", "me@example.org"), ("bigquery.jobs.project", "a/b"),
        ("bigquery.quota.project", "a b"),
    ],
)  # fmt: skip
def test_a_value_of_another_form_is_refused_by_its_key(key: str, value: str) -> None:
    with pytest.raises(ConfigError) as refused:
        config_of(**{key: value})
    assert [problem.key for problem in refused.value.problems] == [key]


def test_each_answer_tells_the_time_by_which_the_day_of_a_budget_goes(open_at: Any) -> None:
    """The server's answers have the header Date, as Google's have."""
    warehouse = open_at()
    assert not warehouse.clock.is_heard
    warehouse.look()
    ahead = LedgerDay(warehouse, lambda: time.time() + 5 * 365 * DAY_S, "ledger")
    assert ahead.now_s() == pytest.approx(time.time(), abs=60)
    assert ahead.on_today(Ledger()).day.name == ahead.today
    (told,) = ahead.told()
    assert "This worker's clock is 43,800 hours ahead of BigQuery's" in told
