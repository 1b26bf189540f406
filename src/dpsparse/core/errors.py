"""Refusals. Each is a ValueError or TypeError, so that code which knows only scikit-learn can handle them too."""

from typing import Self


class PrivacyError(ValueError):
    """Something was asked that the guarantee does not allow."""


class BudgetError(PrivacyError):
    """A budget that makes no sense, or that this plan cannot be priced in."""


class BudgetExceededError(BudgetError):
    """The ledger has less left than this fit costs.

    Attributes
    ----------
    remaining : float or None
        Largest epsilon of an all-Gaussian fit that would be taken, at the dataset's delta.
    would_fit : float or None
        Epsilon with which the refused plan would be taken, at the delta that the message names; 0: none.
    """

    def __init__(self, message: str, remaining: float | None = None, would_fit: float | None = None) -> None:
        super().__init__(message)
        self.remaining = remaining
        self.would_fit = would_fit


class LedgerError(PrivacyError):
    """A ledger that cannot be used: a bad address, a missing or damaged file, an unknown dataset."""


class RetryLaterError(PrivacyError):
    """A failure that passes: the same call, with the same `run_id`, succeeds once its reason is gone."""

    passes = True


class LedgerNotWrittenError(LedgerError, RetryLaterError):
    """A ledger that could not be written or read.

    A full disk, a lost connection, a server that is away, a missing right: the message says what counts.

    Attributes
    ----------
    left : {"nothing", "event", "unknown"}
        What the attempt left in the ledger: nothing; the whole event, although an error was
        reported; or it is not known.
    number : int or None
        Of the event that was to be written, where one was.
    passes : bool
        Whether the reason passes; False for a missing right, which a retry meets again.
    """

    def __init__(self, message: str, left: str = "nothing", number: int | None = None, passes: bool = True) -> None:
        super().__init__(message)
        self.left = left
        self.number = number
        self.passes = passes

    def saying(self, sentence: str) -> Self:
        """The same with one more sentence."""
        return type(self)(f"{self} {sentence}", self.left, self.number, self.passes)


class RunRepeatedError(LedgerError):
    """A run that the ledger knows: it was paid for, and is not charged again.

    Attributes
    ----------
    entry : int
        Its entry, which counts.
    status : str
        Of the entry.
    """

    def __init__(self, message: str, entry: int = 0, status: str = "") -> None:
        super().__init__(message)
        self.entry = entry
        self.status = status


class ResumeError(LedgerError):
    """A run that cannot go on from what is stored of it: its tape is missing, damaged, or belongs to another run."""


class LedgerTamperedError(LedgerError):
    """A ledger that does not verify: something was edited, removed, added or moved, or a price is wrong."""


class NotPricedError(PrivacyError):
    """A solver asked for something that its plan did not pay for."""


class MissingBoundError(PrivacyError):
    """A bound that must be declared was not."""


class AssumptionError(PrivacyError):
    """A recipe depends on an assumption that the user has not accepted by name."""


class DataError(ValueError):
    """The data cannot be used as it is; says what is wrong without naming a row."""


class DiskFullError(DataError, RetryLaterError):
    """A disk without space, which is named."""


class MissingValueError(DataError, TypeError):
    """A cell or target is missing, infinite or no number, and that was to be refused.

    The message is the same for all of them.

    It is a TypeError as well, since scikit-learn refuses missing values with the one and cells of a
    wrong type with the other.
    """


class ModelEditedError(DataError):
    """A model file whose digest does not fit: it was changed after it was saved."""


class PrivacyLeakError(PrivacyError):
    """Something around a private model looks at the rows and was not paid for."""


class NonPrivateRandomnessWarning(UserWarning):
    """A seed was given: the noise can be reproduced, so the fit is not private."""


class RepeatedFitWarning(UserWarning):
    """Clones of one estimator were fitted repeatedly on data of one shape, and no ledger counts what that costs."""


class UnreadCellsWarning(UserWarning):
    """A priced count says that more than half of the cells of a column were not understood."""


class HopelessFitWarning(UserWarning):
    """A fit that public facts say will be no better than a constant: too few rows, or too small a budget."""
