"""Holds the rules that merge, cdc and view share: all records whose dedup fields are equal become one row."""

from __future__ import annotations

from typing import ClassVar

from connectors.bigquery.dedup.rules import DELETE_FIELD, DedupRules, Deletes, Keep, NullKey
from connectors.bigquery.dedup.window import Late
from connectors.bigquery.modes.mode import Mode
from connectors.bigquery.rows.paths import COORDINATES, Path


class KeyedMode(Mode):
    """Tells rows apart by the dedup fields, as the base of the modes that do so."""

    is_keyed = True
    reads_logs_in_order: ClassVar[bool] = True
    """True if a tombstone without an order deletes the rows of its key that came before it in its partition."""

    @property
    def rules(self) -> DedupRules:
        """Return the rules of the settings `dedup.*`, and of those of the Java connector that stand for some."""
        config = self._config
        is_java = config.upsert and not config.dedup_fields
        delete = config.dedup_delete
        if config.upsert and not config.delete and "dedup.delete" not in config.originals:
            delete = Deletes.IGNORE
        marked = DELETE_FIELD.fullmatch(delete)
        deletes = Deletes.FIELD if marked else Deletes(delete)
        if config.dedup_keep == Keep.FIRST:
            deletes, marked = Deletes.IGNORE, None
        order_by = tuple(map(Path.parse, config.dedup_order))
        may_lack_order = deletes is not Deletes.IGNORE and not COORDINATES.issuperset(path.root for path in order_by)
        return DedupRules(
            fields=tuple(map(Path.parse, ("__key",) if is_java else config.dedup_fields)),
            order_by=order_by,
            keep=Keep(config.dedup_keep),
            deletes=deletes,
            null_key=NullKey(config.dedup_null_key),
            delete_field=Path.parse(marked["path"]) if marked else None,
            delete_value=marked["value"] if marked else "",
            clears=self.reads_logs_in_order and may_lack_order,
            marks_late=config.dedup_window.lower() != "none" and Late(config.dedup_late) is Late.APPEND,
        )
