"""Oracles, hosts and answers: what is charged, how far a record can move an answer, and what leaves the room."""

from .mutant import changed

CENTRAL = "oracles/test_central.py"
GATE = "laws/test_one_gate.py"
POLISH = "oracles/test_polish.py"
WEIGHTED = "oracles/test_weighted.py"
FRAMED = "oracles/test_framed.py"

MUTANTS = (
    *changed(
        "oracles/central.py",
        CENTRAL,
        ("excluded candidates are selected", "keep[question.excluded] = False", "keep[question.excluded] = True"),
        (
            "vectors are released without noise",
            "        return lattice_gaussian(total, scale, self._randomness)",
            "        return total.astype(float)",
        ),
    ),
    *changed(
        "oracles/central.py",
        "oracles/test_release.py",
        (
            "noise that is drawn aside is other noise",
            "        noise = run_in_thread(",
            "        self._randomness.generator()\n        noise = run_in_thread(",
        ),
    ),
    *changed(
        "queries/sensitivity.py",
        "oracles/test_release.py",
        ("large sums are divided as floats", ") < 2**53:", ") < 2**63:"),
        ("sums are rounded down", "np.asarray(self.coarse) // 2", "np.asarray(self.coarse) * 0"),
    ),
    *changed(
        "queries/table.py",
        "oracles/test_release.py laws/test_one_gate.py",
        (
            "weights that changed in place are measured by the old ones",
            "tuple(np.copy(v) if isinstance(v, np.ndarray) else v for v in parts)",
            "parts",
        ),
        ("a measure is kept whatever is asked", "all(map(_same, self._last[1], parts))", "True"),
    ),
    *changed(
        "oracles/noise_info.py",
        CENTRAL,
        (
            "the rounding of sums is not counted",
            "return measured.reach.l2(relation) + records * measured.step_norm",
            "return measured.reach.l2(relation)",
        ),
        (
            "the rounding of sums with Laplace noise is not counted",
            "return measured.reach.l1(relation) + float(steps.sum())",
            "return measured.reach.l1(relation)",
        ),
        (
            "Laplace noise for the l2 sensitivity",
            "return measured.reach.l1(relation) + float(steps.sum())",
            "return measured.reach.l2(relation) + float(steps.sum())",
        ),
    ),
    *changed(
        "oracles/noise_info.py",
        "attacks/test_sampling_audit.py oracles/test_central.py",
        (
            "the rounding of a sampled sum is counted for one record",
            "records = 1 if sample_rate(ask) is None else relation.kappa",
            "records = 1",
        ),
        (
            "sums of a sample are divided by all rows",
            "return self.priced.cost(ask, turn).sampling_rate * self.lattice.facts.n_rows",
            "return float(self.lattice.facts.n_rows)",
        ),
    ),
    *changed(
        "queries/contrast.py",
        GATE,
        (
            "contrasts have no release step",
            "np.maximum(1, np.floor(widths * units / RELEASE_UNITS))",
            "np.ones(widths.size)",
        ),
    ),
    *changed(
        "queries/correlation.py",
        GATE,
        ("correlations have no release step", "max(1, int(limit * units / RELEASE_UNITS))", "1"),
    ),
    *changed(
        "core/facts.py",
        GATE,
        ("clips that floats cannot square", "            if not in_range(value):", "            if False:"),
        ("clips of columns that floats cannot square", "if not in_range(self.columns):", "if False:"),
    ),
    *changed(
        "queries/sensitivity.py",
        CENTRAL,
        (
            "a sum's norm forgets kappa",
            "return min(2 * self.norm if self.pair_norm is None else self.pair_norm, self._pair_entries)",
            "return min(self.norm if self.pair_norm is None else self.pair_norm, self._pair_entries)",
        ),
        (
            "a sum's entries forget kappa",
            "return 2 * self.entry if self.pair_entry is None else self.pair_entry",
            "return self.entry if self.pair_entry is None else self.pair_entry",
        ),
        (
            "a coordinate is released twice",
            "if not fits or (not rises and np.unique(support).size != support.size):",
            "if False:",
        ),
    ),
    *changed(
        "queries/gradient.py",
        "oracles/test_central.py rows/test_rows.py",
        (
            "half of the bound of entries by slopes",
            "entry = np.minimum(entry, clip.slope * lattice.coordinate_bounds)",
            "entry = np.minimum(entry, 0.5 * clip.slope * lattice.coordinate_bounds)",
        ),
        (
            "half of the bound of entries by columns",
            "entry = np.minimum(entry, clip.columns)",
            "entry = np.minimum(entry, 0.5 * clip.columns)",
        ),
        (
            "half of the norm of a gradient",
            "return Sensitivity(clip.norm, entry if support is None else entry[support])",
            "return Sensitivity(0.5 * clip.norm, entry if support is None else entry[support])",
        ),
        (
            "half of the norm of a change",
            "reach = Sensitivity(question.change, np.full(lattice.facts.dimension, question.change))",
            "reach = Sensitivity(0.5 * question.change, np.full(lattice.facts.dimension, question.change))",
        ),
        (
            "gradients are not clipped",
            "return np.clip(np.trunc(slope / step(lattice, clip)), -cap, cap)",
            "return np.trunc(slope / step(lattice, clip))",
        ),
        (
            "gradients are clipped at twice their norm",
            "most = np.minimum(units / np.sqrt(np.maximum(block.squares, 1.0)),",
            "most = np.minimum(2 * units / np.sqrt(np.maximum(block.squares, 1.0)),",
        ),
        (
            "entries are clipped at twice their bound",
            "entry / np.maximum(block.largest, 1.0))",
            "2 * entry / np.maximum(block.largest, 1.0))",
        ),
        (
            "slopes are clipped at twice their bound",
            "most = np.minimum(most, clip.slope / step(lattice, clip))",
            "most = np.minimum(most, 2 * clip.slope / step(lattice, clip))",
        ),
        (
            "columns are clipped at twice their bound",
            "limits = np.floor(clip.columns / (clip.norm / lattice.record_units))",
            "limits = np.floor(2 * clip.columns / (clip.norm / lattice.record_units))",
        ),
        (
            "changes are clipped at twice their norm",
            "lattice, limit = shard.lattice, Clip(question.change)",
            "lattice, limit = shard.lattice, Clip(2 * question.change)",
        ),
        (
            "a sum of another clip is remembered",
            "if memory is None or memory.clip != clip or memory.loss != repr(loss):",
            "if memory is None:",
        ),
        (
            "a mended sum keeps the old rows",
            "                _contribute(changed, lattice, -old[rows], clip, None, total)  # clips are symmetric\n",
            "",
        ),
        (
            "factors are rounded away from zero",
            "return np.clip(np.trunc(slope / step(lattice, clip)), -cap, cap)",
            "return np.clip(np.rint(slope / step(lattice, clip)), -cap - 1, cap + 1)",
        ),
    ),
    *changed(
        "queries/scores.py",
        "oracles/test_scores.py oracles/test_central.py attacks/test_frank_wolfe_audit.py",
        (
            "half of the range of magnitudes",
            "min(2 * float(head.max()), math.sqrt(2) * norm)",
            "min(float(head.max()), math.sqrt(2) * norm)",
        ),
        (
            "the norm bound of magnitudes without its root of two",
            "min(2 * float(head.max()), math.sqrt(2) * norm)",
            "min(2 * float(head.max()), norm)",
        ),
        (
            "the step of magnitudes is forgotten",
            "return abs(score.step) * min(",
            "return min(1.0, abs(score.step)) * min(",
        ),
        ("half of the range of vertices", "return 2 * float(moves.max())", "return float(moves.max())"),
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
            'w = proximal_step(start, 1.0, penalty, free) if penalty.kind == "box" else start',
            "w = start",
        ),
    ),
    *changed(
        "queries/scores.py",
        "oracles/test_scores.py",
        (
            "a large base is not in the rounding of scores",
            "return base + abs(score.step) * largest",
            "return abs(score.step) * largest",
        ),
    ),
    *changed(
        "queries/polish.py",
        POLISH,
        ("two Gram matrices move like one", "pair_norm=math.sqrt(2) * square,", "pair_norm=square,"),
        (
            "a centred gradient is not clipped",
            "yield np.clip(view.slopes, -cap, cap)[:, None] * view.away",
            "yield view.slopes[:, None] * view.away",
        ),
        (
            "rows of a Gram matrix are not clipped",
            "yield centred * (limit / np.maximum(norms, limit))[:, None]",
            "yield centred",
        ),
    ),
    *changed(
        "queries/correlation.py",
        POLISH,
        (
            "half of a correlation",
            "reach = Sensitivity(slope * min(lattice.norm_bound,",
            "reach = Sensitivity(0.5 * slope * min(lattice.norm_bound,",
        ),
        (
            "half of the entries of a correlation",
            "bounds = np.minimum(lattice.coordinate_bounds, applied) * slope",
            "bounds = 0.5 * np.minimum(lattice.coordinate_bounds, applied) * slope",
        ),
    ),
    *changed(
        "queries/contrast.py",
        POLISH,
        (
            "half of a contrast",
            "reach = Sensitivity(slope * math.sqrt(low.size), np.r_[np.full(low.size, slope),",
            "reach = Sensitivity(slope * math.sqrt(low.size), np.r_[np.full(low.size, 0.5 * slope),",
        ),
        ("factors of a contrast are not clipped", "units)), -units, units)", "units)), -2 * units, 2 * units)"),
    ),
    *changed(
        "rows/kernels/plain.py",
        POLISH,
        (
            "entries of a contrast are not clipped",
            "total += factor[piece] @ (np.clip(shown, low, high) - low)",
            "total += factor[piece] @ (shown - low)",
        ),
    ),
    *changed(
        "queries/choices.py",
        POLISH,
        (
            "half of the range of a quantile",
            "return 2.0 if relation is Adjacency.REPLACE_ONE else 2 * max(",
            "return 1.0 if relation is Adjacency.REPLACE_ONE else 1 * max(",
        ),
        (
            "a record counts twice in the scores of a quantile",
            "-LARGEST) / PARTS for below, above",
            "-LARGEST) * 2 / PARTS for below, above",
        ),
        (
            "half of the range of bins",
            "return 2.0 if relation is Adjacency.REPLACE_ONE else 1.0",
            "return 1.0",
        ),
    ),
    *changed(
        "queries/framed.py",
        FRAMED,
        (
            "half of the clip of a framed gradient",
            "reach = Sensitivity(check_bound(question.clip), np.full(",
            "reach = Sensitivity(0.5 * check_bound(question.clip), np.full(",
        ),
        (
            "a frame may hold a feature twice",
            'check_support(frame.support, lattice.facts.n_features, "features")',
            "pass",
        ),
    ),
    *changed(
        "rows/frames.py",
        FRAMED,
        (
            "framed gradients are clipped at twice their norm",
            "found = np.floor(self.on.lattice.record_units / np.sqrt(",
            "found = np.floor(2 * self.on.lattice.record_units / np.sqrt(",
        ),
        (
            "the constant of a frame does not count in norms",
            'np.einsum("ij,ij->i", mapped, mapped) + on.height**2',
            'np.einsum("ij,ij->i", mapped, mapped)',
        ),
        (
            "products of a frame are not whole numbers",
            "else np.rint(found / self._step)",
            "else found / self._step",
        ),
        ("framed rows are not whole numbers", "            np.rint(mapped, out=mapped)\n", ""),
        (
            "squares of framed rows are beyond what floats hold",
            "SQUARE_BITS = 50",
            "SQUARE_BITS = 60",
        ),
    ),
    *changed(
        "queries/weighted.py",
        WEIGHTED,
        (
            "half of the norm of a weighted gradient",
            "reach = Sensitivity(question.norm, np.full(weights.size, question.norm))",
            "reach = Sensitivity(0.5 * question.norm, np.full(weights.size, question.norm))",
        ),
        (
            "weighted gradients are clipped at twice their norm",
            "room = norm / (unit * np.sqrt(square))",
            "room = 2 * norm / (unit * np.sqrt(square))",
        ),
        (
            "two rows of absolute entries move like one",
            "entry = lattice.norm_bound, lattice.coordinate_bounds[: lattice.facts.n_features]\n    reach = Sensitivity(norm, entry, pair_norm=math.sqrt(2) * norm,",
            "entry = lattice.norm_bound, lattice.coordinate_bounds[: lattice.facts.n_features]\n    reach = Sensitivity(norm, entry, pair_norm=math.sqrt(0.5) * norm,",
        ),
    ),
    *changed(
        "queries/weighted.py",
        CENTRAL,
        (
            "two rows of squares move like one",
            "norm = float(lattice.coordinate_bounds.max()) * lattice.norm_bound\n    reach = Sensitivity(norm, entry, pair_norm=math.sqrt(2) * norm,",
            "norm = float(lattice.coordinate_bounds.max()) * lattice.norm_bound\n    reach = Sensitivity(norm, entry, pair_norm=math.sqrt(0.5) * norm,",
        ),
        (
            "half of a row of squares",
            "norm = float(lattice.coordinate_bounds.max()) * lattice.norm_bound",
            "norm = 0.5 * float(lattice.coordinate_bounds.max()) * lattice.norm_bound",
        ),
        (
            "squares are asked of a sample",
            "SUMS[MeanSquares] = SumRule(squares_measure, squares_part, squares_exact)",
            "SUMS[MeanSquares] = SumRule(squares_measure, squares_part, squares_exact, sampled=True)",
        ),
    ),
    *changed(
        "queries/weighted.py",
        "laws/test_row_laws.py oracles/test_weighted.py",
        (
            "weighted questions are asked of a sample",
            "weighted_exact, read=lambda asked:",
            "weighted_exact, sampled=True, read=lambda asked:",
        ),
    ),
    *changed(
        "queries/joint.py",
        "oracles/test_joint.py",
        (
            "half of the norm of a joint gradient",
            "reach = Sensitivity(question.norm, np.full(",
            "reach = Sensitivity(0.5 * question.norm, np.full(",
        ),
        (
            "joint gradients are clipped at twice their norm",
            "room = norm * SLACK / (",
            "room = 2 * norm * SLACK / (",
        ),
        (
            "the slopes of classes are clipped one by one",
            "return np.asarray(largest * np.sqrt(squares))",
            "return np.asarray(largest)",
        ),
        (
            "models with other numbers of coefficients are answered",
            "if w.ndim != 2 or w.shape[0] != lattice.facts.dimension or",
            "if w.ndim != 2 or",
        ),
    ),
    *changed(
        "queries/energies.py",
        "oracles/test_joint.py",
        (
            "half of a row's energy",
            "return SumSpec(Sensitivity(most, each, pair_norm=math.sqrt(2) * most, pair_entry=each)",
            "return SumSpec(Sensitivity(most / 2, each, pair_norm=most / math.sqrt(2), pair_entry=each)",
        ),
        (
            "two rows of energies move like one",
            "pair_norm=math.sqrt(2) * most",
            "pair_norm=most",
        ),
        ("buckets beyond their number are counted", "buckets.max() < count", "buckets.max() < 2 * count"),
        ("absent records have energy", "lattice.unit**2).T * block.present", "lattice.unit**2).T"),
    ),
    *changed(
        "oracles/gate.py",
        "accounting/test_repeated_stages.py",
        ("the plan of several models is run as one", "if terms.plan.models > 1:", "if terms.plan.models < 1:"),
    ),
    *changed(
        "oracles/central.py",
        "oracles/test_central.py",
        (
            "rows are looked at before the charge",
            "        charge = self.charge(question, ask)\n",
            '        _ = self._host.shards if ask == "gradient" else None\n        charge = self.charge(question, ask)\n',
        ),
        (
            "half of the noise of a sum",
            "self._noisy(charge, spec, charge.scale / spec.step)",
            "self._noisy(charge, spec, charge.scale / spec.step / 2)",
        ),
        (
            "half of the noise of a selection",
            "receipt.draws, charge.scale, self._randomness)",
            "receipt.draws, charge.scale / 2, self._randomness)",
        ),
    ),
    *changed(
        "oracles/noise_info.py",
        "oracles/test_central.py",
        (
            "a branch goes on at the price of its parent",
            "return replace(self, priced=self.priced.branch(name))",
            "return replace(self, priced=replace(self.priced.branch(name), rho_scale=2 * self.priced.rho_scale))",
        ),
    ),
    *changed(
        "oracles/central.py",
        "oracles/test_release.py",
        (
            "noise that is drawn aside is thrown away",
            "        noisy += spec.rounded(total)\n",
            "        noisy = spec.rounded(total).astype(float)\n",
        ),
    ),
    *changed(
        "queries/table.py",
        "laws/test_one_gate.py",
        ("a sum over every row takes a draw", "    if charge.sample is not None:\n", "    if False:\n"),
        (
            "a sample that was not drawn is all rows",
            "    if isinstance(charge.ask.rows, PoissonRows) is not (charge.sample is not None):\n",
            "    if False:\n",
        ),
        (
            "rows are asked with anything",
            "    if not isinstance(charge, Charge):\n        raise PrivacyError(NO_CHARGE)\n",
            "",
        ),
    ),
    *changed(
        "oracles/central.py",
        "attacks/test_sampling_audit.py oracles/test_central.py",
        (
            "sums are divided by the rows that are there",
            "noisy *= spec.step / charge.divisor",
            "noisy *= spec.step / (charge.rate * sum(shard.rows for shard in self._shards))",
        ),
    ),
    *changed(
        "oracles/gate.py",
        "attacks/test_sampling_audit.py oracles/test_central.py",
        (
            "half of a sampled step's rate is taken for its price",
            "PoissonSample(rate, self._key())",
            "PoissonSample(2 * rate, self._key())",
        ),
    ),
    *changed(
        "oracles/noise_info.py",
        "oracles/test_scores.py",
        (
            "the rounding of scores is not counted",
            "            moved += rounding(query.score, largest)\n",
            "            _ = largest\n",
        ),
    ),
    *changed(
        "oracles/noise_info.py",
        "laws/test_one_gate.py",
        ("a priced plan answers any query", "        check_query(query, ask, together=self.together)\n", ""),
        (
            "an exact oracle answers any query",
            "            check_query(query, ask, together=self.together, noisy=False)\n",
            "            pass\n",
        ),
    ),
    *changed(
        "oracles/client_updates.py",
        "laws/test_one_gate.py",
        (
            "changes of sites at any price",
            "            check_answerable(Gradient, ask, together=False, noisy=noisy)\n",
            "            _ = noisy\n",
        ),
    ),
    *changed(
        "oracles/gate.py",
        "oracles/test_central.py laws/test_one_gate.py",
        (
            "an ask answers any question",
            "if ask.question is not None and type(question).__name__ != ask.question:",
            "if False:",
        ),
        ("everything is asked of a sample", "if sample_rate(ask) is not None and not sampled:", "if False:"),
        ("statistics of rows that are apart", "if kind in STATISTICS and not together:", "if False:"),
        (
            "more is selected than was priced",
            "if count != ask.draws and NOISES[type(question)] == SELECTING:",
            "if False:",
        ),
        (
            "reports of the local model are sums of a curator",
            "if not isinstance(ask.rows, EveryRow | PoissonRows):",
            "if False:",
        ),
        ("noise of another kind of answer", "if ask.noise not in NOISES[kind] and (", "if False and ("),
    ),
    *changed(
        "queries/minimisers/objective_perturbation.py",
        "attacks/test_objective_audit.py recipes/test_two_stage.py",
        (
            "a perturbed objective counts one record",
            "sensitivity = RECORDS * question.clip.norm",
            "sensitivity = question.clip.norm",
        ),
    ),
    *changed(
        "oracles/noise_info.py",
        "attacks/test_objective_audit.py recipes/test_two_stage.py",
        ("an offset that was not priced", "if offset > cost.offset * (1 + 1e-12):", "if False:"),
    ),
    *changed(
        "queries/minimisers/estimate.py",
        "attacks/test_teacher_audit.py",
        (
            "half of the noise of an estimate",
            "return self.rounded_sensitivity / self.strength",
            "return self.rounded_sensitivity / self.strength / 2",
        ),
    ),
    *changed(
        "oracles/gate.py",
        "oracles/test_central.py",
        ("one turn too many", "if turn >= ask.times:", "if turn > ask.times:"),
        ("turns are not counted", "self._used[ask] = turn + 1", "self._used[ask] = turn"),
        ("the order of a plan is not enforced", "if plan.order and plan.order[step] != name:", "if False:"),
        ("a branch is taken early", "if any(self._used[a.name] < a.times for a in self.terms.plan.asks):", "if False:"),
    ),
    *changed(
        "oracles/gate.py",
        "laws/test_one_gate.py oracles/test_central.py",
        ("answers begin before they are paid for", "            self._payment.start()\n", "            pass\n"),
    ),
    *changed(
        "queries/minimisers/teacher.py",
        "queries/test_minimise.py queries/test_teacher.py",
        ("a bent teacher is charged", "    public.check()\n", ""),
    ),
    *changed(
        "queries/minimisers/objective_perturbation.py",
        "queries/test_minimise.py queries/test_teacher.py",
        ("a bent objective is charged", "    public.check()\n", ""),
    ),
    *changed(
        "queries/minimisers/teacher.py",
        "queries/test_teacher.py queries/test_objective_perturbation.py attacks/test_teacher_audit.py",
        ("half of the stretch of labels", "sensitivity *= math.sqrt(", "sensitivity *= 0.5 * math.sqrt("),
    ),
    *changed(
        "queries/minimisers/estimate.py",
        "queries/test_teacher.py queries/test_objective_perturbation.py attacks/test_teacher_audit.py",
        (
            "the rounding of an estimate is not counted",
            "return self.sensitivity + self.unit * math.sqrt(self.size)",
            "return self.sensitivity",
        ),
    ),
    *changed(
        "queries/minimisers/objective_perturbation.py",
        "queries/test_objective_perturbation.py attacks/test_objective_audit.py recipes/test_two_stage.py",
        (
            "half of the error of a minimum",
            "MinimiserSpec(tau, 2 * tau / public.ridge",
            "MinimiserSpec(tau, tau / public.ridge",
        ),
    ),
    *changed(
        "oracles/central.py",
        "queries/test_rowwise.py",
        ("foreign losses see all rows at once", "host, guard(loss), randomness", "host, loss, randomness"),
    ),
    *changed(
        "oracles/client_updates.py",
        "federated/test_site_privacy.py",
        ("half of the noise for whole sites", "self.priced.kappa * UNITS / charge.strength", "UNITS / charge.strength"),
    ),
    *changed(
        "oracles/local.py",
        "oracles/test_local.py",
        (
            "the whole crowd answers every turn",
            ".deal(self.facts.n_rows, groups) == charge.turn % groups",
            ".deal(self.facts.n_rows, groups) >= 0",
        ),
    ),
    *changed(
        "oracles/gate.py",
        "fitting/test_run.py estimators/test_ledger_fits.py",
        (
            "the ledger hears of an answer after it was computed",
            "        if self._payment is not None:\n            self._payment.start()\n",
            "",
        ),
    ),
    *changed(
        "queries/charge.py",
        "laws/test_one_gate.py",
        ("anybody makes charges", "if made_by is not MADE_BY_THE_GATE:", "if False:"),
    ),
    *changed(
        "queries/bounds.py",
        "queries/test_bounds.py oracles/test_polish.py oracles/test_tallies.py",
        ("half of a bound for two records", "pair = min(2 * radius, ", "pair = 0.5 * min(2 * radius, "),
        (
            "half of a bound for one record",
            "reach = Sensitivity(radius, self._far,",
            "reach = Sensitivity(radius / 2, self._far / 2,",
        ),
        (
            "half of a side for two records",
            "pair_norm=pair, pair_entry=width)",
            "pair_norm=pair, pair_entry=width / 2)",
        ),
        (
            "what a row function gives is not held",
            "whole = within.held(values) / spec.unit",
            "whole = values / spec.unit",
        ),
        ("a ball has no room for rounding", "(1.0 - (self.lower.size + 8) * 2.0**-52)", "1.0"),
        (
            "rows beyond the ball stay there",
            "inside &= _norms(values) <= self._limit",
            "inside &= _norms(values) <= 2 * self._limit",
        ),
        ("rows beyond the box stay there", "inside &= (value >= low) & (value <= high)", "inside &= value >= low"),
        ("what is no number adds nothing", "np.where(np.isnan(far), self.upper, far)", "np.nan_to_num(far)"),
    ),
    *changed(
        "queries/tallies.py",
        "oracles/test_tallies.py",
        (
            "records without a target have a loss",
            "np.where(block.present > 0, losses, 0.0)",
            "np.where(block.present >= 0, losses, 0.0)",
        ),
    ),
)
