"""Oracles: what is charged, how far a record can move an answer, and what leaves the room."""

from .mutant import changed

CENTRAL = "oracles/test_central.py"
POLISH = "oracles/test_polish.py"
WEIGHTED = "oracles/test_weighted.py"

MUTANTS = (
    *changed(
        "oracles/central.py",
        CENTRAL,
        (
            "rows are looked at before the charge",
            "        paid, turn = self.till.charge(ask)\n        chosen = None",
            "        self._measure(question, None) if isinstance(question, Gradient) else None\n"
            "        paid, turn = self.till.charge(ask)\n        chosen = None",
        ),
        (
            "half of the noise of a sum",
            "scale = sensitivity / cost.strength\n        noisy",
            "scale = sensitivity / cost.strength / 2\n        noisy",
        ),
        (
            "half of the noise of a selection",
            "scale = sensitivity / cost.strength\n        if ask.noise",
            "scale = sensitivity / cost.strength / 2\n        if ask.noise",
        ),
        (
            "the rounding of sums is not counted",
            "return reach.l2(relation) + records * float(np.linalg.norm(steps))",
            "return reach.l2(relation)",
        ),
        (
            "the rounding of sums with Laplace noise is not counted",
            "return reach.l1(relation) + float(steps.sum())",
            "return reach.l1(relation)",
        ),
        (
            "Laplace noise for the l2 sensitivity",
            "return reach.l1(relation) + float(steps.sum())",
            "return reach.l2(relation) + float(steps.sum())",
        ),
        ("more is selected than was priced", "if count != ask.draws:", "if False:"),
        ("excluded candidates are selected", "keep[question.excluded] = False", "keep[question.excluded] = True"),
        (
            "a branch goes on at the price of its parent",
            "self.priced = self.priced.branch(branch)",
            "self.priced = self.priced",
        ),
        (
            "vectors are released without noise",
            "            return lattice_gaussian(total, scale, self._randomness)",
            "            return total.astype(float)",
        ),
    ),
    *changed(
        "oracles/central.py",
        "attacks/test_sampling_audit.py oracles/test_central.py",
        (
            "the rounding of a sampled sum is counted for one record",
            "records = relation.kappa if isinstance(ask.rows, PoissonRows) else 1",
            "records = 1",
        ),
        (
            "sums are divided by the rows that are there",
            "(unit / (cost.sampling_rate * self.facts.n_rows))",
            "(unit / (cost.sampling_rate * sum(b.y.size for b in self._rows._blocks)))",
        ),
        (
            "sums of a sample are divided by all rows",
            "(unit / (cost.sampling_rate * self.facts.n_rows))",
            "(unit / (self.facts.n_rows))",
        ),
        (
            "half of a sampled step's rate is taken for its price",
            "self._rows.sample(paid.rows.rate, self._randomness",
            "self._rows.sample(2 * paid.rows.rate, self._randomness",
        ),
    ),
    *changed(
        "oracles/central.py",
        "attacks/test_objective_audit.py recipes/test_two_stage.py",
        (
            "a perturbed objective forgets kappa",
            "sensitivity = self.priced.budget.kappa * question.clip.norm",
            "sensitivity = question.clip.norm",
        ),
        (
            "an offset that was not priced",
            "if ask.noise is not Noise.OBJECTIVE or offset > cost.offset * (1 + 1e-12):",
            "if ask.noise is not Noise.OBJECTIVE:",
        ),
    ),
    *changed(
        "oracles/central.py",
        "attacks/test_teacher_audit.py",
        ("half of the noise of an estimate", "scale = sensitivity / strength", "scale = sensitivity / strength / 2"),
    ),
    *changed(
        "oracles/till.py",
        CENTRAL,
        ("one turn too many", "if turn >= ask.times:", "if turn > ask.times:"),
        ("turns are not counted", "self._used[name] = turn + 1", "self._used[name] = turn"),
        ("the order of a plan is not enforced", "if self.plan.order and self.plan.order[step] != name:", "if False:"),
        ("a branch is taken early", "if any(self._used[a.name] < a.times for a in self.plan.asks):", "if False:"),
    ),
    *changed(
        "oracles/measure.py",
        CENTRAL,
        (
            "a sum's norm forgets kappa",
            "return min(2 * self.norm if self.pair_norm is None else self.pair_norm, per_entry)",
            "return min(self.norm if self.pair_norm is None else self.pair_norm, per_entry)",
        ),
        (
            "a sum's entries forget kappa",
            "return 2 * self.entry if self.pair_entry is None else self.pair_entry",
            "return self.entry if self.pair_entry is None else self.pair_entry",
        ),
        (
            "two rows of squares move like one",
            "pair_norm=math.sqrt(2) * norm, pair_entry=entry)",
            "pair_norm=math.sqrt(0.5) * norm, pair_entry=entry)",
        ),
        (
            "half of a row of squares",
            "norm = float(rows.coordinate_bounds.max()) * rows.norm_bound",
            "norm = 0.5 * float(rows.coordinate_bounds.max()) * rows.norm_bound",
        ),
        (
            "half of the bound of entries by slopes",
            "entry = np.minimum(entry, clip.slope * rows.coordinate_bounds)",
            "entry = np.minimum(entry, 0.5 * clip.slope * rows.coordinate_bounds)",
        ),
        (
            "half of the bound of entries by columns",
            "entry = np.minimum(entry, clip.columns)",
            "entry = np.minimum(entry, 0.5 * clip.columns)",
        ),
        (
            "half of the norm of a gradient",
            "return Reach(clip.norm, entry if support is None else entry[support])",
            "return Reach(0.5 * clip.norm, entry if support is None else entry[support])",
        ),
        (
            "half of the norm of a change",
            "reach = Reach(question.change, np.full(facts.dimension, question.change))",
            "reach = Reach(0.5 * question.change, np.full(facts.dimension, question.change))",
        ),
        (
            "a coordinate is released twice",
            "            _each_once(question.support, facts.dimension)\n",
            "            pass\n",
        ),
        (
            "squares are asked of a sample",
            "if chosen is not None:  # its tighter bound",
            "if False:  # its tighter bound",
        ),
    ),
    *changed(
        "oracles/scores.py",
        "oracles/test_scores.py oracles/test_central.py attacks/test_frank_wolfe_audit.py",
        (
            "half of the range of magnitudes",
            "min(2 * float(head.max()), math.sqrt(2) * reach.l2(relation))",
            "min(float(head.max()), math.sqrt(2) * reach.l2(relation))",
        ),
        (
            "the norm bound of magnitudes without its root of two",
            "min(2 * float(head.max()), math.sqrt(2) * reach.l2(relation))",
            "min(2 * float(head.max()), reach.l2(relation))",
        ),
        (
            "the step of magnitudes is forgotten",
            "return abs(score.step) * min(",
            "return min(1.0, abs(score.step)) * min(",
        ),
        ("half of the range of vertices", "return 2 * float(coordinates.max())", "return float(coordinates.max())"),
        (
            "one of two greedy candidates",
            "return min(_two_largest(moves), norm * math.sqrt(_two_largest(steepest)))",
            "return min(float(moves.max()), norm * math.sqrt(_two_largest(steepest)))",
        ),
        (
            "half of the norm bound of greedy scores",
            "norm * math.sqrt(_two_largest(steepest)))",
            "0.5 * norm * math.sqrt(_two_largest(steepest)))",
        ),
        ("half of a single candidate's range", "return 2 * float(moves[0])", "return float(moves[0])"),
        (
            "gs-q without its root",
            "np.asarray(np.sqrt(H * moved**2 + 2 * _surplus(g, w, moved, H, penalty, free)))",
            "np.asarray(H * moved**2 + 2 * _surplus(g, w, moved, H, penalty, free))",
        ),
        (
            "an iterate outside its box",
            'w = proximal_step(score.w, 1.0, penalty, free) if penalty.kind == "box" else score.w',
            "w = score.w.copy()",
        ),
    ),
    *changed(
        "oracles/polish.py",
        POLISH,
        (
            "half of the bound of a residual",
            "return Reach(_bound(question.bound), np.array([question.bound]))",
            "return Reach(0.5 * _bound(question.bound), np.array([question.bound]))",
        ),
        (
            "half of the bound of column means",
            "return Reach(min(rows.norm_bound,",
            "return Reach(0.5 * min(rows.norm_bound,",
        ),
        (
            "half of the clip of a centred gradient",
            "return Reach(_bound(question.clip), np.full(",
            "return Reach(0.5 * _bound(question.clip), np.full(",
        ),
        (
            "half of a curvature",
            "np.array([rows.facts.curvature * _bound(question.norm) ** 2 / question.model.support.size])",
            "np.array([0.5 * rows.facts.curvature * _bound(question.norm) ** 2 / question.model.support.size])",
        ),
        ("two Gram matrices move like one", "pair_norm=math.sqrt(2) * norm + more,", "pair_norm=norm + more,"),
        (
            "half of a correlation",
            "return Reach(slope * min(rows.norm_bound,",
            "return Reach(0.5 * slope * min(rows.norm_bound,",
        ),
        (
            "half of the entries of a correlation",
            "bounds = np.minimum(rows.coordinate_bounds, applied) * slope",
            "bounds = 0.5 * np.minimum(rows.coordinate_bounds, applied) * slope",
        ),
        (
            "half of the range of a quantile",
            "moved = 2.0 if relation is Adjacency.REPLACE_ONE else 2 *",
            "moved = 1.0 if relation is Adjacency.REPLACE_ONE else 1 *",
        ),
        (
            "half of the range of bins",
            "return counts, 2.0 if relation is Adjacency.REPLACE_ONE else 1.0",
            "return counts, 1.0",
        ),
        (
            "a centred gradient is not clipped",
            "yield np.clip(seen.slopes, -cap, cap)[:, None] * seen.away",
            "yield seen.slopes[:, None] * seen.away",
        ),
        (
            "a residual is not clipped",
            "yield np.clip(seen.slopes, -question.bound, question.bound)[:, None]",
            "yield seen.slopes[:, None]",
        ),
        (
            "rows of a Gram matrix are not clipped",
            "held = away * (limit / np.maximum(norms, limit))[:, None]",
            "held = away",
        ),
        (
            "a feature is released twice",
            'if support.dtype.kind != "i" or np.unique(support).size != support.size:',
            "if False:",
        ),
    ),
    *changed(
        "oracles/weighted.py",
        WEIGHTED,
        (
            "half of the norm of a weighted gradient",
            "reach = Reach(question.norm, np.full(weights.size, question.norm))",
            "reach = Reach(0.5 * question.norm, np.full(weights.size, question.norm))",
        ),
        (
            "two rows of absolute entries move like one",
            "pair_norm=math.sqrt(2) * norm, pair_entry=entry)",
            "pair_norm=math.sqrt(0.5) * norm, pair_entry=entry)",
        ),
        (
            "half of a row's size",
            "Reach(question.top, top, pair_norm=question.top, pair_entry=top)",
            "Reach(question.top / 2, top, pair_norm=question.top / 2, pair_entry=top)",
        ),
        (
            "weighted questions are asked of a sample",
            "if chosen is not None:  # bounds on pairs",
            "if False:  # bounds on pairs",
        ),
    ),
)
