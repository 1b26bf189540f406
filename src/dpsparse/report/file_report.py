"""A report about a file: its digest is checked here, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..core.errors import ModelEditedError
from ..estimators.files import digest_in, load
from ..ledger import Ledger
from .content import Report, report_of


def report_of_file(
    path: str | os.PathLike[str],
    *,
    ledger: Ledger | None = None,
    audit: Mapping[str, Any] | None = None,
    scores: Mapping[str, Any] | None = None,
) -> Report:
    """Read a saved model, private pipeline or search, check its digest, and gather what is known about it.

    An edited file is read all the same, so that there is a page that says so; its answer is no.

    Parameters
    ----------
    path : str or Path
    ledger, audit, scores
        As in `report_of`.
    """
    edited = False
    try:
        model = load(path)
    except ModelEditedError:
        edited, model = True, load(path, edited=True)
    name, digest = Path(path).name, digest_in(path)
    return report_of(model, digest=digest, edited=edited, ledger=ledger, audit=audit, scores=scores, name=name)
