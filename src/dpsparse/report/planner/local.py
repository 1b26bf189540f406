r"""Whether the local model has a chance: how many people a plan would need.

Two bounds say when it has none, whatever the algorithm [WX19]_: protecting whole records, the
squared error is at least of order :math:`p/(n\epsilon^2)` (Theorem 2); protecting labels,
:math:`C^2 s\ln(p/s)/(n\epsilon^2)` for labels of size C (Theorem 6). Their constants are not known.
The number of people stated here comes from the randomiser that the plan has: as many as
coefficient among s equal ones stands above the largest of p noises.

References
----------
.. [WX19] Wang and Xu, ICML 2019.
"""

from __future__ import annotations

import math
from typing import Protocol, cast

import numpy as np

from ...core.facts import Clip, Facts
from ...core.participation import PUBLIC_FEATURES
from ...core.plan import Noise
from ...fitting import FitPlan
from ...oracles.local import LocalNoise
from ...queries.kinds import Gradient, RandomizedLabels

#: Reports of more bytes are warned about: what 16,384 features make of four bytes each.
LONG_REPORT = 2**16


class Loop(Protocol):
    """What is read of the loops of local recipes."""

    @property
    def sparsity(self) -> int:
        """Coefficients that are kept."""
        ...

    @property
    def clip(self) -> Clip:
        """Of one person's gradient."""
        ...


def warnings(prepared: FitPlan) -> tuple[str, ...]:
    """What stands against a plan of the local model: features without protection, too few people.

    Nothing for other plans.

    Parameters
    ----------
    prepared : FitPlan
        Facts, solver and priced plan of an estimator.
    """
    if prepared.priced is None or not prepared.plan.local:
        return ()
    facts = prepared.facts
    needed = people_needed(prepared)
    said = (PUBLIC_FEATURES,) if prepared.plan.labels_only else _long_reports(facts)
    if facts.n_rows >= needed:
        return said
    [ask] = prepared.plan.asks
    strength = prepared.priced.cost(ask.name).strength
    # a Gaussian report of mu is about as telling as a pure one of that epsilon
    what = f"{'epsilon' if ask.noise is Noise.LOCAL else 'mu'} = {strength:.3g}"
    if prepared.plan.labels_only:
        size = facts.target.steepest
        s = _sparsity(prepared)
        floor = size**2 * s * math.log(max(facts.n_features / s, math.e)) / (facts.n_rows * strength**2)
        least = (
            f"with labels alone private the squared error is of order C^2 s ln(p/s)/(n eps^2) = {floor:.2g} at least"
        )
    else:
        floor = facts.n_features / (facts.n_rows * strength**2)
        least = (
            f"in the local model the squared error is of order p/(n eps^2) = {floor:.2g} at least, "
            "for features of size 1"
        )
    advice = (
        "ask more people, raise epsilon, or trust a curator (recipe='auto')"
        if prepared.plan.labels_only
        else "ask more people, use fewer features, protect labels only (recipe='label_ldp_iht'), "
        "or trust a curator (recipe='auto')"
    )
    return (
        *said,
        f"{facts.n_rows} people are too few for {facts.n_features} features at {what}: about "
        f"{_rounded(needed)} are needed to tell "
        f"{_sparsity(prepared)} coefficients from noise; {least}. To do better, {advice}.",
    )


def _long_reports(facts: Facts) -> tuple[str, ...]:
    """A note about long reports.

    Every report has a number for each feature, however sparse the rows are.
    """
    size = 4 * facts.dimension
    if size <= LONG_REPORT:
        return ()
    return (
        f"every person sends {facts.dimension:,} numbers, {_rounded(size / 1000)} kB, however "
        "sparse the rows are, and the noise is spread over all of "
        "them. Use fewer features, or protect labels only (recipe='label_ldp_iht'), where a report is one number.",
    )


def people_needed(prepared: FitPlan) -> float:
    r"""People with whom one coefficient of s equal ones stands above the largest of p noises.

    A coefficient that carries its part of a typical target shows as :math:`t\,e/\sqrt s` in a
    gradient entry, e being the root mean square of entries that fill the row bound. The mean of all
    n reports, which falling steps come near to, has a noise of :math:`\sigma/\sqrt n` there, the
    largest of p about :math:`\sqrt{2\ln p} + 1` times that.
    """
    facts = prepared.facts
    assert prepared.priced is not None
    [ask] = prepared.plan.asks
    classes = facts.target.classes
    terms = LocalNoise(prepared.priced, facts, classes)
    entry = facts.norm_bound / math.sqrt(facts.dimension)
    typical = facts.target.spread
    largest = math.sqrt(2 * math.log(max(facts.n_features, 2))) + 1
    if prepared.plan.labels_only:
        noise = terms.deviation(RandomizedLabels(), ask.name, 0) / math.sqrt(facts.n_rows)
        signal = typical / math.sqrt(_sparsity(prepared))
    else:
        clip = _loop(prepared).clip
        noise = terms.deviation(Gradient(np.zeros(facts.dimension), clip), ask.name, 0) / math.sqrt(
            terms.groups(ask.name)
        )
        signal = min(typical, clip.norm / facts.norm_bound) * entry / math.sqrt(_sparsity(prepared))
    return float(facts.n_rows * (largest * noise / signal) ** 2)


def _loop(prepared: FitPlan) -> Loop:
    """The loop that local recipes share; behind labels, the one that reads them."""
    solver = prepared.solver.loop if prepared.plan.labels_only else prepared.solver  # type: ignore[attr-defined]
    return cast(Loop, solver)


def _sparsity(prepared: FitPlan) -> int:
    """How many coefficients the loop looks for, one where it would take all of them."""
    s = _loop(prepared).sparsity
    return s if s < prepared.facts.n_features else 1


def _rounded(count: float) -> str:
    """Two digits are all that such a number has."""
    digits = 10 ** max(0, math.floor(math.log10(count)) - 1)
    return f"{math.ceil(count / digits) * digits:,}"
