"""Starts, uses, ends and kills `connect dev`; when it is started again, all data are there."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import psycopg
import pymysql
import pytest
from cassandra.cluster import Cluster
from confluent_kafka import Consumer
from e2e_worker import wait_for
from pyarrow import fs

TEXT = "org.apache.kafka.connect.storage.StringConverter"


class Dev:
    """One `connect dev` process."""

    def __init__(self, folder, *options):
        self._log = folder / "dev.log"
        with self._log.open("w") as log:
            argv = [sys.executable, "-m", "connect.cli", "dev", "--folder", str(folder / "env"), *options]
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, cwd=folder)

    def output(self):
        return self._log.read_text()

    def addresses(self):
        """Each service's, when all answer."""
        wait_for(lambda: "Ctrl-C stops" in self.output() or self.process.poll() is not None, 120, "connect dev")
        found = dict(re.findall(r"^  (\S.*?)  +(\S+)$", self.output(), re.MULTILINE))
        assert {"Apache Kafka", "schema registry", "S3", "worker (REST)", "worker (pages)"} <= set(found), self.output()
        return found

    def end(self, *numbers):
        for number in numbers:
            self.process.send_signal(number)
        return self.process.wait(60)


def request(url, body=None):
    headers = {"Content-Type": "application/json"}
    call = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers)
    with urllib.request.urlopen(call, timeout=30) as answer:
        return json.load(answer)


def values(bootstrap, topic, count):
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": uuid.uuid4().hex, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = []
    try:
        wait_for(
            lambda: (
                found.extend(m.value() for m in consumer.consume(10, 1.0) if m.error() is None) or len(found) >= count
            ),
            60,
            topic,
        )
    finally:
        consumer.close()
    return found


@pytest.fixture
def start(tmp_path):
    started = []

    def one(*options):
        started.append(Dev(tmp_path, *options))
        return started[-1]

    yield one
    for dev in started:
        if dev.process.poll() is None:
            dev.end(signal.SIGTERM)


def s3(tmp_path, url):
    keys = dict(line.split("=", 1) for line in (tmp_path / "env" / "s3.properties").read_text().splitlines())
    return fs.S3FileSystem(
        access_key=keys["access.key.id"], secret_key=keys["secret.access.key"], endpoint_override=url
    )


def test_what_was_there_is_there_at_the_next_start(start, tmp_path):
    lines = tmp_path / "lines.txt"
    lines.write_text("one\n")
    first = start()
    at = first.addresses()
    config = {
        "connector.class": "FileStreamSource", "file": str(lines), "topic": "lines", "value.converter": TEXT,
    }  # fmt: skip
    request(f"{at['worker (REST)']}/connectors", {"name": "lines", "config": config})
    request(f"{at['schema registry']}/subjects/lines/versions", {"schema": '"string"'})
    with s3(tmp_path, at["S3"]).open_output_stream("lake/kept") as out:
        out.write(b"kept")
    assert values(at["Apache Kafka"], "lines", 1) == [b"one"]
    require_worker_file_kept(tmp_path / "env", at["worker (REST)"])
    with urllib.request.urlopen(at["worker (pages)"], timeout=30) as page:
        assert b"connector?name=lines" in page.read()

    second = start()
    assert second.process.wait(60) == 1
    assert f"Process {first.process.pid} has started" in second.output()
    assert first.end(signal.SIGINT, signal.SIGTERM) == 0, first.output()
    assert "Traceback" not in first.output()

    own = tmp_path / "own.txt"
    own.write_text("mine")
    (tmp_path / "env" / "worker" / "worker.yaml").symlink_to(own)
    again = start()
    assert again.addresses() == at
    assert own.read_text() == "mine", "a link that a connector has laid is followed"
    assert request(f"{at['schema registry']}/subjects") == ["lines"]
    assert s3(tmp_path, at["S3"]).open_input_stream("lake/kept").read() == b"kept"
    with lines.open("a") as more:
        more.write("two\n")
    assert values(at["Apache Kafka"], "lines", 2) == [b"one", b"two"], "the connector goes on at its offset"
    again.process.kill()
    again.process.wait(60)
    wait_for(lambda: not answers(at["worker (REST)"]), 60, "an end of all that a killed one has started")


def require_worker_file_kept(folder, url):
    """Fail where a connector can get at the settings of the worker, in a folder that it may read and write."""
    assert not (folder / "worker" / "worker.yaml").exists(), "a connector may read it, and write it for the next start"
    provided = f"${{file:{folder / 'worker' / 'worker.yaml'}:group.id}}"
    config = {"connector.class": "FileStreamSource", "file": "/tmp/x", "topic": provided}
    body = json.dumps({"name": "v", **config}).encode()
    asking = urllib.request.Request(
        f"{url}/connector-plugins/FileStreamSource/config/validate",
        body,
        {"Content-Type": "application/json"},
        method="PUT",
    )
    with urllib.request.urlopen(asking, timeout=60) as answer:
        assert b'connect-dev"' not in answer.read()


def test_a_worker_that_is_killed_is_started_again(start):
    dev = start("--no-registry", "--no-s3")
    wait_for(lambda: "Ctrl-C stops" in dev.output(), 120, "connect dev")
    assert "S3" not in dev.output()
    (worker,) = (
        child
        for child in psutil.Process(dev.process.pid).children(recursive=True)
        if {"connect.cli", "worker"} <= set(child.cmdline()) and "--log-format" in child.cmdline()[:8]
    )
    worker.kill()
    wait_for(lambda: "worker has ended" in dev.output(), 60, "a line about it")
    (url,) = re.findall(r"worker \(REST\)  +(\S+)$", dev.output(), re.MULTILINE)
    wait_for(lambda: answers(url), 60, "the worker")
    assert dev.end(signal.SIGTERM) == 0


