"""What is secret in a text, what is shown in its place, and how a mask finds its way back."""

from __future__ import annotations

from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AfterValidator

from connect.api.config import Config, key
from connect.api.errors import ConfigError
from connect.api.secrets import hidden_in, is_suspect, masked, restored, secrets_in
from connect.api.url import Url, Urls, UrlText

S = "s3cr3t-c4n4ry"


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u:{}@h/d", "jdbc:postgresql://h/d?user=u&password={}&x=1", "jdbc:sqlserver://h;user=u;password={};x=1",
        "jdbc:postgresql://h/d?sslpassword={}", "jdbc:oracle:thin:scott/{}@//h:1521/x", "https://{}@h/x", "redis://:{}@h",
        "jdbc:mysql://address=(host=a)(user=u)(password={})/d", "jdbc:mysql://(host=h,password={},port=1)/d",
        "jdbc:mysql:replication://u:{}@a:1,b:2/d", "http://a/b, http://u:{}@c:81/", "https://h/oauth?client_secret={}",
        "https://h/blob?sv=1&sig={}&se=2", "mongodb://u:{}@h", "see http://u:{}@h/ there", "http://u:x{}/@h/d",
        "mysql+pymysql://u:p@ss/{}?rd@h/d", "jdbc:postgresql://h/d?user=a@b&Password={}", "Server://h;PWD={};a=b",
    ],
)  # fmt: skip
def test_a_secret_of_a_url_is_masked_and_comes_back(url: str) -> None:
    text = url.format(S)
    assert S in "".join(secrets_in(text))
    shown = masked(text)
    assert S not in shown
    assert "[hidden]" in shown
    assert restored(shown, text) == text
    assert masked(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://host:8083/a?m=a@b", "postgresql://scott@h/d", "jdbc:sqlite:/data/x.db", "http://${env:U}:${env:P}@h",
        "jdbc:postgresql://h/d?password=${file:/run/s:pw}&x=1", "a:b@c", "user@example.com", "SELECT a FROM t",
        "http://a:8081,http://b:8082", "jdbc:mysql://h/d?user=u&useSSL=true", "",
    ],
)  # fmt: skip
def test_what_is_no_secret_is_shown(text: str) -> None:
    assert masked(text) == text


def test_a_mask_is_restored_by_its_name_wherever_it_stands() -> None:
    stored = "jdbc:postgresql://h/d?password=one&sslpassword=two"
    assert restored("jdbc:postgresql://other/d?sslpassword=[hidden]&password=new", stored) == (
        "jdbc:postgresql://other/d?sslpassword=two&password=new"
    )
    assert restored("http://u:[hidden]@h", stored) == "http://u:[hidden]@h"


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_text_stops_masking_or_restoring(one: str, other: str) -> None:
    for text in (one, f"http://{one}:{other}@{one}?token={other}", f"jdbc:{one};password={other};{one}"):
        assert restored(masked(text), text) == text or "[hidden]" in text


@pytest.mark.parametrize(
    ("text", "secrets", "shown"),
    [
        ("a password of a user", ["a", "or"], "a password of a user"),
        ("the latest test", ["test"], "the latest [hidden]"),
        ("connectors: connector", ["connector"], "connectors: [hidden]"),
        ("xhunter2hunter2y hunter22", ["hunter22"], "xhunter2hunter2y [hidden]"),
        ("\\nhunter-2-2", ["hunter-2-2"], "\\n[hidden]"),
        ("long-one long-one-more", ["long-one", "long-one-more"], "[hidden] [hidden]"),
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
