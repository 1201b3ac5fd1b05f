"""Uses the web UI over a cluster in memory: pages, forms and their rules, read without JavaScript."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import requests
from memory_cluster import Cluster, MemoryConnectors, MemoryOperations
from rest_client import Rest, ServerMaker
from sample_plugins import VAULT_SOURCE
from ui_reader import Reader

from connect.cluster.model.statuses import ConnectorStatus
from connect.rest.ui.frame.forms import once_of
from connect.rest.ui.frame.pages import HEADERS
from connect.runtime.task.state import State

HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "\u202eevil\u2066",
    "😀 ünï/cödé?&#=%2F+ ",
    "..",
    "{{ 7*7 }}{% raw %}",
    "é" * 249,
)


class Failing(MemoryOperations):
    """A cluster whose first tasks have failed, with a trace as long as it likes."""

    trace = "Traceback: <b>boom</b>\n" + "x" * 1_000_000

    def __init__(self) -> None:
        super().__init__()
        self.connectors = FailingConnectors(self)


class FailingConnectors(MemoryConnectors):
    """The connectors of that cluster."""

    def status(self, name: str) -> ConnectorStatus:
        status = super().status(name)
        failed = replace(status.connector, state=State.FAILED, trace=Failing.trace)
        return replace(status, tasks={**status.tasks, 0: failed})


@pytest.fixture
def reader(rest: Rest) -> Reader:
    return Reader(rest.url)


def test_the_overview_shows_what_connect_status_shows_and_leads_to_each_connector(rest: Rest, reader: Reader) -> None:
    rest.create("orders", **{"tasks.max": "2"})
    rest.create("bills", state="PAUSED")
    page = reader.open("/ui")
    assert page.status == 200
    assert page.unclosed == []
    assert "2 of 2 connectors" in page.text
    for text in ("orders", "RUNNING", "2/2", "bills", "PAUSED", "FileStreamSourceConnector", "source"):
        assert text in page.text
    assert page.text.index("bills") < page.text.index("orders"), "what needs a person comes first"
    for path in (link for link in page.links() if link.startswith("/ui/connector?")):
        assert reader.open(path).status == 200
    assert reader.open("/ui/").status == 200


def test_a_connector_shows_tasks_figures_reasons_topics_and_masked_secrets(rest: Rest, reader: Reader) -> None:
    config = {"connection.url": "u", "connection.password": "p4ssw0rd!"}
    rest.create("orders", **{"tasks.max": "2", "connector.class": VAULT_SOURCE, **config})
    rest.operations.cluster.topics["orders"] = ["t-1", "<t-2>"]
    page = reader.open("/ui/connector?name=orders")
    assert page.unclosed == []
    why = rest.get("/connectors/orders/why")
    for reason in why:
        assert reason["text"].partition(" (")[0] in page.text
    for text in ("7 rows", "[hidden]", "connection.password", "t-1", "<t-2>", VAULT_SOURCE, "127.0.0.1:8083"):
        assert text in page.text
    assert "p4ssw0rd!" not in page.html
    assert page.buttons() == ["restart", "pause", "stop", "restart-task 0", "restart-task 1"]


def test_every_answer_below_ui_keeps_foreign_content_out(rest: Rest, reader: Reader) -> None:
    rest.create("a")
    assert "script-src 'self'" in HEADERS["Content-Security-Policy"]
    for path in ("/ui", "/ui/connector?name=a", "/ui/connector?name=b", "/ui/nothing", "/ui/ui.css", "/ui/ui.js"):
        answer = reader.session.get(rest.url + path, timeout=30)
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, path
        assert " style=" not in answer.text
        assert "<script>" not in answer.text
        assert all(origin not in answer.text for origin in ("https://", "src='//", 'src="//'))
    assert "Content-Security-Policy" not in requests.get(f"{rest.url}/connectors", timeout=30).headers


def test_a_page_with_its_files_is_small(rest: Rest, reader: Reader) -> None:
    for number in range(60):
        rest.create(f"connector-{number}")
    page = reader.open("/ui")
    assets = [v.get("href") or v.get("src") for t, v in page.elements if t in {"link", "script", "img"}]
    weight = len(page.html) + sum(len(reader.session.get(rest.url + one, timeout=30).content) for one in set(assets))
    assert len(set(assets)) == 3
    assert weight < 150_000


@pytest.mark.parametrize(
    ("do", "done"),
    [
        ("restart", "a tasks=True failed=False"),
        ("restart-failed", "a tasks=True failed=True"),
        ("restart-task 1", "a-1"),
    ],
)
def test_buttons_restart_a_connector_its_tasks_or_one_task(rest: Rest, reader: Reader, do: str, done: str) -> None:
    rest.create("a", **{"tasks.max": "2"})
    page = reader.press(reader.open("/ui/connector?name=a"), do)
    assert (page.status, page.url) == (200, f"{rest.url}/ui/connector?name=a&done={do.split(maxsplit=1)[0]}")
    assert rest.operations.cluster.restarts == [done]
    assert "restart" in page.text


def test_buttons_pause_resume_and_stop(rest: Rest, reader: Reader) -> None:
    rest.create("a")
    page = reader.open("/ui/connector?name=a")
    for do, state in (("pause", "PAUSED"), ("resume", "RUNNING"), ("stop", "STOPPED"), ("resume", "RUNNING")):
        assert do in page.buttons()
        page = reader.press(page, do)
        assert page.status == 200
        assert rest.get("/connectors/a/status")["connector"]["state"] == state
        assert state in page.text


def test_a_second_click_does_nothing_more(rest: Rest, reader: Reader) -> None:
    rest.create("a")
    page = reader.open("/ui/connector?name=a")
    assert [reader.press(page, "restart").status for _ in range(3)] == [200, 200, 200]
    assert len(rest.operations.cluster.restarts) == 1
    reader.press(reader.open("/ui/connector?name=a"), "restart")
    assert len(rest.operations.cluster.restarts) == 2


def test_the_form_of_one_page_sent_with_another_name_is_no_second_click(rest: Rest, reader: Reader) -> None:
    rest.create("a")
    rest.create("b")
    page = reader.open("/ui/connector?name=a")
    assert reader.press(page, "restart").status == 200
    is_told_done = reader.press(page, "restart", name="b").status == 200
    assert is_told_done == (len(rest.operations.cluster.restarts) == 2)


def test_what_is_kept_of_a_form_does_not_grow_with_it() -> None:
    lengths = {len(once_of({"once": "o" * size, "name": "a"})) for size in (1, 900_000)}
    assert lengths == {64}


def test_a_form_without_the_pages_token_does_nothing(rest: Rest, reader: Reader) -> None:
    rest.create("a")
    page = reader.open("/ui/connector?name=a")
    for token in ("", "x" * 43, page.fields["act"]["token"][:-1]):
        refused = reader.press(page, "restart", token=token)
        assert (refused.status, "another session" in refused.text) == (403, True)
    cookies = dict(reader.session.cookies)
    reader.session.cookies.clear()
    assert reader.press(page, "restart").status == 403, "a page of another site has no cookie of its own"
    reader.session.cookies.update(dict.fromkeys(cookies, ""))
    assert reader.press(page, "restart", token="").status == 403
    assert rest.operations.cluster.restarts == []


def test_pages_of_other_origins_send_no_form(rest: Rest, reader: Reader) -> None:
    rest.create("a")
    page = reader.open("/ui/connector?name=a")
    for origin in ("http://evil.example", "null"):
        answer = reader.session.post(
            f"{rest.url}/ui/connector",
            data=page.fields["act"] | {"do": "restart"},
            headers={"Origin": origin},
            timeout=30,
        )
        assert answer.status_code == 403
        assert "may change nothing here" in answer.text
    assert reader.open("/ui", headers={"Host": "rebound.example"}).status == 403
    assert rest.operations.cluster.restarts == []


def test_the_cookie_is_for_the_workers_own_pages(rest: Rest, reader: Reader) -> None:
    cookie = reader.open("/ui").headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert "Path=/ui" in cookie
    assert "Set-Cookie" not in reader.open("/ui").headers, "a browser keeps the one it has"


def test_read_only_pages_have_no_buttons_and_refuse_forms(serve: ServerMaker) -> None:
    rest = serve(worker={"rest.ui": "read-only"})
    rest.create("a")
    reader = Reader(rest.url)
    page = reader.open("/ui/connector?name=a")
    assert (page.status, page.buttons(), page.fields) == (200, [], {})
    assert "read-only" in page.text
    answer = reader.session.post(f"{rest.url}/ui/connector", data={"name": "a", "do": "restart"}, timeout=30)
    assert (answer.status_code, "rest.ui=read-only" in answer.text) == (403, True)
    assert rest.operations.cluster.restarts == []
    assert rest("POST", "/connectors/a/restart").status_code == 204, "REST is as before"


def test_a_worker_may_have_no_pages(serve: ServerMaker) -> None:
    rest = serve(worker={"rest.ui": "off"})
    for path in ("/ui", "/ui/connector?name=a", "/ui/ui.css"):
        assert rest("GET", path).status_code == 404
    assert rest("GET", "/ui/figures").status_code == 403, "other workers may have pages, and sign what they ask"


def test_pages_ask_for_the_workers_own_password(serve: ServerMaker, tmp_path: Any) -> None:
    (tmp_path / "users").write_text("ada=lovelace\n")
    rest = serve(worker={"rest.basic.auth.file": str(tmp_path / "users")})
    reader = Reader(rest.url)
    for path in ("/ui", "/ui/connector?name=a", "/ui/live/overview"):
        page = reader.open(path)
        assert (page.status, page.headers["WWW-Authenticate"]) == (401, 'Basic realm="KafkaConnect"')
    assert reader.open("/ui/figures").status == 403, "workers sign what they ask"
    reader.session.auth = ("ada", "lovelace")
    assert reader.open("/ui").status == 200


def test_a_deleted_connector_is_told_by_a_page(rest: Rest, reader: Reader) -> None:
    rest.create("a")
    page = reader.open("/ui/connector?name=a")
    rest("DELETE", "/connectors/a")
    gone = reader.press(page, "restart")
    assert (gone.status, gone.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert "Connector a not found" in gone.text
    assert reader.open("/ui/connector?name=a").status == 404
    assert reader.open("/ui/connector").status == 404


def test_a_stale_page_is_told_what_has_changed(rest: Rest, reader: Reader) -> None:
    rest.create("a", **{"batch.size": "10", "file": "x"})
    page = reader.open("/ui/connector?name=a")
    config = {"connector.class": rest.get("/connectors/a/config")["connector.class"], "topic": "t", "batch.size": "20"}
    assert rest("PUT", "/connectors/a/config", config | {"tasks.max": "1"}).status_code == 200
    stale = reader.press(page, "stop")
    assert stale.status == 409
    for text in (
        "now version 2",
        "changed: batch.size from 10 to 20",
        "added: tasks.max = 1",
        "removed: file",
        "Nothing was done",
    ):
        assert text in stale.text
    assert rest.get("/connectors/a/status")["connector"]["state"] == "RUNNING"


def test_a_form_may_ask_for_nothing_unknown(rest: Rest, reader: Reader) -> None:
    rest.create("a")
    page = reader.open("/ui/connector?name=a")
    for do in ("delete", "restart-task x", "", "restart-task " + "9" * 30):
        assert reader.press(page, do).status == 400
    assert reader.press(page, "restart-task 7").status == 404
    headers = {"Content-Type": "application/json"}
    assert reader.session.post(f"{rest.url}/ui/connector", data="{}", headers=headers, timeout=30).status_code == 415


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_hostile_names_are_text_and_can_be_acted_on(serve: ServerMaker, name: str) -> None:
    operations = MemoryOperations()
    rest = serve(operations)
    operations.connectors.create(
        name, {"connector.class": "x.Source", "name": name, "<b>key</b>": "<i>value</i>\u202e"}, None
    )
    reader = Reader(rest.url)
    overview = reader.open("/ui")
    address = next(link for link in overview.links() if link.startswith("/ui/connector?"))
    page = reader.open(address)
    for shown in (overview, page):
        assert shown.status == 200
        assert {tag for tag, _ in shown.elements} & {"script", "img", "b", "i"} <= {"script", "img"}
        assert len([1 for tag, _ in shown.elements if tag == "script"]) == 1
        assert "onerror" not in {key for _, values in shown.elements for key in values}
        assert not set("\u202e\u2066") & set(shown.text)
        assert "{" not in name or name in shown.text, "what looks like a template is text"
    assert page.fields["act"]["name"] == name
    assert reader.press(page, "pause").status == 200
    assert operations.cluster.targets[name].value == "PAUSED"


def test_a_trace_of_a_megabyte_is_cut_with_a_link_to_all_of_it(serve: ServerMaker) -> None:
    rest = serve(Failing())
    rest.create("a")
    reader = Reader(rest.url)
    overview, page = reader.open("/ui"), reader.open("/ui/connector?name=a")
    assert len(overview.html) < 50_000
    assert len(page.html) < 50_000
    assert "restart-failed" in page.buttons()
    assert "Traceback: <b>boom</b>" in page.text
    assert "b" not in {tag for tag, _ in page.elements}
    address = next(link for link in page.links() if "/trace" in link)
    whole = reader.session.get(rest.url + address, timeout=30)
    assert whole.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert whole.text == Failing.trace
    assert reader.open("/ui/connector/trace?name=a").status == 404, "the connector itself has not failed"


def test_thousands_of_connectors_are_paged_searched_and_filtered_by_the_server(serve: ServerMaker) -> None:
    cluster = Cluster()
    operations = MemoryOperations(cluster)
    for number in range(5000):
        operations.connectors.create(f"orders-{number:04}", {"connector.class": "x.FileSource", "name": "n"}, None)
    rest = serve(operations)
    reader = Reader(rest.url)
    page = reader.open("/ui")
    assert "5,000 of 5,000 connectors" in page.text
    assert "Page 1 of 100" in page.text
    assert len(page.html) < 100_000
    last = reader.open("/ui?page=100")
    assert "orders-4999" in last.text
    assert "Next page" not in last.text
    assert "1 of 5,000 connectors" in reader.open("/ui?q=RS-4321").text
    assert "No connector fits" in reader.open("/ui?state=FAILED").text
    for odd in ("page=0", "page=-1", "page=x", "page=99999999999", "state=<b>", "q=" + "z" * 5000, "page=²"):
        assert reader.open(f"/ui?{odd}").status == 200, odd


def test_a_worker_that_starts_says_so_by_a_page(serve: ServerMaker) -> None:
    operations = MemoryOperations()
    operations.started = False
    page = Reader(serve(operations).url).open("/ui")
    assert (page.status, "still starting up" in page.text) == (409, True)
    assert "Something has changed" not in page.text


def test_programs_are_told_errors_in_json(rest: Rest) -> None:
    answer = requests.get(f"{rest.url}/ui/connector?name=x", headers={"Accept": "*/*"}, timeout=30)
    assert answer.json() == {"error_code": 404, "message": "Connector x not found"}


def test_what_only_the_leader_may_do_is_done_by_it(two: tuple[Rest, Rest]) -> None:
    leader, follower = two
    leader.create("a")
    reader = Reader(follower.url)
    page = reader.press(reader.open("/ui/connector?name=a"), "stop")
    assert (page.status, page.url) == (200, f"{follower.url}/ui/connector?name=a&done=stop")
    assert leader.get("/connectors/a/status")["connector"]["state"] == "STOPPED"
    page = reader.press(reader.press(page, "resume"), "restart")
    assert page.status == 200
    assert leader.operations.cluster.restarts == ["a tasks=True failed=False"]
