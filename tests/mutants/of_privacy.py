"""Curves, costs and prices: a constant halved, a count forgotten, a bound from the wrong side."""

from .mutant import changed

CURVES = "core/test_curves.py core/test_objective_curve.py"
PRICES = "accounting/test_pricing.py laws/test_pricing_laws.py"
SAMPLED = "accounting/test_pld.py accounting/test_pricing.py"
SELECTIONS = "accounting/test_selections.py accounting/test_pricing.py"

MUTANTS = (
    *changed(
        "core/adjacency.py",
        "core/test_budget.py accounting/test_pricing.py oracles/test_central.py",
        ("replace-one moves one record", "return 2 if self is Adjacency.REPLACE_ONE else 1", "return 1"),
    ),
    *changed(
        "core/curves.py",
        CURVES,
        (
            "the Gaussian curve at half of its mu",
            "x = epsilons / mu - mu / 2",
            "x = epsilons / mu - mu / 4",
        ),
        ("a small mu by the difference of two equal numbers", "if mu < 1e-4:", "if mu < 0:"),
        ("the trapezoidal rule with half of its width", "fall = mu / 2 *", "fall = mu / 4 *"),
        ("rounding of Mills' ratio is not allowed for", "CANCEL = 16 * float(np.finfo(float).eps)", "CANCEL = 0.0"),
        ("half of a Gaussian's divergence", "orders * (mu * mu / 2)", "orders * (mu * mu / 4)"),
        ("half of a Laplace answer", "+ (a - 1) * epsilon, np", "+ (a - 1) * epsilon / 2, np"),
        ("one of two answers of randomised response", ", a * log_q + (1 - a) * log_p)", ", -np.inf)"),
        ("half of a selection's zCDP", "np.minimum(eta, a * eta * eta / 8)", "np.minimum(eta, a * eta * eta / 16)"),
        (
            "the best place of a selection's range misplaced",
            "log_x = np.log1p(-1 / a) + np.log(whole) - np.log(part) + eta",
            "log_x = np.log1p(-1 / a) + np.log(whole) - np.log(part)",
        ),
        ("an objective without its offset", "np.asarray(offset + a *", "np.asarray(a *"),
        ("an objective without its folded part", "(m * m / 2) + folded / (a - 1))", "(m * m / 2))"),
        ("half of an objective's rho", "m * math.sqrt(2 / math.pi)", "m * math.sqrt(0.5 / math.pi)"),
        (
            "the conversion of a curve forgets a factor",
            "(curve - epsilon) + a * np.log1p(-1 / a) - np.log(a - 1)",
            "(curve - epsilon) + a * np.log1p(-1 / a) - 2 * np.log(a)",
        ),
        ("half of the mu of a pure answer", "float(-2.0 * ndtri_exp", "float(-1.0 * ndtri_exp"),
        ("half of the mu of a selection", "return pure_mu(eta / 2)", "return pure_mu(eta / 4)"),
        ("rounding of curves is not allowed for", "ROUNDING = 8 * float(np.finfo(float).eps)", "ROUNDING = 0.0"),
        (
            "a search ends on the wrong side",
            "            high = middle\n    return low",
            "            high = middle\n    return high",
        ),
    ),
    *changed(
        "accounting/draws.py",
        PRICES,
        (
            "a selection priced at twice its range",
            "(8 if self.noise is Noise.GUMBEL else 2)",
            "(32 if self.noise is Noise.GUMBEL else 2)",
        ),
        ("draws of a turn are counted once", "ask.offset)] += ask.draws", "ask.offset)] += 1"),
        (
            "costs that round to one are counted once",
            "own[replace(cost, rho=cost.rho * rho_scale)] += count",
            "own[replace(cost, rho=cost.rho * rho_scale)] = count",
        ),
        (
            "the cheapest branch is priced",
            "rest = max((b._total(one) for b in self.branches), default=0.0)",
            "rest = min((b._total(one) for b in self.branches), default=0.0)",
        ),
        (
            "curves of branches are forgotten",
            "curve += np.max([b.renyi(orders) for b in self.branches], axis=0)",
            "curve += 0.0",
        ),
        ("curves are counted once", "curve += count * cost.renyi(orders)", "curve += cost.renyi(orders)"),
        (
            "discrete Gaussians are given a mu",
            "if self.noise in (Noise.DISCRETE_GAUSSIAN, Noise.OBJECTIVE):",
            "if self.noise is Noise.OBJECTIVE:",
        ),
        (
            "sampling beside selections is not noticed",
            "return self.random or any(c.sampling_rate < 1 for c in self.own)",
            "return self.random or all(c.sampling_rate < 1 for c in self.own)",
        ),
    ),
    *changed(
        "core/plan.py",
        "accounting/test_pricing.py laws/test_pricing_laws.py accounting/test_pld.py",
        ("several models for the price of one", "share=self.share * times,", "share=self.share,"),
        (
            "the share of a turn is given to every draw",
            "self.share * v / (total * self.draws)",
            "self.share * v / total",
        ),
        ("several models do not share a random length", "self.stay * z**self.copies)", "self.stay * z)"),
        (
            "an order of unequal selections is made up",
            "if self.interleaved or (len(asks) > 1 and not self.order):",
            "if self.interleaved:",
        ),
        (
            "an order may leave out turns",
            "if self.order and Counter(self.order) != Counter({a.name: a.times for a in self.asks}):",
            "if False:",
        ),
    ),
    *changed(
        "accounting/pricing.py",
        PRICES,
        ("rounding towards less noise", "SAFETY = 1.0 - 1e-9", "SAFETY = 1.0 + 1e-6"),
        ("Gaussian noise at delta 0", "if budget.delta == 0 and not unit.all_pure:", "if False:"),
        (
            "a sampled step forgets kappa when epsilon is stated",
            "steps = costs.multipliers(budget.kappa)",
            "steps = costs.multipliers(1)",
        ),
        (
            "half of the weight of Gaussians",
            "gaussian_mu(epsilon, delta) ** 2 / (2 * unit.weight)",
            "gaussian_mu(epsilon, delta) ** 2 / unit.weight",
        ),
        ("half of the weight in mu-GDP", "return mu**2 / (2 * unit.weight)", "return mu**2 / unit.weight"),
        (
            "half of the weight in zCDP",
            'return rho / unit.weight, "zCDP sum"',
            'return 2 * rho / unit.weight, "zCDP sum"',
        ),
        ("turns beyond the priced ones have a cost", "if not 0 <= turn < ask.times:", "if turn < 0:"),
    ),
    *changed(
        "accounting/pricing.py",
        "recipes/test_select_polish.py oracles/test_central.py",
        (
            "a branch is priced at twice its share",
            "return replace(self, plan=self.plan.branch(name))",
            "return replace(self, plan=self.plan.branch(name), rho_scale=2 * self.rho_scale)",
        ),
    ),
    *changed(
        "accounting/pld.py",
        SAMPLED,
        (
            "a sampled step is calibrated without kappa",
            "relation.kappa / math.sqrt(scale * w)) for q, w in a",
            "1 / math.sqrt(scale * w)) for q, w in a",
        ),
        (
            "the tail that is carried around is dropped",
            "for turn, count in grids for g in turn) + carried",
            "for turn, count in grids for g in turn)",
        ),
        (
            "infinite losses are counted once",
            "infinite = sum(_mean(count) * g.infinite for",
            "infinite = sum(g.infinite for",
        ),
        ("equal steps are counted once", "counted.get(turn.answers, 0) + turn.times", "turn.times"),
        (
            "only the better direction",
            "return max(loss.delta(epsilon) for loss in",
            "return min(loss.delta(epsilon) for loss in",
        ),
        ("a loss is not tilted back", "(log_all - tilt * losses)", "(log_all - 2 * tilt * losses)"),
        (
            "asks that share a draw pay once",
            "for p in turn), count) for turn, count in zip",
            "for p in turn[:1]), count) for turn, count in zip",
        ),
        (
            "delta pays for answers without noise",
            "ceiling = math.log(least) if least > 0 else -math.inf, math.log(most)",
            "ceiling = math.log(least) if least > 0 else -math.inf, math.inf",
        ),
    ),
    *changed(
        "accounting/views.py",
        SAMPLED,
        ("what is cut off is dropped from delta", "return self.infinite + self.rounding(epsilon)", "return 0.0"),
        (
            "rounding is not allowed for",
            "return math.exp(min(0.0, self.log_error - self.tilt * epsilon))",
            "return 0.0",
        ),
    ),
    *changed(
        "accounting/pricing.py",
        SAMPLED,
        ("half of the least noise", "CLEAREST = 2 * 1.6448536269514722", "CLEAREST = 4 * 1.6448536269514722"),
        ("rare outcomes need no least noise", "if q < 1 or not isinstance(count, int)]", "if q < 1]"),
    ),
    *changed(
        "core/plan.py",
        SAMPLED,
        ("two laws without names", "if len(drawn) > 1 and not ask.law.name:", "if False:"),
        ("one draw of two laws", "if (first.law, first.times) != (ask.law, ask.times):", "if False:"),
        (
            "a tilted law forgets its copies",
            "log_stay = self.copies * log_z + math.log(self.stay)\n        if log_stay >= -1e-9",
            "log_stay = log_z + math.log(self.stay)\n        if log_stay >= -1e-9",
        ),
    ),
    *changed(
        "accounting/pairs.py",
        SAMPLED + " attacks/test_sampling_audit.py",
        (
            "opposite records are taken for absent ones",
            "return (Pair(rate, multiplier, 1.0, -1.0),)",
            "return (Pair(rate, multiplier, 1.0, 0.0),)",
        ),
        (
            "half of the sampling rate",
            "+ self.rate * _normal_mass((x - side) / self.multiplier)",
            "+ self.rate / 2 * _normal_mass((x - side) / self.multiplier)",
        ),
        (
            "losses are rounded down",
            "upper = p[1:-1] * np.clip((1 - kept) / (1 - floor), 0.0, 1.0)",
            "upper = 0.0 * p[1:-1]",
        ),
        ("losses above the grid are dropped", "return low, out, float(p[-1])", "return low, out, 0.0"),
    ),
    *changed(
        "accounting/recursion.py",
        SELECTIONS,
        (
            "between two places of a range the bound is a chord from below",
            "np.maximum(best, rise, out=best)",
            "np.maximum(best, np.maximum(f0, f1), out=best)",
        ),
        (
            "noise forgets its tail",
            "(1 + 4 * (atoms.size + 8) * UNIT) + noise[-1]",
            "(1 + 4 * (atoms.size + 8) * UNIT)",
        ),
        ("one selection at half of its delta", "** 2 / -math.expm1(-eta)", "** 2 / -math.expm1(-eta) / 2"),
        (
            "a Laplace noise at half of its level",
            "inside = -np.expm1((np.clip(e, -level, level) - level) / 2)",
            "inside = -np.expm1((np.clip(e, -level, level) - level) / 4)",
        ),
    ),
    *changed(
        "accounting/selections.py",
        SELECTIONS,
        (
            "the best branch instead of the worst",
            "np.max([_curve(branch, e, h, points, after) for branch in stage.branches], axis=0)",
            "np.min([_curve(branch, e, h, points, after) for branch in stage.branches], axis=0)",
        ),
        (
            "the last selection is left out",
            "curve = one_selection(e, etas.pop()) if etas else nothing_left(e)",
            "curve = one_selection(e, etas.pop() / 2) if etas else nothing_left(e)",
        ),
        (
            "Laplace noises are counted once",
            "for _ in range(count if level > 0 else 0):",
            "for _ in range(1 if level > 0 else 0):",
        ),
    ),
    *changed(
        "accounting/stages.py",
        SELECTIONS,
        (
            "half of a range from its share",
            "(math.sqrt(8 * rho), count) for rho, count in selections)",
            "(math.sqrt(2 * rho), count) for rho, count in selections)",
        ),
        ("a block too few", "blocks[eta, size] += math.ceil(count / size)", "blocks[eta, size] += count // size"),
    ),
    *changed(
        "accounting/stages.py",
        "accounting/test_repeated_stages.py",
        (
            "a stage that runs twice has the variance of one",
            "return self.times * (own + max((branch.variance",
            "return 1 * (own + max((branch.variance",
        ),
        (
            "a stage that runs twice ends as early as one",
            "return self.times * (own + max((branch.largest_loss",
            "return 1 * (own + max((branch.largest_loss",
        ),
    ),
    *changed(
        "accounting/selections.py",
        "accounting/test_repeated_stages.py accounting/test_selections.py",
        ("several models at the price of one", "for _ in range(stage.times):", "for _ in range(1):"),
        (
            "what follows a branch is forgotten",
            "[_curve(branch, e, h, points, after) for",
            "[_curve(branch, e, h, points) for",
        ),
        (
            "what follows a stage is forgotten",
            "    elif after is not None:\n        curve = after\n",
            "    elif after is not None:\n        curve = nothing_left(e)\n",
        ),
    ),
    *changed(
        "accounting/recursion.py",
        "accounting/test_repeated_stages.py",
        (
            "half of a pure draw",
            "inside = -np.expm1(np.clip(e, -level, level) - level) / (1 + math.exp(-level))",
            "inside = -np.expm1((np.clip(e, -level, level) - level) / 2) / (1 + math.exp(-level))",
        ),
    ),
    *changed(
        "accounting/draws.py",
        "accounting/test_repeated_stages.py",
        (
            "permute-and-flip is free beside Laplace noise",
            "if c.noise is Noise.PERMUTE_AND_FLIP]",
            "if c.noise is Noise.LOCAL]",
        ),
    ),
    *changed(
        "core/plan.py",
        "accounting/test_repeated_stages.py",
        (
            "one of several models at a smaller price",
            "share=self.share / models, schedule=schedule)",
            "share=self.share / models**2, schedule=schedule)",
        ),
    ),
    *changed(
        "core/statement.py",
        "core/test_statement.py",
        ("equal answers are stated once", "counted[answer] = counted.get(answer, 0) + 1", "counted[answer] = 1"),
        (
            "a cost is stated upside down",
            "cost=a.sensitivity / a.scale if a.scale else math.inf",
            "cost=a.scale / a.sensitivity if a.scale else math.inf",
        ),
    ),
)
