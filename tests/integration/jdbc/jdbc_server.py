"""Gives a test a real SQL server with a table of its own, and makes connectors for it."""

from __future__ import annotations

from dataclasses import dataclass

import psutil
import sqlalchemy as sa
from jdbc_drive import OffsetStore

from connect.api.allowed_paths import EVERYWHERE
from connect.lib.deadline import Deadline
from connect.tools.services.sql import SqlEndpoint
from connectors.jdbc.settings.config import JdbcSourceConfig
from connectors.jdbc.source.connector import JdbcSourceConnector
from connectors.jdbc.source.task import JdbcSourceTask

JDBC = {"postgres": "postgresql", "mariadb": "mariadb", "mysql": "mysql"}
DRIVERS = {"postgres": "postgresql+psycopg", "mariadb": "mariadb+pymysql", "mysql": "mysql+pymysql"}
FULL = {"postgres": "public.{}", "mariadb": "connect.{}", "mysql": "connect.{}"}


@dataclass(frozen=True)
class Server:
    name: str
    endpoint: SqlEndpoint
    engine: sa.Engine
    table: str

    def run(self, *statements: str) -> None:
        with self.engine.begin() as connection:
            for statement in statements:
                connection.exec_driver_sql(statement.format(t=self.table))

    @property
    def connections(self) -> int:
        """Return how many connections this process has to the server."""
        found = psutil.Process().net_connections("tcp")
        return sum(bool(one.raddr) and one.raddr.port == self.endpoint.port for one in found)

    def connector(self, **settings: object) -> JdbcSourceConnector:
        e = self.endpoint
        given = {
            "connection.url": f"jdbc:{JDBC[self.name]}://{e.host}:{e.port}/{e.database}",
            "connection.user": e.user,
            "connection.password": e.password,
            "topic.prefix": "db-",
            "table.whitelist": self.table,
            "poll.interval.ms": "20",
            "poll.linger.ms": "60",
            # Otherwise every test with ids would wait for the margin that allows for wrong clocks.
            "settle.time.ms": "0",
        }
        given |= {name.replace("__", "."): str(value) for name, value in settings.items()}
        return JdbcSourceConnector(
            JdbcSourceConfig.parse({**EVERYWHERE, **{k: v for k, v in given.items() if v != "None"}})
        )

    def opened(self, store: OffsetStore, **settings: object) -> JdbcSourceTask:
        planned = self.connector(**settings)
        planned.check(Deadline.after(60))
        (config,) = planned.task_configs(1)
        task = planned.task({**config, **EVERYWHERE})
        task.open(store)
        return task
