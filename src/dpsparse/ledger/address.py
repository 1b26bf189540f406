"""Where a ledger lives: addresses whose password is never shown.

Guarantee
---------
No text, message, copy on disk or pickle that is made from an address holds its password. An address
that cannot be read in one way only (an unescaped ``@``, ``/``, ``#``, ``?`` or ``%`` in a password)
is refused, and no refusal quotes an address: what looks like a host or a database's name may be
half a password.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import Any, Final, Self
from urllib.parse import unquote

from ..core.errors import LedgerError

#: Name of the environment variable that holds the address of a ledger where none is given.
VARIABLE: Final = "DPSPARSE_LEDGER"

#: Seconds for which a server that is away is tried again, where nothing else is said: a failover takes 10 to 30.
PATIENCE: Final = 30.0
#: The longest patience: a day.
LONGEST: Final = 86_400.0

#: Parameters of libpq that are secrets, and those that may stand in an address beside them.
SECRETS: Final = ("password", "sslpassword")
PARAMETERS: Final = frozenset(
    [
        "application_name",
        "channel_binding",
        "client_encoding",
        "connect_timeout",
        "dbname",
        "fallback_application_name",
        "gssdelegation",
        "gssencmode",
        "gsslib",
        "host",
        "hostaddr",
        "keepalives",
        "keepalives_count",
        "keepalives_idle",
        "keepalives_interval",
        "krbsrvname",
        "load_balance_hosts",
        "options",
        "passfile",
        "port",
        "require_auth",
        "requirepeer",
        "requiressl",
        "service",
        "sslcert",
        "sslcertmode",
        "sslcompression",
        "sslcrl",
        "sslcrldir",
        "sslkey",
        "sslmode",
        "sslnegotiation",
        "sslrootcert",
        "sslsni",
        "target_session_attrs",
        "tcp_user_timeout",
        "user",
    ]
)

_FORMS = (
    "Write sqlite:///budget.db for a file beside you, sqlite:////full/path.db for one anywhere, or "
    "postgresql://user@host:port/database"
)
#: user, password, hosts with ports, database, parameters: what libpq reads in the same way, and
#: nothing that it might not.
_SERVER = re.compile(
    r"(?:(?P<user>[^:@/?#\[\]]*)(?::(?P<password>[^@/?#\[\]]*))?@)?"
    r"(?P<host>(?:[\w.%~-]*|\[[0-9A-Fa-f:.]+\])(?::\d+)?(?:,(?:[\w.%~-]*|\[[0-9A-Fa-f:.]+\])(?::\d+)?)*)"
    r"(?:/(?P<database>[^@/?#]*))?(?:\?(?P<query>[^@?#]*))?",
    flags=re.ASCII,
)
_ESCAPES = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Unchanged:
    """What is never changed, so that a copy is itself."""

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _: object) -> Self:
        return self


class Secret(Unchanged):
    """A text that is used and never shown. A copy in memory keeps it; a pickle does not."""

    __slots__ = ("_text",)

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __repr__(self) -> str:
        return "..."

    def __bool__(self) -> bool:
        return bool(self._text)

    def __reduce__(self) -> tuple[type[Secret], tuple[None]]:
        return Secret, (None,)

    def reveal(self) -> str | None:
        """The text, for the one who connects."""
        return self._text

    def within(self, text: str) -> bool:
        """Whether a text holds it, as it is or escaped."""
        return bool(self._text) and (str(self._text) in text or unquote(str(self._text)) in unquote(text))


@dataclass(frozen=True)
class FileAddress:
    """A SQLite file."""

    path: str

    @property
    def text(self) -> str:
        """As it is written."""
        return f"sqlite:///{self.path}"

    @property
    def shown(self) -> str:
        """For people."""
        return self.text


@dataclass(frozen=True)
class ServerAddress(Unchanged):
    """A PostgreSQL database.

    Attributes
    ----------
    text : str
        The address without its secrets: what libpq is given, and what a pickle holds.
    shown : str
        Host and database, for people.
    secrets : mapping
        Of libpq's names to texts.
    withheld : bool
        Whether the address had a secret, which a pickle then left behind.
    patience : float
        Seconds for which a server that is away is tried again.
    """

    text: str
    shown: str
    secrets: dict[str, Secret] = field(compare=False, repr=False)
    withheld: bool = field(compare=False, repr=False)
    patience: float = field(default=PATIENCE, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "secrets": {}}


Address = FileAddress | ServerAddress


def read_address(text: object, patience: float | None = None) -> Address:
    """Parse an address; a refusal does not quote it. `patience` replaces that of the address."""
    if not isinstance(text, str):
        raise TypeError(f"a ledger's address must be text such as 'sqlite:///budget.db', got {type(text).__name__}.")
    scheme, separator, rest = text.partition("://")
    if separator and scheme in ("postgresql", "postgres"):
        return _server(rest, patience)
    if separator and scheme == "sqlite" and rest.startswith("/") and rest.strip("/") and ":memory:" not in rest:
        if "\0" in rest:
            raise LedgerError("the path of a ledger holds a character that no file name can hold.")
        return FileAddress(rest[1:])
    known = "It begins with another scheme. " if separator else ""
    raise LedgerError(
        f"this is not the address of a ledger. {known}{_FORMS}; a ledger in memory would not last. (An address is "
        "never quoted: it may hold a password.)"
    )


def default_address(given: str | None = None) -> str:
    """An address, or where none is given that of the environment variable ``DPSPARSE_LEDGER``."""
    found = given if given is not None else os.environ.get(VARIABLE) or None
    if found is None:
        raise LedgerError(f"no ledger was named. {_FORMS}, or set {VARIABLE} to it.")
    return found


def has_default() -> bool:
    """Whether the environment names a ledger."""
    return bool(os.environ.get(VARIABLE))


def _server(rest: str, patience: float | None) -> ServerAddress:
    found = _SERVER.fullmatch(rest)
    if found is None or _ESCAPES.search(rest) or not rest.isprintable() or " " in rest:
        raise LedgerError(
            "a PostgreSQL address looks like postgresql://user@host:port/database, and this one can be read in more "
            "than one way. Write characters such as @ / # ? % in a password as %40 %2F %23 %3F %25, or keep the "
            "password in PGPASSFILE."
        )
    secrets = {}
    if found["password"]:
        secrets["password"] = Secret(unquote(found["password"]))
    kept, place = [], {"host": unquote(found["host"]), "dbname": unquote(found["database"] or "")}
    for pair in filter(None, (found["query"] or "").split("&")):
        name, _, value = pair.partition("=")
        if name in SECRETS:
            secrets[name] = Secret(unquote(value))
        elif name == "patience":
            patience = _seconds(value) if patience is None else patience
        elif name in PARAMETERS:
            kept.append(pair)
            place |= {name: unquote(value)}
        else:
            raise LedgerError(
                "a PostgreSQL address has a parameter that is not known. Those after '?' are patience and the "
                "connection parameters of libpq, such as sslmode."
            )
    user = f"{found['user']}@" if found["user"] else ""
    database = f"/{found['database']}" if found["database"] is not None else ""
    query = f"?{'&'.join(kept)}" if kept else ""
    shown = f"{place['host'] or 'the local server'}{'/' if place['dbname'] else ''}{place['dbname']}"
    text = f"postgresql://{user}{found['host']}{database}{query}"
    return ServerAddress(text, shown, secrets, bool(secrets), PATIENCE if patience is None else _seconds(patience))


def _seconds(given: object) -> float:
    """Seconds to wait for a server, from 0 to a day."""
    try:
        found = float(given)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        found = -1.0
    if not 0 <= found <= LONGEST:
        raise LedgerError(f"patience must be a number of seconds between 0 and {LONGEST:g}, such as 30.")
    return found
