"""Which rounds of a server's run were closed: noted beside its state, before the noise of a round is drawn."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from ...core import DataError, PrivacyError
from ..rounds import FileStore


class ClosedRounds:
    """The closed rounds of one run, in a file beside the state of its server.

    Guarantee
    ---------
    `close` returns once for each round of a run, whichever server of the run asks, in whichever process, and whichever copy of the state it was resumed
    from: the mark carries the name of the run and not of the state, is on the disk before `close` returns, and is made under a lock of the
    operating system (`FileStore`). A state in a folder without these marks is refused. Whoever copies the state *and* the marks into another folder, and goes on
    with both, has two memories of one run: that is not found.

    A run goes on with the noise with which it began, and with a seed only if it began with one: a server states one price for all rounds, also for those that
    were closed before it was resumed.

    Parameters
    ----------
    state : path
        The server's state.
    identity : bytes
        Of the run.
    noise : str
        The price of all rounds, and whether their noise comes from a seed, in a word.
    """

    def __init__(self, state: str | PathLike[str], identity: bytes, noise: str) -> None:
        self._state = Path(state)
        self._noise = noise
        self._file = FileStore(self._state.parent, f"{identity.hex()}-server")

    def begin(self) -> None:
        """Note that the run was begun; refuses a state that is there already."""
        if self._state.exists():
            raise DataError(
                f"{self._state} exists. Go on with that run by Server.resume(path, ...), or give a new one a file of its own."
            )
        self._file.note_paid(self._noise)

    def noted(self) -> frozenset[int]:
        """The closed rounds; refuses a state that is not beside the marks of its run, and another noise than that with which it began."""
        begun = self._file.paid()
        if begun is None:
            raise PrivacyError(
                f"{self._state} is a copy: the file that notes which rounds of its run were closed is not beside it, so a second noise could be "
                "drawn for a round. Resume from the original, in its folder."
            )
        if begun != self._noise:
            raise PrivacyError(
                f"the run of {self._state} began with another noise, which its statement would not tell. Give the same site_privacy, and a "
                "random_state only if it had one."
            )
        return self._file.noted()

    def close(self, number: int) -> None:
        """Note a round as closed; refuses one that is."""
        if self._file.note(number, b"closed") is not None:
            raise PrivacyError(
                f"round {number} of this run was closed before, by another server or from another copy of its state. No second noise is drawn for "
                "it. Go on with Server.resume(path, ...)."
            )
