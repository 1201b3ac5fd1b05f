"""Provides PostgreSQL, where its server binaries are installed."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from connect.tools.services.process.errors import ServiceStartError
from connect.tools.services.process.ports import LOOPBACK
from connect.tools.services.process.process import Command, run_to_end
from connect.tools.services.process.supervised import SupervisedService
from connect.tools.services.sql import USER, SqlEndpoint, as_plain_user, ensure_password, newest


class PostgresService(SupervisedService[SqlEndpoint]):
    """Keeps a PostgreSQL with one superuser, `connect`, and the database `postgres`; `wal_level` is logical.

    `buffers_mib` is the memory for pages of tables.
    """

    name: ClassVar[str] = "postgres"
    port_names: ClassVar[tuple[str, ...]] = ("port",)
    # On SIGTERM it waits for its clients to leave; committed rows survive a kill.
    stop_grace_s: ClassVar[float] = 2.0

    def __init__(
        self, *, data_folder: Path | None = None, ports: Mapping[str, int] | None = None, buffers_mib: int = 32
    ) -> None:
        super().__init__(data_folder=data_folder, ports=ports)
        self._buffers_mib = buffers_mib

    def prepare(self) -> None:
        _binary("postgres")

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        ensure_password(folder)
        data = folder / "data"
        if not (data / "PG_VERSION").exists():
            self._create(folder, data, deadline_s)
        options = {
            "port": str(ports["port"]), "listen_addresses": LOOPBACK, "unix_socket_directories": "",
            "wal_level": "logical", "max_prepared_transactions": "10", "max_connections": "50",
            "shared_buffers": f"{self._buffers_mib}MB", "max_wal_size": "256MB",
        }  # fmt: skip
        return as_plain_user(
            folder,
            "postgres",
            [
                str(_binary("postgres")),
                "-D",
                str(data),
                *(part for k, v in options.items() for part in ("-c", f"{k}={v}")),
            ],
        )

    def _create(self, folder: Path, data: Path, deadline_s: float) -> None:
        password = folder / "password"
        argv = [
            *(str(_binary("initdb")), "-D", str(data), "-U", USER, f"--pwfile={password}", "--auth=scram-sha-256"),
            *("--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"),
        ]
        log = folder / f"{self.name}.log"
        log.touch()
        command = Command(as_plain_user(folder, "postgres", argv), folder, log)
        if not run_to_end(command, deadline_s=deadline_s, doing="initdb"):
            raise ServiceStartError("initdb failed.", fix=f"See {log}.")

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> SqlEndpoint:
        return SqlEndpoint(ports["port"], USER, ensure_password(folder), database="postgres")

    def _answers(self, endpoint: SqlEndpoint, timeout_s: float) -> bool:
        argv = [
            str(_binary("pg_isready")),
            "-q",
            "-h",
            endpoint.host,
            "-p",
            str(endpoint.port),
            "-t",
            str(int(timeout_s)),
        ]
        try:
            return subprocess.run(argv, check=False, timeout=timeout_s + 1).returncode == 0  # noqa: S603 - our own command
        except subprocess.TimeoutExpired:  # a machine so busy that the program did not begin: it is asked again
            return False


def _binary(name: str) -> Path:
    installed = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda p: int(p.parts[-3]))
    on_path = shutil.which(name)
    return newest([*installed, *([Path(on_path)] if on_path else [])], f"PostgreSQL ({name})", "postgresql")
