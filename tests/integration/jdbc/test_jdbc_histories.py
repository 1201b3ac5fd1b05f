"""Draws random histories of the JDBC sink against a plain model: each record is a row or is refused, whatever
happens.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from histories import History, run_histories
from jdbc_server import Server
from jdbc_sink_history import SinkHistory

THEMES = {"any": 8, "references": 1, "index of some rows": 1}
SHAPES = {"references": "tree", "index of some rows": "some"}
"""These themes have a kind of table of their own: in tables of any kind what they are about is rare."""


@pytest.mark.histories
@pytest.mark.integration
def test_a_jdbc_sink_keeps_its_promises_in_random_histories(servers: dict[str, Server]):
    def one_history(history: History) -> None:
        shape = SHAPES.get(history.theme(THEMES))
        server = servers["postgres" if shape else history.draw.choice(sorted(servers))]
        own = replace(server, table=f"{server.table}_{history.seed}")
        SinkHistory(own, history, shape).run(history.draw.randint(5, 25))
        own.run("DROP TABLE {t} CASCADE")

    run_histories("jdbc", one_history, short=6)
