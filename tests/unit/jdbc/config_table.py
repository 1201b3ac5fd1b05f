"""Makes the table of settings in the README from their declaration. Pure."""

from __future__ import annotations

from connect.api.config import Config, KeyDefinition

START, END = "<!-- config:start -->", "<!-- config:end -->"


def config_table(config: type[Config]) -> str:
    """Return a Markdown table of every shown setting."""
    rows = [_row(d) for d in config.definitions() if not d.internal]
    return "\n".join(["| key | type | default | importance | meaning |", "| --- | --- | --- | --- | --- |", *rows])


def section_of(readme: str) -> str:
    """Return what stands between the README's markers."""
    return readme.partition(START)[2].partition(END)[0].strip()


def _row(definition: KeyDefinition) -> str:
    default = "required" if definition.required else f"`{definition.default}`" if definition.default else ""
    doc = definition.doc.replace("|", "\\|")
    return f"| `{definition.name}` | {definition.type.lower()} | {default} | {definition.importance.lower()} | {doc} |"
