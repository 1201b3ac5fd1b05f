"""Configurations that name files, code, drivers and commands of the worker's machine: refused, and untouched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attacked import Target

VICTIM = "victim-of-a-read"
SOURCE = {"connector.class": "FileStreamSource", "topic": "x"}
JDBC_SOURCE = {"connector.class": "JdbcSourceConnector", "mode": "bulk", "topic.prefix": "p", "query": "SELECT 1"}
JDBC_SINK = {"connector.class": "JdbcSinkConnector", "topics": "x", "connection.attempts": "1"}
FILES = {"connector.class": "DataFilesSourceConnector", "format": "csv", "topic": "x"}
S3 = {
    "connector.class": "S3SinkConnector", "topics": "x", "flush.size": "1", "s3.bucket.name": "b",
    "store.url": "http://127.0.0.1:9", "aws.access.key.id": "a", "aws.secret.access.key": "b",
    "format.class": "io.confluent.connect.s3.format.parquet.ParquetFormat",
}  # fmt: skip
BIGQUERY = {"connector.class": "BigQuerySinkConnector", "topics": "x", "project": "p", "defaultDataset": "d"}
CASSANDRA = {
    "connector.class": "CassandraSourceConnector", "contact.points": "127.0.0.1", "port": "9", "keyspace": "k",
    "ssl.enabled": "true",
}  # fmt: skip
AVRO = {
    **SOURCE, "value.converter": "io.confluent.connect.avro.AvroConverter",
    "value.converter.schema.registry.url": "http://127.0.0.1:9",
}  # fmt: skip
PYTHON = {**SOURCE, "transforms": "t", "transforms.t.type": "connect.transforms.PythonFunction$Value"}
COMMAND = '{"type":"external_account","credential_source":{"executable":{"command":"touch %s"}},"audience":"a"}'

CLIENT_FILES = (
    "ssl.ca.location", "ssl.certificate.location", "ssl.key.location", "ssl.crl.location", "ssl.keystore.location",
    "ssl.truststore.location", "https.ca.location", "sasl.kerberos.keytab", "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.private.key.file", "ssl.providers",
)  # fmt: skip
DATABASES = (
    "jdbc:sqlite:%s", "jdbc:sqlite:file:%s?mode=rwc", "sqlite:///%s", "sqlite:///file:%s?uri=true", "duckdb:///%s",
    "sqlite:///%s?enable_load_extension=1", "sqlite+pysqlcipher://:x@/%s", "shillelagh://%s", "access+pyodbc://%s",
    "jdbc:postgresql://127.0.0.1:9/x?sslkey=%s", "postgresql://h/x?passfile=%s", "postgresql+psycopg://h/x?service=%s",
    "mysql+pymysql://u:a?@127.0.0.1:9/db?local_infile=1&x=%s", "jdbc:mysql://127.0.0.1:9/db?read_default_file=%s",
    "jdbc:mysql://h/d#?local_infile=%s", "jdbc:MYSQL://h/d?LOCAL_INFILE=%s", "jdbc:mysql://h/d?ssl_ca=%s",
    "mariadb+mariadbconnector://h/d?plugin_dir=%s", "mssql+pyodbc:///?odbc_connect=Driver=%s", "os.system://%s",
    "oracle+oracledb://h/d?config_dir=%s", "postgresql+psycopg://h/d?plugin=%s", "jdbc:h2:mem:x;INIT=RUNSCRIPT%s",
    "jdbc:postgresql://h/d?socketFactory=a&socketFactoryArg=%s", "jdbc:sqlite:%s\0x", "jdbc:\u017fqlite:%s",
)  # fmt: skip
FUNCTIONS = (
    "os:system", "posix:system", "subprocess:run", "builtins:exec", "os.path:os.system", "pickle:loads", "../x:y",
    "connect.cli:main", "importlib:import_module", "yaml:unsafe_load",
)  # fmt: skip
CLASSES = ("os.system", "subprocess.Popen", "connect.cli.main", "../../x", "connectors.jdbc.plugin", "pickle.loads")


def _attacks(victim: Path, command: str) -> dict[str, dict[str, str]]:
    """Configurations by a name of each attack."""
    file = str(victim)
    found = {
        f"file {text}": {**SOURCE, "file": text}
        for text in (
            file, f"file://{file}", "worker.properties", "../" * 9 + file[1:], f"{file}\0x", "/dev/fd/0", "~/x",
            "/proc/self/environ", f"{file}/../{victim.name}", "\uff0fetc\uff0fpasswd", "${file:" + file + ":a}",
        )
    }  # fmt: skip
    found |= {f"client {p}.{k}": {**SOURCE, f"{p}.override.{k}": file} for p in ("producer", "consumer", "admin")
              for k in CLIENT_FILES}  # fmt: skip
    found["client token"] = {**SOURCE, "producer.override.sasl.oauthbearer.token.endpoint.url": f"file://{file}"}
    for url in DATABASES:
        found[f"source {url}"] = {**JDBC_SOURCE, "connection.url": url % file}
        found[f"sink {url}"] = {**JDBC_SINK, "connection.url": url % file}
    for folder in (str(victim.parent), f"file://{victim.parent}", ".", "~", "hdfs://x/y", "local:///etc", "/"):
        found[f"folder {folder}"] = {**FILES, "folder": folder}
        found[f"store {folder}"] = {**S3, "storage.class": "connect.s3.LocalStorage", "s3.bucket.name": folder}
    for key in ("truststore", "keystore"):
        found[f"registry {key}"] = {**AVRO, f"value.converter.schema.registry.ssl.{key}.location": file}
    for url in (f"file://{file}", "ftp://x", "mock://x", f"unix://{file}", f"http+unix://{file}"):
        found[f"registry {url}"] = {**AVRO, "value.converter.schema.registry.url": url}
    found |= {f"function {f}": {**PYTHON, "transforms.t.function": f, "python.function.modules": "os"}
              for f in FUNCTIONS}  # fmt: skip
    for name in CLASSES:
        found[f"converter {name}"] = {**SOURCE, "value.converter": name}
        found[f"headers {name}"] = {**SOURCE, "header.converter": name}
        found[f"transform {name}"] = {**SOURCE, "transforms": "t", "transforms.t.type": name}
        found[f"predicate {name}"] = {**SOURCE, "predicates": "p", "predicates.p.type": name}
        found |= {f"s3 {k} {name}": {**S3, k: name} for k in
                  ("format.class", "partitioner.class", "storage.class", "s3.credentials.provider.class")}  # fmt: skip
    for kind, uri in (
        ("sql", f"sqlite:///{file}"),
        ("sql", f"postgresql://h/d#?sslkey={file}"),
        ("rest", f"file://{file}"),
    ):
        catalogue = {"table.format": "iceberg", "iceberg.catalog.type": kind, "iceberg.catalog.uri": uri}
        found[f"iceberg {uri}"] = {**S3, **catalogue}
    found["topics.dir"] = {**S3, "topics.dir": "../../.."}
    found["timezone"] = {**S3, "timezone": "../../etc/passwd"}
    found["gcs file"] = {**S3, "storage.class": "connect.s3.GcsStorage", "gcs.credentials.path": file}
    found["gcs command"] = {**S3, "storage.class": "connect.s3.GcsStorage", "gcs.credentials.json": command}
    found["bigquery file"] = {**BIGQUERY, "keyfile": file}
    found["bigquery command"] = {**BIGQUERY, "keySource": "JSON", "keyfile": command}
    other = json.dumps(
        {"type": "external_account", "credential_source": {"file": file}, "token_url": "http://127.0.0.1:9"}
    )
    found["bigquery other"] = {**BIGQUERY, "keySource": "JSON", "keyfile": other}
    found |= {f"cassandra {k}": {**CASSANDRA, f"ssl.{k}.file": file} for k in ("ca", "certificate", "key")}
    return found


def test_no_configuration_names_a_file_or_code(target: Target, tmp_path: Path) -> None:
    victim, mark = tmp_path / "victim.txt", tmp_path / "ran"
    victim.write_text(f"{VICTIM}=1\na={VICTIM}\n")
    attacks = _attacks(victim, COMMAND % mark)
    with target.answering():
        told = {name: target.validate(config) for name, config in attacks.items()}
    assert [name for name, errors in told.items() if not any(errors)] == []
    assert [name for name, errors in told.items() if VICTIM in str(errors)] == []
    assert victim.read_text().count(VICTIM) == 2
    assert [f.name for f in tmp_path.iterdir()] == ["victim.txt"]
    assert len(attacks) > 150


@pytest.mark.parametrize("key", ["plugin.library.paths", "ssl.engine.location", "ssl.engine.id", "interceptor.classes"])
def test_no_client_of_kafka_loads_a_library(target: Target, tmp_path: Path, unique: str, key: str) -> None:
    """A library that is none: the client that tries to load it says so in the task's trace."""
    library = tmp_path / "evil.so"
    library.write_text("no library")
    overrides = {f"{client}.override.{key}": str(library) for client in ("producer", "consumer", "admin")}
    config = {
        "connector.class": "CassandraDedupConnector", "topics": f"{unique}-a", "input.prefix": unique,
        "topic.prefix": f"out-{unique}", **overrides,
    }  # fmt: skip
    with target.answering():
        answer = target.create(unique, config)
        assert answer.status_code in (201, 400), answer.text
        if answer.status_code == 201:
            target.worker.wait_for_tasks(unique, "RUNNING")
            target.delete(unique)
    assert "no library" not in target.worker.log_tail()
