"""What the tests of the report share: data, fits, and a reader of pages."""

import re
from html.parser import HTMLParser

import numpy as np

from dpsparse import SparseRegressor, recipes

RNG = np.random.default_rng(0)
X = RNG.uniform(-1, 1, (3000, 6))
Y = X[:, 0] - 0.5 * X[:, 1] + 0.1 * RNG.standard_normal(3000)
#: Private, and priced in no time.
QUICK = recipes.DPIGHT(steps=3, mechanism="dense")
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source"}


class Balanced(HTMLParser):
    """Every element is closed, nothing is loaded, ids are unique, and links inside lead somewhere."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.targets, self.loaded, self.tags = [], [], [], [], set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self._look(tag, dict(attrs))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._look(tag, dict(attrs))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def _look(self, tag, given):
        self.tags.add(tag)
        self.ids += [given["id"]] if "id" in given else []
        if given.get("href", "").startswith("#"):
            self.targets.append(given["href"][1:])
        self.loaded += [given[k] for k in ("src", "srcset", "data") if k in given]
        self.loaded += [given["href"]] if "href" in given and not given["href"].startswith("#") else []
        self.loaded += [k for k in given if k.startswith("on")]


def check_page(text):
    """The page, if it stands alone."""
    found = Balanced(text)
    assert found.open == []
    assert found.loaded == []
    assert len(set(found.ids)) == len(found.ids)
    assert set(found.targets) <= set(found.ids)
    assert "http" not in re.sub(r"http-equiv|http://www\.w3\.org/2000/svg", "", text)
    assert "script" not in found.tags
    return text


def first_screen(page):
    """All that stands above the sections."""
    return page[page.index("<body>") : page.index('id="checks"')]


def fitted(**options):
    """A small regression."""
    settings = {"epsilon": 2.0, "feature_bound": 1.0, "target_bound": 2.0, "sparsity": 2, **options}
    return SparseRegressor(**settings).fit(X, Y)


def quick(**options):
    """The same in no time."""
    return fitted(**{"recipe": QUICK, **options})
