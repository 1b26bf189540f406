"""Select + polish: private selection of coordinates, then preconditioned steps on them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ..algorithms.column_locations import clear
from ..algorithms.constants import POLISH, TABLES
from ..algorithms.polish_schedule import Rule, log_features
from ..algorithms.select_polish import SelectAndPolish
from ..algorithms.tables import TableDescent
from ..core.budget import Budget
from ..core.facts import Facts
from ..ops import entries_of_groups
from .base import PrivateRecipe, check_positive, check_whole


@dataclass(frozen=True, kw_only=True)
class SelectPolish(PrivateRecipe):
    r"""Select + polish: select coordinates by noisy correlation, polish them, and repeat.

    It selects a few coordinates at a time, and polishes them by preconditioned noisy steps.

    .. math::
        S \leftarrow S \cup \mathrm{top}_b\,
        \bigl|\tfrac1n\textstyle\sum_i \mathrm{clip}_e(x_{ij})\,\mathrm{clip}_R(\phi'_i)\bigr|
        + \text{noise}, \qquad
        w \leftarrow w - \gamma \circ P\Bigl(\tfrac1n\textstyle\sum_i \mathrm{clip}_C\bigl(\phi'_i (x_{i,S} - \mu)\bigr)
        + \text{noise}\Bigr)

    For dense wide rows with few true coefficients. Nothing has to be tuned: the clips e, R, C are
    priced quantiles, P comes from a noisy Gram matrix of the support of which only what stands
    clear of its noise is believed, and the number of coordinates follows from public facts and the
    size of a typical entry, which is asked first.

    With :math:`\rho` the zCDP budget that implies the guarantee (for planning only: noise comes from
    the price of the plan, which is 10 to 35 % more generous), :math:`K_2, K_\infty` the bounds on a
    row's norm and entries, s the sparsity:

    * shares: Gram matrices 3 % (2 % for classes with n < 2000); with an intercept 4 % for its steps
      and 2 % for column means (none if `feature_center` is given); of the rest :math:`\rho'`
      scalars 7 %, and of what remains `selection` for selections;
    * coordinates :math:`k = \lceil(c\,nK_2/(\sqrt{ds}K_e)\cdot\sqrt{2 f_s\rho'}/(2\ln d))^2\rceil`
      within 1..s, with :math:`K_e = \min(K_\infty, 4e)`; c = 1, for classes 0.7 (n >= 2000) or 0.6;
      beyond s = 40 the nearest of s, s/1.3, s/1.69, ...;
    * residual clips R at the 40 % quantile of residuals (classes 50 %; rows with few large entries
      90 %), gradient clips C at the 60 to 90 % quantile of gradient norms, more where gradients are
      well funded;
    * row lengths Q on the support, which price curvatures and Gram matrices: a quantile from 70 to
      93 %, the higher the less its noise, so that bounds which are ten or thirty times too
      wide cost next to nothing, and supports on which few rows are long do not make steps too long;
      column means are of rows clipped to :math:`K_e` for each entry, and shrunk towards the origin
      by their noise (James and Stein);
    * **origin**: on dense rows whose bounds do not lie about zero, and whose budget suffices for
      the means of *all* columns (their noise would be below half of a half-width), 4 % are spent on
      these first. Selections then contrast the values of a column within an interval about its
      mean, as wide as a typical entry from there or as the mean is doubtful, instead of entries
      from the midpoint of bounds: a count or a rare indicator lies near one end of its bounds, and
      from the midpoint nearly all of it would be the intercept. For classes 3 % more are spent on
      the class share, since an error of the intercept is seen by every such column. If their means
      say that columns are rare indicators and `sparsity` was given, a path on all columns goes on, as
      in `tables` but in phases of 20, 50 and 30 %, the last one on the s largest coefficients: whole
      gradients of such columns cost less noise than selections. Where few rows have an entry other
      than the usual one on the support, lengths are quantiles of those rows;
    * where gradients are well funded (:math:`k \le 0.3\,n\rho_g` for their part :math:`\rho_g`) and
      :math:`n \ge 20\,k\ln d`, 0.4 k spare coordinates are selected last, two steps are taken on
      all, the weakest are dropped until k are left, and the last steps are taken on those: among
      correlated columns a wrong one that came first is not kept for ever;
    * selections later in the loop get up to 4 times the budget of the first, gradients 3 to 8
      times;
    * a step is shortened to where the Gram matrix, less 1.5 standard deviations of its noise, says
      that it would overshoot;
    * **scales**: the first answers about the start, residuals, row lengths and the spread of the score
      have a level :math:`N\sqrt f` of 25 each, within 30 % of the budget. Below a level of 18 the
      constant is all that is released. Later answers are looked for near the last one: residuals of
      numbers within .4 and 1.1 of it, clips within .2 and 4 typical residuals, lengths from .4 of
      what is expected upwards;
    * new coefficients are taken in part :math:`v/(v+r)`, where v is what coefficients that explain
      all of the target together would have, and so are steps of the intercept;
    * **finish**, 2 to 10 %: the slope of the target on the score, as in `tables`;
    * a step is taken in part :math:`\gamma = v/(v+r)` on coordinates that have a value: r is the
      noise in the step, v the error it should repair;
    * at the end :math:`w_j \leftarrow w_j\max(0, 1-(t_j/|w_j|)^4)`, where :math:`t_j^2` is the
      noise in :math:`w_j` plus :math:`2a\ln(d/k)` times the sampling variance.

    Parameters
    ----------
    rounds : int or None
        Selections, each of about k / rounds coordinates and followed by a step. None: 6; for
        classes 5, or with n < 2000 one, two if twice as many coordinates as allowed could be
        distinguished from noise.
    steps : int or None
        Steps after the last selection. None: 4 where gradients are well funded, else 3; for classes
        2, with n < 2000 one.
    selection : float or None
        :math:`f_s`, the part of the budget for selections. None: 0.6; for classes with n < 2000
        0.65.
    shrinkage : float or None
        a. None: 0.8.
    spare : float or None
        How many coordinates beyond k, as a part of it, are selected last and then dropped again,
        the weakest of all first. None: 0.4 where it was worth its price, see above; for classes
        none.

    Notes
    -----
    Where columns have groups, these are selected and dropped, and numbers of coordinates are of groups.

    Without `sparsity` s is the number that a selection can distinguish from noise,
    :math:`\lceil c\,nK_2\sqrt{2f_s\rho}/(2 K_\infty\sqrt d\ln d)\rceil` (for classes 0.6 of it, or
    :math:`K_\infty\sqrt d/6K_2` of it where that is more), at most d/4 and at most :math:`\sqrt d`:
    every coordinate that is allowed but not needed is paid for by the others. With an intercept
    dense columns are measured from the midpoint of their bounds, where that makes rows no longer; a
    `feature_center` is not used as an origin, since that would widen the bounds, but saves the
    budget of the column means. An l2 penalty is added to gradients and curvature. A start vector is
    refused: selections start at zero.

    Guarantee
    ---------
    Selections of bounded range and Gaussian releases with the sensitivities of `queries.polish`, in
    a fixed order, after one choice among branches of equal price; composed by the recursion over
    selections, or by Renyi curves where that is longer than it can be run. Holds for any data.

    Deviations
    ----------
    The algorithm is our own; it has no paper. Against gradient descent with hard thresholding
    [WG19]_, [WX19]_ it releases gradients on a support instead of d coordinates; against noisy
    iterative hard thresholding with peeling it selects on clipped entries, which are worth less
    noise than they cost signal.

    References
    ----------
    .. [WG19] Wang and Gu, IJCAI 2019, Algorithm 1.
    .. [WX19] Wang and Xu, ICML 2019, Algorithm 3.
    .. [DR21] Durfee and Rogers, NeurIPS 2019: one-shot top-k selection.
    """

    name: ClassVar[str] = "select_polish"
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    rounds: int | None = None
    steps: int | None = None
    selection: float | None = None
    shrinkage: float | None = None
    spare: float | None = None

    def __post_init__(self) -> None:
        check_whole(self.rounds, "rounds")
        check_whole(self.steps, "steps")
        check_positive(self.shrinkage, "shrinkage")
        if self.selection is not None and not 0 < self.selection < 1:
            raise ValueError(f"selection must lie strictly between 0 and 1, got {self.selection!r}.")
        if self.spare is not None and not 0 <= self.spare <= 1:
            raise ValueError(f"spare must lie between 0 and 1, got {self.spare!r}.")

    def view(self, facts: Facts) -> Facts:
        """Dense columns from their midpoint, where that makes rows no longer; the intercept is asked for separately."""
        if not facts.intercept:
            return facts
        ones = np.ones(facts.n_features)
        shown = facts.with_(shift=0.0 * ones)
        middle = facts.with_(shift=(np.asarray(facts.lower) + np.asarray(facts.upper)) / 2 * ones)
        if not facts.sparse and middle.row_bound <= shown.row_bound:
            shown = middle
        means = (facts.shift - shown.shift) * ones if np.any(facts.shift) else None
        return shown.with_(intercept=shown.feature_bound, means=means)

    def solver(self, facts: Facts, budget: Budget) -> SelectAndPolish:
        """The loop with the rule of the docstring."""
        if not facts.target.direct:
            raise ValueError(
                f"recipe {self.name!r} cannot take the loss {facts.loss!r}; it takes losses of "
                "classes, and of numbers without a link, "
                "such as squared, huber and logistic. Use recipe='dual_averaging', which takes any."
            )
        if facts.start is not None:
            raise ValueError(f"recipe {self.name!r} selects from zero and cannot use a start vector; leave start=None.")
        changes = {n: getattr(self, n) for n in ("rounds", "steps", "selection", "shrinkage", "spare")}
        rule = replace(Rule.of(facts), **{n: v for n, v in changes.items() if v is not None})
        rho = budget.as_rho() * (2 / budget.kappa) ** 2
        sparsity = min(facts.sparsity or default_sparsity(facts, rho, rule), facts.n_features)
        # rows from zero, as sparse rows always are, lie about there: storage must not change a model
        asked = bool(np.any(facts.shift)) and facts.free > 0 and facts.means is None and not facts.target.joint
        level = facts.n_rows * math.sqrt(2 * rho)
        means = POLISH.all_means if asked and clear(facts, level, POLISH.all_means) else 0.0
        dense = TableDescent(level=TABLES.gaussian_part * level * math.sqrt(1 - means), rare=True)
        given = bool(means) and facts.sparsity is not None and not dense.releases_constant(facts)
        return SelectAndPolish(
            sparsity=sparsity,
            rho=rho,
            rule=rule,
            ridge=facts.penalty.l2,
            means=means,
            dense=dense if given else None,
        )


def default_sparsity(facts: Facts, rho: float, rule: Rule) -> int:
    """What a selection can tell from noise: at least 1, at most a quarter of the features and their square root.

    Where columns have groups, the columns of as many of these, at most half.
    """
    n, d = facts.n_rows, facts.n_features
    short = facts.feature_bound * math.sqrt(d) / facts.row_bound
    part = min(1.0, max(POLISH.class_part, short / POLISH.short_rows)) if facts.target.classes else 1.0
    signal = part * rule.reach * n * facts.row_bound * math.sqrt(2 * rule.selection * rho)
    found = signal / (2 * log_features(facts.candidates) * facts.feature_bound * math.sqrt(d))
    most = min(math.isqrt(d), d // 4, -(-facts.candidates // 2))
    return entries_of_groups(max(1, min(math.ceil(found), most)), facts.groups)
