"""The JDBC source where the made-up dialect is registered: by whichever process first reads a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Self

from connectors.jdbc.dialects.known import DIALECTS
from connectors.jdbc.plugin import SOURCE
from connectors.jdbc.settings.config import JdbcSourceConfig

REFERENCE = "made_up_dialect:Toybase"


class ToybaseSourceConfig(JdbcSourceConfig):
    """Settings of the source in a process of the kit's own, which runs none of the test's set-up."""

    @classmethod
    def parse(cls, properties: Mapping[str, str | None]) -> Self:
        DIALECTS["toybase"] = REFERENCE
        return super().parse(properties)


TOYBASE_SOURCE = replace(SOURCE, config=ToybaseSourceConfig)
