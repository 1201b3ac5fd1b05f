"""A store of S3 that never ends, lies, or sends a worker elsewhere gets an error; no key and no row goes elsewhere."""

from __future__ import annotations

import base64
import json
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any

import pytest
from beside import CHECK_S, QUICK_CHECKS, Beside
from hostile_http import ENDLESS, Answer, Handler, hostile, redirect, say
from hostile_texts import ANSI

from connect.api.errors import ConfigError, ConnectError, RetriableError
from connect.lib.deadline import Deadline
from connectors.s3.settings.classes import AZURE_STORAGE, GCS_STORAGE
from connectors.s3.settings.config import S3SinkConfig
from connectors.s3.stores.store import Bucket, Upload

pytestmark = pytest.mark.attacks

SECRET = "Kx7-store-9Qz"
TOKEN = "Kx7-session-9Qz"
ROWS = b"Kx7-rows-9Qz"
ANSWERED_S = 3.0
SLACK_S = 60.0
LONGEST_TEXT = 5000
MOST_MEMORY_MIB = 1536
"""Thrice a host's limit: what comes between two looks at a host on a loaded machine."""
PRIVATE = {"s3.acl.canned": "private"}
SLOW = {"slow headers", "slow body", "interim answers"}
"""With an ACL objects are created by another client."""


def given(url: str, **more: str) -> dict[str, str]:
    """Return a configuration of a sink whose store is there."""
    return {
        "topics": "t", "s3.bucket.name": "b", "store.url": url, "s3.region": "us-east-1", "flush.size": "1",
        "aws.access.key.id": "AKIA", "aws.secret.access.key": SECRET, "s3.part.retries": "0",
        "format.class": "io.confluent.connect.s3.format.json.JsonFormat", **more,
    }  # fmt: skip


@contextmanager
def bucket(url: str, **more: str) -> Iterator[Bucket]:
    """Open the bucket of a store."""
    opened = Bucket(S3SinkConfig.parse(given(url, **more)))
    try:
        yield opened
    finally:
        opened.close()


def soon() -> Deadline:
    return Deadline.after(ANSWERED_S)


CALLS: dict[str, Callable[[Bucket], Any]] = {
    "check": lambda bucket: bucket.check("a", soon()),
    "list": lambda bucket: bucket.objects("a", soon()),
    "ask": lambda bucket: bucket.metadata(["a/b"], soon()),
    "read": lambda bucket: bucket.content("a/b", soon()),
    "create": lambda bucket: bucket.create(Upload("a/b", ROWS, {"x": "y"}, "text/plain"), soon()),
    "delete": lambda bucket: bucket.delete(["a/b"], soon()),
}  # fmt: skip


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("call", CALLS)
def test_keys_and_rows_follow_no_redirect(call: str, status: int) -> None:
    with hostile(say(b"")) as other, hostile(redirect(f"{other.url}/x", status)) as server:
        for more in ({}, PRIVATE):
            with bucket(server.url, **more) as opened:
                attempt(lambda opened=opened: CALLS[call](opened))
        heard = str(other.asked)
        assert SECRET not in heard
        assert "authorization" not in heard.lower()
        assert ROWS.decode() not in heard


ACCOUNT_KEY = base64.b64encode(b"Kx7-accounts-key-of-32-bytes-9Qz").decode()


@pytest.mark.parametrize("call", CALLS)
def test_azures_key_and_rows_follow_no_redirect(call: str) -> None:
    """Signatures of deletes do: each stands in the body, beside the object that it deletes."""
    with hostile(say(b"")) as other, hostile(redirect(f"{other.url}/x", 307)) as server:
        with bucket(server.url, **AZURE, **{"azblob.account.key": ACCOUNT_KEY}) as opened:
            attempt(lambda: CALLS[call](opened))
        heard = str(other.asked)
        assert server.asked
    assert ACCOUNT_KEY not in heard
    assert ROWS.decode() not in heard
    assert ("authorization" in heard.lower()) == (call == "delete")


IN_QUOTES = json.dumps(json.dumps({"private_key": SECRET}))
KEYS = [
    ({"storage.class": GCS_STORAGE, "gcs.credentials.json": IN_QUOTES}, "gcs.credentials.json"),
    ({"storage.class": GCS_STORAGE, "gcs.credentials.json": json.dumps({"disable_oauth": SECRET})},
     "gcs.credentials.json"),
    ({"storage.class": AZURE_STORAGE, "azblob.account.name": "shop", "azblob.account.key": f"{SECRET}~"},
     "azblob.account.key"),
]  # fmt: skip


@pytest.mark.parametrize(("more", "key"), KEYS)
def test_a_key_that_is_none_is_named_and_not_repeated(more: dict[str, str], key: str) -> None:
    with pytest.raises(ConfigError, match=key) as refused, bucket("http://127.0.0.1:1", **more):
        pass
    assert SECRET not in "".join(traceback.format_exception(refused.value))


