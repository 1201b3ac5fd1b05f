"""Tells which Python drivers a connector may name, with which parameters, and which parameters name files. Pure.

A driver may load libraries and read files. The drivers for translated JDBC URLs are known well enough; the worker's
file has to allow other drivers. The parts of the URL as SQLAlchemy parses it are checked, and never its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from connectors.jdbc.dialects.dialect import Dialect
from connectors.jdbc.dialects.known import dialect_named
from connectors.jdbc.settings.url import OTHER_SERVERS, DatabaseUrl, values_of

if TYPE_CHECKING:
    from connectors.jdbc.dialects.generic.url import DriverParameters

KEY: Final = "jdbc.sqlalchemy.drivers"
"""This key of the worker's file allows further drivers, and known drivers with all of their parameters."""
_WHY: Final[Mapping[str, str]] = {
    "plugin": "loads code into SQLAlchemy",
    "plugins": "loads code into SQLAlchemy",
    "local_infile": "lets the server read files of this machine",
    "read_default_file": "reads a file of this machine",
    "read_default_group": "reads a file of this machine",
    "service": "reads a file of this machine",
    "servicefile": "reads a file of this machine",
    "passfile": "reads a file of this machine",
    "sslkeylogfile": "writes a file of this machine",
}


def driver_problems(url: DatabaseUrl, allowed: Sequence[str], *, bounds_hosts: bool = False) -> Iterator[str]:
    """Yield why a worker that allows these further drivers refuses a URL. No text holds a value of it.

    With `bounds_hosts` the worker lists the hosts that configurations may name; a parameter may name one, too.
    """
    name = url.drivername
    if name not in allowed:
        yield from _refused(name, url)
    elif bounds_hosts:
        yield from _unjudged(name, url)
    try:
        file_of(url)
    except ValueError as error:
        yield str(error)
    yield from _dialect(url).url.driver_problems(url)


def parameters_of(drivername: str) -> DriverParameters | None:
    """Return the parameters that a connector may give a driver.

    Return None if the worker has to allow the driver first.
    """
    return dialect_named(drivername.partition("+")[0]).url.drivers.get(drivername)


def _dialect(url: DatabaseUrl) -> Dialect:
    return dialect_named(url.drivername.partition("+")[0])


def _refused(name: str, url: DatabaseUrl) -> Iterator[str]:
    known = parameters_of(name)
    if known is None:
        yield (
            f"this worker does not allow the driver {name}, as a driver's parameters may load code. List it in the "
            f"worker's {KEY}"
        )
        return
    for parameter in sorted(url.query.keys() - known.names - {OTHER_SERVERS}):
        why = _WHY.get(parameter, "is not known here")
        yield f"the parameter {parameter} {why}. List {name} in the worker's {KEY} to allow it"
    for parameter in sorted(url.query.keys() - known.repeated):
        if len(values_of(url, parameter)) > 1:
            yield f"the parameter {parameter} is there more than once"


def _unjudged(name: str, url: DatabaseUrl) -> Iterator[str]:
    known = parameters_of(name)
    for parameter in sorted(url.query.keys() - (known.names if known else frozenset()) - {OTHER_SERVERS}):
        yield (
            f"the parameter {parameter} of {name} may name a host, and this worker bounds hosts by allowed.hosts. "
            "Leave it out; allowed.hosts=* in the worker's file takes any parameter, and any host"
        )


def files_of(url: DatabaseUrl) -> Iterator[tuple[str, str]]:
    """Yield pairs of a parameter and the file of this machine that a URL names by it; "" stands for the database's own
    file.

    ValueError: the address of a database's file is of an unknown form.
    """
    if file := file_of(url):
        yield "", file
    known = parameters_of(url.drivername)
    for parameter in sorted(known.files) if known else ():
        # `system` is no file: libpq takes it for the authorities that the system trusts.
        yield from ((parameter, path) for path in values_of(url, parameter) if path and path != "system")


def sockets_of(url: DatabaseUrl) -> Iterator[tuple[str, str]]:
    """Yield pairs of a parameter and the socket of this machine by which a URL reaches a server.

    They are checked, as a server may accept a client at a socket as the user of its process, without a password.
    """
    yield from _dialect(url).url.sockets(url)


def is_file(url: DatabaseUrl) -> bool:
    """Return True for a database that is a file, or in memory: it has no server."""
    return _dialect(url).url.is_file


def file_of(url: DatabaseUrl) -> str:
    """Return the path of a database that is a file, or an empty text if it is none, or in memory.

    ValueError: it has an unknown form.
    """
    name, dialect = url.database or "", _dialect(url)
    if not dialect.url.is_file:
        return ""
    if url.host or url.port or url.username or url.password:
        raise ValueError(
            f"a database of {dialect.name} has no host and no user; write {dialect.name}:////folder/file.db"
        )
    if name in {"", ":memory:"}:
        return ""
    if not name.startswith("file:"):
        return name
    rest = name.removeprefix("file:")
    if any(character in rest for character in "?#%"):
        raise ValueError("the path of the database has a ?, # or % behind file:; write the path alone")
    if rest.startswith("//"):
        authority, _, path = rest.removeprefix("//").partition("/")
        if authority not in {"", "localhost"}:
            raise ValueError("file:// is followed by a host; write the path alone")
        rest = f"/{path}"
    return "" if rest == ":memory:" else rest
