"""Released answers of a run, stored before a solver gets them, so that a run that was killed goes on.

Guarantee
---------
*No turn is answered twice.* `TapedOracle` stores an answer durably before it returns it. A process
that goes on from the tape returns the stored bytes for the turns that stand on it, and computes
only turns that do not. Such a turn may have been computed before, by a process that ended before
its answer was durable; that answer was returned to nobody. The record of the end is durable before
the ledger notes it, and afterwards nothing is computed: an older copy of the tape of a run that is
done is refused.

*What a tape binds.* A tape belongs to one entry of one ledger, to one release, and to one seed or
to none. Each section names the plan, its price, the public facts and the loss by their digest, and
the rows by a keyed mark; each answer names its query by a digest. Another one of these is refused.
A process that goes on writes a fresh token on the tape and then into the ledger, and the ledger
knows the last one: a copy of a tape from which another process went on is refused. A file lock
admits one process. Records that were removed from the end by hand are not noticed, since a process
that is killed while it writes leaves the same file: keep tapes as you keep the ledger.

*What a tape reveals.* The key of the marks, of the split of rows into parts and of the draws of a
search is in a file of its own, readable by its owner alone, and removed when the run is done. Keys
of Poisson samples are not stored. A tape without its key holds released answers, which the price
of the run covers, and values of a keyed hash. While the key is there, somebody who has both files
and all rows but one can test guesses of that row: keep the two as confidential as the rows. The
proof is in docs/guarantees/resume.md.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..core.digests import digest_of
from ..core.errors import ResumeError
from ..core.facts import Clip
from ..core.mechanisms import Randomness
from ..core.regular_files import sync_folder
from ..core.release import difference
from ..queries.kinds import Gradient, Query, Released
from ..queries.losses import Squared
from ..rows.hosts import Host
from .gate import ChargedOracle
from .noise_info import exact_charge
from .replay import PassingOracle
from .tape_file import Answer, End, Frame, Header, Section, TapeFile, Token

#: Bytes of the key of a run.
KEY = 32
#: The mark of rows clips targets here, so that its sums stay in the range of every lattice.
LARGEST_TARGET = 2.0**20
MORE = "the run is done, and this one asks for more than it did"


class Tape:
    """Released answers of one run in a file: played back first, then appended.

    Parameters
    ----------
    path : Path
    header : Header
    key : bytes or None
        None where the key is gone because the run is done: then nothing is appended.

    Attributes
    ----------
    tokens : list of str
        Tokens so far.
    known : int
        How many of them the ledger must know: answers follow the last of these.
    done : bool
        Whether the record of the end is there.
    """

    def __init__(self, path: Path, header: Header, key: bytes | None) -> None:
        self.path, self.header, self.key = path, header, key
        self.tokens: list[str] = []
        self.known = 0
        self.done = False
        self._file = TapeFile(path)
        try:
            self._begin()
            if key is None and not self.done:
                raise ResumeError(f"{key_path(path)}, the key of a run that is not done, is missing. Restore it.")
        except BaseException:
            self._file.close()
            raise
        self._frames: Iterator[Frame] = (
            frame for frame in self._file.frames() if isinstance(frame.record, Section | Answer)
        )

    def _begin(self) -> None:
        """Check every record, and write the first one if the file is empty.

        The tape of an earlier entry of the same run, which was refunded, holds no answer: it counts
        as empty.
        """
        stored, last = self.header, None
        for last in self._file.frames():
            record = last.record
            if isinstance(record, Header):
                stored = record
            elif isinstance(record, Token):
                self.tokens.append(record.token)
            elif isinstance(record, Answer):
                self.known = len(self.tokens)
            self.done = isinstance(record, End)
        if stored.entry_hash != self.header.entry_hash and not self.known and not self.done:
            self.tokens, last = [], None
        else:
            self._check(stored)
            self.header = stored
        self._file.go_on_after(last)
        if last is None:  # new, refunded, or killed before the first record was whole
            self._file.append(self.header)

    def _check(self, stored: Header) -> None:
        other = difference("the process that began it", stored.release, "this one", self.header.release)
        if other:
            raise ResumeError(f"{self.path}: {other} A run is finished by the release that began it.")
        own = replace(self.header, key=self.header.key or stored.key, made=stored.made)
        names = [f.name for f in fields(Header) if getattr(stored, f.name) != getattr(own, f.name)]
        if names:
            raise ResumeError(
                f"{self.path} belongs to another run: its {', '.join(names)} differ from those of this one. Give "
                "the same arguments and random_state, or choose another run_id."
            )

    def next(self) -> Frame | None:
        """The next section or answer that was not played yet; None after the last one."""
        return next(self._frames, None)

    def refusal(self, why: str) -> ResumeError:
        """What to raise where the run does not go as it went before."""
        return ResumeError(
            f"{self.path} does not fit this run: {why}. A run goes on with the same rows, arguments and release, on "
            "the same kind of processor. Nothing was answered again; the entry of the ledger counts."
        )

    def append(self, record: Token | Section | Answer | End, data: bytes = b"") -> None:
        """Make a record durable, and count it as played; refused once the run is done."""
        if self.done:
            raise self.refusal(MORE)
        self._frames = iter(())
        self._file.append(record, data)

    def new_token(self) -> str:
        """A token that is durable on this tape, for the ledger."""
        token = secrets.token_hex(16)
        self._file.append(Token(token))
        return token

    def subkey(self, name: str) -> bytes:
        """A key for one purpose; a fresh one where the run is done, and nothing depends on it."""
        return derived(secrets.token_bytes(KEY) if self.key is None else self.key, name)

    def recorded(self, inner: ChargedOracle[Any], host: Host, randomness: Randomness, *public: object) -> TapedOracle:
        """An oracle whose answers stand on this tape: a new section, which binds public values and rows."""
        frame, bound = self.next(), digest_of(host.facts, *public)
        mark = "" if self.key is None or self.done else mark_of(host, self.subkey(f"rows {bound}"))
        if frame is None:
            self.append(Section(bound, mark))
        elif not isinstance(frame.record, Section) or frame.record.bound != bound:
            raise self.refusal("its plan, price, facts, loss or solver are others")
        elif mark and frame.record.mark != mark:
            raise self.refusal("the rows are others")
        return TapedOracle(inner, self, randomness)

    def end(self, kept: str | None = None) -> None:
        """Note that the run is done, and of a search the candidate of its best run."""
        if not self.done:
            self.append(End(kept))
            self.done = True

    def forget_key(self) -> None:
        """Remove the key of a run that is done: a tape that is played back needs none."""
        key_path(self.path).unlink(missing_ok=True)
        sync_folder(self.path.parent)

    def close(self) -> None:
        """Let another process have the tape."""
        self._file.close()


class TapedOracle(PassingOracle):
    """Answers of another oracle behind a tape: stored ones are returned again, others are stored first."""

    inner: ChargedOracle[Any]

    def __init__(self, inner: ChargedOracle[Any], tape: Tape, randomness: Randomness) -> None:
        super().__init__(inner)
        self._tape, self._randomness = tape, randomness
        self._lock = threading.RLock()

    def answer(self, question: Query, ask: str) -> Released:
        """The stored answer of this turn; or a new one, once it is durable."""
        asked = (ask, type(question).__name__, digest_of(question))
        with self._lock:
            frame = self._tape.next()
            if frame is not None:
                return self._play(question, asked, frame)
            if self._tape.done:  # before anything is drawn
                raise self._tape.refusal(MORE)
            return self._draw(question, asked)

    def _draw(self, question: Query, asked: tuple[str, str, str]) -> Released:
        before = len(self.receipts)
        answer = np.asarray(self.inner.answer(question, asked[0]))
        form: Literal["<f8", "<i8"] = "<f8" if answer.dtype.kind == "f" else "<i8"
        stored = Answer(*asked, form, answer.shape, self._randomness.made, tuple(self.receipts[before:]))
        self._tape.append(stored, answer.astype(form, copy=False).tobytes())
        return answer

    def _play(self, question: Query, asked: tuple[str, str, str], frame: Frame) -> Released:
        stored = frame.record
        if not isinstance(stored, Answer) or (stored.ask, stored.kind, stored.query) != asked:
            raise self._tape.refusal(f"query {asked[1]} of ask {asked[0]!r} differs from the one that was answered")
        self.inner.charge(question, asked[0])  # counts the turn; no row is read and nothing is drawn
        self.receipts.extend(stored.receipts)
        self._randomness.skip_to(stored.made)
        return np.frombuffer(frame.data, dtype=stored.dtype).reshape(stored.shape).copy()


def mark_of(host: Host, key: bytes) -> str:
    """A keyed mark of all rows of a host and of their targets, the same for every partition, order and storage.

    It is a keyed hash of the exact sum of gradients of the squared loss at a point that the key
    draws, which other rows change. Where rows are in two parts, each part has a mark, so that rows
    in another order, which would change parts, have other marks.
    """
    facts = host.facts
    at = np.random.default_rng(int.from_bytes(key, "little")).standard_normal(facts.dimension) / facts.row_norm
    clip = Clip(facts.row_norm * (1.0 + min(facts.target_bound, LARGEST_TARGET)))
    total = host.total(exact_charge(Gradient(at, clip), host), Squared())
    return hashlib.blake2b(np.asarray(total, dtype="<i8").tobytes(), key=key, digest_size=16).hexdigest()


def derived(key: bytes, purpose: str) -> bytes:
    """A key for one purpose, which does not reveal the one that it is made of."""
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=KEY).digest()


def key_path(path: Path) -> Path:
    """Where the key of a tape is, or of the tape of a run of a search."""
    return path.with_suffix(".key")
