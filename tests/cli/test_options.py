"""Options of commands come from signatures and docstrings, each once."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import click
import pytest
from click.testing import CliRunner

from dpsparse.cli import COMMANDS, main
from dpsparse.cli.options import Count, Epsilon, Names, Numbers, command


@dataclass(frozen=True, kw_only=True)
class Colours:
    """Two colours.

    Parameters
    ----------
    front
        Of the front.
    """

    front: Literal["red", "blue"] = "red"
    epsilon: Epsilon = 1.0


seen = []


@command()
def paint(
    wall: Path,
    others: tuple[str, ...] = (),
    *,
    colours: Colours,
    out: Annotated[Path, "-o"] = Path("wall.png"),
    coats: Count | None = None,
    set_: tuple[str, ...] = (),
    names: Names | None = None,
    bound: Numbers | None = None,
    wet: bool = False,
    least: int,
    json_: bool = False,
) -> None:
    """Paint a wall.

    Parameters
    ----------
    out
        Where it is drawn.
    coats : LAYERS
        How many,
        in two lines.
    set_, names
        Of several.
    bound
        Of a kind.
    wet
        Whether it is wet.
    least
        Has to be said.
    """
    seen.append((wall, others, colours, out, coats, set_, names, bound, wet, least, json_))


def run(*arguments):
    seen.clear()
    return CliRunner().invoke(paint, [str(one) for one in arguments])


def test_parameters_become_arguments_and_options_of_their_types():
    typed = ["a.png", "b", "c", "--front", "blue", "-o", "x.png", "--coats", 2, "--set", "a=1", "--set", "b=2"]
    assert run(*typed, "--names", "d, e", "--bound", "0,2", "--wet", "--least", 3, "--json").exit_code == 0
    colours = Colours(front="blue", epsilon=1.0)
    told = Path("a.png"), ("b", "c"), colours, Path("x.png"), 2, ("a=1", "b=2"), ["d", "e"], (0.0, 2.0), True, 3, True
    assert seen == [told]


def test_what_is_not_given_has_the_default_of_the_signature():
    assert run("a.png", "--least", 0).exit_code == 0
    assert seen == [(Path("a.png"), (), Colours(), Path("wall.png"), None, (), None, None, False, 0, False)]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.png"], "Missing option '--least'"),
        (["a.png", "--least", 0, "--front", "green"], "'green' is not one of 'red', 'blue'"),
        (["a.png", "--least", 0, "--coats", 0], "0 is not in the range x>=1"),
        (["a.png", "--least", 0, "--epsilon", "inf"], "inf is not a finite number"),
        (["a.png", "--least", 0, "--bound", "1,2,3"], "neither a number b nor two numbers lo,hi"),
        ([], "Missing argument 'WALL'"),
    ],
)
def test_what_a_type_does_not_allow_is_refused(arguments, said):
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.output
    assert seen == []


def test_help_says_what_docstrings_say_and_shows_defaults():
    text = " ".join(run("--help").output.split())
    assert "Paint a wall." in text
    assert "Parameters" not in text
    assert "-o, --out PATH Where it is drawn. [default: wall.png]" in text
    assert "--coats LAYERS How many, in two lines. [x>=1]" in text
    assert "--front [red|blue] Of the front. [default: red]" in text
    assert "--epsilon FLOAT Privacy budget. [default: 1.0; x>0]" in text  # as every command says it
    assert "--wet Whether it is wet." in text
    assert "--wet Whether it is wet. [default" not in text


def test_an_option_without_words_is_a_mistake():
    def nameless(*, unheard: int = 0) -> None:
        """Do nothing."""

    with pytest.raises(KeyError, match="unheard"):
        command()(nameless)


def test_every_command_is_listed_and_has_the_name_of_its_module():
    context = click.Context(main)
    assert sorted(main.list_commands(context)) == sorted(COMMANDS)
    for name in COMMANDS:
        assert main.get_command(context, name).name == name
    assert main.get_command(context, "paint") is None


def test_one_command_does_not_import_the_others():
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom dpsparse.cli import main\n"
        "assert CliRunner().invoke(main, ['show', '--help']).exit_code == 0\n"
        "print(sorted(m for m in sys.modules if m.startswith('dpsparse.cli.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "dpsparse.cli.show" in done.stdout
    assert not [name for name in ("bench", "fit", "plan", "ledger") if f"'dpsparse.cli.{name}'" in done.stdout]
