"""Filters, bills and the ledger: costs that are not counted, refunds that are not due, a chain that does not hold."""

from .mutant import changed

FILTERS = "accounting/test_filters.py ledger/test_ledger.py"
LEDGER = "ledger/test_ledger.py"
BILLS = "accounting/test_costs.py accounting/test_filters.py"

MUTANTS = (
    *changed(
        "accounting/filters.py",
        FILTERS,
        ("costs are rounded down", "return math.ceil(cost / UNIT) if", "return math.floor(cost / UNIT) if"),
        (
            "mu is not squared",
            "return units(mu * mu), slack if used else 0",
            "return units(mu * mu / 2), slack if used else 0",
        ),
        (
            "a larger capacity of the Gaussian filter",
            "math.floor(gaussian_mu(epsilon, delta) ** 2 / UNIT))",
            "math.floor(1.2 * gaussian_mu(epsilon, delta) ** 2 / UNIT))",
        ),
        (
            "a larger capacity of the Renyi filter",
            "max(0, math.floor(float(room[best]) / UNIT))",
            "max(0, math.floor(1.2 * float(room[best]) / UNIT))",
        ),
        (
            "a larger capacity of the pure filter",
            "return cls(epsilon, math.floor(epsilon / UNIT))",
            "return cls(epsilon, math.floor(1.2 * epsilon / UNIT))",
        ),
        (
            "two filters with all of delta each",
            "GaussianFilter.of(epsilon, delta - 2 * aside, aside)",
            "GaussianFilter.of(epsilon, delta, aside)",
        ),
        (
            "slack is free",
            "return Charge({name: cost for name, (cost, _) in found.items()}, max(used for _, used in found.values()))",
            "return Charge({name: cost for name, (cost, _) in found.items()}, 0)",
        ),
    ),
    *changed(
        "ledger/state.py",
        FILTERS,
        (
            "an entry is not added to the totals",
            "totals = {name: self.totals[name] + cost.costs[name] for name in self.totals}",
            "totals = dict(self.totals)",
        ),
        ("slack may be overdrawn", "if not 0 <= cost.slack <= self.slack:", "if False:"),
        ("anything may take the whole", "if self.live or self.delta == 0:", "if self.delta == 0:"),
        (
            "what does not fit is let through",
            "<= f.capacity for f in self.filters)",
            "<= 2 * f.capacity for f in self.filters)",
        ),
    ),
    *changed(
        "ledger/reservation.py",
        LEDGER,
        ("a started fit is refunded", '"refund": ("reserve",)}', '"refund": ("reserve", "start")}'),
        ("a start is not written", '            self._advance("start")\n', ""),
        ("every failure is refunded", "elif not self._started:", "else:"),
    ),
    *changed(
        "ledger/ledger.py",
        LEDGER,
        ("adjacencies are mixed", "if bill.adjacency != before.adjacency:", "if False:"),
        ("a budget is set anew", "if chain.last(dataset) is not None:", "if False:"),
        (
            "a price from before the ledger changed",
            "if now.kind != before.kind or now.slack < cost.slack:",
            "if False:",
        ),
        ("a budget is overspent", "if not now.fits(cost) and not (whole and now.live == 0):", "if False:"),
    ),
    *changed(
        "ledger/state.py",
        LEDGER,
        ("a changed end is built on", "    if not event.intact:", "    if False:"),
    ),
    *changed(
        "ledger/chain.py",
        LEDGER,
        (
            "an event may refer to nothing",
            "previous, digest(number, dataset, entry, what, text, previous))",
            "previous, digest(number, dataset, entry, what, text, NOTHING))",
        ),
    ),
    *changed(
        "accounting/domination.py",
        BILLS,
        (
            "a Gaussian that does not dominate between the points",
            "return bool(np.all(bounds <= gauss + room) and np.all(chord <= tangent + room))",
            "return bool(np.all(bounds[::40] <= gauss[::40] + room))",
        ),
        ("a Gaussian of nine tenths", "found = high * SAFETY", "found = 0.9 * high"),
    ),
    *changed(
        "accounting/sampled_renyi.py",
        BILLS,
        ("sampled divergences are counted once", "return count * log_moments", "return log_moments"),
        (
            "the tail of a sampled divergence is dropped",
            "return np.asarray(np.logaddexp(inside, _log_tail(pair, float(x[-1]), orders)))",
            "return np.asarray(inside)",
        ),
        ("sampled losses are moved down", "mass[1:] += p[1:-1] * part", "mass[:-1] += p[1:-1] * part"),
    ),
    *changed(
        "accounting/costs/sum.py",
        BILLS,
        (
            "only the dearest part is billed",
            "return np.asarray(sum(p.renyi(orders) for p in self.parts))",
            "return np.asarray(np.max([p.renyi(orders) for p in self.parts], axis=0))",
        ),
        ("the first part's draws are billed", "costs = reduce(Costs.then, known)", "costs = known[0]"),
    ),
)
