"""A name node that never ends, lies about its files or sends a worker elsewhere gets an error, and no token."""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import pytest
from hostile_http import ENDLESS, Answer, hostile, redirect, say

from connect.api.errors import ConfigError, RetriableError
from connectors.s3.stores.webhdfs import WebHdfs

pytestmark = pytest.mark.attacks

TOKEN = "Kx7-hdfs-9Qz"
MOST_MEMORY_MIB = 300


def client(url: str) -> WebHdfs:
    return WebHdfs(url, {"delegation": TOKEN}, timeout_s=1, retries=0, retry_backoff_s=0, may_reach=lambda _: True)


def listing(*names: Any, remaining: Any = 0, length: Any = 1, time_ms: Any = 1) -> Answer:
    files = [{"pathSuffix": name, "type": "FILE", "length": length, "modificationTime": time_ms} for name in names]
    partial = {"FileStatuses": {"FileStatus": files}}
    return say({"DirectoryListing": {"remainingEntries": remaining, "partialListing": partial}})


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_answer_is_given_up(name: str) -> None:
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    given_up = pytest.raises(RetriableError, match=r"The answer (is longer than 64 MiB|took longer than 1 s)")
    with hostile(ENDLESS[name]) as server, given_up:
        list(client(server.url).entries("/a", ""))
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib) >> 10 < MOST_MEMORY_MIB


WRONG: dict[str, Answer] = {
    "null": say(None), "nothing": say({}), "deep": say(b"[" * 100_000), "another folder": listing("../../etc/passwd"),
    "a path": listing("/etc/passwd"), "no name": listing(""), "a size of text": listing("x", length="abc"),
    "a size below zero": listing("x", length=-1), "never gets on": listing("x", remaining=1),
    "a time of no calendar": listing("x", time_ms=10**17),
    "nothing, and more": listing(remaining=1), "no number": listing("x", remaining=float("nan")),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_listing_that_lies_is_refused(name: str) -> None:
    with hostile(WRONG[name]) as server, pytest.raises(ConfigError, match="does not speak WebHDFS"):
        list(client(server.url).entries("/a", ""))


@pytest.mark.parametrize("value", ["0sA", "0s\u4e2d"])
def test_an_attribute_that_is_no_base64_is_refused(value: str) -> None:
    told = say({"XAttrs": [{"name": "user.x", "value": value}]})
    with hostile(told) as server, pytest.raises(ConfigError, match="does not speak WebHDFS"):
        client(server.url).attribute("/a", "user.x")


CALLS: dict[str, Callable[[WebHdfs], Any]] = {
    "look": lambda hdfs: hdfs.require("/a"), "delete": lambda hdfs: hdfs.delete("/a"),
    "list": lambda hdfs: list(hdfs.entries("/a", "")), "attribute": lambda hdfs: hdfs.attribute("/a", "x"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_what_a_name_node_answers_itself_is_not_asked_elsewhere(name: str) -> None:
    with hostile(say({})) as other, hostile(redirect(f"{other.url}/x", 307)) as server:
        with pytest.raises(ConfigError, match="does not speak WebHDFS"):
            CALLS[name](client(server.url))
        assert other.asked == []


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://x/", "http://[::1", "http://", "//x/y", ""])
def test_content_comes_from_an_address_of_http(address: str) -> None:
    with hostile(redirect(address, 307)) as server, pytest.raises(ConfigError, match="does not speak WebHDFS"):
        client(server.url).content("/a")


def test_a_data_node_gets_no_token() -> None:
    with hostile(say(b"rows")) as other, hostile(redirect(f"{other.url}/x", 307)) as server:
        assert client(server.url).content("/a") == b"rows"
        assert TOKEN in server.asked[0][1]
        assert TOKEN not in str(other.asked)
