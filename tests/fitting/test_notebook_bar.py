"""Bars in notebooks: no widgets, few drawings, names escaped, and the number of a search's runs not told."""

import sys
from types import SimpleNamespace

import pytest

from dpsparse import PrivateSearch, SparseRegressor
from dpsparse.fitting.progress import NotebookBar, TerminalBar, in_notebook, progress_bar


class Screen:
    """Stands in for IPython in a notebook: keeps all that was drawn."""

    def __init__(self, kernel=True):
        self.drawn = []
        self.shell = SimpleNamespace(kernel=object()) if kernel else SimpleNamespace()

    def get_ipython(self):
        return self.shell

    def display(self, shown, display_id):
        assert display_id is True
        self.update(shown)
        return self

    def update(self, shown):
        self.drawn.append((shown._repr_html_(), repr(shown)))


@pytest.fixture
def screen(monkeypatch):
    found = Screen()
    monkeypatch.setitem(sys.modules, "IPython", found)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=found.display))
    return found


def test_a_notebook_is_known_by_its_kernel(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", Screen(kernel=False))
    assert not in_notebook()
    monkeypatch.setitem(sys.modules, "IPython", Screen())
    assert in_notebook()


def test_elsewhere_the_bar_is_that_of_the_terminal(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert isinstance(progress_bar("fit", 3), TerminalBar)


def test_a_fit_draws_every_charge_and_ends_full(screen, capsys):
    rows = [[0.1, 0.2], [0.3, -0.4]] * 20
    model = SparseRegressor(
        epsilon=1.0, feature_bound=1.0, target_bound=1.0, recipe="dp_ight", verbose=True, random_state=0
    )
    model.fit(rows, [0.1, 0.2] * 20)
    first, last = screen.drawn[0], screen.drawn[-1]
    total = sum(ask.times for ask in model.statement_.asks)
    assert f'value="0" max="{total}"' in first[0]
    assert f'value="{total}" max="{total}"' in last[0]
    assert last[1].endswith(f"{total} of {total}")
    assert capsys.readouterr().out == ""


def test_a_long_fit_is_drawn_about_a_hundred_times(screen):
    bar = NotebookBar("long", 10_000)
    bar.start()
    for _ in range(10_000):
        bar.advance("gradient")
    bar.stop()
    assert 100 <= len(screen.drawn) <= 103


def test_a_search_shows_that_it_runs_and_not_how_far(screen):
    model = SparseRegressor(feature_bound=1.0, target_bound=1.0, recipe="dp_ight")
    search = PrivateSearch(model, {"sparsity": [1, 2]}, mean_runs=2, random_state=0, verbose=True)
    search.fit([[0.1, 0.2], [0.3, -0.4]] * 20, [0.1, 0.2] * 20)
    assert [text for _, text in screen.drawn] == ["private search: running", "private search: done"]


def test_names_in_a_bar_are_escaped(screen):
    bar = NotebookBar("<script>", 2)
    bar.start()
    bar.advance('"><img src=x>')
    bar.stop()
    assert all("<script" not in text and "<img" not in text for text, _ in screen.drawn)
