"""Checks what is secret in a text, what is shown in its place, and how a mask finds its way back."""

from __future__ import annotations

import base64
import sys
import time
from collections.abc import Callable
from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator

from connect.api.config import Config, key
from connect.api.errors import ConfigError
from connect.api.url import Url, Urls, UrlText
from connect.lib.secret_parts import secret_spans
from connect.lib.secrets import (
    KnownSecrets,
    hidden_in,
    is_private_text,
    is_suspect,
    masked,
    masked_setting,
    restored,
    secrets_in,
)

S = "s3cr3t-c4n4ry"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:{}@h/d", "jdbc:postgresql://h/d?user=u&password={}&x=1", "jdbc:sqlserver://h;user=u;password={};x=1",
        "jdbc:postgresql://h/d?sslpassword={}", "jdbc:oracle:thin:scott/{}@//h:1521/x",
        "oracle+oracledb://scott/{}@h/x", "https://{}@h/x", "redis://:{}@h",
        "jdbc:mysql://address=(host=a)(user=u)(password={})/d", "jdbc:mysql://(host=h,password={},port=1)/d",
        "jdbc:mysql:replication://u:{}@a:1,b:2/d", "http://a/b, http://u:{}@c:81/", "https://h/oauth?client_secret={}",
        "https://h/blob?sv=1&sig={}&se=2", "mongodb://u:{}@h", "see http://u:{}@h/ there", "http://u:x{}/@h/d",
        "mysql+pymysql://u:p@ss/{}?rd@h/d", "jdbc:postgresql://h/d?user=a@b&Password={}", "Server://h;PWD={};a=b",
        "u:{}@h", "//u:{}@h/d", "u:{}@h:5432/db", "a:1,u:x{}/y@h", "url=u:{}@h", "http://x, u:{}@h", "password={}",
        "a=1;password={}", "user=u password='{}' ssl=true", 'org.X required username="u" password="a\\"{}";',
        "a=1,b.secret={},c=2", "a=b\npassword = {}\nc=d", '{{"user": "u", "password": "{}"}}',
        '{{"a": {{"client_secret":"a\\"{}"}}}}',
        '"{{\\"private_key\\": \\"{}\\"}}"', "{{'token': '{}'}}", '{{"credentials": [1, "{}"]}}', '{{"token": {}}}',
        "Authorization: Bearer {}", "a:1,Authorization:Basic {},b:2", "X-Api-Key: {}", "Cookie: a={}; b=1",
        "https://h/p?x=1&access_token={}", "password=a,b c;d {}", "password = (a){}", "pwd={} and more words",
        "password: {}", "a: 1\n  client-secret: {}", "- token: {}\n- b: 1",
        "run --user u --password {} --fast", "Bearer {}", "a,bearer  {}",
    ],
)  # fmt: skip
def test_a_secret_of_a_url_is_masked_and_comes_back(url: str) -> None:
    text = url.format(S)
    assert S in "".join(secrets_in(text))
    shown = masked_setting(text)
    assert S not in shown
    assert "[hidden]" in shown
    assert restored(shown, text) == text
    assert masked_setting(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://host:8083/a?m=a@b", "postgresql://scott@h/d", "oracle://h/svc?m=a@b", "jdbc:sqlite:/data/x.db", "http://${env:U}:${env:P}@h",
        "jdbc:postgresql://h/d?password=${file:/run/s:pw}&x=1", "user@example.com", "SELECT a FROM t",
        "http://a:8081,http://b:8082", "jdbc:mysql://h/d?user=u&useSSL=true", "", "user=u, password=", "topic:12",
        "12:30", "a=b;c=d", "passwords",
        "token:string,auth:int32", "password:renamed", "file:/secrets/token", "mailto@x:1",
        "secret-topic-1", '{"name": "x"}', "the password: none", "token = ${env:T}",
        "--password --fast", "a bearer of news", "--topic orders", "bearer short",
    ],
)  # fmt: skip
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert masked(text) == masked_setting(text) == text


def test_a_mask_is_restored_by_its_name_wherever_it_stands() -> None:
    stored = "jdbc:postgresql://h/d?password=one&sslpassword=two"
    assert restored("jdbc:postgresql://other/d?sslpassword=[hidden]&password=new", stored) == (
        "jdbc:postgresql://other/d?sslpassword=two&password=new"
    )
    assert restored("http://u:[hidden]@h", stored) == "http://u:[hidden]@h"


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_stops_masking_or_restoring(one: str, other: str) -> None:
    for text in (one, f"http://{one}:{other}@{one}?token={other}", f"jdbc:{one};password={other};{one}"):
        assert restored(masked_setting(text), text) == text or "[hidden]" in text


