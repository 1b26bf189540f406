"""Where spent budgets are kept: a chain of entries in a store, reservations before rows are read, payments."""

from .entries import Amount, Entry
from .ledger import Ledger
from .payment import Payment, check_ledger, paying, refuse_own_ledger
from .reservation import Reservation

__all__ = ["Amount", "Entry", "Ledger", "Payment", "Reservation", "check_ledger", "paying", "refuse_own_ledger"]
