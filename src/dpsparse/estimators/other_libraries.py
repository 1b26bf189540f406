"""Arguments that other libraries have: what to use here instead."""

from __future__ import annotations

from collections.abc import Iterable

#: By argument: what it is called or does here.
INSTEAD = {
    "C": "The strength of the penalty is alpha=; C is its inverse. Start with the default, alpha=0: the noise already "
    "regularises.",
    "max_iter": "The number of steps is part of the priced plan and is chosen before a record is read. Set it on a "
    "recipe: recipe=dpsparse.recipes.get('dp_ight')(steps=20).",
    "n_iter": "The number of steps is part of the priced plan. Set it on a recipe: "
    "recipe=dpsparse.recipes.get('dp_ight')(steps=20).",
    "tol": "A stopping rule on the exact loss would reveal it. The number of steps is planned beforehand.",
    "early_stopping": "A stopping rule on the exact loss would reveal it. The number of steps is planned beforehand.",
    "solver": "The algorithm is recipe=; dpsparse.recipes.names() lists them.",
    "learning_rate": "Step sizes follow from public facts. Set one on a recipe: "
    "recipe=dpsparse.recipes.get('dp_ight')(step_size=0.1).",
    "batch_size": "Sampling of records is a field of the recipe, such as dp_sgd.",
    "n_jobs": "Set the environment variable DPSPARSE_THREADS, or OMP_NUM_THREADS.",
    "multi_class": "Recipes with a multinomial form use it (recipe='dual_averaging'); the others fit one class versus "
    "the rest.",
    "warm_start": "A public start is start=; a model fitted on the same records is not public for free.",
    "dual": "There is one formulation; the algorithm is recipe=.",
    "positive": "Bound coefficients with penalty='box' and box=.",
    "normalize": "Use make_private_pipeline(PrivateScaler(), ...), or public bounds: feature_bound=.",
    "standardize": "Use make_private_pipeline(PrivateScaler(), ...), or public bounds: feature_bound=.",
    "lambda_": "The strength of the penalty is alpha=.",
    "nonzero": "The number of nonzero coefficients is sparsity=.",
    "n_nonzero_coefs": "The number of nonzero coefficients is sparsity=.",
    "data_norm": "The bound on the norm of a row is row_norm=.",
    "max_grad_norm": "Gradients are clipped by row_norm= or feature_bound=; some recipes have a field clip.",
    "noise_multiplier": "The noise follows from the budget: epsilon= and delta=.",
    "bounds": "Bounds of features are feature_bound=; the bound of the target is target_bound=.",
    "bounds_X": "Bounds of features are feature_bound=.",
    "bounds_y": "The bound of the target is target_bound= around target_center=.",
    "accountant": "A budget that many fits share is ledger= with dataset=.",
    "intercept": "Use fit_intercept=.",
    "seed": "Use random_state=; a fit with a seed is not private.",
}


def unknown_arguments(kind: type, names: Iterable[str], known: Iterable[str]) -> str:
    """What to say about arguments that a class does not have, one sentence or two for each."""
    import difflib

    listed, said = list(known), []
    for name in names:
        if name in INSTEAD:
            said.append(f"{kind.__name__} has no argument {name!r}. {INSTEAD[name]}")
            continue
        close = difflib.get_close_matches(name, listed, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else f" help({kind.__name__}) lists the arguments."
        said.append(f"{kind.__name__} has no argument {name!r}.{hint}")
    return " ".join(said)
