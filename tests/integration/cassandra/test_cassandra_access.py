"""Reads a cluster with TLS, users and rights; a user who may not read a table is told what to change, others are
read.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from cassandra.auth import PlainTextAuthProvider
from cassandra.cluster import Cluster, NoHostAvailable, Session
from cassandra.concurrent import execute_concurrent_with_args
from cassandra_node import PATIENT
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from e2e_worker import wait_for

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, RetriableError
from connect.api.optional.findings import Aspect, Weight
from connect.api.records import Batch, Column
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSourceContext
from connect.tools.services.cassandra import CassandraEndpoint, CassandraService
from connectors.cassandra.cql.errors import MissingRightError
from connectors.cassandra.log.agent import CassandraCdcTask
from connectors.cassandra.log.agent_config import CassandraAgentConfig
from connectors.cassandra.sink.config import CassandraSinkConfig
from connectors.cassandra.sink.sink import CassandraSinkConnector
from connectors.cassandra.sink.writer import TableWriter, Writetimes
from connectors.cassandra.source.config import CassandraSourceConfig
from connectors.cassandra.source.connector import CassandraSourceConnector

PEM = "org.apache.cassandra.security.PEMBasedSslContextFactory"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority's certificate, `ca.pem`, and a node's key and certificate, `node.pem`."""
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    issued = authority.issue_cert("127.0.0.1")
    # Cassandra takes keys in the form of PKCS #8 alone.
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    pkcs8 = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (folder / "node.pem").write_bytes(b"".join([pkcs8, *(pem.bytes() for pem in issued.cert_chain_pems)]))
    return folder


@pytest.fixture(scope="module")
def guarded(authority: Path) -> Iterator[CassandraEndpoint]:
    """A node that takes encrypted connections of users with a password, and looks at their rights."""
    encryption = {
        "enabled": True, "optional": False, "keystore": str(authority / "node.pem"),
        "ssl_context_factory": {"class_name": PEM, "parameters": {}},
    }  # fmt: skip
    settings = {
        "authenticator": "PasswordAuthenticator", "authorizer": "CassandraAuthorizer",
        "client_encryption_options": encryption, "permissions_validity": "0ms", **PATIENT,
        "tombstone_warn_threshold": 100, "tombstone_failure_threshold": 500,
    }  # fmt: skip
    with CassandraService(settings=settings) as service:
        yield service.endpoint


@pytest.fixture(scope="module")
def tables(guarded: CassandraEndpoint, authority: Path) -> Iterator[Session]:
    """Tables `open` and `closed` in keyspace `shop`; user `reader` may read the first. What the first user may do."""
    cluster: list[Cluster] = []

    def connected() -> Session | None:
        import ssl

        context = ssl.create_default_context(cafile=str(authority / "ca.pem"))
        cluster.append(
            Cluster(
                [guarded.host], port=guarded.port, ssl_context=context, protocol_version=5, connect_timeout=60,
                control_connection_timeout=60, idle_heartbeat_interval=0,
                auth_provider=PlainTextAuthProvider("cassandra", "cassandra"),
            )
        )  # fmt: skip
        try:
            return cluster[-1].connect()
        except NoHostAvailable:  # the first user is made a moment after the port is open
            cluster.pop().shutdown()
            return None

    session = wait_for(connected, 120, "the first user")
    for statement in (
        "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
        "CREATE TABLE shop.open (k int PRIMARY KEY)",
        "CREATE TABLE shop.closed (k int PRIMARY KEY)",
        "INSERT INTO shop.open (k) VALUES (1)",
        "INSERT INTO shop.closed (k) VALUES (1)",
        "CREATE ROLE reader WITH PASSWORD = 'right' AND LOGIN = true",
        "GRANT SELECT ON shop.open TO reader",
    ):
        session.execute(statement, timeout=60)
    yield session
    for one in cluster:
        one.shutdown()


@pytest.fixture
def settings(guarded: CassandraEndpoint, authority: Path, tables: Session) -> dict[str, str]:
    return {
        "contact.points": guarded.host, "port": str(guarded.port), "keyspace": "shop", "consistency.level": "ONE",
        "username": "reader", "password": "right", "ssl.enabled": "true",
        "ssl.ca.file": str(authority / "ca.pem"), **EVERYWHERE, "table.splits": "2", "connect.timeout.ms": "60000",
    }  # fmt: skip


