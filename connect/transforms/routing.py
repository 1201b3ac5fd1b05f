"""Gives batches new topic names; TimestampRouter splits a batch if its rows get several topics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from connect.api.errors import RejectedRowsError, SchemaError
from connect.api.records import Batch
from connect.lib.javatext.case_format import changed_case
from connect.lib.javatext.date_format import DateFormat
from connect.lib.javatext.regex import compile_pattern, expand
from connect.transforms.settings.config import RegexRouterConfig, TimestampRouterConfig
from connect.transforms.settings.transform_common_config import ChangeTopicCaseConfig

if TYPE_CHECKING:
    import pyarrow as pa


class TopicPattern:
    """Holds a Java regular expression for topics, and the replacement for what it matches."""

    def __init__(self, regex: str, replacement: str) -> None:
        self._pattern = compile_pattern(regex)
        self._replacement = replacement

    def replaced(self, topic: str) -> str | None:
        """Return the new topic; None if the former one does not match. SchemaError: the replacement names a group that
        is missing.
        """
        # As in Java, the whole topic must match; then the first match within it is replaced, which may be a part of the
        # topic.
        match = self._pattern.search(topic) if self._pattern.fullmatch(topic) else None
        if match is None:
            return None
        try:
            return topic[: match.start()] + expand(match, self._replacement) + topic[match.end() :]
        except (ValueError, IndexError) as error:
            raise SchemaError(f"Topic {topic} cannot become {self._replacement}: {error}") from error


class RegexRouter:
    """Gives a batch another topic. All rows of a batch have the same topic, so it is not split."""

    def __init__(self, config: RegexRouterConfig) -> None:
        self._topics = TopicPattern(config.regex, config.replacement)

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch under its new topic."""
        topic = self._topics.replaced(batch.topic)
        return [batch if topic is None else replace(batch, topic=topic)]


class ChangeTopicCase:
    """Gives a batch its topic's name in another case format, such as LOWER_HYPHEN."""

    def __init__(self, config: ChangeTopicCaseConfig) -> None:
        self._source, self._target = config.source, config.target

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch under its new topic."""
        return [replace(batch, topic=changed_case(batch.topic, self._source, self._target))]


class TimestampRouter:
    """Makes one batch per topic, in the order in which the topics first appear."""

    def __init__(self, config: TimestampRouterConfig) -> None:
        self._format = DateFormat(config.timestamp_format, datetime.now(UTC).year)
        self._topic = config.topic_format

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the rows in batches under the topics of their timestamps."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not len(batch):
            return [batch]
        times = batch.timestamps_ms if batch.timestamps_ms is not None else pa.nulls(len(batch), pa.int64())
        missing = pc.indices_nonzero(times.is_null()).to_pylist()
        if missing:
            raise RejectedRowsError(
                {i: SchemaError(f"Timestamp missing on record: topic {batch.topic}, row {i}.") for i in missing}
            )
        steps = pc.dictionary_encode(_floored(times, self._format.step_ms))
        topics = [self._topic_of(batch.topic, step.as_py()) for step in steps.dictionary]
        places = pa.array([topics.index(topic) for topic in topics], pa.int32()).take(steps.indices)
        return _parted(batch, pc.unique(places).to_pylist(), places, topics)

    def _topic_of(self, topic: str, ms: int) -> str:
        return self._topic.replace("${topic}", topic).replace("${timestamp}", self._format.format(ms))


def _floored(times: pa.Int64Array, step_ms: int) -> pa.Array:
    """Return the start of each moment's step, so that only a few distinct values have to be formatted."""
    import pyarrow.compute as pc

    if step_ms == 1:
        return times
    whole = pc.multiply(pc.divide(times, step_ms), step_ms)
    return pc.if_else(pc.greater(whole, times), pc.subtract(whole, step_ms), whole)


def _parted(batch: Batch, order: Sequence[int], places: pa.Array, topics: Sequence[str]) -> list[Batch]:
    import pyarrow.compute as pc

    if len(order) == 1:
        return [replace(batch, topic=topics[order[0]])]
    return [
        replace(batch.take(pc.indices_nonzero(pc.equal(places, place)).to_pylist()), topic=topics[place])
        for place in order
    ]
