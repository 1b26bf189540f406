"""One way to read what was saved: models, pipelines and searches."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..core import DataError
from ..core.errors import ModelEditedError
from ..core.regular_files import parse_json, read_bytes
from .linear import SparseLinear
from .model_file import DAMAGED, EDITED, LARGEST_BYTES
from .model_file import load as load_model
from .model_schema import model_digest
from .search import PrivateSearch
from .search import search_file as searches
from .steps import PrivatePipeline
from .steps import pipeline_file as pipelines

Fitted = SparseLinear | PrivatePipeline | PrivateSearch

#: Formats beside models: their version, their parts, and what is made of them.
FORMATS: dict[str, tuple[int, frozenset[str], Callable[[Mapping[str, Any]], PrivatePipeline | PrivateSearch]]] = {
    pipelines.FORMAT: (
        pipelines.VERSION,
        frozenset(("format", "version", "params", "steps", "name", "model", "statement", "digest")),
        pipelines.pipeline_of,
    ),
    searches.FORMAT: (
        searches.VERSION,
        frozenset(
            ("format", "version", "params", "space", "best_params", "best_score", "model", "statement", "digest")
        ),
        searches.search_of,
    ),
}


def load(path: str | os.PathLike[str], *, edited: bool = False, largest: int = LARGEST_BYTES) -> Fitted:
    """Read a model, a private pipeline or a private search that `save` wrote.

    The file ends with a digest over all that it holds. A file whose digest does not fit was changed after it was saved, or
    damaged: it is refused. The digest finds changes; whoever can write the file can also make a new digest, so it proves nothing about
    who made the model. A ledger does: see the statement's `ledger`. Nothing in a file is run.

    Parameters
    ----------
    path : str or Path
    edited : bool
        Load a file whose digest does not fit all the same; its statement then says so first.
    largest : int
        Files of more bytes are not read.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ModelEditedError
        If the digest does not fit.
    DataError
        If the file is not one of a version that this release reads.
    """
    content = _content(path, largest)
    if content.get("format") not in FORMATS:
        return load_model(path, edited=edited, largest=largest)
    version, parts, make = FORMATS[content["format"]]
    if content.get("version") != version:
        raise DataError(f"{path} has another format version; this release reads version {version}. Update dpsparse.")
    sealed = content.get("digest") == model_digest(content)
    if not (sealed or edited):
        raise ModelEditedError(
            f"{path} was edited after it was saved, or is damaged: its digest does not fit. Nothing in it can be relied on. "
            "Get the original; dpsparse.load(path, edited=True) reads it all the same."
        )
    try:
        if set(content) != parts:
            raise ValueError
        found = make(content)
    except DAMAGED as error:
        raise DataError(
            f"{path} is a damaged file of dpsparse ({type(error).__name__}). Save it again from the original."
        ) from None
    if not sealed:
        found.statement_ = replace(found.statement_, private=False, caveats=(EDITED, *found.statement_.caveats))
    return found


def digest_in(path: str | os.PathLike[str], largest: int = LARGEST_BYTES) -> str | None:
    """The digest that a file names, whether it fits or not; None for models of version 1, which have none."""
    named = _content(path, largest).get("digest")
    return named if isinstance(named, str) else None


def _content(path: str | os.PathLike[str], largest: int) -> dict[str, Any]:
    """What a file holds; nothing where it is no JSON object."""
    try:
        content = parse_json(read_bytes(path, largest, "a dpsparse model").decode("utf-8"))
    except ValueError:
        return {}
    return content if isinstance(content, dict) else {}
