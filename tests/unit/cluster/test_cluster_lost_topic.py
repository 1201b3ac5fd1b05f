"""Checks what is told of an internal topic that was deleted while the worker runs."""

from captured_logs import capture_logs

from connect.api.errors import ConnectError
from connect.cluster.store.lost_topic import LostTopic
from connect.kafka.admin.topic_specs import InternalTopic, TopicSpec
from connect.kafka.client.errors import MissingTopicError

STATUS = InternalTopic(TopicSpec("statuses", 5, 3), "status.storage.topic", "statuses")
MISSING = MissingTopicError("Failed reading topic statuses", fix="Set topic.creation.default.partitions.")


class Admin:
    def __init__(self, refusal: ConnectError | None = None) -> None:
        self._refusal = refusal

    def ensure_internal(self, topics, deadline, *, make):
        if self._refusal is not None:
            raise self._refusal
        return [topic.spec.name for topic in topics]


def _heard(error, admin):
    """Return the lines that are logged, and how often this worker has written its records again."""
    written = []
    lost = LostTopic(STATUS, lambda: admin, lambda: written.append("all"), may_make=True)
    with capture_logs() as lines:
        lost.heard(error)
        if lost._mending is not None:
            lost._mending.join(60)
    return lines, len(written)


def test_a_deleted_topic_is_named_with_its_key_and_without_advice_for_topics_of_rows():
    lines, written = _heard(MISSING, Admin())
    assert [line["event"] for line in lines] == ["internal_topic_missing", "internal_topic_made_again"]
    assert {(line["topic"], line["key"]) for line in lines} == {("statuses", "status.storage.topic")}
    assert "topic.creation.default" not in str(lines)
    assert written == 1


def test_why_a_topic_is_not_made_again_is_told_with_what_to_do():
    lines, written = _heard(MISSING, Admin(ConnectError("It may not be created.", fix="Grant CREATE.")))
    assert [line["event"] for line in lines] == ["internal_topic_missing", "internal_topic_gone"]
    assert "Grant CREATE" in lines[1]["error"]
    assert written == 0


def test_another_error_is_told_as_it_is():
    lines, written = _heard(ConnectError("Not allowed.", fix="Grant READ."), Admin())
    assert ([line["event"] for line in lines], written) == (["Not allowed. Grant READ."], 0)
