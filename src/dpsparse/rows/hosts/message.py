"""What the driver of a cluster sends to the rows: a charge, in which vectors of zeros take no space.

Guarantee
---------
What is read is what was written, bit for bit: an array is sent as places and values only where
everything else is the bits of zero. What is needed for noise alone stays here: sensitivities of
single coordinates, and units and steps that differ by coordinate.
"""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...queries.charge import Charge
from ...queries.losses import Loss
from ...queries.sensitivity import Sensitivity, SumSpec

#: Shorter arrays are sent as they are.
LEAST = 256
#: An array of floats is sent as places and values where at most this part of it is not zero.
SPARSE_BELOW = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Message:
    """A turn that was paid, and the loss."""

    charge: Charge
    loss: Loss

    def packed(self) -> bytes:
        """In few bytes.

        Losses of a user's own session are sent with their code, by cloudpickle, which both engines
        bring.
        """
        from cloudpickle import Pickler

        class Thin(Pickler):  # type: ignore[misc]
            """Leaves zeros out, and what only noise is made by."""

            def reducer_override(self, value: object) -> object:
                if type(value) is SumSpec:
                    unit = value.unit if np.ndim(value.unit) == 0 else np.nan
                    return counted, (value.reach.norm, value.size, unit, value.record)
                if type(value) is np.ndarray and value.dtype == np.float64 and value.size >= LEAST:
                    bits = np.ascontiguousarray(value).view(np.int64).ravel()
                    places = np.flatnonzero(bits).astype(np.int32)
                    if places.size <= SPARSE_BELOW * bits.size:
                        return with_zeros, (value.shape, places, value.ravel()[places])
                return super().reducer_override(value)

        out = io.BytesIO()
        Thin(out, protocol=pickle.HIGHEST_PROTOCOL).dump(self)
        return out.getvalue()

    @staticmethod
    def read(packed: bytes | memoryview) -> Message:
        """A message of our own driver, over the engine's own channel."""
        found = pickle.loads(packed)
        assert isinstance(found, Message)
        return found


def counted(norm: float, size: int, unit: float, record: float) -> SumSpec:
    """How a sum is counted where the rows are."""
    return SumSpec(Sensitivity(norm, np.full(size, np.nan)), unit, record)


def with_zeros(shape: tuple[int, ...], places: NDArray[np.int32], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """An array of zeros but for some places."""
    found = np.zeros(int(np.prod(shape)))
    found[places] = values
    return found.reshape(shape)