@pytest.mark.parametrize(
    ("text", "secrets", "shown"),
    [
        ("a password of a user", ["a", "or"], "a password of a user"),
        # Strong ones are hidden wherever they stand.
        ("xhunter22y hunter22", ["hunter22"], "x[hidden]y [hidden]"),
        ("\\nhunter-2-2", ["hunter-2-2"], "\\n[hidden]"),
        ("longer-1 longer-1-more", ["longer-1", "longer-1-more"], "[hidden] [hidden]"),
        ("overlap1overlap2xyz", ["overlap1overlap", "overlap2xyz"], "[hidden]"),
        ("a aBcDeFgH b", ["aBcDeFgH"], "a [hidden] b"),
        ("the correct horse battery", ["correct horse battery"], "the [hidden]"),
        ("qwertzuiopasdfgh1, qwertzuiopasdfghj", ["qwertzuiopasdfghj"], "qwertzuiopasdfgh1, [hidden]"),
        ("x=1;a y", ["1;a y"], "x=[hidden]"),
        # Short ones where they stand as a value.
        ("pg13.yaml pg13 io.pg13 pg13/x host/pg13", ["pg13"], "pg13.yaml pg13 io.pg13 pg13/x host/pg13"),
        ("'pg13' x=pg13, y: pg13. z=pg13.1 'pg13x'", ["pg13"], "'[hidden]' x=[hidden], y: [hidden]. z=pg13.1 'pg13x'"),
        ("no login as u:pg13@h", ["pg13"], "no login as u:[hidden]@h"),
        # Plain words and numbers behind a name that sounds secret.
        ("io.debezium, 'debezium', user=debezium", ["debezium"], "io.debezium, 'debezium', user=debezium"),
        ("password=debezium pwd: 'debezium'", ["debezium"], "password=[hidden] pwd: '[hidden]'"),
        (
            '{"password": "debezium"} {\\"token\\": \\"debezium\\"}',
            ["debezium"],
            '{"password": "[hidden]"} {\\"token\\": \\"[hidden]\\"}',
        ),
        ("u:debezium@h", ["debezium"], "u:[hidden]@h"),
        (
            "Invalid value debezium for configuration db.password: x; Invalid value debezium for configuration topic",
            ["debezium"],
            "Invalid value [hidden] for configuration db.password: x; Invalid value debezium for configuration topic",
        ),
        ("12345678 rows, pin 12345678, passwd=12345678", ["12345678"], "12345678 rows, pin 12345678, passwd=[hidden]"),
        ("secret=a", ["a"], "secret=[hidden]"),
    ],
)
def test_texts_lose_secrets_and_no_other_words(text: str, secrets: list[str], shown: str) -> None:
    assert hidden_in(text, secrets) == shown


@pytest.mark.parametrize(
    "name",
    [
        "pwd", "db.pass", "x.auth", "azure.sas", "event.hub.connection.string", "connectionString", "a.token",
        "api_key", "request.header.Authorization", "my.Credentials", "account.key", "x.pem", "a.signature",
    ],
)  # fmt: skip
def test_names_that_sound_secret(name: str) -> None:
    assert is_suspect(name)


@pytest.mark.parametrize(
    "name", ["PA\u017fSWORD", "my.to\u212aen", "s\u0130gnature", "s\u0131gnature", "\u00e9.Api.Key"]
)
def test_letters_that_are_ascii_where_case_does_not_count_hide_no_name(name: str) -> None:
    assert is_suspect(name)
    assert masked_setting(f"{name}={S}") == f"{name}=[hidden]"


@pytest.mark.parametrize("name", ["bypass.cache", "author", "compass", "sasquatch", "topic", "key.fields", "passive"])
def test_names_that_do_not(name: str) -> None:
    assert not is_suspect(name)


def _refuse(value: UrlText) -> UrlText:
    raise ValueError(f"nothing at {value.shown}")


class Place(Config):
    """Two declared URLs."""

    one: Url = key("one", UrlText(""), doc="One.")
    many: Urls = key("many", (), doc="Many.")


class Refusing(Config):
    """A URL that is never right."""

    one: Annotated[Url, AfterValidator(_refuse)] = key("one", doc="One.")


def test_a_declared_url_is_whole_for_code_and_masked_for_people() -> None:
    text = f"http://u:{S}@h"
    place = Place.parse({"one": text, "many": f"{text}, {text}"})
    assert (place.one, place.many) == (text, (text, text))
    assert f"{place.one}" == text
    assert S not in repr(place)
    assert S not in str(place)
    assert [v.value for v in Place.validate_keys({"one": text})] == ["http://u:[hidden]@h", ""]
    assert [d.has_credentials for d in Place.definitions()] == [True, True]
    assert [d.type for d in Place.definitions()] == ["STRING", "LIST"]


def test_the_error_of_a_declared_url_has_no_secret() -> None:
    with pytest.raises(ConfigError) as caught:
        Refusing.parse({"one": f"http://u:{S}@h"})
    assert S not in str(caught.value)
    assert S not in repr(Refusing.validate_keys({"one": f"http://u:{S}@h"}))


