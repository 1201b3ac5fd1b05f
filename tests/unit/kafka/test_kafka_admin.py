"""How long requests of the admin client may take before they are made again; no broker is asked."""

from concurrent.futures import Future

from confluent_kafka import KafkaError, KafkaException

from connect.kafka.admin.calls import PatientAdmin
from connect.lib.deadline import Deadline


def test_a_request_that_gets_lost_is_made_again_with_more_patience_each_time():
    limits_s: list[float] = []

    def ask(timeout_s: float) -> Future[str]:
        limits_s.append(timeout_s)
        answer: Future[str] = Future()
        if len(limits_s) < 3:
            answer.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
        else:
            answer.set_result("answered")
        return answer

    admin = PatientAdmin({"bootstrap.servers": "127.0.0.1:1"})
    assert admin.call(ask, Deadline.after(60), "asking", first_s=0.5) == "answered"
    assert limits_s == [0.5, 1.0, 2.0]

    limits_s.clear()
    assert admin.call(ask, Deadline.after(60), "asking") == "answered"
    assert limits_s == [10.0, 10.0, 10.0]
