"""The HTTP sink sends what Confluent's and Aiven's send, tries again as they do, and loses no record meanwhile."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest
from api_server import ApiServer, api

from connect.api import schema as s
from connect.api.errors import ConfigError, RejectedRowsError, RetriableError
from connect.api.records import Batch, Column, Consumed, TopicPartition
from connect.lib.deadline import Deadline
from connect.testing.fakes import FakeSinkContext
from connectors.http.api.config import AivenHttpSinkConfig, HttpSinkConfig
from connectors.http.api.sink import HttpSinkTask

TP = TopicPartition("orders", 0)
ROW = s.struct({"id": s.INT64, "name": s.STRING.as_optional()})
ROWS: Sequence[Any] = [{"id": 1, "name": "a"}, {"id": 2, "name": None}, {"id": 3, "name": "c"}]


@pytest.fixture
def server() -> Iterator[ApiServer]:
    with api() as running:
        yield running


def batch(values: Sequence[Any] = ROWS, schema: s.Schema | None = None, keys: Sequence[Any] = ()) -> Batch:
    offsets = pa.array(range(len(values)), pa.int64())
    return Batch(
        "orders",
        Column.from_rows(values, schema),
        keys=Column.from_rows(keys, None) if keys else None,
        consumed=Consumed(TP, offsets, len(values)),
    )


def task_on(server: ApiServer, path: str = "/in", **keys: str) -> HttpSinkTask:
    given = {name.replace("_", "."): value for name, value in keys.items()}
    config = HttpSinkConfig.parse({"http.api.url": server.url + path, "retry.backoff.ms": "0", **given})
    task = HttpSinkTask(config)
    task.open(FakeSinkContext())
    task.assigned([TP])
    return task


def put(task: HttpSinkTask, one: Batch) -> None:
    task.put(one, Deadline.after(10.0))


def claimed(task: HttpSinkTask) -> int | None:
    return task.flush(Deadline.after(1.0)).get(TP)


def test_each_record_is_a_request_with_its_text(server: ApiServer) -> None:
    task = task_on(
        server, headers="X-One: 1|X-Two:a:b", auth_type="BASIC", connection_user="u", connection_password="p"
    )
    put(task, batch(["a", "é"]))
    assert server.paths() == [("POST", "/in")] * 2
    assert server.bodies() == [b"a", "é".encode()]
    headers = server.asked[0][2]
    assert (headers["x-one"], headers["x-two"], headers["authorization"]) == ("1", "a:b", "Basic dTpw")
    assert claimed(task) == 2
    task.close()


def test_a_struct_is_its_text_or_json(server: ApiServer) -> None:
    put(task_on(server), batch(ROWS[:1], ROW))
    put(task_on(server, request_body_format="json"), batch(ROWS[:1], ROW))
    put(task_on(server, request_body_format="json", batch_json_as_array="false"), batch(ROWS[:1], ROW))
    assert server.bodies() == [b"Struct{id=1,name=a}", b'[{"id":1,"name":"a"}]', b'{"id":1,"name":"a"}']


def test_records_of_one_url_share_a_request(server: ApiServer) -> None:
    task = task_on(server, batch_max_size="2", batch_prefix="<", batch_suffix=">", batch_separator=";")
    put(task, batch(["a", "b", "c"]))
    assert server.bodies() == [b"<a;b>", b"<c>"]
    put(task_on(server, "/${topic}/${key}", batch_max_size="9"), batch(["a", "b", "c"], keys=["x", "x", "y z/../q"]))
    assert server.paths()[2:] == [("POST", "/orders/x"), ("POST", "/orders/y%20z%2F..%2Fq")]


def test_fields_stand_in_the_url_and_tombstones_delete(server: ApiServer) -> None:
    put(task_on(server, "/o/${id}", request_method="put"), batch(ROWS[:1], ROW))
    put(task_on(server, "/o/${key}", behavior_on_null_values="delete"), batch([None, "v"], keys=[7, 8]))
    assert server.paths() == [("PUT", "/o/1"), ("DELETE", "/o/7"), ("POST", "/o/8")]


def test_numbers_in_the_url_are_printed_as_their_type_is(server: ApiServer) -> None:
    inner = s.struct({"p": s.FLOAT32, "q": s.FLOAT64})
    row = {"p": struct.unpack("f", struct.pack("f", 0.1))[0], "in": {"p": 1e10, "q": 0.1}}
    put(task_on(server, "/o/${p}/${in.p}/${in.q}"), batch([row], s.struct({"p": s.FLOAT32, "in": inner})))
    assert server.paths() == [("POST", "/o/0.1/1.0E10/0.1")]


@pytest.mark.parametrize("key", [None, "", ".", "..", {"a": 1}])
def test_a_key_that_is_no_part_of_a_url_is_a_bad_record(server: ApiServer, key: Any) -> None:
    with pytest.raises(RejectedRowsError) as refused:
        put(task_on(server, "/o/${key}"), batch(["a", "b"], keys=[key, "k"]))
    assert list(refused.value.rows) == [0]
    assert server.paths() == [("POST", "/o/k")]


def test_an_empty_key_deletes_no_collection(server: ApiServer) -> None:
    with pytest.raises(RejectedRowsError):
        put(task_on(server, "/o/${key}", behavior_on_null_values="delete"), batch([None], keys=[""]))
    assert server.paths() == []


@pytest.mark.parametrize(
    ("path", "a", "b"),
    [("/o/.${a}", "", ""), ("/o/${a}${b}", "", ""), ("/o/${a}${b}", ".", "."), ("/%2e${a}", ".", "")],
)
def test_values_are_no_step_to_another_place_together(server: ApiServer, path: str, a: str, b: str) -> None:
    schema = s.struct({"a": s.STRING, "b": s.STRING})
    with pytest.raises(RejectedRowsError) as refused:
        put(task_on(server, path), batch([{"a": a, "b": b}, {"a": "x", "b": "y"}], schema))
    assert list(refused.value.rows) == [0]
    assert len(server.asked) == 1


def test_a_query_may_lack_a_value(server: ApiServer) -> None:
    put(task_on(server, "/o/?q=${a}"), batch([{"a": ""}], s.struct({"a": s.STRING})))
    put(task_on(server, "/o//x-${a}?q"), batch([{"a": "/.."}], s.struct({"a": s.STRING})))
    assert server.paths() == [("POST", "/o/?q="), ("POST", "/o//x-%2F..?q")]


def test_a_server_that_is_away_gets_no_answered_record_again(server: ApiServer) -> None:
    task = task_on(server)
    server.statuses = [200, 503]
    with pytest.raises(RetriableError, match=r"HTTP 503 .* try 1 of 10"):
        put(task, batch(["a", "b", "c"]))
    assert claimed(task) is None
    put(task, batch(["a", "b", "c"]))
    assert server.bodies() == [b"a", b"b", b"b", b"c"]
    assert claimed(task) == 3


def test_a_record_refused_before_the_server_was_away_is_still_told(server: ApiServer) -> None:
    task = task_on(server, retry_on_status_codes="503")
    server.statuses = [422, 503]
    with pytest.raises(RetriableError):
        put(task, batch(["a", "b", "c"]))
    assert claimed(task) is None
    with pytest.raises(RejectedRowsError) as refused:
        put(task, batch(["a", "b", "c"]))
    assert list(refused.value.rows) == [0]
    assert claimed(task) == 3


def test_records_refused_too_often_are_bad_or_left_out(server: ApiServer) -> None:
    task = task_on(server, max_retries="1")
    server.statuses = [500, 500]
    with pytest.raises(RetriableError):
        put(task, batch(["a"]))
    with pytest.raises(RejectedRowsError, match="HTTP 500"):
        put(task, batch(["a"]))
    context = FakeSinkContext()
    lenient = task_on(server, max_retries="0", behavior_on_error="log")
    lenient.open(context)
    server.statuses = [400]
    put(lenient, batch(["a", "b"]))
    assert claimed(lenient) == 2
    assert "Records refused and left out: 1." in context.noted[0]


@pytest.mark.parametrize("on_error", ["fail", "ignore", "log"])
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_login_ends_the_task(server: ApiServer, on_error: str, status: int) -> None:
    server.statuses = [status]
    task = task_on(server, max_retries="0", behavior_on_error=on_error)
    with pytest.raises(ConfigError, match="refuses access"):
        put(task, batch(["a"]))
    assert claimed(task) is None


def test_a_redirect_is_not_followed(server: ApiServer) -> None:
    server.statuses = [302]
    with pytest.raises(RejectedRowsError, match="HTTP 302"):
        put(task_on(server), batch(["a"]))


def test_nobody_there_is_retriable() -> None:
    with api() as gone:
        pass
    with pytest.raises(RetriableError, match="Nobody answers"):
        put(task_on(gone, max_retries="0"), batch(["a"]))


def test_aivens_keys_make_aivens_requests(server: ApiServer) -> None:
    config = AivenHttpSinkConfig.parse({
        "http.url": f"{server.url}/in", "http.authorization.type": "static", "http.headers.authorization": "Bearer t",
        "http.headers.additional": "X-A:1,X-B:2", "batching.enabled": "true", "http.headers.content.type": "text/x",
    })  # fmt: skip
    task = HttpSinkTask(config)
    task.open(FakeSinkContext())
    put(task, batch(["a", "b"]))
    put(task, batch([{"x": 1}]))
    assert server.bodies() == [b"a\nb\n", b'{"x":1}\n']
    headers = server.asked[0][2]
    assert [headers[name] for name in ("authorization", "content-type", "x-a", "x-b")] == [
        "Bearer t",
        "text/x",
        "1",
        "2",
    ]


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"http.api.url": "http://${topic}.example/in"}, "may not choose the host"),
        ({"http.api.url": "ftp://h/in"}, "only HTTP is spoken"),
        ({"http.api.url": "nothing"}, "it is no URL"),
        ({"headers": "no-colon-secret"}, "write each header as name:value"),
        ({"headers": "a:b\nInjected: x"}, "write each header as name:value"),
        ({"auth.type": "OAUTH2"}, "needs oauth2.token.url"),
        ({"auth.type": "OAUTH3"}, "auth.type"),
        ({"auth.type": "BASIC"}, "needs connection.user"),
        ({"retry.on.status.codes": "some"}, "Statuses are written as"),
    ],
)
def test_settings_that_cannot_be_are_named(keys: dict[str, str], told: str) -> None:
    with pytest.raises(ConfigError, match=told) as refused:
        HttpSinkConfig.parse({"http.api.url": "http://h/in", **keys})
    assert "no-colon-secret" not in str(refused.value)


def test_topics_of_reporters_have_a_note() -> None:
    config = HttpSinkConfig.parse({"http.api.url": "http://h/in", "reporter.error.topic.name": "e"})
    assert "Nothing is written to the topics of reporter" in next(iter(config.notes())).message


def test_json_bodies_are_json(server: ApiServer) -> None:
    put(task_on(server, request_body_format="json", batch_max_size="3"), batch(ROWS, ROW))
    assert json.loads(server.bodies()[0]) == list(ROWS)


@pytest.mark.parametrize("form", ["string", "json"])
def test_an_instant_after_the_year_9999_is_one_bad_row(server: ApiServer, form: str) -> None:
    times = pa.array([0, 253_402_300_800_000, 1000], pa.int64()).cast(pa.timestamp("ms", "UTC"))
    whole = batch(["a", "b", "c"])
    task = task_on(server, request_body_format=form)
    with pytest.raises(RejectedRowsError) as refused:
        put(task, Batch("orders", Column.from_arrow(times, s.TIMESTAMP_SCHEMA), consumed=whole.consumed))
    assert (list(refused.value.rows), len(server.asked), claimed(task)) == ([1], 2, 3)
    keyed = task_on(server, "/o/${key}")
    with pytest.raises(RejectedRowsError) as refused:
        put(keyed, Batch("orders", whole.values, Column.from_arrow(times, s.TIMESTAMP_SCHEMA), consumed=whole.consumed))
    assert (list(refused.value.rows), len(server.asked)) == ([1], 4)


def sent_headers(server: ApiServer) -> list[tuple[str, str]]:
    """Return the headers of the last request as they were sent, with names in small letters."""
    return [(name.lower(), value) for name, value in server.raw_headers[-1]]


@pytest.mark.parametrize("auth", ["BASIC", "OAUTH2"])
def test_a_header_is_sent_once_however_it_is_spelt(server: ApiServer, auth: str) -> None:
    server.answer = b'{"access_token": "t", "expires_in": 60}'
    keys = {
        "BASIC": {"connection_user": "u", "connection_password": "p"},
        "OAUTH2": {"oauth2_token_url": f"{server.url}/token", "oauth2_client_id": "c", "oauth2_client_secret": "s"},
    }[auth]
    given = "content-TYPE:text/x|authorization:Bearer mine|x-a:1|X-A:2"
    put(task_on(server, headers=given, auth_type=auth, **keys), batch(["a"]))
    sent = sent_headers(server)
    assert [value for name, value in sent if name == "content-type"] == ["text/x"]
    assert [value for name, value in sent if name == "authorization"] == [
        "Basic dTpw" if auth == "BASIC" else "Bearer t"
    ]
    assert [value for name, value in sent if name == "x-a"] == ["2"]


def test_aivens_headers_are_sent_once_however_they_are_spelt(server: ApiServer) -> None:
    config = AivenHttpSinkConfig.parse({
        "http.url": f"{server.url}/in", "http.authorization.type": "static", "http.headers.authorization": "Bearer t",
        "http.headers.additional": "authorization:none,Content-type:text/y", "http.headers.content.type": "text/x",
    })  # fmt: skip
    task = HttpSinkTask(config)
    task.open(FakeSinkContext())
    put(task, batch(["a"]))
    own = [pair for pair in sent_headers(server) if pair[0] in {"authorization", "content-type"}]
    assert sorted(own) == [("authorization", "Bearer t"), ("content-type", "text/x")]


def test_a_body_does_not_depend_on_its_neighbours(server: ApiServer) -> None:
    rows: list[Any] = ["text", {"x": 1}, 10**30, "more", {"y": 1e-7}]
    config = AivenHttpSinkConfig.parse({"http.url": f"{server.url}/in", "http.authorization.type": "none"})

    def bodies(*parts: Sequence[Any]) -> list[bytes]:
        task = HttpSinkTask(config)
        task.open(FakeSinkContext())
        server.asked.clear()
        for part in parts:
            put(task, batch(part))
        return server.bodies()

    alone = bodies(*[[row] for row in rows])
    assert bodies(rows) == alone
    assert alone == [b"text", b'{"x":1}', b"1" + b"0" * 30, b"more", b'{"y":1e-7}']


def test_each_tombstone_is_a_delete_of_its_own(server: ApiServer) -> None:
    task = task_on(server, request_method="DELETE", behavior_on_null_values="delete", batch_max_size="9")
    put(task, batch([None, "a", "b", None, None, "c"]))
    assert [method for method, _ in server.paths()] == ["DELETE"] * 5
    assert server.bodies() == [b"", b"a,b", b"", b"", b"c"]


def test_rows_that_were_made_of_one_record_are_all_sent(server: ApiServer) -> None:
    task = task_on(server)
    exploded = Batch("orders", Column.from_rows(["a", "b", "c"], None), consumed=Consumed(TP, pa.array([7, 7, 8]), 9))
    server.statuses = [200, 503]
    with pytest.raises(RetriableError):
        put(task, exploded)
    put(task, exploded)
    assert server.bodies() == [b"a", b"b", b"b", b"c"]
