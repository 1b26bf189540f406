"""Cases in which every pair of values of two different parameters occurs: far fewer than the product of all of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any


def pairwise(*parameters: Sequence[Any]) -> list[tuple[Any, ...]]:
    """A list of cases, one value of each parameter, in which every pair of values occurs.

    Chosen greedily: each next case of the product covers as many pairs as any that has not been taken. The order is fixed.

    Examples
    --------
    >>> len(pairwise("abcd", range(3), (True, False)))
    12
    """
    places = [range(len(values)) for values in parameters]
    cases = list(itertools.product(*places))
    pairs = {case: {(i, j, case[i], case[j]) for i, j in itertools.combinations(range(len(case)), 2)} for case in cases}
    missing, chosen = set().union(*pairs.values()), []
    while missing:
        best = max(cases, key=lambda case: len(pairs[case] & missing))
        missing -= pairs[best]
        chosen.append(best)
    return [tuple(values[k] for values, k in zip(parameters, case, strict=True)) for case in chosen]
