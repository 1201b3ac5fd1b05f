"""Provides a Firebird with its own folder, port and users, where Firebird's server is installed."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final

from connect.tools.services.process.errors import ServiceStartError
from connect.tools.services.process.ports import LOOPBACK, accepts_connections
from connect.tools.services.process.process import Command, run_to_end
from connect.tools.services.process.supervised import SupervisedService
from connect.tools.services.sql import as_plain_user, ensure_password, newest

_ADMINISTRATOR: Final = "SYSDBA"
_DATABASE: Final = "connect.fdb"


@dataclass(frozen=True)
class FirebirdEndpoint:
    """Tells where and as whom clients connect; `repr` does not show the password."""

    port: int
    database: Path
    password: str = field(repr=False)
    user: str = _ADMINISTRATOR
    host: str = LOOPBACK


class FirebirdService(SupervisedService[FirebirdEndpoint]):
    """Keeps a Firebird with one database, which its administrator owns."""

    name: ClassVar[str] = "firebird"
    port_names: ClassVar[tuple[str, ...]] = ("port",)

    def prepare(self) -> None:
        _server()
        _shell()

    def _environ(self) -> Mapping[str, str]:
        return _environ(self._known_folder())

    def _command(self, folder: Path, ports: Mapping[str, int], deadline_s: float) -> Sequence[str]:
        password = ensure_password(folder)
        (folder / "firebird.conf").write_text(
            f"RemoteBindAddress = {LOOPBACK}\nRemoteServicePort = {ports['port']}\n"
            f"SecurityDatabase = {folder}/security.fdb\nDatabaseAccess = Restrict {folder}\nBugcheckAbort = 1\n"
        )
        for empty in ("databases.conf", "plugins.conf"):
            (folder / empty).touch()
        if not (folder / _DATABASE).exists():
            self._create(folder, password, deadline_s)
        return as_plain_user(folder, "firebird", [str(_server())])

    def _create(self, folder: Path, password: str, deadline_s: float) -> None:
        script = folder / "create.sql"
        script.touch(mode=0o600)
        # Without a server, in one process, everybody who may write the files may do everything.
        script.write_text(
            f"CREATE DATABASE '{folder}/security.fdb' USER '{_ADMINISTRATOR}';\n"
            f"CREATE USER {_ADMINISTRATOR} PASSWORD '{password}';\nCOMMIT;\n"
            f"CREATE DATABASE '{folder}/{_DATABASE}' USER '{_ADMINISTRATOR}' DEFAULT CHARACTER SET UTF8;\nCOMMIT;\n"
        )
        log = folder / f"{self.name}.log"
        log.touch()
        argv = as_plain_user(folder, "firebird", [str(_shell()), "-quiet", "-bail", "-input", str(script)])
        if not run_to_end(
            Command(argv, folder, log, _environ(folder)), deadline_s=deadline_s, doing="creating the database"
        ):
            raise ServiceStartError("The database could not be created.", fix=f"See {log}.")
        script.unlink()

    def _endpoint(self, folder: Path, ports: Mapping[str, int]) -> FirebirdEndpoint:
        return FirebirdEndpoint(ports["port"], folder / _DATABASE, ensure_password(folder))

    def _answers(self, endpoint: FirebirdEndpoint, timeout_s: float) -> bool:
        del timeout_s
        return accepts_connections(endpoint.port)


def _environ(folder: Path) -> Mapping[str, str]:
    return {name: str(folder) for name in ("FIREBIRD", "FIREBIRD_LOCK", "FIREBIRD_TMP")}


def _server() -> Path:
    return _installed("firebird")


def _shell() -> Path:
    return _installed("isql-fb")


def _installed(name: str) -> Path:
    candidates = [Path("/usr/bin", name), Path("/usr/sbin", name), *(Path(p) for p in [shutil.which(name)] if p)]
    return newest(candidates, f"Firebird ({name})", "firebird3.0-server firebird3.0-utils")
