"""Files of what was fitted: models, private pipelines and searches. JSON, with a digest; no pickle."""

from .estimators.files import digest_in, load

__all__ = ["digest_in", "load"]
