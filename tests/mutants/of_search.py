"""Search and preparation: random stopping, private scores, counts."""

from .mutant import changed

TUNING = "accounting/test_random_stopping.py"
TALLIES = "oracles/test_tallies.py"
CELLS = "oracles/test_cells.py"
BOUNDS = "estimators/test_bounds.py"
CLIPPED = "fitting/test_clipping.py"
UNREAD = "fitting/test_unread.py"
SEARCH = "attacks/test_search_audit.py"

PROFILE = "accounting/test_search_profile.py"

MUTANTS = (
    *changed(
        "accounting/search_profile.py",
        PROFILE,
        ("half of the runs of a profile", "terms = self.weights * _both", "terms = 0.5 * self.weights * _both"),
        ("a profile is not shifted", "epsilon + self.shifts)", "epsilon + 0.0 * self.shifts)"),
        (
            "a line is used at its better end",
            "log_r = np.max([log_slope(p)",
            "log_r = np.min([log_slope(p)",
        ),
        ("a stretch has the weight of its upper end", "log_w = log_slope(ends[0])", "log_w = log_slope(ends[1])"),
        (
            "lines below the trade-off curve",
            "log_slope(slopes * p + starts)",
            "log_slope(slopes * p + starts / 2)",
        ),
        (
            "the curve is cut off below zero",
            "return np.asarray(np.where(e < 0, left, right))",
            "return np.asarray(right)",
        ),
    ),
    *changed(
        "accounting/random_stopping.py",
        PROFILE + " " + TUNING,
        ("a geometric profile is logarithmic", "- 2 * np.log(self.gamma + ", "- np.log(self.gamma + "),
        ("half of a Poisson profile", "math.log(self.mean) - self.mean * p", "math.log(self.mean) - self.mean * p / 2"),
        ("a logarithmic profile forgets its mean", "math.log(self.mean * self.gamma) - ", "math.log(self.gamma) - "),
    ),
    *changed(
        "accounting/random_stopping.py",
        TUNING,
        (
            "a search costs one run",
            "return base.renyi(orders) + (1 + eta) * float(hat.min()) + math.log(mean) / (orders - 1)",
            "return base.renyi(orders) + math.log(mean) / (orders - 1)",
        ),
        (
            "the mean number of runs is free",
            "+ (1 + eta) * float(hat.min()) + math.log(mean) / (orders - 1)",
            "+ (1 + eta) * float(hat.min())",
        ),
        (
            "a geometric law at the price of a logarithmic one",
            "return _negative_binomial(base, orders, 1.0, self.gamma, self.mean)",
            "return _negative_binomial(base, orders, 0.0, self.gamma, self.mean)",
        ),
        (
            "half of a Poisson law's runs",
            "(base.renyi(orders) + self.mean * hats)",
            "(base.renyi(orders) + 0.5 * self.mean * hats)",
        ),
        (
            "no run at all is free",
            "return np.asarray(np.logaddexp(exponent, -self.mean) / (orders - 1))",
            "return np.asarray(exponent / (orders - 1))",
        ),
        (
            "a pure search at twice its run",
            "{Logarithmic.name: 2.0, Geometric.name: 3.0}",
            "{Logarithmic.name: 1.0, Geometric.name: 1.5}",
        ),
    ),
    *changed(
        "queries/cells.py",
        CELLS,
        ("half of a moment", "MOMENT_PAIR = 2.0", "MOMENT_PAIR = 1.0"),
        ("half of a moment that comes or goes", "MOMENT_NORM = math.sqrt(5) / 2", "MOMENT_NORM = math.sqrt(5) / 4"),
        ("half of a count", "COUNT_PAIR = math.sqrt(2)", "COUNT_PAIR = math.sqrt(2) / 2"),
        ("t is not held within its bounds", "seen, loss), nan=1.0), -1.0, 1.0)", "seen, loss), nan=1.0), -4.0, 4.0)"),
        ("records of no group count in the last", "(group < cells.groups)", "(group < cells.groups + 1)"),
        ("absent records count", "known = (alive > 0) & ", "known = (present >= 0) & "),
    ),
    *changed(
        "queries/columns.py",
        BOUNDS,
        (
            "half of a quantile of columns",
            "2.0 if relation is Adjacency.REPLACE_ONE else 2 * max(whole, PARTS - whole)",
            "1.0 if relation is Adjacency.REPLACE_ONE else max(whole, PARTS - whole)",
        ),
    ),
    *changed(
        "estimators/steps/private_bounds.py",
        BOUNDS,
        ("ends of columns are free", "(2 * self._learned(n_features).size, rest", "(2, rest"),
    ),
    *changed(
        "queries/clipped.py",
        CLIPPED,
        ("absent records are clipped", "block.clipped * block.present[:, None] for", "block.clipped for"),
    ),
    *changed(
        "queries/unread.py",
        UNREAD,
        ("half of the cells", "norm = math.sqrt(columns)", "norm = math.sqrt(columns) / 2"),
        (
            "half of a cell",
            "lattice.units(RELEASE_UNITS), np.ones(columns)",
            "lattice.units(RELEASE_UNITS), np.ones(columns) / 2",
        ),
        ("a record counts twice", "total += np.unpackbits", "total += 2 * np.unpackbits"),
        ("rows that do not remember are counted", "if not columns:", "if False:"),
    ),
    *changed(
        "rows/block.py",
        UNREAD,
        ("cells of the other part are counted", "np.where(np.isinf(y)[:, None], np.uint8(0), unread)", "unread"),
        (
            "flags of another number of columns are counted",
            "unread.shape != (y.size, -(-lattice.facts.counts_unread // 8))",
            "False",
        ),
    ),
    *changed(
        "rows/data_split.py",
        UNREAD,
        ("rows of the other part have no target only", "np.where(np.isinf(y), np.nan, y), np.inf)", "y, np.nan)"),
    ),
    *changed(
        "rows/records.py",
        UNREAD,
        ("rows that are taken have the flags of others", "self.unread.take(which)", "self.unread"),
    ),
    *changed(
        "fitting/prepare.py",
        UNREAD,
        ("cells are counted free of charge", 'request.check_cells, UNREAD, "Unread"', 'None, UNREAD, "Unread"'),
    ),
    *changed(
        "fitting/unread.py",
        UNREAD,
        ("one alarm for every column", "tail = FALSE_ALARM / len(columns.names)", "tail = FALSE_ALARM"),
        ("columns are dropped by noise", "& (self.limits <= WIDEST)", ""),
        (
            "what a dropped column added is lost",
            "intercept + float(self.columns.filled[gone] @ coef[gone])",
            "intercept",
        ),
        ("rows that say nothing pass", "    if unread is None:\n        raise DataError(NOBODY_SAID)\n", ""),
    ),
    *changed(
        "fitting/clipping.py",
        CLIPPED,
        (
            "the count of what is clipped has another share",
            "share=_weight(plan) * share / (1 - share),",
            "share=2 * _weight(plan) * share,",
        ),
    ),
    *changed(
        "rows/margins.py",
        "estimators/test_score.py",
        ("rows with a missing cell have a margin", "total[~np.isfinite(x).all(axis=1)] = np.nan", "total[:0] = np.nan"),
    ),
    *changed(
        "estimators/search/runs.py",
        SEARCH,
        ("the last run is kept", "if best is None or score > best.score:", "if True:"),
    ),
    *changed(
        "estimators/search/runs.py",
        "estimators/test_search.py",
        ("rows that come or go move the split", "if plan.adjacency is Adjacency.ADD_REMOVE:", "if False:"),
        (
            "rows that score fit too",
            "return np.flatnonzero(~held), np.flatnonzero(held)",
            "return np.arange(rows), np.flatnonzero(held)",
        ),
    ),
    *changed(
        "estimators/search/search.py",
        "estimators/test_search.py",
        ("fit and score on the same rows at the price of one", "training_rho=rho * split,", "training_rho=rho,"),
    ),
    *changed(
        "estimators/search/scoring.py",
        "estimators/test_search.py oracles/test_tallies.py",
        ("a score at twice its price", "Budget.zcdp(rho, adjacency)", "Budget.zcdp(4 * rho, adjacency)"),
    ),
    *changed(
        "estimators/steps/division.py",
        "estimators/test_pipeline.py",
        (
            "every step has the whole mu",
            "Budget.gdp(math.sqrt(share) * total.mu(), total.adjacency)",
            "Budget.gdp(total.mu(), total.adjacency)",
        ),
        (
            "every step has the whole rho",
            "Budget.zcdp(share * total.rho, total.adjacency)",
            "Budget.zcdp(total.rho, total.adjacency)",
        ),
        (
            "the model has all of it beside the others",
            "return {**shares, model: 1.0 - math.fsum(shares.values())}",
            "return {**shares, model: 1.0}",
        ),
    ),
    *changed(
        "fitting/request.py",
        "fitting/test_request.py",
        (
            "a private number of rows is taken from the data",
            "    if adjacency is Adjacency.ADD_REMOVE:\n",
            "    if False:\n",
        ),
        ("the default delta is ten times as large", "min(1e-6, 1 / (10 * n_rows))", "min(1e-6, 1 / n_rows)"),
    ),
    *changed(
        "fitting/statement.py",
        "fitting/test_statement.py",
        ("a seed is not mentioned", "return () if secure else (", "return () if True else ("),
    ),
    *changed(
        "core/attacker.py",
        "fitting/test_statement.py core/test_attacker.py",
        ("a large delta is not mentioned", "if delta > 1 / max(1, n_rows):", "if False:"),
    ),
    *changed(
        "ledger/payment.py",
        "estimators/test_ledger_fits.py ledger/test_ledger.py",
        (
            "the ledger is not told of the first answer",
            "            self.reservation.start()\n\n    @property",
            "            pass\n\n    @property",
        ),
        ("what has no price is fitted on guarded data", "    if bill is None:\n", "    if False:\n"),
        (
            "a drawn length can be drawn again",
            "if isinstance(bill, PlanCost) and bill.account.costs.random:",
            "if False:",
        ),
    ),
)
