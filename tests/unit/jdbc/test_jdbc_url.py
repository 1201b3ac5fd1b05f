from __future__ import annotations

import sys

import pytest
import sqlalchemy as sa

from connect.api.allowed_paths import EVERYWHERE
from connect.api.errors import ConfigError
from connect.lib.secrets import masked
from connectors.jdbc.connection.engine import engine_of, url_of
from connectors.jdbc.dialects.known import dialect_of, family
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.settings.url import DatabaseUrl, translate


@pytest.mark.parametrize(
    ("jdbc", "expected"),
    [
        ("jdbc:sqlite:/data/a b.db", DatabaseUrl("sqlite", database="/data/a b.db")),
        ("jdbc:sqlite:relative.db", DatabaseUrl("sqlite", database="relative.db")),
        ("jdbc:sqlite:file:///data/x.db", DatabaseUrl("sqlite", database="/data/x.db")),
        ("jdbc:sqlite::memory:", DatabaseUrl("sqlite", database=":memory:")),
        ("jdbc:sqlite:", DatabaseUrl("sqlite", database=":memory:")),
        ("jdbc:sqlite:x.db?busy_timeout=3000", DatabaseUrl("sqlite", database="x.db", query={"timeout": "3.0"})),
        ("jdbc:postgresql://db:5433/shop", DatabaseUrl("postgresql+psycopg", "db", 5433, "shop")),
        ("jdbc:postgresql://[::1]/shop", DatabaseUrl("postgresql+psycopg", "::1", 5432, "shop")),
        (
            "jdbc:postgresql://db/shop?user=u&password=p%40x&ssl=true&currentSchema=app&prepareThreshold=0",
            DatabaseUrl(
                "postgresql+psycopg",
                "db",
                5432,
                "shop",
                "u",
                "p@x",
                {"sslmode": "verify-full", "options": "-csearch_path=app"},
            ),
        ),
        (
            "jdbc:postgresql://a,b:6000/shop",
            DatabaseUrl("postgresql+psycopg", database="shop", query={"host": ("a:5432", "b:6000")}),
        ),
        ("jdbc:mysql://db/shop?serverTimezone=UTC", DatabaseUrl("mysql+pymysql", "db", 3306, "shop")),
        (
            "jdbc:mariadb://db/shop?useSSL=true&serverSslCert=/ca.pem&trustServerCertificate=true",
            DatabaseUrl(
                "mariadb+pymysql",
                "db",
                3306,
                "shop",
                query={"ssl_mode": "verify_identity", "ssl_ca": "/ca.pem", "ssl_trust": "true"},
            ),
        ),
        (
            "jdbc:mysql://db/shop?sslMode=VERIFY_CA",
            DatabaseUrl("mysql+pymysql", "db", 3306, "shop", query={"ssl_mode": "verify_ca"}),
        ),
        (
            "jdbc:mariadb://db:3307/shop?connectTimeout=5000",
            DatabaseUrl("mariadb+pymysql", "db", 3307, "shop", query={"connect_timeout": "5"}),
        ),
    ],
)
def test_a_jdbc_url_becomes_the_parts_of_a_sqlalchemy_url(jdbc, expected):
    assert translate(jdbc) == expected


def test_a_parameter_may_have_its_python_name():
    assert translate("jdbc:sqlite:x.db", {"timeout": "0.05"}).query == {"timeout": "0.05"}


def test_driver_properties_win_over_the_url():
    assert translate("jdbc:postgresql://db/s?sslmode=disable", {"sslmode": "require"}).query == {"sslmode": "require"}


@pytest.mark.parametrize(
    "url", ["jdbc:h2:mem:x", "jdbc:postgresql://d/s?frobnicate=1&password=s3cret", "jdbc:postgresql://u:s3cret@h/d"]
)
def test_what_has_no_counterpart_is_refused_without_repeating_secrets(url):
    with pytest.raises(ValueError) as error:
        translate(url)
    assert "s3cret" not in str(error.value)


