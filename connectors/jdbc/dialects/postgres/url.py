"""Translates JDBC parameters to those of the Python drivers, and names those that mean nothing here. Pure.

Those that mean nothing are about the Java driver's own work (statement caches, batches of INSERT, logs, metadata,
how it makes Java's types), which is done otherwise here. What would change who is connected to whom, or which rows
come, is translated or refused. Source: pgJDBC 42.7, MySQL Connector/J 9, MariaDB Connector/J 3, sqlite-jdbc 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

Rename = tuple[str, Callable[[str], str]]
_POSTGRES_DROPPED: Final = (
    "defaultRowFetchSize prepareThreshold reWriteBatchedInserts stringtype binaryTransfer binaryTransferEnable "
    "binaryTransferDisable loggerLevel loggerFile preparedStatementCacheQueries preparedStatementCacheSizeMiB "
    "assumeMinServerVersion socketTimeout readOnly readOnlyMode cleanupSavepoints autosave adaptiveFetch "
    "adaptiveFetchMinimum adaptiveFetchMaximum logUnclosedConnections logServerErrorDetail cancelSignalTimeout "
    "hostRecheckSeconds loadBalanceHosts preferQueryMode escapeSyntaxCallMode allowEncodingChanges unknownLength "
    "maxResultBuffer maxSendBufferSize databaseMetadataCacheFields databaseMetadataCacheFieldsMiB sslResponseTimeout "
    "quoteReturningIdentifiers hideUnprivilegedObjects sendBufferSize receiveBufferSize protocolVersion tcpNoDelay "
    "disableColumnSanitiser convertBooleanToNumeric compatible gssResponseTimeout xmlFactoryFactory"
)
_MYSQL_DROPPED: Final = (
    "zeroDateTimeBehavior serverTimezone connectionTimeZone useCursorFetch defaultFetchSize useUnicode "
    "rewriteBatchedStatements autoReconnect tinyInt1isBit useLegacyDatetimeCode allowPublicKeyRetrieval "
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
    "useBatchMultiSend poolSize"
)
_SQLITE_DROPPED: Final = (
    "date_class date_precision date_string_format journal_mode synchronous cache_size foreign_keys open_mode cache "
    "transaction_mode locking_mode temp_store shared_cache mode encoding case_sensitive_like page_size "
    "journal_size_limit max_page_count mmap_size recursive_triggers secure_delete jdbc.explicit_readonly"
)
POSTGRES_DROPPED: Final = frozenset(_POSTGRES_DROPPED.split())
MYSQL_DROPPED: Final = frozenset(_MYSQL_DROPPED.split())
SQLITE_DROPPED: Final = frozenset(_SQLITE_DROPPED.split())


def _seconds_of_ms(value: str) -> str:
    try:
        return str(max(1, int(value) // 1000))
    except ValueError:
        raise ValueError("must be a whole number of milliseconds") from None


def _exact_seconds_of_ms(value: str) -> str:
    try:
        return str(int(value) / 1000)
    except ValueError:
        raise ValueError("must be a whole number of milliseconds") from None


def _ssl_mode(value: str) -> str:
    return "verify-full" if value.lower() in {"", "true"} else "disable"


_SSL_FACTORIES = {
    "org.postgresql.ssl.NonValidatingFactory": "require",
    "org.postgresql.ssl.LibPQFactory": "verify-full",
    "org.postgresql.ssl.jdbc4.LibPQFactory": "verify-full",
}


def _factory(value: str) -> str:
    if value not in _SSL_FACTORIES:
        raise ValueError("names a class of Java: say sslmode and sslrootcert instead")
    return _SSL_FACTORIES[value]


def _search_path(value: str) -> str:
    return "-csearch_path=" + value.replace("\\", "\\\\").replace(" ", "\\ ")


_SESSION_TARGETS = {
    "any": "any", "primary": "primary", "master": "primary", "secondary": "standby", "slave": "standby",
    "preferSecondary": "prefer-standby", "preferSlave": "prefer-standby", "preferPrimary": "any",
}  # fmt: skip


def _session_target(value: str) -> str:
    if value not in _SESSION_TARGETS:
        raise ValueError(f"must be one of {', '.join(_SESSION_TARGETS)}")
    return _SESSION_TARGETS[value]


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
    # "" leaves it as it is.
    return "verify_ca" if value.lower() == "true" else ""


def _same(value: str) -> str:
    return value


POSTGRES: Final[Mapping[str, Rename]] = {
    "ssl": ("sslmode", _ssl_mode), "sslfactory": ("sslmode", _factory), "sslmode": ("sslmode", _same),
    "sslcert": ("sslcert", _same), "sslkey": ("sslkey", _same), "sslpassword": ("sslpassword", _same),
    "sslrootcert": ("sslrootcert", _same), "ApplicationName": ("application_name", _same),
    "connectTimeout": ("connect_timeout", _same), "loginTimeout": ("connect_timeout", _same),
    "tcpKeepAlive": ("keepalives", lambda v: "1" if v.lower() == "true" else "0"),
    "options": ("options", _same), "currentSchema": ("options", _search_path),
    "targetServerType": ("target_session_attrs", _session_target), "gssEncMode": ("gssencmode", _same),
    "channelBinding": ("channel_binding", _same), "kerberosServerName": ("krbsrvname", _same),
}  # fmt: skip
_OF_BOTH: Final[Mapping[str, Rename]] = {
    "connectTimeout": ("connect_timeout", _seconds_of_ms), "socketTimeout": ("read_timeout", _seconds_of_ms),
    "serverSslCert": ("ssl_ca", _same), "keyStore": ("ssl_cert", _same), "unix_socket": ("unix_socket", _same),
    "localSocket": ("unix_socket", _same), "useSSL": ("ssl_mode", _encrypted),
    "ssl_key": ("ssl_key", _same), "sessionVariables": ("init_command", lambda v: f"SET {v}"),
    "initSql": ("init_command", _same),
}  # fmt: skip
MYSQL: Final[Mapping[str, Rename]] = {
    **_OF_BOTH, "requireSSL": ("ssl_mode", _encrypted), "verifyServerCertificate": ("ssl_mode", _by_authority),
    "sslMode": ("ssl_mode", _mysql_ssl_mode),
}  # fmt: skip
# MariaDB's driver verifies where MySQL's only encrypts.
MARIADB: Final[Mapping[str, Rename]] = {
    **_OF_BOTH, "useSSL": ("ssl_mode", _verified), "useSsl": ("ssl_mode", _verified),
    "sslMode": ("ssl_mode", _mysql_ssl_mode), "trustServerCertificate": ("ssl_trust", _same),
}  # fmt: skip
SQLITE: Final[Mapping[str, Rename]] = {"busy_timeout": ("timeout", _exact_seconds_of_ms)}
JOINED: Final[Mapping[str, str]] = {"options": " ", "init_command": "; "}
"""Parameters of the Python drivers that several of Java's are parts of, and what goes between the parts."""
