"""Takes the place of Debezium's OpenLineage, which changes no record. It sends no lineage."""

from __future__ import annotations

from connect.api.records import Batch
from connect.transforms.settings.config import NoConfig


class OpenLineage:
    """Passes every batch on unchanged. Validation notes at the connector's openlineage keys that no lineage is sent."""

    def __init__(self, _: NoConfig) -> None:
        """Take no settings, as the transform has none."""

    def apply(self, batch: Batch) -> list[Batch]:
        """Return the batch as it is."""
        return [batch]
