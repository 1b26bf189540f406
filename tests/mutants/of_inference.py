"""Intervals: parts, coins, and the joint sensitivity of score, Gram matrix and meat."""

from .mutant import changed

PARTS = "core/test_parts.py"
MOMENTS = "oracles/test_score_moments.py"
FITS = "estimators/test_intervals.py"

MUTANTS = (
    *changed(
        "core/parts.py",
        PARTS,
        (
            "coins by position under add-remove",
            'if relation is Adjacency.ADD_REMOVE and self.rule == "positions":',
            "if False:",
        ),
    ),
    *changed(
        "rows/data_split.py",
        PARTS,
        ("a row answers both parts", "mine if part == 0 else ~mine", "mine if part == 0 else mine | ~mine"),
        ("a row is in no part", "mine if part == 0 else ~mine", "mine if part == 0 else ~mine & (y > 0)"),
        (
            "rows of a unit have coins of their own",
            "if self.units is None else self._by_unit(self.units)",
            "if True else self._by_unit(np.zeros(0, dtype=str))",
        ),
        (
            "a unit's coin depends on the other units",
            "blake2b(str(i).encode(",
            "blake2b((str(len(ids)) + str(i)).encode(",
        ),
        ("a unit's coin does not depend on the key", ", key=key).digest()", ").digest()"),
        ("ids of a column with a gap are others", "if isinstance(given, float) and given.is_integer()", "if False"),
        ("units without an id for each row", "if ids.shape != (n_rows,):", "if False:"),
    ),
    *changed(
        "fitting/run.py",
        FITS,
        ("the second part has all rows", "deal.targets(y, 1)", "y"),
        ("the first part has all rows", "deal.targets(y, 0)", "y"),
        ("both parts have the same rows", "deal.targets(y, 1)", "deal.targets(y, 0)"),
        (
            "coins by position where the plan says units",
            '(units is not None) != (inference.coins.rule == "units")',
            "False",
        ),
    ),
    *changed(
        "fitting/parts.py",
        FITS,
        ("targets are clipped before the residual", "UNBOUNDED = 1e300", "UNBOUNDED = 1.0"),
    ),
    *changed(
        "accounting/pricing.py",
        PARTS,
        (
            "the cheaper part is the price",
            "return max(part.epsilon(delta) for part in self.parts)",
            "return min(part.epsilon(delta) for part in self.parts) / 2",
        ),
        (
            "a part gets more than the budget",
            "p.plan.share * (p.rho_scale / scale)",
            "p.plan.share * (p.rho_scale / scale) * 2",
        ),
    ),
    *changed(
        "accounting/costs/plan.py",
        PARTS,
        (
            "the bill of parts is that of the cheaper one",
            "return max(part.delta(epsilon) for part in self._parts)",
            "return min(part.delta(epsilon) for part in self._parts)",
        ),
        (
            "Renyi divergences of the cheaper part",
            "np.max([part.renyi(orders) for part in self._parts], axis=0)",
            "np.min([part.renyi(orders) for part in self._parts], axis=0)",
        ),
    ),
    *changed(
        "core/facts.py",
        MOMENTS,
        (
            "sizes that floats cannot square",
            "SMALLEST_SIZE, LARGEST_SIZE = 1e-60, 1e60",
            "SMALLEST_SIZE, LARGEST_SIZE = 1e-300, 1e300",
        ),
    ),
    *changed(
        "queries/inference.py",
        MOMENTS,
        ("half of the distance where matrices are free", "        return 4.0", "        return 2.0"),
        (
            "half of the distance where they are not",
            "return 2 + 2 * both + 1 / (2 * both)",
            "return 1 + both + 1 / (4 * both)",
        ),
        ("matrices are free beyond their weight", "if both <= 0.5 or", "if both <= 1.0 or"),
        ("the free weight of classes beyond its proof", "TIED = 1.38", "TIED = 1.5"),
        ("the meat beyond its proof", "both <= 2.0 and meat <= 0.5", "both <= 2.0 and meat <= 1.0"),
        ("matrices beyond their proof", "both <= 2.0 and", "both <= 4.0 and"),
        (
            "the norm of a record without its matrices",
            "math.sqrt(1 + question.gram + question.meat)",
            "math.sqrt(1 + question.gram / 2)",
        ),
        (
            "rows are not held within their norm",
            "shrink = limit / np.maximum(np.sqrt(squares), limit)",
            "shrink = np.ones_like(squares)",
        ),
        (
            "residuals are not clipped",
            "psi = np.clip(-view.slopes / question.residual, -1.0, 1.0)",
            "psi = -view.slopes / question.residual",
        ),
        (
            "the curvature of classes is not tied to the residual",
            "4 * np.abs(psi) * (1 - np.abs(psi)) if classes else",
            "np.ones(psi.size) if classes else",
        ),
        (
            "entries off the diagonal count once",
            "weight = np.where(row == column, 1.0, math.sqrt(2))",
            "weight = np.ones(row.size)",
        ),
        ("another clip of classes", "question.residual != 1", "question.residual > 1"),
    ),
)
