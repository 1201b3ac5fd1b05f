"""A follower sends to the leader what only the leader may do: two real servers over one cluster in memory."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer

from memory_cluster import Cluster, MemoryOperations
from rest_client import Rest, ServerMaker, at, refused
from sample_plugins import FILE_SOURCE

from connect.api.errors import RetriableError
from connect.rest.access.worker_signatures import STAMP

CONFIG = {"connector.class": FILE_SOURCE, "topic": "t"}
CONFLICT = "Cannot complete request because of a conflicting operation (e.g. worker rebalance)"
Two = tuple[Rest, Rest]


def test_a_life_through_the_follower(two: Two) -> None:
    leader, follower = two
    name = "a/b;c %"
    created = follower("POST", "/connectors", {"name": name, "config": CONFIG})
    assert created.status_code == 201
    assert created.headers["Location"] == f"{follower.url}{at(name)}"
    assert created.headers["Content-Type"] == "application/json"
    assert follower("PUT", at(name, "/config"), CONFIG | {"x": "1"}).status_code == 200
    assert follower("PATCH", at(name, "/config"), {"x": None}).json()["config"] == CONFIG | {"name": name}
    assert follower("POST", at(name, "/restart?includeTasks=true")).status_code == 202
    assert leader.operations.cluster.restarts == [f"{name} tasks=True failed=False"]
    assert follower("PUT", at(name, "/stop")).status_code == 204
    assert follower("DELETE", at(name)).status_code == 204
    assert leader.get("/connectors") == []


def test_only_the_leader_checks_a_configuration(two: Two) -> None:
    leader, follower = two
    follower("PUT", "/connectors/a/config", CONFIG)
    assert len(leader.operations.checked) == 1
    assert follower.operations.checked == []


def test_a_follower_knows_what_was_written_through_it(two: Two) -> None:
    _, follower = two
    assert follower("PUT", "/connectors/a/config", CONFIG).status_code == 201
    assert follower.operations.caught_up == 1
    assert follower("PUT", "/connectors/a/config", {"connector.class": FILE_SOURCE}).status_code == 400
    assert follower.operations.caught_up == 1


def test_what_the_leader_did_is_told_also_when_the_follower_cannot_read_it(two: Two) -> None:
    _, follower = two
    follower.operations.catch_up_error = RetriableError("Topic c was not read to its end in time.")
    assert follower("PUT", "/connectors/a/config", CONFIG).status_code == 201


def test_a_request_waits_while_workers_do_not_agree_on_who_leads(two: Two) -> None:
    leader, follower = two
    leader.operations.leads = False
    threading.Timer(0.5, lambda: setattr(leader.operations, "leads", True)).start()
    created = follower("POST", "/connectors", {"name": "a", "config": CONFIG})
    assert created.status_code == 201, created.text


def test_errors_of_the_leader_come_back_as_they_are(two: Two) -> None:
    leader, follower = two
    leader.create("a")
    again = follower("POST", "/connectors", {"name": "a", "config": CONFIG})
    refused(again, 409, "Connector a already exists")
    assert "Missing required" in refused(follower("PUT", "/connectors/b/config", {"connector.class": FILE_SOURCE}), 400)


def test_a_body_that_cannot_be_read_is_refused_at_once(two: Two) -> None:
    refused(two[1]("POST", "/connectors", data="[]"), 500)


def test_there_is_no_third_hop(two: Two) -> None:
    leader, follower = two
    refused(follower("DELETE", "/connectors/x?forward=false"), 409, CONFLICT)
    refused(follower("DELETE", "/connectors/x?forward=true"), 404, "Connector x not found")
    for query in ("", "?forward=true", "?forward=false"):
        refused(leader("DELETE", f"/connectors/x{query}"), 404, "Connector x not found")


def test_existence_comes_before_leadership(two: Two) -> None:
    leader, follower = two
    leader.create("a")
    refused(follower("PUT", "/connectors/a/stop?forward=false"), 409, CONFLICT)
    refused(follower("PUT", "/connectors/x/stop?forward=false"), 404, "Unknown connector x")


def test_two_followers_that_take_each_other_for_the_leader_end_in_a_conflict(serve: ServerMaker) -> None:
    one, other = Cluster(), Cluster()
    first = serve(MemoryOperations(one, leads=False), leader_wait_s=0.3)
    second = serve(MemoryOperations(other, leads=False))
    one.leader_url, other.leader_url = second.url, first.url
    refused(first("DELETE", "/connectors/x"), 409, CONFLICT)


def test_a_request_waits_for_a_leader(serve: ServerMaker) -> None:
    operations = MemoryOperations(leads=False)
    worker = serve(operations)
    elected = threading.Timer(0.3, setattr, (operations, "leads", True))
    elected.start()
    assert worker("PUT", "/connectors/a/config", CONFIG).status_code == 201
    elected.join()


def test_a_request_while_nobody_leads_is_a_409(serve: ServerMaker) -> None:
    follower = serve(MemoryOperations(leads=False), leader_wait_s=0.2)
    text = "Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway."
    refused(follower("DELETE", "/connectors/x"), 409, text)


def test_a_leader_that_is_gone_is_a_500_that_says_so(serve: ServerMaker) -> None:
    cluster = Cluster(leader_url="http://127.0.0.1:1")
    follower = serve(MemoryOperations(cluster, leads=False))
    assert refused(follower("DELETE", "/connectors/x"), 500).startswith("IO Error trying to forward REST request: ")


def test_credentials_reach_the_leader_and_other_headers_do_not(serve: ServerMaker) -> None:
    leader = _Echo()
    follower = serve(MemoryOperations(Cluster(leader_url=leader.url), leads=False))
    answer = follower(
        "DELETE", "/connectors/x", headers={"Authorization": "Basic abc", "X-Other": "1", "Cookie": "a=b"}
    )
    leader.close()
    assert answer.status_code == 204
    assert leader.headers["Authorization"] == "Basic abc"
    assert not {"X-Other", "Cookie"} & set(leader.headers)


def test_a_request_is_signed_anew_when_the_connection_to_the_leader_breaks(serve: ServerMaker) -> None:
    leader = _Breaking()
    follower = serve(MemoryOperations(Cluster(leader_url=leader.url), leads=False))
    assert follower("DELETE", "/connectors/x").status_code == 204
    assert follower("DELETE", "/connectors/x").status_code == 204
    leader.close()
    assert len(leader.stamps) == 3
    assert len({*leader.stamps}) == 3


class _Served:
    """An HTTP server that answers on a thread of its own until it is closed."""

    def __init__(self, server: HTTPServer) -> None:
        self._server = server
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Echo(_Served):
    """An HTTP server that keeps the headers of one request."""

    def __init__(self) -> None:
        headers: dict[str, str] = {}

        class Keep(BaseHTTPRequestHandler):
            def do_DELETE(self) -> None:
                headers.update(self.headers.items())
                self.send_response(204)
                self.end_headers()

        self.headers = headers
        super().__init__(HTTPServer(("127.0.0.1", 0), Keep))


class _Breaking(_Served):
    """An HTTP server that keeps connections open, and closes one without an answer to its second request."""

    def __init__(self) -> None:
        stamps: list[str] = []
        self.stamps = stamps

        class Break(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            requests = 0

            def do_DELETE(self) -> None:
                stamps.append(self.headers[STAMP])
                self.requests += 1
                if self.requests == 2:
                    self.close_connection = True
                    return
                self.send_response(204)
                self.end_headers()

        server = ThreadingHTTPServer(("127.0.0.1", 0), Break)
        server.daemon_threads = True
        super().__init__(server)
