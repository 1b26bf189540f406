"""Randomness of a release, and the one warning about seeds."""

from __future__ import annotations

import warnings

from ..core import NonPrivateRandomnessWarning
from ..core.mechanisms import Randomness


def warn_if_seeded(randomness: Randomness, what: str, stacklevel: int = 3) -> None:
    """Warn that what is about to be released will not be private, because its noise can be made again.

    Parameters
    ----------
    randomness : Randomness
    what : str
        ``"fit"``, ``"search"``, ``"step"``.
    stacklevel : int
        Frames between the user's line and this one.
    """
    if not randomness.secure:
        warnings.warn(
            f"random_state was given: the noise can be reproduced, so this {what} is not private. "
            "Use random_state=None for a release.",
            NonPrivateRandomnessWarning,
            stacklevel=stacklevel,
        )
