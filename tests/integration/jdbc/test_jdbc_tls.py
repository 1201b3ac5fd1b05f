"""Databases that speak TLS only: every connection of the connector is encrypted and knows whom it talks to."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import sqlalchemy as sa
import trustme
from jdbc_drive import OffsetStore, batches, rows
from jdbc_log import log_run
from jdbc_server import DRIVERS, Server
from sql_services import installed

from connect.api.errors import ConfigError
from connect.lib.deadline import Deadline
from connect.tools.services.mariadb import MariaDbService
from connect.tools.services.postgres import PostgresService


def _certificate(folder: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    issued.private_key_pem.write_to_path(str(folder / "key.pem"))
    (folder / "cert.pem").write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    (folder / "key.pem").chmod(0o600)


class TlsPostgres(PostgresService):
    """Lets nobody in without TLS."""

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        _certificate(folder)
        argv = super()._command(folder, ports, deadline_s)
        rules = folder / "data" / "pg_hba.conf"
        rules.write_text(rules.read_text().replace("host  ", "hostssl"))
        return [*argv, "-c", "ssl=on", "-c", f"ssl_cert_file={folder}/cert.pem", "-c", f"ssl_key_file={folder}/key.pem"]


class TlsMariaDb(MariaDbService):
    """Likewise."""

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        _certificate(folder)
        argv = super()._command(folder, ports, deadline_s)
        return [*argv, f"--ssl-cert={folder}/cert.pem", f"--ssl-key={folder}/key.pem", "--require-secure-transport=ON"]


SERVICES = {"postgres": TlsPostgres, "mariadb": TlsMariaDb}
TRUSTED = {
    "postgres": {"connection__sslmode": "verify-full", "connection__sslrootcert": "{ca}"},
    "mariadb": {"connection__sslMode": "verify-full", "connection__serverSslCert": "{ca}"},
}


@pytest.fixture(params=["postgres", "mariadb"], scope="module")
def started(request) -> Iterator[tuple[str, PostgresService | MariaDbService]]:
    with installed(SERVICES[request.param]()) as service:
        yield request.param, service


@pytest.fixture
def secure(started, unique: str) -> Iterator[tuple[Server, str]]:
    """The server, and the authority that vouches for it."""
    name, service = started
    folder, e = service._known_folder(), service.endpoint
    query = {"sslmode": "require"} if name == "postgres" else {"ssl_ca": f"{folder}/ca.pem"}
    url = sa.URL.create(DRIVERS[name], e.user, e.password, e.host, e.port, e.database, query)
    engine = sa.create_engine(url)
    yield Server(name, e, engine, unique), f"{folder}/ca.pem"
    engine.dispose()


def _trusted(name: str, ca: str) -> dict[str, str]:
    return {key: value.format(ca=ca) for key, value in TRUSTED[name].items()}


def test_tables_and_the_log_are_read_over_verified_connections(secure):
    server, ca = secure
    settings = _trusted(server.name, ca)
    server.run("CREATE TABLE {t} (id INT PRIMARY KEY, name VARCHAR(9))", "INSERT INTO {t} VALUES (1, 'é')")
    for reader in ("auto", "generic"):
        task = server.opened(OffsetStore(), **settings, mode="bulk", reader=reader)
        assert rows(batches(task, OffsetStore(), at_most=1)) == [{"id": 1, "name": "é"}]
        task.close()
    with log_run(server, **settings) as run:
        run.open()
        run.until_events(1)
        server.run("INSERT INTO {t} VALUES (2, 'ü')")
        assert [(v["op"], v["after"]["name"]) for _, _, v in run.until_events(2)] == [("r", "é"), ("c", "ü")]


def test_who_is_not_to_be_trusted_and_what_is_not_encrypted_is_refused(secure, tmp_path):
    server, _ = secure
    trustme.CA().cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    plain = {"connection__sslmode" if server.name == "postgres" else "connection__sslMode": "disable"}

    def refused(**settings: str) -> str:
        planned = server.connector(**settings, mode="bulk", connection__attempts=1)
        with pytest.raises(ConfigError) as error:
            planned.check(Deadline.after(60))
        assert {problem.key for problem in error.value.problems} == {"connection.url"}
        return str(error.value)

    assert "certificate verify failed" in refused(**_trusted(server.name, f"{tmp_path}/ca.pem"))
    # Before MariaDB 11 such a user is told nothing more than that.
    assert re.search("no encryption|Access denied|insecure transport", refused(**plain))
    assert re.search("No such file|does not exist", refused(**_trusted(server.name, "/none/ca.pem")))
