"""Provides MySQL, where its server is installed or is the first one on the PATH.

MariaDB's server has the same name, and is not used.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import ClassVar

from connect.tools.services.mariadb import MariaDbService, basedir, temporary
from connect.tools.services.process.errors import ServiceStartError
from connect.tools.services.process.ports import LOOPBACK
from connect.tools.services.process.process import Command, run_to_end
from connect.tools.services.sql import as_plain_user, newest

_VERSION_DEADLINE_S = 10.0


class MySqlService(MariaDbService):
    """Keeps a MySQL with the user `connect`, who may do everything, and the database `connect`."""

    name: ClassVar[str] = "mysql"

    def prepare(self) -> None:
        _binary()

    def _server(self, data: Path, ports: Mapping[str, int], init: Path) -> Sequence[str]:
        mysqld = _binary()
        return [
            *(str(mysqld), "--no-defaults", f"--basedir={basedir(mysqld)}", f"--datadir={data}"),
            *(f"--port={ports['port']}", f"--bind-address={LOOPBACK}", "--socket=mysql.sock", f"--init-file={init}"),
            *("--skip-name-resolve", "--loose-mysqlx=OFF", "--log-bin=binlog", "--binlog-format=ROW", "--server-id=1"),
            *(f"--innodb-buffer-pool-size={self._buffers_mib}M", "--character-set-server=utf8mb4"),
            *("--secure-file-priv=", f"--tmpdir={temporary(data)}"),
        ]

    def _create(self, folder: Path, data: Path, deadline_s: float) -> None:
        mysqld = _binary()
        argv = [
            *(str(mysqld), "--no-defaults", "--initialize-insecure", f"--basedir={basedir(mysqld)}"),
            *(f"--datadir={data}", "--secure-file-priv=", f"--tmpdir={temporary(data)}"),
        ]
        log = folder / f"{self.name}.log"
        log.touch()
        command = Command(as_plain_user(folder, "mysql", argv), folder, log)
        if not run_to_end(command, deadline_s=deadline_s, doing="mysqld --initialize-insecure"):
            raise ServiceStartError("mysqld --initialize-insecure failed.", fix=f"See {log}.")


def _binary() -> Path:
    folders = ["/usr/sbin", "/usr/bin", *reversed(os.environ.get("PATH", "").split(os.pathsep))]
    found = [path for path in (Path(folder, "mysqld") for folder in folders) if path.exists()]
    return newest([path for path in found if _is_mysql(path)], "MySQL (mysqld)", "mysql-server")


@cache
def _is_mysql(mysqld: Path) -> bool:
    """Tell if the server is MySQL's and not MariaDB's, which has the same name."""
    argv = [str(mysqld), "--no-defaults", "--version"]
    told = subprocess.run(argv, check=False, capture_output=True, timeout=_VERSION_DEADLINE_S)  # noqa: S603 - a server's
    return told.returncode == 0 and b"MariaDB" not in told.stdout
