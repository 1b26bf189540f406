"""What is public about a fit: everything here could be printed on a poster. The public address of `dpsparse.core.facts`."""

from .core.facts import *  # noqa: F403
