"""Declares the settings of Datagen. Values only: no Arrow, no I/O."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Final

from connect.api.config import ConnectorConfig, Int, Long, String, key, non_empty
from connect.api.errors import ConfigProblem
from connect.api.reach import Reach

SCHEMAS: Final = ("quickstart", "schema.string", "schema.filename")


class DatagenConfig(ConnectorConfig):
    """Says which rows are made up, how many, and how fast."""

    topic: Annotated[String, non_empty] = key(
        "kafka.topic", doc="The topic of the rows.", importance="high", group="Datagen"
    )
    max_interval_ms: Long = key(
        "max.interval", 500, doc="The longest time between two rows, in milliseconds; on average it is half of it. "
        "0: as fast as Kafka takes them.", importance="high", group="Datagen",
    )  # fmt: skip
    iterations: Int = key(
        "iterations", -1, doc="How many rows each task makes; below 1: no end.", importance="high", group="Datagen"
    )
    schema_text: String = key(
        "schema.string", "", doc="The rows' Avro schema, with arg.properties on their values.", importance="high",
        group="Datagen",
    )  # fmt: skip
    schema_file: String = key(
        "schema.filename", "", reach=Reach.FILE, doc="A file with such a schema.", importance="high", group="Datagen"
    )
    key_field: String = key(
        "schema.keyfield", "", doc="The field that is the records' key, too; of a quick start its own.",
        importance="high", group="Datagen", harmless="the name of a field",
    )  # fmt: skip
    quick_start: String = key(
        "quickstart", "", doc="The name of rows that are known here, such as orders, users or pageviews.",
        importance="high", group="Datagen",
    )  # fmt: skip
    seed: Long | None = key(
        "random.seed", None, doc="The same number makes the same rows.", importance="low", group="Datagen"
    )
    generate_timeout_ms: Long | None = key(
        "generate.timeout", None, doc="Has no effect: a row is made in microseconds.", importance="low",
        group="Datagen",
    )  # fmt: skip

    def problems(self) -> Iterable[ConfigProblem]:
        """Yield a problem unless exactly one of the keys for a quick start or a schema is set."""
        given = [name for name in SCHEMAS if self.originals.get(name)]
        if len(given) != 1:
            told = f"not {' and '.join(given)} together" if given else "and none is given"
            yield ConfigProblem(
                given[0] if given else "quickstart", f"One of {', '.join(SCHEMAS)} says what rows are, {told}."
            )
