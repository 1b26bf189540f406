"""Networks as safetensors files: parameters, and the statement in the file's own words. No pickle."""

from __future__ import annotations

import hashlib
import json
from os import PathLike
from typing import Any

import numpy as np
import torch

from ...core import DataError, Statement
from ...core.errors import ModelEditedError
from ...core.facts import Vector
from ...core.regular_files import open_whole, parse_json, read_bytes
from .gradients import to_vector

FORMAT, VERSION = "dpsparse-network", 1
#: Files beyond are not read.
LARGEST_BYTES = 2**32


def write_network(path: str | PathLike[str], tensors: dict[str, torch.Tensor], statement: Statement) -> None:
    """Write a file that appears whole or not at all."""
    from safetensors.torch import save

    held = {name: tensor.contiguous().clone() for name, tensor in tensors.items()}
    said = statement.to_json(indent=None)
    metadata = {"format": FORMAT, "version": str(VERSION), "statement": said, "digest": _digest(held, said)}
    with open_whole(path, 0o666) as file:
        file.write(save(held, metadata=metadata))


def read_network(path: str | PathLike[str], shapes: dict[str, tuple[int, ...]]) -> tuple[Vector, Statement]:
    """Parameters as one vector, and the statement.

    Raises
    ------
    DataError
        If the file is no network, or one of other shapes.
    ModelEditedError
        If it was changed after it was saved.
    """
    from safetensors.torch import load

    content = read_bytes(path, LARGEST_BYTES, "a network of dpsparse")
    try:
        size = int.from_bytes(content[:8], "little")
        metadata: dict[str, Any] = parse_json(content[8 : 8 + size])["__metadata__"]
        if metadata["format"] != FORMAT or metadata["version"] != str(VERSION):
            raise ValueError
        tensors = load(content)
        statement = Statement.from_dict(json.loads(metadata["statement"]))
        w = to_vector({name: np.asarray(t) for name, t in tensors.items()}, shapes)
    except Exception:  # whatever the library says of a file of another kind
        raise DataError(f"{path} is not a network of dpsparse of this shape.") from None
    if metadata.get("digest") != _digest(tensors, metadata["statement"]):
        raise ModelEditedError(f"{path} was changed after it was saved. Load the original.")
    return w, statement


def _digest(tensors: dict[str, torch.Tensor], statement: str) -> str:
    found = hashlib.sha256(statement.encode())
    for name in sorted(tensors):
        found.update(name.encode() + b"\0" + str(tuple(tensors[name].shape)).encode())
        found.update(tensors[name].contiguous().numpy().tobytes())
    return found.hexdigest()
