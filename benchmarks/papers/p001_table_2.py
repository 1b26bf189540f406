"""001, Table 2: half the mean squared error on halves of E2006-tfidf."""

from dpsparse.report.bench.study import GRID

from .methods import DENSE, EXACT, OFF, PRINTED
from .study import PaperStudy, Part

OURS = (f"IGHT{EXACT}", "zero", "DPSL-KT", "DP-IGHT", "Frank-Wolfe", "Two stage", "auto", *DENSE)
EPSILONS = (0.8, 1.5, 2.5, 3.5, 4.5)

STUDY = PaperStudy(
    name="001-table-2",
    title="Knowledge transfer on text with a real response: a private and a public half, s = 2000",
    paper="001",
    where="Table 2",
    parts=(
        Part(
            sets=("imdb rating halves (for E2006)",),
            methods=(*OURS, f"DPSL-KT{GRID}"),
            epsilons=EPSILONS,
            seeds=10,
            quick_epsilons=(2.5,),
            quick_points=7,
        ),
        Part(
            sets=("imdb rating halves (for E2006)",),
            methods=(f"DPSL-KT{PRINTED}{GRID}", f"DPSL-KT{OFF}{GRID}"),
            epsilons=EPSILONS,
            seeds=5,
            quick_epsilons=(2.5,),
            quick_points=7,
        ),
        Part(sets=("E2006 halves",), methods=OURS, epsilons=EPSILONS, seeds=10, quick=0),
    ),
    metric="MSE/2",
    delta=1e-5,
    pairs=(
        ("DPSL-KT", "DP-IGHT"),
        ("DPSL-KT", "Frank-Wolfe"),
        ("DPSL-KT", "Two stage"),
        (f"DPSL-KT{PRINTED}{GRID}", "DP-IGHT"),
    ),
    close=("DPSL-KT", f"DPSL-KT{GRID}", f"DPSL-KT{PRINTED}{GRID}"),
    notes=(
        "Film reviews with their rating stand in for E2006-tfidf: a private half of 8,044 rows, 25,000 features, both drawn anew for each seed.",
        "DPSL-KT releases the teacher, which is never worse than labels of the public half and needs no public rows.",
    ),
)
