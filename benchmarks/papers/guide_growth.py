"""docs/choose.md: growth of the error with the dimension, everything else fixed."""

from .guide import GuideStudy
from .study import Part

STUDY = GuideStudy(
    name="guide-growth",
    title="Growth with the dimension (n = 4000, s = 10, epsilon 2), relative error of the coefficients",
    parts=(
        Part(
            sets=("d 500", "d 2000", "d 8000"),
            methods=("DP-IGHT", "DP-GCD", "DP-IGHT dense"),
            epsilons=(2.0,),
            seeds=20,
            noises=3,
            quick=3,
        ),
    ),
    metric="relative error",
    delta=1e-5,
)
