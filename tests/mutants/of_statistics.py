"""Statistics: stability constants, certificates, votes."""

from .mutant import changed

TEACHER = "queries/test_teacher.py queries/test_objective_perturbation.py attacks/test_teacher_audit.py"
MINIMISE = "queries/test_minimise.py queries/test_teacher.py"
OBJECTIVE = "queries/test_objective_perturbation.py attacks/test_objective_audit.py recipes/test_two_stage.py"

MUTANTS = (
    *changed(
        "queries/minimisers/teacher.py",
        TEACHER,
        (
            "a teacher forgets kappa",
            "(RECORDS * question.clip.norm + 2 * tau) / question.ridge",
            "(question.clip.norm + 2 * tau) / question.ridge",
        ),
        (
            "the tolerance of a teacher is not counted",
            "(RECORDS * question.clip.norm + 2 * tau) / question.ridge",
            "RECORDS * question.clip.norm / question.ridge",
        ),
    ),
    *changed(
        "queries/minimisers/convex.py",
        MINIMISE + " " + OBJECTIVE,
        ("minimisers of any loss are taken", "if not proven(loss):", 'if loss.name == "none":'),
        (
            "half of every curvature",
            "return Convex(smooth.slope, smooth.bend, smooth.curvature)",
            "return Convex(smooth.slope, smooth.bend, smooth.curvature / 2)",
        ),
    ),
    *changed(
        "queries/minimisers/minimise.py",
        MINIMISE,
        (
            "slopes of a minimum are not clipped",
            "found.append(np.clip(self.loss.slope(m, part.y), -limit, limit))",
            "found.append(self.loss.slope(m, part.y))",
        ),
        (
            "slopes are clipped at twice their norm",
            "return np.minimum(largest, self.clip.norm /",
            "return np.minimum(largest, 2 * self.clip.norm /",
        ),
        (
            "a minimum without its certificate",
            "if np.linalg.norm(g) <= tau / 2:\n                return theta",
            "if np.linalg.norm(g) <= 1e4 * tau:\n                return theta",
        ),
        ("one record between neighbours of a minimum", "RECORDS = 2", "RECORDS = 1"),
        (
            "sizes of a minimum that floats cannot square",
            "if not (in_range(self.row_norm) and in_range(self.ridge)):",
            "if False:",
        ),
        ("a minimum at twice the condition", "CONDITION = 1e8", "CONDITION = 2e8"),
        (
            "half of what margins round",
            "rounded = 4 * (self.size + 8)",
            "rounded = 2 * (self.size + 8)",
        ),
        (
            "margins round nothing",
            "return max(1e-8 * self.clip.norm, 1e-10 * size, rounded)",
            "return max(1e-8 * self.clip.norm, 1e-10 * size)",
        ),
        ("a minimum without a ridge", "if not (math.isfinite(ridge) and ridge > 0):", "if False:"),
    ),
    *changed(
        "queries/minimisers/objective_perturbation.py",
        OBJECTIVE,
        (
            "half of the offset of an objective",
            "return math.log1p(convex(loss).curvature * question.row_norm**2 / question.ridge)",
            "return 0.5 * math.log1p(convex(loss).curvature * question.row_norm**2 / question.ridge)",
        ),
        (
            "the tilt takes the whole budget",
            "return m * math.sqrt(1 - OUTPUT_PART), m * math.sqrt(OUTPUT_PART)",
            "return m, m * math.sqrt(OUTPUT_PART)",
        ),
    ),
    *changed(
        "queries/votes.py",
        TEACHER,
        ("half of the range of votes", "VOTE_RANGE = 2.0", "VOTE_RANGE = 1.0"),
        (
            "a part votes twice",
            'total[np.argsort(-score, kind="stable")[: question.count]] += 1.0',
            'total[np.argsort(-score, kind="stable")[: question.count]] += 2.0',
        ),
    ),
)
