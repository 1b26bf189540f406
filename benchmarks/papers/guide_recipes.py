"""docs/choose.md: every private recipe with its defaults on the papers' synthetic settings."""

from .guide import GuideStudy
from .methods import RECIPES
from .study import Part

STUDY = GuideStudy(
    name="guide-recipes",
    title="Every private recipe with its defaults, relative error of the coefficients (n = d = 1000, s = 10)",
    parts=(
        Part(
            sets=("000-lin-i", "000-log-i"),
            methods=("auto", *RECIPES),
            epsilons=(1.0, 2.0, 4.0),
            seeds=20,
            noises=3,
            quick_epsilons=(2.0,),
        ),
    ),
    metric="relative error",
    delta=0.01,
    pairs=(("dp_ight", "two_stage"), ("dp_ight", "dp_frank_wolfe"), ("dp_gcd", "dp_ight")),
)
