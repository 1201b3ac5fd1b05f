"""No secret leaves a worker: not by REST, its logs at DEBUG, metrics, dead letters or the command line."""

import json
import re

import pytest
from click.testing import CliRunner
from cluster_worker import eventually
from kafka_records import records

from connect.cli import main

PEM = "-----BEGIN PRIVATE KEY-----\ncanary-3-s3cr3t\n-----END PRIVATE KEY-----"
STRING = "org.apache.kafka.connect.storage.StringConverter"
AVRO = "io.confluent.connect.avro.AvroConverter"
ONCE = {"tasks.max": "1", "auto.restart.enabled": "false"}


@pytest.fixture
def worker(start_worker, tmp_path):
    values = tmp_path / "values.properties"
    values.write_text("file=/nowhere/canary-1-s3cr3t\nalias=canary-2-s3cr3t\nfew=a\n")
    keys = {
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "python.function.modules": "canary_functions",
        "exactly.once.source.support": "disabled",
        "allowed.paths": f"{tmp_path},/nowhere",
    }
    return start_worker("--log-level", "DEBUG", **keys).ready()


def connectors(tmp_path, unique):
    """Name -> a configuration with secrets in it. Some run, some fail."""
    lines = tmp_path / "lines.txt"
    lines.write_text("one\ntwo\n")
    source = {"connector.class": "FileStreamSource", "file": str(lines), "value.converter": STRING, **ONCE}
    values = tmp_path / "values.properties"
    return {
        "missing": {**source, "topic": f"{unique}-missing", "file": f"${{file:{values}:file}}"},
        "broken": {
            **source, "topic": f"{unique}-broken", "producer.override.security.protocol": "SSL",
            "producer.override.ssl.key.pem": PEM, "producer.override.sasl.oauthbearer.config": "x=canary-4-s3cr3t",
        },
        "issuer": {
            **source, "topic": f"{unique}-issuer", "value.converter": AVRO, "errors.retry.timeout": "0",
            "value.converter.schema.registry.url": "http://u:canary-5-s3cr3t@127.0.0.1:1",
            "value.converter.bearer.auth.credentials.source": "OAUTHBEARER", "value.converter.max.retries": "0",
            "value.converter.bearer.auth.issuer.endpoint.url": "http://u:canary-6-s3cr3t@127.0.0.1:1/token",
            "value.converter.bearer.auth.client.id": "id",
            "value.converter.bearer.auth.client.secret": "canary-6-s3cr3t-of-its-own",
        },
        "letters": {
            **source, "topic": f"{unique}-letters", "my.password": "canary-7-s3cr3t", "transforms": "login",
            "transforms.login.type": "connect.transforms.PythonFunction$Value",
            "transforms.login.function": "canary_functions:login", "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": f"{unique}-dlq", "errors.log.enable": "true",
            "errors.deadletterqueue.topic.replication.factor": "1",
            "errors.deadletterqueue.context.headers.enable": "true", "errors.log.include.messages": "true",
        },
    }  # fmt: skip


def refused(tmp_path, unique):
    """Configurations that are refused: by their keys, or by the connector's own check."""
    values = tmp_path / "values.properties"
    jdbc = {"mode": "bulk", "table.whitelist": "a", "topic.prefix": unique, "connection.attempts": "1"}
    return {
        "jdbc": {
            **jdbc, "connector.class": "JdbcSource", "connection.password": "canary-8-s3cr3t",
            "connection.url": "jdbc:postgresql://127.0.0.1:1/d?user=u&sslpassword=canary-9-s3cr3t",
        },
        "driver": {
            **jdbc, "connector.class": "JdbcSource",
            "connection.url": "mssql+pymssql://u:canary-10-s3cr3t@127.0.0.1:1/d?token=canary-11-s3cr3t",
        },
        "s3": {
            "connector.class": "S3Sink", "topics": "t", "s3.bucket.name": "b", "flush.size": "1",
            "format.class": "io.confluent.connect.s3.format.json.JsonFormat", "s3.part.retries": "0",
            "store.url": "http://u:canary-12-s3cr3t@127.0.0.1:1", "aws.access.key.id": "id",
            "aws.secret.access.key": "canary-13-s3cr3t", "s3.proxy.url": "http://u:canary-14-s3cr3t@127.0.0.1:1",
        },
        "aliases": {
            "connector.class": "FileStreamSource", "topic": "t", "file": "f",
            "transforms": f"${{file:{values}:alias}}", "predicates": f"${{file:{values}:few}}",
        },
    }  # fmt: skip


def test_no_secret_leaves_a_worker(worker, kafka, tmp_path, unique):
    said = {}
    for name, config in connectors(tmp_path, unique).items():
        answer = worker.call("POST", "/connectors", {"name": name, "config": config})
        assert answer.status_code == 201, answer.text
        said[f"creation of {name}"] = answer.text
    for name, config in {**connectors(tmp_path, unique), **refused(tmp_path, unique)}.items():
        given = {**config, "name": name}
        for way, method, path, body in (
            ("refusal", "POST", "/connectors", {"name": f"{name}-x", "config": {**config, "tasks.max": "x"}}),
            ("creation", "POST", "/connectors", {"name": name, "config": config}),
            ("preview", "POST", "/connectors?dry_run=true", {"name": f"{name}-x", "config": config}),
            ("validation", "PUT", f"/connector-plugins/{config['connector.class']}/config/validate", given),
        ):
            answer = worker.call(method, path, body, timeout_s=60)
            assert answer.status_code in {200, 400, 409}, answer.text
            said[f"{way} of {name}"] = answer.text
    eventually(worker.runs("missing", 1))
    eventually(lambda: worker.states("broken")[1] == ["FAILED"])
    eventually(lambda: worker.states("issuer")[1] == ["FAILED"])
    eventually(lambda: len(records(kafka, f"{unique}-dlq")) == 2)
    eventually(lambda: "does not exist" in worker.log.read_text())

    for name in connectors(tmp_path, unique):
        config = worker.get(f"/connectors/{name}/config")
        again = worker.call("PUT", f"/connectors/{name}/config?dry_run=true", config)
        assert again.json()["changes"] == {"added": {}, "changed": {}, "removed": {}}
        for path in ("", "/config", "/tasks", "/status", "/tasks/0/status", "/history", "/offsets", "/topics"):
            said[f"{name}{path}"] = json.dumps(worker.get(f"/connectors/{name}{path}"))
    for path in ("/connectors?expand=info&expand=status", "/metrics", "/health", "/connector-plugins"):
        said[path] = worker.call("GET", path).text
    file = next(tmp_path.glob("worker-*.yaml"))
    for command in (["list", f"{unique}-dlq", "--json"], ["show", f"{unique}-dlq", "0:0"]):
        done = CliRunner().invoke(main, ["dlq", *command, "--worker", str(file)])
        assert done.exit_code == 0, done.output
        said[f"dlq {command[0]}"] = done.output
    said["log"] = worker.log.read_text()

    assert "[hidden]" in said["log"]
    assert "login of" in said["dlq show"]
    leaks = [
        f"{where}: …{text[max(0, found.start() - 80) : found.end()]}"
        for where, text in said.items()
        for found in re.finditer(r"canary-\d+-s3cr3t", text)
    ]
    assert leaks == []
