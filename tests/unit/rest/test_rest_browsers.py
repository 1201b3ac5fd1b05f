"""Pages of other sites read and change nothing; who is no browser is asked for nothing more than before."""

from __future__ import annotations

import socket

import pytest
from rest_client import Rest, ServerMaker, refused
from sample_plugins import FILE_SOURCE

CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}
FOREIGN = "rebound.example:8083"
EVIL = "http://evil.example"
SIGNS = (
    {"Origin": EVIL}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-origin"},
    {"Referer": f"{EVIL}/page"}, {"Accept-Language": "en-GB,en;q=0.9"}, {"Upgrade-Insecure-Requests": "1"},
    {"Accept-Language": "*", "User-Agent": "Mozilla/5.0 (X11)"},
)  # fmt: skip
"""What tells that a request is a browser's."""
PROGRAMS = (
    {}, {"User-Agent": "curl/8"}, {"User-Agent": "Java/21"}, {"Accept-Language": "*", "User-Agent": "node"},
    {"User-Agent": "Mozilla/5.0 (Windows NT; Windows NT 10.0; de-DE) WindowsPowerShell/5.1"},
)  # fmt: skip


@pytest.mark.parametrize("sign", SIGNS, ids=str)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/connectors"), ("HEAD", "/health"), ("PUT", "/x")])
def test_no_browser_is_served_under_a_foreign_name(rest: Rest, sign: dict[str, str], method: str, path: str) -> None:
    answer = rest(method, path, headers={**sign, "Host": FOREIGN})
    assert answer.status_code == 403
    if method != "HEAD":
        assert "write rest.allowed.hosts=rebound.example into the worker's file" in refused(answer, 403)


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_programs_are_served_under_every_name(rest: Rest, program: dict[str, str]) -> None:
    headers = {**program, "Host": FOREIGN}
    assert rest("GET", "/connectors", headers=headers).json() == []
    assert rest("PUT", "/connectors/a/config", CONFIG, headers=headers).status_code == 201
    assert rest("POST", "/connectors/a/restart", headers=headers).status_code == 204
    assert rest("PUT", "/connectors/a/pause", headers=headers).status_code == 202
    assert rest("DELETE", "/connectors/a", headers=headers).status_code == 204


@pytest.mark.parametrize(
    "host",
    [
        "localhost", "localhost:18083", "LOCALHOST:8083", "127.0.0.1:8083", "[::1]:8083", "10.1.2.3", "[fe80::1]",
        socket.gethostname(), "advertised.example:99", "advertised.example.", "x.localhost",
    ],
)  # fmt: skip
def test_a_browser_is_served_under_the_workers_own_names(serve: ServerMaker, host: str) -> None:
    rest = serve(worker={"rest.advertised.host.name": "advertised.example"})
    rest.url = rest.url.replace("advertised.example", "127.0.0.1")
    assert rest("GET", "/connectors", headers={"Sec-Fetch-Site": "none", "Host": host}).status_code == 200


@pytest.mark.parametrize(
    ("allowed", "host", "is_served"),
    [
        ("ui.example", "ui.example:443", True), ("ui.example", "x.ui.example", False),
        ("*.ui.example", "x.ui.example", True), ("*.ui.example", "ui.example", False), ("*", "any.example", True),
        ("a.example, UI.example:8443", "ui.example:8443", True), ("ui.example:8443", "ui.example:8083", False),
        ("ui.example", "ui.example.evil", False), ("ui.example", "evil-ui.example", False), ("ui.example", "", False),
    ],
)  # fmt: skip
def test_names_are_listed_in_the_workers_file(serve: ServerMaker, allowed: str, host: str, is_served: bool) -> None:
    rest = serve(worker={"rest.allowed.hosts": allowed})
    answer = rest("GET", "/connectors", headers={"Sec-Fetch-Site": "none", "Host": host})
    assert answer.status_code == (200 if is_served else 403)


@pytest.mark.parametrize("origin", [EVIL, "null", "http://localhost:3000", "https://127.0.0.1", ""])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/connectors/a/restart"), ("POST", "/connectors/a/tasks/0/restart"), ("PUT", "/connectors/a/pause"),
        ("PUT", "/connectors/a/stop"), ("DELETE", "/connectors/a"), ("DELETE", "/connectors/a/offsets"),
        ("POST", "/backfills/x/cancel"), ("PUT", "/connectors/a/rollback/1"),
    ],
)  # fmt: skip
def test_a_foreign_page_changes_nothing(rest: Rest, method: str, path: str, origin: str) -> None:
    rest.create("a")
    assert "may change nothing" in refused(rest(method, path, headers={"Origin": origin}), 403)
    assert rest.operations.cluster.restarts == []
    assert rest.get("/connectors/a/status")["connector"]["state"] == "RUNNING"


