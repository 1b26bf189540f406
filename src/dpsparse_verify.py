"""Check a file of dpsparse without dpsparse: one file, the standard library, mathematics of its own.

    python dpsparse_verify.py model.json [--ledger ledger.json] [--head 3f1c2b]
    python dpsparse_verify.py ledger.json

It reads a model, pipeline, search, survival model, the export of a ledger or the certificate of a site, checks digests
and chains, computes from the *bill* an upper bound on epsilon, and compares it with what the file states. It was
written from docs/guarantees and docs/formats.md, without a look at `dpsparse.accounting`. Not checked: sensitivities,
whether the noise was drawn, who wrote the file, coefficients.

Exit codes: 0 the file holds; 2 it cannot be read; 5 its parts contradict each other; 6 it guarantees more than its bill
covers; 7 it makes no guarantee.

How a bound is computed. Everything is a curve: delta as a function of a = e^epsilon, convex and decreasing. A curve is
stored by upper bounds at a = e^(ih), with straight lines between them, which lie above a convex function. So every
result is valid for every h, and h is halved until that gains less than half a per cent.
"""

import argparse
import cmath
import hashlib
import json
import math
import sys
from functools import cache, lru_cache
from operator import mul
from pathlib import Path
from typing import NamedTuple

#: By how much a bound may exceed what is stated: what grids lose, on the safe side. And for closed forms.
TOLERANCE, ROUNDING = 0.01, 1e-6
#: A mean of values in [0, 1] is off by fewer than 64 roundings of 1.1e-16.
MARGIN = 1e-14
#: Orders of Renyi divergences, and of Chernoff's inequality.
ORDERS = [1 + 0.02 * 1.03**k for k in range(420)]
THETAS = [0.25 * 1.25**k for k in range(32)]
#: Grids and recursions beyond are not begun.
MOST_POINTS, MOST_CELLS = 2**17, 2e7


class Refused(Exception):
    """The file does not hold; the second argument is the exit code."""


def need(holds: bool, text: str, code: int = 5) -> None:
    """Refuse where something does not hold."""
    if not holds:
        raise Refused(text, code)


# ------------------------------------------------------------------- curves of mechanisms: delta as a function of e


def normal(x):
    """Probability that a standard normal variable is below x."""
    return 0.5 * math.erfc(-x / math.sqrt(2))


@lru_cache(maxsize=4096)
def gaussian(mu):
    """N(mu, 1) against N(0, 1) (Balle and Wang 2018)."""
    return lambda e: max(0.0, normal(mu / 2 - e / mu) - math.exp(e) * normal(-mu / 2 - e / mu))


def reflected(curve):
    """A symmetric curve for all e, given for e >= 0: delta(e) = 1 - e^e + e^e delta(-e)."""
    return lambda e: curve(e) if e >= 0 else -math.expm1(e) + math.exp(e) * curve(-e)


@lru_cache(maxsize=4096)
def laplace(epsilon):
    """Laplace noise."""
    return reflected(lambda e: max(0.0, -math.expm1((e - epsilon) / 2)))


@lru_cache(maxsize=4096)
def pure(epsilon):
    """Randomised response, the largest curve that is epsilon-DP (Kairouz, Oh and Viswanath 2015)."""
    return reflected(lambda e: max(0.0, (math.exp(epsilon) - math.exp(e)) / (1 + math.exp(epsilon))))


@lru_cache(maxsize=4096)
def objective(m, offset):
    """A perturbed objective: its loss is below offset + m^2/2 + mV (docs/guarantees/two_stage.md)."""
    tails = lambda t: [
        (2 * normal(-t / v), 2 * math.exp(m * t + (m * v) ** 2 / 2) * normal(-t / v - m * v)) for v in (1, 0.51)
    ]
    low = next(t for t in (k / 1e4 for k in range(40000)) if sum(a for a, _ in tails(t)) <= 1) - 1e-4
    start = offset + m * m / 2 + m * low  # below it, 1 bounds P(V > t)
    beyond = lambda t: sum(a - b for a, b in tails(t))
    at = lambda e: beyond((e - start) / m + low)

    def curve(e):
        return min(1.0, at(e)) if e >= start else -math.expm1(e - start) + math.exp(e - start) * min(1.0, at(start))

    tilt = lambda order: math.log(2 * normal((order - 1) * m)) / (order - 1)
    curve.divergence = lambda order: offset + order * m * m / 2 + tilt(order)
    return curve


@lru_cache(maxsize=4096)
def sampled(z, q, replace, forward):
    """One Poisson-sampled Gaussian: noise z for a record of norm 1 that takes part with probability q.

    The pair on a line of docs/guarantees/sampling.md. The likelihood ratio rises along it, so the best event is a half
    line, which ends where the ratio is e^e. Under add-remove the pair is not symmetric: both orders are needed.
    """
    above = lambda x, mean: (1 - q) * normal(-x / z) + q * normal((mean - x) / z)

    def curve(e):
        if replace:
            x = z * z * (e / 2 + math.asinh((1 - q) / q * math.exp(0.5 / z**2) * math.sinh(e / 2)))
            return max(0.0, above(x, 1) - math.exp(e) * above(x, -1))
        odds = (math.exp(e if forward else -e) - 1 + q) / q
        if odds <= 0:
            return -math.expm1(e) if forward else 0.0
        x = z * z * math.log(odds) + 0.5
        if forward:
            return max(0.0, above(x, 1) - math.exp(e) * normal(-x / z))
        return max(0.0, normal(x / z) - math.exp(e) * ((1 - q) * normal(x / z) + q * normal((x - 1) / z)))

    return curve