def test_an_unknown_parameter_is_named():
    with pytest.raises(ValueError, match="frobnicate"):
        translate("jdbc:postgresql://d/s?frobnicate=1")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://u:s3cret@h/d", "postgresql://u:[hidden]@h/d"),
        ("jdbc:postgresql://h/d?user=u&password=s3cret&x=1", "jdbc:postgresql://h/d?user=u&password=[hidden]&x=1"),
        ("jdbc:sqlserver://h;user=u;password=s3cret;x=1", "jdbc:sqlserver://h;user=u;password=[hidden];x=1"),
        ("jdbc:sqlite:/data/x.db", "jdbc:sqlite:/data/x.db"),
    ],
)
def test_passwords_in_urls_are_hidden(url, shown):
    assert masked(url) == shown


def test_the_family_is_the_databases_name():
    assert [family(u) for u in ("jdbc:sqlite:x", "postgresql+psycopg://h/d", "nonsense")] == [
        "sqlite",
        "postgresql",
        "",
    ]


def test_the_repr_of_a_url_has_no_password():
    assert "s3cret" not in repr(translate("jdbc:postgresql://h/d?password=s3cret"))


def test_a_read_replica_is_asked_for_as_with_the_java_driver():
    url = "jdbc:postgresql://one,two:5433/shop?targetServerType=preferSecondary"
    assert translate(url).query == {"target_session_attrs": "prefer-standby", "host": ("one:5432", "two:5433")}
    with pytest.raises(ValueError, match="targetServerType of postgresql must be one of any, primary"):
        translate("jdbc:postgresql://h/d?targetServerType=nearest")


@pytest.mark.parametrize(
    ("url", "host", "port", "others"),
    [
        ("jdbc:mysql://u:p%40x@db:3307/shop", "db", 3307, None),
        ("jdbc:mysql://[2001:db8::1]:3307/shop", "2001:db8::1", 3307, None),
        ("jdbc:mysql:///shop", "localhost", 3306, None),
        ("jdbc:mysql://a,b:3307/shop?failOverReadOnly=false&secondsBeforeRetryMaster=50", "a", 3306, "b 3307"),
        ("jdbc:mysql:replication://a,b,c/shop", "a", 3306, "b 3306 c 3306"),
        ("jdbc:mysql:loadbalance://a,b/shop?loadBalanceStrategy=random", "a", 3306, "b 3306"),
        ("jdbc:mysql://address=(host=a)(port=3307),address=(host=b)/shop", "a", 3307, "b 3306"),
        ("jdbc:mysql://(host=a,port=3307),(host=b)/shop", "a", 3307, "b 3306"),
        ("jdbc:mysql://[(host=a,port=3307),(host=::1)]/shop", "a", 3307, "::1 3306"),
        ("jdbc:mariadb:sequential://a:3307,b/shop", "a", 3307, "b 3306"),
        ("jdbc:mariadb:aurora://cluster.example/shop", "cluster.example", 3306, None),
        # The servers that take writes come first, wherever they stand.
        ("jdbc:mariadb://address=(type=replica)(host=a),address=(type=primary)(host=b)/shop", "b", 3306, "a 3306"),
    ],
)
def test_the_servers_of_mysql_and_mariadb_may_have_any_form_of_their_drivers(url, host, port, others):
    found = translate(url)
    assert (found.host, found.port, found.database) == (host, port, "shop")
    assert found.query.get("other_servers") == others
    assert (found.username, found.password) == (("u", "p@x") if "@" in url else (None, None))


