"""Digests of public values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import singledispatch
from types import NoneType

import numpy as np
import scipy.sparse as sp


def digest_of(*values: object) -> str:
    """A digest of public values: equal for equal numbers, arrays, texts and records of them.

    Of an object of another kind, such as a function, only the name of its class counts.
    """
    return hashlib.sha256(b"".join(map(_content, values))).hexdigest()


def _content(value: object) -> bytes:
    """The bytes by which a value counts in a digest."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, np.generic):
        value = value.item()
    if sp.issparse(value):
        value = (value.shape, value.data, value.indices, value.indptr)  # type: ignore[attr-defined]
    return _content_of_kind(value)


@singledispatch
def _content_of_kind(value: object) -> bytes:
    kind = type(value)
    named = [(f.name, getattr(value, f.name)) for f in fields(value) if f.init] if is_dataclass(value) else None
    return f"{kind.__module__}.{kind.__qualname__}".encode() + (b"" if named is None else _content(named))


@_content_of_kind.register(bool | int | float | str | bytes | NoneType)
def _(value: object) -> bytes:
    return f"{type(value).__name__} {value!r};".encode("utf-8", "surrogatepass")


@_content_of_kind.register
def _(value: np.ndarray) -> bytes:
    return f"{value.dtype.str}{value.shape}".encode() + np.ascontiguousarray(value).tobytes()


@_content_of_kind.register
def _(value: Mapping) -> bytes:  # type: ignore[type-arg]
    return _content([(str(key), value[key]) for key in sorted(value, key=str)])


@_content_of_kind.register(set | frozenset)
def _(value: set[object]) -> bytes:
    return _content(sorted(map(repr, value)))


@_content_of_kind.register
def _(value: Sequence) -> bytes:  # type: ignore[type-arg]
    return f"{len(value)}[".encode() + b"".join(map(_content, value))
