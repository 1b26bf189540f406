"""A notebook that is run by a real kernel: what cells show is HTML, bars move without widgets, and a browser shows it all."""

import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

ROOT = Path(__file__).parents[2]
START = """
import tempfile
import numpy as np
from dpsparse import Ledger, PrivateSearch, SparseRegressor
from dpsparse.audit import examine
rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (2000, 4))
y = X[:, 0] + 0.1 * rng.standard_normal(2000)
book = Ledger(f"sqlite:///{tempfile.mkdtemp()}/budget.db")
book.create("trial", epsilon=5.0, delta=1e-5)
shared = {"feature_bound": 1.0, "target_bound": 2.0}
model = SparseRegressor(epsilon=2.0, intervals="split", verbose=True, ledger=book, dataset="trial", **shared)
"""
#: Cells, and words that what they show must hold.
CELLS = {
    "model.plan(2000, 4)": "Verdict: useful",
    "model.fit(X, y)": "differential privacy",
    "model.statement_": "The unit of privacy is one row",
    "book": "trial",
    "model.intervals_": "95% interval",
    "PrivateSearch(SparseRegressor(**shared), {'sparsity': [1, 2]}, mean_runs=2, verbose=True).fit(X, y)": "private search",
    "examine(SparseRegressor(**shared), runs=16, fits=0)": "no violation found",
    "model.report_": "May I release this?",
}


@pytest.fixture(scope="module")
def run():
    cells = [nbformat.v4.new_code_cell(source) for source in (START, *CELLS, "_ = model.statement_.plot()")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])
    return nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute().cells


def shown(cell):
    return [one["data"]["text/html"] for one in cell["outputs"] if "text/html" in one.get("data", {})]


@pytest.mark.parametrize(("number", "words"), list(enumerate(CELLS.values(), start=1)))
def test_every_result_is_shown_as_html(number, words, run):
    assert words in shown(run[number])[-1]
    assert not [one for one in run[number]["outputs"] if one.get("name") == "stderr"]


def test_a_bar_is_one_line_that_ends_full(run):
    bars = [text for text in shown(run[2]) if "<progress" in text]
    assert len(bars) == 1
    value, most = (bars[0].split(f'{name}="')[1].split('"')[0] for name in ("value", "max"))
    assert value == most


def test_a_plot_is_shown_by_itself(run):
    assert [one for one in run[-1]["outputs"] if "image/png" in one.get("data", {})]


def test_a_browser_shows_what_the_cells_show(run, visit, tmp_path, shots):
    parts = "".join(f"<section>{text}</section>" for cell in run for text in shown(cell))
    (tmp_path / "notebook.html").write_text(
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Notebook</title></head><body><main><h1>Cells</h1>{parts}</main></body></html>',
        encoding="utf-8",
    )
    opened = visit()
    page = opened.open(tmp_path / "notebook.html")
    page.screenshot(path=shots / "notebook.png", full_page=True)
    assert opened.wrong == []
    frame = page.frame_locator("iframe[title=Report]")
    assert frame.locator(".answer .word").is_visible()
