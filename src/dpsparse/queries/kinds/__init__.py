"""The vocabulary of asks: everything a solver may want to know about rows it cannot see.

An oracle holds rows (here, on disk, on workers, at sites, on devices) and answers with noise. A
query is public data (an iterate, a clip, a support); its answer is either a noisy sum over rows
of bounded contributions, or the noisy winner of scores that such a sum gives. Every method of an oracle takes a
query and the name of an ask of the plan, charges that ask, and returns something that may be
published. Nothing here assumes where the rows are: sums add up over parts.
"""

from .protocol import *  # noqa: F403
from .questions import *  # noqa: F403