@pytest.mark.parametrize(
    ("url", "host", "database"),
    [
        ("jdbc:postgresql:shop", "localhost", "shop"),
        ("jdbc:postgresql:/", "localhost", None),
        ("jdbc:postgresql://db/", "db", None),
        ("jdbc:postgresql://db/my%20shop", "db", "my shop"),
    ],
)
def test_a_postgresql_url_may_leave_out_what_it_leaves_out_in_java(url, host, database):
    found = translate(url)
    assert (found.host, found.port, found.database) == (host, 5432, database)


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ("ssl=true", {"sslmode": "verify-full"}),
        ("ssl=true&sslmode=require", {"sslmode": "require"}),
        ("ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory", {"sslmode": "require"}),
        ("options=-c%20a=1&currentSchema=app", {"options": "-c a=1 -csearch_path=app"}),
        ("gssEncMode=disable&channelBinding=require", {"gssencmode": "disable", "channel_binding": "require"}),
        ("loadBalanceHosts=true&hostRecheckSeconds=3&preferQueryMode=simple&cancelSignalTimeout=3", {}),
    ],
)
def test_parameters_of_postgresqls_driver_keep_their_meaning(parameters, wanted):
    assert translate(f"jdbc:postgresql://db/shop?{parameters}").query == wanted


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ("useSSL=true&requireSSL=true&verifyServerCertificate=false", {"ssl_mode": "required"}),
        ("useSSL=true&requireSSL=false", {"ssl_mode": "preferred"}),
        ("useSSL=true&verifyServerCertificate=true", {"ssl_mode": "verify_ca"}),
        ("useSSL=true&requireSSL=true&sslMode=DISABLED", {"ssl_mode": "disabled"}),
        ("sessionVariables=sql_mode='ANSI',wait_timeout=9", {"init_command": "SET sql_mode='ANSI',wait_timeout=9"}),
        ("serverTimezone=UTC&zeroDateTimeBehavior=convertToNull&useLocalSessionState=true&useCompression=true", {}),
    ],
)
def test_parameters_of_mysqls_driver_keep_their_meaning(parameters, wanted):
    assert translate(f"jdbc:mysql://db/shop?{parameters}").query == wanted


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("jdbc:postgresql://db/shop?sslfactory=com.example.Mine", "sslmode and sslrootcert"),
        ("jdbc:postgresql://db/shop?socketFactory=com.google.cloud.sql.postgres.SocketFactory", "socketFactory"),
        ("jdbc:postgresql://db:port/shop", "host:port"),
        ("jdbc:mysql+srv://db/shop", "replication"),
        ("jdbc:mysql://address=(port=3306)/shop", "must have a host"),
        ("jdbc:mysql://db/shop?maxRows=5", "maxRows"),
        ("jdbc:sqlite::resource:org/x.db", "Java archive"),
        ("jdbc:exotic://a.example/?db=shop&password=s3cret", "any SQLAlchemy URL"),
        ("jdbc:bigquery://https://a.example:443;ProjectId=p;OAuthAccessToken=s3cret", "sqlalchemy-bigquery"),
        ("jdbc:awsathena://AwsRegion=eu-west-1;Password=s3cret", r"awsathena\+rest"),
        ("jdbc:sqlserver://db;integratedSecurity=true;password=s3cret", "integratedSecurity"),
        ("jdbc:duckdb:", "name a file"),
        ("jdbc:duckdb:md:shop", "files of this machine"),
    ],
)
def test_what_is_refused_says_what_to_write_instead(url, told):
    with pytest.raises(ValueError, match=told) as error:
        translate(url)
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize(
    ("driver", "package", "fix"),
    [
        ("mariadb+pymysql", "pymysql", r"Run: pip install 'connect-for-kafka\[jdbc-mariadb\]'"),
        ("postgresql+psycopg", "psycopg", r"Run: pip install 'connect-for-kafka\[jdbc-postgres\]'"),
        ("mysql+mysqldb", "MySQLdb", "Install the driver's package"),
    ],
)
def test_a_driver_that_is_not_installed_is_told_with_its_extra(monkeypatch, driver, package, fix):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ConfigError, match=fix):
        engine_of(dialect_of(f"{driver}://u@h/d"), sa.make_url(f"{driver}://u@h/d"), (), {})


@pytest.mark.parametrize("url", ["jdbc:sqlite:/data/shop.db", "sqlite:////data/shop.db"])
def test_a_file_is_asked_for_no_login_as_in_java(url):
    login = {"connection.user": "ada", "connection.password": "s3cret"}
    config = JdbcSourceConfig.parse(
        {"connection.url": url, "topic.prefix": "t", "mode": "bulk", "table.whitelist": "t", **login, **EVERYWHERE}
    )
    found = url_of(config)
    assert (found.username, found.password) == (None, None)
    engine_of(dialect_of(config.connection_url), found, (), {})
