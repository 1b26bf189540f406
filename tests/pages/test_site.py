"""What fails the build of the documentation: each check has something that it finds. The build itself is `make docs`."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from importlib.util import find_spec

import pytest

from pages.block import ROOT, pages

DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS))
pytest.importorskip("latex2mathml", reason="the extra docs is not installed")
pytest.importorskip("sphinx", reason="the extra docs is not installed")

from extensions import checks, commands, mathml, readme, rooms  # noqa: E402

from usability import test_words as words  # noqa: E402


def faults(html, title="Title"):
    return checks.page_faults("page", title, checks.Page(html))


def test_a_page_that_was_overwritten_is_found():
    assert faults("<h1>Title<a>#</a></h1>") == []
    assert "overwritten" in faults("<h1>Search</h1>")[0]


@pytest.mark.parametrize(
    "element",
    [
        '<script src="https://cdn.example.org/a.js"></script>',
        '<script src="//cdn.example.org/a.js"></script>',
        '<link rel="stylesheet" href="https://fonts.example.org/a.css">',
        '<link rel="preconnect" href="https://fonts.example.org">',
        '<img src="http://example.org/a.png">',
        '<div style="background: url(https://example.org/a.png)"></div>',
    ],
)
def test_a_page_that_loads_from_elsewhere_is_found(element):
    assert "not bundled" in faults(f"<h1>Title</h1>{element}")[0]


def test_links_that_a_reader_follows_are_no_loads_and_must_be_addresses():
    assert faults('<h1>Title</h1><a href="https://example.org/paper">p</a><link rel="next" href="a.html">') == []
    assert "no address" in faults('<h1>Title</h1><a href="https://paper">p</a>')[0]


def test_links_that_lead_nowhere_are_found(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.html").touch()
    links = '<a href="b.html#here">1</a><a href="c.html">2</a><a href="b.html#there">3</a><a href="#">4</a>'
    read = {"a": checks.Page(links), "b": checks.Page('<p id="here">')}
    assert checks.link_faults(tmp_path, read) == [
        "a: c.html leads nowhere.",
        "a: b.html#there leads to no place of its page.",
    ]


def test_a_style_sheet_that_loads_from_elsewhere_is_found(tmp_path):
    (tmp_path / "a.css").write_text('@import "https://example.org/a.css"; a { background: url(own.png) }')
    assert len(checks.style_faults(tmp_path)) == 1


def test_a_missing_name_a_missing_field_and_a_missing_option_are_found(monkeypatch):
    known = {
        rooms.home(room, name) for room in rooms.rooms() if room not in rooms.ELSEWHERE for name in rooms.listed(room)
    }
    assert checks.reference_faults(known) == []
    assert checks.reference_faults(known - {"dpsparse.SparseRegressor"}) != []
    page = commands.page()
    assert checks.command_faults(page) == []
    assert checks.command_faults(page.replace("--epsilon", "")) == ["command_line: --epsilon is missing."]
    from dpsparse import recipes

    monkeypatch.setattr(recipes, "describe", lambda name: "Nothing.")
    assert any("is not explained" in fault for fault in checks.reference_faults(known))


def test_every_room_of_the_package_has_a_place_in_the_reference():
    grouped = [room for group in rooms.GROUPS.values() for room in group]
    packages = {path.parent.name for path in rooms.SOURCE.glob("*/__init__.py")}
    assert packages <= {*grouped, *rooms.ELSEWHERE}
    assert len(set(grouped)) == len(grouped)


def test_every_public_name_has_a_directive():
    import dpsparse

    made = "\n".join(rooms.pages().values())
    for name in dpsparse.__all__:
        assert f":: dpsparse.{name}\n" in made or f"# dpsparse.{name}\n" in made, name


@pytest.mark.parametrize(
    "formula",
    [
        r"\epsilon",
        r"\|w\|_2 \le \tfrac12",
        r"\lVert x\rVert",
        r"\arg\min_\theta F(\theta)",
        r"\mathrm{clip}_C",
        r"a &= b \\ c &= d",
    ],
)
def test_formulas_are_drawn_without_scripts(formula):
    made = mathml.mathml(formula, display=True)
    assert made.startswith("<math")
    assert "\\" not in re.sub(r"&#x\w+;", "", made)
    assert "&</mi>" not in made


def test_a_formula_that_cannot_be_drawn_is_found():
    with pytest.raises(ValueError, match="not known"):
        mathml.mathml(r"\nosuchcommand x", display=False)


def test_the_table_of_the_readme_is_that_of_the_page():
    page = (DOCS / "peers.md").read_text()
    text = (ROOT / "README.md").read_text()
    assert readme.updated(text, page) == text, "python docs/extensions/readme.py writes it"
    assert "dpsparse auto" in readme.table(page)


def test_every_page_is_in_a_list_of_contents():
    """Sphinx warns of others; here without a build, and by which section."""
    named = {"index"}
    for page in pages():
        folder = (ROOT / page).parent
        for block in re.findall(r"```\{toctree\}\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL):
            for line in block.splitlines():
                if line and not line.startswith(":"):
                    found = folder.glob(f"{line}.md") if "*" in line else [(folder / f"{line}.md").resolve()]
                    named |= {path.relative_to(DOCS).with_suffix("").as_posix() for path in found}
    written = {page.removeprefix("docs/").removesuffix(".md") for page in pages() if page.startswith("docs/")}
    assert written - named == set()


def test_the_front_page_has_three_doors_of_at_most_four_pages():
    front = (DOCS / "index.md").read_text()
    doors = re.findall(r":{6}\{container\} start\n\n\*\*(.*?)\*\*\n(.*?):{6}\n", front, re.DOTALL)
    assert [title for title, _ in doors] == [
        "I have a table",
        "I know scikit-learn",
        "I must decide about a release",
    ]
    for _, path in doors:
        steps = re.findall(r"^\d\. .*?\]\((\w+\.md)\)", path, re.MULTILINE)
        assert 1 < len(steps) <= 4
        assert all((DOCS / step).exists() for step in steps)
    readme = (ROOT / "README.md").read_text()
    assert all(f"| {title.removeprefix('I ')} |" in readme for title, _ in doors)


def far(site, clicks):
    """Built pages that take more clicks from the front page, on links in texts and in the header; lists beside a page are left out."""
    left = {page for page in site.rglob("*.html") if "_static" not in page.parts} - {
        site / "search.html",
        site / "genindex.html",
    }
    seen = step = {site / "index.html"}
    for _ in range(clicks):
        found = set()
        for page in step:
            html = page.read_text()
            shown = "".join(re.findall(r"<article.*?</article>|<a[^>]*nav-link[^>]*>", html, re.DOTALL))
            found |= {(page.parent / link).resolve() for link in re.findall(r'href="([^"#:]+\.html)', shown)}
        step, seen = found - seen, seen | found
    return sorted(page.relative_to(site).as_posix() for page in left - seen)


def test_a_page_that_takes_too_many_clicks_is_found(tmp_path):
    links = {"index": "a", "a": "b", "b": "c", "c": "a"}
    for name, link in links.items():
        aside = '<a href="c.html">beside the text</a>' if name == "index" else ""
        (tmp_path / f"{name}.html").write_text(f'<article><a href="{link}.html#part">x</a></article>{aside}')
    assert far(tmp_path, 3) == []
    assert far(tmp_path, 2) == ["c.html"]


#: Pages of results: their programs write them.
MADE = (*words.MADE, "docs/shapes_benchmark.md", "docs/guarantees/")


def test_the_pages_are_short():
    """At most 55,000 words that somebody wrote, outside guarantees and pages that programs write; code is left out."""
    counts = {page: len(words.prose((ROOT / page).read_text()).split()) for page in pages() if page.startswith("docs/")}
    counts = {page: count for page, count in counts.items() if not page.startswith(MADE)}
    assert 20_000 < sum(counts.values()) <= 55_000
    assert {page: count for page, count in counts.items() if count > 2_500} == {}


def test_success_in_per_cent_on_the_page_about_epsilon():
    """The table is what the code says."""
    from dpsparse import SparseClassifier
    from dpsparse.core.attacker import attacker_success, in_percent

    rows = re.findall(
        r"^\| ([\d.]+) \| ([\d.]+ %) \| ([\d.]+ %) \|$", (DOCS / "choosing_epsilon.md").read_text(), re.MULTILINE
    )
    assert len(rows) == 6
    for epsilon, pure, gaussian in rows:
        model = SparseClassifier(epsilon=float(epsilon), delta=1e-6, row_norm=1.0, recipe="dual_averaging")
        plan = model.plan(10_000, 100)
        assert pure == in_percent(attacker_success(float(epsilon), 0.0))
        assert gaussian == in_percent(attacker_success(float(epsilon), 1e-6, plan.mu, plan.rho))


def test_what_several_rows_of_one_person_cost_on_the_pages():
    """Group privacy of Gaussian answers, k mu; of anything else, by the chain of k neighbours."""
    from dpsparse.core.attacker import attacker_success, in_percent
    from dpsparse.core.curves import gaussian_epsilon, gaussian_mu

    page, delta = (DOCS / "choosing_epsilon.md").read_text(), 1e-6
    rows = re.findall(r"^\| (\d+) \| ([\d.]+) \| ([\d.]+ %) \|$", page, re.MULTILINE)
    assert [int(k) for k, _, _ in rows] == [1, 2, 3, 5, 7, 10]
    for k, epsilon, success in rows:
        mu = int(k) * gaussian_mu(1.0, delta)
        exact = gaussian_epsilon(mu, delta)
        assert epsilon == f"{exact:.3g}"
        assert success == in_percent(attacker_success(exact, delta, mu))
        assert exact >= int(k), "k rows never have less than k times the loss"
    chain = sum(math.exp(i) for i in range(10)) * delta
    assert f"for ten rows epsilon 10 at delta = {chain + 5e-5:.4f}" in page, "rounded up"
    pitfalls = (DOCS / "pitfalls.md").read_text()
    several = [f"{gaussian_epsilon(k * gaussian_mu(1.0, delta), delta):.3g}" for k in (2, 3, 7, 10)]
    assert [f"{float(e):.2g}" if float(e) < 10 else e for e in several] == ["2.1", "3.3", "8.8", "13.5"]
    assert "epsilon 1 for a row is 2.1, 3.3, 8.8 and 13.5 for a person with 2, 3, 7 and 10 rows" in pitfalls
    assert not re.search("ten times (the loss|weaker)", page + pitfalls)


def test_exit_codes_on_the_page_about_operations():
    from dpsparse.cli import exits

    page = (DOCS / "operations.md").read_text()
    codes = {kind.exit_code for kind in vars(exits).values() if isinstance(kind, type) and hasattr(kind, "exit_code")}
    assert {int(code) for code in re.findall(r"^\| (\d) \|", page, re.MULTILINE)} == codes | {0, 1}


def test_variables_of_the_environment_on_the_page_about_operations():
    page = (DOCS / "operations.md").read_text()
    used = set()
    for path in (ROOT / "src" / "dpsparse").rglob("*.py"):
        used |= set(re.findall(r"[\"'](DPSPARSE_[A-Z]+)[\"']", path.read_text()))
    assert used
    assert {name for name in used if f"`{name}`" not in page} == set()


@pytest.mark.slow
@pytest.mark.skipif(find_spec("pydata_sphinx_theme") is None, reason="the extra docs is not installed")
def test_the_pages_are_built_without_a_warning(tmp_path):
    """In a process of its own, as `make docs` does: here Python's warnings are errors, and libraries of Sphinx have some."""
    command = [sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", "-d", str(tmp_path / "trees")]
    built = subprocess.run([*command, str(DOCS), str(tmp_path / "html")], capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert far(tmp_path / "html", 2) == []
