"""Checks what must hold between the settings of the connection. Pure; needs no database."""

from __future__ import annotations

from collections.abc import Iterator

from connect.api.errors import ConfigProblem
from connectors.jdbc.dialects.known import dialect_of, dialects, family
from connectors.jdbc.settings.connection_keys import AddressKeys, ConnectionKeys
from connectors.jdbc.settings.drivers import driver_problems
from connectors.jdbc.settings.url import parse


def connection_problems(config: ConnectionKeys) -> Iterator[ConfigProblem]:
    """Yield each problem of the connection's settings; no text holds a value of the URL."""
    if config.credentials_provider.rpartition(".")[2] != "DefaultJdbcCredentialsProvider":
        yield ConfigProblem(
            "jdbc.credentials.provider.class",
            "Java credentials providers cannot run here: use connection.user and connection.password, with a config "
            "provider where they are secret.",
        )
    yield from address_problems(config)


def address_problems(config: AddressKeys) -> Iterator[ConfigProblem]:
    """Yield each problem of the database's address; no text holds a value of the URL."""
    if not config.connection_url:
        yield ConfigProblem("connection.url", 'Missing required configuration "connection.url".')
        return
    try:
        url = parse(config.connection_url, config.driver_properties)
    except ValueError as error:
        yield ConfigProblem("connection.url", f"connection.url: {str(error).rstrip('.')}.")
        return
    for text in driver_problems(url, config.sqlalchemy_drivers, bounds_hosts=config.bounds_hosts):
        yield ConfigProblem("connection.url", f"connection.url: {text}.")


def connection_notes(config: AddressKeys) -> Iterator[ConfigProblem]:
    """Yield where a URL means more or less here than in Java; no text holds a value of the URL."""
    try:
        url = parse(config.connection_url, config.driver_properties)
    except ValueError:
        return  # told by connection_problems
    for text in dialect_of(config.connection_url).connecting.notes(url):
        yield ConfigProblem("connection.url", text)


def dialect_problems(name: str, url: str) -> Iterator[ConfigProblem]:
    """Yield a problem when dialect.name does not fit the URL."""
    wanted = name.removesuffix("DatabaseDialect")
    is_known = wanted and wanted in {dialect.java_name for dialect in dialects()}
    if url and is_known and dialect_of(url).java_name != wanted:
        yield ConfigProblem("dialect.name", f"dialect.name={name} does not fit a URL of {family(url)}.")
