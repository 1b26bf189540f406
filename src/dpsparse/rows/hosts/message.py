"""What the driver and the workers of a cluster send each other to ask rows, and to check which rows they are.

`Message` is a charge on its way to the rows, in which vectors of zeros take no space. `checksum` is the digest of
a part of the rows, by which a part that is read again is compared with the part that was read first.

Guarantee
---------
**Messages.** What is read is what was written, bit for bit: an array is sent as places and values only where
everything else is the bits of zero. What is needed for noise alone stays here: sensitivities of
single coordinates, and units and steps that differ by coordinate.

**Checksums.** Targets are coded once, by the driver, from the first reading of a part; rows are read again for
every host, and for the two parts of a plan. Row i of a later reading must be row i of the first:
else the features of one record meet the target of another, or a record is dealt to both parts of a
plan, and one record has the weight of two. A checksum is a keyed digest of rows and targets in their
order. Rows that come in another order, or are other rows, have another checksum but with probability
below :math:`2^{-100}`, and are refused.

The checksum of a file is made of its size and the time at which it was written, and the file is not read for it:
a file that was changed and given its old time and size is not detected.
"""

from __future__ import annotations

import hashlib
import io
import os
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ...queries.charge import Charge
from ...queries.losses import Loss
from ...queries.sensitivity import Sensitivity, SumSpec
from ..records import Records

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


def file_stamp(path: Path, blocks: tuple[int, int] | None = None) -> bytes:
    """Size and time of a file, and which of its blocks are meant."""
    found = os.stat(path)
    return f"{found.st_size} {found.st_mtime_ns} {blocks}".encode()


def checksum(source: Records, targets: object, stamp: bytes | None, key: bytes) -> bytes:
    """The mark of a part: of its stamp, where it has one, or of rows and targets as they were read."""
    digest = hashlib.blake2b(key=key, digest_size=16)
    if stamp is not None:
        digest.update(b"stamp" + stamp)
        return digest.digest()
    digest.update(f"{source.shape}".encode())
    for rows, _ in source.blocks(np.zeros(0)):
        for array in (rows.data, rows.indices, rows.indptr) if sp.issparse(rows) else (rows,):
            digest.update(np.ascontiguousarray(array).view(np.uint8).data if array.size else b"")
    digest.update(_plain(targets))
    return digest.digest()


def _plain(targets: object) -> bytes:
    if targets is None:
        return b""
    array = np.asarray(targets)
    return repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes()
