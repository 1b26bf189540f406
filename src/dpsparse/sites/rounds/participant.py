"""A participant: it checks a task, claims the answer, and only then computes it."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from typing import Generic, NoReturn, TypeVar

from ...core.release import difference, release
from .protocol import Agreed, MessageError

Asked = TypeVar("Asked")


class Participant(ABC, Generic[Agreed, Asked]):
    """Answers tasks of one protocol, one at a time; a site or a device.

    Parameters
    ----------
    protocol : RunProtocol
    name : str
        For refusals.
    libraries : str
        Packages whose versions belong to the release, beside those that always do.

    Raises
    ------
    MessageError
        If the server that published the protocol runs another release.
    """

    def __init__(self, protocol: Agreed, name: str, *libraries: str) -> None:
        self._release = release(*libraries)
        other = difference("the server", protocol.release, name, self._release)
        if other:
            raise MessageError(other)
        self.protocol = protocol
        self._lock = threading.Lock()

    @abstractmethod
    def _read_task(self, task: bytes) -> tuple[bytes, int, int, Asked]:
        """Run, round and number of coefficients of a task, and the task."""

    @abstractmethod
    def _claim_and_report(self, asked: Asked, task: bytes) -> bytes:
        """The report for a task that fits the protocol: claimed first, then computed."""

    def answer(self, task: bytes) -> bytes:
        """A report for this task: paid for and noted first, then computed.

        Raises
        ------
        MessageError
            If the task is damaged, belongs to another run, or does not fit. Nothing was paid or
            noted.
        PrivacyError
            If a site has answered this round to another task, or a device has answered any; or if
            the answer would cost more than is allowed.
        """
        run, turn, size, asked = self._read_task(task)
        if run != self.protocol.identity:
            raise MessageError("the task belongs to another run or another protocol.")
        if turn >= self.protocol.rounds or size != self.protocol.size:
            raise MessageError("the task does not fit its protocol: another round or another number of coefficients.")
        with self._lock:
            return self._claim_and_report(asked, task)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a participant holds records and is not copied or stored: it answers once.")
