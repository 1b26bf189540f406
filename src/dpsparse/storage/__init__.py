"""Files of what was fitted: models, private pipelines and searches. JSON, with a digest; no pickle."""

from .files import load

__all__ = ["load"]
