"""Provides rows of a table keyed by one of its columns, as users key it by two transforms: primitive keys, null ones
too.
"""

from __future__ import annotations

from typing import Any, Final

from connect.api.records import Column
from connect.api.transform import Transform
from connect.plugins.catalog import Catalog
from connect.runtime.parts.task_parts import build_chain
from connect.runtime.settings.connector_config import SourceConnectorConfig
from connect.testing.drivers import SourceDriver
from connect.testing.equality import difference
from connect.testing.rows import make_rows
from connect.testing.source import SourceSuite
from connect.testing.source_restarts import ROWS

COLUMNS: Final = ("id", "text", "whole", "number")
_JAVA: Final = "org.apache.kafka.connect.transforms"


class KeyedSourceSuite(SourceSuite):
    """SourceSuite, and keys of columns, for a source whose values are the rows of a table."""

    def test_a_column_becomes_the_key(self, system: SourceDriver) -> None:
        system.insert(make_rows(ROWS))
        with self.run_of(system) as run:
            self.read_all(run, system)
        for column in COLUMNS:
            first, second = _keyed_by(column)
            for batch in run.full_batches:
                wanted = [record.value[column] for record in batch.rows()]
                [keyed] = [two for one in first.apply(batch) for two in second.apply(one)]
                assert keyed.keys is not None, f"Keyed by {column}, the rows have no keys."
                arrow = Column.from_arrow(keyed.keys.arrow(), keyed.keys.schema)
                for form, keys in (("rows", keyed.keys), ("Arrow form", arrow)):
                    found = difference(wanted, list(keys.rows()), "keys")
                    assert found is None, f"The {form} of keys made of {column} are others than its values: {found}"


def _keyed_by(column: str) -> list[Transform]:
    """ValueToKey and ExtractField, as a configuration names them."""
    given: dict[str, Any] = {
        "name": "kit", "connector.class": "kit", "transforms": "key,part",
        "transforms.key.type": f"{_JAVA}.ValueToKey", "transforms.key.fields": column,
        "transforms.part.type": f"{_JAVA}.ExtractField$Key", "transforms.part.field": column,
    }  # fmt: skip
    config = SourceConnectorConfig.parse(given)
    return [link.transform for link in build_chain(Catalog.installed(), config, {})]
