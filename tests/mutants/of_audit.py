"""Checks: data that is not fresh, rows that are not compared, subclasses that are believed."""

from .mutant import changed

STEPS = "audit/test_mixing_steps.py"

MUTANTS = (
    *changed(
        "audit/laws.py",
        STEPS,
        (
            "swap keeps the rows",
            "return X if labels_only else fresh_rows(X, rng), draw(y, rng)",
            "return X, draw(y, rng)",
        ),
        (
            "swap keeps the targets",
            "return X if labels_only else fresh_rows(X, rng), draw(y, rng)",
            "return X if labels_only else fresh_rows(X, rng), np.asarray(y)",
        ),
    ),
    *changed(
        "audit/transformer_checks.py",
        STEPS,
        ("large companies are not tried", "SIZES = (2, 7, 64, 1_025)", "SIZES = (2, 7, 64)"),
        (
            "rows alone are not compared",
            "                if not self._close(np.vstack(alone), together):\n                    return True\n                for size in SIZES:",
            "                return False\n                for size in SIZES:",
        ),
    ),
    *changed(
        "audit/pipeline.py",
        STEPS,
        (
            "code of others is not tried",
            "        if name in HOLDS_CODE and mixes(step):",
            "        if False:",
        ),
        ("steps are not tried before private rows come", "    if not _runs_foreign_code(step):", "    if True:"),
    ),
    *changed(
        "audit/pipeline.py",
        "audit/test_fitted_steps.py",
        ("fitted steps that mix rows", "        if verdict or (_sklearn(part)", "        if False and (_sklearn(part)"),
        ("steps in containers are not tried", "                yield from _parts(inner)", "                continue"),
        (
            "the last bits of steps are not compared",
            "not mixes(tried, rows, fitted=True, tolerance=0.0)",
            "True",
        ),
    ),
)
