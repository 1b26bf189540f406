"""Filters, bills and the ledger: costs that are not counted, refunds that are not due, a chain that does not hold."""

from .mutant import changed

FILTERS = "accounting/test_filters.py ledger/test_ledger.py"
LEDGER = "ledger/test_ledger.py"
DAMAGE = "ledger/test_damage.py ledger/test_ledger.py"
RUNS = "ledger/test_runs.py"
FORGED = "ledger/test_forged.py"
FILES = "ledger/test_files.py"
FAULTS = "ledger/test_faults.py"
SECRETS = "ledger/test_secrets.py"
POSTGRES = "ledger/test_postgres_faults.py"
FITS = "estimators/test_ledger_fits.py"
ODOMETER = "accounting/test_odometer.py"
BILLS = "accounting/test_costs.py accounting/test_filters.py"

MUTANTS = (
    *changed(
        "accounting/filters.py",
        FILTERS,
        ("costs are rounded down", "return math.ceil(cost / UNIT) if", "return math.floor(cost / UNIT) if"),
        (
            "mu is not squared",
            "return cost_units(mu * mu), slack if used else 0",
            "return cost_units(mu * mu / 2), slack if used else 0",
        ),
        (
            "a larger capacity of the Gaussian filter",
            "math.floor(gaussian_mu(epsilon, delta) ** 2 / UNIT))",
            "math.floor(1.2 * gaussian_mu(epsilon, delta) ** 2 / UNIT))",
        ),
        (
            "a larger capacity of the Renyi filter",
            "max(0, math.floor(float(room[best]) / UNIT))",
            "max(0, math.floor(1.2 * float(room[best]) / UNIT))",
        ),
        (
            "a larger capacity of the pure filter",
            "return cls(epsilon, math.floor(epsilon / UNIT))",
            "return cls(epsilon, math.floor(1.2 * epsilon / UNIT))",
        ),
        (
            "two filters with all of delta each",
            "GaussianFilter.of(epsilon, delta - 2 * aside, aside)",
            "GaussianFilter.of(epsilon, delta, aside)",
        ),
        (
            "slack is free",
            "return Charge({name: cost for name, (cost, _) in found.items()}, max(used for _, used in found.values()))",
            "return Charge({name: cost for name, (cost, _) in found.items()}, 0)",
        ),
    ),
    *changed(
        "ledger/state.py",
        FILTERS,
        (
            "an entry is not added to the totals",
            "totals = {name: self.totals[name] + cost.costs[name] for name in self.totals}",
            "totals = dict(self.totals)",
        ),
        ("slack may be overdrawn", "if not 0 <= cost.slack <= self.slack:", "if False:"),
        ("anything may take the whole", "if self.live or self.delta == 0:", "if self.delta == 0:"),
        (
            "what does not fit is let through",
            "<= f.capacity for f in self.filters)",
            "<= 2 * f.capacity for f in self.filters)",
        ),
    ),
    *changed(
        "ledger/reservation.py",
        LEDGER,
        ("a start is not written", '            self._advance("start")\n', ""),
        ("every failure is refunded", "        elif self._started:\n", "        elif False:\n"),
    ),
    *changed(
        "ledger/charging.py",
        LEDGER,
        ("adjacencies are mixed", "if bill.adjacency != state.adjacency:", "if False:"),
        (
            "a price from before the ledger changed",
            "if now.kind != priced.before.kind or now.slack < cost.slack:",
            "if False:",
        ),
        ("a budget is overspent", "if not now.fits(cost) and not (priced.whole and now.live == 0):", "if False:"),
    ),
    *changed(
        "ledger/charging.py",
        RUNS,
        (
            "a run is charged again",
            "    if event is None:\n        return None\n    body",
            "    if True:\n        return None\n    body",
        ),
        (
            "a run that was reserved meanwhile is charged again",
            "    known = _known(chain, request, content)\n    if known is not None:\n        return known\n    now",
            "    now",
        ),
        ("a started run is taken up", 'if state == "reserved" and alike', 'if state != "done" and alike'),
        (
            "a run of another cost is taken up",
            'alike and canonical_json(body["bill"]) == canonical_json(content):',
            "alike:",
        ),
    ),
    *changed(
        "ledger/state.py",
        RUNS,
        ("a refunded run is taken up", "            if taken.run is not None:\n", "            if False:\n"),
    ),
    *changed(
        "ledger/state.py",
        LEDGER,
        ("a started fit is refunded", '"refund": ("reserve",)}', '"refund": ("reserve", "start")}'),
    ),
    *changed(
        "ledger/state.py",
        FORGED,
        ("the last event is believed", "    if differs(counted[dataset], stated):", "    if False:"),
        (
            "an entry may be refunded after its end",
            "if taken.dataset != event.dataset or taken.what not in MAY_FOLLOW.get(event.what, ()):",
            "if taken.dataset != event.dataset:",
        ),
        (
            "one dataset refunds what another took",
            "if taken.dataset != event.dataset or taken.what not in MAY_FOLLOW.get(event.what, ()):",
            "if taken.what not in MAY_FOLLOW.get(event.what, ()):",
        ),
        ("costs below zero are added", "type(c) is int and c >= 0 for c in", "type(c) is int for c in"),
        ("slack is made out of nothing", "0 <= cost.slack <= started.slack else", "cost.slack <= started.slack else"),
        (
            "the first entry brings its own capacity",
            "        if before.kind is None and differs(before.counting(str(started.kind)), started):",
            "        if False:",
        ),
        (
            "a dataset is opened with any capacity",
            "wrong = event.dataset in self.states or differs(fresh, after)",
            "wrong = False",
        ),
        (
            "the head may name another last event",
            "    if (now.number, now.hash, now.ends) != (head.number, head.hash, dict(head.ends)):",
            "    if (now.number, now.hash) != (head.number, head.hash):",
        ),
        (
            "what is remembered of one copy is believed of another",
            "    if known is None or not chain.holds(known.number, known.hash):",
            "    if known is None:",
        ),
        (
            "an event may stand anywhere",
            "        if event.number != self.number + 1 or event.previous != self.hash:",
            "        if False:",
        ),
    ),
    *changed(
        "ledger/ledger.py",
        LEDGER,
        ("a budget is set anew", "if name in head.ends:", "if False:"),
    ),
    *changed(
        "ledger/ledger.py",
        "ledger/test_names.py",
        ("names that look alike are two budgets", "            refuse_likeness(name, head.ends)\n", ""),
    ),
    *changed(
        "ledger/names.py",
        "ledger/test_names.py",
        ("names are not composed", 'unicodedata.normalize("NFC", given).strip()', "given.strip()"),
        ("names are not trimmed", 'unicodedata.normalize("NFC", given).strip()', 'unicodedata.normalize("NFC", given)'),
        ("case makes a budget", 'unicodedata.normalize("NFKC", name).casefold()', "name"),
    ),
    *changed(
        "ledger/chain.py",
        DAMAGE,
        ("the head's seal is not compared", "            sealed = head.seal() == seal", "            sealed = True"),
        ("a changed end is built on", "        if not agrees or witness != head.number:", "        if False:"),
        ("the header is not compared", "        if not agrees or witness != head.number:", "        if not agrees:"),
        (
            "the last event of a dataset is not compared",
            "        if event is None or (event.number, event.dataset) != (number, dataset) or not event.intact:",
            "        if event is None:",
        ),
        (
            "missing events are not missed",
            "            if event.number != place or not event.intact:",
            "            if False:",
        ),
        ("a cut end of the events is not missed", "        if place != number:", "        if False:"),
        (
            "the head forgets the last events",
            "        ends = {**self.ends, event.dataset: event.number} if event.dataset else self.ends",
            "        ends = {event.dataset: event.number, **self.ends} if event.dataset else self.ends",
        ),
        (
            "an event may refer to nothing",
            "previous, digest(number, dataset, entry, what, text, previous))",
            "previous, digest(number, dataset, entry, what, text, NOTHING))",
        ),
    ),
    *changed(
        "ledger/entries.py",
        DAMAGE,
        (
            "entries need not add up",
            "    if (totals, slack, len(live)) != (dict(state.totals), state.slack, state.live):",
            "    if False:",
        ),
    ),
    *changed(
        "ledger/check.py",
        DAMAGE,
        (
            "verify takes prices below their bills",
            "        if fresh[name] - value > TOLERANCE * value + 10:",
            "        if value - fresh[name] > TOLERANCE * value + 10:",
        ),
        (
            "verify refuses prices above their bills",
            "        if fresh[name] - value > TOLERANCE * value + 10:",
            "        if abs(fresh[name] - value) > TOLERANCE * value + 10:",
        ),
        ("verify takes prices below their bills by a ten-thousandth", "TOLERANCE = 1e-6", "TOLERANCE = 1e-4"),
        (
            "verify does not compare last events",
            "    if not found and {e.dataset: e.number for e in events if e.dataset} != dict(head.ends):",
            "    if False:",
        ),
        (
            "verify does not compare identities",
            '    if not found and events and events[0].read().get("ledger") != head.ledger:',
            "    if False:",
        ),
    ),
    *changed(
        "ledger/sqlite.py",
        DAMAGE,
        ("dropped guards are not missed", "        if made != set(SCHEMA):", "        if False:"),
    ),
    *changed(
        "ledger/sqlite.py",
        FILES,
        ("devices are opened", "        if not stat.S_ISREG(found.st_mode):", "        if False:"),
    ),
    *changed(
        "ledger/sqlite.py",
        FAULTS,
        (
            "a commit that failed is said to have left nothing",
            "LedgerNotWrittenError(str(failure), self._left(appended), appended.number)",
            'LedgerNotWrittenError(str(failure), "nothing", appended.number)',
        ),
    ),
    *changed(
        "ledger/reservation.py",
        FAULTS,
        (
            "an entry that could not be refunded is not named",
            'f"Entry {self.entry} could not be refunded and counts as spent. ({failure})"',
            '"Nothing was reserved."',
        ),
    ),
    *changed(
        "ledger/postgres.py",
        POSTGRES,
        (
            "a commit without an answer is done again",
            '                if left == "event":\n',
            "                if False:\n",
        ),
        ("an unknown commit is done again", '                if left == "unknown":\n', "                if False:\n"),
        (
            "a lost transaction is not waited for",
            '        connection.execute(f"SELECT number FROM {HEAD} FOR UPDATE")\n',
            "",
        ),
        ("isolation is the server's", '    "SET TRANSACTION ISOLATION LEVEL READ COMMITTED",\n', ""),
    ),
    *changed(
        "ledger/address.py",
        SECRETS,
        ("the password stays in the address", "if name in SECRETS:", "if False:"),
        ("a secret is shown", '        return "..."', "        return str(self._text)"),
        ("a secret is pickled", "return Secret, (None,)", "return Secret, (self._text,)"),
        (
            "secrets are pickled with their address",
            '"shown": self.shown, "secrets": {},',
            '"shown": self.shown, "secrets": {k: v.reveal() for k, v in self.secrets.items()},',
        ),
        (
            "addresses are quoted",
            'f"this is not the address of a ledger. {known}',
            'f"{text} is not the address of a ledger. {known}',
        ),
        ("what may be half a password is a database", "(?P<database>[^@/?#]*)", "(?P<database>[^?#]*)"),
    ),
    *changed(
        "ledger/postgres.py",
        SECRETS,
        (
            "the driver's words are passed on",
            "        if any(secret.within(said) for secret in self._address.secrets.values()):",
            "        if False:",
        ),
    ),
    *changed(
        "ledger/argument.py",
        SECRETS,
        ("an address stays in the estimator", "_kept(value) if isinstance(value, str) else value", "value"),
    ),
    *changed(
        "ledger/citation.py",
        "ledger/test_citations.py",
        ("another ledger answers", '    if cited["ledger"] != head.ledger:', "    if False:"),
        ("an entry that was refunded paid", "            if not entry.counts:", "            if False:"),
        (
            "the cited head may be anything",
            'or place.get(cited["head"], 0) < number:',
            "or False:",
        ),
        ("the cited hash may be anything", 'if place.get(cited["entry_hash"]) != number or', "if False or"),
    ),
    *changed(
        "accounting/odometer.py",
        ODOMETER,
        ("every level has all of delta", "delta / (WEIGHTS * (1 + abs(k)) ** 2)", "delta"),
        ("the first entry has all of delta", "taken.first(FIRST * delta)", "taken.first(delta)"),
        ("the price of the first entry for all", "        if taken.count == 1:", "        if True:"),
        ("slack is not read", "    if taken.slack > SLACK * delta:", "    if False:"),
        (
            "all orders at once",
            "return bool(taken.renyi[best] <= room[best])",
            "return bool(np.any(taken.renyi <= room))",
        ),
        ("the weights of levels are halved", "WEIGHTS = math.pi**2 / 3 - 1", "WEIGHTS = (math.pi**2 / 3 - 1) / 2"),
    ),
    *changed(
        "accounting/domination.py",
        BILLS,
        (
            "a Gaussian that does not dominate between the points",
            "return bool(np.all(bounds <= gauss + room) and np.all(chord <= tangent + room))",
            "return bool(np.all(bounds[::40] <= gauss[::40] + room))",
        ),
        ("a Gaussian of nine tenths", "found = high * SAFETY", "found = 0.9 * high"),
    ),
    *changed(
        "accounting/sampled_renyi.py",
        BILLS,
        ("sampled divergences are counted once", "return count * log_moments", "return log_moments"),
        (
            "the tail of a sampled divergence is dropped",
            "return np.asarray(np.logaddexp(inside, _log_tail(pair, float(x[-1]), orders)))",
            "return np.asarray(inside)",
        ),
        ("sampled losses are moved down", "mass[1:] += p[1:-1] * part", "mass[:-1] += p[1:-1] * part"),
    ),
    *changed(
        "accounting/costs/sum.py",
        BILLS,
        (
            "only the dearest part is billed",
            "return np.asarray(sum(p.renyi(orders) for p in self.parts))",
            "return np.asarray(np.max([p.renyi(orders) for p in self.parts], axis=0))",
        ),
        ("the first part's draws are billed", "costs = reduce(TurnCosts.then, known)", "costs = known[0]"),
    ),
    *changed(
        "fitting/session.py",
        FITS,
        ("a session does not name its run to the ledger", "run_id=payer.run_id,", "run_id=None,"),
    ),
    *changed(
        "fitting/fit.py",
        FITS,
        (
            "a fit cites the head before its end",
            "stated = charged_to(fitted.statement, opened.payment)",
            "stated = fitted.statement",
        ),
    ),
    *changed(
        "fitting/prepare.py",
        FITS,
        ("what cannot be saved is paid for", "        request.check_storable()\n", "        pass\n"),
    ),
    *changed(
        "ledger/payment.py",
        FITS,
        ("a part's own run is dropped", 'for name in ("label", "run_id"))', 'for name in ("label",))'),
        (
            "a run without a ledger is nobody's",
            "    if run_id is not None:\n        raise LedgerError",
            "    if run_id is None:\n        raise LedgerError",
        ),
    ),
    *changed(
        "ledger/cited.py",
        "report/test_verdict.py",
        (
            "an entry of a seeded fit answers for a private model",
            "if self.statement.private and is_seeded(entry.label):",
            "if not self.statement.private and is_seeded(entry.label):",
        ),
    ),
    *changed(
        "ledger/payment.py",
        "report/test_verdict.py",
        ("a seed is not noted", "label = seeded_label(label) if seeded else label", "label = label"),
        ("a label imitates a seed", "        own_label(label)\n", "        label\n"),
    ),
    *changed(
        "ledger/charging.py",
        "ledger/test_runs.py",
        ("a seeded run takes up what another reserved", 'state == "reserved" and alike and', 'state == "reserved" and'),
    ),
)
