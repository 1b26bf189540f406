"""Ordinary tables: the recipe for dense rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from ..algorithms.constants import TABLES
from ..algorithms.table_schedule import TableSchedule
from ..algorithms.tables import TableDescent
from ..core.budget import Budget
from ..core.facts import Facts
from ..core.plan import Noise
from .base import PrivateRecipe
from .select_polish import SelectPolish


@dataclass(frozen=True, kw_only=True)
class Tables(PrivateRecipe):
    r"""Ordinary tables: dense rows of few to a thousand columns, with bounds that may be far too wide.

    .. math:: z = \bigl((x - \tilde\mu)\tilde M/\tilde R,\; .3\bigr), \qquad
              v_t = .9 v_{t-1}
              + .1\,\tfrac1n\Bigl(\textstyle\sum_i\mathrm{clip}_{\tilde C}(\phi'_iz_i)
              + \text{noise}\Bigr), \qquad
              w_{t+1} = w_t - e_tv_t

    Nothing has to be tuned. Everything with a tilde is a paid answer, and bounds only set the range
    of grids. With :math:`N = n\mu` for the Gaussian budget :math:`\mu` (doubled for add-remove) and
    :math:`\kappa = N/(2d)`:

    * **constant**: where one query would be left with a level :math:`N\sqrt f` below 18,
      the median, shrunk by :math:`N^2/(N^2 + 64)`, or the class share is all that is released. From
      :math:`N = 20` on, classes get a path all the same, since their slopes are bounded:
      up to 30 % for the start, the rest for one phase on rows in units of .6 times their declared
      bound, and the part of the result that its gradient at the start, less the energy of its noise
      and of the start's, says is signal (James and Stein);
    * **start**: the median of the targets, or the log-odds of the class share, which is shrunk to one
      half by its noise;
    * **means** :math:`\tilde\mu` of the columns, 4 %, of rows cut to 1.2 times the 70 % quantile of
      their length; then once more from there, where rows are shorter. Each is believed as far as
      the most likely law of all of them says (see `algorithms.column_locations`);
    * **whitening** :math:`\tilde M`, 12 %: the inverse root of a Gram matrix that is the identity
      as far as it is noise; asked for where its noise is below 8 mean eigenvalues, and fewer than
      60 columns or a `sparsity` are given, or steps are of second order;
    * **length** :math:`\tilde R`: 1.2 times the 70 % quantile of row lengths in these coordinates;
    * **phases** of 15, 25 and 60 % of the rest (classes: one, and momentum .7 in the place of .9,
      in a third of the steps): the clip :math:`\tilde C` is 1.3 times (more from
      :math:`\kappa = 25` on) the 65 % quantile of the sizes of gradients, looked for within 1/5 and
      1.3 of the last clip after the first phase; for classes it is
      :math:`.45\min(2.5, \max(1, (\kappa/12)^{.4}))`, so that it holds no slope back where records
      are many. The path's length is :math:`\tau = \nu N\sqrt f/2` (classes: over the clip), with
      :math:`\nu` = 0.5 in the first phase, and then more the more the clip fell, 0.25 to 1.2
      (classes: 1). Each turn's budget is proportional to its step; the result is the average of the
      path behind a burn-in. From 300 columns on w is soft-thresholded at .7 standard deviations of
      its noise;
    * **second order**, where :math:`\kappa \ge 40`, no `sparsity` is given and the noise of the Gram
      matrix is below .25 (classes .5) of its mean eigenvalue: phases of 10, 20 and 70 %, of 5, 5
      and 12 (classes 7) steps :math:`w \leftarrow w - H^{-1}\tilde g`, in the last phase averaged by
      their precision. For classes 8 % are spent on a Hessian after each of the first two phases;
    * **finish**: of numbers with :math:`\kappa < 40`, and of classes after second-order steps with
      :math:`\kappa < 200`, 3 to 10 % are spent on the slope of the target
      on the score in two private dimensions. The score is drawn back to the constant where it is
      clearly below 1; a score that spreads more than the target did is dropped. Of other classes
      nothing is asked: the noise that the path left in the coefficients is public, so what it explains of
      their energy is drawn back (James and Stein), and they are divided by the root of the part of
      the way that such a path goes. Gradients along the path say what the slope is, and it counts
      as far as it stands clear of twice its noise. The constant comes back towards the class share
      with the coefficients;
    * **mean residual**, squared loss where noise allows it, 2 %: the mean residual within 5 clips
      moves the constant, as far as it exceeds twice its noise; clips near the middle of a skewed
      target would leave a bias;
    * scalar queries have 6 % in all, more where N is small; with :math:`N < 110` there are no means
      and no whitening, a finish for numbers with :math:`\kappa < 1` only, and :math:`\nu` begins at
      0.35.

    **Few coefficients or many?** From 60 columns (or groups) on, without `sparsity` and with steps of first order,
    phases have 12, 23 and 65 %. After each of the first two, what few and what many coefficients are
    expected to explain is computed from the released gradients, which costs nothing; where few
    explain 1.1 (classes 1.3), after the second .6 (.8) times what many do, select_polish goes on with what is left,
    at the same price, and with the means that are known. Where columns are rare indicators, whose
    means lie near an end of their bounds, whole gradients cost less than selections, and the path
    goes on.

    With `sparsity` the largest coefficients in units of their columns' half-widths are kept after
    the first phases, and the last phase runs on them alone, whitened by a Gram matrix of their own.

    An l2 penalty is applied by its proximal map. A start vector is refused.

    Guarantee
    ---------
    Selections of bounded range and Gaussian releases with the sensitivities of `queries.framed`,
    `queries.polish` and `queries.choices`, in a fixed order, with choices among branches of equal
    price; composed by the recursion over selections, or by Renyi curves where that is longer than
    it can be run. Frames, clips and lengths are made of released answers. Holds for any data.

    Deviations
    ----------
    No paper: the parts are known (private means, preconditioning, clipped gradients with momentum,
    averaging), the way they are paid for is our own. Constants were chosen on public tables and
    synthetic designs, half of the tables being kept aside (see the page on ordinary tables).
    """

    name: ClassVar[str] = "tables"
    penalties: ClassVar[tuple[str, ...]] = ("l2",)

    def view(self, facts: Facts) -> Facts:
        """As `SelectPolish` wants rows shown."""
        return SelectPolish().view(facts)

    def solver(self, facts: Facts, budget: Budget) -> TableDescent:
        """The loop; where few coefficients may matter, also loops of `select_polish` for what is left of the budget."""
        if not facts.target.direct:
            raise ValueError(
                f"recipe {self.name!r} cannot take the loss {facts.loss!r}; it takes losses of "
                "classes, and of numbers without a link, "
                "such as squared, huber and logistic. Use recipe='dual_averaging', which takes any."
            )
        if facts.start is not None:
            raise ValueError(
                f"recipe {self.name!r} starts at the constant and cannot use a start vector; leave start=None."
            )
        plain = _schedule(facts, budget)
        if not self.races(facts, budget):
            return TableDescent(level=plain.level)
        # what is left for a sparse model after the first phase, and after the second
        dense = plain.plan(gaussian=Noise.GAUSSIAN, gumbel=Noise.GUMBEL)
        left, sparse = dense.share, []
        for phase in plain.phases[:-1]:
            stop = dense.order.index(phase.gradient)
            names = dict.fromkeys(dense.order[: stop + 1])
            left = dense.share - sum(dense[name].share for name in names)
            runner = SelectPolish().solver(facts, Budget.zcdp(left * budget.as_rho(), budget.relation))
            sparse.append(replace(runner, told=plain.means > 0, means=0.0))
        return TableDescent(level=plain.level, few_coefficients=tuple(sparse))

    def races(self, facts: Facts, budget: Budget) -> bool:
        """Whether answers will choose between many coefficients and few; the planner asks here too."""
        plain = _schedule(facts, budget)
        wide = facts.sparsity is None and facts.candidates >= TABLES.whole.race_columns
        return wide and plain.race and not plain.constant


def _schedule(facts: Facts, budget: Budget) -> TableSchedule:
    """Of many coefficients, from which few may take over."""
    level = TABLES.gaussian_part * facts.n_rows * budget.as_mu() * 2 / budget.kappa
    return TableSchedule.of(facts, level, race=True)
