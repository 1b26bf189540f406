"""Templates: HTML with everything in it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from .. import __version__

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, values: Mapping[str, Any]) -> str:
    """A page from a template of this package. Every value is escaped but the pictures, which are made here."""
    style = (files(__package__) / "templates" / "style.css").read_text(encoding="utf-8")
    text: str = _environment().get_template(template).render(**values, style=style, version=__version__)
    return text


@lru_cache(maxsize=1)
def _environment() -> Environment:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("reports need jinja2. Install it with: pip install 'dpsparse[report]'") from None
    made = Environment(
        loader=PackageLoader("dpsparse.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["number"] = format_number
    made.filters["percent"] = lambda value: f"{100 * value:.3g} %"
    return made


def format_number(value: object) -> str:
    """A number as a person reads it.

    >>> format_number(0.123456), format_number(float("inf")), format_number("a")
    ('0.1235', 'not proven', 'a')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return "not proven" if math.isinf(value) else f"{value:.4g}"
