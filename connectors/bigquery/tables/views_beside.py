"""Creates the views beside tables, and looks if they are still as they were created. A view that somebody changed is
reported and left as it is, as there may be a reason for the change.

A view may read tables in which others remember deletes. Where one of these comes or goes, the view is made anew.
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
    """Holds a view of `target` as this task made it last. `query` is its text in the form that BigQuery returned, and
    `text_now` returns the text that it should have by now.
    """

    target: str
    columns: Columns
    text: str
    text_now: Callable[[], str]
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

    def make(self, name: str, text: str, target: str, columns: Columns, text_now: Callable[[], str]) -> None:
        """Create a view of `target`, which has these columns, or replace it. `text_now` returns the text by the tables
        that remember deletes then.
        """
        self._replace(name, f"CREATE OR REPLACE VIEW {self._warehouse.path(name)} AS\n{text}", target)
        view = self._warehouse.table(name)
        self._made[name] = _Made(target, columns, text, text_now, None if view is None else view.view_query)

    def look(self) -> None:
        """Find the views that somebody else has changed, and create those again that are gone or read other tables by
        now.
        """
        found = []
        for name, made in list(self._made.items()):
            view = self._warehouse.table(name)
            if view is None:
                _log.warning("View %s is gone, and is made again.", name)
                self._make_again(name, made, made.text_now())
            elif view.view_query != made.query:
                found += [] if self._is_widened(made) else [name]
            elif (text := made.text_now()) != made.text:
                _log.info("View %s is made anew, as a table that remembers deletes has come or is gone.", name)
                self._make_again(name, made, text)
        for name in set(found).difference(self._changed):
            _log.warning("%s", _sentence(self._warehouse.path(name)))
        self._changed = tuple(found)

    def _make_again(self, name: str, made: _Made, text: str) -> None:
        self.make(name, text, made.target, made.columns, made.text_now)

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
        "is lost. Give yours another name, and restart the task: it makes the view anew with the table's next record."
    )
