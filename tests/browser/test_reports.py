"""Reports as a person meets them: the answer on the first screen, plots, keys, paper, and no request."""

import pytest

from browser.conftest import SCREENS
from browser.reports import ANSWERS, make

MODELS = [name for name, answer in ANSWERS.items() if answer is not None]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("reports")
    make(found)
    return found


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", ANSWERS)
def test_a_page_opens_without_an_error_a_request_or_a_barrier(name, screen, folder, visit, shots):
    opened = visit(screen)
    page = opened.open(folder / f"{name}.html")
    page.screenshot(path=shots / f"{name}-{screen}.png")
    page.screenshot(path=shots / f"{name}-{screen}-whole.png", full_page=True)
    assert opened.findings() == []
    assert opened.wrong == []
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= SCREENS[screen][0]
    assert page.evaluate("document.scripts.length") == 0


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("name", MODELS)
def test_the_answer_is_on_the_first_screen_and_has_its_colour(name, screen, folder, visit):
    page = visit(screen).open(folder / f"{name}.html")
    answer, word = page.locator(".answer"), page.locator(".answer .word")
    assert ANSWERS[name] in answer.get_attribute("class").split()
    box = page.locator("#answer").bounding_box()
    assert box["y"] + box["height"] <= SCREENS[screen][1]
    reasons = page.locator(".reasons li")
    if ANSWERS[name] != "yes":
        first = reasons.first.bounding_box()
        assert first["y"] + first["height"] <= SCREENS[screen][1]
    red, green, blue = (int(part) for part in word.evaluate("e => getComputedStyle(e).color")[4:-1].split(","))
    assert (green > red and green > blue) == (ANSWERS[name] == "yes")
    caveats = page.locator(".caveats")
    if ANSWERS[name] == "no":
        assert caveats.bounding_box()["y"] < answer.bounding_box()["y"]
        colour = page.locator(".caveat").first.evaluate("e => getComputedStyle(e).color")
        assert colour == "rgb(155, 0, 22)"


@pytest.mark.parametrize("name", MODELS)
def test_checks_are_read_on_a_phone_without_scrolling_sideways(name, folder, visit):
    page = visit("phone").open(folder / f"{name}.html")
    tables = page.locator("table.stack")
    for k in range(tables.count()):
        assert tables.nth(k).evaluate("e => e.parentElement.scrollWidth <= e.parentElement.clientWidth")
    narrow = page.locator("table.stack td:nth-child(3)").evaluate_all("cells => cells.map(c => c.clientWidth)")
    assert min(narrow) > 300


@pytest.mark.parametrize("name", MODELS)
def test_plots_are_drawn_within_their_frames(name, folder, visit):
    page = visit().open(folder / f"{name}.html")
    plots = page.locator("svg.plot")
    assert plots.count() >= 3
    for k in range(plots.count()):
        plot = plots.nth(k)
        frame = plot.bounding_box()
        assert frame["width"] > 200
        assert frame["height"] > 50
        assert plot.get_attribute("aria-label")
        drawn = plot.evaluate("e => [...e.querySelectorAll('polyline,rect,path')].map(s => s.getBBox().width)")
        assert max(drawn) > 30
        assert plot.evaluate(
            "e => [...e.querySelectorAll('polyline,polygon,circle')].every(s => !/NaN/.test(s.outerHTML))"
        )


def test_choices_are_reached_and_made_by_keyboard(folder, visit):
    page = visit().open(folder / "paid.html")
    seen = []
    for _ in range(60):
        page.keyboard.press("Tab")
        seen.append(
            page.evaluate(
                "() => { const e = document.activeElement; return [e.tagName, e.type || '', e.getAttribute('href') || '',"
                " getComputedStyle(e).outlineStyle]; }"
            )
        )
        if seen[-1][0] == "BODY":
            break
    kinds = [(tag, kind) for tag, kind, *_ in seen]
    assert seen[0][2] == "#content"
    assert kinds.count(("INPUT", "radio")) == 2
    assert kinds.count(("INPUT", "checkbox")) == page.locator("input[type=checkbox]").count()
    assert [tag for tag, _ in kinds].count("SUMMARY") == page.locator("summary").count()
    links = {href for _, _, href, _ in seen}
    assert links >= {
        f"#{part}" for part in ("checks", "learn", "not", "model", "noise", "payment", "audit", "expected")
    }
    assert all(outline != "none" for tag, _, _, outline in seen if tag in ("A", "INPUT", "SUMMARY"))
    figures = page.locator("figure.choice")
    for k in range(figures.count()):
        figure = figures.nth(k)
        figure.locator("input:checked").focus()
        before = figure.evaluate(VISIBLE)
        page.keyboard.press("ArrowRight")
        after = figure.evaluate(VISIBLE)
        assert len(before) == len(after) == 1
        assert before != after


#: Which option of a figure is brought out.
VISIBLE = """e => [...e.querySelectorAll('svg .option')].map((g, k) => [k, [...g.querySelectorAll('polygon,circle')]
  .some(s => getComputedStyle(s).display !== 'none')]).filter(p => p[1]).map(p => p[0])"""


def test_sections_are_reached_from_the_navigation_and_details_open_by_key(folder, visit):
    page = visit().open(folder / "paid.html")
    page.locator("nav a[href='#checklist']").focus()
    page.keyboard.press("Enter")
    assert page.locator("#checklist").bounding_box()["y"] < 800
    summary = page.locator("summary").last
    summary.focus()
    page.keyboard.press("Enter")
    assert page.locator("pre").is_visible()
    box = page.locator("input[type=checkbox]").first
    box.focus()
    page.keyboard.press("Space")
    assert box.is_checked()


@pytest.mark.parametrize("name", MODELS)
def test_paper_shows_the_answer_the_plots_and_what_was_folded(name, folder, visit, shots):
    page = visit().open(folder / f"{name}.html")
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert page.locator(".answer .word").is_visible()
    assert page.locator("details pre").bounding_box()["height"] > 50
    for k in range(page.locator("svg.plot").count()):
        assert page.locator("svg.plot").nth(k).bounding_box()["height"] > 50
    made = page.pdf(path=shots / f"{name}.pdf", print_background=True)
    assert made.startswith(b"%PDF")
    assert len(made) > 20_000


def test_without_scripts_the_page_is_the_same(folder, visit):
    page = visit(java_script_enabled=False).open(folder / "paid.html")
    page.locator("figure.choice").first.locator("input").last.check()
    assert page.locator("figure.choice").first.locator("p.option:visible").count() == 1
