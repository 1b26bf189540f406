"""Options of commands, each declared once: by the signature of a function, and by the words of its docstring.

Parameters by position are arguments of the command, those by keyword are options, and a parameter whose
type is a dataclass stands for all of its fields. The section *Parameters* of the docstring says what each
means; what several commands share is said in `SHARED`. A trailing underscore (``set_``) is not typed.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import click


class OneOrTwo(click.ParamType):  # type: ignore[type-arg]
    """One number ``b``, or two as ``lo,hi``."""

    name = "b or lo,hi"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | tuple[float, float]:
        """Parse."""
        try:
            numbers = [float(v) for v in str(value).split(",")]
        except ValueError:
            numbers = []
        if len(numbers) not in (1, 2):
            self.fail(f"{value!r} is neither a number b nor two numbers lo,hi.", param, ctx)
        return numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])


class Finite(click.FloatRange):
    """A number in a range; ``inf`` and ``nan`` are refused too."""

    name = "float"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Parse."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{number} is not a finite number.", param, ctx)
        return number


class Listed(click.ParamType):  # type: ignore[type-arg]
    """Names or numbers separated by commas."""

    name = "a,b,..."

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Parse."""
        return [v.strip() for v in str(value).split(",")]


#: What a privacy budget can be.
Epsilon = Annotated[float, Finite(min=0, min_open=True)]
Delta = Annotated[float, Finite(min=0, max=1, max_open=True)]
#: Numbers from 1 on.
Count = Annotated[int, click.IntRange(min=1)]
Names = Annotated[list[str], Listed()]
Numbers = Annotated[float | tuple[float, float], OneOrTwo()]
Task = Literal["classification", "regression"]
Neighbours = Literal["replace-one", "add-remove"]

#: What options mean in every command that has them and says nothing else.
SHARED = {
    "adjacency": "Which data sets count as neighbours.",
    "delta": "Default: min(1e-6, 1/(10 n)).",
    "dictionary": "Data dictionary of a table; it declares target, task, bounds and classes. See dpsparse dictionary.",
    "epsilon": "Privacy budget.",
    "feature_bound": "Public bound: entries are clipped to [-b, b] or [lo, hi].",
    "json_": "Print one JSON object, for machines.",
    "n_rows": "Public number of rows; required for --adjacency add-remove.",
    "row_norm": "Public bound: rows are clipped to this l2 norm.",
    "sparsity": "At most this many nonzero coefficients. Default: the recipe decides.",
    "target": "Column of the target; svmlight and npz files hold their own.",
    "unit_name": "The word for what has one id, such as patient. Default: person.",
    "zero_based": "The columns of an svmlight file are counted from 0.",
}


