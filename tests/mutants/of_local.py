"""Local randomisers, and who is asked how often."""

from .mutant import changed

SCALAR = "core/test_local_scalar.py attacks/test_local_audit.py"
BALL = "core/test_local_ball.py attacks/test_local_audit.py"
ONCE = "core/test_participation.py oracles/test_local.py"

MUTANTS = (
    *changed(
        "core/mechanisms/local/coins.py",
        SCALAR,
        (
            "a coin is rounded up",
            "p = math.floor(float(expit(log_odds)) / GRAIN) * GRAIN - 4 * GRAIN",
            "p = math.ceil(float(expit(log_odds)) / GRAIN) * GRAIN + 64 * GRAIN",
        ),
        ("coins with twice the log-odds", "float(expit(log_odds))", "float(expit(2 * log_odds))"),
    ),
    *changed(
        "core/mechanisms/local/scalar.py",
        SCALAR,
        ("labels beyond their bound", "return np.asarray(np.clip(finite, -bound, bound))", "return np.asarray(finite)"),
        (
            "two points without their ends",
            "* (2 * self.keep - 1), 1 - self.keep, self.keep)",
            "* (2 * self.keep - 1) * 1.5, 0.0, 1.0)",
        ),
        (
            "a window that is hit too often",
            "self.epsilon + math.log(self.window / (self.cells - self.window))",
            "self.epsilon + math.log(2 * self.window / (self.cells - self.window))",
        ),
        (
            "a bit is kept too often",
            "kept = randomness.generator().random(truth.shape) < self.keep",
            "kept = randomness.generator().random(truth.shape) < (1 + self.keep) / 2",
        ),
    ),
    *changed(
        "core/mechanisms/local/ball.py",
        BALL,
        (
            "a cap that is hit too often",
            "bounded_probability(self.epsilon + math.log(self.cap.mass)",
            "bounded_probability(2 * self.epsilon + math.log(self.cap.mass)",
        ),
    ),
    *changed(
        "core/mechanisms/local/gaussian.py",
        BALL,
        ("half of the noise of a report", "return 2 * self.radius / self.mu", "return self.radius / self.mu"),
        (
            "a report of more than its radius",
            "held = u * (np.minimum(norms, self.radius) * (1 - 1e-12))[:, None]",
            "held = u * (norms * (1 - 1e-12))[:, None]",
        ),
    ),
    *changed(
        "core/participation.py",
        ONCE,
        (
            "several models count once",
            "return min(self.reports, 2) if self.labels else self.reports",
            "return min(self.reports, 2) if self.labels else 1",
        ),
        (
            "a change of class moves one label",
            "return min(self.reports, 2) if self.labels else self.reports",
            "return 1 if self.labels else self.reports",
        ),
        ("everybody is in the first group", "= np.arange(people) % turns", "= 0 * np.arange(people)"),
    ),
    *changed(
        "oracles/local.py",
        "oracles/test_local.py",
        (
            "the whole crowd answers every turn",
            ".deal(self.facts.n_rows, groups) == turn % groups)",
            ".deal(self.facts.n_rows, groups) >= 0)",
        ),
        (
            "half of the radius of labels",
            "return 0.5 if self.classes else self.facts.target_bound",
            "return 0.25 if self.classes else self.facts.target_bound / 2",
        ),
        ("half of the radius of gradients", "return question.clip.norm\n", "return question.clip.norm / 2\n"),
    ),
    *changed(
        "core/mechanisms/local/ball.py",
        "core/test_local_totals.py",
        (
            "sums without the triangle's diagonal",
            "np.sqrt(generator.chisquare(self.dimension - rank - at))",
            "np.sqrt(generator.chisquare((self.dimension - rank - at) / 50))",
        ),
        (
            "sums whose rest is half as long",
            "np.linalg.norm(total[rank:])) / across",
            "np.linalg.norm(total[rank:])) / across / 2",
        ),
        ("sums that leave rows near a span out", "rows = part[span.near]", "rows = part[:0]"),
        ("sums whose rest leans into the span", "total[:rank] - length * inner", "total[:rank] + 9 * length * inner"),
    ),
    *changed(
        "core/mechanisms/local/span.py",
        "core/test_local_totals.py",
        ("rows near a span count as in it", "NOTHING = 1e-14", "NOTHING = 1e-3"),
        ("rows near a span count as new", "NEW = 1e-6", "NEW = 1e-15"),
    ),
    *changed(
        "sites/local/device.py",
        "local/test_memory.py local/test_device_and_server.py",
        ("a device that remembers nothing", "self._memory.claim_answer(self._claim, *self._allowed)", "pass"),
        ("a device that answers again after a refusal", "        self._spoken = True\n", "        pass\n"),
        (
            "a device that pays any price",
            "if not (cost <= epsilon * (1 + 1e-12)",
            "if False and not (cost <= epsilon * (1 + 1e-12)",
        ),
    ),
    *changed(
        "sites/rounds/stores.py",
        "local/test_memory.py federated/test_sites_and_server.py",
        ("answers that are not on the disk", "            os.fsync(handle)\n", ""),
        ("answers without a lock", "fcntl.flock(handle, fcntl.LOCK_EX)", "fcntl.flock(handle, fcntl.LOCK_UN)"),
        ("a second answer to one run", "if any(e.protocol == claim.protocol for e in earlier):", "if False:"),
        (
            "earlier answers cost nothing",
            "cost = math.fsum(e.epsilon for e in (*earlier, claim))",
            "cost = claim.epsilon",
        ),
        ("half a line is forgiven", 'or (content and not content.endswith(b"\\n"))', ""),
        ("an answer that was edited", "if check != _digest(text):", "if False:"),
        ("a fork that answers again", "if os.getpid() != self._process:", "if False:"),
        ("an application that says nothing", "if self._store(claim) is not True:", "if self._store(claim) is False:"),
    ),
    *changed(
        "sites/local/protocol.py",
        "local/test_memory.py local/test_device_and_server.py",
        (
            "one nonce for all runs",
            "nonce=secrets.token_hex(16) if nonce is None else nonce",
            'nonce="0" * 32 if nonce is None else nonce',
        ),
        ("a protocol without a nonce", "if not NONCE.fullmatch(self.nonce):", "if False:"),
    ),
    *changed(
        "sites/local/server.py",
        "local/test_saved.py local/test_memory.py local/test_device_and_server.py",
        ("reports are taken twice", "if report.identifier in self._seen:", "if False:"),
        ("identifiers are forgotten", "server._seen = set(saved.seen)", "server._seen = set()"),
        ("sums that no reports have", "if length > longest or", "if False or"),
        ("an open round is closed by a resume", "if not (saved.open and place == len(saved.tallies) - 1):", "if True:"),
    ),
    *changed(
        "sites/local/saved.py",
        "local/test_saved.py",
        ("counts that do not add up", "and listed == len(self.seen) == sum(counts)", ""),
    ),
    *changed(
        "core/sealed_files.py",
        "local/test_saved.py",
        ("a saved server that was edited", 'or outer["digest"] != content_digest(content):', "or False:"),
        ("a saved server of another format", "        if version != self.version:", "        if False:"),
        ("a server that replaces any file", "if head and head != start:", "if False:"),
    ),
    *changed(
        "core/regular_files.py",
        "io/test_bad_files.py estimators/test_model_file.py",
        ("pipes are waited for", "if not stat.S_ISREG(found.st_mode):", "if stat.S_ISDIR(found.st_mode):"),
        ("files of any size", "if found.st_size > most:", "if False:"),
        ("numbers that are not finite", "if not math.isfinite(number):", "if False:"),
        ("a name that comes twice", "if len(found) != len(pairs):", "if False:"),
    ),
    *changed(
        "io/arrays.py",
        "io/test_bad_files.py io/test_files.py",
        ("archives that unpack to anything", "if total > largest:", "if False:"),
        ("arrays that say they are larger", "> member.file_size:", "> 2**200:"),
    ),
    *changed(
        "io/svmlight.py",
        "io/test_files.py",
        ("columns that do not exist", "(columns < 0) | (columns >= width)", "columns >= 2**62"),
    ),
    *changed(
        "estimators/model_file.py",
        "estimators/test_model_file.py",
        ("an edited model loads", "if not (sealed or edited):", "if False:"),
        ("an edited model says nothing", "    if not sealed:\n", "    if False:\n"),
        ("a model replaces any file", "if head and not STARTS.match(head):", "if False:"),
    ),
    *changed(
        "estimators/model_schema.py",
        "estimators/test_model_file.py",
        ("coefficients of any size", "math.prod(shape) <= LARGEST_COEFFICIENTS", "True"),
        ("columns twice", "all(a < b for a, b in itertools.pairwise(places))", "bool(places or True)"),
    ),
)
