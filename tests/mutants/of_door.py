"""The door: values that speak, labels that stop a fit, refusals that come too late or quote a cell."""

from .mutant import changed

DOOR = "usability/test_silent_door.py"
SOURCE = "rows/test_source.py usability/test_silent_door.py"
REHEARSAL = "fitting/test_rehearse.py"
ONE_RECORD = "laws/test_one_record.py"

MUTANTS = (
    *changed(
        "fitting/trial.py",
        REHEARSAL,
        ("nothing is rehearsed", "    solver, plan = plan_again(prepared)\n", "    return\n"),
        ("plans may differ", "    if plan_text(plan) != plan_text(prepared.plan):", "    if False:"),
        (
            "results may differ",
            "        if not _same(told, _run(trial, draft, rows, tape.replay, law)):",
            "        if False:",
        ),
        ("rows are not exchanged", '(("replay", first), ("swap", second))', '(("replay", first), ("swap", first))'),
        ("nothing is replayed", '(("replay", first), ("swap", second))', "()"),
        ("oracles may be kept", "    if tape.kept:", "    if False:"),
    ),
    *changed(
        "fitting/statement.py",
        REHEARSAL,
        (
            "recipes of others go unsaid",
            "    if prepared.recipe.private and not built_in(prepared.recipe):",
            "    if False:",
        ),
        (
            "losses of others go unsaid",
            "    if prepared.recipe.private and user_defined(prepared.loss):",
            "    if False:",
        ),
    ),
    *changed(
        "fitting/statement.py",
        "laws/test_statement_laws.py",
        ("a statement says the mu of a plan without sampling", "said.mu <= LOOSEST_MU * same", "True"),
        ("a statement says the rho of a plan without sampling", "said.rho <= LOOSEST_RHO * same**2 / 2", "True"),
        (
            "a selection states no mu",
            "LOOSEST_MU = 1.01 * math.sqrt(math.pi / 2)",
            "LOOSEST_MU = 0.51 * math.sqrt(math.pi / 2)",
        ),
        ("a rho of half is the most that is stated", "LOOSEST_RHO = 1.1", "LOOSEST_RHO = 0.55"),
    ),
    *changed(
        "fitting/statement.py",
        "usability/test_leaky_habits.py",
        (
            "a void statement claims privacy",
            "replace(statement, private=False, caveats=",
            "replace(statement, caveats=",
        ),
    ),
    *changed(
        "estimators/repeated_fits.py",
        "usability/test_leaky_habits.py",
        ("fits of clones are not counted", "self.fits.append((shape, FitCost.of(prepared)))", "pass"),
        ("the fit on all rows is no repetition", "self.repeated = self.repeated or any(", "self.repeated = any("),
        (
            "half of what fits cost together",
            "found = [math.fsum(cost.epsilon for cost in costs)]",
            "found = [math.fsum(cost.epsilon for cost in costs) / 8]",
        ),
    ),
    *changed(
        "estimators/linear.py",
        "fitting/test_statement.py",
        (
            "what made the rows goes unsaid",
            "        if carried is None and source.unread is None and request.recipe.private:",
            "        if False:",
        ),
    ),
    *changed("fitting/fit.py", REHEARSAL, ("fits are not rehearsed", "    trial_run(prepared)\n", "")),
    *changed(
        "estimators/steps/pipeline.py",
        REHEARSAL,
        ("pipelines rehearse too late", "            trial_run(prepared)\n", "            pass\n"),
    ),
    *changed(
        "estimators/search/search.py",
        REHEARSAL,
        (
            "searches rehearse too late",
            "trial_run(self.prepare_candidate(parameters, plan, data.shape, data))",
            "self.prepare_candidate(parameters, plan, data.shape, data)",
        ),
        ("a space may hold rows", '        refuse_rows_brought("the search", self.param_distributions, X, y)\n', ""),
    ),
    *changed(
        "fitting/run.py",
        REHEARSAL,
        (
            "foreign solvers get the oracle itself",
            "    doors = GuardedOracle(oracle)\n    w = np.array(prepared.solver.run(doors, path), dtype=float)",
            "    doors = GuardedOracle(oracle)\n    w = np.array(prepared.solver.run(oracle, path), dtype=float)",
        ),
        ("peeks are forgotten", "    refuse_violations(doors)\n", ""),
        ("any shape will do", "    if w.shape != (prepared.facts.dimension,):", "    if False:"),
    ),
    *changed(
        "oracles/guarded.py",
        REHEARSAL,
        (
            "questions are passed on as they are",
            "        return self.__inner.answer(copy_question(question), ask)",
            "        return self.__inner.answer(question, ask)",
        ),
        (
            "subclasses are parts of questions",
            "    if kind in PARTS:\n",
            "    if kind in PARTS or kind.__base__ in PARTS:\n",
        ),
        (
            "numbers may be of any kind",
            "    if kind in COPIES:\n",
            "    kind = kind if kind in COPIES else kind.__base__\n    if kind in COPIES:\n",
        ),
        (
            "facts are those of the oracle",
            "        self.facts = copy_facts(inner.facts)",
            "        self.facts = inner.facts",
        ),
        (
            "plans are those of the oracle",
            "            self.__plans = now, copy.deepcopy(now)",
            "            self.__plans = now, now",
        ),
    ),
    *changed(
        "fitting/user_recipes.py",
        REHEARSAL,
        (
            "a plan prices itself",
            "        plain = read_plan(json.loads(plan_text(plan)))",
            "        plain = plan if plan_text(plan) else plan",
        ),
        ("a law may be declared", "        if ask.law is not None:", "        if False:"),
        (
            "a law of a branch may be declared",
            "    for _, branch in plan.branches:\n        _refuse_laws(recipe, branch)\n",
            "",
        ),
        ("a view may change anything", "        if field.name not in SHOWN and", "        if False and"),
        (
            "facts may be of any kind",
            "(type(shown) is not Facts or not _same(before, after))",
            "not _same(before, after)",
        ),
        ("rows may be brought", "            if value is data or any(", "            if False and any("),
        ("views of rows may be brought", "any(_overlap(a, b) for a in arrays(value) for b in memory)", "False"),
        (
            "closures are not searched",
            '            yield f"variable {variable!r} of {name}", cell.cell_contents',
            "            cell.cell_contents",
        ),
        ("globals are not searched", "        if variable in function.__globals__:", "        if False:"),
    ),
    *changed(
        "estimators/linear.py",
        REHEARSAL,
        ("recipes may bring rows", "        if not built_in(request.recipe):", "        if False:"),
        ("losses may bring rows", "        if user_defined(request.loss):", "        if False:"),
    ),
    *changed(
        "recipes/__init__.py",
        REHEARSAL,
        (
            "a subclass of ours is ours",
            "    return type(recipe) in OWN or type(recipe) is Auto",
            "    return isinstance(recipe, OWN) or type(recipe) is Auto",
        ),
    ),
    *changed(
        "rows/records.py",
        SOURCE,
        ("warnings pass the door", '        warnings.simplefilter("ignore")\n', ""),
        (
            "one text makes texts of all cells",
            "                array = _objects(X)\n        except",
            "                pass\n        except",
        ),
        ("numbers that overflow are no targets", "np.clip(found - center, -largest, largest)", "found - center"),
    ),
    *changed(
        "rows/records.py",
        ONE_RECORD,
        (
            "one cell that numpy cannot store stops a table",
            "quote a cell\n            array = _objects(X)\n",
            "quote a cell\n            array = np.array(None)\n",
        ),
        (
            "labels are compared as numpy rounds them",
            "    return stored if stored == label else None\n",
            "    return label\n",
        ),
    ),
    *changed(
        "estimators/input_checks.py",
        ONE_RECORD,
        ("one missing label rounds the others", "not np.any(np.abs(found) >= ROUNDED_FROM)", "True"),
    ),
    *changed(
        "io/tabular.py",
        ONE_RECORD,
        ("a byte that is no UTF-8 stops a file", '"surrogateescape" if header else "replace"', '"strict"'),
        ("a long cell stops a file", "usual = csv.field_size_limit(CSV_BLOCK)", "usual = csv.field_size_limit()"),
    ),
    *changed(
        "io/svmlight.py",
        ONE_RECORD,
        (
            "a plus before a minus is cut off",
            "    if not _BEHIND_PLUS[targets[signed, 1]].all():",
            "    if False:",
        ),
        ("a file without a usable record is told", "    if n_features is not None:  #", "    if False:  #"),
    ),
    *changed(
        "estimators/steps/row_map.py",
        ONE_RECORD,
        (
            "rows that fail are left out of their group",
            "        found = self.alone(some_rows(X, chosen))\n",
            "        found = self.step.transform(X)\n",
        ),
        (
            "every step takes all rows at once",
            "size = steady_rows(step, X, fitted=fitted) or (1 if alone else max(count, 1))",
            "size = max(count, 1)",
        ),
        (
            "a row of another record stays in the place of one that failed",
            "        rows = np.where(absent[:, None], np.nan, rows)\n",
            "",
        ),
    ),
    *changed(
        "rows/missing.py",
        DOOR,
        ("missing values are never refused", "if has_missing(source, targets):", "if False:"),
    ),
    *changed(
        "estimators/linear.py",
        DOOR,
        ("a foreign label is refused", "targets.coded if request.classes is None else np.zeros(0)", "targets.coded"),
        ("missing values are refused unasked", 'if request.on_missing == "refuse":', "if True:"),
    ),
    *changed(
        "estimators/input_checks.py",
        DOOR,
        (
            "no rows are told where their number is private",
            "if source.shape[0] == 0 and adjacency is not Adjacency.ADD_REMOVE:",
            "if source.shape[0] == 0:",
        ),
    ),
    *changed(
        "fitting/statement.py",
        DOOR,
        ("no statement tells of refusals", 'return (NOT_COVERED,) if on_missing == "refuse" else ()', "return ()"),
    ),
    *changed(
        "estimators/steps/pipeline.py",
        DOOR,
        (
            "a pipeline pays before it refuses",
            "            self._read_rows(source, y)\n",
            "            pass\n",
        ),
    ),
    *changed(
        "estimators/steps/row_map.py",
        DOOR,
        (
            "a foreign step is quoted",
            '    raise DataError(\n        f"step',
            '    raise DataError(\n        f"{runs.error} step',
        ),
    ),
)
