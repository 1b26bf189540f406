"""DP Frank-Wolfe on the l1 ball."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ..algorithms.constants import PAPERS, STEPS
from ..algorithms.frank_wolfe import FrankWolfe
from ..core.budget import Budget
from ..core.facts import Clip, Facts
from .base import PrivateRecipe, check_positive, check_whole
from .defaults.sparsity import default_sparsity
from .defaults.theory import budget_of, prescribed


@dataclass(frozen=True, kw_only=True)
class DPFrankWolfe(PrivateRecipe):
    r"""Private Frank-Wolfe on the l1 ball [TTZ15]_.

    It is the method that [WG19]_ and its sequel are compared with.

    .. math:: w_{t+1} = (1-\gamma_t)\,w_t + \gamma_t\,r\,v_t, \qquad
              v_t = \arg\max_{v \in \{\pm e_j\}} -\langle v, g(w_t)\rangle + \text{Gumbel}, \qquad
              \gamma_t = \tfrac2{t+2}

    Parameters
    ----------
    steps : int or None
        Vertices T that are asked for. None: as many as selections can distinguish from noise,
        :math:`T = \tfrac43\rho\,\bigl(n K_2/(\kappa K_\infty\sqrt{ds}\,\ln 2d)\bigr)^2` (for
        classes 0.4 of it) within 10..60, with :math:`\rho` of the budget. On texts, where many words say
        little each, :math:`T = n\mu/(25\kappa)` within 10..500, with :math:`\mu` of the budget.
    radius : float or None
        Radius r of the ball. None: the l1 norm of :math:`\min(s, T)` coefficients, as many as T
        vertices can make, uniform in size, that together give margins of a typical size t
        (target_bound/3; 1 for classes, counts and links):
        :math:`r = 0.87\,t\sqrt{\min(s,T)}\,\min(1/x,\; 5/K_\infty)` with
        :math:`x = \min(K_2/\sqrt d, K_\infty/\sqrt3)`, a typical entry, from the bounds on the norm
        :math:`K_2` and the entries :math:`K_\infty` of a row; s is the `sparsity` asked for, or
        :math:`\min(d, 10)` and more with the budget. For classes of texts
        :math:`4t\sqrt T(K_\infty/K_2)\min(1/x, 5/K_\infty)` if that is more: slopes of classes are
        bounded, so that a ball that is too large does less harm than one that stops at a few
        frequent words.
    clip : float or None
        l2 clip of one row's gradient. None: :math:`R K_2` with R = 0.25 for classes and a fifth of
        a typical residual (target_bound/15) for regression, more where the budget is so large that
        noise is harmless. Entries are clipped to :math:`R\min(K_\infty, K_2/5)`, by shrinking
        the row's factor.
    entry_clip : float or None
        Bound on the entries of one row's gradient. None: as above.

    Guarantee
    ---------
    T selections among the 2d vertices by Gumbel noise. One record moves the score of a vertex by at
    most :math:`\kappa C_\infty`, that of its opposite by as much in the other direction, so the
    range is :math:`2\kappa C_\infty` and the l2 clip does not help. Selections are composed by the
    recursion of ``accounting/selections.py`` or their exact Renyi curve, whichever certifies less
    noise. The number of candidates costs no privacy. Holds for any data, since every row is
    clipped.

    Deviations
    ----------
    [TTZ15]_ adds Laplace noise of :math:`\Delta\sqrt{8T\log(1/\delta)}/\epsilon` to every score.
    With the sensitivity of replace-one taken as that of add-remove it certifies 1.3 to 1.8 for a
    claimed 1, and 37 for a claimed 10 at delta 0.01, the setting of [WG19]_; Gumbel noise of the
    right size is 1.6 to 2.4 times smaller than theirs. Nothing there bounds the gradient of squared
    loss; we clip. The papers do not say how they chose the radius; the default is a formula in
    public bounds.

    Notes
    -----
    News in two classes (12,748 rows, 62,061 words, three seeds): test error .465(11), .304(3), .241(5) at epsilon 1,
    4, 10; film reviews in classes (12,000 rows, 74,851 words, two to three seeds) .390(2), .316(10), .295(8). With the
    noise off and the same clip, news .237, .192 and .132 with 200, 500 and 1,500 vertices (radius 300, 450, 1,500):
    the length of the path is the limit there, and at epsilon 4 the budget is: of seven pairs of T and radius the best
    was 150 and 350 with .286(2), while 400 and 600 gave .324(6). What [WG19]_ prints on RCV1, .103 at epsilon 4, is
    not reached on these data with honest noise, nor with the noise off and 1,500 vertices.

    A step changes the at most T coefficients that have been touched; margins are mended through
    those columns, in time proportional to their nonzeros. The gradient is mended through the rows
    whose factor changed, and is one pass over the nonzeros where more than half did. Nothing is
    made dense but vectors of length n and d.

    References
    ----------
    .. [TTZ15] Talwar, Thakurta and Zhang, NeurIPS 2015, Algorithm 2.
    .. [WG19] Wang and Gu, IJCAI 2019, section 6.
    """

    name: ClassVar[str] = "dp_frank_wolfe"
    penalties: ClassVar[tuple[str, ...]] = ()

    steps: int | None = None
    radius: float | None = None
    clip: float | None = None
    entry_clip: float | None = None

    def __post_init__(self) -> None:
        check_whole(self.steps, "steps")
        check_positive(self.radius, "radius")
        check_positive(self.clip, "clip")
        check_positive(self.entry_clip, "entry_clip")

    @classmethod
    def from_theory(
        cls,
        *,
        n_rows: int,
        delta: float,
        radius: float,
        lipschitz: float,
        curvature: float,
        epsilon: float | None = None,
        rho: float | None = None,
        constant: float = 1.0,
    ) -> DPFrankWolfe:
        r"""Steps that balance noise and what is left to optimise.

        Their number is :math:`T = c\,(\Gamma n\epsilon/(L_1 r))^{2/3}`, rounded up.

        T steps leave :math:`\Gamma/T`, with the `curvature` constant :math:`\Gamma` of the mean
        loss on the ball, at most :math:`4\beta_0K_\infty^2r^2`. A choice among the vertices errs by
        :math:`L_1r\sqrt T/(n\epsilon)` up to logarithms, with :math:`L_1` the Lipschitz constant of
        one row's loss for the l1 norm: a bound on the entries of its gradient, and here its clip.
        Both are equal at T, which gives the rate :math:`\log(nd)/(n\epsilon)^{2/3}` of [TTZ15]_
        that Table 1 of [WG19]_ repeats. Logarithms of d and :math:`1/\delta` would shorten T; they
        are left to `constant` c. ([WG19]_'s sequel tries c times s steps on validation data.) At
        most 1000 steps.
        """
        epsilon, _ = budget_of(epsilon, delta, rho)
        steps = constant * (curvature * n_rows * epsilon / (lipschitz * radius)) ** (2 / 3)
        return cls(steps=prescribed(steps, "T", most=1000), radius=radius, entry_clip=lipschitz)

    def view(self, facts: Facts) -> Facts:
        """Columns from the midpoint of their bounds; the intercept of documents' classes within a few margins.

        A vertex moves the margin of every row by the height of the intercept times the radius, about 25 typical margins
        on texts: the intercept was then taken again and again to undo itself.
        """
        shown = super().view(facts)
        if not (shown.intercept and text_classes(shown)):
            return shown
        radius = self.radius or ball(shown, PAPERS.whole.fw_text_steps)
        height = PAPERS.fw_intercept * shown.target.margin / radius
        return shown.with_(intercept=min(shown.intercept, height))

    def solver(self, facts: Facts, budget: Budget) -> FrankWolfe:
        """The loop with the rule of the docstring."""
        n, d, unit = facts.n_rows, facts.n_features, facts.target.typical
        s = min(facts.sparsity or max(10, default_sparsity(facts, budget, peel=True)), d)
        vertices = n * budget.as_mu() / (budget.kappa * PAPERS.fw_text_rows)
        ratio = facts.norm_bound / min(facts.entry_bound, facts.norm_bound / PAPERS.fw_ratio)
        possible = 4 / 3 * budget.as_rho() * (n * ratio / (budget.kappa * math.sqrt(d * s) * math.log(2 * d))) ** 2
        possible *= PAPERS.fw_class_signal if facts.target.classes else 1.0
        residual = PAPERS.fw_class_residual if facts.target.classes else unit / STEPS.typical_over_clip
        spare = max(1.0, possible / PAPERS.whole.fw_steps) ** PAPERS.fw_growth
        clip = self.clip or facts.norm_bound * min(facts.slope_bound, max(facts.target_bound, unit), residual * spare)
        most, wanted = PAPERS.whole.fw_steps, possible
        if facts.documents:
            most, wanted = PAPERS.whole.fw_text_steps, vertices
        steps = self.steps or min(most, max(10, round(wanted)))
        return FrankWolfe(
            steps=steps,
            radius=self.radius or ball(facts, steps if text_classes(facts) else min(s, steps)),
            clip=Clip(self.clip or self.entry_clip * ratio, self.entry_clip)
            if self.entry_clip
            else Clip(clip, clip / ratio),
            sparsity=facts.cap,
        )


def text_classes(facts: Facts) -> bool:
    """Whether rows are documents in classes."""
    return facts.documents and facts.target.classes


def ball(facts: Facts, count: int) -> float:
    """The l1 norm of this many equal coefficients with margins of a typical size; more for documents in classes."""
    entry = min(facts.row_bound / math.sqrt(facts.n_features), facts.feature_bound / math.sqrt(3))
    scale = min(1 / entry, PAPERS.fw_scale / facts.feature_bound)
    times = PAPERS.fw_radius
    if text_classes(facts):
        times = max(times, PAPERS.fw_text_radius * facts.feature_bound / facts.row_bound)
    return times * facts.target.margin * math.sqrt(count) * scale
