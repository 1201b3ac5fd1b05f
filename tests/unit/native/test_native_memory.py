"""Memory of large batches is used again: from the system, every page of it would be zeroed and mapped anew."""

from __future__ import annotations

import resource

import pyarrow as pa
import pytest

from connect import native

_PAGE = resource.getpagesize()
_ROWS = 6_000


@pytest.mark.skipif(native.module() is None, reason="NOT CHECKED: the native code is not there")
def test_batches_of_about_the_same_size_share_their_memory() -> None:
    batches = [
        pa.StructArray.from_arrays([pa.array([("x" * (900 + i % 7)) for _ in range(_ROWS)])], ["note"])
        for i in range(28)
    ]
    held: list[pa.Array] = []
    made_bytes, faults = 0, 0
    for number, batch in enumerate(batches):
        # Two are on the way to Kafka while the next is made.
        del held[:-2]
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        text = native.encode_json(batch)
        if number > 6:
            faults += resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
            made_bytes += text.nbytes
        held.append(text)
    assert made_bytes > 100 << 20
    assert faults < made_bytes // _PAGE // 10, f"{faults} faults for {made_bytes // _PAGE} pages"
