"""Provides MariaDB, where its server binaries are installed."""

import shutil
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from connect.tools.services.process.errors import ServiceStartError
from connect.tools.services.process.ports import LOOPBACK, accepts_connections
from connect.tools.services.process.process import Command, run_to_end
from connect.tools.services.process.supervised import SupervisedService
from connect.tools.services.sql import DATABASE, USER, SqlEndpoint, as_plain_user, ensure_password, newest

_INIT_FILE = "init.sql"


class MariaDbService(SupervisedService[SqlEndpoint]):
    """Keeps a MariaDB with the user `connect`, who may do everything, and the database `connect`.

    `buffers_mib` is the memory for pages of tables.
    """

    name: ClassVar[str] = "mariadb"
    port_names: ClassVar[tuple[str, ...]] = ("port",)

    def __init__(
        self, *, data_folder: Path | None = None, ports: Mapping[str, int] | None = None, buffers_mib: int = 64
    ) -> None:
        super().__init__(data_folder=data_folder, ports=ports)
        self._buffers_mib = buffers_mib

    def prepare(self) -> None:
        _binary("mariadbd")

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        password = ensure_password(folder)
        data = folder / "data"
        if not data.exists():
            self._create(folder, data, deadline_s)
        init = folder / _INIT_FILE
        init.touch(mode=0o600)
        init.write_text(
            f"CREATE DATABASE IF NOT EXISTS {DATABASE};\n"
            f"CREATE USER IF NOT EXISTS '{USER}'@'%' IDENTIFIED BY '{password}';\n"
            f"GRANT ALL ON *.* TO '{USER}'@'%' WITH GRANT OPTION;\n"
        )
        return as_plain_user(folder, "mysql", self._server(data, ports, init))

    def _server(self, data: Path, ports: Mapping[str, int], init: Path) -> Sequence[str]:
        mariadbd = _binary("mariadbd")
        return [
            *(str(mariadbd), "--no-defaults", f"--basedir={basedir(mariadbd)}", f"--datadir={data}"),
            *(f"--port={ports['port']}", f"--bind-address={LOOPBACK}", "--socket=mariadb.sock"),
            *(f"--init-file={init}", "--skip-name-resolve", "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"),
            *(f"--innodb-buffer-pool-size={self._buffers_mib}M", "--innodb-log-file-size=32M"),
            *("--character-set-server=utf8mb4", f"--tmpdir={temporary(data)}"),
        ]

    def _create(self, folder: Path, data: Path, deadline_s: float) -> None:
        installer = _binary("mariadb-install-db")
        argv = [
            *(str(installer), "--no-defaults", f"--basedir={basedir(installer)}", f"--datadir={data}"),
            *("--skip-test-db", "--auth-root-authentication-method=normal", f"--tmpdir={temporary(data)}"),
        ]
        log = folder / f"{self.name}.log"
        log.touch()
        command = Command(as_plain_user(folder, "mysql", argv), folder, log)
        if not run_to_end(command, deadline_s=deadline_s, doing="mariadb-install-db"):
            raise ServiceStartError("mariadb-install-db failed.", fix=f"See {log}.")

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> SqlEndpoint:
        return SqlEndpoint(ports["port"], USER, ensure_password(folder))

    def _answers(self, endpoint: SqlEndpoint, timeout_s: float) -> bool:
        if not accepts_connections(endpoint.port):
            return False
        # The server sends the first bytes once its init file has run.
        with socket.create_connection((endpoint.host, endpoint.port), timeout_s) as greeting:
            return len(greeting.recv(5)) > 0


def basedir(binary: Path) -> Path:
    """Return the folder with the bin, sbin and share of a server, wherever it was unpacked."""
    return binary.resolve().parent.parent


def temporary(data: Path) -> Path:
    """Return the folder for temporary tables, made beside the data: a server that starts would remove those of all in
    /tmp.
    """
    folder = data.with_name("tmp")
    folder.mkdir(exist_ok=True)
    return folder


def _binary(name: str) -> Path:
    candidates = [Path("/usr/sbin", name), Path("/usr/bin", name), *(Path(p) for p in [shutil.which(name)] if p)]
    return newest(candidates, f"MariaDB ({name})", "mariadb-server")