# ------------------------------------------------------------------------------------------------ curves on a grid


class Curve(NamedTuple):
    """Bounds on delta at e = (first + i) h. Between them: chords in e^e. Above: the last. Below: a chord to (0, 1)."""

    h: float
    first: int
    values: list

    def padded(self, cells):
        """Values with so many points more on either side."""
        below = [1 - (1 - self.values[0]) * math.exp(-j * self.h) for j in range(cells, 0, -1)]
        return [*below, *self.values, *[self.values[-1]] * cells]

    def epsilon(self, delta):
        """The least epsilon >= 0 at which the curve is at most delta."""
        v = self.values
        k = next((k for k in range(max(0, -self.first), len(v)) if v[k] <= delta), None)
        if k is None or k == 0 or self.first + k <= 0:
            return math.inf if k is None else max(0.0, (self.first + k) * self.h)
        return (self.first + k - 1) * self.h + math.log1p((v[k - 1] - delta) / (v[k - 1] - v[k]) * math.expm1(self.h))


class Law(NamedTuple):
    """A loss with atoms at (first + j) h, and mass at infinity."""

    first: int
    atoms: list
    infinite: float


def law_of(curve, h, least):
    """The loss of the chords through a curve. Its kinks at multiples of h are atoms, as far out as losses matter."""
    e = 1e-6
    while e < 700 and (curve(e) > least or curve(-e) + math.expm1(-e) > 1e-12):
        e *= 1.125
    n = max(2, math.ceil(e / h))
    v, up, down = [curve(j * h) for j in range(-n, n + 1)], -math.expm1(-h), math.expm1(h)
    inner = [max(0.0, (a - b) / up - (b - c) / down) for a, b, c in zip(v, v[1:], v[2:])]
    return Law(-n, [max(0.0, 1 - v[0] - (v[0] - v[1]) / down), *inner, max(0.0, (v[-2] - v[-1]) / up)], v[-1])


def after_noise(rest, law):
    """Noise, then the rest: the mean of the rest's curve over the loss (docs/guarantees/accounting.md, G)."""
    weights, last = law.atoms[::-1], law.first + len(law.atoms) - 1
    cells = max(abs(law.first), abs(last))
    padded = rest.padded(cells)
    windows = (padded[cells + i - last : cells + i - law.first + 1] for i in range(len(rest.values)))
    return rest._replace(values=[min(1.0, sum(map(mul, weights, w)) + law.infinite + MARGIN) for w in windows])


def after_selection(rest, eta):
    """A selection of range eta, then the rest: the supremum over t in [0, eta] (docs/guarantees/accounting.md, A).

    Nodes are t = jh and eta. Between two of them f(t) is at most the chord of its ends plus a parabola: with chords for
    U(e-t) and U(e-t+eta) in tau = e^t, f is x/tau + y + z tau, and 1/tau is at most its value at the first node.
    """
    h, m, n, s = rest.h, int(eta / rest.h), len(rest.values), math.exp(-eta)
    cells, r = m + 2, max(0.0, eta - m * h) + 1e-15
    w, v = math.expm1(r) / math.expm1(h), math.expm1(h - r) / math.expm1(h)
    wide = rest.padded(2 * cells)
    up = wide[cells:-cells]
    low = [(1 - w) * a + w * b for a, b in zip(wide[cells + m :], wide[cells + m + 1 :])][: len(up)]  # U(e + eta)
    steep = [a - s * b for a, b in zip(up, low)]
    p = [(1 - math.exp(j * h - eta)) / (1 - s) for j in range(m + 1)]

    def peak(before, here, height):
        change = here - before
        return before + (height + change) ** 2 / (4 * height) if height > abs(change) else max(before, here)

    values, factor = [], math.expm1(h) / (1 - s)
    for i in range(cells, cells + n):
        best = before = up[i]
        for j in range(1, m + 1):
            here = p[j] * up[i - j] + (1 - p[j]) * low[i - j]
            best = max(best, peak(before, here, factor * (steep[i - j] - steep[i - j + 1])))
            before = here
        down = (1 - v) * up[i - m - 1] + v * up[i - m]  # U(e - eta)
        best = max(best, peak(before, up[i], math.expm1(r) / (1 - s) * (down - s * up[i] - steep[i - m])))
        values.append(min(1.0, best + MARGIN))
    return rest._replace(values=values)


class Turns(NamedTuple):
    """A random number of turns: the sum of `epochs` geometric numbers of a mean, taken `copies` times."""

    epochs: int
    mean: float
    copies: int

    def generating(self, z):
        """E z^N; infinite where the sum diverges."""
        stay = self.mean / (1 + self.mean)
        rest = 1 - stay * z**self.copies
        return math.inf if not isinstance(z, complex) and rest <= 0 else ((1 - stay) / rest) ** self.epochs


