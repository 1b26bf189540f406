"""000, Table 3: test error on RCV1."""

from dpsparse.report.bench.study import GRID

from .methods import DENSE, EXACT, OFF, PRINTED
from .study import PaperStudy, Part

OURS = (f"IGHT{EXACT}", "DP-IGHT", "Frank-Wolfe", "Two stage", "DP-IGHT dense", "auto", *DENSE)
GRIDS = (f"Frank-Wolfe{GRID}", f"Two stage{GRID}")
LOOPS = tuple(f"{name}{GRID}" for name in ("DP-IGHT dense", f"DP-IGHT{PRINTED}", f"DP-IGHT{OFF}"))
EPSILONS = (2.0, 4.0, 6.0, 8.0, 10.0)

STUDY = PaperStudy(
    name="000-table-3",
    title="DP-IGHT, Frank-Wolfe and two stages on text in two classes, s = 500",
    paper="000",
    where="Table 3",
    parts=(
        Part(
            sets=("news20 (for RCV1)", "RCV1 sample"),
            methods=(*OURS, *GRIDS),
            epsilons=EPSILONS,
            seeds=10,
            quick_epsilons=(4.0,),
            quick_points=6,
        ),
        Part(
            sets=("news20 (for RCV1)", "RCV1 sample"),
            methods=LOOPS,
            epsilons=EPSILONS,
            seeds=5,
            quick_epsilons=(4.0,),
            quick_points=6,
        ),
        Part(sets=("RCV1",), methods=OURS, epsilons=EPSILONS, seeds=10, quick=0),
    ),
    metric="test error",
    delta=0.01,
    pairs=(
        ("DP-IGHT", "Frank-Wolfe"),
        ("DP-IGHT", "Two stage"),
        (f"DP-IGHT dense{GRID}", f"Frank-Wolfe{GRID}"),
        (f"DP-IGHT dense{GRID}", f"Two stage{GRID}"),
        (f"DP-IGHT{PRINTED}{GRID}", "Two stage"),
    ),
    notes=(
        "RCV1 is read if rcv1_train.binary.bz2 and rcv1_test.binary.bz2 are in the data folder. Without it, 20 Newsgroups in two classes "
        "(15,935 rows, 62,061 features) stands in, beside 1,500 real rows of RCV1.",
        "IGHT without noise is .0625 in the paper; ours is .071 on 20 Newsgroups, and the best point of the printed loop with the noise off .076, .0135 from the paper's. RCV1 itself was not run; other texts stand in for it, which may be why: "
        "the two classes of 20 Newsgroups are ten groups each, chosen by number. On rows of the paper's own kind (RCV1 sample) 1,000 are there for training in place of 20,242, and both are near twice the paper's.",
        "The paper prints no grid for DP-IGHT; ours has 1, 5, 20 and 60 steps of 1/16 to 64 times one over the largest curvature. The printed noise is that of Corollary 5.8.",
    ),
)
