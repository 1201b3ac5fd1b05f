"""Lets every check judge the facts, and sorts the findings. A new check is one line here. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from connect.doctor.checks.brokers import Brokers
from connect.doctor.checks.certificates import Certificates
from connect.doctor.checks.clocks import Clocks
from connect.doctor.checks.configurations import Configurations
from connect.doctor.checks.internal_topics import InternalTopics
from connect.doctor.checks.lag import Lag
from connect.doctor.checks.machine import Machine
from connect.doctor.checks.message_sizes import MessageSizes
from connect.doctor.checks.named_resources import NamedResources
from connect.doctor.checks.releases import Releases
from connect.doctor.checks.replication import Replication
from connect.doctor.checks.rights import Rights
from connect.doctor.checks.roles import Roles
from connect.doctor.checks.sealing import Sealing
from connect.doctor.checks.secret_files import SecretFiles
from connect.doctor.checks.security import Security
from connect.doctor.checks.skew import Skew
from connect.doctor.checks.targets import Targets
from connect.doctor.model.facts import Facts
from connect.doctor.model.findings import Check, Finding, Severity

CHECKS: Final[Sequence[Check]] = (
    Brokers(),
    Releases(),
    InternalTopics(),
    Replication(),
    Rights(),
    Configurations(),
    MessageSizes(),
    Lag(),
    Skew(),
    Targets(),
    Certificates(),
    Machine(),
    Clocks(),
    Security(),
    SecretFiles(),
    Roles(),
    Sealing(),
    NamedResources(),
)
_ORDER: Final = list(Severity)


def examined(facts: Facts) -> list[Finding]:
    """Return all findings, the worst first."""
    found = [finding for check in CHECKS for finding in check.findings(facts)]
    return sorted(found, key=lambda finding: _ORDER.index(finding.severity))