@lru_cache(maxsize=64)
def roots(n, sign):
    """The first half of the n-th roots of one."""
    return [cmath.exp(sign * 2j * cmath.pi * k / n) for k in range(n // 2)]


def fourier(x, sign):
    """Sum over j of x_j e^(sign 2 pi i jk / n), for n a power of two."""
    if len(x) == 1:
        return x
    even = fourier(x[::2], sign)
    odd = [a * b for a, b in zip(roots(len(x), sign), fourier(x[1::2], sign))]
    return [a + b for a, b in zip(even, odd)] + [a - b for a, b in zip(even, odd)]


def composed(noises, h, delta, tilted=False):
    """The law of the sum of all losses, or None if its grid had too many points.

    `noises` are pairs: a dictionary of curves with how often each is drawn, and how often all of it where chance
    decides that (None: once). A Fourier transform on a circle: Chernoff's inequality bounds what is carried around its
    upper end, which counts as infinite; what is carried around the lower end only adds. If `tilted`, atoms are weighted
    by e^(theta loss) before and after, so that rounding is small beside delta; the law then begins near its epsilon.
    """
    laws = {c: law_of(c, h, 1e-9 * delta / times) for curves, _ in noises for c, times in curves.items()}
    if sum(len(law.atoms) for law in laws.values()) > MOST_POINTS:
        return None

    def whole(each):  # the transform of everything, from that of one draw of each curve
        ones = [(math.prod([each[c] ** times for c, times in curves.items()]), turns) for curves, turns in noises]
        return math.prod([one if turns is None else turns.generating(one) for one, turns in ones])

    @cache
    def moment(t):  # logarithm of E e^(t loss)
        try:
            sums = {c: sum(a * math.exp(t * j * h) for j, a in enumerate(x.atoms, x.first)) for c, x in laws.items()}
            return math.log(whole(sums))
        except (OverflowError, ValueError):
            return math.inf

    best, theta = min(((moment(t) - math.log(delta)) / t, t) for t in THETAS)
    theta = theta if tilted else 0.0
    top = min((moment(t) - math.log(1e-6 * delta)) / t for t in THETAS)
    top = max(top, min((moment(theta + t) - moment(theta) - math.log(1e-9)) / t for t in THETAS))
    low = max((moment(theta) + math.log(1e-9) - moment(theta - t)) / t for t in THETAS)
    if math.isinf(top) or math.isinf(low):
        return None
    first, n = math.floor(low / h), 8
    while n < top / h - first:
        n *= 2
    if n > MOST_POINTS:
        return None
    spectra = {}
    for c, law in laws.items():
        circle = [0j] * n
        for j, a in enumerate(law.atoms, law.first):
            circle[j % n] += a * math.exp(theta * j * h)
        spectra[c] = fourier(circle, -1)
    total = [whole({c: s[k] for c, s in spectra.items()}) for k in range(n)]
    back = fourier(total, 1)
    draws = sum(
        t * (turns.epochs * turns.mean * turns.copies if turns else 1) for c, turns in noises for t in c.values()
    )
    begin = max(first, math.floor((best - 12 / theta) / h)) if tilted else first
    error = MARGIN * (draws + math.log2(n)) * math.sqrt(sum(abs(t) ** 2 for t in total))  # of all atoms together
    atoms = [max(0.0, back[k % n].real / n) * math.exp(-theta * k * h) for k in range(begin, first + n)]
    finite = whole({c: 1 - law.infinite for c, law in laws.items()})
    return Law(begin, atoms, 1 - finite + 1e-6 * delta + error * math.exp(-theta * begin * h))


def curve_of(law, h):
    """The curve of a loss: exact at the grid's points."""
    values, above, weighted = [law.infinite], 0.0, 0.0
    for a in law.atoms[:0:-1]:
        above, weighted = above + a, math.exp(-h) * (a + weighted)
        values.append(min(1.0, above - weighted + law.infinite))
    return Curve(h, law.first, values[::-1])


# ---------------------------------------------------------------------------------------------------- plans, bounds


def selection_divergence(order, eta):
    """Renyi divergence of a mechanism of range eta: two points e^(t-eta), e^t, at the worst t in closed form."""
    s, most = math.exp(-eta), -math.expm1(-order * eta)
    tau = min(1 / s, max(1.0, (order - 1) * most / (order * (s - s**order))))
    return math.log(tau) + math.log((most - tau * (s - s**order)) / (1 - s)) / (order - 1)


def converted(order, divergence, delta):
    """Epsilon at delta of a Renyi divergence (Canonne, Kamath and Steinke 2020, Proposition 12)."""
    return divergence + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)


class Step(NamedTuple):
    """A plan as its price sees it: what one of its models is asked, and what may follow."""

    rho: float  # of Gaussian noise on every row: mu^2 / 2
    ranges: tuple  # of selections
    known: bool  # whether they are in their order, and curves of all noises are known
    noises: tuple  # others, as `composed` takes them
    pure: float  # sum of epsilons at delta = 0
    branches: tuple
    models: int

    def total(self, of):
        """What adds up over models, with the dearest branch."""
        return self.models * (of(self) + max((b.total(of) for b in self.branches), default=0.0))

    def divergence(self, order, noises=lambda order, noises: math.inf):
        """Renyi divergence; what is not Gaussian and no selection is infinite, or as another function says."""
        one = lambda s: order * s.rho + sum(selection_divergence(order, eta) for eta in s.ranges)
        return self.total(lambda s: one(s) + (noises(order, s.noises) if s.noises else 0.0))

    def before(self, rest, delta):
        """The curve of this step, then the rest. Noise comes first, which is the worst order."""
        for _ in range(self.models):
            after = [branch.before(rest, delta).values for branch in self.branches]
            rest = rest._replace(values=[max(values) for values in zip(*after)]) if after else rest
            for eta in reversed(self.ranges):
                rest = after_selection(rest, eta)
            if self.rho:
                rest = after_noise(rest, law_of(gaussian(math.sqrt(2 * self.rho)), rest.h, 1e-6 * delta))
            if self.noises:
                law = composed(self.noises, rest.h, delta)
                need(law is not None, "this bill is beyond the grids of this program", 2)
                rest = after_noise(rest, law)
        return rest


def turns_of(ask, scale, models=1):
    """The zCDP rho of one draw, for each turn of one of so many models (docs/formats.md, A bill)."""
    rows, share, law = ask["rows"], ask["share"], ask["law"]
    need(share > 0 and ask["draws"] >= 1 and ask["offset"] >= 0, f"ask {ask['name']!r} has no valid price")
    if rows["kind"] == "OncePerPerson":  # groups are disjoint: a person's reports count, whatever the turns
        counted = min(rows["reports"], 2) if rows["labels"] else rows["reports"]
        need(counted >= 1, "a person gives one report at least")
        return [scale * share / counted] * counted
    if law is not None:
        need(min(law["epochs"], law["copies"]) >= 1 and law["mean_each"] > 0, "a law of turns that is none")
        return [scale * share / (law["epochs"] * law["mean_each"] * law["copies"])]
    schedule = ask["schedule"] or [1.0] * ask["times"]
    fits = len(schedule) == ask["times"] and min(schedule) > 0 and ask["times"] % models == 0
    need(fits, f"the turns of {ask['name']!r} are not as many as its schedule or its models say")
    return [scale * share * v / (math.fsum(schedule) * ask["draws"]) for v in schedule][: ask["times"] // models]


def step_of(plan, scale, replace, forward, models=1):
    """A plan at a scale. `models`: its asks are those of so many equal models, one after the other."""
    need(not plan.get("unproven"), "the plan has no proof", 7)
    need(plan["models"] >= 1, "a plan has one model at least")
    known, models = not plan["interleaved"] or plan["models"] > 1, models * plan["models"]
    rho, zero, curves, random, ranges = 0.0, 0.0, {}, {}, {}
    for ask in plan["asks"]:
        rows, noise, name, law, draws = (ask[k] for k in ("rows", "noise", "name", "law", "draws"))
        rate = rows["rate"] if rows["kind"] == "PoissonRows" else 1.0
        need((rows["kind"] == "OncePerPerson") == noise.startswith("local"), f"ask {name!r}: noise and rows differ")
        need(noise == "gaussian" or (rate == 1 and law is None), f"ask {name!r}: only Gaussian noise has samples")
        for each in turns_of(ask, scale, models):
            strength, curve = math.sqrt(2 * each), None
            if rate != 1 or law is not None:
                need(0 < rate <= 1, f"ask {name!r}: a rate lies between 0 and 1")
                curve = gaussian(strength) if rate == 1 else sampled((1 + replace) / strength, rate, replace, forward)
            elif noise == "gumbel":
                ranges.setdefault(name, []).append((math.sqrt(8 * each),) * draws)
                zero += math.sqrt(8 * each) * draws
            elif noise in ("gaussian", "local-gaussian", "discrete-gaussian"):
                rho, known = rho + each * draws, known and noise != "discrete-gaussian"
            else:
                need(noise in ("laplace", "permute-and-flip", "local", "objective"), f"{noise!r} has no price", 7)
                same = objective(strength, ask["offset"]) if noise == "objective" else pure(strength)
                curve = laplace(strength) if noise == "laplace" else same
                zero += strength * draws
            zero = math.inf if noise == "objective" or "gaussian" in noise else zero
            if law is not None:
                turns = Turns(law["epochs"], law["mean_each"], law["copies"] // models)
                shared = random.setdefault((law["name"], turns), {})
                shared[curve] = shared.get(curve, 0) + 1
            elif curve is not None:
                curves[curve] = curves.get(curve, 0) + draws
    order = [eta for turns in ranges.values() for turn in turns for eta in turn]
    if len(set(order)) > 1 and len(ranges) > 1:  # selections of unequal ranges do not commute
        left = {name: iter(turns) for name, turns in ranges.items()}
        names = [name for name in plan["order"][: len(plan["order"]) // models] if name in left]
        found = [eta for name in names for eta in next(left[name], ())]
        known, order = known and len(found) == len(order), found if len(found) == len(order) else order
    noises = ((curves, None),) * bool(curves) + tuple((c, turns) for (_, turns), c in random.items())
    branches = tuple(step_of(b, scale, replace, forward, models) for _, b in plan["branches"])
    return Step(rho, tuple(order), known and all(b.known for b in branches), noises, zero, branches, plan["models"])


def solved(curve, delta):
    """The least epsilon >= 0 at which a decreasing curve is at most delta, from above."""
    low, high = 0.0, 1e-9
    while curve(high) > delta:
        low, high = high, 2 * high
        if high > 1e4:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if curve(middle) > delta else (low, middle)
    return high


def step_epsilon(step, delta, size):
    """A bound on epsilon at delta of a step; `size` is about what is expected and only sets the grid."""
    best = step.total(lambda s: s.pure)
    if delta == 0:
        return best
    best = min([best, *(converted(a, step.divergence(a), delta) for a in ORDERS)])
    size, single = min(best, size), step.models == 1 and not step.branches and not step.ranges
    if single and step.known and not step.noises:
        return min(best, solved(gaussian(math.sqrt(2 * step.rho)), delta))

    def at(h):
        if single:
            one = ({gaussian(math.sqrt(2 * step.rho)): 1}, None)
            law = composed((*step.noises, one) if step.rho else step.noises, h, delta, tilted=True)
            return None if law is None else curve_of(law, h)
        n = math.ceil(2 * size / h)
        if 2 * n * step.total(lambda s: sum(2 + eta / h for eta in s.ranges)) > MOST_CELLS:
            return None
        return step.before(Curve(h, -n, [max(0.0, -math.expm1(i * h)) for i in range(-n, n + 1)]), delta)

    h, found = size / 32, math.inf
    for _ in range(14 * step.known):
        curve = at(h)
        if curve is None:
            break
        before, found, h = found, min(found, curve.epsilon(delta)), h / 2
        if before - found <= 0.005 * found < math.inf:
            break
    return min(best, found)


def curve_of_promise(bill):
    """The curve of whatever keeps a promise: zCDP, or below a Gaussian with slack (docs/guarantees/search.md)."""
    rho, excess, slack = bill["rho"], bill.get("excess", 0.0), bill.get("slack", 0.0)
    need(rho > 0 and excess >= 0 and slack >= 0, "a promise has a positive rho, and no negative slack")
    if bill["gaussian"]:
        return lambda e: min(1.0, gaussian(math.sqrt(2 * rho * (1 + excess)))(e) + slack)
    orders = lambda e: (1 + max(1e-3, k * max(0.0, e - rho) / (2 * rho)) for k in (0.9, 0.95, 1.0, 1.05, 1.1))
    at = lambda e, a: math.exp((a - 1) * (rho * a + math.log1p(-1 / a) - e)) / a
    return reflected(lambda e: min([1.0, *(at(e, a) for a in orders(e))]))


def search_epsilon(bill, delta):
    """A bound on epsilon of the best of a secret, random number of runs: privacy profiles of docs/guarantees/search.md.

    Between two places p a run's T is below one line, on which R is monotone, and W falls. So psi is below the upper
    hull of finitely many sticks W (x - 1/R).
    """
    run, c, power = (
        curve_of_promise(bill["base"]),
        bill["parameter"],
        {"logarithmic": 1, "geometric": 2, "poisson": 0}[bill["law"]],
    )
    need(c > 0 and (power == 0 or c < 1), "the parameter of the law is not one")
    mean = [c, (c - 1) / (c * math.log(c)) if power == 1 else 0, 1 / c][power]
    weight = lambda p: mean * (c / (c + (1 - c) * p)) ** power if power else mean * math.exp(-mean * p)
    lines = [(math.exp(k / 40), run(k / 40)) for k in range(480, -481, -1)]
    sticks, at, places = [], 0, [0.0, *(1.02 ** (k - 1500) for k in range(1501))]
    for p, after in zip(places, places[1:]):
        on = lambda k, x: lines[k][0] * x + lines[k][1]
        while at + 1 < len(lines) and on(at + 1, p) <= on(at, p):
            at += 1
        most = max(weight(x) / weight(min(1.0, on(at, x))) for x in (p, after))
        sticks.append((weight(p), 1 / most))
    hull = [(0.0, 0.0, 0.0)]  # slopes, intercepts, and where each line becomes the largest
    for slope, place in sorted(sticks):
        start = math.inf
        while hull and start is not None:
            a, b, begun = hull[-1]
            start = (b + slope * place) / (slope - a) if slope > a else math.inf
            if start > begun or len(hull) == 1:
                break
            hull.pop()
        if start < math.inf:
            hull.append((slope, -slope * place, start))
    jumps = [(b[0] - a[0], math.log(b[2])) for a, b in zip(hull, hull[1:])]
    return solved(lambda e: (1 + 1e-9) * sum(jump * run(e + t) for jump, t in jumps), delta)


def epsilon_of(bill, delta, size):
    """A bound on epsilon at delta of a bill; `size` is about what is expected."""
    if bill["kind"] == "unit":
        return epsilon_of(bill["cost"], delta, size)
    need(delta > 0 or bill["kind"] == "plan", "this bill has no price at delta = 0")
    if bill["kind"] == "search":
        return search_epsilon(bill, delta)
    if bill["kind"] == "promise":
        return solved(curve_of_promise(bill), delta)
    need(bill["kind"] in ("plan", "sum"), f"a bill of the kind {bill['kind']!r} is not known to this program", 2)
    return max(step_epsilon(step, delta, size) for step in steps_of(bill))


def joined(steps):
    """One step for several that run one after the other, of Gaussian noise alone, whose order does not matter."""
    plain = all(s.known and not (s.ranges or s.branches) and all(turns is None for _, turns in s.noises) for s in steps)
    need(plain, "sums of bills are known to this program for Gaussian noise alone", 2)
    curves = {}
    for s in steps:
        for curve, times in (item for noise, _ in s.noises for item in noise.items()):
            curves[curve] = curves.get(curve, 0) + s.models * times
    return Step(sum(s.models * s.rho for s in steps), (), True, ((curves, None),) * bool(curves), math.inf, (), 1)


def steps_of(bill):
    """The steps of a bill, of which the dearest counts: of parts, and of both orders of neighbours."""
    if bill["kind"] == "sum":
        kinds = {(part["kind"], part["adjacency"], bool(part["plan"].get("parts"))) for part in bill["parts"]}
        need(len(kinds) == 1 and not max(kinds)[2], "the parts of a sum are plans for the same neighbours")
        return [joined(steps) for steps in zip(*map(steps_of, bill["parts"]))]
    replace, plan = bill["adjacency"] == "replace-one", bill["plan"]
    need(replace or bill["adjacency"] == "add-remove", "the bill names no neighbours")
    need(bill["rho_scale"] > 0, "the scale of a bill is positive")
    coins = ("units", "positions" if replace else "secret")
    need(not plan.get("parts") or plan["coins"]["rule"] in coins, "the coins do not fit the neighbours")
    orders = (True,) if replace else (True, False)
    return [step_of(p, bill["rho_scale"], replace, way) for p in plan.get("parts") or [plan] for way in orders]


# ------------------------------------------------------------------------------------------------------ statements


def ways(plan):
    """Asks that one fit may have answered, branch by branch; of parts, and of several models, all together."""
    found = [way for _, branch in plan["branches"] for way in ways(branch)]
    if plan["interleaved"] or plan.get("parts"):
        found = [[ask for way in [*found, *(w for p in plan.get("parts", ()) for w in ways(p))] for ask in way]]
    return [[*plan["asks"], *way] for way in found or [[]]]


def contradiction(stated, asks, scale):
    """What contradicts a plan in the answers that a statement lists; empty if nothing does."""
    left, kinds = {}, {}
    for ask in asks:
        name, noise, fixed = ask["name"], ask["noise"], ask["rows"]["kind"] == "OncePerPerson" or ask["law"]
        rhos = turns_of(ask, scale)[:1] * ask["times"] if fixed else turns_of(ask, scale)
        kinds[name] = (noise, ask["draws"], ask["rows"].get("rate", 1.0), ask["offset"])
        parts = [(name, {"gumbel": 8.0, "objective": 1.98}.get(noise, 2.0))]
        if noise == "objective":  # a hundredth of its cost hides what the solver left
            parts.append((f"{name}, its rounding", 0.02))
            kinds[parts[1][0]] = ("gaussian", ask["draws"], 1.0, 0.0)
        for part, factor in parts:
            left.setdefault(part, []).extend(math.sqrt(factor * rho) for rho in rhos)
    for said in stated:
        name, rate = said["name"], 1.0 if said["noise"].startswith("local") else said["rate"]
        if kinds.get(name) != (said["noise"], said["draws"], rate, said["offset"]):
            return f"{name!r} is not in the bill, or with other noise, draws, rate or offset"
        for _ in range(said["times"]):
            same = [k for k, cost in enumerate(left[name]) if abs(said["cost"] - cost) <= ROUNDING * cost]
            if not same:
                return f"an answer of {name!r} costs something else than in the bill, or is one too many"
            left[name].pop(same[0])
    return ""


def check_answers(said, bill, apart):
    """Refuse a statement whose answers are not those of its bill."""
    names, spent = (
        {"gumbel": "eta", "objective": "m"} | dict.fromkeys(("laplace", "permute-and-flip", "local"), "epsilon"),
        {},
    )
    for ask in said["asks"]:
        cost, name = ask["sensitivity"] / ask["scale"], ask["name"]
        need(abs(cost - ask["cost"]) <= 1e-9 * cost, f"the cost of {name!r} is not its sensitivity over its scale")
        need(ask["cost_name"] == names.get(ask["noise"], "mu"), f"the cost of {name!r} has another name")
        need(ask["times"] >= 1 and ask["draws"] >= 1 and ask["noise"] != "none", f"{name!r} is no priced answer")
        part = ask["part"] or (name if name in apart else "")
        rho = ask["times"] * ask["draws"] * ask["cost"] ** 2 / (8 if ask["noise"] == "gumbel" else 2)
        spent[part] = spent.get(part, 0.0) + rho
    if bill["kind"] in ("plan", "sum"):  # of a sum, the answers of one part are listed
        parts = bill.get("parts", [bill])
        found = [contradiction(said["asks"], way, p["rho_scale"]) for p in parts for way in ways(p["plan"])]
        need("" in found, f"answers and bill differ: {found[0]}")
    else:
        need(all(ask["rate"] == 1.0 for ask in said["asks"]), "samples cannot be part of a promise of zCDP")
        most = bill.get("base", bill)["rho"] * (1 + ROUNDING)
        need(max(spent.values(), default=0.0) <= most, "the answers cost more than the bill promises")


def check_statement(said, bill, apart=()):
    """Lines about a statement that its bill covers; refuses others."""
    seeded = any("with a fixed seed" in text for text in said["caveats"])
    need(said["private"] is True and said["priced"] is True and not seeded, f"no guarantee: {said['caveats']}", 7)
    need(bill is not None, "the file has no bill: it was saved by an earlier release", 2)
    need(said.get("bill") in (None, bill), "the file holds two bills, and they differ")
    bare, unit = (bill["cost"], bill["unit"]) if bill["kind"] == "unit" else (bill, "")
    need(f"one {unit}: all rows" in said["unit"] if unit else "same id" not in said["unit"], "the units differ")
    epsilon, delta = said["epsilon"], said["delta"]
    need(0 < epsilon < math.inf and 0 <= delta < 1, "epsilon or delta is no guarantee", 7)
    labels = bare["kind"] == "plan" and any(a["rows"].get("labels") for a in bare["plan"]["asks"])
    expected = bare.get("base", bare.get("parts", [bare])[0])["adjacency"] + "-label" * labels
    need(said["adjacency"] == expected, "statement and bill have other neighbours")
    need(not labels or any("features are treated as public" in c for c in said["caveats"]), "labels alone are private")
    check_answers(said, bare, apart)
    bound = epsilon_of(bill, delta, epsilon)
    need(bound > 0, "the bill is empty")
    need(bound <= epsilon * (1 + TOLERANCE), f"it states epsilon {epsilon:.6g}; its bill costs {bound:.6g}", 6)
    if bare["kind"] in ("plan", "sum") and delta > 0:
        mu, rho = said["mu"], said["rho"]
        least = max(step.divergence(2) / 2 for step in steps_of(bare)) if rho is not None else 0.0
        need(mu is None or bound <= solved(gaussian(mu), delta) * (1 + TOLERANCE), "mu is less than the bill costs", 6)
        need(rho is None or least <= rho * (1 + TOLERANCE), "rho is less than the bill costs", 6)
    return [
        f"states   epsilon {epsilon:.6g} at delta {delta:.3g}, {said['adjacency']}, {said['unit']}",
        f"computed epsilon {bound:.6g} at most, by mathematics of this program's own ({TOLERANCE:.0%} above is allowed)",
        *(f"caveat: {text}" for text in said["caveats"]),
    ]


# --------------------------------------------------------------------------------------------------------- ledgers


def canonical(content):
    """The one text of a content: sorted keys, no spaces, shortest exact digits."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sha256(content):
    """SHA-256 of the canonical text."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def check_chain(export, head):
    """The events of an export with their bodies read, if each names the one before it and the head the last."""
    need(export["version"] == 2 and export["events"], "this version of exports is not known", 2)
    before, events = "0" * 64, []
    for number, event in enumerate(export["events"], 1):
        content = [event[name] for name in ("number", "dataset", "entry", "what", "body", "previous")]
        need(event["number"] == number and event["previous"] == before, f"event {number} is missing or was moved")
        before, body = event["hash"], parsed(event["body"])
        need(before == sha256(content) and canonical(body) == event["body"], f"event {number} was edited")
        events.append({**event, "body": body})
    need(export["head"] == {"number": len(events), "hash": before}, "the head is not the last event: the end was cut")
    first = events[0]
    need(first["what"] == "open" and first["body"]["ledger"] == export["ledger"], "the identity of the ledger differs")
    kept = head is None or any(event["hash"].startswith(head) for event in events)
    need(kept, "the head that you kept is not in this ledger")
    return events


def check_total(state):
    """Refuse filters that allow more than the total (docs/guarantees/ledger.md)."""
    for held in state["filters"]:
        capacity, name = held["capacity"] * 1e-12, held["name"]
        if name == "pure":
            most = capacity
        elif name == "renyi":
            most = converted(held["order"], capacity, held["delta"])
        else:
            most = solved(gaussian(math.sqrt(capacity)), held["delta"])
        need(name in ("gaussian", "renyi", "pure") and held["epsilon"] == state["epsilon"], f"filter {name!r} is none")
        need(most <= state["epsilon"] * (1 + ROUNDING), f"filter {name!r} allows more than the total", 6)
    spent = sum(held.get("delta", 0.0) + held.get("slack", 0.0) for held in state["filters"])
    need(state["epsilon"] > 0 and spent <= state["delta"] * (1 + 1e-9), "the filters need more delta than the total", 6)


def about(order, noises):
    """Renyi divergence of other noises without their far tails: no bound, but near enough to see that too little is paid."""
    total = 1.0
    for curves, turns in noises:
        one = 1.0
        for curve, times in curves.items():
            if hasattr(curve, "divergence"):
                one *= math.exp(times * (order - 1) * curve.divergence(order))
                continue
            h = next(e for e in (1e-6 * 1.125**k for k in range(180)) if curve(e) <= 1e-13) / 300
            law = law_of(curve, h, 1e-13)
            one *= sum(a * math.exp((order - 1) * j * h) for j, a in enumerate(law.atoms, law.first)) ** times
        total *= one if turns is None else turns.generating(one)
    return math.log(total) / (order - 1)


@lru_cache(maxsize=4096)
def priced(bill, delta, size):
    """Epsilon of a bill, given as canonical text."""
    return epsilon_of(json.loads(bill), delta, size)


def check_entry(body, state):
    """Epsilon of an entry at the total's delta, if what it takes of every filter covers its bill."""
    delta, filters = state["delta"], {held["name"]: held for held in state["filters"]}
    bound = priced(canonical(body["bill"]), delta, state["epsilon"] / 4)
    need(body["costs"].keys() == filters.keys(), "an entry is not charged to every filter")
    for name, cost in body["costs"].items():
        need(cost >= 0 and 0 <= body["slack"] <= 1e12, "an entry takes less than nothing")
        if name == "gaussian":
            slack = filters[name]["slack"] * body["slack"] * 1e-12
            covered = solved(gaussian(math.sqrt(max(cost, 1) * 1e-12)), delta - slack)
        elif name == "renyi":
            order, bare = filters[name]["order"], body["bill"].get("cost", body["bill"])
            covered = converted(order, cost * 1e-12, delta)
            own = max(step.divergence(order, about) for step in steps_of(bare)) if bare["kind"] == "plan" else 0.0
            need(own <= cost * 1e-12 * (1 + TOLERANCE), "an entry takes less of a filter than its bill costs", 6)
        else:
            covered = cost * 1e-12
        need(bound <= covered * (1 + TOLERANCE), f"an entry of epsilon {bound:.6g} pays for {covered:.6g}", 6)
    return bound


def check_ledger(events):
    """Lines about a ledger that was replayed: totals, prices and states; refuses what does not follow."""
    states, entries, marks = {}, {}, set()
    for event in events[1:]:
        name, what, body, at = event["dataset"], event["what"], event["body"], event["number"]
        state, old, entry = body["state"], states.get(name), entries.get(event["entry"])
        need(body["mark"] not in marks, f"event {at} repeats another")
        marks.add(body["mark"])
        if what == "create":
            need(
                old is None and state["live"] == 0 and not any(state["totals"].values()), f"event {at} resets a budget"
            )
            check_total(state)
            states[name] = state
            continue
        need(old is not None, f"event {at} belongs to no dataset")
        fixed = ["epsilon", "delta", "adjacency", "unit", *(["kind", "filters"] if old["kind"] else [])]
        need(all(state.get(k) == old.get(k) for k in fixed), f"event {at} changes the total of {name!r}")
        sign = {"reserve": 1, "refund": -1}.get(what, 0)
        if what == "reserve":
            check_total(state)
            bill, unit = body["bill"], body["bill"].get("unit", "row")
            bare = bill["cost"] if unit != "row" else bill
            need(bare.get("base", bare)["adjacency"] == state["adjacency"], f"entry {at} has other neighbours")
            same = unit == state.get("unit", "row") or ("unit" not in state and state["adjacency"] == "replace-one")
            need(same and event["entry"] == at, f"entry {at} has another unit or number")
            entry = entries[at] = {**body, "dataset": name, "epsilon": check_entry(body, state), "status": what}
            fits = any(state["totals"][f["name"]] <= f["capacity"] for f in state["filters"])
            alone = old["live"] == 0 and entry["epsilon"] <= state["epsilon"] * (1 + TOLERANCE)
            need(fits or alone, f"entry {at} exceeds the budget", 6)
        else:
            need(entry is not None and entry["dataset"] == name, f"event {at} belongs to no entry")
            follows = {"start": ["reserve"], "confirm": ["reserve", "start"], "refund": ["reserve"]}
            need(entry["status"] in follows.get(what, ()), f"event {at} cannot follow what came before")
            entry["status"] = what
        totals = {k: old["totals"].get(k, 0) + sign * cost for k, cost in entry["costs"].items()}
        expected = {"totals": totals, "slack": old["slack"] - sign * entry["slack"], "live": old["live"] + sign}
        need(
            all(state[k] == value for k, value in expected.items()), f"event {at} states other totals than its entries"
        )
        states[name] = state
    lines = []
    for name, state in states.items():
        count = [e for e in entries.items() if e[1]["dataset"] == name and e[1]["status"] != "refund"]
        lines.append(
            f"{name}: total epsilon {state['epsilon']:.6g} at delta {state['delta']:.3g}; {len(count)} entries"
        )
        lines += [f"  entry {k}: epsilon {e['epsilon']:.6g} at most, {e['status']}, {e['label']}" for k, e in count]
    return lines


def check_citation(cited, bill, export, events):
    """A line about the entry that a statement cites, if it is in the ledger, counts, and paid this bill."""
    need(cited is not None and cited["ledger"] == export["ledger"], "the statement cites no ledger, or another one")
    entry = next((e for e in events if e["what"] == "reserve" and e["hash"] == cited["entry_hash"]), None)
    need(entry is not None and entry["number"] == cited["entry"], "the cited entry is not in this ledger")
    later = any(e["hash"] == cited["head"] and e["number"] >= entry["number"] for e in events)
    need(entry["dataset"] == cited["dataset"] and later, "the citation names another dataset or head")
    refunded = any(e["what"] == "refund" and e["entry"] == entry["number"] for e in events)
    need(not refunded and entry["body"]["bill"] == bill, "the cited entry was refunded, or paid another bill")
    need("[seed: not private]" not in entry["body"]["label"], "the cited entry paid for noise from a seed", 7)
    return f"paid for by entry {entry['number']} of {entry['dataset']!r}"


# ------------------------------------------------------------------------------------------------------------ files


def parsed(text):
    """JSON without names that stand twice and without numbers that are none."""

    def once(pairs):
        need(len(dict(pairs)) == len(pairs), "a field stands twice", 2)
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once, parse_constant=lambda word: need(False, f"{word} is no number", 2))


def verify(text: str, ledger: str | None = None, head: str | None = None) -> list[str]:
    """Lines about a file that holds, given as its text, perhaps with the export of its ledger; `Refused` otherwise."""
    try:
        content, apart = parsed(text), ()
        kind, export = content["format"], parsed(ledger) if ledger else content
        if export["format"] == "dpsparse-ledger":
            events = check_chain(export, head)
            lines = check_ledger(events)
            if export is content:
                return lines
        need(ledger is None or export["format"] == "dpsparse-ledger", "this is no export of a ledger", 2)
        if kind == "dpsparse-site":
            bill = content["bill"]
        else:
            need(kind in [f"dpsparse-{k}" for k in ("model", "pipeline", "search", "survival")], "no known file", 2)
            held = {name: value for name, value in content.items() if name != "digest"}
            need(content.get("digest") == f"sha256:{sha256(held)}", "the digest does not fit: the file was edited")
            settings = [one.get("params", {}) for one in (content, content.get("model") or {})]
            need(all(one.get("random_state") is None for one in settings), "the settings hold a seed", 7)
            bill, apart = content["statement"].get("bill"), ("score",) if settings[0].get("holdout") else ()
        paid = [check_citation(content["statement"]["ledger"], bill, export, events)] if ledger else []
        return [*check_statement(content["statement"], bill, apart), *paid]
    except json.JSONDecodeError:
        raise Refused("this is not JSON, so no file of dpsparse", 2) from None
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        raise Refused(f"a field is missing, or of another kind ({type(error).__name__})", 5) from None


def main(arguments: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Check a model, a ledger's export or a certificate of dpsparse.")
    parser.add_argument("file")
    parser.add_argument("--ledger", help="an export of the ledger that paid: its entry must have this bill")
    parser.add_argument("--head", help="a head of the ledger that you kept, or its beginning")
    asked = parser.parse_args(arguments)
    try:
        texts = [None if path is None else Path(path).read_text("utf-8") for path in (asked.file, asked.ledger)]
        print(*verify(texts[0] or "", texts[1], asked.head), "holds", sep="\n")
    except (OSError, UnicodeDecodeError) as error:
        print(f"cannot be read: {error}", file=sys.stderr)
        return 2
    except Refused as refusal:
        print(f"REFUSED: {refusal.args[0]}", file=sys.stderr)
        return int(refusal.args[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
