"""Sites, servers, noise in shares, and networks."""

from .mutant import changed

SITES = "federated/test_sites_and_server.py"
WHOLE = "federated/test_site_privacy.py"
SHARES = "oracles/test_sites.py core/test_shares.py attacks/test_federated_audit.py"

LAW = "laws/test_same_release.py"

MUTANTS = (
    *changed(
        "sites/rounds/participant.py",
        LAW,
        (
            "a participant takes part in a protocol of any release",
            "        if other:\n            raise MessageError(other)\n",
            "",
        ),
    ),
    *changed(
        "sites/federated/certificate.py",
        LAW,
        ("sites of any release enrol", "        if other:\n            raise MessageError(other)\n", ""),
    ),
    *changed(
        "sites/federated/coordinator.py",
        LAW,
        ("reports of any release are taken", "        if other:\n            raise MessageError(other)\n", ""),
    ),
    *changed(
        "sites/rounds/coordinator.py",
        LAW,
        (
            "a run goes on with another release",
            '        if other:\n            raise DataError(f"{path}: {other}',
            '        if False:\n            raise DataError(f"{path}: {other}',
        ),
    ),
    *changed(
        "sites/rounds/participant.py",
        f"{SITES} local/test_memory.py local/test_device_and_server.py",
        ("a task of another run is answered", "if run != self.protocol.identity:", "if False:"),
        ("a round beyond the last", "if turn >= self.protocol.rounds or", "if"),
    ),
    *changed(
        "sites/rounds/coordinator.py",
        f"{SITES} {WHOLE} local/test_saved.py local/test_memory.py local/test_device_and_server.py",
        ("reports of another run", "if run != self.protocol.identity:", "if False:"),
        ("reports of another round", "if turn != self.round:", "if False:"),
        ("rounds with too few reports", "if self.count < self._least:", "if False:"),
        ("a server with other settings goes on", "if protocol != self.protocol.to_json():", "if False:"),
        ("how many answered is shown", '"" if self.secret else f', '"" if False else f'),
    ),
    *changed(
        "sites/federated/participant.py",
        SITES,
        ("models without noise for anybody", "if not protocol.private and trust != SERVER:", "if False:"),
        ("a site that pays nothing", "            self._payment.pay(self._store)\n", ""),
        (
            "a memory that does not know is believed",
            "if known is None or not self._begun(self.ledger, self.dataset, self.bill):",
            "if not self._begun(self.ledger, self.dataset, self.bill):",
        ),
        (
            "a site goes on with any entry of its run",
            "if known is None or not self._begun(self.ledger, self.dataset, self.bill):",
            "if known is None:",
        ),
        ("an entry of another price is taken for this one", " and canonical_json(entry.content) == own", ""),
        ("a run goes on at another price", "if known not in (None, self.price):", "if False:"),
        ("a run is noted before it is reserved and never started", "            reservation.start()\n", ""),
    ),
    *changed(
        "sites/rounds/stores.py",
        SITES,
        (
            "another task for the same round",
            "self.kept(number) if known == task.hex() else None",
            "self.kept(number)",
        ),
    ),
    *changed(
        "sites/federated/coordinator.py",
        f"{SITES} {WHOLE}",
        ("reports beyond the radius", "if not np.linalg.norm(report.change) <= self.protocol.radius:", "if False:"),
        ("a second report of a site", "if report.site in self._reports:", "if False:"),
        ("reports of sites that were not asked", "if report.site not in self._invited:", "if report.site > 99:"),
        ("reports without a certificate", "if name not in self._certificates:", "if False:"),
        (
            "a round is noted after its noise",
            "        turn, came = self.round, dict(sorted(self._reports.items()))\n",
            "        turn, came = self.round, dict(sorted(self._reports.items()))\n        self._step(self._w, turn, came)\n",
        ),
        (
            "whole sites without a state",
            "        if noise is not None:\n            if state is None:\n",
            "        if noise is not None and state is not None:\n            if False:\n",
        ),
        (
            "closed rounds of an old state are open",
            "        while self.round in closed:\n            self.round += 1\n",
            "",
        ),
        (
            "other files for the state of whole sites",
            "if self.state is not None and self.secret and not same_file(",
            "if False and not same_file(",
        ),
        ("who was asked is saved", "() if self.secret else tuple(self._invited)", "tuple(self._invited)"),
        (
            "how many answered is kept",
            "        if not self.secret:\n            self._answered",
            "        if True:\n            self._answered",
        ),
        (
            "a round is closed twice",
            'if self._marks is not None and self._marks.note(turn, b"closed") is not None:',
            'if self._marks is not None and self._marks.note(turn, b"closed") == "":',
        ),
        ("a state without its marks goes on", "if begun is None:", "if False:"),
        ("a run goes on with another noise", "if begun != self._noise:", "if False:"),
        ("a run is begun over the state of another", "if Path(self.state).exists():", "if False:"),
    ),
    *changed(
        "sites/federated/server.py",
        WHOLE,
        ("a seed is forgotten", "seeded=not self._randomness.secure", "seeded=False"),
    ),
    *changed(
        "sites/federated/saved.py",
        WHOLE,
        ("a state that everybody may read", "rights=0o600", "rights=0o666"),
    ),
    *changed(
        "sites/federated/messages.py",
        "federated/test_messages.py",
        ("messages with a broken digest", "if message_digest(message[:-DIGEST]) != message[-DIGEST:]:", "if False:"),
        ("messages that are not finite", "if not np.all(np.abs(numbers) <= LARGEST_NUMBER):", "if False:"),
        ("messages of any version", "if version != VERSION:", "if False:"),
    ),
    *changed(
        "sites/federated/protocol.py",
        f"{SITES} attacks/test_federated_audit.py",
        (
            "one round is priced for all",
            "one.repeated(self.rounds * self.models)",
            "one.repeated(self.models)",
        ),
        (
            "many models at the price of one",
            "one.repeated(self.rounds * self.models)",
            "one.repeated(self.rounds)",
        ),
    ),
    *changed(
        "sites/federated/certificate.py",
        SITES,
        ("a bill for fewer rounds", 'if turns != {"gradient": protocol.turns}:', "if False:"),
        (
            "a bill for another rate, noise or neighbours",
            "if self.bill.plan != protocol.site_plan or str(self.bill.adjacency) != about.adjacency:",
            "if False:",
        ),
        ("a bill that nobody can price", "if not isinstance(self.bill, PlanCost):", "if False:"),
        (
            "certificates are believed",
            '            raise MessageError("the statement of the certificate is about something else than the protocol.")\n        self.verify()\n',
            '            raise MessageError("the statement of the certificate is about something else than the protocol.")\n',
        ),
        (
            "a statement about something else",
            "if (said.recipe, said.loss, said.adjacency, said.unit) !=",
            "if () and () !=",
        ),
        ("a federation is not verified", "    federation.verify()\n", ""),
        (
            "people are priced by what sites state",
            "math.fsum(c.epsilon() for c in chosen)",
            "math.fsum(c.statement.epsilon for c in chosen)",
        ),
        (
            "a person twice at one site is there once",
            "if len(set(names)) != len(names) or not set(names)",
            "if not set(names)",
        ),
        (
            "the best promise of all sites",
            "epsilon=max(s.epsilon for s in found)",
            "epsilon=min(s.epsilon for s in found)",
        ),
    ),
    *changed(
        "sites/federated/covered.py",
        SITES,
        ("a stated epsilon is believed", "epsilon_of(bill, said.delta) <= said.epsilon * (1 + TOLERANCE)", "True"),
        ("a stated rho is believed", "[(costs.rho, said.rho), (costs.mu, said.mu)]", "[(costs.mu, said.mu)]"),
        ("a stated mu is believed", "[(costs.rho, said.rho), (costs.mu, said.mu)]", "[(costs.rho, said.rho)]"),
        (
            "a stated cost is believed",
            "[(drawn, told.cost), (drawn, told.sensitivity / told.scale)]",
            "[(drawn, told.sensitivity / told.scale)]",
        ),
        (
            "a stated scale is believed",
            "[(drawn, told.cost), (drawn, told.sensitivity / told.scale)]",
            "[(drawn, told.cost)]",
        ),
        (
            "stated asks are believed",
            "if told != own:",
            "if False:",
        ),
        ("epsilon may be a hundredth too low", "TOLERANCE = 1e-6", "TOLERANCE = 1e-2"),
    ),
    *changed(
        "oracles/client_updates.py",
        WHOLE,
        ("half of the noise for whole sites", "self.priced.kappa * UNITS / cost.strength", "UNITS / cost.strength"),
        ("changes beyond their clip", "if norm > self.clip * (1 - 1e-9):", "if False:"),
        (
            "sites without coins",
            "if rate is None\n            else PoissonSample(rate",
            "if rate is not None else PoissonSample(0.5",
        ),
    ),
    *changed(
        "core/mechanisms/shares.py",
        SHARES,
        ("shares that are too small together", "np.asarray(scale) / math.sqrt(honest)", "np.asarray(scale) / honest"),
        ("shares of any width", "if not np.all(share >= LEAST):", "if False:"),
        ("a least width that proves nothing", "LEAST = 8.0", "LEAST = 4.0"),
    ),
    *changed(
        "sites/federated/shared.py",
        "federated/test_shared.py",
        ("recipes of others are not tried before sites pay", "    trial_run(prepared)\n", ""),
    ),
    *changed(
        "oracles/shares.py",
        SHARES,
        ("too few shares are published", "if len(parts) < self._honest:", "if False:"),
        ("single parts at the price of sums", ".scaled(float(honest))", ".scaled(1.0)"),
        (
            "parts of a plan are not looked at",
            "(*(branch for _, branch in plan.branches), *plan.parts)",
            "(branch for _, branch in plan.branches)",
        ),
        ("selections in shares", "if ask.question not in _SUMS or ask.noise is not Noise.GAUSSIAN:", "if False:"),
    ),
)
