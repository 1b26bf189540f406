"""Accounting: perturbed objectives in the recursion, rounding of losses, runs that are nearly Gaussian, prices that retreat."""

from .mutant import changed

OBJECTIVES = "accounting/test_objective_operator.py"
RARE = "accounting/test_rare_losses.py"
ROUNDING = "accounting/test_rounding.py"
NEAR = "estimators/test_calibration.py"

MUTANTS = (
    *changed(
        "accounting/recursion.py",
        OBJECTIVES,
        ("half of the second magnitude of an objective", "NARROW = math.sqrt(0.51)", "NARROW = math.sqrt(0.51) / 2"),
        ("one of two magnitudes of an objective", "for width in (1.0, NARROW):", "for width in (1.0,):"),
        (
            "one tail of an objective",
            "first = 2 * np.exp(log_ndtr(-t / width))",
            "first = np.exp(log_ndtr(-t / width))",
        ),
        ("an objective without its offset in the recursion", "start = offset + m * m / 2", "start = m * m / 2"),
        ("half of the square of an objective", "start = offset + m * m / 2", "start = offset + m * m / 4"),
        (
            "an objective is cut off below",
            "below = 1 - np.exp(np.minimum(e - least, 0.0)) * (1 - there)",
            "below = there + 0 * e",
        ),
    ),
    *changed(
        "accounting/stages.py",
        OBJECTIVES,
        (
            "an offset shrinks with the budget",
            "(factor * m, offset, count) for",
            "(factor * m, factor * offset, count) for",
        ),
        (
            "an objective ends where selections do",
            "bounded = self.mu == 0 and not self.objectives",
            "bounded = self.mu == 0",
        ),
        (
            "half of an objective from its share",
            "(math.sqrt(2 * rho), offset, count) for",
            "(math.sqrt(rho / 2), offset, count) for",
        ),
    ),
    *changed(
        "accounting/selections.py",
        OBJECTIVES,
        (
            "objectives are counted once",
            "for m, offset, count in stage.objectives:",
            "for m, offset, count in ((*o[:2], 1) for o in stage.objectives):",
        ),
    ),
    *changed(
        "accounting/pricing.py",
        "accounting/test_price_store.py",
        (
            "a stored price is believed",
            "        if _holds(priced):\n            return stored",
            "        return stored",
        ),
        ("a stored price that wastes is taken", "and _plausible(unit, budget, stored[0])", ""),
        ("stored prices come before refusals", "    _refuse(plan, unit, budget)\n    key", "    key"),
        (
            "prices know epsilon to six digits",
            "budget.epsilon, budget.delta, budget.rho, budget.mu,",
            "f'{budget.epsilon:g}',",
        ),
    ),
    *changed(
        "accounting/price_store.py",
        "accounting/test_price_store.py",
        (
            "prices of any release are read",
            'content["format"] == FORMAT and content["key"] == key',
            'content["key"] == key',
        ),
        (
            "prices of other plans are read",
            'content["format"] == FORMAT and content["key"] == key',
            'content["format"] == FORMAT',
        ),
    ),
    *changed(
        "accounting/recursion.py",
        "accounting/test_selections.py",
        ("wide cells are not bounded", "(i - i0) * h) / whole, out=k)", "(i - i0) * h) / whole / 4, out=k)"),
        ("the last cell is not looked at", "_raise(best, f0, curve.copy(),", "_raise(best.copy(), f0, curve.copy(),"),
    ),
    *changed(
        "accounting/draws.py",
        OBJECTIVES,
        ("an objective is free beside selections", "if c.noise is Noise.OBJECTIVE]", "if c.noise is Noise.LOCAL]"),
    ),
    *changed(
        "accounting/draws.py",
        "accounting/test_long_plans.py",
        (
            "selections of one weight are counted once",
            "(weight, sum(n for _, n in run))",
            "(weight, max(n for _, n in run))",
        ),
    ),
    *changed(
        "accounting/pld.py",
        ROUNDING,
        ("half of the roundings of a transform", "LEVEL = 8.0", "LEVEL = 4.0"),
        ("half of the roundings of probabilities", "PROBABILITY = 16.0", "PROBABILITY = 8.0"),
        ("far tails are as right as near ones", "(1 + reach * reach)", "(1 + 0 * reach)"),
        ("the law of an answer is exact", "one = transform_errors(points) + rough", "one = transform_errors(points)"),
    ),
    *changed(
        "accounting/views.py",
        ROUNDING,
        (
            "a tilted window speaks of what is outside of it",
            "if self.tilt > 0 and epsilon < self.step * self.low:",
            "if False:",
        ),
    ),
    *changed(
        "accounting/views.py",
        RARE,
        (
            "large losses are left out",
            "return self.fine.delta(epsilon) + self.rest.delta(epsilon)",
            "return self.fine.delta(epsilon)",
        ),
        (
            "small losses are left out",
            "return self.fine.delta(epsilon) + self.rest.delta(epsilon)",
            "return self.rest.delta(epsilon)",
        ),
    ),
    *changed(
        "accounting/pld.py",
        RARE,
        (
            "large losses are smaller",
            "most * finer, start, tilt, points), self._large(whole, most))",
            "most * finer, start, tilt, points), self._large(whole, 4 * most))",
        ),
    ),
    *changed(
        "accounting/costs/fixed.py",
        NEAR,
        ("half of an excess", "2 * self.rho * (1 + self.excess)", "2 * self.rho * (1 + self.excess / 2)"),
        (
            "a slack is not counted",
            "gaussian_deltas(epsilons, self._nearest) + self.slack",
            "gaussian_deltas(epsilons, self._nearest)",
        ),
        ("a slack makes no difference to mu", "if self.gaussian and self.slack == 0 else", "if self.gaussian else"),
        ("many runs have one slack", "self.slack * max(1.0, factor)", "self.slack"),
    ),
    *changed(
        "accounting/domination.py",
        NEAR,
        (
            "half of what a plan exceeds a Gaussian by",
            "return max(dominating_mu(bill, slack)[0] ** 2 / (2 * rho) - 1, 0.0)",
            "return max(dominating_mu(bill, slack)[0] ** 2 / (2 * rho) - 1, 0.0) / 2",
        ),
    ),
    *changed(
        "estimators/search/calibration.py",
        NEAR,
        (
            "candidates are compared at another price than theirs",
            "and _needed(prices(near) or [], near, slack) <= near.run.excess",
            "",
        ),
        (
            "candidates that were not compared are nearly Gaussian",
            "if seen is None or len(seen) > COMPARED:",
            "if seen is None:",
        ),
        ("the slack of one run for all", "slack = SLACK * delta / law.mean", "slack = SLACK * delta"),
    ),
    *changed(
        "accounting/pricing.py",
        "accounting/test_long_plans.py",
        (
            "a price is believed without a check",
            "        if _holds(priced):\n            if store",
            "        if True:\n            if store",
        ),
    ),
)
