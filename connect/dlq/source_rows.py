"""Turns a source's letter back into the row that the connector gave."""

from __future__ import annotations

from connect.api.codec import HeaderConverter
from connect.api.errors import ConnectError
from connect.api.records import Batch
from connect.dlq.letter import Letter
from connect.runtime.records.source_letters import LetterFormat, letter_converters


def batches_of(letter: Letter, headers: HeaderConverter) -> list[Batch]:
    """Return the row as a batch. ConnectError when the letter holds no row to replay."""
    if letter.source_format is not LetterFormat.JSON:
        raise ConnectError(
            f"The letter is written as {letter.source_format or 'something unknown'}, for people to read only: "
            "the row had no JSON form, or was too large."
        )
    key_converter, value_converter = letter_converters()
    raw = letter.raw
    (values,) = value_converter.decode(raw.topic, raw.values)
    keys = None if raw.keys is None or raw.keys.null_count else key_converter.decode(raw.topic, raw.keys)[0]
    own = [headers.decode(letter.topic, key, value) for key, value in letter.headers]
    partition = letter.context.get("partition", "")
    wanted = int(partition) if partition.isdigit() else None
    return [Batch(letter.topic, values, keys, [own] if own else None, raw.timestamps_ms, wanted)]
