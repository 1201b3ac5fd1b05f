"""Sets the clock of a worker wrong: Python loads this module as it starts, and the offset is in a file that the worker
names.

Only the clock that people and time servers set is wrong. Monotonic clocks and the kernel's timers stay right.
"""

import os
import struct
import time

_FILE = os.environ.get("TEST_CLOCK_FILE")
_real_s, _real_ns = time.time, time.time_ns


def _off_s() -> float:
    (off_s,) = struct.unpack("d", os.pread(_descriptor, 8, 0))
    return off_s


if _FILE:
    _descriptor = os.open(_FILE, os.O_RDONLY)
    time.time = lambda: _real_s() + _off_s()
    time.time_ns = lambda: _real_ns() + int(_off_s() * 1e9)
