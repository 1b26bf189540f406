"""Everything an audit can say about a recipe or a model: laws, trace, second opinion, and attacks.

*Attacks* are black boxes: two worlds, many runs, and what distinguishes them. For every ask of a plan a pair of
neighbouring datasets is built that its query distinguishes as well as it can (`canaries`). The query is then asked
many times in both worlds through the real oracle, priced alone and generously (constants do not depend on the budget,
and large budgets show small errors soonest). The whole fit is attacked too, through everything that its oracle said
and through the model alone. Every attack ends in a `LowerBound` and its comparison with the whole claimed curve.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ..accounting.random_stopping import RANDOM_STOPPING
from ..core import Noise, PrivacyError, Statement
from ..core.checks import whole as whole_number
from ..core.facts import Facts, Vector
from ..core.words import one_of_many
from ..estimators.linear import SparseLinear
from ..fitting.statement import plan_caveats
from ..queries.losses import Loss
from .canaries import AskAttack, plan_attacks
from .judge import judge_ask, judge_fit
from .laws import LawBroken, check_estimator_privacy, check_solver
from .lower_bounds import CONFIDENCE
from .result import AuditResult, LawCheck
from .runs import AskRuns, FitRuns, sample_runs
from .subject import Subject, subject_of
from .trace import sensitivity_trace


def require_dp_accounting() -> None:
    """Refuse early, with what to install."""
    try:
        import dp_accounting  # noqa: F401
    except ImportError:
        raise ImportError(
            "a second opinion needs dp-accounting. Install it with: pip install 'dpsparse[audit]'"
        ) from None


def recomputed_epsilon(statement: Statement) -> float:
    """Epsilon of a statement at its delta, recomputed from its `asks` with dp-accounting.

    Gaussian answers are composed as privacy loss distributions under the statement's adjacency;
    answers of selections and Laplace noise by their zCDP bounds, which is looser than our own
    account (so the result, an upper bound, may exceed the statement's epsilon there, by up to a
    fifth). Nothing of our accounting code is used.

    Examples
    --------
    >>> import numpy as np
    >>> from dpsparse import SparseRegressor, audit, recipes
    >>> X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    >>> recipe = recipes.DPIGHT(mechanism="dense", steps=4)
    >>> model = SparseRegressor(epsilon=1.0, feature_bound=1.0, target_bound=1.0, recipe=recipe).fit(X, X[:, 0])
    >>> abs(audit.recomputed_epsilon(model.statement_) - model.statement_.epsilon) < 1e-3
    True
    """
    require_dp_accounting()
    import dp_accounting
    from dp_accounting import pld, rdp

    if not statement.priced:
        raise PrivacyError("this model was fitted without a price that is proven; there is nothing to recompute.")
    if statement.accountant.startswith(RANDOM_STOPPING):
        raise PrivacyError(
            "this model was chosen by a private search, which costs more than the answers of its best run; "
            "they are not enough to recompute it."
        )
    parts = {a.part for a in statement.asks}
    if len(parts) > 1:  # each row is in one of them
        each = [replace(statement, asks=tuple(a for a in statement.asks if a.part == part)) for part in parts]
        return max(recomputed_epsilon(part) for part in each)
    logging.getLogger("absl").setLevel(logging.ERROR)
    relation = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    replace_one = statement.adjacency == "replace-one"
    if any(a.noise.local for a in statement.asks):
        return _local_epsilon(statement)
    if all(a.noise == Noise.GAUSSIAN for a in statement.asks):
        if any(a.rate < 1 for a in statement.asks) and replace_one:
            relation = dp_accounting.NeighboringRelation.REPLACE_ONE
        accountant = pld.PLDAccountant(relation)
        for a in statement.asks:
            # under REPLACE_ONE this accountant wants sigma over the norm of one record, half the stated sensitivity
            record = a.sensitivity / 2 if relation is dp_accounting.NeighboringRelation.REPLACE_ONE else a.sensitivity
            event = dp_accounting.GaussianDpEvent(a.scale / record)
            accountant.compose(event if a.rate >= 1 else dp_accounting.PoissonSampledDpEvent(a.rate, event), a.times)
        return float(accountant.get_epsilon(statement.delta))
    if any(a.rate < 1 or a.noise == Noise.OBJECTIVE for a in statement.asks):
        raise PrivacyError("no second opinion is known for sampled selections or perturbed objectives.")
    rho = sum(a.times * a.draws * a.cost**2 / (8 if a.noise == Noise.GUMBEL else 2) for a in statement.asks)
    return float(rdp.RdpAccountant().compose(dp_accounting.ZCDpEvent(rho)).get_epsilon(statement.delta))


def _local_epsilon(statement: Statement) -> float:
    """Epsilon of the reports of one person.

    A part `rate` of the people gives each answer, so that times * rate of them are one person's.

    Where labels are randomised for several classes only two reports count, and this is an upper
    bound.
    """
    from dp_accounting.pld import privacy_loss_distribution as losses

    if not all(a.noise.local for a in statement.asks):
        raise PrivacyError("no second opinion is known for reports of people beside answers of a curator.")
    if all(a.noise == Noise.LOCAL for a in statement.asks):
        return float(sum(a.times * a.rate * a.cost for a in statement.asks))
    mu = sum(a.times * a.rate * a.cost**2 for a in statement.asks) ** 0.5
    return float(losses.from_gaussian_mechanism(1 / mu).get_epsilon_for_delta(statement.delta))


# ------------------------------------------------------------------------------------------------ attacks


def attack(
    target: object,
    *,
    runs: int = 2000,
    fits: int | None = None,
    epsilon: float = 10.0,
    delta: float = 1e-5,
    n_rows: int | None = None,
    n_features: int | None = None,
    facts: Facts | None = None,
    loss: Loss | None = None,
    processes: int = 1,
    seed: int | None = None,
    confidence: float = CONFIDENCE,
    on_estimate: Callable[[float], None] | None = None,
    on_part: Callable[[float], None] | None = None,
) -> AuditResult:
    """Attack a recipe, an estimator or a solver with canaries, ask by ask and as a whole.

    Parameters
    ----------
    target : str, recipe, estimator or solver
        A recipe or its name is attacked as a regressor with features and target in [-1, 1]; an estimator with its own
        arguments; a solver (`plan`, `run`) with `facts` and `loss`.
    runs : int
        Runs in each world for every ask.
    fits : int, optional
        Whole fits in each world; default half of `runs`, 0 for none.
    epsilon, delta : float
        Privacy at which whole fits are attacked. Constants do not depend on it, and errors show soonest where mu is
        about 2, which is this default.
    n_rows, n_features : int, optional
        Size of the worlds.
    facts, loss
        For a solver.
    processes : int
        Processes to share the work among.
    seed : int, optional
        For tests. Without one every run draws from the operating system, as real fits do.
    confidence : float
        Of every single lower bound.
    on_estimate, on_part : callable, optional
        Told the seconds that it will take, and then the part that is done.

    Returns
    -------
    AuditResult

    Examples
    --------
    >>> from dpsparse import audit
    >>> found = audit.attack("dp_ight", runs=200, fits=0, seed=0)
    >>> found.verdict
    'no violation found'
    """
    for value, what, least in ((runs, "runs", 8), (processes, "processes", 1), (fits or 8, "fits", 8)):
        whole_number(value, what, least=least)
    start = time.perf_counter()
    subject = subject_of(
        target, epsilon=epsilon, delta=delta, n_rows=n_rows, n_features=n_features, facts=facts, loss=loss
    )
    fits = max(8, runs // 2) if fits is None else fits
    attacks, whole, widths = plan_attacks(subject)
    jobs: list[AskRuns | FitRuns] = [
        AskRuns(subject, one.question, one.ask, *one.worlds.data(present), runs)
        for one in attacks
        for present in (True, False)
    ]
    if fits:
        jobs += [FitRuns(subject, *whole.data(present), widths, fits) for present in (True, False)]
    samples = sample_runs(jobs, processes=processes, seed=seed, on_estimate=on_estimate, on_part=on_part)
    checks = [
        judge_ask(subject, one, *samples[2 * i : 2 * i + 2], confidence=confidence, delta=delta)
        for i, one in enumerate(attacks)
    ]
    if fits:
        checks += judge_fit(subject, whole, *samples[-2:], widths=widths, confidence=confidence)
    return AuditResult(
        target=subject.label,
        scope=(
            f"each ask of the plan at mu or epsilon 2 (range 2.5, sampled 4), and whole fits at epsilon {epsilon:g}, "
            f"delta {delta:g}, {subject.relation}, on synthetic datasets of {subject.facts.n_rows} rows and "
            f"{subject.facts.n_features} features; {runs} answers and {fits} fits in each world"
        ),
        checks=tuple(checks),
        runs=runs,
        confidence=confidence,
        seconds=time.perf_counter() - start,
        notes=_left_out(subject, attacks),
    )


def _left_out(subject: Subject, attacks: Sequence[AskAttack]) -> tuple[str, ...]:
    asked = {one.ask.name for one in attacks}
    planned = [a.name for a in subject.plan.asks]
    for _, branch in subject.plan.branches:
        planned += [a.name for a in branch.asks]
    missing = sorted({name for name in planned if name not in asked})
    return (f"branches that these worlds did not take, with asks {', '.join(missing)}",) if missing else ()


# ------------------------------------------------------------------------------------------------ everything

#: Said of models whose guarantee is for units of several rows.
UNITS = (
    "units were not audited: in the synthetic data each {unit} has one row. The proof, and tests of the "
    "package, say that all rows with the same id are protected together"
)

#: A second opinion may exceed a statement by this part: selections are recomputed by a looser rule.
LOOSER = 0.25


def examine(
    target: object,
    *,
    runs: int = 2000,
    fits: int | None = None,
    processes: int = 1,
    seed: int | None = None,
    n_rows: int | None = None,
    n_features: int | None = None,
    confidence: float = CONFIDENCE,
    on_estimate: Callable[[float], None] | None = None,
    on_part: Callable[[float], None] | None = None,
) -> AuditResult:
    """Audit a recipe, an estimator or a fitted model by every means there is.

    Deterministic checks come first: replay, swap and asks = plan; the sensitivity trace; for a
    fitted model also its epsilon bounded from the statement by another library. Then `attack`.
    Everything runs on synthetic data: a model file holds no rows, and none are needed.

    Parameters
    ----------
    target : str, recipe, estimator or solver
        As in `attack`. A fitted estimator brings its statement.
    runs, fits, processes, seed, n_rows, n_features, confidence, on_estimate, on_part
        As in `attack`.

    Returns
    -------
    AuditResult

    Examples
    --------
    >>> from dpsparse import audit
    >>> found = audit.examine("dp_cd", runs=100, fits=0, seed=0)
    >>> [law.name for law in found.laws], found.violated
    (['laws', 'sensitivity trace'], False)
    """
    start = time.perf_counter()
    subject = subject_of(target, epsilon=4.0, delta=1e-5, n_rows=n_rows, n_features=n_features)
    laws = tuple(_checked_laws(subject))
    caveats, void, notes = plan_caveats(subject.plan), bool(subject.plan.unproven), tuple[str, ...]()
    if isinstance(target, SparseLinear) and "statement_" in vars(target):
        caveats, void = target.statement_.caveats, not target.statement_.private
        laws = (*laws, _second_opinion(target.statement_))
        unit = one_of_many(target.statement_.unit)
        notes = (UNITS.format(unit=unit),) if unit else ()
    if laws[0].violated:  # what does not keep the laws need not even run in an attack
        found = AuditResult(subject.label, "laws on synthetic data", (), notes=("not attacked: the laws are broken",))
    else:
        found = attack(
            target,
            runs=runs,
            fits=fits,
            processes=processes,
            seed=seed,
            n_rows=n_rows,
            n_features=n_features,
            confidence=confidence,
            on_estimate=on_estimate,
            on_part=on_part,
        )
    seconds = time.perf_counter() - start
    return replace(found, laws=laws, notes=(*notes, *found.notes), caveats=caveats, void=void, seconds=seconds)


def _checked_laws(subject: Subject) -> Iterator[LawCheck]:
    """The checks without chance, on synthetic data."""
    X, y = _made_up(subject)
    if subject.template is None:
        yield _law(
            "laws",
            "plan, peeks, asks = plan, replay, swap and brings rows hold",
            lambda: check_solver(subject.solver, subject.facts, subject.loss, X, y, budget=subject.priced.budget),
        )
        return
    model, labels = subject.template, y.astype(int) if subject.loss.classes else y + subject.target_center
    yield _law(
        "laws",
        "replay, swap and asks = plan hold for everything that a fit learns",
        lambda: check_estimator_privacy(model, X, labels),
    )
    yield _law(
        "sensitivity trace",
        "no query moves further than its noise was made for, on adversarial neighbours",
        lambda: sensitivity_trace(model, X, labels),
    )


def _law(name: str, holds: str, check: Callable[[], object]) -> LawCheck:
    try:
        check()
    except LawBroken as broken:
        return LawCheck(name, True, str(broken))
    return LawCheck(name, False, holds)


def _second_opinion(statement: Statement) -> LawCheck:
    """Whether another library agrees with the statement."""
    name = "second opinion"
    try:
        found = recomputed_epsilon(statement)
    except PrivacyError as refusal:
        return LawCheck(name, False, f"not possible: {refusal}")
    detail = (
        f"stated epsilon {statement.epsilon:.4g} at delta {statement.delta:.3g}; another library bounds it from above "
        f"by {found:.4g}, from the statement's own answers (its bound may be up to {LOOSER:.0%} larger, since it "
        "counts selections more coarsely)"
    )
    return LawCheck(name, found > statement.epsilon * (1 + LOOSER), detail)


def _made_up(subject: Subject) -> tuple[Vector, Vector]:
    """Some data within the bounds."""
    facts, rng = subject.facts, np.random.default_rng(0)
    shape = (facts.n_rows, facts.n_features)
    X = rng.uniform(facts.lower * np.ones(shape[1]), facts.upper * np.ones(shape[1]), shape)
    if subject.loss.classes:
        return X, (np.arange(shape[0]) % 2).astype(float)
    return X, rng.uniform(-facts.target_bound, facts.target_bound, shape[0])
