"""One way to read what was saved: models, pipelines and searches."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from ..core import DataError
from ..core.codec import FormError, read
from ..core.errors import ModelEditedError
from ..core.regular_files import parse_json, read_bytes
from . import model_file
from .model_file import DAMAGED, EDITED, LARGEST_BYTES, model_digest, model_of

if TYPE_CHECKING:
    from .linear import SparseLinear
    from .search import PrivateSearch
    from .steps import PrivatePipeline
    from .survival import SparseSurvival

    Fitted: TypeAlias = SparseLinear | PrivatePipeline | PrivateSearch | SparseSurvival


def _reader(form: str) -> tuple[tuple[int, ...], type, Callable[..., Fitted]] | None:
    """The versions of a format that are read, what a file holds, and what is made of it; None for other files.

    Each is imported when there is a file of it: pipelines and searches stand on scikit-learn.
    """
    if form == model_file.FORMAT:
        return model_file.VERSIONS, model_file.ModelContent, model_of
    if form == "dpsparse-pipeline":
        from .steps import pipeline_file as pipelines

        return (pipelines.VERSION,), pipelines.PipelineContent, pipelines.pipeline_of
    if form == "dpsparse-search":
        from .search import search as searches

        return (searches.VERSION,), searches.SearchContent, searches.search_of
    if form == "dpsparse-survival":
        from .survival import survival as survivals

        return (survivals.VERSION,), survivals.SurvivalContent, survivals.survival_of
    return None


def load(path: str | os.PathLike[str], *, edited: bool = False, largest: int = LARGEST_BYTES) -> Fitted:
    """Read a model, a private pipeline or a private search that `save` wrote.

    The file ends with a digest over all that it holds. A file whose digest does not fit was changed
    after it was saved, or damaged: it is refused. The digest finds changes; anyone who can write the
    file can also make a new digest, so it proves nothing about who made the model. A ledger does:
    see the statement's `ledger`. Nothing in a file is run.

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
    form = str(content.get("format")) if isinstance(content, dict) else ""
    reader = _reader(form)
    if reader is None:
        why = ": it is not valid JSON" if content is None else ""
        raise DataError(f"{path} is not a dpsparse model{why}. Save models with model.save(path).")
    versions, kind, make = reader
    version = content.get("version")
    if type(version) is not int or version not in versions:
        known = " and ".join(map(str, versions))
        raise DataError(
            f"{path} has another format version; this release reads version{'s' * (len(versions) > 1)} {known}. "
            "Update dpsparse."
        )
    try:
        held: object = read(kind, content, "the file")
        sealed = content.get("digest") == model_digest(content)
        if not (sealed or edited):
            raise ModelEditedError(
                f"{path} was edited after it was saved, or is damaged: its digest does not fit. Nothing in it can be "
                "relied on. Get the original; dpsparse.load(path, edited=True) reads it all the same."
            )
        found = make(held)
    except ModelEditedError:
        raise
    except DAMAGED as error:
        why = (
            str(error)
            if isinstance(error, FormError)
            else f"its parts do not belong together ({type(error).__name__})."
        )
        raise DataError(f"{path} is a damaged dpsparse model: {why} Save it again from the original.") from None
    if not sealed:
        found.statement_ = replace(found.statement_, private=False, caveats=(EDITED, *found.statement_.caveats))
    return found


def digest_in(path: str | os.PathLike[str], largest: int = LARGEST_BYTES) -> str | None:
    """The digest that a file names, whether it fits or not; None for models of version 1, which have none."""
    content = _content(path, largest)
    named = content.get("digest") if isinstance(content, dict) else None
    return named if isinstance(named, str) else None


def _content(path: str | os.PathLike[str], largest: int) -> Any:
    """What a file holds; None where it is no JSON."""
    try:
        return parse_json(read_bytes(path, largest, "a dpsparse model").decode("utf-8"))
    except DataError:
        raise
    except ValueError:  # also bytes that are no text
        return None
