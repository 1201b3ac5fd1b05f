# ruff: noqa: SIM905 - many names read better as text
"""Makes PyMySQL's URLs of MariaDB's and MySQL's JDBC URLs, and knows which of its parameters URLs may name. Pure.

Ignored parameters are about the Java driver's own work (statement caches, batches of INSERT, logs, metadata, how it
makes Java's types), which is done otherwise here. A parameter that changes who is connected to whom, or which rows
come, is translated or refused. Source: MySQL Connector/J 9, MariaDB Connector/J 3, PyMySQL 1.2 (Connection).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar, Final
from urllib.parse import unquote, urlsplit

from connectors.jdbc.dialects.generic.url import TRUTH, WHOLE, DriverParameters, Query, Rename, UrlForm, ValueForm, same
from connectors.jdbc.settings.url import OTHER_SERVERS, DatabaseUrl, Login, values_of
from connectors.jdbc.settings.url_hosts import ONE_BY_ONE, addresses

PUBLIC_KEY_RETRIEVAL: Final = "public_key_retrieval"
"""This parameter allows the password to be sent without TLS, encrypted by a key that the server sends."""
_DROPPED: Final = (
    "zeroDateTimeBehavior serverTimezone connectionTimeZone useCursorFetch defaultFetchSize useUnicode "
    "rewriteBatchedStatements autoReconnect tinyInt1isBit useLegacyDatetimeCode "
    "yearIsDateType useServerPrepStmts cachePrepStmts nullCatalogMeansCurrent nullDatabaseMeansCurrent tcpKeepAlive "
    "tcpNoDelay characterEncoding characterSetResults sendFractionalSeconds timezone permitMysqlScheme "
    "useMysqlMetadata prepStmtCacheSize prepStmtCacheSqlLimit maxReconnects connectionCollation "
    "autoReconnectForPools useLocalSessionState useLocalTransactionState cacheResultSetMetadata "
    "cacheServerConfiguration elideSetAutoCommits maintainTimeStats noDatetimeStringSync useTimezone "
    "useJDBCCompliantTimezoneShift preserveInstants forceConnectionTimeZoneToSession useGmtMillisForDatetimes "
    "allowMultiQueries dontTrackOpenResources useInformationSchema useCompression useColumnNamesInFindColumn "
    "allowLoadLocalInfile allowUrlInLocalInfile allowLocalInfile autoDeserialize useAffectedRows interactiveClient "
    "jdbcCompliantTruncation noAccessToProcedureBodies useOldAliasMetadataBehavior transformedBitIsBoolean "
    "useBulkStmts autocommit returnMultiValuesGeneratedIds createDatabaseIfNotExist assureReadOnly "
    "validConnectionTimeout retriesAllDown failOverReadOnly secondsBeforeRetryMaster secondsBeforeRetrySource "
    "queriesBeforeRetryMaster queriesBeforeRetrySource initialTimeout loadBalanceStrategy "
    "loadBalanceBlacklistTimeout loadBalanceBlocklistTimeout loadBalanceAutoCommitStatementThreshold "
    "roundRobinLoadBalance allowMasterDownConnections allowSourceDownConnections allowReplicaDownConnections "
    "readFromMasterWhenNoSlaves readFromSourceWhenNoReplicas enabledTLSProtocols tlsVersions "
    "enabledSslProtocolSuites enabledSSLCipherSuites tlsCiphersuites useUsageAdvisor profileSQL logSlowQueries "
    "slowQueryThresholdMillis gatherPerfMetrics logger useReadAheadInput netTimeoutForStreamingResults "
    "generateSimpleParameterMetadata emptyStringsConvertToZero includeInnodbStatusInDeadlockExceptions "
    "dumpQueriesOnException paranoid clobberStreamingResults useStreamLengthsInPrepStmts dumpQueriesOnError "
    "allowNanAndInf callableStmtCacheSize useSSPSCompatibleTimezoneShift defaultAuthenticationPlugin "
    "geometryDefaultType blankTableNameMeta tinyInt1isBitMeta socketFactoryTimeout enableQueryTimeouts "
    "useBatchMultiSend poolSize trustCertificateKeyStoreType clientCertificateKeyStoreType trustStoreType keyStoreType "
    "fallbackToSystemTrustStore fallbackToSystemKeyStore"
)
_PYMYSQL: Final = DriverParameters(
    frozenset("""
        autocommit bind_address charset collation compress connect_timeout database db host init_command
        max_allowed_packet passwd password port program_name public_key_retrieval read_timeout sql_mode
        ssl_ca_password ssl_cert_password
        ssl_check_hostname ssl_disabled ssl_key_password ssl_mode ssl_trust ssl_verify_cert ssl_verify_identity
        unix_socket use_unicode user write_timeout
    """.split()),
    frozenset({"ssl_ca", "ssl_cert", "ssl_key"}),
)  # fmt: skip


def _seconds_of_ms(value: str) -> str:
    try:
        return str(max(1, int(value) // 1000))
    except ValueError:
        raise ValueError("must be a whole number of milliseconds") from None


_MYSQL_SSL_MODES = {
    "disable": "disabled", "disabled": "disabled", "preferred": "preferred", "trust": "required",
    "required": "required", "verify-ca": "verify_ca", "verify_ca": "verify_ca", "verify-full": "verify_identity",
    "verify_identity": "verify_identity",
}  # fmt: skip


def _mysql_ssl_mode(value: str) -> str:
    if value.lower() not in _MYSQL_SSL_MODES:
        raise ValueError(f"must be one of {', '.join(_MYSQL_SSL_MODES)}")
    return _MYSQL_SSL_MODES[value.lower()]


def _encrypted(value: str) -> str:
    return "required" if value.lower() == "true" else "preferred"


def _verified(value: str) -> str:
    return "verify_identity" if value.lower() == "true" else "preferred"


def _by_authority(value: str) -> str:
    # An empty value leaves the parameter as it is.
    return "verify_ca" if value.lower() == "true" else ""


def _file_of_url(value: str) -> str:
    """Return the path of a file's URL, as Java's drivers name their key stores; a path stays one."""
    parts = urlsplit(value)
    if parts.scheme not in {"", "file"} or parts.netloc:
        raise ValueError("must be the path of a file, or its URL, as file:/etc/store.jks")
    return unquote(parts.path) if parts.scheme else value


_OF_BOTH: Final[Mapping[str, Rename]] = {
    "connectTimeout": ("connect_timeout", _seconds_of_ms), "socketTimeout": ("read_timeout", _seconds_of_ms),
    "serverSslCert": ("ssl_ca", same), "keyStore": ("ssl_cert", _file_of_url), "unix_socket": ("unix_socket", same),
    "localSocket": ("unix_socket", same), "useSSL": ("ssl_mode", _encrypted),
    "ssl_key": ("ssl_key", same), "sessionVariables": ("init_command", lambda v: f"SET {v}"),
    "trustCertificateKeyStoreUrl": ("ssl_ca", _file_of_url),
    "trustCertificateKeyStorePassword": ("ssl_ca_password", same),
    "clientCertificateKeyStoreUrl": ("ssl_cert", _file_of_url),
    "clientCertificateKeyStorePassword": ("ssl_cert_password", same), "keyStorePassword": ("ssl_cert_password", same),
    "trustStore": ("ssl_ca", _file_of_url), "trustStorePassword": ("ssl_ca_password", same),
    "initSql": ("init_command", same), "allowPublicKeyRetrieval": (PUBLIC_KEY_RETRIEVAL, same),
}  # fmt: skip
_MYSQL: Final[Mapping[str, Rename]] = {
    **_OF_BOTH, "requireSSL": ("ssl_mode", _encrypted), "verifyServerCertificate": ("ssl_mode", _by_authority),
    "sslMode": ("ssl_mode", _mysql_ssl_mode),
}  # fmt: skip
# With useSSL MariaDB's driver also verifies the server, and MySQL's driver only encrypts.
_MARIADB: Final[Mapping[str, Rename]] = {
    **_OF_BOTH, "useSSL": ("ssl_mode", _verified), "useSsl": ("ssl_mode", _verified),
    "sslMode": ("ssl_mode", _mysql_ssl_mode), "trustServerCertificate": ("ssl_trust", same),
}  # fmt: skip


class ServersUrl(UrlForm):
    """Reads the JDBC URLs of both MariaDB and MySQL."""

    dropped = frozenset(_DROPPED.split())
    joined: ClassVar[Mapping[str, str]] = {"init_command": "; "}
    forms: ClassVar[Mapping[str, ValueForm]] = {
        "connect_timeout": WHOLE, "read_timeout": WHOLE, "write_timeout": WHOLE, "max_allowed_packet": WHOLE,
        "compress": TRUTH,
    }  # fmt: skip

    def read(self, address: str, login: Login, query: Query) -> DatabaseUrl:
        """Return the parts of a JDBC URL. Servers after the first one are in the parameter OTHER_SERVERS."""
        way, colon, servers = address.partition("://")
        if colon:
            if way not in ONE_BY_ONE:
                known = ", ".join(sorted(ONE_BY_ONE))
                raise ValueError(f"jdbc:{self.name}:{way}: is not known here. Known are {known}.")
            address = servers
        authority, _, database = address.removeprefix("//").partition("/")
        authority, login = self._signed_in(authority, login)
        where = addresses(authority, 3306, f"jdbc:{self.name}://db.example:3306/name")
        if len(where) > 1:
            query = {**query, OTHER_SERVERS: " ".join(f"{host} {port}" for host, port in where[1:])}
        host, port = where[0]
        return DatabaseUrl(self.driver, host, port, unquote(database) or None, *login, query)

    def sockets(self, url: DatabaseUrl) -> Iterator[tuple[str, str]]:
        """Yield the parameter unix_socket with the path that it names."""
        yield from (("unix_socket", path) for path in values_of(url, "unix_socket") if path)

    def _signed_in(self, authority: str, login: Login) -> tuple[str, Login]:
        """Return the servers, and the user's name and password."""
        return authority, login


class MariaDbUrl(ServersUrl):
    """Reads URLs of MariaDB."""

    driver = "mariadb+pymysql"
    renamed = _MARIADB
    drivers: ClassVar[Mapping[str, DriverParameters]] = {"mariadb+pymysql": _PYMYSQL}


class MySqlUrl(ServersUrl):
    """Reads URLs of MySQL."""

    driver = "mysql+pymysql"
    renamed = _MYSQL
    drivers: ClassVar[Mapping[str, DriverParameters]] = {"mysql+pymysql": _PYMYSQL}

    def _signed_in(self, authority: str, login: Login) -> tuple[str, Login]:
        """Return the servers, and the user's name and password, which MySQL's URLs may have before the servers."""
        signed, at, hosts = authority.rpartition("@")
        if not at:
            return authority, login
        name, colon, secret = signed.partition(":")
        return hosts, Login(unquote(name) or login.user, unquote(secret) if colon else login.password)