def answers(url):
    try:
        return bool(request(f"{url}/health"))
    except OSError:
        return False


def fill_postgres(found, password):
    with psycopg.connect(found["PostgreSQL"].removeprefix("jdbc:"), user="connect", password=password) as postgres:
        postgres.execute("CREATE TABLE orders (id integer PRIMARY KEY, status text)")
        postgres.execute("INSERT INTO orders VALUES (1, 'paid')")


def fill_mariadb(found, password):
    at = urlsplit(found["MariaDB"].removeprefix("jdbc:"))
    with pymysql.connect(
        host=at.hostname, port=at.port, user="connect", password=password, database=at.path[1:], autocommit=True
    ) as mariadb, mariadb.cursor() as cursor:  # fmt: skip
        cursor.execute("CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, status TEXT)")
        cursor.execute("INSERT INTO orders (status) VALUES ('paid')")


def fill_cassandra(found, _):
    host, port = found["Cassandra"].split(":")
    with Cluster([host], port=int(port), connect_timeout=60) as cluster:
        session = cluster.connect()
        for statement in (
            "CREATE KEYSPACE shop WITH replication = {'class': 'SimpleStrategy', 'replication_factor': 1}",
            "CREATE TABLE shop.orders (id int PRIMARY KEY, status text) WITH cdc = true",
            "INSERT INTO shop.orders (id, status) VALUES (1, 'paid')",
        ):
            session.execute(statement, timeout=120)


FILLS = {"postgres": fill_postgres, "mariadb": fill_mariadb, "cassandra": fill_cassandra}


@pytest.mark.timeout(900)
def test_databases_start_beside_it_each_with_a_connector_that_works(tmp_path):
    # The databases run as users that are not root, who cannot look into a folder of pytest's.
    with tempfile.TemporaryDirectory(prefix="connect-dev-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        dev = Dev(folder, "--no-registry", "--no-s3", "--with", "postgres,mariadb,cassandra")
        try:
            wait_for(lambda: "Ctrl-C stops" in dev.output() or dev.process.poll() is not None, 480, "connect dev")
            assert dev.process.poll() is None, dev.output()
            found = dict(re.findall(r"^  (\S.*?)  +(\S+)$", dev.output(), re.MULTILINE))
            assert {"PostgreSQL", "MariaDB", "Cassandra"} <= set(found), dev.output()
            at = dict(re.findall(r"^export (\w+)=(\S+)$", (folder / "env" / "env.sh").read_text(), re.MULTILINE))
            assert at["CASSANDRA_URL"] == found["Cassandra"]
            connectors = {
                name: json.loads((folder / "env" / f"{name}-connector.json").read_text())
                for name in ("postgres", "mariadb", "cassandra")
            }
            for name, connector in connectors.items():
                assert json.dumps(connector["config"]["connector.class"]) in dev.output(), name
            for name, fill in FILLS.items():
                secret = folder / "env" / f"{name}.properties"
                password = secret.read_text().removeprefix("password=").strip() if secret.exists() else ""
                assert not password or password not in dev.output()
                fill(found, password)
                request(f"{at['CONNECT_URL']}/connectors", connectors[name])
            for topic in ("postgres-orders", "mariadb-orders", "cassandra.shop.orders"):
                (order,) = values(found["Apache Kafka"], topic, 1)
                assert json.loads(order)["payload"] == {"id": 1, "status": "paid"}, topic
            assert dev.end(signal.SIGTERM) == 0, dev.output()
        finally:
            if dev.process.poll() is None:
                dev.end(signal.SIGTERM)


INTO_THE_FOLDER = {
    "FileStreamSink": {"topics": "t", "file": "{folder}/env.sh"},
    "FileStreamSource": {"topic": "t", "file": "{folder}/postgres.properties"},
    "JdbcSinkConnector": {"topics": "t", "connection.url": "sqlite:///{folder}/new.db"},
    "JdbcSourceConnector": {"mode": "bulk", "topic.prefix": "p", "connection.url": "jdbc:sqlite:{folder}/kept.db"},
    "S3SinkConnector": {
        "topics": "t", "s3.bucket.name": "{folder}", "flush.size": "1", "storage.class": "connect.s3.LocalStorage",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat",
    },
    "DataFilesSourceConnector": {"topic": "t", "folder": "{folder}/worker", "format": "json"},
}  # fmt: skip


def test_no_connector_reaches_into_the_folder_of_the_environment(start, tmp_path):
    dev = start("--no-registry", "--no-s3", "--allow", ".", "--allow", "env")
    wait_for(lambda: "Ctrl-C stops" in dev.output(), 120, "connect dev")
    (url,) = re.findall(r"worker \(REST\)  +(\S+)$", dev.output(), re.MULTILINE)
    folder = tmp_path / "env"
    written = (folder / "env.sh").read_text()
    (tmp_path / "way").symlink_to(folder)
    for plugin, keys in INTO_THE_FOLDER.items():
        for place in (folder, tmp_path / "way", tmp_path / "x" / ".." / "env"):
            config = {key: value.format(folder=place) for key, value in keys.items()}
            told = refusal(f"{url}/connectors", {"name": "c", "config": {"connector.class": plugin, **config}})
            assert "lets no configuration name what is in that folder" in told, (plugin, place, told)
    assert (folder / "env.sh").read_text() == written
    sink = {"connector.class": "FileStreamSink", "topics": "t", "file": str(tmp_path / "lines.txt")}
    assert request(f"{url}/connectors", {"name": "beside", "config": sink})["name"] == "beside"


def refusal(url, body):
    with pytest.raises(urllib.error.HTTPError) as error:
        request(url, body)
    assert error.value.code == 400
    return json.load(error.value)["message"]
