"""004, Table 5: Chest X-ray, log-loss, five folds."""

from dpsparse.bench.study import GRID

from .methods import EXACT, PRINTED
from .study import PaperStudy, Part

EPSILONS = (2.0, 4.0, 6.0, 8.0, 10.0)
OURS = ("zero", f"SCSG-HT{EXACT}", "DP-GD-HT", "DP-SGD-HT", "DP-SCSG-HT", "auto", "DP-SGD, dense model")
GRIDS = (
    f"DP-GD-HT{GRID}",
    f"DP-SGD-HT{GRID}",
    f"DP-SCSG-HT{GRID}",
    f"DP-SGD-HT{PRINTED}{GRID}",
    f"DP-SCSG-HT{PRINTED}{GRID}",
)

STUDY = PaperStudy(
    name="004-table-5",
    title="Stochastic against full-batch hard thresholding, five folds, k = 200: chest x-ray folds",
    paper="004",
    where="Table 5",
    parts=(
        Part(sets=("chest x-ray folds",), methods=OURS, epsilons=EPSILONS, seeds=10, quick_epsilons=(4.0,)),
        Part(
            sets=("chest x-ray folds",),
            methods=GRIDS,
            epsilons=(2.0, 6.0, 10.0),
            quick_epsilons=(6.0,),
            quick_points=3,
        ),
    ),
    metric="log-loss",
    delta=1e-5,
    pairs=(
        ("DP-SCSG-HT", "DP-GD-HT"),
        ("DP-SGD-HT", "DP-GD-HT"),
        ("DP-SCSG-HT", "DP-SGD-HT"),
        (f"DP-SCSG-HT{GRID}", f"DP-GD-HT{GRID}"),
        (f"DP-SGD-HT{GRID}", f"DP-GD-HT{GRID}"),
    ),
    notes=(
        "The paper's own data. Its models, without privacy too, hardly learn (0.6931 is a coin toss); honest noise leaves far more.",
        "Five folds, twice over. Best of grid: the paper's six steps with 100 passes (GD), 20 (SGD, batches of n/10) and 10 (SCSG, snapshots of n/2 "
        "rows, inner batches of n/20), at three budgets on four folds.",
    ),
)
