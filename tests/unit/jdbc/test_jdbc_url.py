from __future__ import annotations

import pytest

from connectors.jdbc.url import DatabaseUrl, family, translate, without_password


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
                {"sslmode": "require", "options": "-csearch_path=app"},
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
    "url", ["jdbc:h2:mem:x", "jdbc:postgresql://d/s?frobnicate=1&password=s3cret", "jdbc:mysql://u:s3cret@h/d"]
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
    assert without_password(url) == shown


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
