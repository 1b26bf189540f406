"""Private and public preparation of rows, and pipelines that share one budget."""

from .pipeline import PrivatePipeline, make_private_pipeline
from .plan import PipelinePlan
from .private_bounds import PrivateBounds
from .row_steps import Bounds, PublicScaler, RowNormalizer
from .scaler import NoisyCount, PrivateScaler

__all__ = [
    "Bounds",
    "NoisyCount",
    "PipelinePlan",
    "PrivateBounds",
    "PrivatePipeline",
    "PrivateScaler",
    "PublicScaler",
    "RowNormalizer",
    "make_private_pipeline",
]
