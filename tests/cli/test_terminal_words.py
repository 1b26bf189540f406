"""What commands print: no reST, no LaTeX, no internal constants; one screen by default; help shows the usual options."""

import re

import click
import numpy as np
import pytest
from click.testing import CliRunner

from dpsparse import recipes
from dpsparse.cli import main
from dpsparse.cli.recipes import fields_in, first_paragraph, papers_in, plain_words

#: What no terminal shows as it was meant.
MARKUP = {
    "a role of reST": re.compile(r":[a-z]+:`"),
    "a directive of reST": re.compile(r"(?m)^\s*\.\. |::$"),
    "a citation of reST": re.compile(r"\[[A-Z0-9]+\]_"),
    "emphasis or a literal": re.compile(r"\*\*|``"),
    "LaTeX": re.compile(r"\\[a-zA-Z]{2,}|\$[^$ ]+\$|\^\{|_\{"),
    "a heading of a docstring": re.compile(r"(?m)^[A-Z][a-z ]+\n-{4,}$"),
    "internal constants": re.compile(
        r"race_noise|rule =|few_coefficients =|K2/\(Kinf|n mu/|entry_part|selection_noise ="
    ),
}
SCREEN = 40


def every(command=main, path=()):
    yield path, command
    if isinstance(command, click.Group):
        for name in command.list_commands(None):
            yield from every(command.get_command(None, name), (*path, name))


COMMANDS = dict(every())


def run(*arguments, codes=(0,)):
    done = CliRunner().invoke(main, [str(one) for one in arguments])
    assert done.exit_code in codes, done.output
    return done.stdout


def found(text):
    return {what: match[0] for what, pattern in MARKUP.items() if (match := pattern.search(text))}


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_no_help_has_markup(path):
    assert found(run(*path, "--help")) == {}
    if COMMANDS[path].params and "usual" in vars(COMMANDS[path]):
        assert found(run(*path, "--help-all")) == {}


@pytest.mark.parametrize("name", recipes.names())
def test_no_description_of_a_recipe_has_markup(name):
    text = run("recipes", name)
    assert found(text) == {}
    assert text.startswith(f"{recipes.get(name).name}: ")
    assert len(text.splitlines()[0]) > len(name) + 20  # something is left of its first paragraph


def test_the_list_of_recipes_has_no_markup_and_a_line_for_each():
    text = run("recipes").splitlines()
    lines = [line for line in text if line.startswith("  ")]
    assert found("\n".join(text)) == {}
    assert len(text) <= SCREEN
    assert sorted(line.split()[0] for line in lines) == sorted(recipes.names())
    assert lines[0].split()[0] == "auto"
    assert all(len(line.split()) > 3 for line in lines)


def test_markup_would_be_found():
    """The control: docstrings as they are have it."""
    seen = {what for name in recipes.names() for what in found(recipes.describe(name))}
    assert seen >= {"a role of reST", "a directive of reST", "a citation of reST", "LaTeX", "a heading of a docstring"}


def test_words_are_kept_where_markup_goes():
    text = "One of [WX19]_: for `X` with :math:`b`, **not private** (DP-X [M22]_; see [L22]_).\n\nMore :math:`\\rho`."
    assert first_paragraph(text) == "One: for X with b, not private (DP-X; see)."
    assert plain_words("Kept. Has :math:`\\rho^2` in it. Kept too.") == "Kept. Kept too."
    found_fields = fields_in(recipes.describe("dp_ight"))
    assert found_fields["radius"] == "Project onto the l2 ball of this radius after each step."
    assert papers_in(recipes.describe("dp_ight"))[0] == "Wang and Gu, IJCAI 2019, Algorithm 1."


# ------------------------------------------------------------------------------------------------------ outputs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model of 60 columns, one with intervals, and what commands say about them."""
    folder = tmp_path_factory.mktemp("terminal")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (3000, 60))
    y = X @ rng.uniform(-0.5, 0.5, 60) + 0.1 * rng.standard_normal(3000)
    np.savez(folder / "rows.npz", X=X, y=y)
    np.savez(folder / "classes.npz", X=X[:, :5], y=(y > 0).astype(int))
    return folder


