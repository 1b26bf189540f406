"""How recipes want rows shown: where columns are measured from, and how high the intercept column is."""

from __future__ import annotations

import numpy as np

from ...core.facts import Facts


def centre(facts: Facts, intercept: bool) -> Facts:
    r"""Dense columns measured from the midpoint of their bounds, and an intercept column of moderate height.

    The shift is public and free: with an intercept the model is the same, and entries in ``[lo, hi]`` become entries in
    ``[-(hi-lo)/2, (hi-lo)/2]``, which halves every sensitivity for one-signed features. Sparse columns stay unshifted,
    and so does everything when the user gave a `feature_center` of their own, or wants no intercept. The height
    :math:`\min(K_\infty, K_2/3)` adds at most 5.5 % to the norm of a row.
    """
    if not intercept:
        return facts
    if not facts.sparse and not np.any(facts.shift):
        facts = facts.with_(shift=(np.asarray(facts.lower) + np.asarray(facts.upper)) / 2 * np.ones(facts.n_features))
    return facts.with_(intercept=min(facts.feature_bound, facts.row_bound / 3))
