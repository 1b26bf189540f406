"""The command line looks at what stands around a model before it reads a file."""

from click.testing import CliRunner

from dpsparse import audit
from dpsparse.cli import main
from dpsparse.core import PrivacyLeakError


def test_a_leak_is_refused_before_the_file_is_read(monkeypatch, tmp_path):
    seen = []

    def refuse(model, *, strict):
        seen.append((type(model).__name__, strict))
        raise PrivacyLeakError("standardscaler learns from all rows.")

    monkeypatch.setattr(audit, "check_pipeline", refuse)
    arguments = ["fit", str(tmp_path / "none.csv"), "--target", "y", "--task", "regression", "--feature-bound", "1"]
    run = CliRunner().invoke(main, [*arguments, "--target-bound", "1", "--out", str(tmp_path / "m.json")])
    assert run.exit_code == 2
    assert "standardscaler learns from all rows." in run.output
    assert seen == [("SparseRegressor", True)]