AZURE = {"storage.class": AZURE_STORAGE, "azblob.account.name": "shop", "s3.bucket.name": "lake"}
KEY = base64.b64encode(b"Kx7-customers-key-of-32-bytes-9Q").decode()
SAS = "sv=2022&sig=Kx7-signature-9Qz"
FOLLOWS: dict[str, tuple[dict[str, str], set[str]]] = {
    "S3": ({}, {"x-amz-date", "x-amz-content-sha256"}),
    "a customer's key": (
        {"s3.ssea.name": "AES256", "s3.sse.customer.key": KEY},
        {"x-amz-date", "x-amz-content-sha256", *(f"x-amz-server-side-encryption-customer-{part}" for part in
                                                 ("algorithm", "key", "key-md5"))},
    ),
    "Azure's key": ({**AZURE, "azblob.account.key": KEY}, {"content-length", "date", "x-ms-version"}),
    "Azure's signature": ({**AZURE, "azblob.sas.token": SAS}, {"content-length", "date", "x-ms-version"}),
}  # fmt: skip
"""What a read takes along to another host, by its headers, as SECURITY.md says."""


@pytest.mark.parametrize("store", FOLLOWS)
def test_a_read_that_is_sent_elsewhere_takes_along_what_is_documented(store: str) -> None:
    more, expected = FOLLOWS[store]
    with hostile(say(b"")) as other, hostile(redirect(f"{other.url}/x", 307)) as server:
        with bucket(server.url, **more) as opened:
            attempt(lambda: opened.content("a/b", Deadline.after(60)))
        (_, _, headers, _), *_ = other.asked
    assert headers["referer"].startswith(server.url)
    assert ("sig=" in headers["referer"]) == (store == "Azure's signature")
    assert set(headers) - {"accept", "user-agent", "host", "referer"} == expected


def attempt(call: Callable[[], Any]) -> str:
    """Return what was said against a call; empty: it was answered."""
    try:
        call()
    except ConnectError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_an_object_with_an_acl_is_created_where_its_store_is(status: int) -> None:
    def elsewhere(to: Handler) -> None:
        redirect("http://127.0.0.1:9/x", status)(to)

    with hostile(elsewhere) as server, bucket(server.url, **PRIVATE) as opened:
        with pytest.raises(ConnectError, match="sends a request elsewhere") as refused:
            opened.create(Upload("a/b", ROWS, {}, "text/plain"), Deadline.after(60))
        assert not isinstance(refused.value, RetriableError)
        assert [asked[0] for asked in server.asked] == ["PUT"]


def listing(*keys: str, more: bool = False, size: str = "1", etag: str = "x", begins: str = "") -> Answer:
    """Answer by a page of a listing."""
    contents = "".join(
        f"<Contents><Key>{key}</Key><Size>{size}</Size><ETag>{etag}</ETag>"
        "<LastModified>2024-01-01T00:00:00.000Z</LastModified></Contents>"
        for key in keys
    )
    page = (
        f"{begins}<ListBucketResult><Name>b</Name><IsTruncated>{str(more).lower()}</IsTruncated>"
        f"<NextContinuationToken>t</NextContinuationToken>{contents}</ListBucketResult>"
    )
    return say(page.encode(), Content_Type="application/xml")


_LETTERS = "abcdefghij"
_LAUGHS = "".join(f'<!ENTITY {name} "{f"&{of};" * 10}">' for of, name in pairwise(_LETTERS))
BOMB = f'<!DOCTYPE l [<!ENTITY a "{"x" * 1000}">{_LAUGHS}]>'
FILE = '<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
LIES: dict[str, Answer] = {
    "a listing without an end": listing("a/b", more=True),
    "empty pages without an end": listing(more=True),
    "a bomb": listing("a/&j;", begins=BOMB),
    "a file": listing("a/&x;", begins=FILE),
    "a size below zero": listing("a/b", size="-5"),
    "a size that is none": listing("a/b", size="9" * 50),
    "nested tags": say(b"<a>" * 100_000),
    "rubbish": say(b"\xff\xfe"),
    "an error": say(f"<Error><Code>{ANSI}</Code></Error>".encode(), 400),
    "another region": say(
        b"<Error><Code>PermanentRedirect</Code><Endpoint>127.0.0.1:9</Endpoint></Error>", 301,
        x_amz_bucket_region="x.127.0.0.1:9/#",
    ),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_listing_that_lies_ends_and_is_not_obeyed(lie: str) -> None:
    found: list[str] = []
    with hostile(LIES[lie]) as server, bucket(server.url) as opened:
        began_s = time.monotonic()
        said = attempt(lambda: found.extend(one.key for one in opened.objects("a", soon())))
        took_s = time.monotonic() - began_s
    assert said.startswith("Bucket b at") or found == [], "a listing that lies was taken for one"
    assert took_s < ANSWERED_S + SLACK_S
    assert "root:" not in said
    assert len(said) < LONGEST_TEXT


@pytest.fixture(scope="module")
def more_settings() -> dict[str, str]:
    return QUICK_CHECKS


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        # Each slow one waits until the check's time is over: one of them is tried each time, the others in chaos.
        pytest.param(
            name, kind, id=f"{name}-{kind}", marks=[pytest.mark.chaos] if name in SLOW and kind != "plain" else []
        )
        for name in ENDLESS
        for kind in ("plain", "with an ACL")
    ],
)
def test_a_check_of_an_endless_store_ends_with_an_error(beside: Beside, name: str, kind: str) -> None:
    config = {"connector.class": "S3SinkConnector", **(PRIVATE if kind != "plain" else {})}
    with beside.unharmed(), beside.within_memory(MOST_MEMORY_MIB), hostile(ENDLESS[name]) as server:
        began_s = time.monotonic()
        said = "\n".join(beside.validate(given(server.url, **config)))
        took_s = time.monotonic() - began_s
    assert said
    assert SECRET not in said
    assert took_s < CHECK_S + SLACK_S
