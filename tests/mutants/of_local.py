"""Local randomisers, and who is asked how often."""

from .mutant import changed

SCALAR = "mechanisms/test_local_scalar.py attacks/test_local_audit.py"
BALL = "mechanisms/test_local_ball.py attacks/test_local_audit.py"
ONCE = "privacy/test_participation.py oracles/test_local.py"

MUTANTS = (
    *changed(
        "mechanisms/local/coins.py",
        SCALAR,
        (
            "a coin is rounded up",
            "p = math.floor(float(expit(log_odds)) / GRAIN) * GRAIN - 4 * GRAIN",
            "p = math.ceil(float(expit(log_odds)) / GRAIN) * GRAIN + 64 * GRAIN",
        ),
        ("coins with twice the log-odds", "float(expit(log_odds))", "float(expit(2 * log_odds))"),
    ),
    *changed(
        "mechanisms/local/scalar.py",
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
        "mechanisms/local/ball.py",
        BALL,
        (
            "a cap that is hit too often",
            "held_probability(self.epsilon + math.log(self.cap.mass)",
            "held_probability(2 * self.epsilon + math.log(self.cap.mass)",
        ),
    ),
    *changed(
        "mechanisms/local/gaussian.py",
        BALL,
        ("half of the noise of a report", "return 2 * self.radius / self.mu", "return self.radius / self.mu"),
        (
            "a report of more than its radius",
            "held = u * (np.minimum(norms, self.radius) * (1 - 1e-12))[:, None]",
            "held = u * (norms * (1 - 1e-12))[:, None]",
        ),
    ),
    *changed(
        "privacy/participation.py",
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
)
