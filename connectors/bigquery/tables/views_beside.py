"""Creates the views beside tables, and looks if they are still as they were created. A view that somebody changed is
reported and left as it is, as there may be a reason for the change.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from connectors.bigquery.rows.table_schema import Columns
from connectors.bigquery.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Made:
    """Holds a view of `target` as this task made it last. `query` is its text in the form that BigQuery returned."""

    target: str
    columns: Columns
    text: str
    query: str | None


class ViewsBeside:
    """The views that a task has made. `make` is called by the task thread, `look` by another one."""

    def __init__(self, warehouse: Warehouse, replace: Callable[[str, str, str], None]) -> None:
        """`replace` runs the statement that makes a view, given its name, the statement and its target."""
        self._warehouse = warehouse
        self._replace = replace
        self._made: dict[str, _Made] = {}
        self._changed: tuple[str, ...] = ()

    @property
    def are_there(self) -> bool:
        """Return True if this task has made a view."""
        return bool(self._made)

    def make(self, name: str, text: str, target: str, columns: Columns) -> None:
        """Create a view of `target`, which has these columns, or replace it."""
        self._replace(name, f"CREATE OR REPLACE VIEW {self._warehouse.path(name)} AS\n{text}", target)
        view = self._warehouse.table(name)
        self._made[name] = _Made(target, columns, text, None if view is None else view.view_query)

    def look(self) -> None:
        """Find the views that somebody else has changed, and create those again that are gone."""
        found = []
        for name, made in list(self._made.items()):
            view = self._warehouse.table(name)
            if view is None:
                _log.warning("View %s is gone, and is made again.", name)
                self.make(name, made.text, made.target, made.columns)
            elif view.view_query != made.query and not self._is_widened(made):
                found.append(name)
        for name in set(found).difference(self._changed):
            _log.warning("%s", _sentence(self._warehouse.path(name)))
        self._changed = tuple(found)

    def told(self) -> Sequence[str]:
        """Return a sentence for each view that the last `look` found changed."""
        return [_sentence(self._warehouse.path(name)) for name in self._changed]

    def _is_widened(self, made: _Made) -> bool:
        """Return True if the table has other columns by now, for which another task makes the view anew."""
        table = self._warehouse.table(made.target)
        return table is None or table.columns != made.columns


def _sentence(view: str) -> str:
    return (
        f"View {view.replace('`', '')} was changed by somebody else and may show other rows than dedup.mode says. None "
        "is lost. Restart the task to have the view made anew, or give yours another name."
    )
