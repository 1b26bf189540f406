"""What several fits on one dataset cost together: a sum of epsilons, the ledger's filters, and one plan made in advance.

Run: python -m benchmarks.ledger_composition
"""

from __future__ import annotations

from benchmarks.prepared import prepared_for
from dpsparse import SparseRegressor, recipes
from dpsparse.accounting import PlanCost, SumCost
from dpsparse.accounting.costs.base import Cost
from dpsparse.ledger.state import State

DELTA = 1e-6
EACH = 0.5

RECIPES = {
    "dp_ight, dense noise": recipes.DPIGHT(mechanism="dense"),
    "dp_ight, peeling": recipes.DPIGHT(mechanism="peel"),
    "select_polish": recipes.SelectPolish(),
    "dp_gcd": recipes.DPGCD(),
    "dp_frank_wolfe": recipes.DPFrankWolfe(),
    "dp_sgd_ht": recipes.DPSGDHT(),
    "two_stage": recipes.TwoStage(),
}


def bill_of(recipe: object, noise: str = "lattice") -> Cost:
    """The bill of one fit of epsilon = EACH on 20,000 rows and 500 features."""
    model = SparseRegressor(
        epsilon=EACH,
        delta=DELTA,
        sparsity=10,
        feature_bound=1.0,
        target_bound=3.0,
        recipe=recipe,
        noise=noise,
    )
    return PlanCost.of(prepared_for(model, 20_000, 500, sparse=False, models=1).priced)


def needed(bills: list[Cost], kind: str | None) -> float:
    """The smallest total epsilon with which a ledger takes these bills, one after the other."""

    def takes(epsilon: float) -> bool:
        state = State.opened(epsilon, DELTA, "replace-one", kind)
        for bill in bills:
            state = state.decided(bill)
            cost = state.charge(bill)
            if not state.fits(cost):
                return False
            state = state.taken(cost)
        return True

    low, high = 0.1, 16.0
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if takes(middle) else (middle, high)
    return high


def main() -> None:
    """Print the table."""
    bills = {name: [bill_of(recipe)] * 5 for name, recipe in RECIPES.items()}
    bills["dp_ight, noise='exact'"] = [bill_of(RECIPES["dp_ight, dense noise"], "exact")] * 5
    first = [b[0] for name, b in bills.items() if name.split(",")[0] in ("dp_ight", "select_polish", "dp_gcd")][:4]
    bills["dense, peeling, select_polish, dp_gcd, dense"] = [*first, first[0]]
    bills["dense x 3, two_stage x 2"] = [first[0]] * 3 + [bills["two_stage"][0]] * 2
    print("| five fits of epsilon = 0.5 | sum | one plan in advance | ledger | kind='gaussian' | kind='renyi' |")
    print("|---|---|---|---|---|---|")
    for name, given in bills.items():
        joint = SumCost(tuple(given)).epsilon(DELTA)
        found = [needed(given, kind) for kind in (None, "gaussian", "renyi")]
        print(
            f"| {name} | {5 * EACH:.2f} | {joint:.3f} | "
            + " | ".join(f"{v:.3f} (+{v / joint - 1:.1%})" for v in found)
            + " |"
        )


if __name__ == "__main__":
    main()
