"""Answers that are kept: in memory, for laws that play them back, and in a file, for runs that are resumed.

Guarantee
---------
*No turn is answered twice.* `TapedOracle` stores an answer durably before it returns it. A process
that goes on from the tape returns the stored bytes for the turns that stand on it, and computes
only turns that do not. Such a turn may have been computed before, by a process that ended before
its answer was durable; that answer was returned to nobody.

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
and all rows but one can test guesses of that row: keep the two as confidential as the rows.
"""

from __future__ import annotations

import hashlib
import math
import os
import secrets
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cached_property, singledispatch
from pathlib import Path
from types import NoneType
from typing import IO, Any, Literal, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp

from ..core.codec import Count, canonical_json, read, write
from ..core.errors import PrivacyError, ResumeError, RetryLaterError
from ..core.facts import Clip
from ..core.mechanisms import Randomness, keyed_generator
from ..core.plan import Plan
from ..core.regular_files import open_whole, parse_json, sync_folder
from ..core.release import difference, release
from ..core.statement import Receipt
from ..queries.kinds import Gradient, NoiseInfo, Oracle, Query, Released
from ..queries.losses import Squared
from ..rows.hosts import Host
from .base import ChargedOracle
from .gate import Gate
from .noise_info import ZeroNoise, exact_charge

#: What was asked (kind of query, ask) and what was answered.
Answers = list[tuple[str, str, Released]]
#: Before each record: bytes of its description and of its numbers. After it: a digest.
FRAME, DIGEST = struct.Struct("<IQ"), 32
#: Descriptions and answers beyond are not read: a description holds names and receipts.
LARGEST_DESCRIPTION, LARGEST_ANSWER = 2**24, 2**36
#: Bytes of the key of a run.
KEY = 32
#: The mark of rows clips targets here, so that its sums stay in the range of every lattice.
LARGEST_TARGET = 2.0**20
MORE = "the run is done, and this one asks for more than it did"


