"""A catalogue's answers are input: no class, key, address or file in them is obeyed that the sink does not know."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from hostile_catalog import HostileCatalog, served
from pyiceberg.io.pyarrow import PyArrowFileIO

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError, ConnectError
from connect.lib.deadline import Deadline
from connectors.s3.formats.format_specs import PARQUET_FORMAT
from connectors.s3.iceberg.catalog import load, require_reachable
from connectors.s3.iceberg.catalog import properties as properties_of
from connectors.s3.iceberg.connector import IcebergSinkConnector
from connectors.s3.settings.classes import LOCAL_STORAGE
from connectors.s3.settings.config import S3SinkConfig

KEYS = {"aws.access.key.id": "own-id", "aws.secret.access.key": "own-secret"}
VENDED = {"s3.access-key-id": "theirs", "s3.secret-access-key": "their-secret", "s3.session-token": "their-token"}
EVIL = """
import pathlib
pathlib.Path({canary!r}).touch()
class Anything:
    def __init__(self, *given, **named):
        pass
"""


@pytest.fixture
def catalog():
    with served(HostileCatalog()) as running:
        yield running


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that comes to be when `evil_of_catalog` is imported, or a shell runs."""
    made = tmp_path / "ran"
    (tmp_path / "evil_of_catalog.py").write_text(EVIL.format(canary=str(made)))
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("evil_of_catalog", None)
    return made


def config(catalog: HostileCatalog, **more: str) -> S3SinkConfig:
    return S3SinkConfig.parse({
        "s3.bucket.name": "lake", "format.class": PARQUET_FORMAT, "flush.size": "10", "table.format": "iceberg",
        "iceberg.catalog.type": "rest", "iceberg.catalog.uri": catalog.url, "iceberg.table": "lake.${topic}",
        "store.url": "http://127.0.0.1:9", "s3.request.timeout.ms": "1000", "s3.part.retries": "0", **more,
    })  # fmt: skip


def checked(given: S3SinkConfig) -> str:
    """What a check says; the store of these configurations is not there."""
    with pytest.raises(ConnectError) as said:
        IcebergSinkConnector(given).check(Deadline.after(5))
    return str(said.value)


@pytest.mark.parametrize("where", ["defaults", "overrides"])
@pytest.mark.parametrize(
    "chosen",
    [
        {"auth": {"type": "custom", "impl": "subprocess.Popen", "custom": {"args": ["touch", "{canary}"]}}},
        {"auth": {"type": "custom", "impl": "evil_of_catalog.Anything", "custom": {}}},
        {"py-io-impl": "evil_of_catalog.Anything"},
        {"py-catalog-impl": "evil_of_catalog.Anything"},
        {"s3.retry-strategy-impl": "evil_of_catalog.Anything"},
    ],
    ids=["a shell", "auth", "file io", "catalogue", "retries"],
)
def test_no_class_in_the_servers_configuration_is_loaded(catalog, canary, where, chosen):
    if (auth := chosen.get("auth")) and "args" in auth["custom"]:
        chosen = {"auth": {**auth, "custom": {"args": ["touch", str(canary)]}}}
    catalog.config = {where: chosen}
    for more in ({}, KEYS):
        opened = load(config(catalog, **more))
        assert opened.list_namespaces() == []
        opened.load_table(("lake", "orders")).io.new_input("s3://lake/x")
    assert "evil_of_catalog" not in sys.modules
    assert not canary.exists()


@pytest.mark.parametrize("key", ["write.py-location-provider.impl", "py-io-impl"])
@pytest.mark.parametrize("place", ["metadata", "config", "commit"])
def test_a_table_that_names_classes_is_refused(catalog, canary, key, place):
    chosen = {key: "evil_of_catalog.Anything"}
    if place == "metadata":
        catalog.metadata = {"properties": chosen}
    elif place == "config":
        catalog.table_config = chosen
    else:
        catalog.after_commit = chosen
    opened = load(config(catalog, **KEYS))

    def used() -> None:
        table = opened.load_table(("lake", "orders"))
        with table.transaction() as transaction:
            transaction.set_properties({"a": "b"})
        table.location_provider()

    with pytest.raises(ConfigError, match=f"property {key} names a class"):
        used()
    assert "evil_of_catalog" not in sys.modules
    assert not canary.exists()


def test_a_certificate_or_key_file_in_an_answer_is_not_opened(catalog, tmp_path):
    secret = tmp_path / "key.pem"
    secret.write_text("s3cret")
    catalog.config = {"overrides": {"ssl": {"cabundle": str(secret), "client": {"cert": str(secret)}}}}
    opened = load(config(catalog))
    assert opened.list_namespaces() == []
    assert "ssl" not in opened.properties


