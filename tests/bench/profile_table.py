"""Shows where the CPU time of each path goes, and which step dominates, as a table beside the figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.table import Table


def profile_table(entries: Iterable[Mapping]) -> Table:
    """One line per entry that has a `profile`: CPU seconds per million rows of each step, the largest first."""
    table = Table("name", "cpu s/M rows", "dominates", "of which (task: a step of the task thread)",
                  title="Where the CPU time goes")  # fmt: skip
    for entry in entries:
        profile = entry.get("profile")
        if not profile:
            continue
        total = sum(profile.values())
        most = max(profile, key=profile.__getitem__)
        parts = ", ".join(f"{name} {cpu_s:.2f}" for name, cpu_s in profile.items())
        table.add_row(entry["name"], f"{total:.2f}", f"{most} {profile[most] / total:.0%}", parts)
    return table
