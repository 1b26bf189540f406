"""Checksums of parts of rows on a cluster: whether a part that is read again is the one that was read first.

Guarantee
---------
Targets are coded once, by the driver, from the first reading of a part; rows are read again for
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
import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..records import Records


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