def test_a_page_of_another_site_changes_nothing_without_an_origin_either(rest: Rest) -> None:
    rest.create("a")
    for site in ("cross-site", "same-site"):
        refused(rest("POST", "/connectors/a/restart", headers={"Sec-Fetch-Site": site}), 403)


@pytest.mark.parametrize("page", [f"{EVIL}/page?of=localhost", "about:blank", "http://127.0.0.1:1/x", "http://[/x", ""])
@pytest.mark.parametrize(("method", "path"), [("PUT", "/connectors/a/pause"), ("DELETE", "/connectors/a")])
def test_a_foreign_page_changes_nothing_where_its_address_alone_is_told(
    rest: Rest, method: str, path: str, page: str
) -> None:
    rest.create("a")
    assert "may change nothing" in refused(rest(method, path, headers={"Referer": page}), 403)
    assert rest(method, path, headers={"Referer": f"{rest.url}/ui?name=a"}).status_code in {202, 204}


@pytest.mark.parametrize("origin", ["null", "NULL", "", "about:blank", "file://", "a b", "*"])
def test_nobody_is_told_to_let_every_page_in_that_has_no_address(rest: Rest, origin: str) -> None:
    told = refused(rest("PUT", "/connectors/a/pause", headers={"Origin": origin}), 403)
    assert "access.control.allow.origin=" not in told
    assert "may change nothing here" in told
    assert f"own page, {rest.url.removeprefix('http://')}/ui," in told, "the way that is right is told"
    assert "null stands for every page" in told
    assert "access.control.allow.origin=https://console.example" in refused(
        rest("PUT", "/connectors/a/pause", headers={"Origin": "https://console.example"}), 403
    )


@pytest.mark.parametrize("origin", ["http://[", "http://[::1"])
def test_an_origin_that_is_no_url_is_a_foreign_one(rest: Rest, origin: str) -> None:
    rest.create("a")
    told = refused(rest("PUT", "/connectors/a/pause", headers={"Origin": origin}), 403)
    assert "may change nothing" in told
    assert "access.control.allow.origin=" not in told, "it is no pattern"


def test_the_workers_own_page_changes_what_it_likes_by_requests_that_no_form_makes(rest: Rest) -> None:
    own = {"Origin": rest.url, "Sec-Fetch-Site": "same-origin"}
    assert rest("PUT", "/connectors/a/config", CONFIG, headers=own).status_code == 201
    assert rest("POST", "/connectors", {"name": "b", "config": CONFIG}, headers=own).status_code == 201
    assert "X-Requested-With" in refused(rest("POST", "/connectors/a/restart", headers=own), 403)
    asked = own | {"X-Requested-With": "page"}
    assert rest("POST", "/connectors/a/restart", headers=asked).status_code == 204
    assert rest("DELETE", "/connectors/a", headers=own).status_code == 204


def test_a_proxy_may_speak_tls_for_the_worker(serve: ServerMaker) -> None:
    rest = serve(worker={"rest.allowed.hosts": "connect.example"})
    for host in ("connect.example", "connect.example:443"):
        headers = {"Origin": "https://connect.example", "Host": host}
        assert rest("PUT", "/connectors/a/config", CONFIG, headers=headers).status_code in {200, 201}
    headers = {"Origin": "https://connect.example", "Host": "connect.example:80"}
    refused(rest("PUT", "/connectors/a/config", CONFIG, headers=headers), 403)


def test_a_page_that_is_listed_may_change_things_under_any_name(serve: ServerMaker) -> None:
    rest = serve(worker={"access.control.allow.origin": "https://console.example"})
    headers = {"Origin": "https://console.example", "Host": FOREIGN}
    answer = rest("PUT", "/connectors/a/config", CONFIG, headers=headers)
    assert (answer.status_code, answer.headers["Access-Control-Allow-Origin"]) == (201, "https://console.example")
    refused(rest("DELETE", "/connectors/a", headers=headers | {"Origin": EVIL}), 403)


def test_a_page_without_a_name_is_told_so_before_it_is_asked_for_a_password(serve: ServerMaker, tmp_path) -> None:
    users = tmp_path / "users"
    users.write_text("ada=lovelace\n")
    rest = serve(worker={"rest.basic.auth.file": str(users)})
    answer = rest("GET", "/connectors", headers={"Origin": EVIL, "Host": FOREIGN})
    refused(answer, 403)
    assert "WWW-Authenticate" not in answer.headers


def test_admin_paths_are_kept_from_pages_too(serve: ServerMaker) -> None:
    import requests

    rest = serve(worker={"admin.listeners": "http://127.0.0.1:0"})
    answer = requests.get(f"{rest.admin_url}/admin/loggers", headers={"Origin": EVIL, "Host": FOREIGN}, timeout=10)
    refused(answer, 403)
