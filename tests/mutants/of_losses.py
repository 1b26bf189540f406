"""Losses: what is proven, and the doors that foreign ones pass."""

from .mutant import changed

ROWWISE = "queries/test_rowwise.py"

MUTANTS = (
    *changed(
        "queries/losses/__init__.py",
        "recipes/test_foreign_losses.py",
        (
            "losses are trusted by their name",
            "type(loss) is type(own) and own.convex",
            "loss.name == own.name and own.convex",
        ),
    ),
    *changed(
        "queries/losses/logistic.py",
        "queries/test_minimise.py",
        (
            "half of the logistic curvature",
            "curvature: ClassVar[float] = 0.25",
            "curvature: ClassVar[float] = 0.125",
        ),
    ),
    *changed(
        "queries/losses/rowwise.py",
        ROWWISE,
        (
            "what inherits from our losses is ours",
            "type(loss) is type(own) and loss.rowwise",
            "isinstance(loss, type(own)) and loss.rowwise",
        ),
        ("functions inside our losses are ours", "is type(own) and loss.rowwise", "is type(own)"),
        ("a memory of the first call is not found", "((fresh, SIZES[::-1]), (first, SIZES))", "((first, SIZES),)"),
        ("large blocks are not tried", "BLOCK, 65_537, 150_001)", "BLOCK)"),
        ("rows may mix a little", "TOLERANCE = 1e-12", "TOLERANCE = 1e-3"),
        ("links are not tried", "if link is not None and other is not None:", "if link is None and other is None:"),
        (
            "blocks follow the number of rows",
            "block = [np.zeros(BLOCK) for _ in flat]",
            "block = [np.zeros(size) for _ in flat]",
        ),
        ("one number may stand for all rows", "if found.shape != columns[0].shape:", "if found.ndim > 1:"),
    ),
    *changed(
        "fitting/prepare.py",
        ROWWISE,
        (
            "losses are not tried before a fit",
            "    refuse_mixing(request.loss, target_of(request.loss, request.target_bound))\n",
            "",
        ),
    ),
    *changed(
        "fitting/prepare.py",
        "recipes/test_many_classes.py",
        (
            "forms for many classes of foreign losses are used untried",
            "joint = None if user_defined(request.loss) else joint_of(",
            "joint = joint_of(",
        ),
    ),
    *changed(
        "oracles/local.py",
        ROWWISE,
        ("foreign losses on devices see all rows at once", "self._loss = guard(loss)", "self._loss = loss"),
    ),
    *changed(
        "core/plan.py",
        "core/test_unproven.py",
        (
            "an unproven branch is not told",
            'object.__setattr__(self, "unproven", "; ".join(doubts))',
            'object.__setattr__(self, "unproven", "")',
        ),
    ),
    *changed(
        "accounting/costs/plan.py",
        "core/test_unproven.py",
        ("an unproven plan has a price", "if self.plan.unproven:", "if self.plan.unproven is None:"),
    ),
    *changed(
        "fitting/prepare.py",
        "core/test_unproven.py",
        (
            "an unproven plan needs no word of its user",
            "if plan.unproven and UNPROVEN not in accept:",
            "if plan.unproven is None:",
        ),
    ),
)
