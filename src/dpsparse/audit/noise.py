r"""Is the noise what it says it is? Tests of its law, of its support and of its independence; and of samplers.

A privacy proof is about a law on the real numbers. Floats can betray it: :math:`q + \sigma Z`
computed in floats lands on a grid that depends on :math:`q`, so that a single answer can exclude a
neighbour. Our answers are integers times a public unit, whatever the data: `off_lattice` counts
what is not. `check_noise` and `check_sampler` compare draws with the law that was priced, by tests
that fail a right mechanism with probability `ALARM` each.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc, ndtr

from ..core.facts import Vector
from ..core.mechanisms import Randomness, lattice_gaussian, lattice_laplace
from ..rows import sampling
from .lower_bounds import ALARM, SIGMAS, binomial_probability
from .result import LawCheck

Draw = Callable[[NDArray[np.int64]], ArrayLike]


def laplace_cdf(values: Vector) -> Vector:
    """Distribution function of the Laplace law with scale one."""
    tail = np.exp(-np.abs(values)) / 2
    return np.where(values < 0, tail, 1 - tail)


#: Distribution functions of the laws, with scale one.
LAWS: dict[str, Callable[[Vector], Vector]] = {"gaussian": ndtr, "laplace": laplace_cdf}


def p_value(counts: ArrayLike, expected: ArrayLike) -> float:
    """Chi-square p-value of counts against expected probabilities, rare cells pooled."""
    seen = np.asarray(counts, float)
    mean = np.asarray(expected, float) * seen.sum()
    rare = mean < 20
    if rare.any():
        seen = np.append(seen[~rare], seen[rare].sum())
        mean = np.append(mean[~rare], mean[rare].sum())
    keep = mean > 0
    if seen[~keep].any():
        return 0.0  # an outcome of probability zero was seen
    if keep.sum() < 2:
        return 1.0
    return float(chdtrc(keep.sum() - 1, np.sum((seen[keep] - mean[keep]) ** 2 / mean[keep])))


def ks_p_value(sample: ArrayLike, cdf: Callable[[Vector], Vector]) -> float:
    """Kolmogorov-Smirnov p-value of a sample against a continuous law."""
    from scipy.stats import kstest  # takes long to import, and no audit of a model needs it

    return float(kstest(sample, cdf).pvalue)


def off_lattice(values: ArrayLike, unit: float = 1.0) -> int:
    """How many values are not whole multiples of `unit`.

    Examples
    --------
    >>> from dpsparse.audit import off_lattice
    >>> off_lattice([1.0, -2.0, 2.5])
    1
    """
    steps = np.asarray(values, dtype=float) / unit
    return int(np.count_nonzero(steps != np.rint(steps)))


def check_noise(
    draw: Draw | None = None, *, law: str = "gaussian", scale: float = 1000.0, size: int = 20_000
) -> list[LawCheck]:
    """Check that a mechanism adds noise of the stated law to integers, and shows nothing else of them.

    Parameters
    ----------
    draw : callable, optional
        From an integer array to the noisy answer, in the same units. None: our own mechanism of this law.
    law : {"gaussian", "laplace"}
    scale : float
        Standard deviation, or scale of Laplace noise, in steps of the lattice: at least 100, so that rounding hides.
    size : int
        Numbers drawn for each test.

    Returns
    -------
    list of LawCheck
        Support (answers about 0 and about 1 are integers both), law, independence within and between answers.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import audit
    >>> any(found.violated for found in audit.check_noise())
    False
    >>> rng = np.random.default_rng(0)
    >>> broken = audit.check_noise(lambda q: q + 1000 * rng.standard_normal(q.shape))
    >>> [found.name for found in broken if found.violated]
    ['support']
    """
    if law not in LAWS or not scale >= 100:
        raise ValueError(
            f"law must be one of {', '.join(LAWS)} with a scale of at least 100, got {law!r} and {scale!r}."
        )
    draw = draw or _ours(law, scale)
    zeros, ones = np.zeros(size, dtype=np.int64), np.ones(size, dtype=np.int64)
    here, again, there = (np.asarray(draw(q), dtype=float) for q in (zeros, zeros, ones))
    found = []
    wild = off_lattice(here), off_lattice(there)
    detail = f"{wild[0]} of {size} answers about 0 and {wild[1]} of {size} about 1 lie off the lattice"
    found.append(LawCheck("support", any(wild), detail))
    # rounding smears every value over one step: uniform noise of one step makes the law continuous again
    smear = np.random.default_rng(0).uniform(-0.5, 0.5, size)
    p = min(ks_p_value((v + smear) / scale, LAWS[law]) for v in (here, there - 1))
    found.append(LawCheck("law", p < ALARM / 2, f"Kolmogorov-Smirnov p-value {p:.3g} against the {law} law"))
    pairs = {"within an answer": (here[:-1], here[1:]), "between answers": (here, again)}
    for what, (a, b) in pairs.items():
        r = float(np.corrcoef(a, b)[0, 1]) if np.ptp(a) and np.ptp(b) else 1.0
        far = abs(r) * np.sqrt(size) > SIGMAS
        found.append(LawCheck(f"independence {what}", bool(far), f"correlation {r:.3g}"))
    return found


def check_sampler(
    sample: Callable[[], ArrayLike] | None = None, *, rate: float = 0.3, rows: int = 60, batches: int = 5000
) -> list[LawCheck]:
    """Check that rows are drawn by independent coins of the stated rate.

    Parameters
    ----------
    sample : callable, optional
        Returns one mask of shape (rows,). None: our own sampler.
    rate, rows, batches
        The stated rate, the rows of a mask and how many masks are drawn.

    Returns
    -------
    list of LawCheck
        How often each row is drawn, how many rows a batch has (a batch of fixed size fails here), and pairs of rows.

    Examples
    --------
    >>> from dpsparse import audit
    >>> any(found.violated for found in audit.check_sampler())
    False
    """
    if sample is None:
        randomness = Randomness()

        def sample() -> ArrayLike:
            return sampling.PoissonSample(rate, randomness.key()).mask(0, rows)

    masks = np.array([sample() for _ in range(batches)], dtype=bool)
    often = masks.sum(axis=0)
    score = (often - batches * rate) / np.sqrt(batches * rate * (1 - rate))
    p = float(chdtrc(rows, np.sum(score**2)))
    found = [LawCheck("inclusion", p < ALARM, f"chi-square p-value {p:.3g} for rate {rate:g}")]
    sizes = np.bincount(masks.sum(axis=1), minlength=rows + 1)
    p = p_value(sizes, binomial_probability(np.arange(rows + 1), rows, rate))
    found.append(LawCheck("batch size", p < ALARM, f"chi-square p-value {p:.3g} against a binomial law"))
    centred = (masks - rate) / np.sqrt(rate * (1 - rate))
    pairs = (centred.T @ centred)[np.triu_indices(rows, 1)] / np.sqrt(batches)
    # one test for all pairs together, and one for the worst of them
    p = min(2 * float(ndtr(-abs(pairs.sum()) / np.sqrt(pairs.size))), 2 * pairs.size * float(ndtr(-abs(pairs).max())))
    found.append(LawCheck("pairs", p < ALARM, f"p-value {p:.3g} for pairs of rows being drawn together"))
    return found


def _ours(law: str, scale: float) -> Draw:
    mechanism = lattice_gaussian if law == "gaussian" else lattice_laplace
    randomness = Randomness()
    return lambda total: mechanism(total, scale, randomness)