class ShortHelp(click.Command):
    """A command whose ``--help`` shows the options that most people need, and ``--help-all`` every one.

    Parameters
    ----------
    usual : tuple of str
        Options of ``--help``, as they are typed.
    """

    def __init__(self, *arguments: Any, usual: tuple[str, ...], **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.usual = usual
        unknown = set(usual) - {name for parameter in self.params for name in parameter.opts}
        if unknown:
            raise ValueError(f"{self.name} has no options {', '.join(sorted(unknown))}")

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """The parameters, with ``--help-all`` before ``--help``, which is last."""
        *own, last = super().get_params(ctx)
        whole = click.Option(
            ["--help-all"],
            callback=self._print_all,
            is_flag=True,
            is_eager=True,
            expose_value=False,
            help="Show every option and exit.",
        )
        return [*own, whole, last]

    def _print_all(self, ctx: click.Context, parameter: click.Parameter, asked: bool) -> None:
        if asked and not ctx.resilient_parsing:
            ctx.meta[f"{__name__}.all"] = True
            click.echo(ctx.get_help())
            ctx.exit()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options that were asked for, and how many more there are."""
        everything = ctx.meta.get(f"{__name__}.all", False)
        options = (p for p in self.get_params(ctx) if isinstance(p, click.Option))
        listed = [(p, record) for p in options if (record := p.get_help_record(ctx)) is not None]
        chosen = {"--help", "--help-all", *self.usual}
        shown = [record for parameter, record in listed if everything or chosen & set(parameter.opts)]
        with formatter.section("Options"):
            formatter.write_dl(shown)
        if len(shown) < len(listed):
            formatter.write_paragraph()
            formatter.write_text(f"There are {len(listed) - len(shown)} more options: --help-all shows them.")


def command(usual: str = "", of: click.Group | None = None) -> Callable[[Callable[..., None]], click.Command]:
    """Make a command of a function.

    Parameters
    ----------
    usual : str
        The options that ``--help`` shows, where it does not show all of them.
    of : Group or None
        The group that the command belongs to.
    """

    def make(function: Callable[..., None]) -> click.Command:
        hints = get_type_hints(function, include_extras=True)
        groups: dict[str, Any] = {name: kind for name, kind in hints.items() if is_dataclass(kind)}

        def run(**given: Any) -> None:
            made = {n: kind(**{f.name: given.pop(f.name) for f in fields(kind)}) for n, kind in groups.items()}
            function(**given, **made)

        form: dict[str, Any] = {"callback": run, "params": list(_parameters(function, hints))}
        form["help"], _ = documented(function.__doc__ or "")
        chosen = tuple(f"--{name}" for name in usual.split())
        name = function.__name__
        found = ShortHelp(name, usual=chosen, **form) if usual else click.Command(name, **form)
        if of is not None:
            of.add_command(found)
        return found

    return make


def documented(docstring: str) -> tuple[str, dict[str, tuple[str, str]]]:
    """A docstring without its section of parameters; and, of each of these, its form and what is said of it."""
    text, _, listed = inspect.cleandoc(docstring).partition("\n\nParameters\n----------\n")
    return text, parameters_in(listed)


def parameters_in(section: str) -> dict[str, tuple[str, str]]:
    """The form of each parameter in a section of a docstring, and what is said of it."""
    found = re.findall(r"(?m)^(\w+(?:, \w+)*)(?: : (.*))?\n((?:    .*\n?|\n(?=    ))*)", f"{section}\n")
    return {name: (form, " ".join(said.split())) for names, form, said in found for name in names.split(", ")}


def _parameters(owner: Callable[..., None], hints: dict[str, Any]) -> Iterator[click.Parameter]:
    """The parameters of a function, or the fields of a dataclass, as click takes them."""
    about: dict[str, tuple[str, str]] = {}
    for each in reversed(getattr(owner, "__mro__", (owner,))):  # a dataclass may add to those of another
        about |= documented(each.__doc__ or "")[1]
    for name, parameter in inspect.signature(owner).parameters.items():
        if is_dataclass(hints[name]):
            yield from _parameters(hints[name], get_type_hints(hints[name], include_extras=True))
            continue
        form, said = about.get(name) or ("", "")
        settings: dict[str, Any] = _settings(hints[name])
        names, default = settings.pop("names"), parameter.default
        required = default is parameter.empty
        if parameter.kind is not parameter.KEYWORD_ONLY:
            settings["nargs"] = -1 if settings.pop("multiple", False) else 1
            yield click.Argument([name], required=required, metavar=form or None, **settings)
            continue
        shown = not any(default is each for each in _SILENT)
        settings |= {"required": True} if required else {"default": default, "show_default": shown}
        flag = f"--{name.rstrip('_').replace('_', '-')}"
        yield click.Option([*names, flag, name], metavar=form or None, help=said or SHARED[name], **settings)


#: Defaults that help does not show.
_SILENT = (None, False, ())
#: Types that click knows by others.
_KNOWN = {Path: click.Path(path_type=Path)}


def _settings(hint: Any) -> dict[str, Any]:
    """The settings of click for a type, and further names that an option of it has."""
    if get_origin(hint) is Annotated:
        kind, *extra = get_args(hint)
        names = [each for each in extra if isinstance(each, str)]
        types = [each for each in extra if isinstance(each, click.ParamType)]
        return ({"type": types[0]} if types else _settings(kind)) | {"names": names}
    if NoneType in get_args(hint):
        return _settings(next(each for each in get_args(hint) if each is not NoneType))
    if get_origin(hint) is tuple:
        several = _settings(get_args(hint)[0])
        return {**several, "multiple": True}
    if get_origin(hint) is Literal:
        return {"type": click.Choice(get_args(hint)), "names": []}
    return {"is_flag": True, "names": []} if hint is bool else {"type": _KNOWN.get(hint, hint), "names": []}
