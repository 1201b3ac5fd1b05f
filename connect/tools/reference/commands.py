"""Makes lines about click commands, their arguments and options. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import click

from connect.tools.reference.markdown import code, escaped, table


def command_lines(command: click.Command, path: str) -> list[str]:
    """Return the lines on a command, which is called by `path`, and on all its subcommands, each under its own
    heading.
    """
    lines = []
    for name, found in _with_all_below(command, path):
        lines += [f"### {name}", "", escaped(found.help or ""), ""]
        usage = " ".join(found.collect_usage_pieces(click.Context(found)))
        lines += ["```", f"{name} {usage}".rstrip(), "```", ""]
        options = [p for p in found.params if isinstance(p, click.Option) and not p.hidden]
        lines += table(("option", "default", "what it does"), (_option(option) for option in options))
    return lines


def _with_all_below(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        below = ((name, command.get_command(ctx, name)) for name in command.list_commands(ctx))
        for name, found in below:
            if found is not None and not found.hidden:
                yield from _with_all_below(found, f"{path} {name}")


def _option(option: click.Option) -> tuple[str, str, str]:
    names = ", ".join(map(code, [*option.opts, *option.secondary_opts]))
    value = "" if option.is_flag else " " + code(option.make_metavar(click.Context(click.Command(None))))
    return names + value, _default(option), escaped(option.help or "")


def _default(option: click.Option) -> str:
    if option.required:
        return "**required**"
    value = option.to_info_dict()["default"]
    if option.is_flag or option.multiple or value in {None, ""}:
        return ""
    return code(str(value))
