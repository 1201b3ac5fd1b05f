from __future__ import annotations

from pathlib import Path

import config_table
import pytest

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError
from connect.api.plugin import PluginKind
from connectors.jdbc import plugin
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.sink.settings.config import JdbcSinkConfig

GOOD = {"connection.url": "jdbc:sqlite:/x.db", "mode": "bulk", "table.whitelist": "a"}


def broken_keys(**changes: str | None) -> set[str]:
    given = {k: v for k, v in (GOOD | {k.replace("__", "."): v for k, v in changes.items()}).items() if v is not None}
    with pytest.raises(ConfigError) as error:
        JdbcSourceConfig.parse({**given, **EVERYWHERE})
    return {problem.key for problem in error.value.problems}


def test_the_defaults_are_confluents():
    config = JdbcSourceConfig.parse({**GOOD, **EVERYWHERE})
    assert (config.poll_interval_ms, config.batch_max_rows, config.db_timezone) == (5000, 1000, "UTC")
    assert (config.timestamp_granularity, config.validate_non_null, config.numeric) == ("connect_logical", True, "none")


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"mode": None}, {"mode"}),
        ({"mode": "sometimes"}, {"mode"}),
        ({"connection__url": None}, {"connection.url"}),
        ({"connection__url": "jdbc:h2:mem:x"}, {"connection.url"}),
        ({"connection__url": "nonsense"}, {"connection.url"}),
        ({"table__whitelist": None}, {"table.whitelist", "table.include.list", "query"}),
        ({"table__blacklist": "b"}, {"table.whitelist", "table.blacklist"}),
        ({"table__include__list": "b"}, {"table.include.list"}),
        ({"table__whitelist": None, "table__include__list": "a("}, {"table.include.list"}),
        ({"table__whitelist": None, "table__exclude__list": "a"}, {"table.exclude.list"}),
        ({"query": "SELECT 1"}, {"table.whitelist"}),
        ({"table__whitelist": None, "query": "WITH x AS (SELECT 1) SELECT * FROM x"}, {"query"}),
        ({"table__whitelist": None, "query": "SELECT 1", "query__masked": "SELECT 1"}, {"query.masked"}),
        ({"table__whitelist": None, "query": "SELECT 1", "mode": "incrementing"}, {"incrementing.column.name"}),
        ({"mode": "timestamp"}, {"timestamp.column.name"}),
        ({"timestamp__columns__mapping": "x"}, {"timestamp.columns.mapping"}),
        ({"db__timezone": "Mars/Olympus"}, {"db.timezone"}),
        ({"topic__prefix": "with space"}, {"topic.prefix"}),
        ({"numeric__mapping": "best"}, {"numeric.mapping"}),
        ({"timestamp__granularity": "seconds"}, {"timestamp.granularity"}),
        ({"batch__max__rows": "0"}, {"batch.max.rows"}),
        ({"poll__interval__ms": "-1"}, {"poll.interval.ms"}),
        ({"table__types": "TABLE,CHAIR"}, {"table.types"}),
        ({"dialect__name": "PostgreSqlDatabaseDialect"}, {"dialect.name"}),
        ({"jdbc__credentials__provider__class": "com.example.Vault"}, {"jdbc.credentials.provider.class"}),
        ({"mode": "x", "batch__max__rows": "y", "db__timezone": "z"}, {"mode", "batch.max.rows", "db.timezone"}),
    ],
)
def test_each_broken_key_is_named(changes, keys):
    assert keys <= broken_keys(**changes)


@pytest.mark.parametrize(
    ("changes", "keys"),
    [
        ({"table__include__list": "b"}, {"table.whitelist", "table.include.list"}),
        ({"query": "SELECT 1"}, {"table.whitelist", "query"}),
        (
            {"time__precision__mode": "adaptive", "timestamp__granularity": "micros_long"},
            {"time.precision.mode", "timestamp.granularity"},
        ),
    ],
)
def test_keys_that_exclude_each_other_are_all_named(changes, keys):
    assert broken_keys(**changes) == keys


def test_mapping_keys_make_a_table_filter_unnecessary():
    columns = {"incrementing.column.mapping": ".*:id", "mode": "incrementing"}
    parsed = JdbcSourceConfig.parse({**EVERYWHERE, "connection.url": "jdbc:sqlite:/x.db", **columns})
    assert parsed.incrementing_columns == (".*:id",)


def test_aivens_names_mean_the_same():
    config = JdbcSourceConfig.parse(
        {**EVERYWHERE, **GOOD, "sql.quote.identifiers": "false", "timestamp.initial.ms": "-5"}
    )
    assert not config.quotes_identifiers
    assert config.begin_ms == -5


def test_numeric_mapping_wins_over_its_deprecated_form():
    assert (
        JdbcSourceConfig.parse({**EVERYWHERE, **GOOD, "numeric.precision.mapping": "true"}).numeric == "precision_only"
    )
    both = {"numeric.precision.mapping": "true", "numeric.mapping": "BEST_FIT"}
    assert JdbcSourceConfig.parse({**EVERYWHERE, **GOOD, **both}).numeric == "best_fit"


def test_no_secret_is_shown_anywhere():
    secret = "canary-4711"
    given = {
        **GOOD,
        "connection.url": f"jdbc:postgresql://h/d?password={secret}",
        "connection.password": secret,
        "query.masked": f"SELECT '{secret}'",
        "mode": "wrong",
    }
    shown = [repr(value) for value in JdbcSourceConfig.validate_keys(given)]
    with pytest.raises(ConfigError) as error:
        JdbcSourceConfig.parse({**given, **EVERYWHERE})
    parsed = JdbcSourceConfig.parse({**EVERYWHERE, **given, "mode": "bulk", "query.masked": None})
    assert secret not in "".join(shown) + str(error.value) + repr(error.value.problems) + repr(parsed) + str(parsed)


def test_a_password_from_a_mounted_file_loses_the_end_of_its_line():
    for password in ({"connection.password": "se cret\n"}, {"connection.password": " se cret\r\n"}):
        parsed = JdbcSourceConfig.parse({**EVERYWHERE, **GOOD, **password})
        assert parsed.connection_password is not None
        assert parsed.connection_password.get_secret_value() == "se cret"


def test_the_readme_has_the_settings_as_declared():
    readme = (Path(plugin.__file__).parent / "README.md").read_text(encoding="utf-8")
    assert config_table.section_of(readme) == config_table.config_table(JdbcSourceConfig)
    of_sink = (Path(plugin.__file__).parent / "sink" / "README.md").read_text(encoding="utf-8")
    assert config_table.section_of(of_sink) == config_table.config_table(JdbcSinkConfig)


def test_the_plugin_stands_in_for_the_java_classes():
    declared = {
        kind: {name for one in plugin.connect_plugins() if one.kind is kind for name in (one.name, *one.aliases)}
        for kind in (PluginKind.SOURCE, PluginKind.SINK)
    }
    for kind, name in ((PluginKind.SOURCE, "JdbcSourceConnector"), (PluginKind.SINK, "JdbcSinkConnector")):
        assert declared[kind] >= {f"io.confluent.connect.jdbc.{name}", f"io.aiven.connect.jdbc.{name}"}
    assert "io.debezium.connector.postgresql.PostgresConnector" in declared[PluginKind.SOURCE]


def test_declaring_imports_no_driver(tmp_path):
    import subprocess
    import sys

    code = "import sys, connectors.jdbc.plugin; print([m for m in ('sqlalchemy', 'pyarrow') if m in sys.modules])"
    root = Path(plugin.__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
    assert done.stdout.strip() == "[]"
