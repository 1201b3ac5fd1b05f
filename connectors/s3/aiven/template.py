"""Makes the names of objects from file.name.template of Aiven's sinks. Pure.

The variables are those of io.aiven.kafka.connect.common.config.FilenameTemplateVariable, except `{{key}}`, which keeps
one record per file and has later records replace it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from connectors.s3.paths.layout import Layout, Place
from connectors.s3.paths.object_chain import Chain
from connectors.s3.paths.partitioners import Paths, TimePartitioner
from connectors.s3.paths.path_format import PathFormat

if TYPE_CHECKING:
    from connect.api.records import Batch, TopicPartition
    from connectors.s3.paths.timestamps import TimestampExtractor

_VARIABLE: Final = re.compile(r"\{\{\s*(\w+)\s*(?::\s*(\w+)\s*=\s*(\w+)\s*)?\}\}")
_UNITS: Final = {"yyyy": "yyyy", "YYYY": "yyyy", "MM": "MM", "dd": "dd", "HH": "HH"}
_DATE: Final = "yyyy'-'MM'-'dd"
_OFFSET: Final = "\0"
"""This character stands for the start offset in a path. No key contains it."""
_PARTITION_DIGITS: Final = 10
_OFFSET_DIGITS: Final = 20
_HOUR_MS: Final = 3_600_000


@dataclass(frozen=True, slots=True)
class Template:
    """Holds a parsed template: its literal texts and its variables, each with its parameter's value, in order."""

    parts: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, text: str) -> Template:
        """Parse a template. ValueError: a variable or parameter is not known, or a needed variable is missing."""
        parts: list[tuple[str, str, str]] = []
        at = 0
        for found in _VARIABLE.finditer(text):
            parts.extend((("", text[at : found.start()], ""), (found[1], found[2] or "", found[3] or "")))
            at = found.end()
        parts.append(("", text[at:], ""))
        template = cls(tuple(parts))
        template._check(text)
        return template

    @property
    def reads_time(self) -> bool:
        """Return True if paths depend on a time."""
        return any(name in {"timestamp", "utc_date", "local_date"} for name, _, _ in self.parts)

    @property
    def offset_digits(self) -> int:
        """Return the least number of digits of a start offset."""
        (value,) = (value for name, _, value in self.parts if name == "start_offset")
        return _OFFSET_DIGITS if value == "true" else 0

    def pattern(self, topic: str, partition: int, prefix: str) -> str:
        """Return the pattern of paths that begin with `prefix`, in the form that `PathFormat` reads."""
        made, literal = "", prefix
        for name, text, value in self.parts:
            letters = _UNITS[value] if name == "timestamp" else _DATE if name.endswith("_date") else ""
            if letters:
                made, literal = made + _quoted(literal) + letters, ""
            else:
                literal += self._literal(name, text, value, topic, partition)
        return made + _quoted(literal)

    def _check(self, text: str) -> None:
        names = [name for name, _, _ in self.parts if name]
        if "key" in names:
            raise ValueError("{{key}} keeps the last record of each key alone, which this sink does not do")
        for wanted in ("partition", "start_offset"):
            if names.count(wanted) != 1:
                raise ValueError(f"Name {{{{{wanted}}}}} once, so that no two files have one name")
        for name, parameter, value in self.parts:
            known = name in {"", "topic", "partition", "start_offset", "utc_date", "local_date"}
            if not known and not (name == "timestamp" and parameter == "unit" and value in _UNITS):
                raise ValueError(
                    f"{{{{{name}}}}} is not known in {text!r}; known are topic, partition, start_offset, "
                    "timestamp:unit=yyyy, MM, dd or HH, utc_date and local_date"
                )

    @staticmethod
    def _literal(name: str, text: str, value: str, topic: str, partition: int) -> str:
        match name:
            case "topic":
                return topic
            case "partition":
                return str(partition).zfill(_PARTITION_DIGITS if value == "true" else 0)
            case "start_offset":
                return _OFFSET
        return text


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'" if text else ""


@dataclass(frozen=True, slots=True)
class TemplatePartitioner:
    """Makes paths that are the whole names of objects, except their start offsets."""

    template: Template
    prefix: str
    extractor: TimestampExtractor
    timezone: str

    def paths(self, batch: Batch) -> Paths:
        """Return one path, or one per hour if the template reads the time."""
        assert batch.consumed is not None
        path = PathFormat(self.template.pattern(batch.topic, batch.consumed.topic_partition.partition, self.prefix))
        if not self.template.reads_time:
            return Paths((path.constant,))
        return TimePartitioner(self.extractor, _HOUR_MS, path, self.timezone).paths(batch)


@dataclass(frozen=True, slots=True)
class TemplateLayout(Layout):
    """Makes keys of paths that a template gave: a path is the key, with a mark in place of the start offset."""

    def chain(self, place: Place, partition: TopicPartition) -> Chain:  # noqa: ARG002 - the path tells it
        """Return the chain of keys of a place's objects."""
        stem, _, extension = place.path.partition(_OFFSET)
        return Chain(stem, self.pad_width, extension)

    def key(self, place: Place, partition: TopicPartition, start_offset: int, extension: str | None = None) -> str:
        """Return the key that the template gives. `extension` is ignored, as the template has it already."""
        del extension
        return self.chain(place, partition).key(start_offset)
