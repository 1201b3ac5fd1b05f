import json
import subprocess
import sys

PROGRAM = """
import logging, sys
from connect.telemetry.logs import set_up_logs
set_up_logs(sys.argv[1], "INFO")
import structlog
logger = structlog.get_logger("connect.x")
logger.info("it_happened", connector="c", task=1)
logger.debug("not shown")
logging.getLogger("connect.y").warning("plain %s", "text", extra={"connector": "d", "rows": 2})
def fail():
    password = "hush"
    raise ValueError("boom")
try:
    fail()
except ValueError:
    logger.exception("it_failed")
logger.error("task_failed", exception="Traceback of another process\\n  line 2")
logging.getLogger("connect.x").setLevel("ERROR")
logger.info("not shown any more")
"""


def lines(log_format):
    ran = subprocess.run([sys.executable, "-c", PROGRAM, log_format], capture_output=True, text=True, check=True)
    assert ran.stdout == ""
    assert "hush" not in ran.stderr
    assert "not shown" not in ran.stderr
    return ran.stderr


def test_json_has_one_object_per_event():
    events = [json.loads(line) for line in lines("json").splitlines()]
    assert [e["event"] for e in events] == ["it_happened", "plain text", "it_failed", "task_failed"]
    assert (events[0]["level"], events[0]["logger"], events[0]["connector"]) == ("info", "connect.x", "c")
    assert (events[1]["level"], events[1]["connector"], events[1]["rows"]) == ("warning", "d", 2)
    assert "ValueError: boom" in events[2]["exception"]
    assert events[0]["timestamp"].endswith("Z")


def test_text_shows_traces_on_lines_of_their_own():
    text = lines("text")
    assert "connector=c" in text
    assert "\nValueError: boom" in text
    assert "\n  line 2" in text
