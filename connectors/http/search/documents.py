"""Makes bulk actions from records: id, version and source of a document, as Confluent's sink makes them. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from connect.api.errors import ConfigError, SchemaError
from connect.api.records import Batch, Column, Consumed, Header
from connect.api.values.good_rows import good_rows, good_values
from connect.api.values.json_forms import JsonForms, json_texts
from connectors.http.search.config import TIMESTAMP, SearchSinkConfig
from connectors.http.search.names import is_index_name

_DIGITS: Final = re.compile("[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Action:
    """Holds the part of a bulk request that writes one record.

    `row` is the record's index in the batch. `lines` are the lines of the request, each with a line end. `kind` is
    index, create, update or delete. `document_id` is the id in the form in which the server returns it. With
    `is_versioned` the server carries it out unless the document has the same version or a later one; a data stream,
    unless the document is there.
    """

    row: int
    kind: str
    document_id: str
    is_versioned: bool
    lines: bytes


class Documents:
    """Makes the actions of batches. Owned by the task thread."""

    def __init__(self, config: SearchSinkConfig) -> None:
        self._config = config
        self._names: dict[str, str] = {}
        self._resources = dict(pair.split(":", 1) for pair in config.resources)
        self._forms = JsonForms(numeric_decimals=True, named_pairs=True, compact_maps=config.compact_map_entries)

    def index_of(self, topic: str) -> str:
        """Return the index, alias or data stream of a topic.

        Raise SchemaError if the topic's name can be none, and ConfigError if somebody else makes them and the settings
        name none.
        """
        if topic not in self._names:
            self._names[topic] = self._resources.get(topic) or self._made_name(topic)
        return self._names[topic]

    def actions(self, batch: Batch) -> tuple[list[Action], dict[int, Exception]]:
        """Return the actions of a batch in order, and the errors of records that no action can write, by their rows."""
        assert batch.consumed is not None
        texts, bad = self._texts(batch.values)
        offsets = batch.consumed.offsets.to_pylist()
        places = _places(batch.consumed)
        keys, bad_keys = good_rows(batch.keys, len(batch))
        if not self._config.ignores_key(batch.topic):
            bad = bad_keys | bad
        times = batch.timestamps_ms.to_pylist() if batch.timestamps_ms is not None else [None] * len(batch)
        headers: Sequence[Sequence[Header]] = batch.headers if batch.headers is not None else [()] * len(batch)
        index, made, written = self.index_of(batch.topic), [], set()
        # A merged document has no version of ours, and a delete with one could be taken for older than the document.
        is_versioned = not self._config.ignores_key(batch.topic) and not self._config.merges
        for row, text in enumerate(texts):
            if row in bad:
                continue
            try:
                if text is None and not self._deletes(keys[row]):
                    continue
                head: dict[str, Any] = {"_index": index, "_id": self._id(batch, keys[row], places[row])}
                if is_versioned:
                    if (head["_id"], offsets[row]) in written:
                        raise _of_one_id(head["_id"])
                    written.add((head["_id"], offsets[row]))
                    head["version"] = self._version(headers[row], offsets[row])
                    head["version_type"] = "external"
                kind = self._kind(text)
                lines = self._lines(kind, head, text, times[row])
                made.append(Action(row, kind, head["_id"], is_versioned or kind == "create", lines))
            except SchemaError as error:
                bad[row] = error
        return made, bad

    def _made_name(self, topic: str) -> str:
        if self._config.is_external:
            raise ConfigError(
                f"Topic {topic} has no index, data stream or alias.",
                key="topic.to.external.resource.mapping",
                fix="Name one there, as external.resource.usage says that all topics have one.",
            )
        name = self._config.name_of(topic)
        if not is_index_name(name):
            raise SchemaError(
                f"Topic {topic} gives {name!r}, which no index can be named.",
                fix="Name another by topic.to.external.resource.mapping, or by the transform RegexRouter.",
            )
        return name

    def _texts(self, values: Column) -> tuple[Sequence[bytes | None], dict[int, Exception]]:
        """Return the values as JSON, and the errors of those that have no such form, by their rows."""
        return good_values(values, lambda part: json_texts(part, self._forms).to_pylist())

    def _deletes(self, key: Any) -> bool:
        """Return True if a record without a value deletes a document. Raise SchemaError if it is a bad record."""
        if self._config.on_null.lower() == "fail":
            raise SchemaError(
                "The record has no value.", key="behavior.on.null.values", fix="Set it to delete or ignore."
            )
        return self._config.on_null.lower() == "delete" and key is not None

    def _id(self, batch: Batch, key: Any, place: str) -> str:
        if self._config.ignores_key(batch.topic):
            assert batch.consumed is not None
            return f"{batch.topic}+{batch.consumed.topic_partition.partition}+{place}"
        if key is None:
            raise SchemaError("Key is used as document id and can not be null.", key="key.ignore")
        if isinstance(key, Mapping) and len(key) == 1:
            key = next(iter(key.values()))
        if isinstance(key, bool) or not isinstance(key, int | str):
            raise SchemaError(
                f"A key of type {type(key).__name__} is no document id.", key="key.ignore",
                fix="Make it a text, a whole number or a struct of one such field, as by the transform "
                "ExtractField$Key, or set key.ignore=true.",
            )  # fmt: skip
        return str(key)

    def _version(self, headers: Sequence[Header], offset: int) -> int:
        name = self._config.external_version_header
        if not name:
            return offset
        found = next((header.value for header in reversed(headers) if header.key == name), None)
        version = _whole_number(found)
        if version is not None:
            return version
        raise SchemaError(
            f"The record has no header {name} with a whole number from 0 to 2^63-1.", key="external.version.header"
        )

    def _kind(self, text: bytes | None) -> str:
        if text is None:
            return "delete"
        if self._config.is_stream:
            return "create"
        return "update" if self._config.merges else "index"

    def _lines(self, kind: str, head: dict[str, Any], text: bytes | None, time_ms: int | None) -> bytes:
        if text is None:
            return orjson.dumps({kind: head}) + b"\n"
        if kind == "update":
            line = orjson.dumps({kind: {**head, "retry_on_conflict": 5}})
            return b'%b\n{"doc":%b,"doc_as_upsert":true}\n' % (line, text)
        is_stamped = kind == "create" and self._config.stamps_documents
        return b"%b\n%b\n" % (orjson.dumps({kind: head}), self._stamped(text, time_ms) if is_stamped else text)

    def _stamped(self, text: bytes, time_ms: int | None) -> bytes:
        document = orjson.loads(text)
        if not isinstance(document, dict):
            raise SchemaError("A document of a data stream is an object, and this value is none.")
        field = next((name for name in self._config.stream_timestamp if name in document), None)
        stamp = time_ms if field is None else document[field]
        if TIMESTAMP not in document and isinstance(stamp, int | str | None):
            # The text is not parsed, so that numbers keep more digits than Python's float has.
            rest = (b"," if document else b"") + text.lstrip()[1:]
            return b'{"%b":%b%b' % (TIMESTAMP.encode(), orjson.dumps(stamp), rest)
        exact = _with_digits(text)
        return orjson.dumps({**exact, TIMESTAMP: time_ms if field is None else exact[field]})


def _with_digits(text: bytes) -> dict[str, Any]:
    """Return an object of JSON whose numbers orjson writes with the digits that they have in the text."""

    def as_it_is(number: str) -> orjson.Fragment:
        return orjson.Fragment(number)

    found: dict[str, Any] = json.loads(text, parse_int=as_it_is, parse_float=as_it_is)
    return found


def _places(consumed: Consumed) -> Sequence[str]:
    """Return the offset of each row as a text, for the second and later rows of one record with `+1` and so on."""
    offsets = consumed.offsets.to_pylist()
    if consumed.row_numbers is None:
        return [str(offset) for offset in offsets]
    later = (max(0, number - 1) for number in consumed.row_numbers.to_pylist())
    return [f"{offset}+{nth}" if nth else str(offset) for offset, nth in zip(offsets, later, strict=True)]


def _of_one_id(document_id: str) -> SchemaError:
    return SchemaError(
        f"A transform made several rows of this record, and two of them are the document {document_id[:100]!r}.",
        key="key.ignore",
        fix="Give each row a key of its own, as by the transform ValueToKey, or set key.ignore=true.",
    )


def _whole_number(value: object) -> int | None:
    """Return the number that a header's value is or spells in digits, if it can be a version; else None."""
    if isinstance(value, bytes):
        value = value.decode("ascii", "replace")
    if isinstance(value, str):
        value = int(value) if _DIGITS.fullmatch(value) else None
    return value if type(value) is int and 0 <= value < 1 << 63 else None
