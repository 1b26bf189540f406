"""Tables for a fitted model that keeps the data dictionary of its fit."""

from __future__ import annotations

from collections.abc import Mapping

import scipy.sparse as sp

from ..io.dictionary import BoundedArray, TableEncoder


def encode_table(model: object, X: object) -> BoundedArray | sp.csr_matrix | None:
    """The rows of a table, encoded by the dictionary that a model keeps; None for any other rows.

    A table is a data frame or a dict of columns. One whose columns are the encoded ones is taken as
    it is by the model.
    """
    dictionary = vars(model).get("dictionary_")
    header = X if isinstance(X, Mapping) else getattr(X, "column_names", getattr(X, "columns", None))
    if dictionary is None or header is None or list(header) == list(vars(model).get("feature_names_in_", ())):
        return None
    encoder = TableEncoder(dictionary)
    return encoder.fit({column.name: [] for column in dictionary.features}).transform(X)
