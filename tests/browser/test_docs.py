"""Every page of the documentation in a real browser, as it was built: no request, no error, no barrier."""

from browser.conftest import SCREENS

#: Pages that Sphinx makes for itself; the search needs its script, and is looked at all the same.
LEFT = {"_static", "_sources", "_images", "_downloads"}


def pages(site):
    return sorted(
        path for path in site.rglob("*.html") if not LEFT & {part.name for part in path.relative_to(site).parents}
    )


def test_every_page_opens_without_an_error_or_a_request_and_axe_finds_nothing_serious(site, visit, shots):
    opened, wrong = visit(), {}
    found = pages(site)
    assert len(found) > 20
    for path in found:
        page = opened.open(path)
        name = str(path.relative_to(site))
        problems = opened.findings()
        problems += opened.wrong
        if not page.locator("html").get_attribute("lang"):
            problems.append("no language")
        broken = page.evaluate("() => [...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => i.src)")
        problems += [f"picture: {address}" for address in broken]
        if problems:
            wrong[name] = list(problems)
    assert wrong == {}


def test_the_front_page_fits_a_phone_and_can_be_walked_by_keyboard(site, visit, shots):
    for screen, (width, _) in SCREENS.items():
        page = visit(screen).open(site / "index.html")
        page.screenshot(path=shots / f"docs-{screen}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    seen = set()
    for _ in range(30):
        page.keyboard.press("Tab")
        seen.add(page.evaluate("() => document.activeElement.getAttribute('href') || ''"))
    assert len(seen) > 8


def test_the_search_finds_pages_where_they_are_files(site, visit):
    opened = visit()
    page = opened.open(site / "search.html")
    page.goto(f"{page.url}?q=epsilon")
    page.locator("#search-results li a").first.wait_for()
    found = page.locator("#search-results li a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert any(link.startswith("choosing_epsilon.html") for link in found)
    assert opened.wrong == []
