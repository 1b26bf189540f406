"""A real browser: Debian's chromium, driven by playwright. Whatever asks for anything but a local file is noted and fails."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
#: Width and height of the two screens.
SCREENS = {"desk": (1280, 800), "phone": (390, 844)}


def chromium() -> str | None:
    """The browser of this machine."""
    named = os.environ.get("DPSPARSE_CHROMIUM")
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return named or next((path for path in found if path), None)


def _missing() -> str | None:
    """Why the tests cannot run here."""
    if chromium() is None:
        return "there is no chromium: make browser installs it as root on Debian; DPSPARSE_CHROMIUM names another one"
    try:
        import axe_playwright_python
        import playwright  # noqa: F401
    except ImportError:
        return "playwright and axe-playwright-python are not installed: make browser does"
    del axe_playwright_python
    return None


def pytest_collection_modifyitems(config, items):
    here = [item for item in items if HERE in item.path.parents]
    asked = "browser" in (config.option.markexpr or "")
    reason = _missing() if asked else "they have a command of their own: make test-browser"
    for item in here:
        item.add_marker(pytest.mark.browser)
        if reason is not None:
            item.add_marker(pytest.mark.skip(reason=reason))


class Visit:
    """An open page, and what went wrong on it."""

    def __init__(self, browser, screen="desk", **options):
        width, height = SCREENS[screen]
        self.context = browser.new_context(viewport={"width": width, "height": height}, bypass_csp=True, **options)
        self.page = self.context.new_page()
        self.wrong = []
        self.context.route("**/*", self._route)
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))

    def _route(self, route):
        address = route.request.url
        if address.startswith(("file:", "data:", "blob:")):
            route.continue_()
            return
        self.wrong.append(f"request: {address}")
        route.abort()

    def _console(self, message):
        if message.type == "error":
            self.wrong.append(f"console: {message.text}")

    def open(self, path):
        self.wrong.clear()
        self.page.goto(Path(path).as_uri())
        return self.page

    def findings(self):
        """What axe-core calls serious or critical by WCAG 2.1 A and AA, each with the elements that it is about."""
        from axe_playwright_python.sync_playwright import Axe

        tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]
        # pages that are files may not ask for their style sheets once more
        options = {"resultTypes": ["violations"], "runOnly": tags, "preload": False}
        found = Axe().run(self.page, options=options).response["violations"]
        return [
            f"{one['id']}: {one['help']}: {[node['html'][:160] for node in one['nodes'][:4]]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def visit(browser):
    """Opens pages on either screen; closed at the end."""
    made = []

    def start(screen="desk", **options):
        made.append(Visit(browser, screen, **options))
        return made[-1]

    yield start
    for one in made:
        one.context.close()


@pytest.fixture(scope="session")
def shots(tmp_path_factory):
    """Where screenshots go: DPSPARSE_SHOTS, or a temporary folder."""
    named = os.environ.get("DPSPARSE_SHOTS")
    folder = Path(named) if named else tmp_path_factory.mktemp("shots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """The documentation, built; or DPSPARSE_SITE, where it was built already."""
    named = os.environ.get("DPSPARSE_SITE")
    if named:
        return Path(named)
    pytest.importorskip("sphinx")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", str(ROOT / "docs"), str(folder)]
    subprocess.run(command, check=True, cwd=ROOT)
    return folder