class PassingOracle(Oracle):
    """Passes everything on to another oracle."""

    def __init__(self, inner: Oracle) -> None:
        self.inner = inner
        self.facts = inner.facts

    @property
    def plan(self) -> Plan:  # type: ignore[override]
        """What may be asked from here on."""
        return self.inner.plan

    @property
    def passes(self) -> float:  # type: ignore[override]
        """Passes of the inner oracle."""
        return float(self.inner.passes)

    @property
    def choices(self) -> tuple[str, ...]:  # type: ignore[override]
        """Branches that the inner oracle took."""
        return self.inner.choices

    @property
    def terms(self) -> NoiseInfo:
        """Noise of the inner oracle."""
        return self.inner.terms

    @property
    def unused_turns(self) -> dict[str, int]:
        """What the inner oracle was not asked for."""
        return self.inner.unused_turns

    @property
    def receipts(self) -> list[Receipt]:
        """Receipts of the inner oracle."""
        return self.inner.receipts

    def take_branch(self, branch: str) -> None:
        """Pass on."""
        self.inner.take_branch(branch)

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Public noise."""
        return float(self.inner.deviation(question, ask, turn))


class RecordingOracle(PassingOracle):
    """Passes every query on to another oracle and keeps the answers in memory, for the laws."""

    def __init__(self, inner: Oracle) -> None:
        super().__init__(inner)
        self.first_terms: NoiseInfo = inner.terms  # those of the start: a replay begins there
        self.questions: list[Query] = []
        self.tape: Answers = []

    def answer(self, question: Query, ask: str) -> Released:
        """Pass on and keep."""
        answer = self.inner.answer(question, ask)
        self.questions.append(question)
        self.tape.append((type(question).__name__, ask, np.array(answer, copy=True)))
        return answer


class ReplayOracle(Oracle):
    """Plays back recorded answers. It has no rows.

    Guarantee
    ---------
    A solver whose result differs between a recorded run and its replay has used something that the oracle did not say.
    """

    def __init__(self, original: Oracle, tape: Answers, receipts: Sequence[Receipt] = ()) -> None:
        self.facts = original.facts
        self._terms: NoiseInfo = original.first_terms if isinstance(original, RecordingOracle) else original.terms
        self.plan = self._terms.plan
        self.passes = 0.0
        self._gate = Gate(ZeroNoise(self.plan, self.facts, people=True))
        self._tape = list(tape)
        self._receipts = list(receipts)

    @property
    def terms(self) -> NoiseInfo:
        """As they were priced."""
        return self._terms

    @property
    def unused_turns(self) -> dict[str, int]:
        """Turns that were not replayed."""
        return self._gate.unused_turns

    @property
    def receipts(self) -> list[Receipt]:
        """Those of the recorded run, where they are given: nothing is drawn here."""
        return self._receipts

    def take_branch(self, branch: str) -> None:
        """Go on with a branch of the plan."""
        self._gate.take_branch(branch)
        self.plan = self._gate.terms.plan
        self._terms = self._terms.branch(branch)

    def deviation(self, question: Query, ask: str, turn: int) -> float:
        """Public noise, as it was priced."""
        return self._terms.deviation(question, ask, turn)

    def answer(self, question: Query, ask: str) -> Released:
        """The recorded answer, if this is what the recorded run asked next."""
        self._gate.next(question, ask)
        expected = (type(question).__name__, ask)
        if not self._tape or self._tape[0][:2] != expected:
            raise PrivacyError(
                f"the replay was asked {expected[0]} ({ask!r}), which is not what the recorded run asked next."
            )
        return self._tape.pop(0)[2].copy()


# ------------------------------------------------------------------------------------------------ digests


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


@_content_of_kind.register
def _(value: Sequence) -> bytes:  # type: ignore[type-arg]
    return f"{len(value)}[".encode() + b"".join(map(_content, value))


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


# ------------------------------------------------------------------------------------------------ the file


class EntryLike(Protocol):
    """The entry of a ledger that pays for a run, as a tape needs it."""

    ledger: str
    dataset: str
    entry: int
    entry_hash: str

    @property
    def status(self) -> str:
        """``reserved``, ``started`` or ``done``."""
        ...

    @property
    def token(self) -> str:
        """The last token of a tape that the ledger was given for this entry; empty if there was none."""
        ...


@dataclass(frozen=True)
class Header:
    """What a tape belongs to.

    Attributes
    ----------
    ledger, dataset, entry, entry_hash
        The entry that pays; its hash covers the bill, the label and the run_id.
    release : str
    seed : int or None
    key : str
        A digest of the key of the run; empty where the key is gone.
    public : str
        The seed of public draws of the plan, such as lengths of epochs.
    run : int or None
        Which run of a search it holds; None for the tape of a whole.
    made : int
        How much a seed had given when that run began.
    """

    ledger: str
    dataset: str
    entry: int
    entry_hash: str
    release: str
    seed: int | None
    key: str
    public: str
    run: int | None = None
    made: Count = 0


@dataclass(frozen=True)
class Token:
    """A process goes on from here, and tells the ledger so."""

    token: str


@dataclass(frozen=True)
class Section:
    """A new oracle: the digest of its public values, and the mark of its rows."""

    bound: str
    mark: str


@dataclass(frozen=True)
class Answer:
    """One answer: its query, the form of its numbers, what was drawn, and how much a seed has given so far."""

    ask: str
    kind: str
    query: str
    dtype: Literal["<f8", "<i8"]
    shape: tuple[Count, ...]
    made: Count
    receipts: tuple[Receipt, ...]


@dataclass(frozen=True)
class End:
    """The run is done; of a search, with the candidate of its best run as JSON, where that has a plain form."""

    kept: str | None = None


#: Records by the name under which they are stored.
RECORDS: dict[str, type] = {kind.__name__.lower(): kind for kind in (Header, Token, Section, Answer, End)}


class Frame(NamedTuple):
    """A stored record with its numbers, the digest of everything up to it, and where it ends in the file."""

    record: Any
    data: bytes
    digest: bytes
    end: int


class Tape:
    """Released answers of one run in a file: played back first, then appended.

    Parameters
    ----------
    path : Path
    header : Header
    key : bytes or None
        None where the key is gone because the run is done: then nothing is appended.
    """

    def __init__(self, path: Path, header: Header, key: bytes | None) -> None:
        self.path, self.header, self.key = path, header, key
        #: What the record of the end keeps.
        self.kept: str | None = None
        #: Tokens so far, and how many of them the ledger must know: answers follow the last of these.
        self.tokens: list[str] = []
        self.known = 0
        self.done = False
        self._broken = False
        self._process = os.getpid()
        self._file = _locked(path)
        try:
            self._last, end = self._scan()
            self._file.truncate(end)
            if not end:  # new, or killed before the first record was whole
                self._write(header)
            self._frames: Iterator[Frame] | None = (
                frame for frame in _frames(self._file, path) if isinstance(frame.record, Section | Answer)
            )
            if key is None and not self.done:
                raise ResumeError(f"{_key_path(path)}, the key of a run that is not done, is missing. Restore it.")
        except BaseException:
            self._file.close()
            raise

    # ---------------------------------------------------------------------------------------------- reading

    @staticmethod
    def frames(path: Path) -> Iterator[Frame]:
        """The whole records of a tape, whoever has it."""
        with path.open("rb") as file:
            yield from _frames(file, path)

    def _scan(self) -> tuple[bytes, int]:
        """The digest of the last whole record and where it ends; checks every record on the way.

        The tape of an earlier entry of the same run, which was refunded, holds no answer: it counts
        as empty.
        """
        stored, last = self.header, Frame(None, b"", b"", 0)
        for last in _frames(self._file, self.path):
            record = last.record
            if isinstance(record, Header):
                stored = record
            elif isinstance(record, Token):
                self.tokens.append(record.token)
            elif isinstance(record, Answer):
                self.known = len(self.tokens)
            self.done = isinstance(record, End)
        if stored.entry_hash != self.header.entry_hash and not self.known:
            self.tokens, self.done = [], False
            return b"", 0
        self._check(stored)
        self.header = stored
        return last.digest, last.end

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
        frame = None if self._frames is None else next(self._frames, None)
        if frame is None:
            self._frames = None
        return frame

    def refusal(self, why: str) -> ResumeError:
        """What to raise where the run does not go as it went before."""
        return ResumeError(
            f"{self.path} does not fit this run: {why}. A run goes on with the same rows, arguments and release, on "
            "the same kind of processor. Nothing was answered again; the entry of the ledger counts."
        )

    # ---------------------------------------------------------------------------------------------- writing

    def append(self, record: Header | Token | Section | Answer | End, data: bytes = b"") -> None:
        """Make a record durable; nothing that it holds may be returned to anybody before."""
        if self.done:
            raise self.refusal(MORE)
        if self._broken or os.getpid() != self._process:
            raise ResumeError(f"{self.path} is written by the process that opened it, as long as writing succeeds.")
        self._broken = True
        try:
            self._write(record, data)
        except OSError as error:
            raise RetryLaterError(
                f"an answer could not be stored in {self.path} ({_reason(error)}), so nobody received it. Free some "
                "space, then run the same again: it goes on where it stopped."
            ) from None
        self._broken = False

    def _write(self, record: Header | Token | Section | Answer | End, data: bytes = b"") -> None:
        said = canonical_json({"record": type(record).__name__.lower(), **write(record)}).encode()
        content = FRAME.pack(len(said), len(data)) + said + data
        self._last = hashlib.sha256(self._last + content).digest()
        self._file.seek(0, os.SEEK_END)
        self._file.write(content + self._last)
        self._file.flush()
        os.fsync(self._file.fileno())

    def new_token(self) -> str:
        """A token that is durable on this tape, for the ledger."""
        token = secrets.token_hex(16)
        self.append(Token(token))
        return token

    # ---------------------------------------------------------------------------------------------- a run

    def subkey(self, name: str) -> bytes:
        """A key for one purpose; a fresh one where the run is done, and nothing depends on it."""
        return _derived(secrets.token_bytes(KEY) if self.key is None else self.key, name)

    def recorded(self, inner: ChargedOracle, host: Host, randomness: Randomness, *public: object) -> TapedOracle:
        """An oracle whose answers stand on this tape: a new section, which binds public values and rows."""
        frame, bound = self.next(), digest_of(host.facts, *public)
        mark = "" if self.key is None else mark_of(host, self.subkey(f"rows {bound}"))
        if frame is None:
            self.append(Section(bound, mark))
        elif not isinstance(frame.record, Section) or frame.record.bound != bound:
            raise self.refusal("its plan, price, facts, loss or solver are others")
        elif mark and frame.record.mark != mark:
            raise self.refusal("the rows are others")
        return TapedOracle(inner, self, randomness)

    def end(self) -> None:
        """Note that the run is done."""
        if not self.done:
            self.append(End(self.kept))
            self.done = True

    def finish(self) -> None:
        """Note that the run is done, and forget its key: a tape that is played back needs none."""
        self.end()
        _key_path(self.path).unlink(missing_ok=True)
        sync_folder(self.path.parent)

    def close(self) -> None:
        """Let another process have the tape."""
        self._file.close()


class RunTapes:
    """Tapes of the runs of a search: one of the run that is under way, and one of the best so far.

    Guarantee
    ---------
    There are at most two, each as long as one run, so that files do not show how many runs there
    were. A run that is over and was not the best is not repeated: the next one replaces its tape.
    """

    def __init__(self, whole: Tape) -> None:
        self._whole = whole
        self._now, self._best = whole.path.with_suffix(".run"), whole.path.with_suffix(".best")

    def is_over(self, number: int) -> bool:
        """Whether a run is over and was not the best; its answers are gone."""
        if self._whole.done:
            return False
        now, best = _run_of(self._now), _run_of(self._best)
        return number != best and number < (best + 1 if now is None and best is not None else now or 0)

    @contextmanager
    def open(self, number: int, randomness: Randomness) -> Iterator[Tape]:
        """The tape of a run; a new one takes the place of that of the run before."""
        best = _run_of(self._best)
        path = self._best if self._whole.done or number == best else self._now
        header = replace(self._whole.header, run=best if self._whole.done else number, made=randomness.made)
        if path == self._now and _run_of(path) != number:
            part = path.with_suffix(".part")
            part.unlink(missing_ok=True)
            Tape(part, header, self._whole.key).close()
            os.replace(part, path)
            sync_folder(path.parent)
        with closing(Tape(path, header, self._whole.key)) as tape:
            randomness.skip_to(tape.header.made)
            yield tape

    def keep(self, number: int) -> None:
        """Let the run that is over be the best."""
        if _run_of(self._now) == number:
            os.replace(self._now, self._best)
            sync_folder(self._best.parent)

    def finish(self, kept: str | None) -> None:
        """Forget every run but the best, and let the end of the whole name its candidate."""
        self._whole.kept = kept
        self._now.unlink(missing_ok=True)
        best = _run_of(self._best)
        if best is not None and not self._whole.done:
            with closing(Tape(self._best, replace(self._whole.header, run=best), self._whole.key)) as tape:
                tape.end()


def _header_of(path: Path) -> Header | None:
    """What a tape belongs to; None if there is no tape."""
    with suppress(FileNotFoundError):
        found = next((frame.record for frame in Tape.frames(path)), None)
        return found if isinstance(found, Header) else None
    return None


def _run_of(path: Path) -> int | None:
    """Which run of a search a tape holds; None if there is no tape."""
    header = _header_of(path)
    return None if header is None else header.run


class TapedOracle(PassingOracle):
    """Answers of another oracle behind a tape: stored ones are returned again, others are stored first."""

    inner: ChargedOracle

    def __init__(self, inner: ChargedOracle, tape: Tape, randomness: Randomness) -> None:
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
            if self._tape.done:
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


def _frames(file: IO[bytes], path: Path) -> Iterator[Frame]:
    """Whole records; what a killed writer left at the end is passed over.

    A record that does not match its digest and is not the last one was edited, or is damaged.
    """
    size, last, place = os.fstat(file.fileno()).st_size, b"", 0
    while place + FRAME.size <= size:
        file.seek(place)
        head = file.read(FRAME.size)
        described, numbers = FRAME.unpack(head)
        end = place + FRAME.size + described + numbers + DIGEST
        if end > size:
            return
        if described > LARGEST_DESCRIPTION or numbers > LARGEST_ANSWER:
            raise _damaged(path)
        said, data = file.read(described), file.read(numbers)
        last, stored = hashlib.sha256(last + head + said + data).digest(), file.read(DIGEST)
        if last != stored and end == size:
            return
        if last != stored:
            raise _damaged(path)
        yield Frame(_record(said, numbers, path), data, last, end)
        place = end


def _record(said: bytes, numbers: int, path: Path) -> Any:
    try:
        content = parse_json(said)
        record: Any = read(RECORDS[content.pop("record")], content, "record")
        if isinstance(record, Answer) and numbers != math.prod(record.shape) * np.dtype(record.dtype).itemsize:
            raise ValueError
    except (ValueError, KeyError, TypeError, AttributeError):
        raise _damaged(path) from None
    return record


def _damaged(path: Path) -> ResumeError:
    return ResumeError(
        f"{path} was edited or is damaged. What was answered is not known, so nothing is answered: restore the file, "
        "or choose another run_id, and pay again."
    )


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _locked(path: Path) -> IO[bytes]:
    """The file, for this process alone; made for its owner alone if there is none."""
    try:
        import fcntl
    except ImportError:
        raise ResumeError("this system has no file locks, so no run can be resumed. Leave resume=None.") from None
    with _written(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    file = os.fdopen(handle, "r+b")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise RetryLaterError(f"another process runs this run_id: it holds {path}. Wait for its end.") from None
    sync_folder(path.parent)
    return file


@contextmanager
def _written(path: Path) -> Iterator[None]:
    """Turn what the operating system refuses into our words."""
    try:
        yield
    except OSError as error:
        raise RetryLaterError(
            f"{path} cannot be written: {_reason(error)}. Choose another folder for resume, or free some space."
        ) from None


def _derived(key: bytes, purpose: str) -> bytes:
    return hashlib.blake2b(purpose.encode(), key=key, digest_size=KEY).digest()


def _key_path(path: Path) -> Path:
    return path.with_suffix(".key")


# ------------------------------------------------------------------------------------------------ which tape


@dataclass(frozen=True)
class Resume:
    """Where the released answers of a run are kept.

    Parameters
    ----------
    folder : Path
    dataset, run_id : str
        Which run of which dataset.
    """

    folder: Path
    dataset: str
    run_id: str

    @classmethod
    def of(cls, folder: str | os.PathLike[str] | None, dataset: str | None, run_id: str | None) -> Self | None:
        """From the arguments of an estimator; None where nothing is kept. Refuses a folder without a run."""
        if folder is None:
            return None
        if dataset is None or run_id is None:
            raise ResumeError(
                "resume needs a ledger, a dataset and a run_id: they say which run goes on, and that it was paid for."
            )
        return cls(Path(folder), dataset, run_id)

    @property
    def path(self) -> Path:
        """The file of the tape."""
        plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in self.run_id)[:40]
        return self.folder / f"{plain}-{digest_of(self.dataset, self.run_id)[:16]}.tape"

    @cached_property
    def key(self) -> bytes:
        """The key of the run: the one that is stored, or a fresh one."""
        with suppress(FileNotFoundError):
            stored = _key_path(self.path).read_bytes()
            if len(stored) == KEY:
                return stored
        return secrets.token_bytes(KEY)

    @cached_property
    def public_seed(self) -> bytes:
        """For draws of the plan that are public: the one on the tape, or one that the key gives."""
        header = _header_of(self.path)
        return _derived(self.key, "public") if header is None else bytes.fromhex(header.public)

    def generator(self, purpose: str) -> np.random.Generator:
        """Secret draws that are the same when the run is resumed."""
        return keyed_generator(int.from_bytes(_derived(self.key, purpose)[:16], "little"))

    @property
    def kept(self) -> tuple[str | None] | None:
        """What the record of the end keeps; None for a run that is not done."""
        with suppress(FileNotFoundError):
            ends = [frame.record for frame in Tape.frames(self.path) if isinstance(frame.record, End)]
            return (ends[-1].kept,) if ends else None
        return None

    @contextmanager
    def open(self, entry: EntryLike, randomness: Randomness) -> Iterator[Tape]:
        """The tape of the run that an entry pays for; refuses one with which it cannot go on.

        Raises
        ------
        ResumeError
            If there is none although the run began, or it is damaged, or of another run.
        RetryLaterError
            If another process has it, or the folder cannot be written.
        """
        path, begun = self.path, entry.status != "reserved"
        if begun and not path.exists():
            raise ResumeError(
                f"run {self.run_id!r} began, and {path}, where its answers were kept, is not there: entry "
                f"{entry.entry} counts. Give the folder in which it began, or choose another run_id, and pay once more."
            )
        with _written(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = None if begun and not _key_path(path).exists() else self._stored_key()
        named = "" if key is None else digest_of(key)
        bound = entry.ledger, entry.dataset, entry.entry, entry.entry_hash, release(), randomness.seed
        header = Header(*bound, named, self.public_seed.hex())
        with closing(Tape(path, header, key)) as tape:
            self._check_tokens(tape, entry)
            yield tape

    def _stored_key(self) -> bytes:
        """The key of the run, durable."""
        path, key = _key_path(self.path), self.key
        with _written(path):
            if not path.exists():
                with open_whole(path, 0o600) as file:
                    file.write(key)
            if path.read_bytes() != key:
                raise RetryLaterError(
                    f"another process began run {self.run_id!r} at the same time. Run the same again."
                )
        return key

    def _check_tokens(self, tape: Tape, entry: EntryLike) -> None:
        """Refuse a tape from which another process went on, and a ledger that is older than its tape."""
        if entry.status == "reserved" and tape.known:
            raise ResumeError(
                f"{tape.path} holds answers, and the ledger does not know that the run began: the ledger is an older "
                "copy. Restore the original."
            )
        if entry.status == "started" and entry.token not in tape.tokens[max(0, tape.known - 1) :]:
            raise ResumeError(
                f"run {self.run_id!r} went on from another copy of {tape.path}, or began without it: entry "
                f"{entry.entry} counts. Go on from the newest copy, or choose another run_id, and pay once more."
            )
