"""The page of the command line, made from the parser itself: every command, every argument, every option."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click

from dpsparse.cli import main


def every(command: click.Command = main, path: str = "dpsparse") -> Iterator[tuple[str, click.Command]]:
    """Commands and their words, depth first."""
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            below = command.get_command(click.Context(command), name)
            assert below is not None
            yield from every(below, f"{path} {name}")


def _plain(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "&lt;").strip()


def _prose(text: str) -> list[str]:
    """Paragraphs of a help text; a paragraph behind ``\\b`` keeps its lines."""
    out: list[str] = []
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        kept = paragraph.startswith("\b")
        lines = paragraph.removeprefix("\b").strip("\n").splitlines()
        if not kept:
            out += [_plain(paragraph), ""]
            continue
        head, rest = (lines[0], lines[1:]) if lines and lines[0].endswith(":") else ("", lines)
        out += [head, ""] if head else []
        out += ["```text", *inspect.cleandoc("\n".join(rest)).splitlines(), "```", ""]
    return out


def _value(option: click.Option) -> str:
    if isinstance(option.type, click.Choice):
        return ", ".join(f"`{one}`" for one in option.type.choices)
    return "" if option.is_flag else f"`{option.make_metavar(click.Context(click.Command('x')))}`"


def _default(option: click.Option) -> str:
    value = option.to_info_dict()["default"]
    return "" if value in (None, False, (), []) or option.required else f" Default: `{value}`."


def section(path: str, command: click.Command) -> list[str]:
    """One command: its line, its words, its options."""
    level = "##" if path.count(" ") <= 1 else "###"
    given = [p.make_metavar(click.Context(command)) for p in command.params if isinstance(p, click.Argument)]
    usage = " ".join([path, *(["[OPTIONS]"] if command.params else []), *given])
    lines = [
        f"{level} {path}",
        "",
        "```text",
        usage + (" COMMAND ..." if isinstance(command, click.Group) else ""),
        "```",
        "",
    ]
    lines += _prose(command.help or "")
    options = [p for p in command.params if isinstance(p, click.Option) and not p.hidden]
    if options:
        lines += ["| option | value | meaning |", "|---|---|---|"]
        for option in options:
            names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
            said = _plain(option.help or "") + (" Required." if option.required else "") + _default(option)
            lines.append(f"| {names} | {_value(option)} | {said} |")
        lines.append("")
    return lines


def page() -> str:
    """All commands as Markdown, to be included."""
    return "\n".join(line for path, command in every() for line in section(path, command))


def words() -> set[str]:
    """Everything that the page must mention: commands, and their options as they are typed."""
    found = set()
    for path, command in every():
        found.add(path)
        for p in command.params:
            if isinstance(p, click.Option) and not p.hidden:
                found |= {*p.opts, *p.secondary_opts}
    return found
