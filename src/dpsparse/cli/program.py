"""The program ``dpsparse``. Only it imports this file: see `dpsparse.io.scikit`."""

import sys

from . import main

#: Commands that need scikit-learn whatever they are asked.
WITH_SCIKIT = frozenset(("bench", "predict", "score"))


def program() -> None:
    """Run the command that was typed."""
    if WITH_SCIKIT & set(sys.argv[1:]):
        import sklearn.base  # noqa: F401
    main(prog_name="dpsparse")
