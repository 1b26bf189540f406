"""What these models refuse: arguments of ``fit`` that other libraries have."""

from __future__ import annotations

from collections.abc import Mapping


def refuse_fit_arguments(given: Mapping[str, object]) -> None:
    """Refuse what `fit` was given beyond X and y, and say why.

    Examples
    --------
    >>> refuse_fit_arguments({})
    >>> refuse_fit_arguments({"sample_weight": [1, 2]})
    Traceback (most recent call last):
    TypeError: sample_weight is not supported: a weight multiplies what one record may contribute, ...
    """
    if "sample_weight" in given:
        raise TypeError(
            "sample_weight is not supported: a weight multiplies what one record may contribute, so the noise would not cover "
            "it, and weights that were computed from the data tell about it. Leave rows out by a public rule instead."
        )
    if given:
        raise TypeError(f"fit takes X and y only, got {', '.join(sorted(given))}. Give options to the constructor.")
