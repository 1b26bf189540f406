"""The page of a plan in a real browser: moved by keyboard, on both screens, without a request."""

import json

import pytest
from click.testing import CliRunner

from browser.conftest import SCREENS
from dpsparse.cli import main

TASK = ["--n-rows", "2000", "--n-features", "12", "--task", "classification", "--feature-bound", "1"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    found = tmp_path_factory.mktemp("plan") / "plan.html"
    done = CliRunner().invoke(main, ["plan", *TASK, "--html", str(found)])
    assert done.exit_code == 0, done.output
    return found


def grid(page):
    return json.loads(page.locator("#grid").text_content())


@pytest.mark.parametrize("screen", SCREENS)
def test_the_page_opens_without_an_error_a_request_or_a_barrier(screen, path, visit, shots):
    opened = visit(screen)
    page = opened.open(path)
    page.screenshot(path=shots / f"plan-{screen}.png", full_page=True)
    assert opened.findings() == []
    assert opened.wrong == []
    width, height = SCREENS[screen]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    word = page.locator("#verdict").bounding_box()
    assert word["y"] + word["height"] <= height  # the answer is on the first screen


def test_the_script_is_allowed_by_the_page_itself(path, browser):
    """Here the policy of the page holds, which other tests switch off for their tools."""
    page = browser.new_page()
    errors = []
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(path.as_uri())
    assert page.locator("#verdict").text_content()
    assert errors == []
    page.close()


def test_keys_move_epsilon_rows_and_coefficients_and_the_answer_follows(path, visit):
    opened = visit()
    page = opened.open(path)
    held = grid(page)
    for name, values in (("epsilon", held["epsilons"]), ("rows", held["rows"]), ("coefficients", held["coefficients"])):
        slider = page.locator(f"#{name}")
        slider.focus()
        page.keyboard.press("End")
        assert slider.input_value() == str(len(values) - 1)
        page.keyboard.press("ArrowLeft")
        assert slider.input_value() == str(len(values) - 2)
        shown = page.locator(f"#{name}-value").text_content()
        assert slider.get_attribute("aria-valuetext") == shown
        wanted = values[-2]
        assert shown.replace(",", "") == (f"{wanted:g}" if isinstance(wanted, float) else str(wanted))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    counts, rows, epsilons = len(held["coefficients"]), len(held["rows"]), len(held["epsilons"])
    low, typical, high, verdict, why = held["cells"][counts - 2][rows - 2][epsilons - 2][0]
    assert page.locator("#verdict").text_content().lower().startswith(verdict)
    assert page.locator("#why").text_content() == why
    assert float(page.locator("#typical").text_content()) == pytest.approx(typical, rel=0.06)
    ends = [float(v) for v in page.locator("#band").text_content().split(" to ")]
    assert ends == pytest.approx([low, high], rel=0.06)
    success = float(page.locator("#success").text_content().rstrip(" %"))
    assert success == pytest.approx(100 * held["success"][counts - 2][epsilons - 2], abs=0.06)
    assert opened.wrong == []


def test_fewer_rows_and_less_budget_end_in_hopeless_and_its_colour(path, visit, shots):
    page = visit("phone").open(path)
    for name in ("epsilon", "rows"):
        page.locator(f"#{name}").focus()
        page.keyboard.press("Home")
    assert page.locator("#verdict").text_content() == "Hopeless."
    assert "no" in page.locator("#answer").get_attribute("class").split()
    page.screenshot(path=shots / "plan-hopeless.png")


def test_a_known_signal_narrows_the_band(path, visit):
    page = visit().open(path)

    def width():
        low, high = (float(v) for v in page.locator("#band").text_content().split(" to "))
        return high - low

    before = width()
    page.locator("#signal").select_option("3")
    assert width() < 0.4 * before
    assert page.locator("#plot polyline").count() == 1
    assert "NaN" not in page.locator("#plot").evaluate("e => e.outerHTML")


def test_without_scripts_the_plan_can_still_be_read(path, visit):
    page = visit(java_script_enabled=False).open(path)
    assert page.locator("#sliders").is_hidden()
    assert page.locator("pre").text_content().startswith("Verdict: ")
    assert page.locator("noscript").count() == 1


def test_paper_shows_the_answer(path, visit, shots):
    page = visit().open(path)
    page.emulate_media(media="print")
    assert page.locator("#verdict").is_visible()
    assert page.pdf(path=shots / "plan.pdf").startswith(b"%PDF")