def test_no_file_is_deleted_that_an_answer_names(catalog, monkeypatch):
    deleted = []
    monkeypatch.setattr(PyArrowFileIO, "delete", lambda _, location: deleted.append(location))
    catalog.metadata = {
        "metadata-log": [{"timestamp-ms": 1, "metadata-file": "s3://others/ledger.parquet"}],
        "properties": {"write.metadata.delete-after-commit.enabled": "true"},
    }
    table = load(config(catalog)).load_table(("lake", "orders"))
    catalog.metadata = {"properties": catalog.metadata["properties"]}
    with table.transaction() as transaction:
        transaction.set_properties({"a": "b"})
    assert catalog.asked[-1][0] == "POST"
    assert deleted == []


def test_a_redirect_is_not_followed(catalog):
    with served(HostileCatalog()) as elsewhere:
        catalog.redirect = elsewhere.url
        given = config(catalog, **{"iceberg.catalog.token": "s3cr3t-t0ken"})
        said = checked(given)
        assert "is not followed" in said
        assert elsewhere.url in said
        assert elsewhere.asked == []


def test_another_address_for_requests_is_refused_and_told(catalog):
    with served(HostileCatalog()) as elsewhere:
        catalog.config = {"overrides": {"uri": elsewhere.url}}
        assert f"wants its requests sent elsewhere, to {elsewhere.url}" in checked(config(catalog))
        assert elsewhere.asked == []
    catalog.config = {"overrides": {"uri": f"{catalog.url}/inner", "prefix": "a"}}
    assert load(config(catalog)).list_namespaces() == []
    assert catalog.asked[-1][1] == "/inner/v1/a/namespaces"


def test_keys_that_the_catalogue_gives_out_are_used_and_those_of_the_worker_stay(catalog):
    elsewhere = {
        "s3.endpoint": "http://evil.example",
        "s3.signer.uri": "http://evil.example",
        "rest.sigv4-enabled": "true",
    }
    catalog.table_config = elsewhere
    own = load(config(catalog))
    assert own.load_table(("lake", "orders")).io.properties["s3.endpoint"] == "http://127.0.0.1:9", "ambient keys"
    catalog.table_config = {**elsewhere, **VENDED, "s3.region": "eu-1"}
    io = own.load_table(("lake", "orders")).io.properties
    assert {key: io[key] for key in (*VENDED, "s3.endpoint", "s3.region")} == {
        **VENDED, "s3.endpoint": "http://evil.example", "s3.region": "eu-1",
    }  # fmt: skip
    assert not {"s3.signer.uri", "rest.sigv4-enabled", "s3.anonymous", "s3.role-arn"} & io.keys()
    for half in ("s3.access-key-id", "s3.secret-access-key"):
        catalog.table_config = {**elsewhere, half: VENDED[half], "s3.session-token": "t"}
        io = own.load_table(("lake", "orders")).io.properties
        assert not VENDED.keys() & io.keys()
    catalog.table_config, catalog.config = {}, {"overrides": {**elsewhere}}
    assert load(config(catalog)).properties["s3.endpoint"] == "http://127.0.0.1:9"
    assert load(config(catalog, **KEYS)).properties["s3.endpoint"] == "http://evil.example", "the configuration's keys"


def test_a_role_that_the_configuration_assumes_is_kept_beside_its_keys(catalog):
    role = {
        "s3.credentials.provider.class": "io.confluent.connect.s3.auth.AwsAssumeRoleCredentialsProvider",
        "s3.credentials.provider.sts.role.arn": "arn:r", "s3.credentials.provider.sts.role.session.name": "s",
    }  # fmt: skip
    assert load(config(catalog, **KEYS, **role)).properties["s3.role-arn"] == "arn:r"
    catalog.config = {"overrides": {"s3.role-arn": "arn:evil"}}
    assert load(config(catalog, **KEYS, **role)).properties["s3.role-arn"] == "arn:r"


@pytest.mark.parametrize("scheme", ["", "file:", "file://", "hdfs://h", "gs://b", "oss://b", "abfs://c@a", "FILE://"])
def test_no_file_of_the_worker_is_named_by_a_table_in_s3(catalog, tmp_path, scheme):
    secret = tmp_path / "secret"
    secret.write_text("s3cret")
    catalog.metadata = {
        "current-snapshot-id": 1, "last-sequence-number": 1,
        "snapshots": [{
            "snapshot-id": 1, "sequence-number": 1, "timestamp-ms": 1, "manifest-list": f"{scheme}{secret}",
            "summary": {"operation": "append"},
        }],
    }  # fmt: skip
    table = load(config(catalog, **KEYS)).load_table(("lake", "orders"))
    with pytest.raises(ConfigError, match="where this configuration does not reach"):
        table.current_snapshot().manifests(table.io)
    for act in (table.io.new_input, table.io.new_output, table.io.delete):
        with pytest.raises(ConfigError, match="does not reach"):
            act(f"{scheme}{secret}")
    assert secret.read_text() == "s3cret"
    catalog.metadata = {"location": f"{scheme}{tmp_path}"}
    moved = load(config(catalog, **KEYS))
    with pytest.raises(ConfigError, match="does not reach"):
        require_reachable(config(catalog), "lake.orders", moved.load_table(("lake", "orders")))


