"""Which rows are like texts: by how they are stored and by their bounds, which are public."""

from __future__ import annotations

from ...facts import Facts

#: Sparse rows whose squared length is within this part of their box's are taken for documents.
SPIKY = 0.15


def documents(facts: Facts) -> bool:
    """Whether rows are stored sparse and, by their bounds, fill a small part of their box, as a norm without a bound on features allows.

    Sparse rows of an ordinary box are treated as dense ones: storage does not show there.
    """
    return facts.sparse and facts.row_bound**2 < SPIKY * facts.n_features * facts.feature_bound**2
