"""001, Table 3: test error on halves of RCV1."""

from dpsparse.report.bench.study import GRID

from .methods import DENSE, EXACT, OFF, PRINTED
from .study import PaperStudy, Part

OURS = (f"IGHT{EXACT}", "DPSL-KT", "DP-IGHT", "Frank-Wolfe", "Two stage", "auto", *DENSE)
LOOPS = tuple(f"{name}{kind}{GRID}" for kind in (PRINTED, OFF) for name in ("DPSL-KT", "DPSL-KT (λ as in section 5)"))
EPSILONS = (2.0, 4.0, 6.0, 8.0)

STUDY = PaperStudy(
    name="001-table-3",
    title="Knowledge transfer on text in two classes: a private and a public half, s = 500",
    paper="001",
    where="Table 3",
    parts=(
        Part(
            sets=("news20 halves (for RCV1)",),
            methods=(*OURS, "DPSL-KT labels", f"DPSL-KT{GRID}"),
            epsilons=EPSILONS,
            seeds=10,
            quick_epsilons=(4.0,),
            quick_points=7,
        ),
        Part(
            sets=("news20 halves (for RCV1)",),
            methods=LOOPS,
            epsilons=EPSILONS,
            seeds=5,
            quick_epsilons=(4.0,),
            quick_points=7,
        ),
        Part(sets=("RCV1 halves",), methods=OURS, epsilons=EPSILONS, seeds=10, quick=0),
    ),
    metric="test error",
    delta=1e-5,
    pairs=(
        ("DPSL-KT", "DP-IGHT"),
        ("DPSL-KT", "Frank-Wolfe"),
        ("DPSL-KT", "Two stage"),
        (f"DPSL-KT{PRINTED}{GRID}", "DP-IGHT"),
    ),
    notes=(
        "20 Newsgroups in two classes stands in for RCV1: a private half of 6,374 rows, 20,000 features, both drawn anew for each seed. "
        "Labels are those of the public half.",
    ),
)