BOUNDS = ["--task", "regression", "--feature-bound", 1, "--target-bound", 3]
PLANS = {
    "table": ["--n-rows", 240, "--n-features", 7, "--task", "classification", "--feature-bound", 1],
    "wide": ["--n-rows", 2000, "--n-features", 1000, *BOUNDS, "--sparsity", 10],
    "raced": ["--n-rows", 3000, "--n-features", 80, *BOUNDS],
    "documents": ["--n-rows", 4000, "--n-features", 5000, "--sparse", "--task", "classification", "--row-norm", 1],
    "known": ["--n-rows", 500, "--n-features", 9, *BOUNDS, "--signal", 0.3, "--feature-scale", 0.2],
    "hopeless": ["--n-rows", 30, "--n-features", 400, *BOUNDS, "--epsilon", 0.1],
    "wide, many": ["--n-rows", 3000, "--n-features", 1500, *BOUNDS],
    "no formula": ["--n-rows", 3000, "--n-features", 8, *BOUNDS, "--recipe", "dp_gcd"],
    "baseline": ["--n-rows", 3000, "--n-features", 8, *BOUNDS, "--recipe", "ight"],
}
HEADS = ["Verdict", "Cost", "Error", "Needed", "Assumed", "Recipe"]


@pytest.mark.parametrize("options", PLANS.values(), ids=PLANS)
def test_a_plan_is_six_lines_and_its_details_have_the_rest(options):
    text = run("plan", *options)
    said = [line for line in text.splitlines() if not line.startswith("Warning: ")]
    assert [line.split(":")[0] for line in said] == HEADS
    assert found(text) == {}
    details = run("plan", *options, "--details")
    assert "  asks " in details
    reason = [line for line in details.splitlines() if "auto picked" in line]
    assert found("\n".join(reason)) == {}  # a fit prints it as a note
    assert len(details.splitlines()) > 6


def test_a_fit_and_its_model_are_one_screen_and_details_are_everything(folder):
    out = folder / "wide.json"
    fitted = run("fit", folder / "rows.npz", *BOUNDS, "--epsilon", 5, "--out", out)
    shown, details = run("show", out), run("show", out, "--details")
    for text in (fitted, shown):
        assert found(text) == {}
        assert len(text.splitlines()) <= SCREEN
        assert "dpsparse show MODEL --details lists them" in text
        assert "Note: auto picked tables" in text
    assert sum(line.startswith("  - ") for line in details.splitlines()) > 5
    assert all(re.search(rf"(?m)^  {j} +", details) for j in range(60))
    largest = max(float(line.split()[1]) for line in details.splitlines() if re.match(r"^  \d+ ", line))
    assert f"{largest:.6g}" in shown


def test_intervals_stay_on_one_screen(folder):
    out = folder / "intervals.json"
    options = [*BOUNDS, "--epsilon", 8, "--intervals", "--sparsity", 30]
    text = run("fit", folder / "rows.npz", *options, "--out", out)
    assert len(text.splitlines()) <= SCREEN
    assert "interval" in text
    fields = run("show", out, "--details").splitlines()
    assert len(fields) > SCREEN
    assert found(text) == {}


def test_other_commands_print_no_markup(folder):
    model = folder / "classes.json"
    options = ["--task", "classification", "--feature-bound", 1, "--classes", "0,1", "--epsilon", 2]
    texts = [run("fit", folder / "classes.npz", *options, "--out", model)]
    ledger = f"sqlite:///{folder}/budget.db"
    texts.append(run("ledger", "create", ledger, "trial", "--epsilon", 5, "--delta", 1e-5))
    texts.append(run("ledger", "show", ledger))
    texts.append(run("score", model, folder / "classes.npz", "--epsilon", 1))
    texts.append(run("audit", model, "--runs", 16, "--fits", 0, codes=(0, 6)))
    texts.append(run("report", model, "-o", folder / "report.html", codes=(0, 7)))
    texts.append(run("bench", "--list"))
    assert all(texts)
    assert [found(text) for text in texts] == [{}] * len(texts)


# ------------------------------------------------------------------------------------------------------ help


MANY = [path for path, command in COMMANDS.items() if "usual" in vars(command)]


def shown_options(text):
    return set(re.findall(r"(?m)^  (?:-\w, )?(--[a-z0-9-]+)", text.split("Options:")[1]))


@pytest.mark.parametrize("path", MANY, ids=" ".join)
def test_help_shows_about_a_dozen_options_and_help_all_every_one(path):
    options = {
        next(name for name in p.opts if name.startswith("--"))
        for p in COMMANDS[path].params
        if isinstance(p, click.Option)
    }
    short, whole = run(*path, "--help"), run(*path, "--help-all")
    assert 8 <= len(shown_options(short)) <= 17
    assert shown_options(whole) == options | {"--help", "--help-all"}
    assert f"There are {len(options) - len(shown_options(short)) + 2} more options" in short
    assert "more options" not in whole


def test_commands_with_many_options_have_a_short_help():
    long = [path for path, command in COMMANDS.items() if sum(isinstance(p, click.Option) for p in command.params) > 14]
    assert set(long) <= set(MANY)


def test_a_usual_option_that_does_not_exist_is_a_mistake():
    from dpsparse.cli.options import ShortHelp

    with pytest.raises(ValueError, match="has no options --nothing"):
        ShortHelp("x", usual=("--nothing",), params=[])
