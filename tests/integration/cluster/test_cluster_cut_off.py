"""Cuts one worker of two off from Kafka, without any sign to it."""

from cluster_worker import eventually
from kafka_relay import relayed_kafka
from presence import assert_never_two_at_once, create, spread


def health(worker, path="/health"):
    answer = worker.call("GET", path)
    return answer.status_code, answer.json()["status"]


def test_a_worker_that_is_cut_off_is_replaced_says_so_and_comes_back(start_worker, tmp_path):
    presence = tmp_path / "presence"
    presence.mkdir()
    with relayed_kafka() as kafka:
        near = start_worker(**{"bootstrap.servers": kafka.bootstrap_servers}).ready()
        far = start_worker(**{"bootstrap.servers": kafka.relayed_servers}).ready()
        create(near, presence)
        eventually(lambda: sorted(spread(near).values()) == [2, 2])

        kafka.relay.cut()
        eventually(lambda: spread(near) == {near.url.removeprefix("http://"): 4})
        eventually(lambda: health(far) == (500, "unhealthy"))
        assert health(far, "/health/ready") == (503, "not ready")
        assert far.get("/connectors") == ["c"]
        assert health(near) == (200, "healthy")
        assert health(near, "/health/ready") == (200, "ready")

        kafka.relay.mend()
        eventually(lambda: health(far) == (200, "healthy"))
        eventually(lambda: health(far, "/health/ready") == (200, "ready"))
        eventually(lambda: sorted(spread(near).values()) == [2, 2])
        eventually(lambda: sorted(spread(far).values()) == [2, 2])
        assert_never_two_at_once(presence)
        assert (far.stop(), near.stop()) == (0, 0)