def test_a_table_in_a_folder_reaches_what_the_worker_lists_alone(catalog, tmp_path):
    inside, outside = tmp_path / "lake", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "link").symlink_to(outside)
    folder = {"storage.class": LOCAL_STORAGE, "s3.bucket.name": str(inside), "allowed.paths": str(inside)}
    catalog.metadata = {"location": f"file://{inside}/orders"}
    io = load(config(catalog, **folder)).load_table(("lake", "orders")).io
    with io.new_output(f"file://{inside}/a").create() as file:
        file.write(b"fine")
    assert (inside / "a").read_bytes() == b"fine"
    for place in (f"file://{outside}/x", f"{inside}/link/x", f"file://{inside}/../outside/x", "s3://lake/x",
                  f"file://host{inside}/x"):  # fmt: skip
        with pytest.raises(ConfigError, match="does not reach"):
            io.new_output(place)
    assert list(outside.iterdir()) == []


@pytest.mark.thorough
def test_what_pyiceberg_finds_on_the_worker_does_not_go_to_a_catalogue(catalog, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    (home / ".pyiceberg.yaml").write_text(
        "catalog:\n  iceberg:\n    token: s3cr3t-of-file\n    py-io-impl: os.system\n    header.X-Own: s3cr3t-header\n"
    )
    (home / ".netrc").write_text("default login a password s3cr3t-of-netrc\n")
    code = (
        "import sys; from connectors.s3.settings.config import S3SinkConfig\n"
        "from connectors.s3.iceberg.catalog import load\n"
        "given = dict(zip(sys.argv[1::2], sys.argv[2::2]))\n"
        "assert load(S3SinkConfig.parse(given)).list_namespaces() == []\n"
    )
    given = [text for pair in config(catalog).originals.items() for text in pair]
    environ = {
        **os.environ, "HOME": str(home), "PYICEBERG_CATALOG__ICEBERG__CREDENTIAL": "id:s3cr3t-of-environment",
        "PYICEBERG_CATALOG__ICEBERG__URI": "http://127.0.0.1:9", "PYICEBERG_HOME": str(home),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }  # fmt: skip
    subprocess.run([sys.executable, "-c", code, *given], env=environ, check=True, timeout=120, cwd=home)
    assert [path for _, path, _ in catalog.asked] == ["/v1/config", "/v1/namespaces"]
    assert "s3cr3t" not in str(catalog.asked)


@pytest.mark.parametrize(
    "address",
    [
        "mysql+pymysql://u:a?@evil/db?local_infile=1", "postgresql+psycopg://h/db?sslkey=/x.so:k",
        "postgresql+psycopg://h/db#?service=a", "postgresql+psycopg://h/db?sslmode=a&sslmode=b", "mysql://h/db",
        "sqlite:////d/c.db#?x=y", "sqlite:////d/c.db?mode=ro", "sqlite:///file:/etc/passwd?uri=true", "sqlite://",
        "mysql+mysqldb://h/db", "postgresql+psycopg:///db", "postgresql+psycopg://u:p@@sock/db",
        "postgresql+psycopg2://h,/db", "duckdb:////etc/passwd", "mysql+pymysql://h/db?%72ead_default_file=/etc/my.cnf",
    ],
)  # fmt: skip
def test_the_address_of_a_sql_catalogue_is_judged_as_it_is_connected_by(address):
    given = {
        "s3.bucket.name": "lake", "format.class": PARQUET_FORMAT, "flush.size": "10", "table.format": "iceberg",
        "iceberg.catalog.type": "sql", "iceberg.catalog.uri": address, "allowed.paths": "/",
    }  # fmt: skip
    if address == "sqlite:////d/c.db#?x=y":
        # SQLAlchemy knows no fragments: this is a parameter of the file `c.db#`.
        address = "sqlite"
    with pytest.raises(ConfigError) as refused:
        S3SinkConfig.parse(given)
    assert [problem.key for problem in refused.value.problems] == ["iceberg.catalog.uri"]
    fine = {**given, "iceberg.catalog.uri": "postgresql+psycopg2://u:p%3F@h/db?sslmode=require"}
    assert S3SinkConfig.parse(fine).is_iceberg


@pytest.mark.parametrize(("login", "password"), [("me@", ""), ("me:given@", None)])
def test_a_sql_catalogue_gets_no_password_of_the_workers_own(login: str, password: str | None) -> None:
    properties = {
        "s3.bucket.name": "lake", "format.class": PARQUET_FORMAT, "flush.size": "10", "table.format": "iceberg",
        "iceberg.catalog.type": "sql", "iceberg.catalog.uri": f"postgresql+psycopg://{login}h/db",
    }  # fmt: skip
    address = urlsplit(properties_of(S3SinkConfig.parse(properties))["uri"])
    assert address.netloc == f"{login}h"
    asked = dict(parse_qsl(address.query, keep_blank_values=True))
    assert not Path(asked["passfile"]).exists()
    assert asked.get("password") == password
    everywhere = S3SinkConfig.parse(S3SinkConfig.with_leave(properties, EVERYWHERE))
    assert urlsplit(properties_of(everywhere)["uri"]).query == ""
