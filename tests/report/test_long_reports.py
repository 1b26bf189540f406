"""Reports have a number for each feature: plans with many features say how long they are."""

import pytest

from dpsparse import SparseRegressor


def warned(recipe: str, n_features: int) -> bool:
    accept = ("known-design",) if recipe == "ldp_moment" else ()
    model = SparseRegressor(
        epsilon=1.0, recipe=recipe, sparsity=5, feature_bound=1.0, row_norm=10.0, target_bound=1.0, accept=accept
    )
    return any("however sparse" in w for w in model.plan(n_rows=10**9, n_features=n_features).warnings)


@pytest.mark.parametrize(
    ("recipe", "n_features", "said"),
    [
        ("ldp_iht", 60_000, True),
        ("ldp_moment", 60_000, True),
        ("label_ldp_iht", 60_000, False),
        ("ldp_iht", 16_382, False),
        ("ldp_iht", 16_384, True),
    ],
)
def test_long_reports_are_warned_about_at_planning(recipe, n_features, said):
    assert warned(recipe, n_features) == said