LONG = 64 * 1024
PUMPED = (
    "a", "${", "://", "://x:", "x:y://", ";", "(password=", "a:", "=a:", "token=", "token=;", '\\"', '"token":', "\\",
    "token= ", " ,", ",a", "x-token:,", ";password", "a ", "a:b@c ", "@", "?a=", "&token=x", "jdbc:", "password=a,",
    "{", "-----BEGIN ", "'token':'", "key", "u:p@", "\n", "=", ":", "\u00e9=",
)  # fmt: skip


@pytest.mark.parametrize("begin", ["", "password="])
def test_no_text_takes_long_to_mask(begin: str) -> None:
    began_s = time.process_time()
    for piece in PUMPED:
        text = begin + piece * (LONG // len(piece))
        shown = masked_setting(text)
        assert masked(text)
        assert restored(shown, text)
        assert not is_private_text(text)
    assert time.process_time() - began_s < 12


def cpu_s(call: Callable[[], object], tries: int = 5) -> float:
    """Return the least CPU time of a call."""
    spent_s = []
    for _ in range(tries):
        began_s = time.thread_time()
        call()
        spent_s.append(time.thread_time() - began_s)
    return min(spent_s)


def test_a_long_text_without_names_is_looked_through_once_and_quickly() -> None:
    """The worker's other threads wait while it is searched for names."""
    text = "".join(f"http://u:pa5s-{number}@h/," for number in range(9000))
    assert cpu_s(lambda: secret_spans(text + str(time.monotonic()))) < cpu_s(lambda: sum(range(4_000_000)))


def test_as_many_long_texts_as_a_history_has_are_searched_once() -> None:
    texts = [f"password{number}=" + "%25" * 8000 for number in range(20)]
    first_s = cpu_s(lambda: [masked_setting(text) for text in texts], tries=1)
    assert cpu_s(lambda: [masked_setting(text) for text in texts]) < first_s / 3


def test_a_text_of_very_many_secrets_is_hidden_behind_them() -> None:
    text = "".join(f"password={S}{number};a=1;" for number in range(5000))
    shown = masked_setting(text)
    assert S not in shown
    assert restored(shown, text) == text


def test_many_secrets_are_found_in_a_long_text_in_one_go() -> None:
    known = KnownSecrets([f"aaaa-secret-{number}" for number in range(5000)])
    text = "x" * 50_000 + "aaaa-secret-4321" + "x" * 200_000
    began_s = time.process_time()
    shown = known.hide(text)
    assert time.process_time() - began_s < 5
    assert "4321" not in shown
    assert "[hidden]" in shown
    assert len(shown) < 120_000
    assert shown.endswith("more characters)")


def test_a_password_that_is_a_word_leaves_names_of_classes_and_topics_as_they_are():
    secrets = KnownSecrets(["debezium"])
    secrets.add("debezium", as_word=True)
    text = "io.debezium.connector.mysql.MySqlConnector reads debezium.inventory.orders: __debezium-heartbeat"
    assert secrets.hide(text) == text
    assert secrets.hide("password=debezium") == "password=[hidden]"


@pytest.mark.parametrize("password", ["s3cr3t-c4n4ry", "a-b1!", "debezium", "12345678", "pass:word"])
@pytest.mark.parametrize("user", ["u", "us", "usr"])
def test_what_a_server_repeats_of_basic_authentication_is_hidden(user: str, password: str) -> None:
    coded = base64.b64encode(f"{user}:{password}".encode()).decode()
    for text in (f"Authorization: Basic {coded}", f'{{"sent": "{coded}"}}', f"got\n{coded.rstrip('=')}\n"):
        shown = hidden_in(text, [password])
        assert coded.rstrip("=") not in shown
        assert "[hidden]" in shown
        assert "hidden]=" not in shown


def test_base64_that_holds_no_secret_stays() -> None:
    coded = base64.b64encode(b"user:another").decode()
    for text in (f"Basic {coded}", "connect/runtime/sink/intake", "A" * 41, "q" * 9, "_-_-_-_-"):
        assert hidden_in(text, ["s3cr3t-c4n4ry", "debezium"]) == text


def test_a_longer_text_with_a_secret_is_hidden_in_base64() -> None:
    coded = base64.urlsafe_b64encode(b'{"client_secret": "s3cr3t-c4n4ry", "x": "\xc3\xbf?>"}').decode()
    assert hidden_in(f"body {coded} end", ["s3cr3t-c4n4ry"]).startswith("body [hidden]")


def test_base64_takes_time_linear_in_the_text() -> None:
    known = KnownSecrets(["s3cr3t-c4n4ry", "debezium"])
    text = base64.b64encode(b"user:other " * 8_000).decode()
    began = time.process_time()
    assert known.hide(text) == known.hide(text)
    assert time.process_time() - began < 1


def test_no_text_with_secrets_is_kept_in_memory() -> None:
    text = f"user=u;password={S};" + "x=1;" * 10_000
    held = sys.getrefcount(text)
    assert masked_setting(text) == masked_setting(text) == text.replace(S, "[hidden]")
    assert sys.getrefcount(text) == held