def connector(settings: dict[str, str]) -> CassandraSourceConnector:
    return CassandraSourceConnector(CassandraSourceConfig.parse(settings))


def test_a_table_that_may_not_be_read_is_named_and_the_other_one_is_read(
    settings: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    source = connector(settings)
    (note,) = source.check(Deadline.after(60))
    assert 'GRANT SELECT ON TABLE "shop"."closed" TO "reader";' in note
    (task,) = (source.task({**share, **EVERYWHERE}) for share in source.task_configs(1))
    context = FakeSourceContext()
    task.open(context)
    topics: list[str] = []
    with caplog.at_level(logging.ERROR):
        while context.gauges.get("splits_left") != 0:
            batch = task.poll(Deadline.after(5))
            topics += [batch.topic] * len(batch) if batch is not None else []
    task.close()
    assert topics == ["shop.open"]
    assert caplog.text.count("Table shop.closed is left aside from here on: ") == 1
    assert 'GRANT SELECT ON TABLE "shop"."closed" TO "reader"' in caplog.text
    assert context.explained is not None, "its status says it too"
    assert context.explained.startswith("table shop.closed is left aside: ")


def test_a_right_that_lacks_is_known_before_anything_runs(settings: dict[str, str]) -> None:
    (found,) = connector(settings).examine(Deadline.after(60))
    assert (found.aspect, found.weight) == (Aspect.REACH, Weight.FAILS)
    assert found.remedy == 'GRANT SELECT ON TABLE "shop"."closed" TO "reader";'
    with pytest.raises(ConfigError, match=r'GRANT SELECT ON TABLE "shop"\."closed"') as refused:
        connector({**settings, "tables": "closed"}).check(Deadline.after(60))
    assert refused.value.key == "username"


def test_a_wrong_password_names_its_key_and_is_not_shown(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="does not take this user and password") as raised:
        connector({**settings, "password": "wrong-canary"}).check(Deadline.after(20))
    assert raised.value.key == "username"
    assert "canary" not in str(raised.value)


def test_an_agent_with_a_wrong_password_names_its_key(guarded: CassandraEndpoint, settings: dict[str, str]) -> None:
    given = {key: settings[key] for key in settings if key not in {"keyspace", "table.splits"}}
    config = {**given, "password": "wrong-canary", "cdc.raw.folder": str(guarded.cdc_raw_folder)}
    task = CassandraCdcTask(CassandraAgentConfig.parse(config))
    with pytest.raises(ConfigError, match="does not take this user and password") as raised:
        task.open(FakeSourceContext())
    task.close()
    assert raised.value.key == "username"
    assert "canary" not in str(raised.value)


def test_an_agent_finds_its_encrypted_node_by_the_nodes_own_file(
    guarded: CassandraEndpoint, settings: dict[str, str]
) -> None:
    node_file = guarded.cdc_raw_folder.parent / "cassandra.yaml"
    config = CassandraAgentConfig.parse({
        "cassandra.yaml": str(node_file), "ssl.ca.file": settings["ssl.ca.file"],
        "username": "cassandra", "password": "cassandra", **EVERYWHERE,
    })  # fmt: skip
    assert (config.cdc_raw_folder, config.port) == (str(guarded.cdc_raw_folder), guarded.port)
    context = FakeSourceContext()
    task = CassandraCdcTask(config)
    task.open(context)
    task.poll(Deadline.after(1))
    task.close()
    assert context.gauges["lost_segments"] == 0


def test_a_user_who_may_not_write_is_told_the_grant(settings: dict[str, str]) -> None:
    writer = TableWriter(CassandraSinkConfig.parse({**settings, "topics": "open", "topic.tables": "open:open"}))
    batch = Batch("open", Column.from_rows([{"k": 2}], None))
    with pytest.raises(MissingRightError, match="has no MODIFY permission") as raised:
        writer.write(batch, Writetimes(), Deadline.after(60))
    writer.close()
    assert raised.value.grant == 'GRANT MODIFY ON TABLE "shop"."open" TO "reader";'


def test_a_sink_that_may_not_write_is_told_each_grant_before_its_first_row(
    settings: dict[str, str], tables: Session
) -> None:
    config = {**settings, "topics": "a,b,c", "topic.tables": "a:open,b:closed,c:none"}
    sink = CassandraSinkConnector(CassandraSinkConfig.parse(config))
    grants = [f'GRANT MODIFY ON TABLE "shop"."{name}" TO "reader";' for name in ("closed", "open")]
    with pytest.raises(ConfigError) as raised:
        sink.check(Deadline.after(60))
    assert [(problem.key, problem.message.partition("GRANT")[2]) for problem in raised.value.problems] == [
        ("username", grant.removeprefix("GRANT")) for grant in grants
    ]
    with pytest.raises(ConfigError, match="GRANT MODIFY"):
        sink.trial_target("poc-1").make(Deadline.after(60))
    found = list(sink.examine(Deadline.after(60)))
    assert [(f.aspect, f.weight, f.remedy) for f in found] == [(Aspect.REACH, Weight.FAILS, grant) for grant in grants]
    for finding in found:
        tables.execute(finding.remedy, timeout=60)
    assert list(sink.check(Deadline.after(60))) == [
        "Keyspace shop has no table none for topic c; tasks fail until it has."
    ]
    assert list(sink.examine(Deadline.after(60))) == []
    for name in ("open", "closed"):
        assert list(tables.execute(f"SELECT k FROM shop.{name}", timeout=60)) == [(1,)], "nothing was written"
        tables.execute(f"REVOKE MODIFY ON TABLE shop.{name} FROM reader", timeout=60)


def test_a_user_who_may_make_no_keyspace_is_told_the_grant(settings: dict[str, str], tables: Session) -> None:
    tables.execute("GRANT MODIFY ON KEYSPACE shop TO reader", timeout=60)
    sink = CassandraSinkConnector(CassandraSinkConfig.parse({**settings, "topics": "open"}))
    with pytest.raises(MissingRightError) as raised:
        sink.trial_target("poc-2").make(Deadline.after(60))
    tables.execute("REVOKE MODIFY ON KEYSPACE shop FROM reader", timeout=60)
    assert raised.value.grant == 'GRANT CREATE ON ALL KEYSPACES TO "reader";'


def test_a_certificate_that_is_not_trusted_is_refused(settings: dict[str, str]) -> None:
    with pytest.raises(RetriableError, match="CERTIFICATE_VERIFY_FAILED"):
        connector({**settings, "ssl.ca.file": ""}).check(Deadline.after(20))


def test_files_that_are_not_there_are_said(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"files of ssl\.\* cannot be used: .*No such file"):
        connector({**settings, "ssl.ca.file": "/nowhere.pem"}).check(Deadline.after(20))


def test_deleted_rows_beside_each_other_cost_the_table_that_has_too_many_of_them(
    settings: dict[str, str], tables: Session, caplog: pytest.LogCaptureFixture
) -> None:
    tables.execute("CREATE KEYSPACE floods WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}")
    tables.execute("GRANT SELECT ON KEYSPACE floods TO reader")
    for name in ("flooded", "many", "usual"):
        tables.execute(f"CREATE TABLE floods.{name} (k int, c int, PRIMARY KEY (k, c))", timeout=60)
        insert = tables.prepare(f"INSERT INTO floods.{name} (k, c) VALUES (1, ?)")
        delete = tables.prepare(f"DELETE FROM floods.{name} WHERE k = 1 AND c = ?")
        # Of 1500 rows one in a hundred is left, of the flooded table the first and the last one.
        kept = [c for c in range(1500) if c in {0, 1499} or (name != "flooded" and c % 100 == 0)]
        gone = [] if name == "usual" else [c for c in range(1500) if c not in kept]
        execute_concurrent_with_args(tables, insert, [(c,) for c in kept])
        execute_concurrent_with_args(tables, delete, [(c,) for c in gone])
    source = connector({**settings, "keyspace": "floods"})
    (task,) = (source.task({**share, **EVERYWHERE}) for share in source.task_configs(1))
    context, found = FakeSourceContext(), Counter[str]()
    task.open(context)
    with caplog.at_level(logging.ERROR):
        while context.gauges.get("splits_left") != 0:
            batch = task.poll(Deadline.after(5))
            if batch is not None:
                found[batch.topic] += len(batch)
    task.close()
    assert found["floods.usual"] == found["floods.many"] == 16, "fewer rows at a time are within the nodes' limit"
    assert found["floods.flooded"] == 1
    assert context.explained is not None
    for said in (context.explained, caplog.text):
        assert "floods.flooded is left aside" in said
        assert "tombstone_failure_threshold" in said
        assert "floods.many" not in said
