"""Sites, servers, noise in shares, and networks."""

from .mutant import changed

SITES = "federated/test_sites_and_server.py"
WHOLE = "federated/test_site_privacy.py"
SHARES = "oracles/test_sites.py mechanisms/test_shares.py attacks/test_federated_audit.py"

MUTANTS = (
    *changed(
        "federated/desk.py",
        SITES,
        ("a site that pays nothing", "                self._purse.pay(self._rounds)\n", ""),
        ("a site that takes tasks of another run", "if asked.run != protocol.identity:", "if False:"),
        ("a round beyond the last", "if asked.round >= protocol.rounds or", "if"),
        (
            "a memory that does not know is believed",
            "            if known is None:\n                raise\n",
            "            pass\n",
        ),
        ("a run goes on at another price", "if known not in (None, self.price):", "if False:"),
        ("a run is noted before it is reserved and never started", "            reservation.start()\n", ""),
    ),
    *changed(
        "federated/rounds.py",
        SITES,
        ("another task for the same round", 'if earlier[0]["task"] != task.hex():', "if False:"),
        ("rounds of a damaged file", "if check != _digest(text):", "if False:"),
        ("half a line of rounds is forgiven", 'if content and not content.endswith(b"\\n"):', "if False:"),
        (
            "another task for the same round, in a process",
            "if self._tasks[number] != task or number not in self._reports:",
            "if number not in self._reports:",
        ),
    ),
    *changed(
        "federated/book.py",
        f"{SITES} {WHOLE}",
        ("reports of another run of sites", "if report.run != self.protocol.identity:", "if False:"),
        ("reports of another round", "if report.round != self.round:", "if False:"),
        ("reports beyond the radius", "if not np.linalg.norm(report.change) <= self.protocol.radius:", "if False:"),
        ("a second report of a site", "if report.site in self.reports:", "if False:"),
        ("reports of sites that were not asked", "if report.site not in self.invited:", "if report.site > 99:"),
        ("reports without a certificate", "if self.protocol.sites[report.site] not in self.certificates:", "if False:"),
        ("rounds with too few sites", "if len(self.reports) < self._least:", "if False:"),
        (
            "a round is noted after its noise",
            "            self._save()\n            self.w = self._step(self.w, turn, came)\n",
            "            self.w = self._step(self.w, turn, came)\n",
        ),
        ("a server with other settings goes on", "if saved.protocol != self.protocol.to_json():", "if False:"),
    ),
    *changed(
        "federated/messages.py",
        "federated/test_messages.py",
        ("messages with a broken digest", "if digest(message[:-DIGEST]) != message[-DIGEST:]:", "if False:"),
        ("messages that are not finite", "if not np.all(np.abs(numbers) <= LARGEST_NUMBER):", "if False:"),
        ("messages of any version", "if version != VERSION:", "if False:"),
    ),
    *changed(
        "federated/site.py",
        f"{SITES} attacks/test_federated_audit.py",
        (
            "one round is priced for all",
            "times = self.protocol.rounds * self.protocol.models",
            "times = self.protocol.models",
        ),
        (
            "many models at the price of one",
            "times = self.protocol.rounds * self.protocol.models",
            "times = self.protocol.rounds",
        ),
        ("models without noise for anybody", "if not self.protocol.private and trust != SERVER:", "if False:"),
    ),
    *changed(
        "federated/certificate.py",
        SITES,
        ("a bill for fewer rounds", 'if turns != {"gradient": protocol.turns}:', "if False:"),
        (
            "the best promise of all sites",
            "epsilon=max(s.epsilon for s in found)",
            "epsilon=min(s.epsilon for s in found)",
        ),
    ),
    *changed(
        "oracles/changes.py",
        WHOLE,
        ("half of the noise for whole sites", "self.priced.kappa * UNITS / cost.strength", "UNITS / cost.strength"),
        ("changes beyond their clip", "if norm > self.clip * (1 - 1e-9):", "if False:"),
        ("sites without coins", "if rate is None else Draw(rate", "if rate is not None else Draw(0.5"),
    ),
    *changed(
        "mechanisms/shares.py",
        SHARES,
        ("shares that are too small together", "np.asarray(scale) / math.sqrt(honest)", "np.asarray(scale) / honest"),
        ("shares of any width", "if not np.all(share >= LEAST):", "if False:"),
        ("a least width that proves nothing", "LEAST = 8.0", "LEAST = 4.0"),
    ),
    *changed(
        "oracles/sites.py",
        SHARES,
        ("too few shares are published", "if len(parts) < self._honest:", "if False:"),
        ("single parts at the price of sums", ".scaled(float(honest))", ".scaled(1.0)"),
        ("selections in shares", "if ask.question not in _SUMS or ask.noise is not Noise.GAUSSIAN:", "if False:"),
    ),
)
