"""How much a source has to read, by its own plan of a bulk read; in a process of its own. Nothing is read.

Run as `python -m connect.evaluate.source_plan`: settings come on standard input as JSON, the answer goes out as JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from connect.api.bulk import BulkSource, SplitSize
from connect.api.deadline import Deadline
from connect.api.errors import ConnectError
from connect.runtime.connector_settings import ConnectorSettings


def planned(settings: ConnectorSettings, size: SplitSize, deadline: Deadline) -> dict[str, Any]:
    """Chunks, rows and bytes, as estimated. ConnectError: the source cannot be read in bulk."""
    connector = settings.open().build_connector()
    if not isinstance(connector, BulkSource):
        raise ConnectError("The connector cannot be read in bulk (connect.api.bulk).")
    plan = connector.plan_bulk(size, deadline)
    return {
        "chunks": len(plan.splits),
        "rows": sum(split.rows for split in plan.splits),
        "size_bytes": sum(split.size_bytes for split in plan.splits),
        "warnings": list(plan.warnings),
    }


def main() -> int:
    """The child process."""
    asked = json.load(sys.stdin)
    size = SplitSize(asked["chunk_rows"], asked["chunk_bytes"])
    try:
        settings = ConnectorSettings(asked["worker"], asked["connector"])
        answer = planned(settings, size, Deadline.after(asked["timeout_s"]))
    except ConnectError as error:
        answer = {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever a plug-in raises is what the evaluation shows
        answer = {"error": f"{type(error).__name__}: {error}"}
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
