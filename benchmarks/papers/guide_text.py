"""docs/choose.md: every private recipe with its defaults on text, and `dual_averaging` with and without weights on several."""

from .guide import GuideStudy
from .methods import RECIPES
from .study import Part

WEIGHTS = ("dual_averaging, all features", "dual_averaging, no weights")
TEXTS = ("reuters, one topic", "basehock", "we8there, more than 3 stars", "hockey, who is on the ice")

STUDY = GuideStudy(
    name="guide-text",
    title="Every private recipe with its defaults on text, test error",
    parts=(
        Part(
            sets=("news20 (for RCV1)",),
            methods=("auto", *(name for name in RECIPES if name != "tables")),
            epsilons=(1.0, 2.0, 4.0),
            seeds=10,
            quick_epsilons=(2.0,),
        ),
        Part(sets=TEXTS, methods=WEIGHTS, epsilons=(1.0, 4.0), seeds=10),
    ),
    metric="test error",
    delta=1e-5,
    pairs=(("dp_ight", "two_stage"), ("dp_ight", "dp_frank_wolfe"), ("dp_gcd", "dp_ight"), WEIGHTS),
)
