"""Where spent budgets are kept: a chain of entries in a store, reservations before rows are read, payments."""

from .address import default_address
from .entries import Amount, Entry
from .ledger import Ledger, LedgerArgument
from .payment import PAYING, Payment, check_ledger, refuse_own_ledger, reserve
from .reservation import Reservation

__all__ = [
    "PAYING",
    "Amount",
    "Entry",
    "Ledger",
    "LedgerArgument",
    "Payment",
    "Reservation",
    "check_ledger",
    "default_address",
    "refuse_own_ledger",
    "reserve",
]
