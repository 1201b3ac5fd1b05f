"""Checks the audit log of changes and refusals, and logins that fail too often."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from memory_cluster import Cluster, MemoryOperations
from rest_client import FILE_SOURCE, ServerMaker, refused
from sample_plugins import worker_config

from connect.api.errors import ConfigError
from connect.rest.access.audit_log import Asked, Audit
from connect.rest.access.audit_topic import HELD_MAX, AuditTopic
from connect.rest.access.failed_logins import MINUTE_S, MOST, FailedLogins
from connect.rest.access.login_errors import TooManyLoginsError
from connect.runtime.settings.internal_topics import StateKind, held_by_name
from connect.tools.services.process.ports import free_ports

CONFIG = {"connector.class": FILE_SOURCE, "topic": "t", "password": "h1dden-value"}
ADA, EVE = ("ada", "l0velace-9"), ("eve", "w1thout-rights")


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "users").write_text("".join(f"{name}={password}\n" for name, password in (ADA, EVE)))
    return {
        "rest.basic.auth.file": str(tmp_path / "users"), "rest.audit.log.file": str(tmp_path / "audit.log"),
        "rest.roles.editor": "ada on orders-*", "rest.roles.viewer": "*",
    }  # fmt: skip


def lines(keys: dict[str, str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(keys["rest.audit.log.file"]).read_text().splitlines()]


def test_changes_and_refusals_are_written_down(serve: ServerMaker, keys: dict[str, str]) -> None:
    rest = serve(worker=keys)
    body = {"name": "orders-1", "config": CONFIG}
    assert rest("POST", "/connectors?token=h1dden-value", body, auth=ADA).status_code == 201
    assert rest("GET", "/connectors/orders-1", auth=EVE).status_code == 200
    refused(rest("DELETE", "/connectors/orders-1", auth=EVE), 403)
    refused(rest("PUT", "/connectors/payments-1/config", CONFIG, auth=ADA), 403)
    refused(rest("GET", "/connectors", auth=("ada", "wr0ng-secret")), 401)
    refused(rest("PUT", "/connectors/orders-2/pause", auth=ADA), 404)
    assert rest("GET", "/health").status_code == 200
    found = lines(keys)
    kept = [(one["who"], one["method"], one["path"], one["connectors"], one["outcome"], one["status"]) for one in found]
    assert kept == [
        ("ada", "POST", "/connectors", ["orders-1"], "done", 201),
        ("eve", "DELETE", "/connectors/orders-1", ["orders-1"], "refused", 403),
        ("ada", "PUT", "/connectors/payments-1/config", ["payments-1"], "refused", 403),
        (None, "GET", "/connectors", [], "refused", 401),
        ("ada", "PUT", "/connectors/orders-2/pause", ["orders-2"], "failed", 404),
    ]
    assert {one["from"] for one in found} == {"127.0.0.1"}
    text = Path(keys["rest.audit.log.file"]).read_text()
    assert not [word for word in ("h1dden-value", ADA[1], EVE[1], "wr0ng-secret") if word in text]
    assert Path(keys["rest.audit.log.file"]).stat().st_mode & 0o777 == 0o600


def test_a_name_steers_no_terminal_of_a_reader(serve: ServerMaker, keys: dict[str, str]) -> None:
    name = "payments-\u202e\x9b"
    refused(serve(worker=keys)("POST", "/connectors", {"name": name, "config": CONFIG}, auth=ADA), 403)
    assert lines(keys)[-1]["connectors"] == [name]
    assert Path(keys["rest.audit.log.file"]).read_bytes().isascii()


def test_the_file_may_be_moved_away(serve: ServerMaker, keys: dict[str, str]) -> None:
    rest = serve(worker=keys)
    refused(rest("GET", "/"), 401)
    Path(keys["rest.audit.log.file"]).rename(keys["rest.audit.log.file"] + ".1")
    refused(rest("GET", "/"), 401)
    assert len(lines(keys)) == 1


def test_a_change_without_logins_is_written_down(serve: ServerMaker, tmp_path: Path) -> None:
    keys = {"rest.audit.log.file": str(tmp_path / "audit.log")}
    serve(worker=keys).create("a")
    assert [(one["who"], one["connectors"]) for one in lines(keys)] == [(None, ["a"])]


def test_a_change_that_was_broken_off_is_written_down(tmp_path: Path) -> None:
    file = tmp_path / "audit.log"
    audit = Audit(worker_config(rest_audit_log_file=str(file)))
    audit.note(Asked("PUT", "/connectors/a/pause", "ada", "127.0.0.1", ["a"], None))
    (line,) = map(json.loads, file.read_text().splitlines())
    assert (line["method"], line["outcome"], line["status"]) == ("PUT", "broken off", None)


def test_a_file_that_cannot_be_written_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"rest\.audit\.log\.file cannot be written: No such file"):
        Audit(worker_config(rest_audit_log_file=str(tmp_path / "none" / "audit.log")))


_ON_A_FULL_DISK = """
import logging, resource, sys
from pathlib import Path
from connect.rest.access.audit_log import AuditFile
file = AuditFile(Path(sys.argv[1]))
logging.basicConfig(stream=sys.stdout, format="logged: %(message)s")
file.append(b'{"n":1}')
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (12, hard))
file.append(b'{"n":2}')
if sys.argv[2] == "new worker":
    file = AuditFile(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
file.append(b'{"n":3}')
"""


@pytest.mark.parametrize("worker", ["same worker", "new worker"])
def test_a_line_that_a_full_disk_cuts_is_logged_and_takes_no_other_with_it(tmp_path: Path, worker: str) -> None:
    file = tmp_path / "audit.log"
    ran = subprocess.run(
        [sys.executable, "-c", _ON_A_FULL_DISK, str(file), worker],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert file.read_text() == '{"n":1}\n{"n"\n{"n":3}\n'
    assert f'A line is not in the audit log {file}: {{"n":2}}' in ran.stdout


@pytest.mark.parametrize("shown", ["true", "false"])
def test_a_line_says_how_configurations_changed_and_shows_no_secret(
    serve: ServerMaker, keys: dict[str, str], shown: str
) -> None:
    rest = serve(worker={**keys, "rest.mask.secrets": shown})
    path = "/connectors/orders-1/config"
    assert rest("PUT", path, CONFIG, auth=ADA).status_code == 201
    assert rest("PUT", path, {**CONFIG, "topic": "u", "password": "an0ther-h1dden"}, auth=ADA).status_code == 200
    assert rest("PUT", path + "?dry_run=true", {**CONFIG, "topic": "v"}, auth=ADA).status_code == 200
    refused(rest("DELETE", "/connectors/orders-1", auth=EVE), 403)
    assert rest("DELETE", "/connectors/orders-1", auth=ADA).status_code == 204
    hidden = {"from": "[hidden]", "to": "[hidden]"}
    whole = {**CONFIG, "name": "orders-1", "password": "[hidden]"}
    assert [one.get("changes") for one in lines(keys)] == [
        {"orders-1": {"added": whole, "changed": {}, "removed": {}}},
        {"orders-1": {"added": {}, "changed": {"password": hidden, "topic": {"from": "t", "to": "u"}}, "removed": {}}},
        None,
        None,
        {"orders-1": {"added": {}, "changed": {}, "removed": {**whole, "topic": "u"}}},
    ]
    assert "h1dden" not in Path(keys["rest.audit.log.file"]).read_text().replace("[hidden]", "")


def test_a_line_says_what_was_before_and_after(serve: ServerMaker, keys: dict[str, str]) -> None:
    rest = serve(worker={**keys, "rest.roles.admin": "ada"})
    assert rest("POST", "/connectors", {"name": "orders-1", "config": CONFIG}, auth=ADA).status_code == 201
    path, file = "/connectors/orders-1", {"filename": "f"}
    standing = {"partition": file, "offset": {"position": 7}}
    refused(rest("PATCH", path + "/offsets", {"offsets": [standing]}, auth=ADA), 400)
    assert rest("PUT", path + "/pause", auth=ADA).status_code == 202
    assert rest("PUT", path + "/stop", auth=ADA).status_code == 204
    assert rest("PATCH", path + "/offsets", {"offsets": [standing]}, auth=ADA).status_code == 200
    later = {"partition": file, "offset": None}
    assert rest("PATCH", path + "/offsets", {"offsets": [later]}, auth=ADA).status_code == 200
    assert rest("PATCH", path + "/offsets", {"offsets": [standing]}, auth=ADA).status_code == 200
    assert rest("DELETE", path + "/offsets", auth=ADA).status_code == 200
    for level in ("debug", "warn"):
        assert rest("PUT", "/admin/loggers/audit.before", {"level": level}, auth=ADA).status_code == 200
    none, one, gone = {"count": 1, "offsets": [later]}, {"count": 1, "offsets": [standing]}, {"count": 0, "offsets": []}
    assert [line.get("states") for line in lines(keys)] == [
        None,
        {"orders-1": {"offsets": {"from": none, "to": one}}},
        {"orders-1": {"state": {"from": "RUNNING", "to": "PAUSED"}}},
        {"orders-1": {"state": {"from": "PAUSED", "to": "STOPPED"}}},
        {"orders-1": {"offsets": {"from": none, "to": one}}},
        {"orders-1": {"offsets": {"from": one, "to": none}}},
        {"orders-1": {"offsets": {"from": none, "to": one}}},
        {"orders-1": {"offsets": {"from": one, "to": gone}}},
        {"audit.before": {"level": {"from": None, "to": "DEBUG"}}},
        {"audit.before": {"level": {"from": "DEBUG", "to": "WARN"}}},
    ]
    assert lines(keys)[1]["outcome"] == "failed"


def test_without_kafka_requests_are_answered_and_what_is_lost_is_counted(
    serve: ServerMaker, caplog: pytest.LogCaptureFixture
) -> None:
    (port,) = free_ports(1)
    keys = {"bootstrap.servers": f"127.0.0.1:{port}", "rest.audit.topic": "audit"}
    rest = serve(worker=keys)
    rest.create("a")
    audit = AuditTopic(worker_config(**keys), "audit")
    sent = [audit.put(b"{}", ["a"]) for _ in range(HELD_MAX + 3)]
    assert (audit.lost, sum(future.done() for future in sent)) == (3, 3)
    audit.close()
    assert audit.lost == HELD_MAX + 3
    told = [record.__dict__["lost"] for record in caplog.records if record.msg == "audit_lines_lost"]
    assert told[:2] == [1, 2]
    assert told[-1] == HELD_MAX + 3


def test_no_connector_writes_to_the_topic_of_the_audit_log() -> None:
    worker = worker_config(rest_audit_topic="who-did-it")
    assert held_by_name(worker, "who-did-it") is StateKind.AUDIT
    assert held_by_name(worker_config(), "who-did-it") is None
    with pytest.raises(ConfigError, match=r"rest\.audit\.topic: each internal topic needs its own"):
        worker_config(rest_audit_topic=worker.config_storage_topic)


def test_an_address_that_guesses_waits(serve: ServerMaker, keys: dict[str, str]) -> None:
    rest = serve(worker=keys)
    for _ in range(MOST):
        refused(rest("GET", "/", auth=("ada", "x")), 401)
    answer = rest("GET", "/", auth=ADA)
    assert refused(answer, 429) == "Too many logins from this address have failed. Try again in a minute."
    assert 0 < int(answer.headers["Retry-After"]) <= MINUTE_S + 1
    assert rest("GET", "/health").status_code == 200
    assert lines(keys)[-1]["status"] == 429


def test_a_header_that_names_another_address_gives_no_further_tries(serve: ServerMaker, keys: dict[str, str]) -> None:
    rest = serve(worker=keys)
    for number in range(MOST):
        refused(rest("GET", "/", auth=("ada", "x"), headers={"X-Forwarded-For": f"192.0.2.{number}"}), 401)
    refused(rest("GET", "/", auth=("ada", "x"), headers={"X-Forwarded-For": "198.51.100.1"}), 429)
    assert {one["from"] for one in lines(keys)} == {"127.0.0.1"}


def test_each_address_is_counted_by_itself_and_for_a_minute() -> None:
    now = [100.0]
    failed = FailedLogins(lambda: now[0])
    for _ in range(MOST):
        failed.check("a")
        failed.count("a")
    with pytest.raises(TooManyLoginsError):
        failed.check("a")
    failed.check("b")
    now[0] += MINUTE_S
    failed.check("a")
    failed.count("a")
    failed.check("a")


def test_addresses_of_one_network_guess_together() -> None:
    failed = FailedLogins()
    for number in range(MOST):
        failed.count(f"2001:db8::{number:x}")
    failed.check("2001:db8:0:1::1")
    with pytest.raises(TooManyLoginsError):
        failed.check("2001:db8::ffff")


def test_the_leader_knows_where_a_forwarded_request_came_from(serve: ServerMaker, keys: dict[str, str]) -> None:
    cluster = Cluster()
    leader = serve(MemoryOperations(cluster), worker=keys)
    follower = serve(MemoryOperations(cluster, leads=False), worker=keys)
    cluster.leader_url = leader.url
    assert follower("PUT", "/connectors/orders-1/config", CONFIG, auth=ADA).status_code == 201
    assert [(one["who"], one["from"], one["outcome"]) for one in lines(keys)] == [("ada", "127.0.0.1", "done")] * 2
