"""The program ``dpsparse``. Only it imports this file: see `dpsparse.io.scikit`."""

import sys

from . import main

#: Commands that need scikit-learn whatever they are asked.
WITH_SCIKIT = frozenset(("bench", "predict", "score"))
#: Parts of numpy that are imported when they are first used: no command uses them.
UNUSED = frozenset(("ctypeslib", "f2py", "ma", "polynomial", "testing"))


def program() -> None:
    """Run the command that was typed."""
    if WITH_SCIKIT & set(sys.argv[1:]):
        import sklearn.base  # noqa: F401
    else:
        _import_scipy()
    main(prog_name="dpsparse")


def _import_scipy() -> None:
    """Import SciPy while numpy does not list its unused parts: SciPy would import all that is listed.

    They bring some 120 modules with them, and are listed again afterwards.
    """
    import numpy as np

    whole = {"__all__": np.__all__, "__dir__": np.__dir__}
    listed = [name for name in dir(np) if name not in UNUSED]
    vars(np).update(__all__=[name for name in np.__all__ if name not in UNUSED], __dir__=lambda: listed)
    try:
        import scipy.sparse
        import scipy.special  # noqa: F401
    finally:
        vars(np).update(whole)
