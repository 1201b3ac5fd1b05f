"""A group's coordinator that answers when nobody waits any more does not end the process."""

import subprocess
import sys

LATE = """
from connect.api.errors import RetriableError
from connect.kafka.admin.topics import TopicAdmin
from connect.lib.deadline import Deadline

# librdkafka's own brokers, which take so many milliseconds for each answer.
admin = TopicAdmin({"test.mock.num.brokers": 1, "test.mock.broker.rtt": 400})
admin.cluster_id(Deadline.after(60))
try:
    admin.group_members("orders", Deadline.after(0.1))
except RetriableError as error:
    print(error)
# This answer comes behind the late one.
print(admin.cluster_id(Deadline.after(60)))
"""


def test_an_answer_that_comes_too_late_leaves_the_process_alive():
    child = subprocess.run([sys.executable, "-P", "-c", LATE], capture_output=True, text=True, timeout=120, check=False)

    assert child.returncode == 0, child.stderr
    assert "no answer from the brokers in time" in child.stdout
